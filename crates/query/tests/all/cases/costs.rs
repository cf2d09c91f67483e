//! What each step of a plan takes, and which promises would make it cheaper.

use std::collections::BTreeSet;

use cenote_program::Abilities;
use cenote_query::{Count, Explained, Proposal};

use crate::common::World;
use crate::differential::Case;

/// Two tables that are joined by their ids, with room for `rows` rows each.
fn world(a: &str, b: &str, rows: usize) -> World {
    let mut world = World::new(3).table(0, "a", a, "").table(1, "b", b, "");
    let tables = world.schema.tables.iter_mut();
    tables.for_each(|table| table.max_rows = rows);
    world
}

fn steps<'a>(step: &'a Explained, all: &mut Vec<&'a Explained>) {
    all.push(step);
    step.of.iter().for_each(|step| steps(step, all));
}

/// The plan of `sql` with what its steps take, which come to what all of it takes.
fn foreseen(query: &cenote_query::Query, abilities: Abilities) -> Explained {
    let tally = query.tally(abilities).unwrap();
    let plan = query.foreseen(&tally);
    let mut all = Vec::new();
    steps(&plan, &mut all);
    let taken: Vec<_> = all.iter().filter_map(|step| step.takes).collect();
    let ands: u64 = taken.iter().map(|takes| takes.and_gates).sum();
    let levels: u64 = taken.iter().map(|takes| takes.levels).sum();
    let messages: u64 = taken.iter().map(|takes| takes.messages).sum();
    let text = plan.tree();
    assert_eq!(
        (ands, levels, messages),
        (tally.and_gates, tally.levels, tally.messages),
        "{text}"
    );
    assert_eq!(plan.and_gates(), tally.and_gates);
    for step in all {
        assert_eq!(step.takes.is_none(), step.owner.is_some(), "{text}");
    }
    plan
}

/// The step that begins so.
fn step<'a>(plan: &'a Explained, what: &str) -> &'a Explained {
    let mut all = Vec::new();
    steps(plan, &mut all);
    let found = all.into_iter().find(|step| step.what.starts_with(what));
    found.unwrap_or_else(|| panic!("no {what} in {}", plan.tree()))
}

#[test]
fn steps_take_all_that_a_query_takes() {
    let mut counted = 0;
    for seed in 0..200 {
        let case = Case::new(seed);
        let Ok(query) = case.world.plan(&case.asked.ours) else {
            continue;
        };
        for abilities in [Abilities::default(), Abilities::THREE] {
            foreseen(&query, abilities);
            counted += 1;
        }
    }
    assert!(counted > 200, "{counted}");
}

#[test]
fn costs_stand_where_they_arise() {
    let columns = "id u32 not null unique, x u32 not null, y u32 not null";
    let mut world = world(columns, columns, 200);
    let of = |world: &World, sql: &str, part: &str| {
        let plan = foreseen(&world.plan(sql).unwrap(), Abilities::default());
        step(&plan, part).takes.unwrap().and_gates
    };
    let all = "select a.id from a join b using (id)";
    // Of 200 rows, a product of 32 bits each, and a comparison of 64.
    let product = of(&world, &format!("{all} where a.x * b.y > 7"), "keep rows");
    assert!((200 * 1000..200 * 2100).contains(&product), "{product}");
    let comparison = of(&world, &format!("{all} where a.x > b.y"), "keep rows");
    assert!((200 * 32..200 * 40).contains(&comparison), "{comparison}");
    // A join takes as much whatever is done with its rows.
    let joined = [all.to_owned(), format!("{all} where a.x > b.y")].map(|sql| of(&world, &sql, "join on"));
    assert!(
        joined[1] > 10 * comparison && joined[0] <= joined[1],
        "{joined:?}"
    );
    // In the end rows that do not count are cleared, and shuffled if they have no order; fewer rows must be put together first.
    let sql = "select id, x from a union all select id, x from b";
    world.schema.answer.count = Count::AtMost(400);
    assert_eq!(
        of(&world, &format!("{sql} order by id, x limit 399"), "the answer"),
        399 * 64
    );
    assert!(of(&world, sql, "the answer") > 5 * 400 * 64);
    world.schema.answer.count = Count::AtMost(5);
    assert!(of(&world, sql, "the answer") > 2 * 400 * 64);
    let plan = world.plan(sql).unwrap();
    let text = plan.foreseen(&plan.tally(Abilities::default()).unwrap()).tree();
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("the answer, to all parties (all, secretly; 5 rows of 65 bits; ")
            && first.ends_with(" k ANDs, 100 %)"),
        "{text}"
    );
    assert!(
        text.contains("(party 0, in the clear; 200 rows of 65 bits)\n"),
        "{text}"
    );
}

#[test]
fn texts_of_lists_are_shown() {
    let columns = "id u8 not null unique, c char(8) values air,rail,it's,ship";
    let world = world(columns, columns, 8);
    let told = |condition: &str| {
        let sql = format!("select a.id from a join b using (id) where {condition}");
        world.plan(&sql).unwrap().explained().tree()
    };
    for (condition, shown) in [
        (
            "a.c = 'rail' or b.c <> 'it''s'",
            "keep rows where (a.c = 'rail' OR b.c <> 'it''s') ",
        ),
        (
            "a.c < 'rail' or b.c >= 'b'",
            "keep rows where (a.c < 'rail' OR b.c >= 'it''s') ",
        ),
        ("a.c > 'b' or b.c <= 'zoo'", "keep rows where ("),
        (
            "case when b.id > 5 then a.c else 'ship' end = b.c",
            "CASE WHEN 5 < b.id THEN a.c ELSE 'ship' END = b.c",
        ),
        ("coalesce(a.c, b.c) = 'air'", " = 'air' "),
    ] {
        let tree = told(condition);
        assert!(tree.contains(shown), "{shown}: {tree}");
        let words = tree.lines().find(|line| line.contains("keep rows")).unwrap();
        let words = words.split(" (all").next().unwrap();
        assert!(!words.contains("c < 4") && !words.contains("= 0"), "{tree}");
    }
    let grouped = world
        .plan("select a.c, max(b.c) from a join b using (id) group by a.c having max(b.c) = 'ship' and count(b.c) = 2")
        .unwrap()
        .explained()
        .tree();
    assert!(
        grouped.contains("MAX(b.c) = 'ship' AND COUNT(b.c) = 2"),
        "{grouped}"
    );
}

fn proposals(world: &World, sql: &str) -> Vec<Proposal> {
    let query = world.plan(sql).unwrap();
    let before = query.tally(Abilities::default()).unwrap().and_gates;
    query.proposals(sql, Abilities::default(), before)
}

fn declarations(world: &World, sql: &str) -> Vec<String> {
    let of = |proposal: Proposal| {
        let each = proposal.promises.into_iter();
        let each: Vec<String> = each
            .map(|one| format!("{}: {}", one.table, one.declare))
            .collect();
        each.join(", ")
    };
    proposals(world, sql).into_iter().map(of).collect()
}

#[test]
fn promises_are_proposed_that_make_queries_cheaper() {
    let a = "id u32 not null unique, g char(20) not null, x u64 not null";
    let b = "id u32 not null unique, k u32 not null, n u64 not null";
    let world = world(a, b, 300);
    let sql = "select g, max(n) as m from a join b on a.id = b.k group by g";
    let told = proposals(&world, sql);
    let query = world.plan(sql).unwrap();
    let before = query.tally(Abilities::default()).unwrap().and_gates;
    for proposal in &told {
        assert!(proposal.and_gates * 5 <= before * 4, "{proposal:?}");
        assert!(
            proposal.told.starts_with("If ") && proposal.told.ends_with(" ANDs"),
            "{proposal:?}"
        );
    }
    assert!(told.windows(2).all(|pair| pair[0].and_gates <= pair[1].and_gates));
    let declared = declarations(&world, sql);
    assert!(
        declared.contains(&"a: values = { g = [\"…\"] }".into()),
        "{declared:?}"
    );
}

/// What saves little alone is proposed with what goes with it.
#[test]
fn promises_are_proposed_together() {
    let a = "id u64 not null unique, g char(20) not null";
    let b = "k u64 not null, n u64 not null";
    let world = world(a, b, 300);
    let sql = "select g, sum(n) as s from a join b on a.id = b.k group by g";
    let told = proposals(&world, sql);
    let [together, others @ ..] = &told[..] else {
        panic!("nothing is proposed")
    };
    let declared: Vec<String> = together
        .promises
        .iter()
        .map(|one| format!("{}: {}", one.table, one.declare))
        .collect();
    assert!(declared.len() >= 4, "{declared:?}");
    let columns: BTreeSet<&str> = declared
        .iter()
        .map(|one| one.split('=').nth(1).unwrap())
        .collect();
    assert_eq!(
        columns.len(),
        declared.len(),
        "one promise a column: {declared:?}"
    );
    assert!(!declared.iter().any(|one| one.contains("unique")), "{declared:?}");
    assert!(
        others
            .iter()
            .all(|one| together.and_gates * 5 <= one.and_gates * 4)
    );
}

/// What is proposed of numbers is what comes of declaring it.
#[test]
fn proposals_are_kept() {
    let columns = "k u64 not null, x u8 not null";
    let mut world = world(
        &format!("{columns} unique_with k"),
        &format!("{columns}, j u64 not null unique"),
        300,
    );
    let sql = "select a.x, b.x from a join b on a.k = b.j";
    let told = proposals(&world, sql);
    let below = told
        .iter()
        .find(|proposal| proposal.promises.len() == 2)
        .unwrap_or_else(|| panic!("{told:?}"));
    let declared: Vec<&str> = below.promises.iter().map(|one| one.declare.as_str()).collect();
    assert_eq!(declared, ["below = { k = 1048576 }", "below = { j = 1048576 }"]);
    assert!(
        below.told.starts_with(
            "If all values of a.k are 0 or more and less than, for example, 1048576 and all values of b.j are 0 or more and less than, for example, 1048576, \
             declare `below = { k = 1048576 }` for table a and `below = { j = 1048576 }` for table b: "
        ),
        "{}",
        below.told
    );
    for (table, column) in [(0, "k"), (1, "j")] {
        world.schema.tables[table].below.insert(column.into(), 1 << 20);
    }
    let now = world
        .plan(sql)
        .unwrap()
        .tally(Abilities::default())
        .unwrap()
        .and_gates;
    assert_eq!(now, below.and_gates);
    assert!(declarations(&world, sql).iter().all(|one| !one.contains("below")));
}

/// Nothing is proposed that is declared, or that what is declared speaks against.
#[test]
fn what_is_known_is_not_proposed() {
    let sql =
        "select g, count(*) as n from (select * from a union all select * from b) u group by g order by n";
    let plain = world("g u64 not null", "g u64 not null", 500);
    assert!(!declarations(&plain, sql).is_empty());
    let known = "g u64 not null below 100000 distinct 30";
    assert_eq!(declarations(&world(known, known, 500), sql), Vec::<String>::new());
    let join = "select a.x from a join b on a.k = b.k where b.x > a.x";
    let of = |keys: &str| {
        declarations(
            &world(
                &format!("k u16 not null {keys}, x u8"),
                "k u16 not null unique, x u8",
                300,
            ),
            join,
        )
    };
    for keys in ["unique", "at_most 3", "distinct 20"] {
        let declared = of(keys);
        assert!(
            !declared.iter().any(|one| one.contains("unique")),
            "{keys}: {declared:?}"
        );
    }
}

//! How long and how deep a query may be: what is longer or deeper is refused, and never a panic, an overflow of the stack or a wait.

use cenote_net::PartyId;
use cenote_program::Abilities;

use super::world;
use crate::common::World;

fn refused(sql: &str, what: &str) {
    let found = world().ask(sql);
    assert!(found.contains(what), "{}… {found}", &sql[..sql.len().min(100)]);
}

#[test]
fn text() {
    refused(
        &format!("select x from a where x = {}", " ".repeat(1 << 16)),
        "it is longer than 65536 bytes; shorten it",
    );
    refused(
        &format!("select '{}' from a", "a".repeat(256)),
        "line 1, column 8: text may be at most 255 bytes long",
    );
    refused("select '\0' from a", "text must not contain a zero byte");
    refused(
        "select x from a where s like 'a\0%'",
        "text must not contain a zero byte",
    );
}

#[test]
fn words() {
    let ors = |count: usize| format!("select x from a where x = 1{}", " or x = 2".repeat(count));
    refused(
        &ors(1000),
        "it has more than 2000 words and signs (constants and commas are not counted); ask for less at once",
    );
    refused(
        &format!("select x from a{}", " union all select x from a".repeat(450)),
        "more than 2000 words",
    );
    let world = world();
    assert_eq!(world.ask(&ors(600)), "2");
    let numbers: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    assert_eq!(
        world.ask(&format!("select x from a where x in ({})", numbers.join(", "))),
        "2"
    );
}

#[test]
fn depth() {
    let nested = |count: usize| format!("select {}x{} from a", "(".repeat(count), ")".repeat(count));
    refused(
        &nested(50),
        "it is nested more than 40 deep; use fewer brackets and subqueries",
    );
    refused(
        &format!("select x{} from a", " + 1".repeat(100)),
        "line 1, column 8: this is nested 100 deep",
    );
    refused(
        &format!("select {}x from a", "- ".repeat(60)),
        "more than 40 deep",
    );
    refused(
        &format!("select x from a where x{}", " is null".repeat(300)),
        "this is nested 100 deep",
    );
    let world = world();
    assert_eq!(world.ask(&nested(12)), "2");
    assert_eq!(world.ask(&format!("select x{} from a", " + 1".repeat(90))), "92");
}

/// Each order of a window is a step.
#[test]
fn windows() {
    let windows = |count: usize| {
        let window = |at| format!("rank() over (order by x + {at})");
        format!(
            "select {} from a",
            (0..count).map(window).collect::<Vec<_>>().join(", ")
        )
    };
    let steps = "it takes more than 100 steps one after the other; use fewer subqueries and windows";
    refused(&windows(100), steps);
    let medians: Vec<String> = (0..100).map(|at| format!("median(x + {at})")).collect();
    refused(&format!("select {} from a", medians.join(", ")), steps);
    let world = world();
    assert_eq!(world.ask(&windows(40)), vec!["1"; 40].join(" "));
}

/// Parts that are written once and computed again and again.
#[test]
fn size() {
    let abs = |count: usize| format!("select {}x{} from a", "abs(".repeat(count), ")".repeat(count));
    refused(
        &abs(12),
        "this has more than 65536 parts, counting what is computed twice; move a part of it into a subquery",
    );
    let doubled: Vec<String> = (1..60)
        .map(|at| format!("t{at} as (select x + x as x from t{})", at - 1))
        .collect();
    let doubled = format!(
        "with t0 as (select x from a), {} select x from t59",
        doubled.join(", ")
    );
    refused(
        &doubled,
        "with its subqueries written out, this has more than 65536 parts; ask for less at once",
    );
    let joined: Vec<String> = (1..30)
        .map(|at| {
            format!(
                "t{at} as (select p.id from t{0} p join t{0} q on p.id = q.id)",
                at - 1
            )
        })
        .collect();
    let joined = format!(
        "with t0 as (select id from a), {} select id from t29",
        joined.join(", ")
    );
    refused(
        &joined,
        "it uses more than 64 tables, counting those of a subquery each time it is named; use fewer",
    );
    let world = world();
    assert_eq!(world.ask(&abs(6)), "2");
    let many = ", x".repeat(30);
    assert_eq!(
        world.ask(&format!("select greatest(1{many}), coalesce(null{many}) from a")),
        "2 2"
    );
}

/// `*` is short, and what it stands for is not.
#[test]
fn columns() {
    let stars = |count: usize| vec!["*"; count].join(", ");
    let nested = |levels: usize, width: usize| {
        (0..levels).fold("a".to_owned(), |from, _| {
            format!("(select {} from {from}) t", stars(width))
        })
    };
    refused(
        &format!("select 1 from {}", nested(10, 30)),
        "columns, more than the limit of 1000; list only those that you need",
    );
    refused(
        &format!("select {} from a", vec!["1"; 1001].join(", ")),
        "this has 1001 columns, more than the limit of 1000",
    );
    refused(
        &format!("select 1 from a group by {}", vec!["1"; 1001].join(", ")),
        "this has 1001 columns",
    );
    refused(
        &format!("select x from a order by {}", vec!["1"; 1001].join(", ")),
        "this has 1001 columns",
    );
    let wide = format!("(select {} from a)", stars(100));
    refused(
        &format!("select 1 from {wide} t, {wide} u"),
        "this has 1400 columns",
    );
    assert_eq!(world().ask(&format!("select count(*) from {wide} t")), "1");
}

/// Each of these would make gigabytes of a few hundred bytes.
#[test]
fn all_of_it() {
    let large = format!("{}x{}", "abs(".repeat(7), ")".repeat(7));
    let many = vec!["c"; 900].join(", ");
    let made = "it has more than 524288 columns and parts of expressions";
    refused(
        &format!("select {many} from (select {large} as c from a) t"),
        made,
    );
    let numbers: Vec<String> = (0..900).map(|number| number.to_string()).collect();
    refused(
        &format!("select x from a where {large} in ({})", numbers.join(", ")),
        made,
    );
    let named: Vec<String> = (1..20)
        .map(|at| {
            format!(
                "t{at} as (select * from t{} union all select * from t{0})",
                at - 1
            )
        })
        .collect();
    let star = vec!["*"; 100].join(", ");
    refused(
        &format!(
            "with t0 as (select {star} from a), {} select 1 from t19",
            named.join(", ")
        ),
        "more than",
    );
    // What is written without words and signs counts too.
    let ones = vec!["1"; 20_000].join(", ");
    let too_deep = "more than 200 calculations one inside the other";
    refused(&format!("select coalesce({ones}) from a"), too_deep);
    refused(
        &format!("select case x{} end from a", " when 1 then 1".repeat(450)),
        too_deep,
    );
    refused(
        &format!("select greatest({ones}) from a"),
        "this has more than 65536 parts",
    );
    let long = "a".repeat(129);
    refused(
        &format!("select x as {long} from a"),
        "a name may be at most 128 bytes long",
    );
    refused(
        &format!("select x from a as {long}"),
        "a name may be at most 128 bytes long",
    );
    refused(
        &format!("select x from a where s like '{}%'", "a".repeat(256)),
        "text may be at most 255 bytes long",
    );
}

/// A service keeps plans that wait by what they take, which the length of the text does not tell.
#[test]
fn plans_are_as_large_as_what_they_have() {
    let parts = |sql: &str| world().plan(sql).expect("it is planned").parts();
    let few = parts("select x from a");
    let many = parts(&format!("select {} from a", vec!["*"; 100].join(", ")));
    assert!(few < 20 && many > 1400, "{few} and {many}");
    let numbers: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let listed = parts(&format!("select x from a where x in ({})", numbers.join(", ")));
    assert!(listed > 4000, "{listed}");
}

/// Subqueries one of another: `t0`, and then each `tN` of the one before, which `of` gives its text by.
fn chain(first: &str, count: usize, of: impl Fn(String) -> String) -> String {
    let more = (1..=count).map(|at| format!(", t{at} as ({})", of(format!("t{}", at - 1))));
    format!("with t0 as ({first}){}", more.collect::<String>())
}

/// How often conditions and columns are looked at is counted, and not timed.
#[test]
fn looks() {
    let join = "select a.p from a join b on a.id = b.id";
    let doubled = chain(join, 13, |from| format!("select p and p as p from {from}"));
    refused(
        &format!("{doubled} select 1 from t13 where p or p"),
        "planning it would take more than 67108864 comparisons of columns and expressions",
    );
}

/// What stands as deep as it may is planned, counted, explained, computed and dropped on a small stack.
#[test]
fn deep_queries_fit_a_small_stack() {
    let join = "select a.x + b.y as x from a join b on a.id = b.id";
    let ones = |count: usize| {
        let sums = chain(join, count, |from| {
            format!("select x{} as x from {from}", " + 1".repeat(8))
        });
        format!("{sums} select x from t{count}")
    };
    let cases = format!(
        "with t0 as ({join}) select case x{} end from t0",
        " when 4 then 7".repeat(180)
    );
    let steps = |count: usize| {
        let group = "where x > 0 group by x having count(*) > 0 order by x limit 5";
        let steps = chain(join, count, |from| {
            format!("select distinct x from {from} {group}")
        });
        format!("{steps} select x from t{count}")
    };
    for (deep, answer) in [(ones(23), "188"), (cases, "7"), (steps(15), "4")] {
        let small = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
            let world = world();
            let query = world.plan(&deep).unwrap();
            query.tally(Abilities::THREE).unwrap();
            assert!(!query.explained().tree().is_empty() && !query.flows().is_empty());
            query.prepare(PartyId(0), &world.own(PartyId(0))).unwrap();
            drop(query);
            assert_eq!(world.ask(&deep), answer);
        });
        small.unwrap().join().expect("it fits");
    }
    let owned = chain("select x from a", 15, |from| {
        format!(
            "select distinct x{} as x from {from} where x > 0",
            " + 1".repeat(8)
        )
    });
    assert_eq!(world().ask(&format!("{owned} select x from t15")), "122");
    refused(
        &ones(30),
        "this takes more than 200 calculations one inside the other",
    );
    refused(&steps(30), "it takes more than 100 steps one after the other");
}

#[test]
fn rows() {
    let mut world =
        World::new(2)
            .table(0, "a", "k u8 at_most 200", "1")
            .table(1, "b", "k u8 at_most 200", "1");
    world
        .schema
        .tables
        .iter_mut()
        .for_each(|table| table.max_rows = 1 << 22);
    let what = "this may have 838860800 rows, more than the limit of 268435456; lower `max_rows` or `at_most` of the tables";
    let left = world.ask("select a.k from a left join b on a.k = b.k");
    assert!(left.ends_with(what), "{left}");
    world
        .schema
        .tables
        .iter_mut()
        .for_each(|table| table.max_rows = 1 << 28);
    let union = world.ask("select k from a union all select k from b");
    assert!(union.contains("this may have 536870912 rows"), "{union}");
}

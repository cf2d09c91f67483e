//! Queries in shards have the answers that they have in one session.
//!
//! `CENOTE_SHARDS=5000` runs so many random queries instead of 120, and `CENOTE_SEED=17` the one with this seed.

use std::num::NonZero;

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::local::{in_the_clear, in_the_clear_shuffling};
use cenote_query::{Cut, Error, HashKey, OwnInput, Placing, Query};
use cenote_tables::Table;

use crate::common::{Outcome, World, outcome, party};
use crate::differential::{Case, number};

/// Queries in a run that is not told how many.
const FEW: u64 = 120;

/// What the shards of one party have kept, of each relation.
type Kept = Vec<Vec<BitMatrix>>;

/// What each party keeps of each shard.
fn keep(cut: &Cut, world: &World, key: &HashKey, shuffling: bool) -> Result<Vec<Kept>, String> {
    let parties = world.schema.parties;
    let own: Vec<Vec<Option<Table>>> = (0..parties).map(|me| world.own(PartyId(me))).collect();
    let mut kept: Vec<Kept> = vec![Vec::new(); parties.into()];
    for shard in 0..cut.shards() {
        let given = |me: PartyId| -> cenote_query::Result<OwnInput> {
            let parts = cut.in_shards(key, &own[me.index()])?;
            cut.shard().prepare(me, &parts[shard as usize])
        };
        for me in 0..parties {
            given(PartyId(me)).map_err(|error| error.to_string())?;
        }
        let run = |session: &cenote_program::Session| {
            let given = given(session.me()).expect("it was seen to go through");
            match cut.shard().keep(session, given) {
                Err(Error::Session(error)) => Err(error),
                kept => Ok(kept.expect("nothing else fails")),
            }
        };
        let shares = match shuffling {
            true => in_the_clear_shuffling(parties, run),
            false => in_the_clear(parties, run),
        };
        for (kept, share) in kept.iter_mut().zip(shares.expect("the session ends well")) {
            kept.push(share);
        }
    }
    Ok(kept)
}

/// What becomes of a query that is cut so.
pub(crate) fn merged(cut: &Cut, world: &World, key: &HashKey, shuffling: bool) -> Outcome {
    let kept = match keep(cut, world, key, shuffling) {
        Ok(kept) => kept,
        Err(what) => return Outcome::Rows(what),
    };
    let prepare = |query: &Query, me: PartyId| {
        let own = query.prepare(me, &world.own(me))?;
        Ok::<_, Error>(own.with_kept(kept[me.index()].clone()))
    };
    for me in 0..world.schema.parties {
        if let Err(error) = prepare(cut.merge(), PartyId(me)) {
            return Outcome::Rows(error.to_string());
        }
    }
    let parties = world.schema.parties;
    let results = match shuffling {
        true => in_the_clear_shuffling(parties, |session| party(cut.merge(), session, &prepare)),
        false => in_the_clear(parties, |session| party(cut.merge(), session, &prepare)),
    };
    outcome(cut.merge(), results.expect("the session ends well"))
}

pub(crate) fn shards(count: u32) -> NonZero<u32> {
    NonZero::new(count).expect("it is not 0")
}

pub(crate) fn key(of: u64) -> HashKey {
    let mut coin = [7; 32];
    coin[..8].copy_from_slice(&of.to_le_bytes());
    HashKey::new(coin)
}

/// Asks `sql` in one session and in shards, in all ways that are tried, and wants the same answers. In one of them tables are placed so.
pub(crate) fn same(world: &World, sql: &str, count: u32, placings: &[Placing]) {
    let query = world.plan(sql).expect("it is planned");
    let whole = world.run(sql);
    assert!(matches!(whole, Outcome::Answer(_)), "{whole:?}");
    let mut found = Vec::new();
    for cut in query.ways_to_cut(shards(count), 40).expect("it can be cut") {
        assert_eq!(
            merged(&cut, world, &key(1), false),
            whole,
            "{sql}: {:?}",
            cut.tables()
        );
        found.push(cut.tables().iter().map(|table| table.placing).collect::<Vec<_>>());
    }
    assert!(found.iter().any(|found| found == placings), "{sql}: {found:?}");
}

pub(crate) fn sales() -> World {
    World::new(3)
        .table(
            0,
            "customers",
            "id u32 not null unique, name char(4), region u8 not null distinct 3",
            "1 ann 1 | 2 bob 2 | 3 cy 1 | 4 dan 3 | 5 eve 2",
        )
        .table(
            1,
            "orders",
            "id u32 not null unique, customer u32 at_most 3, day date not null",
            "10 1 2020-01-01 | 11 1 2020-01-02 | 12 2 2020-01-02 | 13 5 2020-01-03 | 14 null 2020-01-03 | 15 9 2020-01-04",
        )
        .table(
            2,
            "items",
            "of decimal(12,2) not null at_most 3, price i32 not null, count u8",
            "10.00 5 1 | 10.00 7 2 | 11.00 100 1 | 12.00 3 null | 13.00 8 4 | 13.00 1 1 | 15.00 2 2 | 99.00 1 1",
        )
}

#[test]
fn joins_by_one_key_are_cut_by_it() {
    use Placing::{Key, Whole};
    let world = sales();
    let joined = "orders o JOIN items i ON o.id = i.of";
    for (sql, placings) in [
        (
            format!("SELECT SUM(price * count), COUNT(*), COUNT(count), MIN(price), MAX(price), AVG(price) FROM {joined}"),
            [Whole, Key(0), Key(0)],
        ),
        // Groups of the key are in one shard, and others are put together.
        (
            format!("SELECT o.id, SUM(price) FROM {joined} GROUP BY o.id ORDER BY o.id"),
            [Whole, Key(0), Key(0)],
        ),
        (
            format!("SELECT day, SUM(price), STDDEV(price) FROM {joined} GROUP BY day HAVING COUNT(*) > 1 ORDER BY day"),
            [Whole, Key(0), Key(0)],
        ),
        (
            format!("SELECT i.of, price FROM {joined} ORDER BY price DESC, i.of LIMIT 3 OFFSET 1"),
            [Whole, Key(0), Key(0)],
        ),
        (format!("SELECT day, price FROM {joined}"), [Whole, Key(0), Key(0)]),
        (
            format!("SELECT region, SUM(price) FROM {joined} JOIN customers c ON o.customer = c.id GROUP BY region ORDER BY region"),
            [Whole, Key(0), Key(0)],
        ),
        // Rows without a key meet nothing, and count where they need not.
        (
            "SELECT c.id, COUNT(o.id) FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id ORDER BY c.id".to_owned(),
            [Key(0), Key(1), Whole],
        ),
        (
            "SELECT COUNT(*), COUNT(c.id), COUNT(o.id) FROM customers c FULL JOIN orders o ON o.customer = c.id".to_owned(),
            [Key(0), Key(1), Whole],
        ),
    ] {
        for count in [1, 2, 5] {
            same(&world, &sql, count, &placings);
        }
    }
}

/// Two parties that each have some of the items, as data that is held in parts often is.
#[test]
fn what_several_owners_have_together_is_cut_by_the_key_by_which_it_meets() {
    let world = World::new(3)
        .table(
            0,
            "orders",
            "id u32 not null unique, day u8 not null",
            "10 1 | 11 1 | 12 2 | 13 3 | 14 3 | 15 1",
        )
        .table(
            1,
            "items_b",
            "of u32 not null at_most 3, price u16 not null",
            "10 5 | 10 7 | 12 1 | 15 9 | 99 4",
        )
        .table(
            2,
            "items_c",
            "of u32 not null at_most 3, price u16 not null",
            "10 2 | 11 3 | 13 8 | 13 8 | 15 1",
        )
        .table(1, "unasked", "of u32 not null, note u8", "1 1 | 2 2");
    let items = "(SELECT of, price FROM items_b UNION ALL SELECT of, price FROM items_c) items";
    use Placing::{Key, Rows, Whole};
    same(
        &world,
        &format!(
            "SELECT day, SUM(price) AS paid FROM orders JOIN {items} ON id = of GROUP BY day ORDER BY day"
        ),
        3,
        &[Key(0), Key(0), Key(0), Whole],
    );
    same(
        &world,
        &format!("SELECT of, COUNT(*) AS n, SUM(price) AS paid FROM {items} GROUP BY of ORDER BY of"),
        3,
        &[Whole, Key(0), Key(0), Whole],
    );
    same(
        &world,
        &format!("SELECT COUNT(*) AS n FROM orders JOIN {items} ON id = of WHERE price > day"),
        2,
        &[Whole, Rows, Rows, Whole],
    );
    // What is not asked for is nobody's to vary.
    let query = world
        .plan("SELECT COUNT(*) AS n FROM items_b GROUP BY of")
        .unwrap();
    let cut = query.cut(shards(2), 40).unwrap();
    assert!(!cut.told().contains("unasked"), "{}", cut.told());
    assert_eq!((0..3).find_map(|me| cut.varies_beside(PartyId(me))), None);
}

#[test]
fn what_is_too_large_as_a_whole_is_cut() {
    let mut world = sales();
    world
        .schema
        .tables
        .iter_mut()
        .for_each(|table| table.max_rows = 1 << 26);
    let sql = "SELECT COUNT(*), SUM(price) FROM orders o JOIN items i ON o.id = i.of";
    let error = Query::new(sql, world.schema.clone()).unwrap_err().to_string();
    assert!(
        error.contains("more than the limit") && error.contains("into shards"),
        "{error}"
    );
    let query = Query::to_cut(sql, world.schema.clone()).unwrap();
    let cut = query.cut(shards(1024), 40).unwrap();
    assert!(cut.shard().exchanges() < 1 << 26);
    // In two shards each of them is as bad.
    let error = query.cut(shards(2), 40).unwrap_err().to_string();
    assert!(error.contains("more than the limit"), "{error}");
}

#[test]
fn small_groups_and_secret_owners_are_cut_too() {
    let mut world = sales();
    world.schema.answer.min_group = 2;
    let sql = "SELECT day, SUM(price) FROM orders o JOIN items i ON o.id = i.of GROUP BY day ORDER BY day";
    same(
        &world,
        sql,
        3,
        &[Placing::Whole, Placing::Key(0), Placing::Key(0)],
    );
    let mut world = sales();
    world.schema.secret_only = true;
    let sql = "SELECT region, COUNT(*), MIN(name) FROM customers GROUP BY region ORDER BY region";
    let cut = world.plan(sql).unwrap().cut(shards(4), 40).unwrap();
    assert_ne!(cut.tables()[0].placing, Placing::Whole);
    assert_eq!(merged(&cut, &world, &key(2), true), world.run(sql));
}

#[test]
fn what_meets_by_different_keys_is_not_cut() {
    let world = World::new(2)
        .table(0, "a", "x u8 not null, y u8 not null", "1 2 | 3 4")
        .table(1, "b", "x u8 not null, y u8 not null", "1 2 | 3 5");
    let mut world = world;
    world.schema.max_join_rows = Some(50);
    for sql in [
        "SELECT COUNT(*) FROM a JOIN a AS c ON a.x = c.y",
        "SELECT COUNT(*) FROM a JOIN (SELECT x, y FROM a UNION ALL SELECT x, y FROM b WHERE x > 1) c ON a.x = c.y JOIN b ON b.x = c.x AND b.y = a.y",
    ] {
        let query = world.plan(sql).expect("it is planned");
        let error = query.cut(shards(2), 40).unwrap_err().to_string();
        assert!(error.contains("no part of the query"), "{error}");
    }
    let error = world
        .plan("SELECT COUNT(*) FROM a")
        .unwrap()
        .cut(shards(1 << 20), 40);
    assert!(error.unwrap_err().to_string().contains("4096 is the most"));
}

/// The placings of all ways in which a query is cut.
fn ways(world: &World, sql: &str) -> Vec<Vec<Placing>> {
    let query = world.plan(sql).expect("it is planned");
    // Where no way can be planned, there is none.
    let cuts = query.ways_to_cut(shards(3), 40).unwrap_or_default();
    let placings = |cut: &Cut| cut.tables().iter().map(|table| table.placing).collect();
    cuts.iter().map(placings).collect()
}

/// In a secret order, rows that are equal come in another way in each shard: each would take others of them.
#[test]
fn the_first_rows_of_several_owners_are_not_chosen_in_each_shard() {
    let world = World::new(3)
        .table(
            0,
            "a",
            "id u8 not null unique, score u8 not null",
            "1 7 | 2 7 | 3 7",
        )
        .table(1, "b", "id u8 not null unique, y u8 not null", "1 1 | 2 1 | 3 1")
        .table(
            2,
            "fact",
            "of u8 not null, x u8 not null",
            "1 10 | 2 20 | 3 30 | 1 40",
        );
    for chosen in [
        "SELECT a.id AS id FROM a JOIN b ON a.id = b.id ORDER BY score LIMIT 2",
        "SELECT id FROM (SELECT a.id AS id, ROW_NUMBER() OVER (ORDER BY score) AS place FROM a JOIN b ON a.id = b.id) r WHERE place < 3",
    ] {
        let sql = format!("SELECT SUM(x) FROM fact JOIN ({chosen}) t ON fact.of = t.id");
        for placings in ways(&world, &sql) {
            assert_eq!(placings[2], Placing::Whole, "{sql}: {placings:?}");
        }
    }
    // One owner chooses them once, in the clear.
    let sql =
        "SELECT SUM(x) FROM fact JOIN (SELECT id FROM a ORDER BY score, id LIMIT 2) t ON fact.of = t.id";
    same(&world, sql, 3, &[Placing::Whole, Placing::Whole, Placing::Rows]);
}

/// That a key comes once is verified in each shard only: an owner could put it into all of them.
#[test]
fn promises_that_no_shard_can_verify_are_not_relied_on() {
    let world = World::new(2)
        .table(0, "a", "k u8 not null unique, x u8 not null", "1 2 | 3 4 | 5 6")
        .table(1, "b", "k u8 not null, y u8 not null", "1 2 | 3 5 | 3 9");
    let sql = "SELECT a.k, x, y FROM a JOIN b ON a.k = b.k";
    let found = ways(&world, sql);
    assert!(
        found.contains(&vec![Placing::Key(0), Placing::Key(0)]),
        "{found:?}"
    );
    assert!(!found.contains(&vec![Placing::Rows, Placing::Whole]), "{found:?}");
}

/// Tables in which each key comes once have room for few more rows than the average, whatever the keys are.
#[test]
fn parts_have_the_rooms_that_are_told() {
    let rows: Vec<String> = (0..3000).map(|row| format!("{row} {}", row % 7)).collect();
    let world = World::new(2)
        .table(0, "a", "k u32 not null unique, x u8 not null", &rows.join(" | "))
        .table(1, "b", "k u32 not null unique, y u8 not null", &rows.join(" | "));
    let sql = "SELECT SUM(x + y) FROM a JOIN b ON a.k = b.k";
    let query = world.plan(sql).unwrap();
    let cut = query.cut(shards(4), 40).unwrap();
    let room = cut.tables()[0].rows;
    assert!((751..1000).contains(&room), "{room}");
    for seed in 0..20 {
        let own = world.own(PartyId(0));
        let parts = cut.in_shards(&key(seed), &own).unwrap();
        let counts: Vec<usize> = parts.iter().map(|own| own[0].as_ref().unwrap().rows).collect();
        assert_eq!(counts.iter().sum::<usize>(), 3000);
        assert!(counts.iter().all(|&rows| rows <= room), "{counts:?}");
    }
    // Rows that are chosen for the hash find no room, and their owner alone learns of it.
    let cut = query.cut(shards(4), 1).unwrap();
    let error = (0..200).find_map(|seed| cut.in_shards(&key(seed), &world.own(PartyId(0))).err());
    assert!(
        error
            .unwrap()
            .to_string()
            .contains("more of its rows fall into one shard")
    );
}

/// Sizes that are public do not follow from the rows.
#[test]
fn what_shards_send_does_not_follow_from_the_rows() {
    let few = sales();
    let mut many = sales();
    for (table, other) in many.tables.iter_mut().zip(&few.tables) {
        *table = other.gather(&[0]);
    }
    let sql = "SELECT day, SUM(price) FROM orders o JOIN items i ON o.id = i.of GROUP BY day";
    for (sql, relations) in [
        (format!("{sql} ORDER BY day"), 1),
        (
            format!("{sql} HAVING SUM(price) > (SELECT SUM(price) * 0.2 FROM items)"),
            2,
        ),
    ] {
        let shapes = |world: &World| {
            let ways = world.plan(&sql).unwrap().ways_to_cut(shards(3), 40).unwrap();
            let shapes = ways.iter().map(|cut| {
                let kept = keep(cut, world, &key(3), false).unwrap();
                let shape = |share: &BitMatrix| (share.rows(), share.lanes());
                let of_shard = |shard: &Vec<BitMatrix>| shard.iter().map(shape).collect();
                kept.iter().flatten().map(of_shard).collect()
            });
            shapes.collect::<Vec<Vec<Vec<_>>>>()
        };
        let few = shapes(&few);
        assert_eq!(few, shapes(&many));
        let most = few.iter().flatten().map(Vec::len).max();
        assert_eq!(most, Some(relations), "{few:?}");
    }
}

/// What random queries came to.
#[derive(Default)]
struct Found {
    planned: u64,
    /// Those that are cut, and those of which a shard keeps several relations in some way.
    cut: u64,
    several: u64,
}

/// The answers of random queries, in all ways in which they can be cut.
fn answers_in_shards(case_of: fn(u64) -> Case) -> Option<Found> {
    let seeds: Vec<u64> = match (number("CENOTE_SEED"), number("CENOTE_SHARDS")) {
        (Some(seed), _) => vec![seed],
        (None, count) => (0..count.unwrap_or(FEW)).collect(),
    };
    let mut found = Found::default();
    for &seed in &seeds {
        let case = case_of(seed);
        let Ok(query) = case.world.plan(&case.asked.ours) else {
            continue;
        };
        found.planned += 1;
        let Ok(ways) = query.ways_to_cut(shards(1 + seed as u32 % 4), 40) else {
            continue;
        };
        found.cut += u64::from(!ways.is_empty());
        found.several += u64::from(ways.iter().any(|way| way.kept().count() > 1));
        for in_shards in ways {
            let outcome = merged(&in_shards, &case.world, &key(seed), seed % 3 == 0);
            if let Some(wrong) = case.wrong(&outcome) {
                panic!("seed {seed}\n{}\n{}\n{wrong}", case.told(), in_shards.told());
            }
        }
    }
    (seeds.len() >= 100).then_some(found)
}

/// Random queries, of which those that can be cut have their answers.
#[test]
fn random_queries_have_their_answers_in_shards() {
    if let Some(Found { planned, cut, .. }) = answers_in_shards(Case::new) {
        assert!(3 * cut > planned, "{cut} of {planned} were cut");
    }
}

/// The same where totals and groups meet that shards do not have together.
#[test]
fn random_totals_have_their_answers_in_shards() {
    if let Some(Found {
        planned,
        cut,
        several,
    }) = answers_in_shards(Case::with_totals)
    {
        assert!(3 * planned > FEW, "{planned} were planned");
        assert!(2 * cut > planned, "{cut} of {planned} were cut");
        assert!(
            3 * several > planned,
            "{several} of {planned} keep several relations"
        );
    }
}

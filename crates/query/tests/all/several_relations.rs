//! Queries of which each shard keeps several relations.

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::Abilities;
use cenote_program::local::in_memory;
use cenote_query::{Cut, Error, HashKey, Placing, Query};
use cenote_three::Three;

use crate::common::{Outcome, Told, World, outcome, party};
use crate::shards::{key, merged, sales, same, shards};

/// A way to cut it in two in which a shard keeps two relations.
fn in_two(world: &World, sql: &str) -> Cut {
    let ways = world.plan(sql).unwrap().ways_to_cut(shards(2), 40).unwrap();
    let mut ways = ways.into_iter();
    ways.find(|cut| cut.kept().count() == 2).expect("there is one")
}

#[test]
fn groups_and_totals_are_kept_side_by_side() {
    use Placing::{Key, Rows, Whole};
    let world = sales();
    let days = "SELECT day, COUNT(*) AS n FROM orders o JOIN items i ON o.id = i.of GROUP BY day";
    let regions = "SELECT region, COUNT(*) AS people FROM customers GROUP BY region";
    for (sql, placings) in [
        // Groups with more than a part of the total.
        (
            "SELECT day, SUM(price) AS s FROM orders o JOIN items i ON o.id = i.of GROUP BY day \
             HAVING SUM(price) > (SELECT SUM(price) * 0.1 FROM items) ORDER BY day"
                .to_owned(),
            [Whole, Key(0), Key(0)],
        ),
        // Rows above an average: the merge reads the rows, and takes the average.
        (
            "SELECT COUNT(*) FROM items i JOIN orders o ON o.id = i.of WHERE price > (SELECT AVG(price) FROM items)"
                .to_owned(),
            [Whole, Key(0), Key(0)],
        ),
        // The same, joined by a condition beside that on the average.
        (
            "SELECT SUM(count) FROM items i, orders o WHERE o.id = i.of AND price > (SELECT AVG(price) FROM items)"
                .to_owned(),
            [Whole, Key(0), Key(0)],
        ),
        // Groups that meet by what is made of them.
        (
            format!("SELECT day, region, people FROM ({days}) d JOIN ({regions}) r ON d.n = r.region ORDER BY day, region"),
            [Rows, Key(0), Key(0)],
        ),
    ] {
        for count in [1, 2, 5] {
            same(&world, &sql, count, &placings);
        }
        let ways = world.plan(&sql).unwrap().ways_to_cut(shards(3), 40).unwrap();
        let so = |cut: &&Cut| cut.tables().iter().map(|table| table.placing).eq(placings);
        let cut = ways.iter().find(so).expect("it was found before");
        assert_eq!(cut.kept().count(), 2, "{sql}");
        // Parties compare digests of all that is told.
        assert_eq!(cut.shard().explained().of.len(), 2, "{sql}");
    }
}

#[test]
fn a_table_that_only_the_merge_reads_is_in_no_shard() {
    let world = sales();
    let sql = "SELECT region, COUNT(*) AS n FROM customers c JOIN (SELECT customer, COUNT(*) AS bought FROM orders GROUP BY customer) o \
               ON c.id = o.bought GROUP BY region ORDER BY region";
    let ways = world.plan(sql).unwrap().ways_to_cut(shards(2), 40).unwrap();
    let cut = ways.iter().find(|cut| cut.tables()[0].placing == Placing::Merge);
    let cut = cut.expect("shards may count, and the merge join");
    assert!(
        cut.told().contains("customers in the merge alone"),
        "{}",
        cut.told()
    );
    assert_eq!(merged(cut, &world, &key(1), false), world.run(sql));
    let (me, own) = (PartyId(0), world.own(PartyId(0)));
    let parts = cut.in_shards(&HashKey::new([1; 32]), &own).unwrap();
    assert!(parts.iter().all(|own| own[0].is_none()));
    assert_eq!(cut.bytes_of_part(me), 0);
    // It is given once, so its owner cannot choose by it which rows of others count.
    assert_eq!(cut.varies_beside(PartyId(1)), None);
}

/// Tables that no equality joins are no reason to refuse what can be cut by one of them.
#[test]
fn many_ways_that_cut_nothing_leave_room_for_those_that_do() {
    let names: Vec<String> = (0..11).map(|column| format!("c{column}")).collect();
    let columns: Vec<String> = names.iter().map(|name| format!("{name} u8 not null")).collect();
    let row: Vec<String> = (0..11).map(|column| (column % 3).to_string()).collect();
    let world = World::new(3)
        .table(
            0,
            "a",
            &format!("x u8 not null, {}", columns.join(", ")),
            &format!("1 {0} | 7 {0}", row.join(" ")),
        )
        .table(1, "b", "y u8 not null", "3")
        .with(|table| table.max_rows = 1);
    let groups = names.join(", ");
    let sql = format!("SELECT {groups}, COUNT(*) AS n FROM a, b WHERE a.x < b.y GROUP BY {groups}");
    let cut = world.plan(&sql).unwrap().cut(shards(2), 40).unwrap();
    assert_eq!(merged(&cut, &world, &key(1), false), world.run(&sql));
}

/// Which ways there are is found before anybody has decided on a query: many columns by which tables could be placed do not make it take long.
#[test]
fn tables_with_many_columns_are_planned_soon() {
    let mut world = World::new(2);
    let mut counts = Vec::new();
    for table in 0..12 {
        let columns: Vec<String> = (0..300).map(|column| format!("c{column} u8 not null")).collect();
        let name = format!("t{table}");
        world = world.table(table % 2, &name, &columns.join(", "), "");
        counts.push(format!(
            "(SELECT COUNT(*) AS n{table} FROM (SELECT DISTINCT * FROM {name}) d) q{table}"
        ));
    }
    let sql = format!("SELECT n0, n11 FROM {}", counts.join(", "));
    let query = world.plan(&sql).unwrap();
    let ways = query.ways_to_cut(shards(2), 40).unwrap();
    assert!((1..=12).contains(&ways.len()), "{}", ways.len());
}

#[test]
fn what_is_equal_is_kept_once() {
    let sql = "WITH s AS (SELECT of, SUM(price) AS paid FROM items GROUP BY of) \
               SELECT of FROM s WHERE paid = (SELECT MAX(paid) FROM s)";
    let world = sales();
    let ways = world.plan(sql).unwrap().ways_to_cut(shards(3), 40).unwrap();
    let anyhow = ways.iter().find(|cut| cut.tables()[2].placing == Placing::Rows);
    let anyhow = anyhow.expect("items are placed anyhow");
    assert_eq!(anyhow.kept().count(), 1);
    assert_eq!(merged(anyhow, &world, &key(1), false), world.run(sql));
}

/// Whatever goes wrong in one relation of a shard, the merge has no answer.
#[test]
fn what_goes_wrong_in_one_relation_goes_wrong_in_all() {
    let world = World::new(2).table(0, "a", "x u8 not null", "1 | 2 | 3").table(
        1,
        "b",
        "y u8 not null, z u8 not null",
        "1 0 | 2 1 | 3 1",
    );
    let sql = "SELECT s, t FROM (SELECT SUM(x) AS s FROM a) u CROSS JOIN (SELECT SUM(y / z) AS t FROM b) v";
    let mut world = world;
    world.schema.secret_only = true;
    assert_eq!(world.run(sql), Outcome::NoAnswer);
    let cut = in_two(&world, sql);
    assert_eq!(merged(&cut, &world, &key(1), false), Outcome::NoAnswer);
    // The same way without the zero.
    let mut right = world.clone();
    right.tables[1] = right.tables[1].gather(&[1, 2]);
    assert_eq!(merged(&cut, &right, &key(1), false), right.run(sql));
}

/// What all parties of `three` are told, of whose shares `change` makes others, as they say who they are.
fn told_by_three(
    cut: &Cut,
    world: &World,
    change: impl Fn(PartyId, &mut Vec<Vec<BitMatrix>>) + Sync,
) -> cenote_program::Result<Vec<Told>> {
    let protocol = Three::default();
    let demand = |query: &Query| query.tally(Abilities::THREE).unwrap();
    let hash: HashKey = key(1);
    let shard = |shard: u32| {
        let tally = demand(cut.shard());
        in_memory(&protocol, &tally.demand(), |session| {
            let own = world.own(session.me());
            let own = &cut.in_shards(&hash, &own).unwrap()[shard as usize];
            let given = cut.shard().prepare(session.me(), own).unwrap();
            match cut.shard().keep(session, given) {
                Err(Error::Session(error)) => Err(error),
                kept => Ok(kept.unwrap()),
            }
        })
    };
    let kept = (0..cut.shards()).map(shard).collect::<Result<Vec<_>, _>>()?;
    let tally = demand(cut.merge());
    in_memory(&protocol, &tally.demand(), |session| {
        party(cut.merge(), session, &|query, me| {
            let own = kept.iter().map(|parties| parties[me.index()].clone());
            let mut own: Vec<_> = own.collect();
            change(me, &mut own);
            Ok(query.prepare(me, &world.own(me))?.with_kept(own))
        })
    })
}

/// A party that puts in one relation for another, or none, is caught.
#[test]
fn a_relation_is_not_taken_for_another() {
    let world = World::new(3)
        .table(0, "a", "x u8 not null", "1 | 2 | 3 | 4")
        .table(1, "b", "y u8 not null", "10 | 20 | 30 | 40");
    let sql = "SELECT s, t FROM (SELECT SUM(x) AS s FROM a) u CROSS JOIN (SELECT SUM(y) AS t FROM b) v";
    let cut = in_two(&world, sql);
    let kept: Vec<_> = cut.kept().collect();
    assert_eq!(kept[0], kept[1]);
    let told = told_by_three(&cut, &world, |_, _| {}).unwrap();
    assert_eq!(outcome(cut.merge(), told), world.run(sql));
    let by = |change: fn(&mut Vec<Vec<BitMatrix>>)| {
        let changed = told_by_three(&cut, &world, |me, shards| {
            if me == PartyId(1) {
                change(shards);
            }
        });
        changed.unwrap_err().to_string()
    };
    for change in [
        (|shards| shards[0].swap(0, 1)) as fn(&mut Vec<Vec<BitMatrix>>),
        |shards| shards.swap(0, 1),
    ] {
        let error = by(change);
        assert!(error.contains("is not what it held"), "{error}");
    }
    // Its own engine refuses what is not there, and the others lose it.
    for change in [
        (|shards| drop(shards[1].pop())) as fn(&mut Vec<Vec<BitMatrix>>),
        |shards| drop(shards[0].remove(0)),
        |shards| drop(shards.pop()),
    ] {
        by(change);
    }
}

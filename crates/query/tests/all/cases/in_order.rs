//! Groups of rows that their owner has sorted by what they are grouped by.

use crate::common::World;
use crate::differential::Random;

/// Items whose owner gives them in order, with the greatest key there is, and orders of another party.
fn world() -> World {
    World::new(3)
        .table(
            1,
            "item",
            "no i8 not null, code char(2) not null, price u8, kind u8 not null",
            "127 b 5 1 | -3 a 1 9 | 2 a null 4 | -3 b 2 3 | 2 c 8 7 | 127 a 6 2 | 2 a 4 1 | 9 a 1 1",
        )
        .table(
            0,
            "sale",
            "no i8 not null unique, day u8 not null unique, note char(3)",
            "2 5 x | 127 2 null | -3 4 yz | 5 1 w",
        )
        .table(
            2,
            "part",
            "no i8 not null unique_with code, code char(2) not null, weight u8",
            "-3 a 3 | -3 b 4 | 2 a 5 | 127 a null",
        )
}

/// Whether rows are grouped in the order in which they come.
fn is_in_order(world: &World, sql: &str) -> bool {
    let tree = world.plan(sql).unwrap().explained().tree();
    tree.contains(", in whose order rows come")
}

/// Each of these queries has this answer, and groups rows in their order or does not.
fn check(in_order: bool, cases: &[(&str, &str)]) {
    let world = world();
    for (sql, _) in cases {
        assert_eq!(is_in_order(&world, sql), in_order, "{sql}");
    }
    world.answers(cases);
}

#[test]
fn rows_that_come_in_order_are_not_sorted_again() {
    let cases = [
        (
            "select item.no, sum(price), count(*), count(price), max(kind) from item join sale using (no) group by item.no",
            "-3 3 2 2 9 | 2 12 3 2 7 | 127 11 2 2 2",
        ),
        // What depends on the key, also where it is null.
        (
            "select item.no, day, note, min(price) from item join sale using (no) group by item.no, day, note",
            "-3 4 yz 1 | 2 5 x 4 | 127 2 null 5",
        ),
        // Some rows of a group count, or none: the first, the last, those between.
        (
            "select item.no, note, sum(price), count(*) from item join sale using (no) where kind < day group by item.no, note",
            "-3 yz 2 1 | 2 x 4 2 | 127 null 5 1",
        ),
        (
            "select item.no, sum(price), count(*) from item join sale using (no) where kind >= day + 2 group by item.no",
            "-3 1 1 | 2 8 1",
        ),
        (
            "select item.no, sum(price) as s, count(day) from item left join sale using (no) group by item.no having count(*) < 3 order by s desc",
            "127 11 2 | -3 3 2 | 9 1 0",
        ),
        (
            "select distinct item.no from item join sale using (no) where price > day",
            "2 | 127",
        ),
        // Two keys, in another order.
        (
            "select item.code, item.no, count(*), min(weight) from item join part on item.no = part.no and item.code = part.code group by item.code, item.no",
            "a -3 1 3 | a 2 2 5 | a 127 1 null | b -3 1 4",
        ),
    ];
    check(true, &cases);
}

/// The order is not that of the groups, or is lost.
#[test]
fn other_rows_are_sorted() {
    let cases = [
        (
            "select day, count(*) from item join sale using (no) group by day",
            "2 2 | 4 2 | 5 3",
        ),
        (
            "select price, count(*) from item join sale on item.price = sale.day group by price",
            "1 2 | 2 1 | 4 1 | 5 1",
        ),
        (
            "select item.no, item.code, count(*) from item join sale using (no) group by item.no, item.code",
            "-3 a 1 | -3 b 1 | 2 a 2 | 2 c 1 | 127 a 1 | 127 b 1",
        ),
        (
            "select item.no, weight, count(*) from item join part on item.no = part.no and item.code = part.code group by item.no, weight",
            "-3 3 1 | -3 4 1 | 2 5 2 | 127 null 1",
        ),
    ];
    check(false, &cases);
}

/// Random rows in their order, and the same where they are sorted for their groups.
#[test]
fn groups_are_the_same_in_any_order() {
    let mut random = Random::new(5);
    for _ in 0..25 {
        let mut item = Vec::new();
        for _ in 0..12 {
            let no = random.pick(&[-128, -2, 0, 1, 2, 127]);
            let price = random.pick(&["null", "0", "1", "7", "255"]);
            item.push(format!("{no} {price} {}", random.within(0, 9)));
        }
        let mut sale = Vec::new();
        for no in [-128, 0, 2, 127, 5] {
            let note = random.pick(&["null", "x", "yz"]);
            sale.push(format!("{no} {} {note}", random.within(0, 9)));
        }
        let [item, sale] = [item, sale].map(|rows| rows.join(" | "));
        let world = World::new(3)
            .table(1, "item", "no i8 not null, price u8, kind u8 not null", &item)
            .table(
                0,
                "sale",
                "no i8 not null unique, day u8 not null, note char(3)",
                &sale,
            );
        let unordered =
            "(select no, price, kind from item union all select no, day, day from sale where day > 99)";
        for kept in [
            "",
            " where kind < day",
            " where kind = day or price > day",
            " where kind > 99",
        ] {
            for join in ["join", "left join"] {
                let of = |item: &str| {
                    format!(
                        "select i.no, day, note, sum(price), count(*), count(price), min(kind), max(price) from {item} i {join} sale s on i.no = s.no{kept} group by i.no, day, note"
                    )
                };
                let (own, other) = (of("item"), of(unordered));
                assert!(is_in_order(&world, &own) && !is_in_order(&world, &other), "{own}");
                assert_eq!(world.run(&own), world.run(&other), "{own}\n{}", world.told());
            }
        }
    }
}

/// Rows that are joined by a key twice are ordered by it once.
#[test]
fn a_key_that_comes_again_orders_nothing() {
    let world = World::new(3)
        .table(
            1,
            "a",
            "k u8 not null, v u8 not null",
            "1 10 | 1 11 | 2 20 | 3 30",
        )
        .table(
            0,
            "b",
            "k u8 not null unique, l u8 not null, w u8 not null",
            "1 1 7 | 2 5 8 | 3 3 9",
        );
    world.answers(&[
        (
            "select a.k, count(*) from a join b on a.k = b.k and a.k = b.l group by a.k",
            "1 2 | 3 1",
        ),
        (
            "select a.k, b.w, sum(a.v) from a join b on a.k = b.k and a.k = b.l group by a.k, b.w",
            "1 7 21 | 3 9 30",
        ),
        (
            "select a.k, b.w, sum(a.v) from a join b using (k) where a.k = b.k group by a.k, b.w",
            "1 7 21 | 2 8 20 | 3 9 30",
        ),
        (
            "select a.k, b.w, sum(a.v) from a left join b on a.k = b.k and a.k = b.l group by a.k, b.w",
            "1 7 21 | 2 null 20 | 3 9 30",
        ),
    ]);
    // A column that is looked up has the bits of the first key that it is compared with, and of no other, in rows that found nothing.
    let world = World::new(3)
        .table(
            1,
            "a",
            "k u8 not null, l u8 not null, m u8 not null",
            "1 0 5 | 1 1 3",
        )
        .table(0, "b", "k u8 not null unique, m u8 not null", "1 3");
    let join = "from a join b on a.k = b.k and a.l = b.k and a.m = b.m";
    world.answers(&[
        (
            &format!("select b.k, a.m, count(*) {join} group by b.k, a.m"),
            "1 3 1",
        ),
        (
            &format!("select b.k, b.m, count(*) {join} group by b.k, b.m"),
            "1 3 1",
        ),
        (
            &format!("select a.k, b.k, a.m, count(*) {join} group by a.k, b.k, a.m"),
            "1 1 3 1",
        ),
    ]);
}

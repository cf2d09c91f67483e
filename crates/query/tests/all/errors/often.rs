//! An owner that lies of keys that come often: in joins where they do so on both sides, and in groups for which it has sorted them.

use cenote_primitives::BitMatrix;

use super::promises::{changed, changed_by, exchange, put};
use crate::common::{Outcome, World, rows};

/// Keys that come several times on both sides: party 1 gives how many rows have each, and the rows, of which it can only leave out what it could have left
/// out from the start.
#[test]
fn keys_that_come_often() {
    let mut world = World::new(2)
        .table(
            0,
            "a",
            "k u8 not null, x u8 not null",
            "1 10 | 1 11 | 2 12 | 3 13",
        )
        .table(
            1,
            "b",
            "k u8 not null, y u8 not null",
            "1 20 | 1 21 | 2 22 | 2 23",
        );
    world.schema.max_join_rows = Some(7);
    let sql = "select x, y from a join b using (k)";
    let honest = "10 20 | 10 21 | 11 20 | 11 21 | 12 22 | 12 23";
    assert_eq!(world.ask(sql), honest);
    // Whether there is a group, its key, how many rows it has, and the first of their numbers.
    let groups = |change: &(dyn Fn(&mut BitMatrix) + Sync)| {
        changed(&world, sql, |bits| {
            if bits.rows() == 1 + 8 + 3 + 3 {
                change(bits)
            }
        })
    };
    // Whether there is a row, its value, its key and its number.
    let rows_of = |change: &(dyn Fn(&mut BitMatrix) + Sync)| {
        changed(&world, sql, |bits| {
            if bits.rows() == 1 + 8 + 8 + 4 {
                change(bits)
            }
        })
    };
    let told = |outcome| match outcome {
        Outcome::Answer(table) => rows(&table),
        other => format!("{other:?}"),
    };
    assert_eq!(told(groups(&|_| ())), honest);
    assert_eq!(told(rows_of(&|_| ())), honest);
    // Fewer rows of a key, and none.
    assert_eq!(
        told(groups(&|bits| put(bits, 0, 9, 3, 1))),
        "10 20 | 11 20 | 12 22 | 12 23"
    );
    assert_eq!(
        told(groups(&|bits| put(bits, 1, 0, 1, 0))),
        "10 20 | 10 21 | 11 20 | 11 21"
    );
    // Groups come in the order of their keys, those that are absent last.
    assert_eq!(groups(&|bits| put(bits, 0, 0, 1, 0)), Outcome::NoAnswer);
    // Rows of other keys are not shown for a key, whatever it says.
    assert_eq!(told(groups(&|bits| put(bits, 0, 12, 3, 3))), "12 22 | 12 23");
    assert_eq!(
        told(groups(&|bits| put(bits, 1, 12, 3, 1))),
        "10 20 | 10 21 | 11 20 | 11 21"
    );
    assert_eq!(
        told(rows_of(&|bits| put(bits, 0, 9, 8, 2))),
        "10 21 | 11 21 | 12 22 | 12 23"
    );
    // A key twice, more rows than there may be, groups of none, and a number twice.
    assert_eq!(groups(&|bits| put(bits, 1, 1, 8, 1)), Outcome::NoAnswer);
    assert_eq!(groups(&|bits| put(bits, 1, 9, 3, 5)), Outcome::NoAnswer);
    assert_eq!(groups(&|bits| put(bits, 1, 9, 3, 0)), Outcome::NoAnswer);
    assert_eq!(rows_of(&|bits| put(bits, 1, 17, 4, 1)), Outcome::NoAnswer);
}

/// The same in a left join: no row of the first table is ever left out.
#[test]
fn rows_that_others_cannot_leave_out() {
    let mut world = World::new(2)
        .table(0, "a", "k u8 not null, x u8 not null", "1 10 | 1 11 | 3 13")
        .table(1, "b", "k u8 not null, y u8 not null", "1 20 | 1 21 | 2 22");
    world.schema.max_join_rows = Some(7);
    let sql = "select x, y from a left join b using (k) order by x, y";
    let told = |width: usize, change: &(dyn Fn(&mut BitMatrix) + Sync)| {
        let outcome = changed(&world, sql, |bits| {
            if bits.rows() == width {
                change(bits)
            }
        });
        match outcome {
            Outcome::Answer(table) => rows(&table),
            other => format!("{other:?}"),
        }
    };
    // Whether there is a group, its key, how many rows it has, and the first of their numbers; and whether there is a row, its key, its value and its number.
    let (groups, rows) = (1 + 8 + 3 + 3, 1 + 8 + 8 + 4);
    let honest = "10 20 | 10 21 | 11 20 | 11 21 | 13 null";
    assert_eq!(told(groups, &|_| ()), honest);
    assert_eq!(told(rows, &|_| ()), honest);
    assert_eq!(
        told(groups, &|bits| (0..2).for_each(|lane| put(bits, lane, 0, 1, 0))),
        "10 null | 11 null | 13 null"
    );
    assert_eq!(
        told(groups, &|bits| put(bits, 0, 12, 3, 3)),
        "10 null | 10 null | 11 null | 11 null | 13 null"
    );
    assert_eq!(
        told(rows, &|bits| put(bits, 0, 1, 8, 2)),
        "10 21 | 10 null | 11 21 | 11 null | 13 null"
    );
    assert_eq!(told(groups, &|bits| put(bits, 0, 9, 3, 0)), "NoAnswer");
}

/// Groups are made of rows as they come: in another order a group would come twice.
#[test]
fn groups_whose_rows_do_not_come_in_order() {
    let world = World::new(3)
        .table(
            0,
            "a",
            "k u8 not null unique, x u8 not null",
            "1 10 | 2 20 | 3 30",
        )
        .table(
            1,
            "b",
            "k u8 not null, y u8 not null",
            "1 1 | 1 2 | 2 3 | 2 4 | 3 5",
        );
    let sql = "select b.k, count(*), sum(y) from a join b using (k) where y < x group by b.k";
    let tree = world.plan(sql).unwrap().explained().tree();
    assert!(tree.contains("in whose order"), "{tree}");
    let honest = "1 2 3 | 2 2 7 | 3 1 5";
    for by_networks in [true, false] {
        let told =
            |change: &(dyn Fn(&mut BitMatrix) + Sync)| match changed_by(by_networks, &world, sql, |bits| {
                change(bits)
            }) {
                Outcome::Answer(table) => rows(&table),
                other => format!("{other:?}"),
            };
        assert_eq!(told(&|_| ()), honest);
        for [one, other] in [[0, 2], [1, 3], [3, 4], [4, 5], [2, 6]] {
            assert_eq!(
                told(&|bits| exchange(bits, one, other)),
                "NoAnswer",
                "{one} and {other}"
            );
        }
        assert_eq!(told(&|bits| exchange(bits, 2, 3)), honest);
    }
}

/// Rows that an owner puts together by their keys and that nobody finds: no more of them count than its table may have.
#[test]
fn rows_that_nobody_finds() {
    let world =
        World::new(2)
            .table(0, "a", "k u8 not null, x u8", "9 1")
            .table(1, "c", "k u8 at_most 3", "1 | 2");
    let sql = "select count(*) from a full join c on a.k = c.k";
    assert_eq!(world.ask(sql), "3");
    // The key, whether it is null, and three times whether there is a row.
    let with = |lanes: usize| {
        changed(&world, sql, |bits| {
            assert_eq!((bits.rows(), bits.lanes()), (8 + 1 + 3, 4));
            (0..lanes).for_each(|lane| put(bits, lane, 9, 3, 7));
        })
    };
    assert!(matches!(with(1), Outcome::Answer(table) if rows(&table) == "5"));
    assert_eq!(with(2), Outcome::NoAnswer);
}

/// Groups of a table that is only counted and added up: as many rows as it may have could give them.
#[test]
fn groups_that_stand_for_rows() {
    let world = World::new(2)
        .table(0, "a", "k u8 not null, x u8 not null", "1 10 | 1 11 | 3 13")
        .table(1, "b", "k u8 not null, y u8 not null", "1 20 | 1 21 | 2 22");
    for (join, honest, fewer) in [
        ("join", "4 42 82 21", "2 21 82 21"),
        ("left join", "5 55 82 21", "3 34 82 21"),
    ] {
        let sql = format!("select count(*), sum(x), sum(y), max(y) from a {join} b using (k)");
        // Whether there is a group, its key, how many rows it has, what they add up to, and the greatest.
        let with = |change: &(dyn Fn(&mut BitMatrix) + Sync)| {
            changed(&world, &sql, |bits| {
                if bits.rows() > 9 + 8 {
                    change(bits)
                }
            })
        };
        let told = |outcome| match outcome {
            Outcome::Answer(table) => rows(&table),
            other => format!("{other:?}"),
        };
        assert_eq!(told(with(&|_| ())), honest, "{sql}");
        assert_eq!(told(with(&|bits| put(bits, 0, 9, 3, 1))), fewer, "{sql}");
        // Groups of none, more rows than there may be, a sum that so many cannot have, and a key twice.
        assert_eq!(with(&|bits| put(bits, 0, 9, 3, 0)), Outcome::NoAnswer, "{sql}");
        assert_eq!(with(&|bits| put(bits, 0, 9, 3, 5)), Outcome::NoAnswer, "{sql}");
        assert_eq!(
            with(&|bits| put(bits, 0, 12, 11, 600)),
            Outcome::NoAnswer,
            "{sql}"
        );
        assert_eq!(with(&|bits| put(bits, 1, 1, 8, 1)), Outcome::NoAnswer, "{sql}");
    }
}

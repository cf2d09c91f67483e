//! Tables that go together row by row, with the protocol that compares their keys by digests.

use cenote_program::Abilities;
use cenote_program::local::in_memory;
use cenote_three::Three;

use crate::common::{Outcome, World, outcome, party, rows};

/// What becomes of `sql` with three parties, where party 1 gives what it likes. An answer takes what was counted.
fn in_three(world: &World, sql: &str) -> Outcome {
    let query = world.plan(sql).unwrap();
    let tally = query.tally(Abilities::THREE).unwrap();
    let told = in_memory(&Three::default(), &tally.demand(), |session| {
        let told = party(&query, session, &|query, me| match me.0 {
            1 => query.prepare_unchecked(me, &world.own(me)),
            _ => query.prepare(me, &world.own(me)),
        })?;
        // Without an answer it ends before that.
        if told.is_some() {
            assert_eq!(session.costs().and_gates, tally.and_gates);
        }
        Ok(told)
    });
    outcome(&query, told.unwrap())
}

#[test]
fn lies_are_found_by_digests() {
    let banks = |ids: &str| {
        World::new(3)
            .table(0, "a", "id i16 unique, x i8", "-1 10 | 2 20 | 3 30 | 7 40")
            .table(1, "b", "id i16 unique", ids)
            .with(|table| (table.same_rows_as, table.max_rows) = (Some("a".into()), 6))
            .table(2, "c", "id i16 unique", "2 | -1 | 3 | 7")
            .with(|table| table.same_rows_as = Some("b".into()))
            .in_segments_of(5)
    };
    for sql in [
        "select sum(x) from a join b using (id)",
        "select sum(x) from a join b using (id) join c on c.id = b.id",
    ] {
        for ids in ["7 | 3 | 2 | -1", "3 | null | 2 | 7 | -1 | null"] {
            match in_three(&banks(ids), sql) {
                Outcome::Answer(table) => assert_eq!(rows(&table), "100", "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
        // A row less or more, another key, and keys that come twice.
        for lie in [
            "",
            "3 | 2 | -1",
            "3 | 2 | -1 | 7 | 0",
            "3 | 2 | -2 | 7",
            "3 | 3 | 2 | 7",
            "3 | 3 | 2 | -1 | 7",
        ] {
            assert_eq!(in_three(&banks(lie), sql), Outcome::NoAnswer, "{sql} of {lie}");
        }
    }
}

/// However wide the keys are, with digests they take no ANDs of each row.
#[test]
fn keys_take_no_ands() {
    let ands = |kind: &str, rows: usize, abilities: Abilities| {
        let column = format!("id {kind} not null unique");
        let world = World::new(3)
            .table(0, "a", &column, "1 | 2")
            .with(|table| table.max_rows = rows)
            .table(1, "b", &column, "2 | 1")
            .with(|table| (table.same_rows_as, table.max_rows) = (Some("a".into()), rows));
        let query = world.plan("select count(*) from a join b using (id)").unwrap();
        query.tally(abilities).unwrap().and_gates
    };
    for count in [100, 1000] {
        assert_eq!(
            ands("u8", count, Abilities::THREE),
            ands("u64", count, Abilities::THREE)
        );
        let one_by_one = Abilities {
            digests: false,
            ..Abilities::THREE
        };
        let compared = ands("u64", count, one_by_one);
        // A comparison of the key, and of whether the row is absent, and what puts all of them together.
        assert_eq!(
            compared - ands("u64", count, Abilities::THREE),
            65 * count as u64 - 1 - 63
        );
    }
}

/// A sum over the rows of two tables with prices and dates: what each row takes.
#[test]
fn a_sum_over_two_tables_takes_what_is_said() {
    let each = |abilities: Abilities| {
        let ands = |rows: usize| {
            let world = World::new(3)
                .table(
                    0,
                    "a",
                    "id u64 not null unique, shipdate date not null, quantity u8 not null",
                    "1 1994-03-04 5",
                )
                .with(|table| table.max_rows = rows)
                .table(
                    1,
                    "b",
                    "id u64 not null unique, price decimal(12,2) not null, discount decimal(4,2) not null",
                    "1 100.00 0.06",
                )
                .with(|table| (table.same_rows_as, table.max_rows) = (Some("a".into()), rows));
            let sql = "select sum(price * discount) from a join b using (id) where shipdate >= date '1994-01-01' \
                       and shipdate < date '1995-01-01' and discount between 0.05 and 0.07 and quantity < 24";
            world.plan(sql).unwrap().tally(abilities).unwrap().and_gates
        };
        (ands(20_000) - ands(10_000)) as f64 / 10_000.0
    };
    let one_by_one = Abilities {
        digests: false,
        ..Abilities::THREE
    };
    let (by_digests, one_by_one) = (each(Abilities::THREE), each(one_by_one));
    println!("{by_digests} ANDs a row with digests, {one_by_one} without");
    assert!(
        by_digests < 125.0 && (one_by_one - by_digests - 65.0).abs() < 0.1,
        "{by_digests} {one_by_one}"
    );
}

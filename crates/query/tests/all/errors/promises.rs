//! Owners that lie: what a plan relies on is verified, and a lie leaves no answer at any party.

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_query::{OwnInput, Query};

use crate::common::{Outcome, World, rows};
use crate::differential::{Case, Random};

/// The outcome of `sql` where party 1 does not look at whether its tables keep what is declared.
fn unchecked(world: &World, sql: &str) -> Outcome {
    let of = |world: &World| {
        world.run_with(sql, |query, me| match me.0 {
            1 => query.prepare_unchecked(me, &world.own(me)),
            _ => query.prepare(me, &world.own(me)),
        })
    };
    let outcome = of(world);
    for rows in 1..3 {
        assert_eq!(
            of(&world.in_segments_of(rows)),
            outcome,
            "{sql} in segments of {rows}"
        );
    }
    outcome
}

/// The outcome where party 1 changes the bits that it gives: one below the other, in a column for each row. Rows go through networks.
pub(super) fn changed(world: &World, sql: &str, change: impl Fn(&mut BitMatrix) + Sync) -> Outcome {
    changed_by(true, world, sql, change)
}

/// The same, by networks or by shuffles.
pub(super) fn changed_by(
    by_networks: bool,
    world: &World,
    sql: &str,
    change: impl Fn(&mut BitMatrix) + Sync,
) -> Outcome {
    world.run_by(by_networks, sql, |query, me| {
        let mut given = query.prepare(me, &world.own(me))?;
        if me == PartyId(1) {
            given.bits().for_each(&change);
        }
        Ok(given)
    })
}

/// The bits of a number from a place on.
pub(super) fn put(bits: &mut BitMatrix, row: usize, from: usize, width: usize, number: usize) {
    (0..width).for_each(|at| bits.set(from + at, row, number >> at & 1 == 1));
}

/// Exchanges two rows.
pub(super) fn exchange(bits: &mut BitMatrix, one: usize, other: usize) {
    for at in 0..bits.rows() {
        let (x, y) = (bits.get(at, one), bits.get(at, other));
        bits.set(at, one, y);
        bits.set(at, other, x);
    }
}

/// Tables of which party 1 promises `promise` for its keys, and keeps it or not.
fn keys(promise: &str, ids: &str) -> World {
    World::new(2)
        .table(0, "a", "id u8, x i8", "1 10 | 2 20 | 3 30")
        .table(1, "b", &format!("id u8 {promise}"), ids)
        .with(|table| table.max_rows = 6)
}

/// What is promised, the queries that rely on it, rows that keep it, and rows that do not.
#[test]
fn promises_that_are_not_kept() {
    let join = "select count(*) from a join b using (id)";
    let lookups = [
        join,
        "select count(*) from a left join b using (id)",
        "select b.id, a.id from b left join a on b.id = a.x",
        "select count(*) from a full join b on a.id = b.id",
        "select sum(x) from a, b where a.id = b.id",
        "select count(*) from a join (select id from b where id > 0) s using (id)",
        "select count(*) from (select id from a union all select id from a) u join b on u.id + 0 = b.id",
    ];
    let honest = keys("unique", "1 | 3 | 2 | null | null");
    for sql in lookups {
        assert!(matches!(unchecked(&honest, sql), Outcome::Answer(_)), "{sql}");
        for lie in ["1 | 1", "3 | 2 | 5 | 3", "7 | 7"] {
            assert_eq!(
                unchecked(&keys("unique", lie), sql),
                Outcome::NoAnswer,
                "{sql} of {lie}"
            );
        }
    }
    let groups = [
        "select b.id, count(*) from b join (select distinct id from a) s using (id) group by b.id",
        "select b.id, sum(x) from b left join (select id, max(x) as x from a group by id) s using (id) group by b.id",
    ];
    for sql in groups {
        assert!(
            matches!(
                unchecked(&keys("distinct 2", "1 | 2 | 1 | null"), sql),
                Outcome::Answer(_)
            ),
            "{sql}"
        );
    }
    // Three groups do not fit two places.
    for sql in groups {
        assert_eq!(
            unchecked(&keys("not null distinct 2", "1 | 2 | 3"), sql),
            Outcome::NoAnswer,
            "{sql}"
        );
    }
    // Nulls have one more, and need none here where they are joined by.
    assert_eq!(
        unchecked(&keys("distinct 2", "1 | 2 | 3 | null"), groups[1]),
        Outcome::NoAnswer
    );
    assert_ne!(
        unchecked(&keys("distinct 2", "1 | 2 | 3 | null"), groups[0]),
        Outcome::NoAnswer
    );
    // What an owner does by itself, it cannot do with such rows.
    let own = unchecked(
        &keys("not null distinct 2", "1 | 2 | 3"),
        "select id, count(*) from b group by id",
    );
    let what = "table b: there are 3 groups, but `distinct` allows 2";
    assert_eq!(own, Outcome::Rows(what.into()));
    let own = unchecked(
        &keys("unique", "1 | 1"),
        "select count(*) from b join b c using (id)",
    );
    let what =
        "table b: a key of a join occurs more often than the 1 times that `unique` or `at_most` allows";
    assert_eq!(own, Outcome::Rows(what.into()));
}

/// What is said to depend on a key is the same in all rows that have it, or there is no answer.
#[test]
fn keys_on_which_nothing_depends() {
    let world = |rows: &str| {
        World::new(2)
            .table(0, "a", "x u8 not null unique, y u8", "1 10 | 2 20 | 3 30")
            .table(1, "b", "id u8 not null unique, x u8, name char(2)", rows)
    };
    let honest = "1 1 p | 2 1 q | 3 2 null | 4 3 q";
    for sql in [
        "select id, name, sum(y) from b join a using (x) group by id, name",
        "select distinct id, name, b.x from b join a using (x)",
        "select name, id, count(*) from b left join (select x, max(y) as y from a where y > 10 group by x) s using (x) group by name, id",
    ] {
        assert!(
            matches!(unchecked(&world(honest), sql), Outcome::Answer(_)),
            "{sql}"
        );
        for lie in [
            "1 1 p | 1 1 q | 2 2 r",
            "1 1 null | 2 2 r | 1 1 q",
            "2 1 q | 3 1 q | 2 1 null",
        ] {
            assert_eq!(unchecked(&world(lie), sql), Outcome::NoAnswer, "{sql} of {lie}");
        }
        // Rows of one group for all that it can be told.
        assert!(matches!(
            unchecked(&world("1 1 p | 1 1 p | 2 2 r"), sql),
            Outcome::Answer(_)
        ));
    }
}

/// Which of equal rows comes first is told by what is told of them, whatever an owner has promised of its keys.
#[test]
fn ties_of_keys_that_are_not_unique() {
    let world = World::new(2)
        .table(0, "a", "k u8 not null unique, secret u8", "1 30 | 2 10 | 3 20")
        .table(
            1,
            "b",
            "id u8 not null unique, k u8, v u8",
            "7 1 5 | 7 2 6 | 7 3 4",
        );
    for sql in [
        "select id, v, count(*) over (partition by secret) as c from b join a using (k) order by id",
        "select id, v, row_number() over (order by id) + 0 * secret as c from b join a using (k) order by id",
    ] {
        let Outcome::Answer(table) = unchecked(&world, sql) else {
            panic!("{sql}");
        };
        let told = rows(&table);
        let values: Vec<&str> = told
            .split(" | ")
            .map(|row| row.split(' ').nth(1).unwrap())
            .collect();
        assert_eq!(values, ["4", "5", "6"], "{sql}: {told}");
    }
}

/// Numbers that are not below what was promised, and places that are in no list.
#[test]
fn values_that_were_not_promised() {
    let world = World::new(2)
        .table(0, "a", "id u8 not null unique, x i8", "1 10 | 2 20")
        .table(
            1,
            "b",
            "id u8 not null unique, n u8 not null below 5, t char(2) not null values p,q,r",
            "1 4 q | 2 0 r",
        );
    world.answers(&[("select x, n, t from a join b using (id)", "10 4 q | 20 0 r")]);
    // After whether a row counts: three bits of a number, or two of a place, and then its key.
    for (column, width, end) in [("n", 3, 5), ("t", 2, 3)] {
        let sql = format!("select x, {column} from a join b using (id)");
        for value in 0..1usize << width {
            let found = changed(&world, &sql, |bits| {
                if bits.rows() == 9 + width {
                    put(bits, 0, 1, width, value);
                }
            });
            assert_eq!(
                found == Outcome::NoAnswer,
                value >= end,
                "{column} {value}: {found:?}"
            );
        }
    }
}

/// Columns that are unique together, and are not.
#[test]
fn keys_of_two_columns_that_come_twice() {
    let world = |rows: &str| {
        World::new(2)
            .table(0, "a", "x u8, y u8", "1 1 | 1 2 | 2 1 | 1 1")
            .table(1, "b", "x u8 unique_with y, y u8, z u8", rows)
    };
    let sql = "select sum(z) from a join b using (x, y)";
    assert!(matches!(
        unchecked(&world("1 1 5 | 1 2 6 | 2 2 7 | 1 null 7 | 1 null 7"), sql),
        Outcome::Answer(_)
    ));
    for lie in ["1 1 5 | 1 1 5", "7 7 1 | 1 2 3 | 7 7 1"] {
        assert_eq!(unchecked(&world(lie), sql), Outcome::NoAnswer, "{lie}");
    }
}

/// A table that comes twice, of which its owner gives a row twice the second time: groups would be told, and counted, twice.
#[test]
fn keys_that_come_twice_behind_groups() {
    let world = World::new(3)
        .table(
            0,
            "sale",
            "customer u16 not null, price u16",
            "1 5 | 1 7 | 2 3 | 3 1",
        )
        .table(
            1,
            "customer",
            "id u16 not null unique, name char(60) not null",
            "1 ann | 2 bob | 3 cy",
        );
    let groups =
        "select id, name, sum(price) as total from sale join customer on id = customer group by id, name";
    let sql = format!("select name, sum(total), count(*) from ({groups}) g group by name");
    let plan = world.plan(&sql).unwrap().explained().tree();
    assert!(
        plan.contains("group by customer.id, in whose order rows come: SUM(sale.price)"),
        "{plan}"
    );
    let lie = |bits: &mut BitMatrix| {
        let is_shown = bits.rows() > 60 * 8;
        (0..bits.rows() * usize::from(is_shown)).for_each(|at| bits.set(at, 1, bits.get(at, 0)));
    };
    for by_networks in [true, false] {
        let outcome =
            |change: &(dyn Fn(&mut BitMatrix) + Sync)| changed_by(by_networks, &world, &sql, change);
        assert!(matches!(outcome(&|_| ()), Outcome::Answer(_)));
        assert_eq!(outcome(&lie), Outcome::NoAnswer);
    }
}

#[test]
fn rows_that_are_not_the_same() {
    let banks = |ids: &str| {
        World::new(3)
            .table(0, "a", "id i8 unique, x i8", "-1 10 | 2 20 | 3 30")
            .table(1, "b", "id i8 unique", ids)
            .with(|table| (table.same_rows_as, table.max_rows) = (Some("a".into()), 5))
            .table(2, "c", "id i8 unique", "2 | -1 | 3")
            .with(|table| table.same_rows_as = Some("b".into()))
    };
    for sql in [
        "select x from a join b using (id)",
        "select x from a join b using (id) join c on c.id = b.id where x > 50",
    ] {
        assert!(
            matches!(unchecked(&banks("3 | 2 | -1"), sql), Outcome::Answer(_)),
            "{sql}"
        );
        assert!(
            matches!(
                unchecked(&banks("3 | null | 2 | -1 | null"), sql),
                Outcome::Answer(_)
            ),
            "{sql}"
        );
        for lie in [
            "",
            "3 | 2",
            "3 | 2 | -1 | 4",
            "3 | 2 | -2",
            "3 | 3 | 2 | -1",
            "3 | 2 | 1",
        ] {
            assert_eq!(unchecked(&banks(lie), sql), Outcome::NoAnswer, "{sql} of {lie}");
        }
    }
}

/// Rows that an owner gives: whether each counts, then its columns.
#[test]
fn rows_in_another_order() {
    let world = keys("unique", "1 | 3 | 2").table(1, "c", "id u8, y i8 not null", "3 4 | 1 5 | 1 6 | 9 7");
    let lookup = "select count(*) from a join b using (id)";
    let probe = "select sum(x) from c join (select id, max(x) as x from a group by id) s using (id)";
    for (sql, rows) in [(lookup, 3), (probe, 4)] {
        assert!(matches!(changed(&world, sql, |_| ()), Outcome::Answer(_)));
        for one in 0..rows {
            // Rows that do not count come last, too.
            for other in one + 1..rows + 1 {
                let same = sql == probe && (one, other) == (0, 1);
                let found = changed(&world, sql, |bits| exchange(bits, one, other));
                assert_eq!(
                    found == Outcome::NoAnswer,
                    !same,
                    "{sql}, {one} and {other}: {found:?}"
                );
            }
            // With shuffles it does not matter how they came, unless they are merged.
            let honest = world.run(sql);
            for other in one + 1..rows + 1 {
                let found = changed_by(false, &world, sql, |bits| exchange(bits, one, other));
                assert!(found == honest || found == Outcome::NoAnswer, "{sql}: {found:?}");
            }
            let dead = changed(&world, sql, |bits| bits.set(0, one, false));
            assert_eq!(
                dead == Outcome::NoAnswer,
                one < rows - 1,
                "{sql}, {one}: {dead:?}"
            );
        }
    }
}

/// Keys that come several times: the key, and for each row whether there is one and its other columns.
#[test]
fn rows_that_are_put_together_wrongly() {
    let world = World::new(2).table(0, "a", "id i8", "-1 | 2").table(
        1,
        "b",
        "id i8 not null at_most 2, y u8 not null",
        "-1 1 | -1 2 | 2 3 | 2 4 | 5 5",
    );
    let sql = "select sum(y) from a join b using (id)";
    let told = |change: &(dyn Fn(&mut BitMatrix) + Sync)| changed(&world, sql, change);
    assert_eq!(world.ask(sql), "10");
    assert_ne!(told(&|_| ()), Outcome::NoAnswer);
    type Change<'a> = &'a (dyn Fn(&mut BitMatrix) + Sync);
    let lies: [(&str, Change<'_>); 6] = [
        ("a key in two places", &|bits| put(bits, 1, 0, 8, 255)),
        ("keys in another order", &|bits| exchange(bits, 0, 1)),
        ("unsigned order", &|bits| exchange(bits, 0, 2)),
        ("a key behind those that are absent", &|bits| exchange(bits, 2, 4)),
        ("a second row without a first", &|bits| bits.set(8, 0, false)),
        ("a first row that is absent among others", &|bits| {
            bits.set(8, 1, false);
            bits.set(17, 1, false);
        }),
    ];
    for (lie, change) in lies {
        assert_eq!(told(change), Outcome::NoAnswer, "{lie}");
    }
    // With shuffles, too, a key comes once; and in which order they come matters only where they are merged.
    let by_shuffles = |change: Change<'_>| changed_by(false, &world, sql, change);
    assert_eq!(by_shuffles(lies[0].1), Outcome::NoAnswer);
    for (lie, change) in &lies[1..4] {
        let found = by_shuffles(*change);
        assert!(
            found == world.run(sql) || found == Outcome::NoAnswer,
            "{lie}: {found:?}"
        );
    }
    assert_eq!(by_shuffles(lies[4].1), Outcome::NoAnswer);
    // These are rows that there could be.
    assert_ne!(told(&|bits| put(bits, 1, 0, 8, 3)), Outcome::NoAnswer);
    assert_ne!(told(&|bits| bits.set(17, 0, false)), Outcome::NoAnswer);
}

/// A number that an owner has computed is within the bounds that follow from the expression, whatever its bits could hold.
#[test]
fn numbers_beyond_their_bounds() {
    let world = World::new(2)
        .table(0, "a", "id u8 not null unique, x i8", "1 10 | 2 20")
        .table(1, "b", "id u8 not null unique, y u8", "1 7 | 2 null");
    for (column, width, least, most) in [
        ("y % 10", 4, 0, 9),
        ("case when y > 5 then 3 else 1 end", 2, 1, 3),
        ("y - 300", 9, -300, -45),
    ] {
        let sql = format!("select x * v from a join (select id, {column} as v from b) s using (id)");
        for number in 0..1usize << width {
            let signed = if least < 0 {
                number as i64 - (1 << width)
            } else {
                number as i64
            };
            let found = changed(&world, &sql, |bits| put(bits, 0, 1, width, number));
            assert_eq!(
                found == Outcome::NoAnswer,
                !(least..=most).contains(&signed),
                "{column}: {signed}"
            );
        }
        // In a row that does not count it does not matter.
        let unused = changed(&world, &sql, |bits| put(bits, 3, 1, width, (1 << width) - 1));
        assert_ne!(unused, Outcome::NoAnswer);
    }
}

/// Constants are not given at all.
#[test]
fn constants_are_those_of_the_query() {
    let world = World::new(2)
        .table(0, "a", "x u8 not null", "1")
        .table(1, "b", "x u8 not null", "2 | 3");
    let sql = "select 'a' as src, 1 as sign, x from a union all select 'b', -1, x from b";
    let widths = std::sync::Mutex::new(Vec::new());
    changed(&world, sql, |bits| widths.lock().unwrap().push(bits.rows()));
    // Whether a row counts, and one column.
    assert!(widths.into_inner().unwrap().into_iter().all(|width| width == 9));
    assert_eq!(world.ask(sql), "a 1 1 | b -1 2 | b -1 3");
}

/// Whatever bits an owner gives, all parties come to the same end.
#[test]
fn any_bits_at_all() {
    let (mut ran, mut answers) = (0, 0);
    for seed in 0..150 {
        let Case { world, asked } = Case::new(seed);
        let change = |query: &Query, me: PartyId| -> cenote_query::Result<OwnInput> {
            let mut random = Random::new(seed);
            let mut given = query.prepare(me, &world.own(me))?;
            for bits in given.bits().filter(|_| me.0 == 0) {
                for _ in 0..1 + random.below(3) {
                    let (at, row) = (random.below(bits.rows()), random.below(bits.lanes()));
                    bits.set(at, row, !bits.get(at, row));
                }
            }
            Ok(given)
        };
        match world.run_by(seed % 2 == 0, &asked.ours, change) {
            Outcome::Refused(_) => continue,
            Outcome::Answer(_) => answers += 1,
            outcome => assert_eq!(outcome, Outcome::NoAnswer),
        }
        ran += 1;
    }
    assert!(ran > 100 && answers > 20, "{answers} of {ran}");
}

//! Numbers at the ends of their ranges: nothing wraps.

use crate::common::World;

fn world() -> World {
    World::new(2)
        .table(
            0,
            "a",
            "id u8 not null unique, i i64, u u64, z decimal(38,0), c decimal(30,10)",
            "1 -9223372036854775808 18446744073709551615 99999999999999999999999999999999999999 12345678901234567890.0123456789 \
             | 2 9223372036854775807 0 -99999999999999999999999999999999999999 -0.0000000001 \
             | 3 -1 18446744073709551614 1 99999999999999999999.9999999999",
        )
        .table(
            1,
            "b",
            "id u8 not null unique, j i64, v u64, y decimal(38,0)",
            "1 -9223372036854775808 18446744073709551615 99999999999999999999999999999999999999 \
             | 2 -1 1 1 \
             | 3 9223372036854775807 18446744073709551615 -1",
        )
}

/// Asserts what each expression is in the three rows, secretly and where one party has all.
fn are(cases: &[(&str, &str)]) {
    let world = world();
    for (expression, values) in cases {
        let sql = format!("select {expression} from a join b using (id) order by id");
        assert_eq!(world.ask(&sql).replace(" |", ""), *values, "{sql}");
    }
}

#[test]
fn sixty_four_bits_and_more() {
    are(&[
        (
            "i + j",
            "-18446744073709551616 9223372036854775806 9223372036854775806",
        ),
        ("i - j", "0 9223372036854775808 -9223372036854775808"),
        (
            "i * j",
            "85070591730234615865843651857942052864 -9223372036854775807 -9223372036854775807",
        ),
        ("u + v", "36893488147419103230 1 36893488147419103229"),
        ("u - v", "0 -1 -1"),
        (
            "i / 2 * v",
            "-85070591730234615861231965839514664960 4611686018427387903 0",
        ),
        ("u > i", "true false true"),
        ("i < v", "true false true"),
        ("i / j", "1 -9223372036854775807 0"),
        ("j / i", "1 0 -9223372036854775807"),
        ("i % j", "0 0 -1"),
        ("- i", "9223372036854775808 -9223372036854775807 1"),
        ("abs(i)", "9223372036854775808 9223372036854775807 1"),
        ("u / v", "1 0 0"),
        ("u % v", "0 0 18446744073709551614"),
        (
            "c + i",
            "3122306864379792082.0123456789 9223372036854775806.9999999999 99999999999999999998.9999999999",
        ),
        (
            "round(c, 2)",
            "12345678901234567890.01 0.00 100000000000000000000.00",
        ),
        ("c < u", "true true false"),
        (
            "greatest(i, v)",
            "18446744073709551615 9223372036854775807 18446744073709551615",
        ),
        ("z = y", "true false false"),
    ]);
}

#[test]
fn sums_of_more_than_sixty_four_bits() {
    world().answers(&[
        ("select sum(i), sum(u) from a", "-2 36893488147419103229"),
        (
            "select sum(i + j), sum(v) from a join b using (id)",
            "-4 36893488147419103231",
        ),
        (
            "select min(i), max(i), min(u), max(u) from a",
            "-9223372036854775808 9223372036854775807 0 18446744073709551615",
        ),
        ("select avg(u) from a", "12297829382473034409.666667"),
        (
            "select sum(n) from (select u as n from a union all select v from b union all select j from b) s",
            "73786976294838206458",
        ),
        (
            "select i from a order by i",
            "-9223372036854775808 | -1 | 9223372036854775807",
        ),
        (
            "select j from a join b using (id) order by j desc",
            "9223372036854775807 | -1 | -9223372036854775808",
        ),
        ("select count(*) from a where u > 18446744073709551614", "1"),
        ("select id from a where i = -9223372036854775808", "1"),
        ("select sum(z) from a", "1"),
        (
            "select sum(z + y) from a join b using (id) where id > 1",
            "-99999999999999999999999999999999999998",
        ),
    ]);
}

/// As many places as there are.
#[test]
fn thirty_eight_places() {
    let world = World::new(2)
        .table(
            0,
            "a",
            "id u8 unique, f decimal(38,38), x i8",
            "1 0.5 1 | 2 -0.25 0 | 3 null -1",
        )
        .table(1, "b", "id u8 unique, g decimal(38,30)", "1 2.5 | 2 -0.5 | 3 1");
    let zeros = |count: usize| "0".repeat(count);
    let places = |number: &str, places: usize| {
        let own = number.split_once('.').unwrap().1.len();
        format!("{number}{}", zeros(places - own))
    };
    world.answers(&[
        ("select avg(f) from a", &places("0.125", 38)),
        ("select avg(f) from a join b using (id)", &places("0.125", 38)),
        (
            "select round(f, 1) from a join b using (id) order by id",
            "0.5 | -0.3 | null",
        ),
        (
            "select sum(g) from a join b using (id) where f > 0",
            &places("2.5", 30),
        ),
        (
            "select f > g, f = x from a join b using (id) where g < 1",
            "true false",
        ),
        // A number with 38 places is less than 2 in 128 bits.
        ("select f > g from a join b using (id)", "no answer"),
    ]);
}

/// A division by zero and what 128 bits do not hold leave no answer, unless it is of rows that do not count.
/// What another condition decides is not computed, so it does not fail.
#[test]
fn conditions_guard_one_another() {
    let rows = ["1 0 | 2 10 | 3 4 | 4 null", "1 0 | 2 7 | 3 1 | 4 5"];
    let world = World::new(2)
        .table(0, "v", "shop u8 unique, visits i32", rows[0])
        .table(1, "s", "shop u8 unique, sold i32", rows[1]);
    let both = "select shop from v join s using (shop)";
    let of = |rest: &str| format!("{both} {rest} order by shop");
    for (sql, answer) in [
        (
            "select shop from v where visits > 0 and 100 / visits > 15".to_owned(),
            "3",
        ),
        (
            "select shop from v where 100 / visits > 15 and visits > 0".into(),
            "3",
        ),
        (
            "select shop from v where not (visits = 0 or 100 / visits <= 15)".into(),
            "3",
        ),
        (
            "select shop from (select shop, visits from v where visits > 0) x where 100 / visits > 15".into(),
            "3",
        ),
        (of("where visits = 0 or sold * 100 / visits > 50"), "1 | 2"),
        (of("where sold * 100 / visits > 50 or visits = 0"), "1 | 2"),
        (of("where visits > 0 and sold * 100 / visits > 50"), "2"),
        (
            of("group by shop having sum(visits) > 0 and sum(sold) * 100 / sum(visits) > 50"),
            "2",
        ),
        (
            format!(
                "select shop from ({both} group by shop having sum(visits) > 0) x join s using (shop) join v using (shop) where sold * 100 / visits > 50"
            ),
            "2",
        ),
        (
            of("where visits is not null and sold * 100 / visits > 50"),
            "no answer",
        ),
    ] {
        assert_eq!(world.ask(&sql), answer, "{sql}");
    }
}

#[test]
fn overflows() {
    let no = [
        "select z + y from a join b using (id)",
        "select z * y from a join b using (id)",
        "select u * u from a join b using (id) where v > 0",
        "select sum(z) from a join b using (id) where z > 0 and v >= 0 or id = 1 and y > 0",
        // 38 digits are the most of an answer.
        "select sum(z) from a where z > 0",
        "select i * v from a join b using (id)",
        "select x / 0 from a, (select count(*) as x from b) s",
        "select sum(x) from (select z as x from a where id = 1 union all select y from b where id = 1) s",
        "select j % (id - 1) from a join b using (id)",
        "select cast(z as decimal(38,1)) from a join b using (id) where y > 0",
        "select z * 10 + y * 0 from a join b using (id)",
    ];
    // The owner of a table sees what is wrong with its own rows.
    let own = [
        "select z + z from a",
        "select i / (i + 1) from a",
        "select sum(z) from (select z from a where id = 1 union all select z from a where id = 1) s",
    ];
    let world = world();
    for sql in no {
        assert_eq!(world.ask(sql), "no answer", "{sql}");
    }
    for sql in own {
        let what = "table a: on its rows a calculation of the query overflows, divides by zero, or has a text that is too long, or not of the type to which it is cast";
        assert_eq!(world.ask(sql), what, "{sql}");
    }
    world.answers(&[
        (
            "select z + y from a join b using (id) where id > 1",
            "-99999999999999999999999999999999999998 | 0",
        ),
        (
            "select case when z > 1 then null else z + y end from a join b using (id) where id < 3",
            "null | -99999999999999999999999999999999999998",
        ),
        (
            "select j / nullif(id - 1, 0) from a join b using (id) order by id",
            "null | -1 | 4611686018427387903",
        ),
        (
            "select case when id > 1 then j / (id - 1) end from a join b using (id) order by id",
            "null | -1 | 4611686018427387903",
        ),
    ]);
}

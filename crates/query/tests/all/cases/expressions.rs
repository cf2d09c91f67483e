//! Expressions: of one party's columns, which it computes, and of two parties' columns, which are computed secretly.

use crate::common::{Outcome, World, rows};

/// Columns `id x d p s f m` in one place and `id y e q t h k` in the other, or all in one.
pub(super) fn worlds() -> [(World, &'static str); 2] {
    let ids = "id u8 not null unique";
    let one = "x i32, d decimal(8,2), p bool, s char(3), f date, m timestamp";
    let other = "y i32, e decimal(6,3), q bool, t char(5), h date, k timestamp";
    let left = [
        "7 1.50 true ab 2024-02-28 2024-02-28T10:00",
        "-7 -1.50 true ab 2024-02-29 2024-02-29T00:00",
        "7 0.05 false '' 2023-12-31 2024-03-01T12:30:15",
        "null null null null null null",
        "0 2.50 false null null 2023-01-01T00:00",
    ];
    let right = [
        "2 0.125 true ab 2024-03-01 2024-02-28T10:00",
        "2 2.000 false abc 2024-02-29 2024-02-28T23:59:59",
        "-2 -0.050 false a 2024-01-01 null",
        "3 1.000 true b 2024-01-01 null",
        "null null null zz null 2023-01-01T00:00:00.000001",
    ];
    let table = |sides: [&[&str]; 2]| -> String {
        let row = |at: usize| {
            let cells: Vec<&str> = sides.iter().filter_map(|side| side.get(at).copied()).collect();
            format!("{} {}", at + 1, cells.join(" "))
        };
        (0..5).map(row).collect::<Vec<_>>().join(" | ")
    };
    let apart = World::new(2)
        .table(0, "one", &format!("{ids}, {one}"), &table([&left, &[]]))
        .table(1, "other", &format!("{ids}, {other}"), &table([&right, &[]]));
    let together = World::new(2).table(
        0,
        "all_of_it",
        &format!("{ids}, {one}, {other}"),
        &table([&left, &right]),
    );
    [(apart, "one join other using (id)"), (together, "all_of_it")]
}

/// Asserts what each expression is in the five rows.
pub(super) fn are(cases: &[(&str, &str)]) {
    let worlds = worlds();
    for (expression, values) in cases {
        for (world, from) in &worlds {
            let sql = format!("select {expression} from {from} order by id");
            let found = match world.run(&sql) {
                Outcome::Answer(table) => rows(&table).replace(" |", ""),
                other => format!("{other:?}"),
            };
            assert_eq!(found, *values, "{sql}");
        }
    }
}

#[test]
fn whole_numbers() {
    are(&[
        ("x + y", "9 -5 5 null null"),
        ("x * y - 1", "13 -15 -15 null null"),
        ("x / y", "3 -3 -3 null null"),
        ("x % y", "1 -1 1 null null"),
        ("- x", "-7 7 -7 null 0"),
        ("+ y", "2 2 -2 3 null"),
        ("abs(x - y)", "5 9 9 null null"),
        ("x / nullif(x, 0)", "1 1 1 null null"),
        ("greatest(x, y, 1)", "7 2 7 3 1"),
        ("least(x, y)", "2 -7 -2 3 0"),
        ("greatest(y)", "2 2 -2 3 null"),
        ("y + null", "null null null null null"),
        ("cast(p as i32)", "1 1 0 null 0"),
        ("cast(q as decimal(5,2))", "1.00 0.00 0.00 1.00 null"),
        ("-9", "-9 -9 -9 -9 -9"),
    ]);
}

#[test]
fn decimals() {
    are(&[
        ("d + e", "1.625 0.500 0.000 null null"),
        ("d - x", "-5.50 5.50 -6.95 null 2.50"),
        ("d * e", "0.18750 -3.00000 -0.00250 null null"),
        // A division adds six places.
        ("d / e", "12.00000000 -0.75000000 -1.00000000 null null"),
        ("x / d", "4.666667 4.666667 140.000000 null 0.000000"),
        ("d / 3", "0.50000000 -0.50000000 0.01666667 null 0.83333333"),
        ("y / 3.0", "0.666667 0.666667 -0.666667 1.000000 null"),
        ("d % 1", "0.50 -0.50 0.05 null 0.50"),
        ("round(e, 2)", "0.13 2.00 -0.05 1.00 null"),
        ("round(d)", "2 -2 0 null 3"),
        ("round(d, 1)", "1.5 -1.5 0.1 null 2.5"),
        ("round(x, 3)", "7 -7 7 null 0"),
        ("cast(d as i32)", "2 -2 0 null 3"),
        ("cast(x as decimal(10,2))", "7.00 -7.00 7.00 null 0.00"),
        ("e::decimal(6,1)", "0.1 2.0 -0.1 1.0 null"),
        ("d > e", "true false true null null"),
        ("d = 1.5", "true false false null false"),
        ("x > d", "true false true null false"),
        ("least(d, e)", "0.125 -1.500 -0.050 1.000 2.500"),
        ("1.50", "1.50 1.50 1.50 1.50 1.50"),
    ]);
}

#[test]
fn three_valued_logic() {
    are(&[
        ("p and q", "true false false null false"),
        ("p or q", "true true false true null"),
        ("not p", "false false true null true"),
        ("p = q", "true false true null null"),
        ("p is true", "true true false false false"),
        ("p is not true", "false false true true true"),
        ("q is false", "false true true false false"),
        ("q is not false", "true false false true true"),
        ("x is null", "false false false true false"),
        ("y is not null", "true true true true false"),
        ("x = null", "null null null null null"),
        ("null is null", "true true true true true"),
        ("(x > 0 or y > 0) and q", "true false false true null"),
        ("not (p and q)", "false true true null true"),
        ("true and p", "true true false null false"),
    ]);
}

#[test]
fn comparisons() {
    are(&[
        ("x = y", "false false false null null"),
        ("x <> y", "true true true null null"),
        ("x < y", "false true false null null"),
        ("x <= 7", "true true true null true"),
        ("x >= y", "true false true null null"),
        ("x between y and 10", "true false true null null"),
        ("x not between 1 and y", "true true true null true"),
        ("x in (y, 7, null)", "true null true null null"),
        ("x not in (y, 0)", "true true true null false"),
        ("x in (0)", "false false false null true"),
        ("x + 1 = y * 4", "true false false null null"),
    ]);
}

#[test]
fn choices() {
    are(&[
        ("coalesce(x, y, 5)", "7 -7 7 3 0"),
        ("coalesce(null, y, x, 1)", "2 2 -2 3 0"),
        ("coalesce(x)", "7 -7 7 null 0"),
        ("nullif(x, 7)", "null -7 null null 0"),
        ("nullif(x, y)", "7 -7 7 null 0"),
        (
            "case when x > y then 'big' when p then s end",
            "big ab big null null",
        ),
        (
            "case x when 7 then 1 when 0 then 2 else d end",
            "1.00 -1.50 1.00 null 2.00",
        ),
        ("case when null then 1 else 2 end", "2 2 2 2 2"),
        ("case y when null then 1 when 2 then 3 end", "3 3 null null null"),
        ("coalesce(nullif(s, 'ab'), t, 'none')", "ab abc '' b zz"),
    ]);
}

#[test]
fn text() {
    are(&[
        ("s", "ab ab '' null null"),
        ("s = t", "true false false null null"),
        // What is shorter comes first.
        ("s < t", "false true true null null"),
        ("s = ''", "false false true null null"),
        ("t > 'ab'", "false true false true true"),
        ("t = 'abcdefg'", "false false false false false"),
        ("t like 'ab%'", "true true false false false"),
        ("t like 'abcdefg%'", "false false false false false"),
        ("s like '%'", "true true true null null"),
        ("t not like 'a'", "true true false true true"),
        ("s in ('ab', t)", "true true false null null"),
        ("greatest(s, t)", "ab abc a b zz"),
        ("cast(s as char(9)) = s", "true true true null null"),
        (
            "case when s = 'ab' then t else 'wider than t' end",
            "ab abc wider than t wider than t wider than t",
        ),
    ]);
}

#[test]
fn dates() {
    are(&[
        ("f", "2024-02-28 2024-02-29 2023-12-31 null null"),
        ("h - f", "2 0 1 null null"),
        ("f < h", "true false true null null"),
        ("f = '2024-02-29'", "false true false null null"),
        (
            "f >= date '2024-01-31' - interval '1' month",
            "true true true null null",
        ),
        (
            "f < date '2024-01-31' + interval '1 month'",
            "true false true null null",
        ),
        (
            "f = date '2023-02-28' + interval '1' year",
            "true false false null null",
        ),
        ("f in ('2024-02-28', h)", "true true false null null"),
        ("f between '2024-01-01' and h", "true true false null null"),
        (
            "f = date '2024-02-15' + interval '2' week",
            "false true false null null",
        ),
        ("m = k", "true false null null false"),
        ("m < k", "false false null null true"),
        ("m >= date '2024-02-29'", "false true true null false"),
        ("m < '2024-02-29 00:00:00'", "true false false null true"),
        (
            "m = timestamp '2024-02-28 22:30:00' + interval '90' minute",
            "false true false null false",
        ),
        (
            "m = timestamp '2024-03-01 12:30:16' - interval '1' second",
            "false false true null false",
        ),
        (
            "coalesce(f, '2000-01-01')",
            "2024-02-28 2024-02-29 2023-12-31 2000-01-01 2000-01-01",
        ),
    ]);
}

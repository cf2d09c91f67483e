//! Variances, deviations, covariances and correlations beside their definitions, in whole numbers.

use cenote_program::Abilities;

use crate::common::World;

/// Groups of numbers: negative ones, decimals, equal ones, a single one, and none at all.
fn world() -> World {
    let columns = "id u8 not null unique, g u8 not null, x i32, y decimal(8,2), z i16 not null";
    World::new(2)
        .table(
            0,
            "a",
            columns,
            "1 1 -5 2.50 3 | 2 1 10 -3.25 9 | 3 1 7 0.01 -2 | 4 2 4 4.00 1 | 5 3 null 1.00 5 | 6 4 8 7.77 6",
        )
        .table(
            1,
            "b",
            columns,
            "11 1 100 null 3 | 12 1 -2000000000 999999.99 3 | 13 4 8 1.25 3 | 14 4 8 -1.00 -3 | 15 5 2147483647 -999999.99 0",
        )
        .table(1, "k", "id u8 not null unique, h u8", "1 1 | 2 1 | 3 1 | 4 1 | 5 1 | 6 1")
}

type Row = (i128, Option<i128>, Option<i128>);

/// The rows of both tables: the group, x, and y in hundredths.
const A: [Row; 6] = [
    (1, Some(-5), Some(250)),
    (1, Some(10), Some(-325)),
    (1, Some(7), Some(1)),
    (2, Some(4), Some(400)),
    (3, None, Some(100)),
    (4, Some(8), Some(777)),
];
const B: [Row; 5] = [
    (1, Some(100), None),
    (1, Some(-2_000_000_000), Some(99_999_999)),
    (4, Some(8), Some(125)),
    (4, Some(8), Some(-100)),
    (5, Some(2_147_483_647), Some(-99_999_999)),
];

/// n Σxy - Σx Σy.
fn excess(pairs: &[(i128, i128)]) -> i128 {
    let sum = |of: fn(&(i128, i128)) -> i128| pairs.iter().map(of).sum::<i128>();
    pairs.len() as i128 * sum(|(x, y)| x * y) - sum(|(x, _)| *x) * sum(|(_, y)| *y)
}

/// n², or n (n - 1) of a sample, if it is not 0.
fn divisor(count: usize, sample: bool) -> Option<i128> {
    let count = count as i128;
    Some(count * (count - i128::from(sample))).filter(|divisor| *divisor != 0)
}

/// A number of this many places behind the point.
fn written(value: Option<i128>, places: usize) -> String {
    let Some(value) = value else {
        return "null".into();
    };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = places + 1);
    let (whole, rest) = digits.split_at(digits.len() - places);
    format!("{}{whole}.{rest}", if value < 0 { "-" } else { "" })
}

/// The nearest number to a quotient, halves away from zero.
fn nearest(x: i128, y: i128) -> i128 {
    x.signum() * ((2 * x.abs() + y) / (2 * y))
}

/// The nearest number to the square root of `x / y`, found by halving.
fn nearest_root(x: i128, y: i128) -> i128 {
    let is_less = |root: i128| match (2 * root + 1)
        .checked_pow(2)
        .and_then(|square| square.checked_mul(y))
    {
        Some(square) => square <= 4 * x,
        None => false,
    };
    let (mut low, mut high) = (0, 1 << 60);
    while low < high {
        let middle = (low + high) / 2;
        match is_less(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

const MILLION: i128 = 1_000_000;

fn covariance(pairs: &[(i128, i128)], sample: bool) -> Option<i128> {
    divisor(pairs.len(), sample).map(|divisor| nearest(excess(pairs) * MILLION, divisor))
}

fn deviation(values: &[(i128, i128)], sample: bool) -> Option<i128> {
    divisor(values.len(), sample).map(|divisor| nearest_root(excess(values) * MILLION * MILLION, divisor))
}

/// By halving too: the square root of what is not a whole number of 128 bits is found in floating point, which has enough places.
fn correlation(pairs: &[(i128, i128)]) -> Option<i128> {
    let twice =
        |of: fn(&(i128, i128)) -> i128| pairs.iter().map(|pair| (of(pair), of(pair))).collect::<Vec<_>>();
    let (one, other) = (excess(&twice(|pair| pair.0)), excess(&twice(|pair| pair.1)));
    let root = (one as f64).sqrt() * (other as f64).sqrt();
    (one > 0 && other > 0).then(|| (excess(pairs) as f64 / root * 1e6).round() as i128)
}

/// All of it for the rows of a group.
fn all(rows: &[Row]) -> String {
    let xs: Vec<(i128, i128)> = rows.iter().filter_map(|row| row.1.map(|x| (x, x))).collect();
    let ys: Vec<(i128, i128)> = rows.iter().filter_map(|row| row.2.map(|y| (y, y))).collect();
    let pairs: Vec<(i128, i128)> = rows.iter().filter_map(|row| row.1.zip(row.2)).collect();
    [
        written(covariance(&xs, true), 6),
        written(covariance(&xs, false), 6),
        written(deviation(&xs, true), 6),
        written(deviation(&xs, false), 6),
        written(covariance(&ys, true), 10),
        written(deviation(&ys, false), 8),
        written(covariance(&pairs, true), 8),
        written(covariance(&pairs, false), 8),
        written(correlation(&pairs), 6),
    ]
    .join(" ")
}

const ALL: &str = "variance(x), var_pop(x), stddev(x), stddev_pop(x), var_samp(y), stddev_pop(y), covar_samp(x, y), covar_pop(x, y), corr(x, y)";

/// By group and over everything: of one party's rows, of several parties' rows, and of rows that are secret.
#[test]
fn statistics_are_what_they_are_defined_to_be() {
    let both = [A.as_slice(), B.as_slice()].concat();
    let from = [
        ("a", A.to_vec()),
        ("(select * from a union all select * from b) t", both),
        ("a join k using (id)", A.to_vec()),
    ];
    for (from, rows) in from {
        let groups: Vec<String> = (1..=5)
            .filter(|group| rows.iter().any(|row| row.0 == *group))
            .map(|group| {
                let own: Vec<Row> = rows.iter().filter(|row| row.0 == group).copied().collect();
                format!("{group} {}", all(&own))
            })
            .collect();
        world().answers(&[
            (
                &format!("select g, {ALL} from {from} group by g order by g"),
                &groups.join(" | "),
            ),
            (&format!("select {ALL} from {from}"), &all(&rows)),
        ]);
    }
}

#[test]
fn statistics_stand_wherever_aggregates_do() {
    world().answers(&[
        (
            "select stddev(z), var_pop(x), covar_pop(x, z), corr(x, y) from a where id < 0",
            "null null null null",
        ),
        (
            "select g, round(stddev_samp(x), 2) from a group by g having variance(x) > 1 order by stddev(x)",
            "1 7.94",
        ),
        (
            "select var_pop(z) filter (where g = 1), var_pop(x) filter (where g > 2) from a",
            "20.222222 0.000000",
        ),
        (
            "select corr(x, x), covar_pop(x, x) - var_pop(x) from a where g = 1",
            "1.000000 0.000000",
        ),
        (
            "select corr(x, 0 - x), corr(x, z) filter (where g = 2) from a",
            "-1.000000 null",
        ),
        ("select variance(null) from a", "null"),
        (
            "select id from a where x > (select stddev(x) from b) or x = 4",
            "4",
        ),
        (
            "select g, (select stddev_pop(z) from b where b.g = a.g) from a where id < 5",
            "1 0.000000 | 1 0.000000 | 1 0.000000 | 2 null",
        ),
        (
            "select var_pop(x + h) from a join k using (id) where g = 1",
            "42.000000",
        ),
    ]);
}

#[test]
fn square_roots() {
    world().answers(&[
        (
            "select sqrt(2), sqrt(0), sqrt(16), sqrt(0.25), sqrt(null) from a where id = 1",
            "1.414214 0.000000 4.000000 0.50000000 null",
        ),
        (
            "select id, sqrt(x) from a where x >= 0",
            "2 3.162278 | 3 2.645751 | 4 2.000000 | 6 2.828427",
        ),
        (
            "select id, sqrt(x), sqrt(x + h) from a join k using (id) where x >= 0 and h = 1",
            "2 3.162278 3.316625 | 3 2.645751 2.828427 | 4 2.000000 2.236068 | 6 2.828427 3.000000",
        ),
        (
            "select id, sqrt(y), sqrt(2147483647), sqrt(0.0001) from a where y > 0 and id < 4",
            "1 1.58113883 46340.950001 0.0100000000 | 3 0.10000000 46340.950001 0.0100000000",
        ),
        ("select sqrt(x + h) from a join k using (id)", "no answer"),
        (
            "select sqrt(x) from a",
            "table a: on its rows a calculation of the query overflows, divides by zero, or has a text that is too long, or not of the type to which it is cast",
        ),
        (
            "select id, case when x + h > 0 then sqrt(x + h) end from a join k using (id) where id < 3",
            "1 null | 2 3.316625",
        ),
        ("select id from a join k using (id) where x + h > 0 and sqrt(x + h) < 2.5", "4"),
    ]);
}

/// Squares of numbers of 64 bits fit while the numbers are not so large.
#[test]
fn what_does_not_fit_is_an_overflow() {
    let world = World::new(2)
        .table(
            0,
            "s",
            "n i64, d decimal(30,15)",
            "-3 0.000000000000001 | 4 0.000000000000003",
        )
        .table(1, "l", "n i64", "9223372036854775807 | -9223372036854775808 | 0")
        .table(0, "m", "n i64", "9223372036854775807")
        .table(1, "p", "n decimal(20,16)", "1");
    world.answers(&[
        ("select var_pop(n), stddev(n) from s", "12.250000 4.949747"),
        ("select stddev(d), var_pop(d) from s", "0.000000000000001414214 0.000000000000000000000000000001"),
        (
            "select var_pop(n), stddev(n) from (select n from s union all select n from s) t",
            "12.250000 4.041452",
        ),
        (
            "select stddev(n) from (select n from s union all select n from l) t",
            "6521908912666391105.821233",
        ),
        ("select stddev(n) from (select n from m union all select n from l) t", "no answer"),
        (
            "select stddev(n) from (select n from l union all select n from l) t",
            "table l: on its rows a calculation of the query overflows, divides by zero, or has a text that is too long, or not of the type to which it is cast",
        ),
    ]);
    let refused = world.ask("select variance(n) from p");
    assert!(refused.contains("more than 30 decimal places"), "{refused}");
    let refused = world.ask("select stddev(distinct n) from s");
    assert!(refused.contains("group by it in a subquery"), "{refused}");
}

/// Roots and divisions are of groups, and not of rows.
#[test]
fn statistics_cost_gates_for_each_group() {
    let ands = |rows: usize, told: &str| {
        let columns = "g u8 not null distinct 5, x i32 not null, y i32 not null";
        let world = World::new(2)
            .table(0, "a", columns, "")
            .with(|table| table.max_rows = rows)
            .table(1, "b", columns, "")
            .with(|table| table.max_rows = rows);
        let sql = format!("select {told} from (select * from a union all select * from b) t group by g");
        let tally = world.plan(&sql).unwrap().tally(Abilities::default()).unwrap();
        tally.and_gates
    };
    let sums = ands(1000, "count(*), sum(x), sum(x * x)");
    // Of numbers of 32 bits, for each of twelve groups: of five values and null of each party.
    for (told, most) in [
        ("stddev(x)", 25_000),
        ("variance(x)", 25_000),
        ("corr(x, y)", 150_000),
    ] {
        let (few, many) = (ands(1000, told), ands(1_000_000, told));
        println!("{told}: {few} ANDs of a thousand rows, {many} of a million, {sums} for sums");
        assert!(
            few < sums + 12 * most && many < few * 2,
            "{told}: {few}, {many}, {sums}"
        );
    }
}

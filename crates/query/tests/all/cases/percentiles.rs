//! MEDIAN and percentiles, beside values that are computed here.

use crate::common::{Outcome, World, rows};
use crate::differential::Random;

#[test]
fn percentiles_of_groups() {
    let columns = "g u8, x i16, d date, s char(2)";
    let world = World::new(2)
        .table(
            0,
            "a",
            columns,
            "1 4 2024-01-01 a | 1 null null b | 2 -3 2024-02-01 c | null 1 2024-01-01 d | 3 null null e",
        )
        .table(
            1,
            "b",
            columns,
            "1 9 2024-03-01 a | 1 5 2024-04-01 null | 2 -4 2024-01-09 b",
        )
        .table(1, "none", columns, "");
    let all = "(select * from a union all select * from b) u";
    world.answers(&[
        (
            &format!("select g, median(x), count(*) from {all} group by g"),
            "null 1.000000 1 | 1 5.000000 4 | 2 -3.500000 2 | 3 null 1",
        ),
        (
            &format!("select g, percentile_disc(0.5) within group (order by x) p, percentile_disc(0.5) within group (order by x desc) q from {all} group by g"),
            "null 1 1 | 1 5 5 | 2 -4 -3 | 3 null null",
        ),
        (
            &format!("select percentile_cont(0) within group (order by x) a, percentile_cont(1) within group (order by x) b, quantile_cont(x, 0.1) c from {all}"),
            "-4.000000 9.000000 -3.500000",
        ),
        (
            &format!("select percentile_cont(0.1) within group (order by x desc), median(x) filter (where x > 0) from {all}"),
            "7.000000 4.500000",
        ),
        (
            &format!("select quantile_disc(d, 0.5), quantile(s, 0.9), percentile_disc(0) within group (order by s) from {all}"),
            "2024-01-09 e a",
        ),
        ("select median(x), quantile_disc(s, 0.5), count(*) from none", "null null 0"),
        ("select g, median(x) from none group by g", ""),
        ("select median(x), g from a group by g having median(x) > 0 order by median(x) desc", "4.000000 1 | 1.000000 null"),
        (
            &format!("select g, max(x) - median(x) as above, count(distinct s) from {all} group by g"),
            "null 0.000000 1 | 1 4.000000 2 | 2 0.500000 2 | 3 null 1",
        ),
        (
            &format!("select g, x from {all} where x > (select median(x) from a)"),
            "1 4 | 1 5 | 1 9",
        ),
        (
            &format!("select g, rank() over (order by median(x) desc nulls last) from {all} group by g"),
            "null 2 | 1 1 | 2 3 | 3 4",
        ),
    ]);
}

/// `number / unit` rounded, halves away from zero.
fn rounded(number: i128, unit: i128) -> i128 {
    number.signum() * ((2 * number.abs() + unit) / (2 * unit))
}

#[test]
fn percentiles_are_those_of_the_definition() {
    let mut random = Random::new(11);
    let unit = 1_000_000_000i128;
    for round in 0..40 {
        let part = [
            123_456_789,
            999_999_999,
            500_000_000,
            0,
            unit,
            300_000,
            333_000_000,
        ][round % 7];
        let mut values: [Vec<i128>; 2] = Default::default();
        let counts = [random.below(7), random.below(5)];
        for (values, count) in values.iter_mut().zip(counts) {
            values.extend((0..count).map(|_| random.below(40) as i128 - 20));
        }
        let text = |values: &[i128]| {
            let row = |value: &i128| {
                format!(
                    "{}{}.{:02}",
                    if *value < 0 { "-" } else { "" },
                    value.abs() / 100,
                    value.abs() % 100
                )
            };
            values.iter().map(row).collect::<Vec<_>>().join(" | ")
        };
        let world = World::new(2)
            .table(0, "a", "x decimal(6,2)", &text(&values[0]))
            .table(1, "b", "x decimal(6,2)", &text(&values[1]));
        let fraction = format!("{}.{:09}", part / unit, part % unit);
        let sql = format!(
            "select percentile_cont({fraction}) within group (order by x) c, percentile_disc({fraction}) within group (order by x) d \
             from (select x from a union all select x from b) u"
        );
        let mut all = values.concat();
        all.sort_unstable();
        let expected = match all.len() as i128 {
            0 => "null null".to_owned(),
            count => {
                let place = part * (count - 1);
                let (low, rest) = (all[(place / unit) as usize], place % unit);
                let high = all[(place / unit + 1).min(count - 1) as usize];
                let between = rounded((low * unit + (high - low) * rest) * 1_000_000, unit);
                let sign = if between < 0 { "-" } else { "" };
                let at_rank = all[((part * count + unit - 1) / unit - 1).max(0) as usize];
                let scale = 100_000_000;
                format!(
                    "{sign}{}.{:08} {}",
                    between.abs() / scale,
                    between.abs() % scale,
                    text(&[at_rank])
                )
            }
        };
        match world.run(&sql) {
            Outcome::Answer(table) => assert_eq!(rows(&table), expected, "{all:?}"),
            other => panic!("{other:?}"),
        }
    }
}

//! Functions of dates and timestamps.

use super::expressions::are;
use crate::common::World;

#[test]
fn parts_of_dates() {
    are(&[
        ("extract(year from f)", "2024 2024 2023 null null"),
        ("extract(month from f)", "2 2 12 null null"),
        ("extract(day from m)", "28 29 1 null 1"),
        ("extract(quarter from f)", "1 1 4 null null"),
        // Sundays are 0.
        ("extract(dow from f)", "3 4 0 null null"),
        ("extract(isodow from f)", "3 4 7 null null"),
        ("extract(doy from f)", "59 60 365 null null"),
        ("extract(week from f)", "9 9 52 null null"),
        // 2023-01-01 was a Sunday of the last week of 2022.
        ("extract(week from m)", "9 9 9 null 52"),
        ("extract(isoyear from m)", "2024 2024 2024 null 2022"),
        ("extract(hour from m)", "10 0 12 null 0"),
        ("extract(minute from m)", "0 0 30 null 0"),
        ("extract(second from k)", "0 59 null null 0"),
        ("extract(microsecond from k)", "0 59000000 null null 1"),
        (
            "extract(epoch from date '1970-01-02')",
            "86400 86400 86400 86400 86400",
        ),
        (
            "extract(epoch from m - m)",
            "0.000000 0.000000 0.000000 null 0.000000",
        ),
        ("date_part('year', f) + 1", "2025 2025 2024 null null"),
        ("month(f)", "2 2 12 null null"),
        ("extract(year from null)", "null null null null null"),
        ("extract(year from date '0001-01-01')", "1 1 1 1 1"),
        ("extract(dow from timestamp '1969-12-28 23:00:00')", "0 0 0 0 0"),
    ]);
}

#[test]
fn beginnings() {
    are(&[
        (
            "date_trunc('month', f)",
            "2024-02-01 2024-02-01 2023-12-01 null null",
        ),
        (
            "date_trunc('quarter', f)",
            "2024-01-01 2024-01-01 2023-10-01 null null",
        ),
        (
            "date_trunc('year', f)",
            "2024-01-01 2024-01-01 2023-01-01 null null",
        ),
        (
            "date_trunc('week', f)",
            "2024-02-26 2024-02-26 2023-12-25 null null",
        ),
        (
            "date_trunc('month', m)",
            "2024-02-01 00:00:00 2024-02-01 00:00:00 2024-03-01 00:00:00 null 2023-01-01 00:00:00",
        ),
        (
            "date_trunc('day', k)",
            "2024-02-28 00:00:00 2024-02-28 00:00:00 null null 2023-01-01 00:00:00",
        ),
        (
            "date_trunc('hour', k)",
            "2024-02-28 10:00:00 2024-02-28 23:00:00 null null 2023-01-01 00:00:00",
        ),
    ]);
}

#[test]
fn dates_and_timestamps() {
    are(&[
        (
            "cast(m as date)",
            "2024-02-28 2024-02-29 2024-03-01 null 2023-01-01",
        ),
        (
            "cast(timestamp '1969-12-31 23:59:59' as date)",
            "1969-12-31 1969-12-31 1969-12-31 1969-12-31 1969-12-31",
        ),
        (
            "cast(h as timestamp)",
            "2024-03-01 00:00:00 2024-02-29 00:00:00 2024-01-01 00:00:00 2024-01-01 00:00:00 null",
        ),
        ("m::date = f", "true true false null null"),
        ("m < h", "true false false null null"),
        ("m >= f", "true true true null null"),
        ("f + 1", "2024-02-29 2024-03-01 2024-01-01 null null"),
        ("2 + f - 1", "2024-02-29 2024-03-01 2024-01-01 null null"),
        ("f + x", "2024-03-06 2024-02-22 2024-01-07 null null"),
        // Of both parties, and secretly.
        ("f + y", "2024-03-01 2024-03-02 2023-12-29 null null"),
        (
            "f + interval '1' day",
            "2024-02-29 2024-03-01 2024-01-01 null null",
        ),
        (
            "f - interval '1 month'",
            "2024-01-28 2024-01-29 2023-11-30 null null",
        ),
        (
            "interval '1 year 1 day' + f",
            "2025-03-01 2025-03-01 2025-01-01 null null",
        ),
        (
            "f + interval '90' minute",
            "2024-02-28 01:30:00 2024-02-29 01:30:00 2023-12-31 01:30:00 null null",
        ),
        (
            "m + interval '1 month 1 hour'",
            "2024-03-28 11:00:00 2024-03-29 01:00:00 2024-04-01 13:30:15 null 2023-02-01 01:00:00",
        ),
        ("m - k <= interval '1' minute", "true true null null true"),
        ("m - k = interval '1' second", "false true null null false"),
        ("m - k >= interval '0' day", "true true null null false"),
        (
            "extract(epoch from m - k)",
            "0.000000 1.000000 null null -0.000001",
        ),
        ("extract(day from m - date '2024-02-01')", "27 28 29 null -396"),
        (
            "m - interval '7' day <= k and k <= m",
            "true true null null false",
        ),
        ("h - cast(m as date)", "2 0 -60 null null"),
        ("m >= '2024-02-29'", "false true true null false"),
        (
            "case when x > 0 then f else m end",
            "2024-02-28 00:00:00 2024-02-29 00:00:00 2023-12-31 00:00:00 null 2023-01-01 00:00:00",
        ),
        ("date_diff('day', f, h)", "2 0 1 null null"),
        ("datediff('month', f, h)", "1 0 1 null null"),
        ("date_diff('year', f, m)", "0 0 1 null null"),
        ("date_diff('quarter', h, f)", "0 0 -1 null null"),
        ("date_diff('week', f, h)", "0 0 1 null null"),
        ("date_diff('minute', m, k)", "0 -1 null null 0"),
        ("date_diff('hour', f, m)", "10 0 1476 null null"),
        ("last_day(f)", "2024-02-29 2024-02-29 2023-12-31 null null"),
        ("f + null", "null null null null null"),
        (
            "greatest(f, h) + interval '1' day",
            "2024-03-02 2024-03-01 2024-01-02 2024-01-02 null",
        ),
        (
            "date '2024-01-31' + interval '1' month",
            "2024-02-29 2024-02-29 2024-02-29 2024-02-29 2024-02-29",
        ),
    ]);
}

/// Parts of days that are secret, of all kinds of years.
#[test]
fn secret_days() {
    let days = [
        "2024-02-28",
        "2024-02-29",
        "2024-03-01",
        "2023-12-31",
        "2023-02-28",
        "2023-03-01",
        "2000-02-29",
        "2000-12-31",
        "1900-02-28",
        "1900-03-01",
        "1970-01-01",
        "1969-12-31",
        "1600-06-30",
        "0000-02-29",
        "0000-03-01",
        "-0001-12-31",
        "-0100-03-01",
        "2024-07-01",
        "2024-10-01",
        "2024-04-01",
        "2023-06-30",
        "2023-09-30",
        "+5881580-07-11",
        "-5877641-06-23",
        "2100-12-31",
    ];
    let numbered = |day: &str| {
        days.iter()
            .enumerate()
            .map(|(at, own)| format!("{} {}", at, if day.is_empty() { own } else { day }))
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let apart = World::new(2)
        .table(0, "a", "id u8 not null unique, d date not null", &numbered(""))
        .table(
            1,
            "b",
            "id u8 not null unique, e date not null",
            &numbered("-5877641-06-23"),
        );
    let together = World::new(2).table(0, "a", "id u8 not null unique, d date not null", &numbered(""));
    let parts = |of: &str| {
        let parts =
            ["year", "quarter", "month", "day", "doy"].map(|part| format!("extract({part} from {of})"));
        let begins = ["month", "quarter", "year"]
            .map(|unit| format!("case when id <> 23 then date_trunc('{unit}', {of}) end"));
        [parts.as_slice(), &begins].concat().join(", ")
    };
    let secret = apart.ask(&format!(
        "select {} from a join b using (id) order by id",
        parts("greatest(d, e)")
    ));
    let clear = together.ask(&format!("select {} from a order by id", parts("d")));
    assert_eq!(secret, clear);
    assert!(
        clear.starts_with("2024 1 2 28 59 2024-02-01 2024-01-01 2024-01-01 | 2024 1 2 29 60"),
        "{clear}"
    );
    // The first day of that year is no day that 32 bits hold.
    let sql = "select date_trunc('year', greatest(d, e)) from a join b using (id) where id = 23";
    assert_eq!(apart.ask(sql), "no answer");
}

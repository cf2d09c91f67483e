//! Days and moments: the calendar, and how they are read and written.

use cenote_tables::{
    Problem, add_months, civil, days, format_date, format_timestamp, parse_date, parse_timestamp, read_csv,
};

use crate::field;

/// Why a cell of this type is refused.
fn wrong(kind: &str, text: &str) -> Problem {
    let contents = format!("x\n\"{text}\"\n");
    let read = read_csv(contents.as_bytes(), "t", &[field(&format!("x {kind}"))], 1);
    *read.expect_err("it is wrong").problem
}

/// What a [`Problem`] of a day or a moment is called.
fn kind_of(problem: &Problem) -> &'static str {
    match problem {
        Problem::Form(_) => "form",
        Problem::Calendar(_) => "calendar",
        Problem::Places(_) => "places",
        Problem::Range(_) => "range",
        _ => "something else",
    }
}

fn month_days(year: i32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

#[test]
fn days_follow_one_another_as_in_the_calendar() {
    let first = days(-801, 1, 1).unwrap();
    let (mut year, mut month, mut day) = (-801, 1, 1);
    for number in first..first + 4000 * 366 {
        assert_eq!(civil(number), (year, month, day));
        assert_eq!(days(year, month, day), Some(number));
        day += 1;
        if day > month_days(year, month) {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
    let leap = [1600, 2000, 2024, -4, 0].map(|year| days(year, 2, 29).is_some());
    let plain = [1900, 2100, 2023, -1, -100].map(|year| days(year, 2, 29).is_some());
    assert_eq!((leap, plain), ([true; 5], [false; 5]));
}

#[test]
fn days_count_from_1970_as_far_as_32_bits_go() {
    assert_eq!(days(1970, 1, 1), Some(0));
    assert_eq!(days(2000, 3, 1), Some(11_017));
    for number in [i32::MIN, i32::MIN + 1, -1, i32::MAX - 1, i32::MAX] {
        let (year, month, day) = civil(number);
        assert_eq!(days(year, month, day), Some(number));
        assert_eq!(parse_date(&format_date(number.into())), Some(number));
    }
    assert_eq!(format_date(i32::MAX.into()), "+5881580-07-11");
    assert_eq!(days(5_881_580, 7, 12), None);
    for wrong in [
        (2024, 0, 1),
        (2024, 13, 1),
        (2024, 1, 0),
        (2024, 4, 31),
        (i32::MAX, 1, 1),
        (i32::MIN, 12, 31),
    ] {
        assert_eq!(days(wrong.0, wrong.1, wrong.2), None, "{wrong:?}");
    }
}

#[test]
fn a_month_later_is_at_the_end_of_a_shorter_month() {
    let after =
        |from: &str, months| add_months(parse_date(from).unwrap(), months).map(|day| format_date(day.into()));
    for (from, months, to) in [
        ("2024-01-31", 1, "2024-02-29"),
        ("2023-01-31", 1, "2023-02-28"),
        ("2024-02-29", 12, "2025-02-28"),
        ("2024-02-29", -48, "2020-02-29"),
        ("2024-01-15", -1, "2023-12-15"),
        ("2024-12-31", -1, "2024-11-30"),
        ("0000-01-01", -1, "-0001-12-01"),
        ("2024-05-31", 0, "2024-05-31"),
    ] {
        assert_eq!(after(from, months).as_deref(), Some(to), "{from} {months}");
    }
    assert_eq!(add_months(i32::MAX, 1), None);
    assert_eq!(add_months(i32::MIN, -1), None);
    assert_eq!(add_months(0, i32::MAX), None);
}

#[test]
fn moments_are_read_and_written() {
    for (text, micros) in [
        ("1970-01-01 00:00:00", 0),
        ("1969-12-31 23:59:59.999999", -1),
        ("2024-02-29 12:30:05", 1_709_209_805_000_000),
        ("-290308-12-21 19:59:05.224192", i64::MIN),
        ("+294247-01-10 04:00:54.775807", i64::MAX),
    ] {
        assert_eq!(parse_timestamp(text), Some(micros), "{text}");
        assert_eq!(format_timestamp(micros.into()), text);
    }
    assert_eq!(format_timestamp(1 << 70), (1i128 << 70).to_string());
    assert_eq!(format_date(1 << 40), (1i64 << 40).to_string());
    for (text, wrong) in [
        ("2024-01", "form"),
        ("2024-01-31T", "form"),
        ("2024-01-31 1:30", "form"),
        ("2024-01-31 12:30:", "form"),
        ("2024-01-31 12:30:00.", "form"),
        ("2024-01-31 12:30:00.12x", "form"),
        ("2024-01-31 12:30:00,5", "form"),
        ("2024-01-31  12:30", "form"),
        ("2024-01-31t12:30", "form"),
        ("2024-01-31 12:30 Z", "form"),
        ("2024-01-31 12:30+0", "form"),
        ("2024-01-31 12:30+2:00", "form"),
        ("2024-01-31 12:30+24", "form"),
        ("2024-01-31 12:30+02:60", "form"),
        ("2024-01-31 12:30 CET", "form"),
        ("2024-01-31 12:30+02:00Z", "form"),
        ("2024-01-32 12:30", "calendar"),
        ("2024-01-31 24:00", "calendar"),
        ("2024-01-31 12:60", "calendar"),
        ("2024-01-31 12:30:60", "calendar"),
        ("2024-01-31 12:30:00.0000001", "places"),
        ("+294247-01-10 04:00:54.775808", "range"),
        ("-290308-12-21 19:59:05.224191", "range"),
    ] {
        assert_eq!(kind_of(&self::wrong("timestamp", text)), wrong, "{text}");
        assert_eq!(parse_timestamp(text), None, "{text}");
    }
    assert_eq!((parse_timestamp(""), parse_date("")), (None, None));
    for text in [
        "2024",
        "2024-1-31",
        "24-01-31",
        "2024-01-3x",
        "12024-01-31",
        "+12345678-01-31",
        "+24-01-31",
        "--024-01-31",
    ] {
        assert_eq!(kind_of(&wrong("date", text)), "form", "{text}");
        assert_eq!(parse_date(text), None, "{text}");
    }
    assert_eq!(parse_date("2023-02-30"), None);
}

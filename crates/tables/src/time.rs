//! Days and moments: the Gregorian calendar, on into all years that 32 bits of days reach, and the text of both.

use chrono::{Datelike, Months, NaiveDate};

const MICROS_A_SECOND: i64 = 1_000_000;
const MICROS_A_DAY: i64 = 86_400 * MICROS_A_SECOND;

/// Why a text is no day or moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It does not look like one.
    Form,
    /// It looks like one, but there is none such.
    Calendar,
    /// It is finer than a microsecond.
    Places,
    /// It is too far from 1970.
    Range,
    /// It is a moment where a day is asked for.
    Time,
}

/// Days of 400 years, after which the calendar begins anew.
const DAYS_A_ROUND: i64 = 146_097;

/// The day of the first 400 years from 1970 on that is like this one, and how many times 400 years lie between them. The library's years do not
/// reach as far as 32 bits of days do.
fn in_first_round(days: i32) -> (i64, NaiveDate) {
    let days = i64::from(days);
    let (rounds, day) = (days.div_euclid(DAYS_A_ROUND), days.rem_euclid(DAYS_A_ROUND));
    let day = NaiveDate::from_epoch_days(day as i32).expect("the library has the years from 1970 to 2369");
    (rounds, day)
}

/// The day that lies so many times 400 years after `day`; nothing if 32 bits do not hold it.
fn after_rounds(rounds: i64, day: NaiveDate) -> Option<i32> {
    i32::try_from(rounds * DAYS_A_ROUND + i64::from(day.to_epoch_days())).ok()
}

/// Year, month (1 to 12) and day (1 to 31) of a day counted from 1970-01-01.
pub fn civil(days: i32) -> (i32, u32, u32) {
    let (rounds, day) = in_first_round(days);
    (day.year() + 400 * rounds as i32, day.month(), day.day())
}

/// The day counted from 1970-01-01; nothing if no calendar has it or 32 bits do not hold it.
pub fn days(year: i32, month: u32, day: u32) -> Option<i32> {
    let like = NaiveDate::from_ymd_opt(year.rem_euclid(400), month, day)?;
    after_rounds(year.div_euclid(400).into(), like)
}

/// The day so many months later, or earlier if there are less than none. Where that month is too short, its last day: a month after
/// January 31 is February 28 or 29.
pub fn add_months(from: i32, months: i32) -> Option<i32> {
    const MONTHS_A_ROUND: i32 = 400 * 12;
    let (rounds, day) = in_first_round(from);
    let day = day.checked_add_months(Months::new(months.rem_euclid(MONTHS_A_ROUND) as u32))?;
    after_rounds(rounds + i64::from(months.div_euclid(MONTHS_A_ROUND)), day)
}

/// Reads a day, YYYY-MM-DD. Years that do not have four digits need a sign: +12024-01-31, -0044-03-15.
pub fn parse_date(text: &str) -> Option<i32> {
    date(text.as_bytes()).ok()
}

/// Reads a moment, as microseconds since 1970 in UTC: a day as [`parse_date`] takes it, and if wanted a blank or T, HH:MM, :SS, a point with up to
/// six places, and at the end Z, UTC, or how far it is ahead of UTC: +02:00, +0200 or +02. Without that it is in UTC.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    timestamp(text.as_bytes()).ok()
}

/// Writes a day as [`parse_date`] reads it. What is no day is written as the number that it is.
pub fn format_date(days: i128) -> String {
    let Ok(days) = i32::try_from(days) else {
        return days.to_string();
    };
    let (year, month, day) = civil(days);
    match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:+05}-{month:02}-{day:02}"),
    }
}

/// Writes a moment as [`parse_timestamp`] reads it: 2024-01-31 12:30:00, with six places if there is a fraction of a second. What is no
/// moment is written as the number that it is.
pub fn format_timestamp(micros: i128) -> String {
    let Ok(micros) = i64::try_from(micros) else {
        return micros.to_string();
    };
    let day = format_date(micros.div_euclid(MICROS_A_DAY).into());
    let micros = micros.rem_euclid(MICROS_A_DAY);
    let (seconds, fraction) = (micros / MICROS_A_SECOND, micros % MICROS_A_SECOND);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match fraction {
        0 => format!("{day} {hours:02}:{minutes:02}:{seconds:02}"),
        _ => format!("{day} {hours:02}:{minutes:02}:{seconds:02}.{fraction:06}"),
    }
}

pub(crate) fn date(text: &[u8]) -> Result<i32, Wrong> {
    let (sign, year) = match text {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => (1, text),
    };
    let (year, &[b'-', m1, m2, b'-', d1, d2]) = year.split_last_chunk().ok_or(Wrong::Form)? else {
        return Err(Wrong::Form);
    };
    let signed = text.len() > year.len() + 6;
    if year.len() != 4 && !(signed && matches!(year.len(), 5..=7)) {
        return Err(Wrong::Form);
    }
    let number = |digits: &[u8]| {
        digits
            .iter()
            .try_fold(0, |number, &digit| Some(10 * number + digit_of(digit)?))
    };
    let (year, month, day) = (number(year), number(&[m1, m2]), number(&[d1, d2]));
    let (Some(year), Some(month), Some(day)) = (year, month, day) else {
        return Err(Wrong::Form);
    };
    days(sign * year as i32, month, day).ok_or(Wrong::Calendar)
}

fn digit_of(byte: u8) -> Option<u32> {
    byte.is_ascii_digit().then(|| u32::from(byte - b'0'))
}

/// What stands for UTC at the end of a moment.
const UTC: [&[u8]; 4] = [b"Z", b"z", b" UTC", b" GMT"];

/// A day of a column of days, which may also be written as the moment at which it begins.
pub(crate) fn date_or_midnight(text: &[u8]) -> Result<i32, Wrong> {
    match date(text) {
        Err(Wrong::Form) => match timestamp(text)? {
            micros if micros % MICROS_A_DAY == 0 => Ok((micros / MICROS_A_DAY) as i32),
            _ => Err(Wrong::Time),
        },
        found => found,
    }
}

pub(crate) fn timestamp(text: &[u8]) -> Result<i64, Wrong> {
    let Some(middle) = text.iter().position(|byte| matches!(byte, b' ' | b'T')) else {
        let day = i64::from(date(text)?);
        return day.checked_mul(MICROS_A_DAY).ok_or(Wrong::Range);
    };
    let (day, time) = (&text[..middle], &text[middle + 1..]);
    let (time, offset) = zone(time)?;
    let digit = |byte: u8| digit_of(byte).ok_or(Wrong::Form);
    let pair = |tens: u8, ones: u8| Ok(10 * digit(tens)? + digit(ones)?);
    let (hours, minutes, seconds, fraction) = match *time {
        [h1, h2, b':', m1, m2] => (pair(h1, h2)?, pair(m1, m2)?, 0, &[][..]),
        [h1, h2, b':', m1, m2, b':', s1, s2] => (pair(h1, h2)?, pair(m1, m2)?, pair(s1, s2)?, &[][..]),
        [h1, h2, b':', m1, m2, b':', s1, s2, b'.', ref rest @ ..] if !rest.is_empty() => {
            (pair(h1, h2)?, pair(m1, m2)?, pair(s1, s2)?, rest)
        }
        _ => return Err(Wrong::Form),
    };
    let mut micros = 0;
    let mut finer = false;
    for place in 0..fraction.len().max(6) {
        let digit = fraction.get(place).map_or(Ok(0), |&byte| digit(byte))?;
        match place {
            0..6 => micros = 10 * micros + i64::from(digit),
            _ => finer |= digit != 0,
        }
    }
    let day = date(day)?;
    if hours > 23 || minutes > 59 || seconds > 59 {
        return Err(Wrong::Calendar);
    }
    if finer {
        return Err(Wrong::Places);
    }
    // The first moment that 64 bits hold is on a day that begins before it.
    let seconds = i128::from(3600 * hours + 60 * minutes + seconds) - i128::from(offset);
    let whole = i128::from(day) * i128::from(MICROS_A_DAY) + seconds * i128::from(MICROS_A_SECOND);
    i64::try_from(whole + i128::from(micros)).map_err(|_| Wrong::Range)
}

/// A time without the zone at its end, and how many seconds that is ahead of UTC.
fn zone(time: &[u8]) -> Result<(&[u8], i32), Wrong> {
    if let Some(time) = UTC.iter().find_map(|zone| time.strip_suffix(*zone)) {
        return Ok((time, 0));
    }
    let Some(at) = time.iter().position(|byte| matches!(byte, b'+' | b'-')) else {
        return Ok((time, 0));
    };
    let (time, offset) = time.split_at(at);
    let pair = |tens: u8, ones: u8| Some(10 * digit_of(tens)? + digit_of(ones)?);
    let (hours, minutes) = match *offset {
        [_, h1, h2] => (pair(h1, h2), Some(0)),
        [_, h1, h2, m1, m2] | [_, h1, h2, b':', m1, m2] => (pair(h1, h2), pair(m1, m2)),
        _ => return Err(Wrong::Form),
    };
    match (hours, minutes) {
        (Some(hours @ 0..=23), Some(minutes @ 0..=59)) => {
            let ahead = (3600 * hours + 60 * minutes) as i32;
            Ok((time, if offset[0] == b'-' { -ahead } else { ahead }))
        }
        _ => Err(Wrong::Form),
    }
}

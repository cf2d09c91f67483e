//! Days and moments: the Gregorian calendar, on into all years that 32 bits of days reach, and the text of both.

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
}

/// Year, month (1 to 12) and day (1 to 31) of a day counted from 1970-01-01.
pub fn civil(days: i32) -> (i32, u32, u32) {
    // Years begin in March here, so that the day that not all years have comes last; an era is 400 years.
    let days = i64::from(days) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    ((400 * era + year + next) as i32, month as u32, day as u32)
}

/// The day counted from 1970-01-01; nothing if no calendar has it or 32 bits do not hold it.
pub fn days(year: i32, month: u32, day: u32) -> Option<i32> {
    if !(1..=12).contains(&month) || day == 0 || day > month_days(year, month) {
        return None;
    }
    let (month, day) = (i64::from(month), i64::from(day));
    let year = i64::from(year) - i64::from(month <= 2);
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = 365 * year + year / 4 - year / 100 + of_year;
    i32::try_from(era * 146_097 + of_era - 719_468).ok()
}

fn month_days(year: i32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The day so many months later, or earlier if there are less than none. Where that month is too short, its last day: a month after
/// January 31 is February 28 or 29.
pub fn add_months(from: i32, months: i32) -> Option<i32> {
    let (year, month, day) = civil(from);
    let months = i64::from(year) * 12 + i64::from(month) - 1 + i64::from(months);
    let year = i32::try_from(months.div_euclid(12)).ok()?;
    let month = months.rem_euclid(12) as u32 + 1;
    days(year, month, day.min(month_days(year, month)))
}

/// Reads a day, YYYY-MM-DD. Years that do not have four digits need a sign: +12024-01-31, -0044-03-15.
pub fn parse_date(text: &str) -> Option<i32> {
    date(text.as_bytes()).ok()
}

/// Reads a moment in UTC, as microseconds since 1970: a day as [`parse_date`] takes it, a blank or T, HH:MM, and if wanted :SS, a point
/// with up to six places, and Z or +00:00 at the end.
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

pub(crate) fn timestamp(text: &[u8]) -> Result<i64, Wrong> {
    let text = [&b"Z"[..], b"+00:00"]
        .iter()
        .find_map(|zone| text.strip_suffix(*zone))
        .unwrap_or(text);
    let middle = text
        .iter()
        .position(|byte| matches!(byte, b' ' | b'T'))
        .ok_or(Wrong::Form)?;
    let (day, time) = (&text[..middle], &text[middle + 1..]);
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
    let seconds = i128::from(3600 * hours + 60 * minutes + seconds);
    let whole = i128::from(day) * i128::from(MICROS_A_DAY) + seconds * i128::from(MICROS_A_SECOND);
    i64::try_from(whole + i128::from(micros)).map_err(|_| Wrong::Range)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let after = |from: &str, months| {
            add_months(parse_date(from).unwrap(), months).map(|day| format_date(day.into()))
        };
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
            ("", Wrong::Form),
            ("2024-01-31", Wrong::Form),
            ("2024-01-31 ", Wrong::Form),
            ("2024-01-31 1:30", Wrong::Form),
            ("2024-01-31 12:30:", Wrong::Form),
            ("2024-01-31 12:30:00.", Wrong::Form),
            ("2024-01-31 12:30:00.12x", Wrong::Form),
            ("2024-01-31 12:30:00,5", Wrong::Form),
            ("2024-01-31  12:30", Wrong::Form),
            ("2024-01-31t12:30", Wrong::Form),
            ("2024-01-31 12:30 Z", Wrong::Form),
            ("2024-01-31 12:30-00:00", Wrong::Form),
            ("2024-01-32 12:30", Wrong::Calendar),
            ("2024-01-31 24:00", Wrong::Calendar),
            ("2024-01-31 12:60", Wrong::Calendar),
            ("2024-01-31 12:30:60", Wrong::Calendar),
            ("2024-01-31 12:30:00.0000001", Wrong::Places),
            ("+294247-01-10 04:00:54.775808", Wrong::Range),
            ("-290308-12-21 19:59:05.224191", Wrong::Range),
        ] {
            assert_eq!(timestamp(text.as_bytes()), Err(wrong), "{text}");
        }
        for text in [
            "",
            "2024",
            "2024-1-31",
            "24-01-31",
            "2024-01-3x",
            "12024-01-31",
            "+12345678-01-31",
            "+24-01-31",
            "--024-01-31",
        ] {
            assert_eq!(date(text.as_bytes()), Err(Wrong::Form), "{text}");
        }
        assert_eq!(parse_date("2023-02-30"), None);
    }
}

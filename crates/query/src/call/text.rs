//! Functions of texts. They count characters, and not bytes.

use cenote_tables::{format_date, format_timestamp, ten_to};

use super::{Value, bounds, bytes};
use crate::kind::ValueKind;

/// Each character in upper case, if that is one character.
pub(super) fn upper(text: &str) -> String {
    text.chars()
        .map(|char| alone(char, char.to_uppercase()))
        .collect()
}

/// Each character in lower case, if that is one character.
pub(super) fn lower(text: &str) -> String {
    text.chars().map(lower_char).collect()
}

pub(super) fn lower_char(char: char) -> char {
    alone(char, char.to_lowercase())
}

fn alone(char: char, mut other: impl Iterator<Item = char>) -> char {
    match (other.next(), other.next()) {
        (Some(one), None) => one,
        _ => char,
    }
}

/// The characters from a place on. Places before the first count too: of 'abc' from 0 two characters are 'a'.
pub(super) fn slice(text: &str, from: i128, count: Option<i128>) -> String {
    let first = from.max(1);
    let end = count.map_or(i128::MAX, |count| from.saturating_add(count.max(0)));
    let within = |(place, _): &(i128, char)| *place >= first && *place < end;
    (1..)
        .zip(text.chars())
        .filter(within)
        .map(|(_, char)| char)
        .collect()
}

fn characters(text: &str) -> i128 {
    text.chars().count() as i128
}

/// So many of the first characters; with a number below zero, all but so many of the last.
pub(super) fn left(text: &str, count: i128) -> String {
    let count = if count < 0 {
        characters(text).saturating_add(count)
    } else {
        count
    };
    slice(text, 1, Some(count))
}

/// So many of the last characters; with a number below zero, all but so many of the first.
pub(super) fn right(text: &str, count: i128) -> String {
    let skipped = if count < 0 {
        count.saturating_neg()
    } else {
        characters(text).saturating_sub(count)
    };
    slice(text, skipped.max(0).saturating_add(1), None)
}

/// Without these characters at its ends.
pub(super) fn trimmed(text: &str, those: &str, start: bool, end: bool) -> String {
    let is_one = |char: char| those.contains(char);
    let text = if start {
        text.trim_start_matches(is_one)
    } else {
        text
    };
    let text = if end { text.trim_end_matches(is_one) } else { text };
    text.to_owned()
}

pub(super) fn replaced(text: &str, old: &str, new: &str) -> String {
    match old.is_empty() {
        true => text.to_owned(),
        false => text.replace(old, new),
    }
}

/// Where `part` first occurs, from 1 on; 0 if it does not.
pub(super) fn position(part: &str, text: &str) -> i128 {
    text.find(part).map_or(0, |at| characters(&text[..at]) + 1)
}

/// The text with so many characters: cut at its end, or filled up with another.
pub(super) fn padded(text: &str, count: i128, with: &str, start: bool) -> String {
    // What is longer does not fit into any text.
    let count = count.clamp(0, 1024);
    let missing = count - characters(text);
    if missing <= 0 || with.is_empty() {
        return slice(text, 1, Some(count));
    }
    let more: String = with.chars().cycle().take(missing as usize).collect();
    if start {
        more + text
    } else {
        text.to_owned() + &more
    }
}

/// Bytes of the longest value of a kind, as it is written.
pub(super) fn written(kind: ValueKind) -> usize {
    let (least, most) = bounds(kind);
    let longer = |of: &dyn Fn(i128) -> String| of(least).len().max(of(most).len());
    match kind {
        ValueKind::Text(_) => bytes(kind),
        ValueKind::Bool => "false".len(),
        // The first and the last have the longest years.
        ValueKind::Timestamp => longer(&format_timestamp) + ".000000".len(),
        _ => longer(&|number| shown(&Value::Number(number), kind)),
    }
}

/// A value as it is written.
pub(super) fn shown(value: &Value, kind: ValueKind) -> String {
    let number = match value {
        Value::Text(text) => return text.clone(),
        Value::Number(number) => *number,
    };
    match kind {
        ValueKind::Bool => (number == 1).to_string(),
        ValueKind::Date => format_date(number),
        ValueKind::Timestamp => {
            let text = format_timestamp(number);
            match text.contains('.') {
                true => text.trim_end_matches('0').to_owned(),
                false => text,
            }
        }
        _ => match kind.scale() {
            0 => number.to_string(),
            scale => {
                let (unit, places) = (ten_to(scale), usize::from(scale));
                let (whole, rest) = (number.unsigned_abs() / unit, number.unsigned_abs() % unit);
                let sign = if number < 0 { "-" } else { "" };
                format!("{sign}{whole}.{rest:0places$}")
            }
        },
    }
}

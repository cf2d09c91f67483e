//! Numbers, days and moments as text.

use std::borrow::Cow;

use crate::error::Problem;
use crate::table::{Column, Field, Values};
use crate::time::{self, Wrong, format_date, format_timestamp};
use crate::types::{Type, ten_to};

/// The text of the cell in this place, as a CSV file has it but for quotes: nothing for null. Bytes that are no UTF-8 are replaced.
///
/// A bool is `true` or `false`, a decimal has all of its places, a timestamp is in UTC.
pub fn cell(column: &Column, field: &Field, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match &column.values {
        Values::Numbers(numbers) => format_value(field.kind, numbers.get(row)),
        Values::Text(width, bytes) => shown(text_of(*width, bytes, row)).into_owned(),
    }
}

/// The number as its type is written: what [`parse_value`] reads.
pub fn format_value(kind: Type, number: i128) -> String {
    match kind {
        Type::Bool => (if number == 0 { "false" } else { "true" }).into(),
        Type::Decimal { scale: 1.., .. } => {
            let places = places(kind);
            let digits = format!("{:0least$}", number.unsigned_abs(), least = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            let sign = if number < 0 { "-" } else { "" };
            format!("{sign}{whole}.{fraction}")
        }
        Type::Date => format_date(number),
        Type::Timestamp => format_timestamp(number),
        Type::Int { .. } | Type::Decimal { .. } | Type::Char(_) => number.to_string(),
    }
}

/// The text in this place, without the zero bytes that fill it up.
pub(crate) fn text_of(width: usize, bytes: &[u8], row: usize) -> &[u8] {
    let text = &bytes[row * width..][..width];
    let length = text
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    &text[..length]
}

/// Text with whatever no text has replaced: bytes that are no UTF-8, and zeros.
pub(crate) fn shown(text: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(text) {
        text if text.contains('\0') => Cow::Owned(text.replace('\0', "\u{fffd}")),
        text => text,
    }
}

/// Places behind the point.
pub(crate) fn places(kind: Type) -> usize {
    match kind {
        Type::Decimal { scale, .. } => scale.into(),
        Type::Timestamp => 6,
        _ => 0,
    }
}

/// The number that stands for a value of this type, as CSV files have it; nothing if the text is no such value.
pub fn parse_value(kind: Type, text: &str) -> Option<i128> {
    let (least, most) = kind.range()?;
    let number = parse(kind, text.as_bytes()).ok()??;
    (least..=most).contains(&number).then_some(number)
}

/// Reads what is no text. Blanks around it do not count; nothing is null. That it is in the range of its type is left to the caller.
pub(crate) fn parse(kind: Type, text: &[u8]) -> Result<Option<i128>, Problem> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Ok(None);
    }
    let number = match kind {
        Type::Bool => truth(text),
        Type::Int { .. } => decimal(text, 0),
        Type::Decimal { scale, .. } => decimal(text, scale),
        Type::Date => time::date_or_midnight(text).map(i128::from),
        Type::Timestamp => time::timestamp(text).map(i128::from),
        Type::Char(_) => Err(Wrong::Form),
    };
    number.map(Some).map_err(|wrong| match wrong {
        Wrong::Form => Problem::Form(kind),
        Wrong::Calendar => Problem::Calendar(kind),
        Wrong::Places => Problem::Places(kind),
        Wrong::Range => Problem::Range(kind),
        Wrong::Time => Problem::NotMidnight,
    })
}

fn truth(text: &[u8]) -> Result<i128, Wrong> {
    let is = |words: [&str; 4]| {
        words
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
    };
    match (is(["true", "t", "yes", "1"]), is(["false", "f", "no", "0"])) {
        (true, _) => Ok(1),
        (_, true) => Ok(0),
        _ => Err(Wrong::Form),
    }
}

/// The furthest that an exponent may move the point.
const MAX_EXPONENT: i32 = 400;

/// Reads digits with an optional sign, point and exponent, as a whole number of the last of `scale` places.
fn decimal(text: &[u8], scale: u8) -> Result<i128, Wrong> {
    match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        None => plain(text, scale),
        Some(at) => plain(
            &without_exponent(&text[..at], &text[at + 1..]).ok_or(Wrong::Form)?,
            scale,
        ),
    }
}

/// A number whose point is moved to where its exponent says; nothing if one of them is no number.
fn without_exponent(number: &[u8], exponent: &[u8]) -> Option<Vec<u8>> {
    let exponent: i32 = std::str::from_utf8(exponent).ok()?.parse().ok()?;
    let exponent = exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT);
    let sign = number
        .iter()
        .take_while(|byte| matches!(byte, b'+' | b'-'))
        .count();
    let (sign, number) = number.split_at(sign);
    let point = number
        .iter()
        .position(|&byte| byte == b'.')
        .unwrap_or(number.len());
    let mut digits: Vec<u8> = number.to_vec();
    if point < digits.len() {
        digits.remove(point);
    }
    if digits.is_empty() {
        return None;
    }
    let point = i32::try_from(point).ok()? + exponent;
    let before = usize::try_from(-point).unwrap_or(0);
    digits.splice(0..0, std::iter::repeat_n(b'0', before));
    let point = usize::try_from(point).unwrap_or(0);
    digits.resize(digits.len().max(point), b'0');
    digits.insert(point, b'.');
    Some([sign, &digits].concat())
}

/// Reads digits with an optional sign and point.
fn plain(text: &[u8], scale: u8) -> Result<i128, Wrong> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let mut value = Digits::default();
    let (mut any, mut point, mut places, mut finer) = (false, false, 0, false);
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                any = true;
                match point && places == scale {
                    true => finer |= byte != b'0',
                    false => {
                        places += u8::from(point);
                        value.push(byte - b'0');
                    }
                }
            }
            b'.' if !point => point = true,
            _ => return Err(Wrong::Form),
        }
    }
    if !any {
        return Err(Wrong::Form);
    }
    if finer {
        return Err(Wrong::Places);
    }
    let fill = ten_to(scale - places);
    let value = value
        .total()
        .and_then(|value| value.checked_mul(fill))
        .and_then(|value| i128::try_from(value).ok());
    value
        .map(|value| if negative { -value } else { value })
        .ok_or(Wrong::Range)
}

/// A number of which digit after digit comes in, gathered in 64 bits as far as it goes.
struct Digits {
    /// What came before, if it still fits.
    high: Option<u128>,
    low: u64,
    /// Ten to how many digits `low` has.
    unit: u64,
}

impl Default for Digits {
    fn default() -> Self {
        Digits {
            high: Some(0),
            low: 0,
            unit: 1,
        }
    }
}

impl Digits {
    fn push(&mut self, digit: u8) {
        self.low = 10 * self.low + u64::from(digit);
        self.unit *= 10;
        if self.unit == 10u64.pow(18) {
            *self = Digits {
                high: self.total(),
                ..Digits::default()
            };
        }
    }

    fn total(&self) -> Option<u128> {
        self.high?
            .checked_mul(self.unit.into())?
            .checked_add(self.low.into())
    }
}

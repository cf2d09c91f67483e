//! Constants as they are written.

use cenote_tables::{MAX_CHARS, Type, add_months, parse_date, parse_timestamp};
use sqlparser::ast::{self, Spanned, UnaryOperator, Value};

use super::scope::place;
use crate::error::{Error, Result};
use crate::expr::{Expr, Node, ValueKind};

const MICROSECONDS: i128 = 1_000_000;
const SECONDS_OF_DAY: i128 = 86_400;

/// The constant that `value` is.
pub(super) fn constant(value: &ast::ValueWithSpan) -> Result<Expr> {
    let at = place(value.span);
    match &value.value {
        Value::Number(digits, _) => number(digits).ok_or_else(|| {
            Error::query(
                at,
                format!("{digits} is not a number of at most 38 digits; write digits and at most one point"),
            )
        }),
        Value::SingleQuotedString(text) => self::text(text).map_err(|what| Error::query(at, what)),
        Value::Boolean(value) => Ok(Expr::bool(*value)),
        Value::Null => Ok(Expr::null(ValueKind::Bool)),
        Value::DoubleQuotedString(_) => Err(Error::query(at, "write text in single quotes: 'text'")),
        Value::Placeholder(_) => Err(Error::query(
            at,
            "parameters are not supported; write the value itself",
        )),
        _ => Err(Error::query(
            at,
            "this kind of constant is not supported; use a number, 'text', date 'YYYY-MM-DD', true, false or null",
        )),
    }
}

/// A number with the places that it is written with.
fn number(digits: &str) -> Option<Expr> {
    let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + places.len() > 38 {
        return None;
    }
    let value = format!("0{whole}{places}").parse().ok()?;
    Some(Expr::number(value, places.len() as u8))
}

fn text(text: &str) -> std::result::Result<Expr, String> {
    if text.len() > MAX_CHARS.into() {
        return Err(format!("text may be at most {MAX_CHARS} bytes long"));
    }
    if text.contains('\0') {
        return Err("text must not contain a zero byte".into());
    }
    let kind = ValueKind::Text(text.len().max(1) as u16);
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(text.len().max(1), 0);
    Ok(Expr::constant(Node::Text(bytes), kind))
}

/// A constant with its type before it.
pub(super) fn typed(string: &ast::TypedString) -> Result<Expr> {
    let at = place(string.value.span);
    let kind = match string.data_type {
        ast::DataType::Date => Type::Date,
        ast::DataType::Timestamp(..) | ast::DataType::Datetime(_) => Type::Timestamp,
        _ => {
            let what = "only date or timestamp can stand before text, such as date '2024-02-29'";
            return Err(Error::query(at, what));
        }
    };
    let text = string.value.value.clone().into_string().unwrap_or_default();
    moment(&text, kind).ok_or_else(|| Error::query(at, no_moment(kind)))
}

fn no_moment(kind: Type) -> &'static str {
    match kind {
        Type::Date => "this is not a date; write it as 'YYYY-MM-DD', such as '2024-02-29'",
        _ => "this is not a timestamp; write it as 'YYYY-MM-DD HH:MM:SS', in UTC",
    }
}

fn moment(text: &str, kind: Type) -> Option<Expr> {
    match kind {
        Type::Date => Some(Expr::constant(
            Node::Number(parse_date(text)?.into()),
            ValueKind::Date,
        )),
        _ => Some(Expr::constant(
            Node::Number(parse_timestamp(text)?.into()),
            ValueKind::Timestamp,
        )),
    }
}

/// Text that meets a date or a timestamp is one; a date that meets a timestamp is its beginning.
pub(super) fn meeting(x: Expr, y: Expr) -> std::result::Result<(Expr, Expr), &'static str> {
    let read = |x: Expr, y: &Expr| -> std::result::Result<Expr, &'static str> {
        let kind = match y.kind {
            ValueKind::Date => Type::Date,
            ValueKind::Timestamp => Type::Timestamp,
            _ => return Ok(x),
        };
        match (&x.node, x.kind) {
            (Node::Null, _) => Ok(Expr::null(y.kind)),
            (Node::Text(bytes), _) => {
                let text = String::from_utf8_lossy(bytes);
                moment(text.trim_end_matches('\0'), kind).ok_or_else(|| no_moment(kind))
            }
            (Node::Number(days), ValueKind::Date) if kind == Type::Timestamp => {
                let moment = days * SECONDS_OF_DAY * MICROSECONDS;
                in_range(moment, ValueKind::Timestamp).ok_or("this date is outside the range of timestamps")
            }
            _ => Ok(x),
        }
    };
    let first = read(x, &y)?;
    let second = read(y, &first)?;
    Ok(match (&first.node, &second.node) {
        (Node::Null, _) => (Expr::null(second.kind), second),
        (_, Node::Null) => {
            let kind = first.kind;
            (first, Expr::null(kind))
        }
        _ => (first, second),
    })
}

/// A constant date or timestamp that is so much later, or earlier.
pub(super) fn later(moment: &Expr, interval: &ast::Interval, sign: i64) -> Result<Expr> {
    let at = place(interval.value.span());
    let value = match (&moment.node, moment.kind) {
        (Node::Number(value), ValueKind::Date | ValueKind::Timestamp) => *value,
        _ => {
            let what =
                "an interval can be added to a constant date only: date '1994-01-01' + interval '1' year";
            return Err(Error::query(at, what));
        }
    };
    let distance = distance(interval, sign).ok_or_else(|| {
        Error::query(
            at,
            "write an interval as a whole number and a unit: interval '3' month",
        )
    })?;
    let moved = match (distance, moment.kind) {
        (Distance::Seconds(_), ValueKind::Date) => {
            let what = "only whole days can be added to a date; write timestamp '…' to add hours";
            return Err(Error::query(at, what));
        }
        (Distance::Seconds(seconds), _) => Some(value + i128::from(seconds) * MICROSECONDS),
        (distance, ValueKind::Date) => distance.in_days(value),
        (distance, _) => {
            let day = SECONDS_OF_DAY * MICROSECONDS;
            let moved = distance.in_days(value.div_euclid(day));
            moved.map(|days| days * day + value.rem_euclid(day))
        }
    };
    moved
        .and_then(|moved| in_range(moved, moment.kind))
        .ok_or_else(|| Error::query(at, "this interval leads outside the range of dates"))
}

/// How long an interval is. Months and days are no fixed numbers of seconds to a calendar.
#[derive(Clone, Copy)]
enum Distance {
    Months(i64),
    Days(i64),
    Seconds(i64),
}

impl Distance {
    /// The day that is as much later as whole days or months say.
    fn in_days(self, day: i128) -> Option<i128> {
        match self {
            Distance::Months(months) => {
                let day = i32::try_from(day).ok()?;
                add_months(day, i32::try_from(months).ok()?).map(i128::from)
            }
            Distance::Days(days) => Some(day + i128::from(days)),
            Distance::Seconds(_) => None,
        }
    }
}

/// The distance that an interval is, if it is one.
fn distance(interval: &ast::Interval, sign: i64) -> Option<Distance> {
    let (text, negative) = amount(&interval.value)?;
    let mut words = text.split_whitespace();
    let count: i64 = words.next()?.parse().ok()?;
    let unit = match (&interval.leading_field, words.next()) {
        (Some(field), None) => field.to_string(),
        (None, Some(unit)) => unit.to_owned(),
        _ => return None,
    };
    let count = count.checked_mul(if negative { -sign } else { sign })?;
    let unit = unit.to_ascii_lowercase();
    Some(match unit.strip_suffix('s').unwrap_or(&unit) {
        "year" => Distance::Months(count.saturating_mul(12)),
        "month" => Distance::Months(count),
        "week" => Distance::Days(count.saturating_mul(7)),
        "day" => Distance::Days(count),
        "hour" => Distance::Seconds(count.saturating_mul(3600)),
        "minute" => Distance::Seconds(count.saturating_mul(60)),
        "second" => Distance::Seconds(count),
        _ => return None,
    })
}

fn in_range(value: i128, kind: ValueKind) -> Option<Expr> {
    let (least, most) = kind.range()?;
    (least..=most)
        .contains(&value)
        .then(|| Expr::constant(Node::Number(value), kind))
}

/// The text of an interval, and whether it is negated.
fn amount(value: &ast::Expr) -> Option<(String, bool)> {
    match value {
        ast::Expr::Value(value) => match &value.value {
            Value::Number(text, _) | Value::SingleQuotedString(text) => Some((text.clone(), false)),
            _ => None,
        },
        ast::Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => amount(expr).map(|(text, sign)| (text, !sign)),
        _ => None,
    }
}

/// The type that a cast names.
pub(super) fn named(kind: &ast::DataType) -> Option<Type> {
    use ast::DataType as D;
    let text = match kind {
        D::Date => "date".to_owned(),
        D::Timestamp(..) | D::Datetime(_) => "timestamp".into(),
        D::Bool | D::Boolean => "bool".into(),
        D::TinyInt(_) => "i8".into(),
        D::SmallInt(_) | D::Int2(_) => "i16".into(),
        D::Int(_) | D::Integer(_) | D::Int4(_) => "i32".into(),
        D::BigInt(_) | D::Int8(_) => "i64".into(),
        other => other
            .to_string()
            .to_ascii_lowercase()
            .replace("numeric", "decimal"),
    };
    text.parse().ok()
}

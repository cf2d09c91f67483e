//! Constants as they are written.

use cenote_tables::{MAX_CHARS, Type, parse_date, parse_timestamp};
use sqlparser::ast::{self, Value};

use super::expression::negative;
use super::moment::{DAY, to_timestamp};
use super::scope::place;
use crate::error::{Error, Result};
use crate::expr::{Expr, Node, ValueKind};

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
            "there is no such parameter; write it as :name, and declare it under [parameters] of the job, such as name = \"u32\"",
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

/// A number that may have a sign.
fn signed_number(text: &str) -> Option<Expr> {
    match text.strip_prefix('-') {
        Some(digits) => number(digits).map(negative),
        None => number(text),
    }
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
    moment(&text, kind).ok_or_else(|| Error::query(at, no_moment(kind).unwrap_or_default()))
}

/// What is said of text that is no date or timestamp.
pub(super) fn no_moment(kind: Type) -> Option<&'static str> {
    match kind {
        Type::Date => Some("this is not a date; write it as 'YYYY-MM-DD', such as '2024-02-29'"),
        Type::Timestamp => Some("this is not a timestamp; write it as 'YYYY-MM-DD HH:MM:SS', in UTC"),
        _ => None,
    }
}

fn moment(text: &str, kind: Type) -> Option<Expr> {
    match kind {
        Type::Date => Some(Expr::constant(
            Node::Number(parse_date(text)?.into()),
            ValueKind::Date,
        )),
        _ => {
            let whole_day = || Some(i128::from(parse_date(text)?) * DAY);
            in_range(
                parse_timestamp(text).map(i128::from).or_else(whole_day)?,
                ValueKind::Timestamp,
            )
        }
    }
}

/// Constant text that meets a date, a timestamp or a number is one; a date that meets a timestamp is its beginning.
pub(super) fn meeting(x: Expr, y: Expr) -> std::result::Result<(Expr, Expr), &'static str> {
    let read = |x: Expr, y: &Expr| -> std::result::Result<Expr, &'static str> {
        let kind = match (y.kind, &x.node) {
            (ValueKind::Date, _) => Type::Date,
            (ValueKind::Timestamp, _) => Type::Timestamp,
            (ValueKind::Number { .. }, Node::Text(bytes)) => {
                let text = String::from_utf8_lossy(bytes);
                return Ok(signed_number(text.trim_matches([' ', '\0'])).unwrap_or(x));
            }
            _ => return Ok(x),
        };
        match (&x.node, x.kind) {
            (Node::Null, _) => Ok(Expr::null(y.kind)),
            (Node::Text(bytes), _) => {
                let text = String::from_utf8_lossy(bytes);
                moment(text.trim_end_matches('\0'), kind).ok_or_else(|| no_moment(kind).unwrap_or_default())
            }
            (Node::Number(days), ValueKind::Date) if kind == Type::Timestamp => {
                in_range(days * DAY, ValueKind::Timestamp)
                    .ok_or("this date is outside the range of timestamps")
            }
            (_, ValueKind::Date) if kind == Type::Timestamp => Ok(to_timestamp(x)),
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

fn in_range(value: i128, kind: ValueKind) -> Option<Expr> {
    let (least, most) = kind.range()?;
    (least..=most)
        .contains(&value)
        .then(|| Expr::constant(Node::Number(value), kind))
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

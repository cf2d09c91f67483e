//! Intervals as they are written.

use sqlparser::ast::{self, Spanned, UnaryOperator, Value};

use super::scope::place;
use crate::error::{Error, Result};

/// How long an interval is. Months are no fixed number of days to a calendar.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Distance {
    pub(super) months: i64,
    pub(super) days: i64,
    pub(super) micros: i64,
}

/// The distance that an interval is, or its opposite if `sign` is -1.
pub(super) fn distance(interval: &ast::Interval, sign: i64) -> Result<Distance> {
    read(interval, sign).ok_or_else(|| {
        Error::query(
            place(interval.value.span()),
            "write an interval as whole numbers and units: interval '3' month, or interval '1 day 12 hours'",
        )
    })
}

fn read(interval: &ast::Interval, sign: i64) -> Option<Distance> {
    let (text, negative) = amount(&interval.value)?;
    let sign = if negative { -sign } else { sign };
    let mut words = text.split_whitespace();
    let mut all = Distance::default();
    if let Some(field) = &interval.leading_field {
        all.add(words.next()?, &field.to_string(), sign)?;
        return words.next().is_none().then_some(all);
    }
    let first = words.next()?;
    all.add(first, words.next()?, sign)?;
    while let Some(count) = words.next() {
        all.add(count, words.next()?, sign)?;
    }
    Some(all)
}

impl Distance {
    fn add(&mut self, count: &str, unit: &str, sign: i64) -> Option<()> {
        let count: i64 = count.parse().ok()?;
        let unit = unit.to_ascii_lowercase();
        let (part, size) = match unit.strip_suffix('s').unwrap_or(&unit) {
            "year" => (&mut self.months, 12),
            "quarter" => (&mut self.months, 3),
            "month" => (&mut self.months, 1),
            "week" => (&mut self.days, 7),
            "day" => (&mut self.days, 1),
            "hour" => (&mut self.micros, 3_600_000_000),
            "minute" => (&mut self.micros, 60_000_000),
            "second" => (&mut self.micros, 1_000_000),
            "millisecond" => (&mut self.micros, 1000),
            "microsecond" => (&mut self.micros, 1),
            _ => return None,
        };
        *part = part.checked_add(count.checked_mul(size)?.checked_mul(sign)?)?;
        Some(())
    }
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

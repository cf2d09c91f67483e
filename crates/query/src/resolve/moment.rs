//! Dates and timestamps: their parts, what is so much later, and how long it is from one to another.

use sqlparser::ast::{self, DateTimeField, Spanned};

use super::expression::{Context, at};
use super::interval::{Distance, distance};
use super::scope::place;
use crate::call::{Call, Named, Part, Period};
use crate::error::{Error, Place, Result};
use crate::expr::{Arithmetic, Expr, Node, ValueKind};

const SECOND: i128 = 1_000_000;
const MINUTE: i128 = 60 * SECOND;
const HOUR: i128 = 60 * MINUTE;
pub(super) const DAY: i128 = 24 * HOUR;

/// The first moment of a date.
pub(super) fn to_timestamp(x: Expr) -> Expr {
    match x.kind {
        ValueKind::Date => times(x, DAY).within(ValueKind::Timestamp),
        _ => x,
    }
}

/// The date of a moment.
pub(super) fn to_date(x: Expr) -> Expr {
    match x.kind {
        ValueKind::Timestamp => divided(x, DAY).within(ValueKind::Date),
        _ => x,
    }
}

fn times(x: Expr, factor: i128) -> Expr {
    Expr::arithmetic(Arithmetic::Multiply, x, Expr::number(factor, 0))
}

fn plus(x: Expr, number: i128) -> Expr {
    match number {
        0 => x,
        _ => Expr::arithmetic(Arithmetic::Add, x, Expr::number(number, 0)),
    }
}

/// A whole number, or what stands for one, and how many units its least value is below zero.
fn raised(x: Expr, unit: i128) -> (Expr, i128) {
    let (least, _) = x.kind.range().unwrap_or_default();
    let units = least.div_euclid(unit).min(0);
    (plus(x, -units * unit), units)
}

/// How many whole units it is, cut towards what is less.
fn divided(x: Expr, unit: i128) -> Expr {
    let (x, units) = raised(x, unit);
    let quotient = Expr::arithmetic(Arithmetic::Divide { rounded: false }, x, Expr::number(unit, 0));
    plus(quotient, units)
}

/// What is left of it behind the last whole unit; not below zero.
fn rest(x: Expr, unit: i128) -> Expr {
    Expr::arithmetic(Arithmetic::Remainder, raised(x, unit).0, Expr::number(unit, 0))
}

/// Microseconds as seconds with six places.
fn seconds(micros: Expr) -> Expr {
    let mut seconds = Expr::arithmetic(Arithmetic::Add, micros, Expr::number(0, 0));
    if let ValueKind::Number { scale, .. } = &mut seconds.kind {
        *scale = 6;
    }
    seconds
}

/// The name of a part or a unit, as DATE_PART and DATE_TRUNC take it.
pub(super) fn unit_name(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text.to_ascii_lowercase()),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn field_name(field: &DateTimeField) -> String {
    field.to_string().to_ascii_lowercase()
}

impl Context<'_> {
    /// A date or a timestamp; text that is written there is read as one.
    fn moment(&mut self, expr: &ast::Expr, name: &str) -> Result<Expr> {
        let value = self.expression(expr)?;
        match (value.kind, &value.node) {
            (ValueKind::Date | ValueKind::Timestamp | ValueKind::Span, _) => Ok(value),
            (_, Node::Null) => Ok(Expr::null(ValueKind::Timestamp)),
            (kind, _) => {
                let what = format!(
                    "{name} needs a date or a timestamp, but this is {}; write a constant as date '2024-02-29'",
                    kind.name()
                );
                Err(Error::query(at(expr), what))
            }
        }
    }

    /// A part of a date or a timestamp.
    pub(super) fn part(&mut self, whole: &ast::Expr, part: &str, of: &ast::Expr) -> Result<Expr> {
        let value = self.moment(of, "EXTRACT")?;
        let name = Named {
            name: "EXTRACT",
            at: at(whole),
        };
        let calendar = |part, value| Expr::call(Call::Part(part), name, vec![to_date(value)]);
        let wrong = |what: String| Error::query(at(whole), what);
        let plain = part.trim_end_matches('s');
        if value.kind == ValueKind::Span {
            return match plain {
                "epoch" => Ok(seconds(value)),
                "day" => {
                    let day = Expr::number(DAY, 0);
                    Ok(Expr::arithmetic(
                        Arithmetic::Divide { rounded: false },
                        value,
                        day,
                    ))
                }
                _ => Err(wrong("EXTRACT takes EPOCH or DAY of an interval".into())),
            };
        }
        let is_date = value.kind == ValueKind::Date;
        Ok(match plain {
            "year" => calendar(Part::Year, value),
            "quarter" => calendar(Part::Quarter, value),
            "month" => calendar(Part::Month, value),
            "day" | "dayofmonth" => calendar(Part::Day, value),
            "doy" | "dayofyear" => calendar(Part::DayOfYear, value),
            "week" | "isoweek" | "weekofyear" => calendar(Part::IsoWeek, value),
            "isoyear" => calendar(Part::IsoYear, value),
            // 1970-01-01 was a Thursday.
            "dow" | "dayofweek" | "weekday" => rest(plus(to_date(value), 4), 7),
            "isodow" => plus(rest(plus(to_date(value), 3), 7), 1),
            "epoch" if is_date => times(value, 86_400),
            "epoch" => seconds(value),
            "hour" | "minute" | "second" | "microsecond" if is_date => {
                return Err(wrong(format!(
                    "a date has no {plain}; EXTRACT takes it of a timestamp"
                )));
            }
            "hour" => divided(rest(value, DAY), HOUR),
            "minute" => divided(rest(value, HOUR), MINUTE),
            "second" => divided(rest(value, MINUTE), SECOND),
            "microsecond" => rest(value, MINUTE),
            _ => {
                return Err(wrong(format!(
                    "EXTRACT does not know {part}; it takes YEAR, QUARTER, MONTH, WEEK, DAY, DOW, ISODOW, DOY, ISOYEAR, HOUR, MINUTE, SECOND, \
                     MICROSECOND or EPOCH"
                )));
            }
        })
    }

    /// The beginning of the period that a date or a timestamp is in.
    pub(super) fn truncated(&mut self, whole: &ast::Expr, unit: &str, of: &ast::Expr) -> Result<Expr> {
        let value = self.moment(of, "DATE_TRUNC")?;
        let name = Named {
            name: "DATE_TRUNC",
            at: at(whole),
        };
        let is_date = value.kind == ValueKind::Date;
        let of_days = |day: Expr| match is_date {
            true => day,
            false => to_timestamp(day),
        };
        let period = |period, value| of_days(Expr::call(Call::Begin(period), name, vec![to_date(value)]));
        let cut = |value: Expr, unit| {
            let (value, kind) = (to_timestamp(value), ValueKind::Timestamp);
            let rest = rest(value.clone(), unit);
            Expr::arithmetic(Arithmetic::Subtract, value, rest).within(kind)
        };
        Ok(match unit.trim_end_matches('s') {
            _ if value.kind == ValueKind::Span => {
                return Err(Error::query(
                    at(whole),
                    "DATE_TRUNC needs a date or a timestamp, but this is an interval",
                ));
            }
            "year" => period(Period::Year, value),
            "quarter" => period(Period::Quarter, value),
            "month" => period(Period::Month, value),
            "week" => {
                let day = to_date(value);
                // Weeks begin on Mondays.
                let rest = rest(plus(day.clone(), 3), 7);
                of_days(Expr::arithmetic(Arithmetic::Subtract, day, rest).within(ValueKind::Date))
            }
            "day" => of_days(to_date(value)),
            "hour" => cut(value, HOUR),
            "minute" => cut(value, MINUTE),
            "second" => cut(value, SECOND),
            _ => {
                let what = "DATE_TRUNC takes 'year', 'quarter', 'month', 'week', 'day', 'hour', 'minute' or 'second', and a date or a timestamp";
                return Err(Error::query(at(whole), what));
            }
        })
    }

    /// How many beginnings of a period lie between two dates or timestamps.
    pub(super) fn difference(
        &mut self,
        whole: &ast::Expr,
        unit: &str,
        (from, to): (&ast::Expr, &ast::Expr),
    ) -> Result<Expr> {
        let (from, to) = (self.moment(from, "DATE_DIFF")?, self.moment(to, "DATE_DIFF")?);
        let name = Named {
            name: "DATE_DIFF",
            at: at(whole),
        };
        let part = |part, value: &Expr| Expr::call(Call::Part(part), name, vec![to_date(value.clone())]);
        let sum = |x, y| Expr::arithmetic(Arithmetic::Add, x, y);
        let count = |value: &Expr| {
            Some(match unit.trim_end_matches('s') {
                _ if value.kind == ValueKind::Span => return None,
                "year" => part(Part::Year, value),
                "quarter" => sum(times(part(Part::Year, value), 4), part(Part::Quarter, value)),
                "month" => sum(times(part(Part::Year, value), 12), part(Part::Month, value)),
                // Weeks begin on Mondays.
                "week" => divided(plus(to_date(value.clone()), 3), 7),
                "day" => to_date(value.clone()),
                "hour" => divided(to_timestamp(value.clone()), HOUR),
                "minute" => divided(to_timestamp(value.clone()), MINUTE),
                "second" => divided(to_timestamp(value.clone()), SECOND),
                _ => return None,
            })
        };
        match (count(&to), count(&from)) {
            (Some(to), Some(from)) => Ok(Expr::arithmetic(Arithmetic::Subtract, to, from)),
            _ => {
                let what = "DATE_DIFF takes 'year', 'quarter', 'month', 'week', 'day', 'hour', 'minute' or 'second', and two dates or timestamps";
                Err(Error::query(at(whole), what))
            }
        }
    }

    /// A constant interval, which is a fixed time.
    pub(super) fn interval(&self, interval: &ast::Interval) -> Result<Expr> {
        let at = place(interval.value.span());
        match distance(interval, 1)? {
            Distance {
                months: 0,
                days,
                micros,
            } => {
                let micros = i128::from(days) * DAY + i128::from(micros);
                Ok(Expr::constant(Node::Number(micros), ValueKind::Span))
            }
            _ => {
                let what = "months and years have no fixed length; add the interval to a date, or write days";
                Err(Error::query(at, what))
            }
        }
    }

    /// A date or timestamp to which an interval is added, or from which it is subtracted; nothing if neither side is an interval.
    pub(super) fn with_interval(
        &mut self,
        left: &ast::Expr,
        sign: i64,
        right: &ast::Expr,
    ) -> Result<Option<Expr>> {
        use ast::Expr::Interval;
        let (moment, interval) = match (left, right) {
            (Interval(_), Interval(_)) => return Ok(None),
            (moment, Interval(interval)) => (moment, interval),
            (Interval(interval), moment) if sign == 1 => (moment, interval),
            _ => return Ok(None),
        };
        let moment = self.expression(moment)?;
        later(moment, interval, sign).map(Some)
    }
}

/// The sum or difference of two values, if it is about dates, timestamps or intervals.
pub(super) fn moved(x: &Expr, is_sum: bool, y: &Expr, at: Option<Place>) -> Result<Option<Expr>> {
    use ValueKind::{Bool, Date, Number, Span, Timestamp};
    let is_moment = |x: &Expr| matches!(x.kind, Date | Timestamp | Span);
    if !is_moment(x) && !is_moment(y) {
        return Ok(None);
    }
    let (mut x, mut y) = (x.clone(), y.clone());
    if !is_sum && (matches!(x.node, Node::Text(_)) || matches!(y.node, Node::Text(_))) {
        (x, y) = super::literal::meeting(x, y).map_err(|what| Error::query(at, what))?;
    }
    let arithmetic = if is_sum {
        Arithmetic::Add
    } else {
        Arithmetic::Subtract
    };
    let together = |x, y, kind| Ok(Some(Expr::arithmetic(arithmetic, x, y).within(kind)));
    let kinds = (x.kind, y.kind);
    match kinds {
        (Date, Date) if !is_sum => Ok(Some(Expr::arithmetic(arithmetic, x, y))),
        (Date, Number { scale: 0, .. }) => together(x, y, Date),
        (Number { scale: 0, .. }, Date) if is_sum => together(y, x, Date),
        (Date | Timestamp, Date | Timestamp) if !is_sum => together(to_timestamp(x), to_timestamp(y), Span),
        (Date | Timestamp, Span) => together(to_timestamp(x), y, Timestamp),
        (Span, Date | Timestamp) if is_sum => together(to_timestamp(y), x, Timestamp),
        (Span, Span) => together(x, y, Span),
        // A null is of the kind that it meets.
        (Date | Timestamp | Span, Bool) if y.node == Node::Null => Ok(Some(Expr::null(x.kind))),
        (Bool, Date | Timestamp | Span) if x.node == Node::Null => Ok(Some(Expr::null(y.kind))),
        _ => {
            let what = format!(
                "{} and {} cannot be {}; a date takes a whole number of days or an interval, and a timestamp takes an interval",
                x.kind.name(),
                y.kind.name(),
                if is_sum { "added" } else { "subtracted" }
            );
            Err(Error::query(at, what))
        }
    }
}

/// The last day of the month that begins on a day.
pub(super) fn last_day(first: Expr, at: Option<Place>) -> Result<Expr> {
    let name = Named { name: "LAST_DAY", at };
    let next = Expr::call(Call::Months, name, vec![first, Expr::number(1, 0)]);
    Ok(plus(next, -1).within(ValueKind::Date))
}

/// A date or timestamp that is so much later, or earlier.
fn later(moment: Expr, interval: &ast::Interval, sign: i64) -> Result<Expr> {
    let at = place(interval.value.span());
    let Distance { months, days, micros } = distance(interval, sign)?;
    let fixed = i128::from(days) * DAY + i128::from(micros);
    let moment = match (moment.kind, &moment.node) {
        (ValueKind::Date, _) if micros != 0 => to_timestamp(moment),
        (ValueKind::Date | ValueKind::Timestamp, _) => moment,
        (ValueKind::Span, _) if months == 0 => moment,
        (_, Node::Null) => return Ok(Expr::null(ValueKind::Timestamp)),
        (kind, _) => {
            let what = format!(
                "an interval can be added to a date or a timestamp, but this is {}",
                kind.name()
            );
            return Err(Error::query(at, what));
        }
    };
    let (kind, is_constant) = (moment.kind, moment.has_no_columns());
    let name = Named {
        name: "adding months",
        at,
    };
    let moment = match months {
        0 => moment,
        months => Expr::call(Call::Months, name, vec![moment, Expr::number(months.into(), 0)]),
    };
    let moved = match (fixed, kind) {
        (0, _) => moment,
        (_, ValueKind::Date) => plus(moment, days.into()).within(kind),
        (fixed, _) => plus(moment, fixed).within(kind),
    };
    match moved.node {
        Node::Call(..) | Node::Within(_) if is_constant => {
            Err(Error::query(at, "this interval leads outside the range of dates"))
        }
        _ => Ok(moved),
    }
}

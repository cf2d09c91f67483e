//! Functions that a party computes of its own rows in the clear. Only some can be computed of secrets.

mod calendar;
mod circuit;
mod expr;
mod pattern;
mod text;
mod told;

use std::hash::{Hash, Hasher};

use cenote_tables::{MAX_CHARS, Type, parse_value};

pub(crate) use self::calendar::{Part, Period};
pub(crate) use self::circuit::Circuit;
pub(crate) use self::pattern::Wanted;
use crate::error::Place;
use crate::kind::ValueKind;

/// A function that parties rather compute of their own columns. It is null where one of its arguments is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    /// A part of a day: its year, its month…
    Part(Part),
    /// The first day of the period that a day is in.
    Begin(Period),
    /// A day or a moment so many months later.
    Months,
    /// Whether a text is like a pattern.
    Like {
        escape: Option<char>,
        any_case: bool,
    },
    Upper,
    Lower,
    Reverse,
    /// How many characters a text has.
    Length,
    /// How many bytes a text has.
    Bytes,
    /// The characters of a text from a place on, the first of which is 1; no more than a number of them.
    Slice,
    /// So many of the first characters, or all but so many of the last.
    Left,
    /// So many of the last characters, or all but so many of the first.
    Right,
    /// Without some characters at its ends.
    Trim {
        start: bool,
        end: bool,
    },
    /// One text after the other.
    Join,
    /// Every occurrence of a text replaced by another.
    Replace,
    /// Where a text first occurs in another, from 1 on; 0 if it does not.
    Position,
    /// Whether a text begins with another.
    Begins,
    /// Whether a text ends with another.
    Ends,
    /// A text filled up to so many characters with another, or cut to so many.
    Pad {
        start: bool,
    },
    /// A value as it is written.
    Write,
    /// The value of a type that a text is written as.
    Read(Type),
}

/// Where the query names a function. Calls in two places may be the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) at: Option<Place>,
}

impl PartialEq for Named {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Named {}

impl Hash for Named {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// An argument or a result, not null.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(i128),
    Text(String),
}

impl Value {
    fn number(&self) -> Option<i128> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Text(_) => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Number(_) => None,
        }
    }
}

/// Bytes of a text at most.
fn bytes(kind: ValueKind) -> usize {
    match kind {
        ValueKind::Text(width) => width.into(),
        _ => 0,
    }
}

/// The least and the greatest number.
fn bounds(kind: ValueKind) -> (i128, i128) {
    kind.range().unwrap_or_default()
}

fn whole(least: i128, most: i128) -> ValueKind {
    ValueKind::Number {
        least,
        most,
        scale: 0,
    }
}

impl Call {
    /// The kind of its results.
    pub(crate) fn kind(self, of: &[ValueKind]) -> ValueKind {
        let text = |width: usize| ValueKind::Text(width.clamp(1, MAX_CHARS.into()) as u16);
        match self {
            Call::Part(part) => part.kind(),
            Call::Begin(_) | Call::Months => of[0],
            Call::Like { .. } | Call::Begins | Call::Ends => ValueKind::Bool,
            Call::Read(kind) => ValueKind::of(kind),
            Call::Length | Call::Bytes => whole(0, bytes(of[0]) as i128),
            Call::Position => whole(0, bytes(of[1]) as i128 + 1),
            _ => text(self.longest(of)),
        }
    }

    /// Bytes of the longest text that it may give.
    fn longest(self, of: &[ValueKind]) -> usize {
        let own = bytes(of[0]);
        // A character has four bytes at most.
        let characters = |count: i128| own.min(4 * count.clamp(0, own as i128) as usize);
        match self {
            Call::Slice => of.get(2).map_or(own, |count| characters(bounds(*count).1)),
            Call::Left | Call::Right => match bounds(of[1]) {
                (0.., most) => characters(most),
                _ => own,
            },
            Call::Join => own + bytes(of[1]),
            Call::Replace => match bytes(of[2]) {
                // What is replaced has a byte at least.
                more if more > 1 => own * more,
                _ => own,
            },
            Call::Pad { .. } => {
                let most = bounds(of[1]).1.clamp(0, MAX_CHARS.into()) as usize;
                match (own, bytes(of[2])) {
                    (1, 1) => most,
                    _ => 4 * most,
                }
            }
            Call::Write => text::written(of[0]),
            _ => own,
        }
    }

    /// Whether there may be no result, or one that is too long.
    pub(crate) fn may_fail(self, of: &[ValueKind]) -> bool {
        match self {
            Call::Months | Call::Upper | Call::Lower | Call::Begin(_) | Call::Read(_) => true,
            Call::Join | Call::Replace | Call::Pad { .. } => self.longest(of) > MAX_CHARS.into(),
            _ => false,
        }
    }

    /// Its result, if there is one. The arguments are of the kinds `of`.
    pub(crate) fn result(self, arguments: &[Value], of: &[ValueKind]) -> Option<Value> {
        let number = |at: usize| arguments.get(at)?.number();
        let text = |at: usize| arguments.get(at)?.text();
        Some(match self {
            Call::Part(part) => Value::Number(part.of(number(0)?)?),
            Call::Begin(period) => Value::Number(period.begin(number(0)?)?),
            Call::Months => Value::Number(calendar::months_later(number(0)?, number(1)?, of[0])?),
            Call::Length => Value::Number(text(0)?.chars().count() as i128),
            Call::Bytes => Value::Number(text(0)?.len() as i128),
            Call::Position => Value::Number(text::position(text(0)?, text(1)?)),
            Call::Like { escape, any_case } => {
                let like = pattern::is_like(text(0)?, text(1)?, escape, any_case);
                Value::Number(like.into())
            }
            Call::Read(kind) => Value::Number(parse_value(kind, text(0)?)?),
            Call::Begins => Value::Number(text(0)?.starts_with(text(1)?).into()),
            Call::Ends => Value::Number(text(0)?.ends_with(text(1)?).into()),
            Call::Upper => Value::Text(text::upper(text(0)?)),
            Call::Lower => Value::Text(text::lower(text(0)?)),
            Call::Reverse => Value::Text(text(0)?.chars().rev().collect()),
            Call::Slice => Value::Text(text::slice(
                text(0)?,
                number(1)?,
                arguments.get(2).and_then(Value::number),
            )),
            Call::Left => Value::Text(text::left(text(0)?, number(1)?)),
            Call::Right => Value::Text(text::right(text(0)?, number(1)?)),
            Call::Trim { start, end } => Value::Text(text::trimmed(text(0)?, text(1)?, start, end)),
            Call::Join => Value::Text([text(0)?, text(1)?].concat()),
            Call::Replace => Value::Text(text::replaced(text(0)?, text(1)?, text(2)?)),
            Call::Pad { start } => Value::Text(text::padded(text(0)?, number(1)?, text(2)?, start)),
            Call::Write => Value::Text(text::shown(arguments.first()?, of[0])),
        })
    }
}

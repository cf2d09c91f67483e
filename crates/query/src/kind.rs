//! What values are, and how many bits they take.

use cenote_tables::{Type, ten_to};

/// What the values of an expression are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ValueKind {
    Bool,
    /// A number between bounds, in units of its last place.
    Number {
        least: i128,
        most: i128,
        scale: u8,
    },
    /// Days.
    Date,
    /// Microseconds.
    Timestamp,
    /// How long it is from one moment to another, in microseconds. No column of a table or an answer is of this kind.
    Span,
    /// So many bytes.
    Text(u16),
}

impl ValueKind {
    pub(crate) fn of(kind: Type) -> Self {
        match kind {
            Type::Bool => ValueKind::Bool,
            Type::Date => ValueKind::Date,
            Type::Timestamp => ValueKind::Timestamp,
            Type::Char(bytes) => ValueKind::Text(bytes),
            Type::Int { .. } => {
                let (least, most) = kind.range().unwrap_or_default();
                ValueKind::Number {
                    least,
                    most,
                    scale: 0,
                }
            }
            // Whoever gives a number may give any that its bits hold.
            Type::Decimal { scale, .. } => {
                let most = i128::MAX >> (128 - kind.width());
                ValueKind::Number {
                    least: -most - 1,
                    most,
                    scale,
                }
            }
        }
    }

    /// The number `value`, with so many places.
    pub(crate) fn exactly(value: i128, scale: u8) -> Self {
        ValueKind::Number {
            least: value,
            most: value,
            scale,
        }
    }

    /// The least and greatest number that stands for a value; nothing of text.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        match self {
            ValueKind::Bool => Some((0, 1)),
            ValueKind::Number { least, most, .. } => Some((least, most)),
            ValueKind::Date => Type::Date.range(),
            ValueKind::Timestamp => Type::Timestamp.range(),
            // From any moment to any other.
            ValueKind::Span => Some((-(1 << 64), 1 << 64)),
            ValueKind::Text(_) => None,
        }
    }

    /// Whether it holds all numbers of another kind.
    pub(crate) fn holds(self, other: Self) -> bool {
        match (self.range(), other.range()) {
            (Some((least, most)), Some((low, high))) => least <= low && high <= most,
            _ => false,
        }
    }

    /// Bits of a value.
    pub(crate) fn width(self) -> u32 {
        match (self, self.range()) {
            (ValueKind::Text(bytes), _) => 8 * u32::from(bytes),
            (_, Some((least, most))) if least < 0 => {
                // As many as the further bound needs, and one for the sign.
                129 - least
                    .unsigned_abs()
                    .saturating_sub(1)
                    .max(most.unsigned_abs())
                    .leading_zeros()
            }
            (_, Some((_, most))) => (128 - most.leading_zeros()).max(1),
            (_, None) => 0,
        }
    }

    /// Whether it is in two's complement.
    pub(crate) fn is_signed(self) -> bool {
        self.range().is_some_and(|(least, _)| least < 0)
    }

    pub(crate) fn scale(self) -> u8 {
        match self {
            ValueKind::Number { scale, .. } => scale,
            _ => 0,
        }
    }

    /// The type of a column of an answer.
    pub(crate) fn to_type(self) -> Type {
        match self {
            ValueKind::Bool => Type::Bool,
            ValueKind::Date => Type::Date,
            ValueKind::Timestamp => Type::Timestamp,
            ValueKind::Text(bytes) => Type::Char(bytes),
            // No answer has one.
            ValueKind::Span => Type::Decimal {
                precision: 38,
                scale: 6,
            },
            ValueKind::Number { least, most, scale } => {
                let fits = |signed, bits| {
                    let kind = Type::Int { signed, bits };
                    kind.range()
                        .is_some_and(|(low, high)| low <= least && most <= high)
                };
                if scale == 0 && fits(true, 64) {
                    return Type::Int {
                        signed: true,
                        bits: 64,
                    };
                }
                if scale == 0 && fits(false, 64) {
                    return Type::Int {
                        signed: false,
                        bits: 64,
                    };
                }
                let further = least.unsigned_abs().max(most.unsigned_abs());
                let precision = (1..38).find(|&digits| further < ten_to(digits)).unwrap_or(38);
                Type::Decimal {
                    precision: precision.max(scale),
                    scale,
                }
            }
        }
    }

    /// What it is called in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ValueKind::Bool => "a truth value",
            ValueKind::Number { .. } => "a number",
            ValueKind::Date => "a date",
            ValueKind::Timestamp => "a timestamp",
            ValueKind::Span => "an interval",
            ValueKind::Text(_) => "text",
        }
    }

    /// The kind that holds the values of both; nothing if they cannot meet.
    pub(crate) fn unified(self, other: Self) -> Option<Self> {
        match (self, other) {
            (ValueKind::Text(one), ValueKind::Text(other)) => Some(ValueKind::Text(one.max(other))),
            (
                ValueKind::Number { least, most, scale },
                ValueKind::Number {
                    least: other_least,
                    most: other_most,
                    scale: other_scale,
                },
            ) => {
                let places = scale.max(other_scale);
                let up = |bound: i128, scale| scaled(bound, places - scale);
                Some(ValueKind::Number {
                    least: up(least, scale).min(up(other_least, other_scale)),
                    most: up(most, scale).max(up(other_most, other_scale)),
                    scale: places,
                })
            }
            _ if self == other => Some(self),
            _ => None,
        }
    }
}

/// A number with so many places more, if it has as many bits then.
pub(crate) fn scaled_exactly(number: i128, places: u8) -> Option<i128> {
    number.checked_mul(i128::try_from(ten_to(places)).ok()?)
}

/// A bound with so many places more, or the last number.
pub(crate) fn scaled(bound: i128, places: u8) -> i128 {
    let last = if bound < 0 { i128::MIN } else { i128::MAX };
    scaled_exactly(bound, places).unwrap_or(last)
}

//! The types of columns.

use std::fmt;
use std::str::FromStr;

/// Most digits of a decimal.
pub const MAX_DIGITS: u8 = 38;

/// Most bytes of a `char(n)`.
pub const MAX_CHARS: u16 = 255;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// True or false.
    Bool,
    /// A whole number of 8, 16, 32 or 64 bits, in two's complement if it is signed.
    Int {
        /// Whether it may be negative.
        signed: bool,
        /// Its bits.
        bits: u8,
    },
    /// A number with so many digits, `scale` of them behind the point: kept as a whole number of its last place.
    Decimal {
        /// All digits.
        precision: u8,
        /// Those behind the point.
        scale: u8,
    },
    /// A day: kept as days since 1970-01-01.
    Date,
    /// A moment: kept as microseconds since 1970-01-01 00:00:00 UTC.
    Timestamp,
    /// Text of at most so many bytes, compared byte by byte; what is shorter is followed by zero bytes.
    Char(u16),
}

impl Type {
    /// Bits of a value.
    pub fn width(self) -> u32 {
        match self {
            Type::Bool => 1,
            Type::Int { bits, .. } => bits.into(),
            Type::Decimal { precision, .. } => 128 - ten_to(precision).leading_zeros() + 1,
            Type::Date => 32,
            Type::Timestamp => 64,
            Type::Char(bytes) => 8 * u32::from(bytes),
        }
    }

    /// Whether it is kept in two's complement.
    pub fn is_signed(self) -> bool {
        match self {
            Type::Int { signed, .. } => signed,
            Type::Decimal { .. } | Type::Date | Type::Timestamp => true,
            Type::Bool | Type::Char(_) => false,
        }
    }

    /// The least and the greatest number that it holds, as it is kept; nothing of text.
    pub fn range(self) -> Option<(i128, i128)> {
        match self {
            Type::Char(_) => None,
            Type::Decimal { precision, .. } => {
                let limit = ten_to(precision) as i128;
                Some((1 - limit, limit - 1))
            }
            Type::Bool => Some((0, 1)),
            _ if self.is_signed() => {
                let limit = 1i128 << (self.width() - 1);
                Some((-limit, limit - 1))
            }
            _ => Some((0, (1i128 << self.width()) - 1)),
        }
    }

    /// How many values there are, if they fit a number.
    pub fn values(self) -> Option<u64> {
        match self.width() {
            width @ 0..64 => Some(1 << width),
            _ => None,
        }
    }
}

/// 10 to `digits`, at most 38.
pub fn ten_to(digits: u8) -> u128 {
    10u128.pow(digits.into())
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("bool"),
            Type::Int { signed: true, bits } => write!(f, "i{bits}"),
            Type::Int { signed: false, bits } => write!(f, "u{bits}"),
            Type::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            Type::Date => f.write_str("date"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Char(bytes) => write!(f, "char({bytes})"),
        }
    }
}

impl FromStr for Type {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a type; the types are bool, i8, i16, i32, i64, u8, u16, u32, u64, decimal(p,s), date, timestamp and char(n)"
            )
        };
        let plain = text.to_ascii_lowercase().replace(' ', "");
        let arguments = |name: &str| -> Option<Vec<u16>> {
            let inner = plain.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
            inner.split(',').map(|number| number.parse().ok()).collect()
        };
        let int = |signed, bits: &str| match bits {
            "8" | "16" | "32" | "64" => Ok(Type::Int {
                signed,
                bits: bits.parse().map_err(|_| wrong())?,
            }),
            _ => Err(wrong()),
        };
        match plain.as_str() {
            "bool" => return Ok(Type::Bool),
            "date" => return Ok(Type::Date),
            "timestamp" => return Ok(Type::Timestamp),
            _ => (),
        }
        if let Some(arguments) = arguments("char") {
            return match arguments[..] {
                [bytes @ 1..=MAX_CHARS] => Ok(Type::Char(bytes)),
                _ => Err(format!("`{text}`: char(n) holds 1 to {MAX_CHARS} bytes")),
            };
        }
        if let Some(arguments) = arguments("decimal") {
            let (precision, scale) = match arguments[..] {
                [precision] => (precision, 0),
                [precision, scale] => (precision, scale),
                _ => return Err(wrong()),
            };
            if precision == 0 || precision > MAX_DIGITS.into() || scale > precision {
                return Err(format!(
                    "`{text}`: decimal(p,s) has 1 to {MAX_DIGITS} digits, s of them after the point"
                ));
            }
            return Ok(Type::Decimal {
                precision: precision as u8,
                scale: scale as u8,
            });
        }
        match plain.split_at_checked(1) {
            Some(("i", bits)) => int(true, bits),
            Some(("u", bits)) => int(false, bits),
            _ => Err(wrong()),
        }
    }
}

//! Which types of Parquet are read as which types of columns, and how.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::schema::types::ColumnDescriptor;

use crate::error::Problem;
use crate::types::{MAX_CHARS, MAX_DIGITS, Type, ten_to};

/// How the values of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// As they are.
    Truth,
    /// As numbers, times this.
    Times(i128),
    /// As numbers, divided by this, which must leave nothing over.
    Divided(i128),
    Text,
    /// Sixteen bytes as text: 8-4-4-4-12 digits.
    Uuid,
    /// As binary fractions, which must be whole numbers.
    Whole,
    /// As moments, which must be the beginnings of days of this length.
    Days(i128),
    /// Not at all: there are none but nulls.
    Nulls,
}

/// What a column of a file holds.
enum Held {
    Bool,
    Int { signed: bool, bits: u8 },
    Decimal { precision: i32, scale: i32 },
    Date,
    Moment(TimeUnit),
    Text,
    Bytes,
    Uuid,
    Fraction(&'static str),
    Nulls,
    Other(String),
}

impl Held {
    fn of(column: &ColumnDescriptor) -> Self {
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Held::Other("a list or a group".into());
        }
        match column.logical_type_ref() {
            Some(logical) => Self::of_logical(logical),
            None => Self::of_converted(column),
        }
    }

    fn of_logical(logical: &LogicalType) -> Self {
        match logical {
            LogicalType::String | LogicalType::Enum | LogicalType::Json => Held::Text,
            LogicalType::Decimal(decimal) => Held::Decimal {
                precision: decimal.precision,
                scale: decimal.scale,
            },
            LogicalType::Date => Held::Date,
            LogicalType::Timestamp(moment) => Held::Moment(moment.unit),
            LogicalType::Integer(int) => Held::Int {
                signed: int.is_signed,
                bits: int.bit_width as u8,
            },
            LogicalType::Uuid => Held::Uuid,
            LogicalType::Unknown => Held::Nulls,
            other => {
                let name = format!("{other:?}").to_lowercase();
                let mut words = name.split(|char: char| !char.is_alphanumeric());
                Held::Other(words.next().unwrap_or_default().into())
            }
        }
    }

    /// Of files that were written before there were logical types.
    fn of_converted(column: &ColumnDescriptor) -> Self {
        let int = |signed, bits| Held::Int { signed, bits };
        match column.converted_type() {
            ConvertedType::NONE => match column.physical_type() {
                Physical::BOOLEAN => Held::Bool,
                Physical::INT32 => int(true, 32),
                Physical::INT64 => int(true, 64),
                // Deprecated, and always a moment.
                Physical::INT96 => Held::Moment(TimeUnit::NANOS),
                Physical::FLOAT => Held::Fraction("float"),
                Physical::DOUBLE => Held::Fraction("double"),
                Physical::BYTE_ARRAY => Held::Bytes,
                Physical::FIXED_LEN_BYTE_ARRAY => Held::Other(format!("bytes({})", column.type_length())),
            },
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Held::Text,
            ConvertedType::DECIMAL => Held::Decimal {
                precision: column.type_precision(),
                scale: column.type_scale(),
            },
            ConvertedType::DATE => Held::Date,
            ConvertedType::TIMESTAMP_MILLIS => Held::Moment(TimeUnit::MILLIS),
            ConvertedType::TIMESTAMP_MICROS => Held::Moment(TimeUnit::MICROS),
            ConvertedType::UINT_8 => int(false, 8),
            ConvertedType::UINT_16 => int(false, 16),
            ConvertedType::UINT_32 => int(false, 32),
            ConvertedType::UINT_64 => int(false, 64),
            ConvertedType::INT_8 => int(true, 8),
            ConvertedType::INT_16 => int(true, 16),
            ConvertedType::INT_32 => int(true, 32),
            ConvertedType::INT_64 => int(true, 64),
            other => Held::Other(other.to_string().to_lowercase()),
        }
    }

    fn name(&self) -> String {
        match self {
            Held::Bool => "bool".into(),
            Held::Int { signed, bits } => format!("{}int{bits}", if *signed { "" } else { "u" }),
            Held::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
            Held::Date => "date".into(),
            Held::Moment(TimeUnit::MILLIS) => "timestamp(ms)".into(),
            Held::Moment(TimeUnit::MICROS) => "timestamp(us)".into(),
            Held::Moment(TimeUnit::NANOS) => "timestamp(ns)".into(),
            Held::Text => "string".into(),
            Held::Bytes => "bytes".into(),
            Held::Uuid => "uuid".into(),
            Held::Fraction(name) => (*name).into(),
            Held::Nulls => "null".into(),
            Held::Other(name) => name.clone(),
        }
    }
}

/// The type that a column is best read as: text as the longest that there is. Nothing if there is none, with what it holds.
pub(super) fn natural(column: &ColumnDescriptor) -> Result<Type, String> {
    let held = Held::of(column);
    match held {
        Held::Bool => Ok(Type::Bool),
        Held::Int { signed, bits } => Ok(Type::Int { signed, bits }),
        Held::Decimal { precision, scale } => match (u8::try_from(precision), u8::try_from(scale)) {
            (Ok(precision), Ok(scale)) if scale <= precision && precision <= MAX_DIGITS => {
                Ok(Type::Decimal { precision, scale })
            }
            _ => Err(held.name()),
        },
        Held::Date => Ok(Type::Date),
        Held::Moment(_) => Ok(Type::Timestamp),
        Held::Text => Ok(Type::Char(MAX_CHARS)),
        Held::Uuid => Ok(Type::Char(36)),
        Held::Fraction(_) => Ok(Type::Int {
            signed: true,
            bits: 64,
        }),
        Held::Bytes | Held::Nulls | Held::Other(_) => Err(held.name()),
    }
}

/// Whether the numbers of a column have no sign.
pub(super) fn is_unsigned(column: &ColumnDescriptor) -> bool {
    matches!(Held::of(column), Held::Int { signed: false, .. })
}

/// How the column is read as `kind`.
pub(super) fn fit(column: &ColumnDescriptor, kind: Type) -> Result<Fit, Problem> {
    let held = Held::of(column);
    let fit = match (&held, kind) {
        (Held::Nulls, _) => Some(Fit::Nulls),
        (Held::Bool, Type::Bool) => Some(Fit::Truth),
        (Held::Int { .. }, Type::Int { .. } | Type::Decimal { scale: 0, .. }) => Some(Fit::Times(1)),
        (Held::Decimal { scale: 0, .. }, Type::Int { .. }) => Some(Fit::Times(1)),
        (Held::Decimal { scale: from, .. }, Type::Decimal { scale: to, .. }) => rescale(*from, to.into()),
        (Held::Date, Type::Date) => Some(Fit::Times(1)),
        (Held::Moment(TimeUnit::MILLIS), Type::Timestamp) => Some(Fit::Times(1_000)),
        (Held::Moment(TimeUnit::MICROS), Type::Timestamp) => Some(Fit::Times(1)),
        (Held::Moment(TimeUnit::NANOS), Type::Timestamp) => Some(Fit::Divided(1_000)),
        (Held::Moment(TimeUnit::MILLIS), Type::Date) => Some(Fit::Days(86_400_000)),
        (Held::Moment(TimeUnit::MICROS), Type::Date) => Some(Fit::Days(86_400_000_000)),
        (Held::Moment(TimeUnit::NANOS), Type::Date) => Some(Fit::Days(86_400_000_000_000)),
        (Held::Date, Type::Timestamp) => Some(Fit::Times(86_400_000_000)),
        (Held::Fraction(_), Type::Int { .. }) => Some(Fit::Whole),
        (Held::Text | Held::Bytes, Type::Char(_)) => Some(Fit::Text),
        (Held::Uuid, Type::Char(36..)) => Some(Fit::Uuid),
        _ => None,
    };
    fit.ok_or_else(|| Problem::WrongType {
        there: held.name(),
        kind,
    })
}

fn rescale(from: i32, to: i32) -> Option<Fit> {
    let ten_to = |digits: i32| {
        let digits = u8::try_from(digits).ok().filter(|&digits| digits <= MAX_DIGITS)?;
        i128::try_from(ten_to(digits)).ok()
    };
    match from <= to {
        true => ten_to(to - from).map(Fit::Times),
        false => ten_to(from - to).map(Fit::Divided),
    }
}

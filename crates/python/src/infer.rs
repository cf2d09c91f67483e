//! Tables from Arrow: which type a column gets where none is stated, and every value checked on its way in.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};
use cenote_tables::{
    Builder, Field, INDEX, Inferred, MAX_DIGITS, Place, Problem, Table, Type, chars, is_index, ten_to,
};

/// Whole numbers below this are exact as floating-point numbers, and no others are rounded to them.
const EXACT: f64 = (1u64 << 53) as f64;

const MICROSECONDS_OF_A_DAY: i128 = 86_400_000_000;

/// What is wrong with a table, and where.
#[derive(Debug)]
pub(crate) struct Fault(Place, String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}

impl Fault {
    fn of_column(name: &str, what: impl Into<String>) -> Self {
        let place = Place {
            column: Some(name.to_owned()),
            ..Place::default()
        };
        Fault(place, what.into())
    }
}

/// The table of these batches: the columns `stated`, of the types that are stated; or else all columns of types that there are.
pub(crate) fn table_of(
    schema: &Schema,
    batches: &[RecordBatch],
    stated: Option<&[Field]>,
) -> Result<Inferred, Fault> {
    let mut left_out = Vec::new();
    let mut fields = Vec::new();
    let mut places = Vec::new();
    match stated {
        Some(stated) => {
            for field in stated {
                places.push(place_of(schema, &field.name)?);
                fields.push(field.clone());
            }
        }
        None => {
            for (place, column) in schema.fields().iter().enumerate() {
                if is_index(column.name()) {
                    left_out.push((column.name().clone(), INDEX.into()));
                    continue;
                }
                let arrays: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(place)).collect();
                place_of(schema, column.name())?;
                match inferred(column.data_type(), &arrays) {
                    Ok(kind) => {
                        fields.push(Field {
                            name: column.name().clone(),
                            kind,
                            nullable: arrays.iter().any(|array| has_nulls(array)),
                        });
                        places.push(place);
                    }
                    Err(why) => left_out.push((column.name().clone(), why)),
                }
            }
        }
    }
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let columns = fields.iter().zip(&places).map(|(field, &place)| {
        let mut builder = Builder::new(field, rows);
        for batch in batches {
            let plain = plain(batch.column(place)).map_err(|what| Fault::of_column(&field.name, what))?;
            append(&mut builder, &plain, field.kind).map_err(|problem| match problem {
                Problem::WrongType { there, kind } => Fault::of_column(
                    &field.name,
                    format!(
                        "is {there}, but declared {kind}; cast it to {kind}, or state the type that it has"
                    ),
                ),
                problem => Fault(
                    Place {
                        row: Some(builder.rows() + 1),
                        line: None,
                        column: Some(field.name.clone()),
                    },
                    problem.to_string(),
                ),
            })?;
        }
        Ok(builder.finish())
    });
    let columns = columns.collect::<Result<_, Fault>>()?;
    Ok(Inferred {
        table: Table {
            fields,
            columns,
            rows,
        },
        left_out,
    })
}

/// Where the column of this name is.
fn place_of(schema: &Schema, name: &str) -> Result<usize, Fault> {
    let mut places = (0..)
        .zip(schema.fields())
        .filter(|(_, field)| field.name() == name);
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => Err(Fault::of_column(
            name,
            "several columns have this name; rename all but one",
        )),
        (None, _) => {
            let names: Vec<&str> = schema.fields().iter().map(|field| &**field.name()).collect();
            Err(Fault(
                Place::default(),
                format!("there is no column {name}; there are {}", names.join(", ")),
            ))
        }
    }
}

/// The type of a column that states none, by the type that it has and by what is in it; or why it gets none.
fn inferred(kind: &DataType, arrays: &[&ArrayRef]) -> Result<Type, String> {
    let int = |signed, bits| Ok(Type::Int { signed, bits });
    match kind {
        DataType::Boolean => Ok(Type::Bool),
        DataType::Int8 => int(true, 8),
        DataType::Int16 => int(true, 16),
        DataType::Int32 => int(true, 32),
        DataType::Int64 => int(true, 64),
        DataType::UInt8 => int(false, 8),
        DataType::UInt16 => int(false, 16),
        DataType::UInt32 => int(false, 32),
        DataType::UInt64 => int(false, 64),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => match u8::try_from(*scale) {
            Ok(scale) if scale <= *precision && *precision <= MAX_DIGITS => Ok(Type::Decimal {
                precision: *precision,
                scale,
            }),
            _ => Err(format!(
                "{} of these digits has no type here; state one, such as decimal(18,2)",
                kind_name(kind)
            )),
        },
        DataType::Date32 | DataType::Date64 => Ok(Type::Date),
        DataType::Timestamp(..) => Ok(Type::Timestamp),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let whole = arrays.iter().all(|array| floats(array).flatten().all(is_whole));
            match whole {
                true => int(true, 64),
                false => Err(format!(
                    "{kind} is not exact; state its digits, such as decimal(18,2)"
                )),
            }
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
            let mut longest = 0;
            for array in arrays {
                let plain = plain(array)?;
                let Some(texts) = plain.as_string_opt::<i64>() else {
                    return inferred(plain.data_type(), &[&plain]);
                };
                longest = texts
                    .iter()
                    .flatten()
                    .map(str::len)
                    .max()
                    .unwrap_or(0)
                    .max(longest);
            }
            chars(longest)
        }
        DataType::Null => Err("it has no values, and so no type; state one".into()),
        other => Err(format!("{} has no type here", kind_name(other))),
    }
}

/// What a type is called. Its parts are not told: names of a struct's fields may be data, and digits come from values.
fn kind_name(kind: &DataType) -> String {
    let told = kind.to_string();
    match told.find(|letter: char| !letter.is_ascii_alphanumeric()) {
        Some(end) => told[..end].to_owned(),
        None => told,
    }
}

fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < EXACT
}

/// Whether any value is missing. NaN is no number, and counts as missing.
fn has_nulls(array: &ArrayRef) -> bool {
    array.logical_null_count() > 0
        || (array.data_type().is_floating() && floats(array).any(|value| value.is_none()))
}

/// The values of a column of floating-point numbers; nothing for NaN.
fn floats(array: &ArrayRef) -> Box<dyn Iterator<Item = Option<f64>> + '_> {
    fn number(value: Option<f64>) -> Option<f64> {
        value.filter(|value| !value.is_nan())
    }
    // By the fewest digits that tell it from its neighbours, of which there are fewer than of f64.
    fn single(value: f32) -> f64 {
        value.to_string().parse().unwrap_or(f64::NAN)
    }
    match array.data_type() {
        DataType::Float16 => {
            let array = array.as_primitive::<Float16Type>();
            Box::new(
                array
                    .iter()
                    .map(|value| number(value.map(|value| single(value.into())))),
            )
        }
        DataType::Float32 => {
            let array = array.as_primitive::<Float32Type>();
            Box::new(array.iter().map(|value| number(value.map(single))))
        }
        DataType::Float64 => Box::new(array.as_primitive::<Float64Type>().iter().map(number)),
        _ => Box::new(std::iter::empty()),
    }
}

/// The array without encodings: what a dictionary stands for, and texts in one form.
fn plain(array: &ArrayRef) -> Result<ArrayRef, String> {
    let target = match array.data_type() {
        DataType::Utf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Dictionary(_, values) => match &**values {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::LargeUtf8,
            other => other.clone(),
        },
        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
        _ => return Ok(array.clone()),
    };
    arrow_cast::cast(array, &target).map_err(|error| error.to_string())
}

/// Appends the values of an array.
fn append(builder: &mut Builder, array: &ArrayRef, kind: Type) -> Result<(), Problem> {
    let wrong = || wrong_type(&held(array.data_type()), kind);
    let of_decimal = |scale: i8| move |number: i128| rescaled(number, scale, kind);
    let of_moment = |each: i128| move |number: i128| moment(number.checked_mul(each), kind);
    match array.data_type() {
        DataType::Boolean => {
            if kind != Type::Bool {
                return Err(wrong());
            }
            numbers(
                builder,
                array.as_boolean().iter().map(|value| value.map(i128::from)),
                Ok,
            )
        }
        DataType::Int8 => whole::<Int8Type>(builder, array, kind),
        DataType::Int16 => whole::<Int16Type>(builder, array, kind),
        DataType::Int32 => whole::<Int32Type>(builder, array, kind),
        DataType::Int64 => whole::<Int64Type>(builder, array, kind),
        DataType::UInt8 => whole::<UInt8Type>(builder, array, kind),
        DataType::UInt16 => whole::<UInt16Type>(builder, array, kind),
        DataType::UInt32 => whole::<UInt32Type>(builder, array, kind),
        DataType::UInt64 => whole::<UInt64Type>(builder, array, kind),
        DataType::Decimal32(_, scale) => primitive::<Decimal32Type>(builder, array, of_decimal(*scale)),
        DataType::Decimal64(_, scale) => primitive::<Decimal64Type>(builder, array, of_decimal(*scale)),
        DataType::Decimal128(_, scale) => primitive::<Decimal128Type>(builder, array, of_decimal(*scale)),
        DataType::Date32 => primitive::<Date32Type>(builder, array, of_moment(MICROSECONDS_OF_A_DAY)),
        DataType::Date64 => primitive::<Date64Type>(builder, array, of_moment(1000)),
        DataType::Timestamp(TimeUnit::Second, _) => {
            primitive::<TimestampSecondType>(builder, array, of_moment(1_000_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(builder, array, of_moment(1000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(builder, array, of_moment(1))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            primitive::<TimestampNanosecondType>(builder, array, |number| match number % 1000 {
                0 => moment(Some(number / 1000), kind),
                _ => Err(Problem::Places(kind)),
            })
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            floating(builder, floats(array), kind, &wrong)
        }
        DataType::LargeUtf8 => {
            let mut texts = array.as_string::<i64>().iter();
            texts.try_for_each(|text| match text {
                Some(text) => builder.cell(text.as_bytes()),
                None => builder.null(),
            })
        }
        DataType::Null => (0..array.len()).try_for_each(|_| builder.null()),
        _ => Err(wrong()),
    }
}

/// Appends numbers as `kept` says.
fn numbers(
    builder: &mut Builder,
    mut values: impl Iterator<Item = Option<i128>>,
    kept: impl Fn(i128) -> Result<i128, Problem>,
) -> Result<(), Problem> {
    values.try_for_each(|value| match value {
        Some(value) => builder.number(kept(value)?),
        None => builder.null(),
    })
}

fn primitive<T: ArrowPrimitiveType<Native: Into<i128>>>(
    builder: &mut Builder,
    array: &ArrayRef,
    kept: impl Fn(i128) -> Result<i128, Problem>,
) -> Result<(), Problem> {
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        return builder.numbers(array.values().iter().map(|&value| kept(value.into())));
    }
    numbers(builder, array.iter().map(|value| value.map(Into::into)), kept)
}

/// Appends whole numbers.
fn whole<T: ArrowPrimitiveType<Native: Into<i128>>>(
    builder: &mut Builder,
    array: &ArrayRef,
    kind: Type,
) -> Result<(), Problem> {
    match kind {
        Type::Int { .. } | Type::Decimal { scale: 0, .. } => primitive::<T>(builder, array, Ok),
        Type::Decimal { .. } => primitive::<T>(builder, array, |number| rescaled(number, 0, kind)),
        _ => Err(wrong_type(&held(array.data_type()), kind)),
    }
}

/// Appends floating-point numbers: as whole ones, if they are, or by the fewest digits that tell each from its neighbours.
fn floating(
    builder: &mut Builder,
    values: impl Iterator<Item = Option<f64>>,
    kind: Type,
    wrong: &dyn Fn() -> Problem,
) -> Result<(), Problem> {
    for value in values {
        match (value, kind) {
            (None, _) => builder.null()?,
            (Some(value), Type::Int { .. }) if is_whole(value) => builder.number(value as i128)?,
            (Some(_), Type::Int { .. }) => return Err(Problem::Form(kind)),
            (Some(value), Type::Decimal { .. }) if value.is_finite() => {
                builder.cell(value.to_string().as_bytes())?
            }
            (Some(_), Type::Decimal { .. }) => return Err(Problem::Range(kind)),
            _ => return Err(wrong()),
        }
    }
    Ok(())
}

/// A number with `scale` places as one of type `kind`.
fn rescaled(number: i128, scale: i8, kind: Type) -> Result<i128, Problem> {
    let places = match kind {
        Type::Decimal { scale, .. } => i32::from(scale),
        Type::Int { .. } => 0,
        _ => return Err(wrong_type("a number", kind)),
    };
    let ten_to = |digits: i32| match u8::try_from(digits) {
        Ok(digits) if digits <= MAX_DIGITS => Ok(ten_to(digits) as i128),
        _ => Err(Problem::Range(kind)),
    };
    match places - i32::from(scale) {
        more @ 0.. => number.checked_mul(ten_to(more)?).ok_or(Problem::Range(kind)),
        fewer => match ten_to(-fewer)? {
            factor if number % factor == 0 => Ok(number / factor),
            _ => Err(Problem::Places(kind)),
        },
    }
}

/// A moment in microseconds as one of type `kind`.
fn moment(microseconds: Option<i128>, kind: Type) -> Result<i128, Problem> {
    let microseconds = microseconds.ok_or(Problem::Range(kind))?;
    match kind {
        Type::Timestamp => Ok(microseconds),
        Type::Date if microseconds % MICROSECONDS_OF_A_DAY == 0 => Ok(microseconds / MICROSECONDS_OF_A_DAY),
        Type::Date => Err(Problem::NotMidnight),
        _ => Err(wrong_type("a day or moment", kind)),
    }
}

/// A type as it is told to somebody who has stated another.
fn held(kind: &DataType) -> String {
    if kind.is_nested() {
        kind_name(kind)
    } else {
        kind.to_string()
    }
}

fn wrong_type(there: &str, kind: Type) -> Problem {
    Problem::WrongType {
        there: there.into(),
        kind,
    }
}

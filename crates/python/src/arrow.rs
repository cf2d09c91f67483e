//! Tables as Arrow has them.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int8Array, Int16Array, Int32Array, Int64Array,
    RecordBatch, StringArray, TimestampMicrosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use cenote_tables::{Column, Field, Table, Type, Values, cell};

/// The type of a column in Arrow.
fn kind_of(kind: Type) -> DataType {
    match kind {
        Type::Bool => DataType::Boolean,
        Type::Int {
            signed: true,
            bits: 8,
        } => DataType::Int8,
        Type::Int {
            signed: true,
            bits: 16,
        } => DataType::Int16,
        Type::Int {
            signed: true,
            bits: 32,
        } => DataType::Int32,
        Type::Int { signed: true, .. } => DataType::Int64,
        Type::Int { bits: 8, .. } => DataType::UInt8,
        Type::Int { bits: 16, .. } => DataType::UInt16,
        Type::Int { bits: 32, .. } => DataType::UInt32,
        Type::Int { .. } => DataType::UInt64,
        // Its scale is at most its precision, which is at most 38.
        Type::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
        Type::Date => DataType::Date32,
        Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::Char(_) => DataType::Utf8,
    }
}

pub(crate) fn schema_of(table: &Table) -> SchemaRef {
    let field = |field: &Field| arrow_schema::Field::new(&field.name, kind_of(field.kind), field.nullable);
    Arc::new(Schema::new(table.fields.iter().map(field).collect::<Vec<_>>()))
}

/// All rows of a table.
pub(crate) fn batch_of(table: &Table) -> Result<RecordBatch, String> {
    let columns = table.columns.iter().zip(&table.fields);
    let columns = columns
        .map(|(column, field)| array_of(column, field, table.rows))
        .collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(schema_of(table), columns).map_err(|error| error.to_string())
}

fn array_of(column: &Column, field: &Field, rows: usize) -> Result<ArrayRef, String> {
    let numbers = match &column.values {
        Values::Numbers(numbers) => numbers,
        Values::Text(..) => {
            let texts = (0..rows).map(|row| (!column.is_null(row)).then(|| cell(column, field, row)));
            return Ok(Arc::new(texts.collect::<StringArray>()));
        }
    };
    let values = || (0..rows).map(|row| (!column.is_null(row)).then(|| numbers.get(row)));
    // Every number is in the range of its type, which tables are checked for when they are read.
    macro_rules! array {
        ($array:ty, $number:ty) => {
            Arc::new(
                values()
                    .map(|value| value.map(|value| value as $number))
                    .collect::<$array>(),
            )
        };
    }
    Ok(match kind_of(field.kind) {
        DataType::Boolean => Arc::new(
            values()
                .map(|value| value.map(|value| value != 0))
                .collect::<BooleanArray>(),
        ),
        DataType::Int8 => array!(Int8Array, i8),
        DataType::Int16 => array!(Int16Array, i16),
        DataType::Int32 => array!(Int32Array, i32),
        DataType::Int64 => array!(Int64Array, i64),
        DataType::UInt8 => array!(UInt8Array, u8),
        DataType::UInt16 => array!(UInt16Array, u16),
        DataType::UInt32 => array!(UInt32Array, u32),
        DataType::UInt64 => array!(UInt64Array, u64),
        DataType::Date32 => array!(Date32Array, i32),
        DataType::Timestamp(..) => array!(TimestampMicrosecondArray, i64),
        DataType::Decimal128(precision, scale) => {
            let array = values().collect::<Decimal128Array>();
            Arc::new(
                array
                    .with_precision_and_scale(precision, scale)
                    .map_err(|error| error.to_string())?,
            )
        }
        other => return Err(format!("no column is {other}")),
    })
}

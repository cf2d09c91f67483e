//! Writing Parquet. The types are those that Arrow reads as its own: Decimal128, Date32, Timestamp of microseconds in UTC, Utf8, integers of
//! all widths, and Boolean.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type,
};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{Type as Schema, TypePtr};

use crate::error::{Fault, Problem};
use crate::table::{Column, Field, Table, Values};
use crate::text::{shown, text_of};
use crate::types::{Type, ten_to};

/// Rows of a group.
const GROUP: usize = 1 << 20;

/// What a file is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be kept, and read by anybody: small.
    Keeping,
    /// To be read once, soon and here: quick to write and to read.
    Passing,
}

impl Purpose {
    fn properties(self) -> WriterProperties {
        let builder = WriterProperties::builder().set_created_by("cenote".into());
        match self {
            Purpose::Keeping => builder.set_compression(Compression::SNAPPY),
            Purpose::Passing => builder
                .set_compression(Compression::UNCOMPRESSED)
                .set_dictionary_enabled(false)
                .set_statistics_enabled(EnabledStatistics::None),
        }
        .build()
    }
}

/// Writes the table, which holds what its fields allow.
pub(crate) fn write(
    table: &Table,
    purpose: Purpose,
    target: &mut (impl Write + Send),
) -> std::result::Result<(), Fault> {
    let write = || -> Result<()> {
        let fields = table
            .fields
            .iter()
            .map(schema)
            .collect::<Result<Vec<TypePtr>>>()?;
        let root = Arc::new(Schema::group_type_builder("schema").with_fields(fields).build()?);
        let mut file = SerializedFileWriter::new(target, root, Arc::new(purpose.properties()))?;
        for from in (0..table.rows).step_by(GROUP) {
            let rows = from..table.rows.min(from + GROUP);
            let mut group = file.next_row_group()?;
            for (field, column) in table.fields.iter().zip(&table.columns) {
                Rows {
                    field,
                    column,
                    rows: rows.clone(),
                }
                .write(&mut group)?;
            }
            group.close()?;
        }
        file.close()?;
        Ok(())
    };
    write().map_err(|error| {
        let error = match error {
            ParquetError::External(error) => match error.downcast::<std::io::Error>() {
                Ok(error) => *error,
                Err(error) => std::io::Error::other(error),
            },
            error => std::io::Error::other(error),
        };
        Problem::Unwritable(error).into()
    })
}

/// Bytes that whole numbers with so many digits need.
fn bytes(precision: u8) -> usize {
    let bits = 128 - ten_to(precision).leading_zeros() + 1;
    bits.div_ceil(8) as usize
}

fn physical(kind: Type) -> Physical {
    match kind {
        Type::Bool => Physical::BOOLEAN,
        Type::Int { bits: 64, .. }
        | Type::Timestamp
        | Type::Decimal {
            precision: 10..=18, ..
        } => Physical::INT64,
        Type::Int { .. } | Type::Date | Type::Decimal { precision: 0..=9, .. } => Physical::INT32,
        Type::Decimal { .. } => Physical::FIXED_LEN_BYTE_ARRAY,
        Type::Char(_) => Physical::BYTE_ARRAY,
    }
}

fn schema(field: &Field) -> Result<TypePtr> {
    let physical = physical(field.kind);
    let (logical, digits) = match field.kind {
        Type::Bool => (None, None),
        Type::Int { signed, bits } => (Some(LogicalType::integer(bits as i8, signed)), None),
        Type::Decimal { precision, scale } => (
            Some(LogicalType::decimal(scale.into(), precision.into())),
            Some((precision, scale)),
        ),
        Type::Date => (Some(LogicalType::Date), None),
        Type::Timestamp => (Some(LogicalType::timestamp(true, TimeUnit::MICROS)), None),
        Type::Char(_) => (Some(LogicalType::String), None),
    };
    let mut builder = Schema::primitive_type_builder(&field.name, physical)
        .with_repetition(if field.nullable {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        })
        .with_logical_type(logical);
    if let Some((precision, scale)) = digits {
        builder = builder.with_precision(precision.into()).with_scale(scale.into());
        if physical == Physical::FIXED_LEN_BYTE_ARRAY {
            builder = builder.with_length(bytes(precision) as i32);
        }
    }
    Ok(Arc::new(builder.build()?))
}

/// Some rows of a column.
struct Rows<'a> {
    field: &'a Field,
    column: &'a Column,
    rows: std::ops::Range<usize>,
}

impl Rows<'_> {
    fn write<W: Write + Send>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let rows = self.rows.clone();
        match (&self.column.values, self.field.kind) {
            (Values::Text(width, bytes), _) => {
                let text = |row| ByteArray::from(&*shown(text_of(*width, bytes, row)));
                self.put::<ByteArrayType, W>(group, rows.map(text).collect())
            }
            (Values::Numbers(numbers), kind) => match physical(kind) {
                Physical::BOOLEAN => {
                    let bools = rows.map(|row| numbers.get(row) != 0);
                    self.put::<BoolType, W>(group, bools.collect())
                }
                // Numbers without a sign keep their bits.
                Physical::INT32 => self.put::<Int32Type, W>(group, numbers.low_32(rows)),
                Physical::INT64 => self.put::<Int64Type, W>(group, numbers.low_64(rows)),
                _ => {
                    let Type::Decimal { precision, .. } = kind else {
                        return Err(ParquetError::General(format!("numbers are no {kind}")));
                    };
                    let skipped = 16 - bytes(precision);
                    let number =
                        |row| FixedLenByteArray::from(numbers.get(row).to_be_bytes()[skipped..].to_vec());
                    self.put::<FixedLenByteArrayType, W>(group, rows.map(number).collect())
                }
            },
        }
    }

    /// Writes values, one for each row: those that are not null.
    fn put<T: DataType, W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        mut values: Vec<T::T>,
    ) -> Result<()> {
        let missing = || ParquetError::General("there are more columns than fields".into());
        let mut writer = group.next_column()?.ok_or_else(missing)?;
        let is_there = |row| !self.column.is_null(row);
        if !self.rows.clone().all(is_there) {
            let mut rows = self.rows.clone();
            values.retain(|_| rows.next().is_some_and(is_there));
        }
        let levels: Option<Vec<i16>> = self
            .field
            .nullable
            .then(|| self.rows.clone().map(|row| i16::from(is_there(row))).collect());
        writer
            .typed::<T>()
            .write_batch(&values, levels.as_deref(), None)?;
        writer.close()
    }
}

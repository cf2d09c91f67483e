//! Reading Parquet: column after column, a batch of values at a time.

use std::fs::File;
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use ::parquet::data_type::{DataType, Int96};
use ::parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use ::parquet::file::reader::ChunkReader;
use ::parquet::file::serialized_reader::SerializedPageReader;

use super::fit::{Fit, fit, is_unsigned, natural};
use super::guard::{PageFile, Pages, guarded, problem};
use super::trim::trimmed;
use crate::column::Builder;
use crate::error::{Fault, Problem};
use crate::header::find;
use crate::table::{Field, Table};
use crate::types::Type;

/// Values that are read at once.
const BATCH: usize = 1 << 13;

/// The length of the footer and the mark behind it.
const TAIL: usize = 8;

/// Parts of a file that messages name.
const FOOTER: &str = "its footer";
const COUNT: &str = "the count of its rows";
const PAGE: &str = "a page";

/// The day in which INT96 counts 1970-01-01.
const JULIAN_1970: i128 = 2_440_588;
const NANOS_A_DAY: i128 = 86_400_000_000_000;

/// Reads these columns, which are found by their names.
pub(crate) fn read(file: &File, fields: &[Field], max_rows: usize) -> Result<Table, Fault> {
    read_at(file, fields, max_rows, |names| find(names, fields))
}

/// Reads these columns, which are all that there are, in this order.
pub(crate) fn read_in_order(file: &File, fields: &[Field], max_rows: usize) -> Result<Table, Fault> {
    read_at(file, fields, max_rows, |names| {
        match names.len() == fields.len() {
            true => Ok((0..fields.len()).collect()),
            false => Err(Problem::Damaged(FOOTER)),
        }
    })
}

fn read_at(
    file: &File,
    fields: &[Field],
    max_rows: usize,
    places: impl FnOnce(&[String]) -> Result<Vec<usize>, Problem>,
) -> Result<Table, Fault> {
    let found = Found::new(file, fields, max_rows, places)?;
    let file = &Arc::new(file.try_clone().map_err(Problem::Unreadable)?);
    let mut columns = Vec::with_capacity(fields.len());
    for leaf in &found.leaves {
        let mut column = Builder::new(&leaf.field, found.rows);
        for group in found.footer.row_groups() {
            leaf.guarded(0, &mut column, |column| {
                let rows = of(group)?;
                Chunk::open(file, group, leaf)?.read(rows, column)
            })?;
        }
        columns.push(column.finish());
    }
    Ok(Table {
        fields: fields.to_vec(),
        columns,
        rows: found.rows,
    })
}

/// A column that was found in a file.
struct Leaf {
    field: Field,
    /// Its place among the columns that have values.
    place: usize,
    /// What the file calls it.
    name: String,
    fit: Fit,
}

impl Leaf {
    /// Has `read` read more of it, behind `before` other rows of the table, and says where that fails.
    fn guarded(
        &self,
        before: usize,
        column: &mut Builder,
        read: impl FnOnce(&mut Builder) -> Result<(), Problem>,
    ) -> Result<(), Fault> {
        guarded(PAGE, || read(column)).map_err(|problem| match problem {
            Problem::Codec(_) | Problem::Damaged(_) | Problem::LargePage(_) | Problem::Unreadable(_) => {
                Fault::at_column(&self.name, problem)
            }
            _ => Fault::at_cell(before + column.rows() + 1, &self.name, problem),
        })
    }
}

/// What was found of a file before its values are read.
struct Found {
    footer: ParquetMetaData,
    leaves: Vec<Leaf>,
    rows: usize,
}

impl Found {
    fn new(
        file: &File,
        fields: &[Field],
        max_rows: usize,
        places: impl FnOnce(&[String]) -> Result<Vec<usize>, Problem>,
    ) -> Result<Self, Fault> {
        let footer = footer(file)?;
        let schema = footer.file_metadata().schema_descr();
        let names: Vec<String> = schema
            .root_schema()
            .get_fields()
            .iter()
            .map(|field| field.name().to_owned())
            .collect();
        let mut leaves = Vec::with_capacity(fields.len());
        for (field, place) in fields.iter().zip(places(&names)?) {
            let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == place);
            let leaf = leaf.ok_or(Problem::Damaged(FOOTER))?;
            let at = |problem| Fault::at_column(&names[place], problem);
            leaves.push(Leaf {
                field: field.clone(),
                place: leaf,
                name: names[place].clone(),
                fit: fit(&schema.column(leaf), field.kind).map_err(at)?,
            });
        }
        let rows = rows(&footer, max_rows)?;
        Ok(Found { footer, leaves, rows })
    }
}

/// Rows that are read in their order, some at a time.
pub(crate) struct Reader {
    file: Arc<File>,
    found: Found,
    /// The next group of rows.
    next: usize,
    /// What is not yet read of the columns of the group before it.
    chunks: Vec<Chunk>,
    /// Rows that were read.
    rows: usize,
}

impl Reader {
    /// Finds the columns in a file, which has at most so many rows.
    pub(crate) fn new(file: File, fields: &[Field], max_rows: usize) -> Result<Self, Fault> {
        let found = Found::new(&file, fields, max_rows, |names| find(names, fields))?;
        Ok(Reader {
            file: Arc::new(file),
            found,
            next: 0,
            chunks: Vec::new(),
            rows: 0,
        })
    }

    /// The next rows, at most so many. There are none after the last.
    pub(crate) fn piece(&mut self, most: usize) -> Result<Table, Fault> {
        let Found { footer, leaves, .. } = &self.found;
        let groups = footer.row_groups();
        while self.chunks.first().is_none_or(|chunk| chunk.left == 0)
            && let Some(group) = groups.get(self.next)
        {
            self.next += 1;
            let opened = leaves.iter().map(|leaf| {
                let open = || Chunk::open(&self.file, group, leaf);
                guarded(PAGE, open).map_err(|problem| Fault::at_column(&leaf.name, problem))
            });
            self.chunks = opened.collect::<Result<_, _>>()?;
        }
        let rows = self.chunks.first().map_or(0, |chunk| chunk.left.min(most));
        let mut columns = Vec::with_capacity(leaves.len());
        for (leaf, chunk) in leaves.iter().zip(&mut self.chunks) {
            let mut column = Builder::new(&leaf.field, rows);
            leaf.guarded(self.rows, &mut column, |column| chunk.read(rows, column))?;
            columns.push(column.finish());
        }
        if columns.is_empty() {
            columns.extend(leaves.iter().map(|leaf| Builder::new(&leaf.field, 0).finish()));
        }
        self.rows += rows;
        Ok(Table {
            fields: leaves.iter().map(|leaf| leaf.field.clone()).collect(),
            columns,
            rows,
        })
    }
}

/// The name of a column, and the type that it is best read as, or else what it holds.
type Natural = (String, Result<Type, String>);

/// The columns of a file.
pub(crate) fn columns(file: &File) -> Result<Vec<Natural>, Fault> {
    let footer = footer(file)?;
    let schema = footer.file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields().iter().enumerate();
    let columns = fields.map(|(place, field)| {
        let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == place);
        let kind = leaf.map_or(Err("empty".into()), |leaf| natural(&schema.column(leaf)));
        (field.name().to_owned(), kind)
    });
    Ok(columns.collect())
}

fn footer(file: &File) -> Result<ParquetMetaData, Problem> {
    let length = file.metadata().map_err(Problem::Unreadable)?.len();
    let unread = |error| problem(error, FOOTER);
    let start = length.checked_sub(TAIL as u64).ok_or(Problem::Damaged(FOOTER))?;
    let tail = file.get_bytes(start, TAIL).map_err(unread)?;
    match &tail[4..] {
        b"PAR1" => (),
        b"PARE" => return Err(Problem::Encrypted),
        _ => return Err(Problem::Damaged(FOOTER)),
    }
    let size = tail.first_chunk().map_or(0, |size| u32::from_le_bytes(*size));
    let start = start.checked_sub(size.into()).ok_or(Problem::Damaged(FOOTER))?;
    let bytes = file.get_bytes(start, size as usize).map_err(unread)?;
    let decoded = |bytes: &[u8]| {
        guarded(FOOTER, || {
            ParquetMetaDataReader::decode_metadata(bytes).map_err(unread)
        })
    };
    decoded(&bytes).or_else(|problem| match trimmed(&bytes) {
        Some(needed) => decoded(&needed),
        None => Err(problem),
    })
}

/// All rows of the file, which are no more than this.
fn rows(footer: &ParquetMetaData, max_rows: usize) -> Result<usize, Problem> {
    let mut rows = 0usize;
    for group in footer.row_groups() {
        rows = rows.checked_add(of(group)?).ok_or(Problem::Damaged(COUNT))?;
    }
    if usize::try_from(footer.file_metadata().num_rows()) != Ok(rows) {
        return Err(Problem::Damaged(COUNT));
    }
    match rows <= max_rows {
        true => Ok(rows),
        false => Err(Problem::TooManyRows(max_rows)),
    }
}

fn of(group: &RowGroupMetaData) -> Result<usize, Problem> {
    usize::try_from(group.num_rows()).map_err(|_| Problem::Damaged(COUNT))
}

/// What a group of rows has of a column, as far as it is not yet read.
struct Chunk {
    /// Nothing where all are null.
    reader: Option<ColumnReader>,
    fit: Fit,
    kind: Type,
    unsigned: bool,
    optional: bool,
    left: usize,
}

impl Chunk {
    fn open(file: &Arc<File>, group: &RowGroupMetaData, leaf: &Leaf) -> Result<Self, Problem> {
        let chunk = &without_false_dictionary(group.column(leaf.place))?;
        check_codec(chunk.compression())?;
        let rows = of(group)?;
        let mut opened = Chunk {
            reader: None,
            fit: leaf.fit,
            kind: leaf.field.kind,
            unsigned: false,
            optional: true,
            left: rows,
        };
        if leaf.fit == Fit::Nulls {
            return Ok(opened);
        }
        let source = Arc::new(PageFile::new(file, rows).map_err(Problem::Unreadable)?);
        let pages =
            SerializedPageReader::new(source, chunk, rows, None).map_err(|error| problem(error, PAGE))?;
        let descriptor = chunk.column_descr_ptr();
        let pages = Pages::new(pages, &descriptor, rows);
        opened.unsigned = is_unsigned(&descriptor);
        opened.optional = descriptor.max_def_level() > 0;
        opened.reader = Some(get_column_reader(descriptor, Box::new(pages)));
        Ok(opened)
    }

    /// Reads the next rows, of which there are so many.
    fn read(&mut self, rows: usize, column: &mut Builder) -> Result<(), Problem> {
        let (fit, kind, unsigned) = (self.fit, self.kind, self.unsigned);
        let before = column.rows();
        let Some(reader) = &mut self.reader else {
            self.left -= rows;
            return (0..rows).try_for_each(|_| column.null());
        };
        let drain = Drain {
            rows,
            optional: self.optional,
            column: &mut *column,
        };
        let number = |column: &mut Builder, number: i128| push(column, fit, kind, number);
        match reader {
            ColumnReader::BoolColumnReader(reader) => drain.all(reader, |column, &value| match fit {
                Fit::Truth => column.number(value.into()),
                _ => Err(Problem::Damaged(PAGE)),
            }),
            ColumnReader::Int32ColumnReader(reader) => drain.all(reader, |column, &value| match unsigned {
                true => number(column, (value as u32).into()),
                false => number(column, value.into()),
            }),
            ColumnReader::Int64ColumnReader(reader) => drain.all(reader, |column, &value| match unsigned {
                true => number(column, (value as u64).into()),
                false => number(column, value.into()),
            }),
            ColumnReader::Int96ColumnReader(reader) => {
                drain.all(reader, |column, value| number(column, nanos(value)))
            }
            ColumnReader::ByteArrayColumnReader(reader) => drain.all(reader, |column, value| match fit {
                Fit::Text => column.text(value.data()),
                _ => number(column, whole(value.data()).ok_or(Problem::Range(kind))?),
            }),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                drain.all(reader, |column, value| match fit {
                    Fit::Uuid => column.text(uuid(value.data()).as_bytes()),
                    _ => number(column, whole(value.data()).ok_or(Problem::Range(kind))?),
                })
            }
            ColumnReader::FloatColumnReader(reader) => drain.all(reader, |column, &value| {
                column.number(of_fraction(value.into(), f32::MANTISSA_DIGITS, kind)?)
            }),
            ColumnReader::DoubleColumnReader(reader) => drain.all(reader, |column, &value| {
                column.number(of_fraction(value, f64::MANTISSA_DIGITS, kind)?)
            }),
        }?;
        self.left -= rows;
        match column.rows() - before == rows {
            true => Ok(()),
            false => Err(Problem::Damaged(COUNT)),
        }
    }
}

/// Writers that mean that a column has no dictionary may say that its dictionary is at 0, where the mark of the file is.
fn without_false_dictionary(chunk: &ColumnChunkMetaData) -> Result<ColumnChunkMetaData, Problem> {
    if chunk.dictionary_page_offset() != Some(0) {
        return Ok(chunk.clone());
    }
    let builder = chunk.clone().into_builder().set_dictionary_page_offset(None);
    builder.build().map_err(|error| problem(error, FOOTER))
}

fn check_codec(codec: Compression) -> Result<(), Problem> {
    match codec {
        Compression::LZO => Err(Problem::Codec("lzo")),
        _ => Ok(()),
    }
}

/// The whole number that a binary fraction is. With more bits than it has digits it may be rounded, and is refused.
fn of_fraction(value: f64, digits: u32, kind: Type) -> Result<i128, Problem> {
    let limit = 2f64.powi(digits as i32);
    match value.fract() == 0.0 {
        true if value.abs() <= limit => Ok(value as i128),
        true => Err(Problem::Range(kind)),
        false => Err(Problem::Form(kind)),
    }
}

/// The text of a UUID.
fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}

fn push(column: &mut Builder, fit: Fit, kind: Type, number: i128) -> Result<(), Problem> {
    match fit {
        Fit::Times(1) => column.number(number),
        Fit::Times(factor) => column.number(number.checked_mul(factor).ok_or(Problem::Range(kind))?),
        Fit::Divided(divisor) if number % divisor == 0 => column.number(number / divisor),
        Fit::Divided(_) => Err(Problem::Places(kind)),
        Fit::Days(length) if number % length == 0 => column.number(number / length),
        Fit::Days(_) => Err(Problem::NotMidnight),
        Fit::Truth | Fit::Text | Fit::Uuid | Fit::Whole | Fit::Nulls => Err(Problem::Damaged(PAGE)),
    }
}

/// Nanoseconds since 1970.
fn nanos(value: &Int96) -> i128 {
    let &[low, high, day] = value.data() else {
        return 0;
    };
    let of_day = u64::from(high) << 32 | u64::from(low);
    (i128::from(day) - JULIAN_1970) * NANOS_A_DAY + i128::from(of_day)
}

/// A whole number of any number of bytes, the highest first, in two's complement; nothing if 128 bits do not hold it.
fn whole(bytes: &[u8]) -> Option<i128> {
    let fill = if *bytes.first()? < 0x80 { 0 } else { 0xff };
    let (head, tail) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut number = [fill; 16];
    number[16 - tail.len()..].copy_from_slice(tail);
    let number = i128::from_be_bytes(number);
    (head.iter().all(|&byte| byte == fill) && (number < 0) == (fill != 0)).then_some(number)
}

struct Drain<'a> {
    rows: usize,
    optional: bool,
    column: &'a mut Builder,
}

impl Drain<'_> {
    /// Reads so many rows.
    fn all<T: DataType>(
        self,
        reader: &mut ColumnReaderImpl<T>,
        push: impl Fn(&mut Builder, &T::T) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut left = self.rows;
        while left > 0 {
            levels.clear();
            values.clear();
            let levels_of = self.optional.then_some(&mut levels);
            let read = reader.read_records(left.min(BATCH), levels_of, None, &mut values);
            let (records, _, _) = read.map_err(|error| problem(error, PAGE))?;
            left = left
                .checked_sub(records)
                .filter(|_| records > 0)
                .ok_or(Problem::Damaged(COUNT))?;
            if !self.optional {
                values.iter().try_for_each(|value| push(self.column, value))?;
                continue;
            }
            let mut values = values.iter();
            for &level in &levels {
                match level {
                    0 => self.column.null()?,
                    _ => push(self.column, values.next().ok_or(Problem::Damaged(PAGE))?)?,
                }
            }
        }
        Ok(())
    }
}

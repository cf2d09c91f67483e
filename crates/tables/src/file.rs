//! Tables in files.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Fault, Problem};
use crate::parquet::Purpose;
use crate::table::{Column, Field, Table, Values};
use crate::text::{shown, text_of};
use crate::{csv, parquet};

/// What a Parquet file begins and ends with.
const PARQUET: [u8; 4] = *b"PAR1";

/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the columns `fields` of the file at `path`, which has at most `max_rows` rows. The file is Parquet if its name ends in `.parquet`, or
/// if it begins and ends as Parquet files do. Otherwise it is CSV with a header, which may be compressed with gzip.
///
/// A column is found by its name. If no column has exactly that name, capitals do not count. Other columns are not looked at.
///
/// In CSV:
/// - An empty cell is null; in a column of text, only one without quotes: two quotes are the empty text. Blanks alone are null as well, except in a
///   text.
/// - Blanks around a number, bool, date or timestamp do not count. Text is taken as it is.
/// - A bool is `true`, `t`, `yes` or `1`, or `false`, `f`, `no` or `0`. Capitals do not count.
/// - A number may have fewer places than its type, more if these are zeros, and an exponent: `1.5e3`.
/// - A date is `2024-01-31`, or the beginning of that day as a timestamp.
/// - A timestamp is `2024-01-31 12:30:00.123456`. The seconds, their fraction, or the time may be left out, and `T` may stand for the blank. At the
///   end may stand `Z`, `UTC`, or an offset such as `+02:00`, `+0200` or `+02`; without any of these it is in UTC.
/// - Lines end in LF or CR LF. A blank line is a row of nulls in a file with one column, and no row in others. A byte order mark at the beginning is
///   skipped.
///
/// In Parquet:
/// - Integers of all widths are read as integers, and so are decimals without places.
/// - Decimals of all sizes and scales are read as decimals. Integers are, if the type has no places.
/// - Timestamps of all units are read, in UTC if the file names no zone.
/// - Dates, bools and strings are read as such. Dates are also read as timestamps, and timestamps at midnight as dates.
/// - UUIDs are read as text of 36 bytes.
/// - Floating-point numbers are read as integers, if they are whole and no larger than such numbers hold exactly.
///
/// Text is UTF-8 without zero bytes.
///
/// # Errors
/// The place in the file and what is wrong there. What the cells hold is not told.
pub fn read(path: &Path, fields: &[Field], max_rows: usize) -> Result<Table, Error> {
    let file = open(path).map_err(|problem| Fault::from(problem).of(path))?;
    read_open(file, path, fields, max_rows)
}

/// The same of a file that is open, which complaints call `path`.
///
/// # Errors
/// As [`read`].
pub fn read_open(mut file: File, path: &Path, fields: &[Field], max_rows: usize) -> Result<Table, Error> {
    let mut read = || match Format::of(&mut file, path).map_err(Problem::Unreadable)? {
        Format::Parquet => parquet::read(&file, fields, max_rows),
        Format::Gzip => csv::read(MultiGzDecoder::new(&file), fields, max_rows),
        Format::Csv => csv::read(&file, fields, max_rows),
    };
    read().map_err(|fault: Fault| fault.of(path))
}

pub(crate) enum Format {
    Parquet,
    Gzip,
    Csv,
}

impl Format {
    pub(crate) fn of(file: &mut File, path: &Path) -> io::Result<Self> {
        if ends_in(path, "parquet") || looks_like_parquet(file)? {
            return Ok(Format::Parquet);
        }
        Ok(match is_gzip(file)? {
            true => Format::Gzip,
            false => Format::Csv,
        })
    }
}

/// Calls `note` with the cells of each record of a CSV file. Gives the names of the columns.
pub(crate) fn each_record(
    file: &mut File,
    path: &Path,
    note: &mut dyn FnMut(&[csv::Cell<'_>]),
) -> Result<Vec<String>, Fault> {
    match Format::of(file, path).map_err(Problem::Unreadable)? {
        Format::Gzip => csv::each_record(MultiGzDecoder::new(&*file), note),
        Format::Csv | Format::Parquet => csv::each_record(&*file, note),
    }
}

/// The rows of a file, which are read in their order, some at a time: as many columns and rows as [`read`] would read, in the memory of a piece.
pub struct Pieces {
    path: PathBuf,
    reader: Reader,
}

enum Reader {
    Parquet(parquet::Reader),
    Csv(csv::Reader<Box<dyn Read>>),
}

impl Pieces {
    /// Opens the file at `path`, which has at most `max_rows` rows, and finds the columns `fields` in it.
    ///
    /// # Errors
    /// As [`read`].
    pub fn open(path: &Path, fields: &[Field], max_rows: usize) -> Result<Self, Error> {
        let opened = || {
            let mut file = open(path)?;
            let source: Box<dyn Read> = match Format::of(&mut file, path).map_err(Problem::Unreadable)? {
                Format::Parquet => {
                    return Ok(Reader::Parquet(parquet::Reader::new(file, fields, max_rows)?));
                }
                Format::Gzip => Box::new(MultiGzDecoder::new(file)),
                Format::Csv => Box::new(file),
            };
            Ok(Reader::Csv(csv::Reader::new(source, fields, max_rows)?))
        };
        Ok(Pieces {
            path: path.to_owned(),
            reader: opened().map_err(|fault: Fault| fault.of(path))?,
        })
    }

    /// The next rows, at most so many; nothing after the last.
    ///
    /// # Errors
    /// As [`read`].
    pub fn next(&mut self, most: usize) -> Result<Option<Table>, Error> {
        let piece = match &mut self.reader {
            Reader::Parquet(reader) => reader.piece(most),
            Reader::Csv(reader) => reader.piece(most),
        };
        let piece = piece.map_err(|fault| fault.of(&self.path))?;
        Ok((piece.rows > 0).then_some(piece))
    }
}

/// The same of CSV from anywhere, which complaints call `name`.
///
/// # Errors
/// As [`read`].
pub fn read_csv(source: impl Read, name: &str, fields: &[Field], max_rows: usize) -> Result<Table, Error> {
    csv::read(source, fields, max_rows).map_err(|fault| fault.of(Path::new(name)))
}

/// Writes a table to a new file at `path`, which ends in `.csv` or `.parquet`. Either the whole file is written or none. It replaces a regular
/// file that was there before. On Unix only the owner may read it (mode 0600).
///
/// In CSV, a null is an empty cell, and an empty text is two quotes, as [`read`] takes them. In Parquet, columns have types that Arrow has
/// too, and are compressed with snappy.
///
/// Text that is no UTF-8, or has zero bytes in it, is written with these bytes replaced: an owner that cheats may have given it. How many cells
/// that befell is returned.
///
/// # Errors
/// The file cannot be written, or the table holds numbers or nulls that its fields do not allow.
pub fn write(path: &Path, table: &Table) -> Result<usize, Error> {
    let write = || {
        let is_csv = ends_in(path, "csv");
        if !is_csv && !ends_in(path, "parquet") {
            return Err(Problem::NoFormat.into());
        }
        check(table)?;
        let file = in_place_of(path)?;
        let mut target = BufWriter::new(file.as_file());
        match is_csv {
            true => csv::write(table, &mut target)?,
            false => parquet::write(table, Purpose::Keeping, &mut target)?,
        }
        target.flush().map_err(Problem::Unwritable)?;
        drop(target);
        file.as_file().sync_all().map_err(Problem::Unwritable)?;
        file.persist(path)
            .map_err(|error| Problem::Unwritable(error.error))?;
        Ok(mangled(table))
    };
    write().map_err(|fault: Fault| fault.of(path))
}

/// A table as the bytes of the Parquet file that [`write()`] writes. Complaints call it `name`.
///
/// # Errors
/// The table holds numbers or nulls that its fields do not allow.
pub fn parquet_of(table: &Table, name: &str) -> Result<Vec<u8>, Error> {
    let write = || {
        check(table)?;
        let mut bytes = Vec::new();
        parquet::write(table, Purpose::Keeping, &mut bytes)?;
        Ok(bytes)
    };
    write().map_err(|fault: Fault| fault.of(Path::new(name)))
}

/// Writes a table, which holds what its fields allow, to `file` as Parquet that another process of this machine reads at once: not compressed, and nobody waits
/// for the disk.
///
/// # Errors
/// The file cannot be written.
pub fn pass_on(file: &File, table: &Table) -> io::Result<()> {
    let mut target = BufWriter::new(file);
    match parquet::write(table, Purpose::Passing, &mut target) {
        Ok(()) => target.flush(),
        Err(fault) => Err(io::Error::other(fault.problem)),
    }
}

/// Reads a Parquet file at `path` that has exactly these columns, in this order, whatever their names are.
///
/// # Errors
/// As [`read`]; that it has another number of columns.
pub fn read_in_order(path: &Path, fields: &[Field], max_rows: usize) -> Result<Table, Error> {
    let read = || parquet::read_in_order(&open(path)?, fields, max_rows);
    read().map_err(|fault: Fault| fault.of(path))
}

/// Opens a file that is one. Pipes are turned away unopened: opening one would wait for its writer.
pub(crate) fn open(path: &Path) -> Result<File, Problem> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Problem::NotFound,
        _ => Problem::Unreadable(error),
    };
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Problem::NotAFile);
    }
    File::open(path).map_err(unreadable)
}

/// A new file for its owner only in the folder of `path`. It goes away when dropped.
///
/// # Errors
/// That none can be made.
pub fn beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .prefix(".cenote-")
        .tempfile_in(folder)
        .map_err(|error| {
            let what = format!("no file can be made in its folder ({})", error.kind());
            io::Error::new(error.kind(), what)
        })
}

/// A file that can take the place of the one at `path`.
fn in_place_of(path: &Path) -> Result<tempfile::NamedTempFile, Problem> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => return Err(Problem::NotAFile),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Problem::Unwritable(error)),
        _ => (),
    }
    beside(path).map_err(Problem::Unwritable)
}

fn ends_in(path: &Path, end: &str) -> bool {
    path.extension()
        .is_some_and(|there| there.eq_ignore_ascii_case(end))
}

fn looks_like_parquet(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() < 12 {
        return Ok(false);
    }
    let (mut first, mut last) = ([0; 4], [0; 4]);
    file.read_exact(&mut first)?;
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut last)?;
    file.rewind()?;
    Ok(first == PARQUET && last == PARQUET)
}

fn is_gzip(file: &mut File) -> io::Result<bool> {
    let mut first = Vec::new();
    (&mut *file).take(GZIP.len() as u64).read_to_end(&mut first)?;
    file.rewind()?;
    Ok(first == GZIP)
}

/// Whether the table holds what its fields allow, text aside.
fn check(table: &Table) -> Result<(), Fault> {
    for (field, column) in table.fields.iter().zip(&table.columns) {
        let range = field.kind.range();
        for row in 0..table.rows {
            let problem = match &column.values {
                _ if column.is_null(row) => (!field.nullable).then_some(Problem::Null),
                Values::Numbers(numbers) => match range {
                    Some((least, most)) if (least..=most).contains(&numbers.get(row)) => None,
                    _ => Some(Problem::Range(field.kind)),
                },
                Values::Text(..) => None,
            };
            if let Some(problem) = problem {
                return Err(Fault::at_cell(row + 1, &field.name, problem));
            }
        }
    }
    Ok(())
}

/// How many cells of text have bytes that no text has.
fn mangled(table: &Table) -> usize {
    let of = |column: &Column| match &column.values {
        Values::Numbers(_) => 0,
        Values::Text(width, bytes) => (0..table.rows)
            .filter(|&row| {
                !column.is_null(row) && matches!(shown(text_of(*width, bytes, row)), Cow::Owned(_))
            })
            .count(),
    };
    table.columns.iter().map(of).sum()
}

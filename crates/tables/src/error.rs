//! What goes wrong with a file of a table.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::text::{format_value, places};
use crate::types::Type;

/// Most names of columns that a message lists, and most characters of each.
const MAX_NAMES: usize = 40;
const MAX_NAME_CHARS: usize = 64;

/// What goes wrong with a file: which file, where in it, and what. It never tells what a cell holds.
#[derive(Debug, thiserror::Error)]
#[error("{}: {place}{problem}", path.display())]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// What is wrong, and what to do.
    pub problem: Box<Problem>,
}

/// A place in a file, as far as one is to blame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The row, from 1, not counting the header and blank lines.
    pub row: Option<usize>,
    /// The line on which the row begins, from 1; of CSV only.
    pub line: Option<usize>,
    /// The column, as the reader or writer of the file calls it.
    pub column: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row.map(|row| match self.line {
            Some(line) => format!("row {row} (line {line})"),
            None => format!("row {row}"),
        });
        let line = self.line.map(|line| format!("line {line}"));
        let column = self.column.as_ref().map(|name| format!("column {}", plain(name)));
        let parts: Vec<String> = row.or(line).into_iter().chain(column).collect();
        match parts.is_empty() {
            true => Ok(()),
            false => write!(f, "{}: ", parts.join(", ")),
        }
    }
}

/// What is wrong with a file, or a place in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Nothing has this name.
    #[error("there is no such file")]
    NotFound,
    /// What has this name is a folder, a pipe or a device.
    #[error("is not a regular file; name a file that holds a table")]
    NotAFile,
    /// The name of a file to write does not say which kind it is.
    #[error("ends in neither .csv nor .parquet; choose one of these endings")]
    NoFormat,
    /// The file cannot be opened or read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// The file cannot be written.
    #[error("cannot be written: {0}")]
    Unwritable(io::Error),
    /// A CSV file has nothing in it.
    #[error("is empty; its first line must name the columns")]
    NoHeader,
    /// A CSV file has none of the columns. Its first line is not quoted: without a header it holds values.
    #[error("has none of the columns {}; its first line must list the names of the columns, with commas between them", names(.0))]
    NoColumns(Vec<String>),
    /// A column is missing.
    #[error("has no column {}; its columns are {}", plain(.name), names(.there))]
    Missing {
        /// The column.
        name: String,
        /// Those that the file has.
        there: Vec<String>,
    },
    /// Several columns have a name that is asked for.
    #[error("has {count} columns named {}; keep one of them, or rename the others", plain(.name))]
    Duplicate {
        /// The name.
        name: String,
        /// How many columns have it.
        count: usize,
    },
    /// A name fits several columns unless capitals count, and fits none exactly.
    #[error("has no column {}, but several that differ from it in capitals only: {}; use the exact name of one", plain(.name), names(.there))]
    Ambiguous {
        /// The name.
        name: String,
        /// Those that it could be.
        there: Vec<String>,
    },
    /// There are more rows than were agreed.
    #[error("there are more than {0} rows, which is `max_rows` of the job; leave rows out, or agree on more")]
    TooManyRows(usize),
    /// A row has too few fields or too many.
    #[error("has {found} fields, but the header has {expected}; put quotes around text with a comma in it")]
    Ragged {
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A quote is opened and never closed.
    #[error("opens a quote that is never closed; add the closing quote")]
    OpenQuote,
    /// Something follows a closing quote.
    #[error("has text after a closing quote; write a quote inside quoted text twice")]
    BehindQuote,
    /// A row is longer than any row should be.
    #[error("is longer than {} MiB; look for a quote that is opened and never closed", .0 >> 20)]
    LongRow(usize),
    /// There is no value where one is needed.
    #[error("is empty, but the column is declared `not null`; fill it in, or leave `not null` out")]
    Null,
    /// A cell cannot be read as its type.
    #[error("is not a value of type {0}; write {hint}", hint = hint(*.0))]
    Form(Type),
    /// A number has more places than its type.
    #[error("has more than {places} decimal places, the most that {0} holds; round it", places = places(*.0))]
    Places(Type),
    /// A number or day is outside its type.
    #[error("is out of range for {0}, which holds {range}", range = range(*.0))]
    Range(Type),
    /// A day or time has the right form, but no calendar or clock has it.
    #[error("is not a valid {0}: there is no such day or time")]
    Calendar(Type),
    /// A moment is in a column of days, and is not the beginning of one.
    #[error(
        "has a time of day, but is declared date; declare timestamp, and write CAST(… AS date) in the query"
    )]
    NotMidnight,
    /// A text is too long.
    #[error("is longer than {0} bytes, the most that char({0}) holds; shorten it, or declare a longer type")]
    TooLong(u16),
    /// A text is not UTF-8.
    #[error("is not UTF-8 text; save the file as UTF-8")]
    NotUtf8,
    /// A text has zero bytes in it.
    #[error("contains a zero byte, which text cannot have; remove it")]
    ZeroByte,
    /// A column of a Parquet file has a type that does not fit.
    #[error("is {there} in the file, but declared {kind}; {hint}", hint = cast(.there, *.kind))]
    WrongType {
        /// Its type in the file.
        there: String,
        /// Its type as declared.
        kind: Type,
    },
    /// A column is compressed in a way that is not read.
    #[error(
        "is compressed with {0}, which is not supported; write the file with snappy, zstd, gzip, brotli, lz4_raw or no compression"
    )]
    Codec(&'static str),
    /// A Parquet file is encrypted.
    #[error("is encrypted, which is not supported; write the file without encryption")]
    Encrypted,
    /// A Parquet file is damaged. What the damaged bytes say is not quoted: they may be values.
    #[error("is not a valid Parquet file ({0} is damaged); write or copy it again")]
    Damaged(&'static str),
    /// A page of a Parquet file is far larger than its rows need.
    #[error("has a page of more than {} MiB; write the file with smaller pages", .0 >> 20)]
    LargePage(usize),
}

/// A problem and its place, in a file that the caller knows.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) problem: Problem,
}

impl Fault {
    pub(crate) fn at_column(column: &str, problem: Problem) -> Self {
        let column = Some(column.to_owned());
        Fault {
            place: Place {
                column,
                ..Place::default()
            },
            problem,
        }
    }

    pub(crate) fn at_cell(row: usize, column: &str, problem: Problem) -> Self {
        let place = Place {
            row: Some(row),
            line: None,
            column: Some(column.to_owned()),
        };
        Fault { place, problem }
    }

    pub(crate) fn of(self, path: &std::path::Path) -> Error {
        Error {
            path: path.to_owned(),
            place: self.place,
            problem: Box::new(self.problem),
        }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Fault {
            place: Place::default(),
            problem,
        }
    }
}

/// A name from a file, fit for one line of a message.
fn plain(name: &str) -> String {
    let mut chars = name.chars();
    let short: String = chars.by_ref().take(MAX_NAME_CHARS).map(printable).collect();
    short + if chars.next().is_some() { "…" } else { "" }
}

/// The character, or one that stands for it if it would steer a screen, or the direction of what is written.
pub fn printable(char: char) -> char {
    let steers = matches!(
        char,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    match char.is_control() || steers {
        true => char::REPLACEMENT_CHARACTER,
        false => char,
    }
}

fn names(all: &[String]) -> String {
    let mut text = all
        .iter()
        .take(MAX_NAMES)
        .map(|name| plain(name))
        .collect::<Vec<_>>()
        .join(", ");
    if all.len() > MAX_NAMES {
        text += &format!(" and {} more", all.len() - MAX_NAMES);
    }
    text
}

/// How a value of a type is written.
fn hint(kind: Type) -> String {
    match kind {
        Type::Bool => "true or false".into(),
        Type::Int { .. } => "a whole number, such as 42".into(),
        Type::Decimal { precision, scale } => {
            let whole = match precision - scale {
                0 => "0",
                1..=3 => "1",
                _ => "1250",
            };
            match scale {
                0 => format!("digits without a point, such as {whole}"),
                _ => format!(
                    "digits with at most {scale} decimal places, such as {whole}.{}",
                    "0".repeat(scale.into())
                ),
            }
        }
        Type::Date => "it as 2024-01-31".into(),
        Type::Timestamp => {
            "it as 2024-01-31 12:30:00 in UTC, or with an offset such as +02:00 at the end".into()
        }
        Type::Char(_) => "text".into(),
    }
}

fn range(kind: Type) -> String {
    match kind.range() {
        Some((least, most)) => format!("{} to {}", format_value(kind, least), format_value(kind, most)),
        None => kind.to_string(),
    }
}

/// What to do about a column with another type.
fn cast(there: &str, kind: Type) -> String {
    match (there, kind) {
        ("float16" | "float" | "double", Type::Decimal { .. }) => {
            format!("binary fractions are not exact, so cast it to {kind} before you write the file")
        }
        _ => format!("cast it to {kind} before you write the file, or declare the type that it has"),
    }
}

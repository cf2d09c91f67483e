//! Tables whose columns nobody has declared: each gets the type that fits what it holds.

use std::path::Path;

use crate::error::{Error, Fault, Problem};
use crate::file::open;
use crate::table::{Column, Field, Table, Values};
use crate::types::{MAX_CHARS, Type};
use crate::{parquet, text};

/// A table whose columns were not declared.
#[derive(Debug)]
pub struct Inferred {
    /// The table: its fields have the types that were found, and may be null where they are somewhere.
    pub table: Table,
    /// Columns that no type fits, each with the reason.
    pub left_out: Vec<(String, String)>,
}

/// The type of texts of at most so many bytes: that number is rounded up to a power of two, since the type is public.
///
/// # Errors
/// That there is no type of such texts.
pub fn chars(longest: usize) -> Result<Type, String> {
    let most = usize::from(MAX_CHARS);
    match longest.next_power_of_two() {
        bytes if longest <= most => Ok(Type::Char(bytes.min(most) as u16)),
        _ => Err(format!(
            "it has a text of more than {most} bytes, which is what char(n) holds at most"
        )),
    }
}

/// Why a column that pandas has added is none of the table.
pub const INDEX: &str = "it is the index of a data frame of pandas, whose reset_index() makes it a column";

/// Whether pandas has given a column this name, to keep an index that has none.
pub fn is_index(name: &str) -> bool {
    let number = name
        .strip_prefix("__index_level_")
        .and_then(|rest| rest.strip_suffix("__"));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads all columns of the Parquet file at `path` that there are types for, of at most `max_rows` rows. Floating-point numbers are read if they are whole.
///
/// # Errors
/// As [`read`](crate::read).
pub fn read_parquet(path: &Path, max_rows: usize) -> Result<Inferred, Error> {
    let of = |fault: Fault| fault.of(path);
    let file = open(path).map_err(|problem| of(problem.into()))?;
    let (mut fields, mut columns, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows = 0;
    for (name, kind) in parquet::columns(&file).map_err(of)? {
        if is_index(&name) {
            left_out.push((name, INDEX.into()));
            continue;
        }
        let kind = match kind {
            Ok(kind) => kind,
            Err(held) => {
                left_out.push((name, format!("{held} has no type here")));
                continue;
            }
        };
        let field = Field {
            name: name.clone(),
            kind,
            nullable: true,
        };
        let read = parquet::read(&file, std::slice::from_ref(&field), max_rows);
        match read {
            Ok(mut table) => {
                rows = table.rows;
                let (Some(column), Some(field)) = (table.columns.pop(), table.fields.pop()) else {
                    continue;
                };
                let (field, column) = fitted(field, column);
                fields.push(field);
                columns.push(column);
            }
            // Of values that the type does not hold, whatever the row, there is no such table; of others, no file.
            Err(fault) => match fault.problem {
                Problem::TooLong(_) | Problem::Form(_) | Problem::Places(_) | Problem::Range(_) => {
                    left_out.push((name, format!("{}{}", fault.place, fault.problem)));
                }
                _ => return Err(of(fault)),
            },
        }
    }
    let table = Table {
        fields,
        columns,
        rows,
    };
    Ok(Inferred { table, left_out })
}

/// A column with its type no wider than it must be.
fn fitted(mut field: Field, column: Column) -> (Field, Column) {
    field.nullable = column.nulls.is_some();
    let Values::Text(width, bytes) = &column.values else {
        return (field, column);
    };
    let texts = || (0..column.values.rows()).map(|row| text::text_of(*width, bytes, row));
    let longest = texts().map(<[u8]>::len).max().unwrap_or(0);
    let Ok(Type::Char(narrow)) = chars(longest) else {
        return (field, column);
    };
    let narrow_width = usize::from(narrow);
    let mut narrowed = Vec::with_capacity(narrow_width * column.values.rows());
    for text in texts() {
        narrowed.extend_from_slice(text);
        narrowed.resize(narrowed.len() + narrow_width - text.len(), 0);
    }
    field.kind = Type::Char(narrow);
    let column = Column {
        values: Values::Text(narrow_width, narrowed),
        nulls: column.nulls,
    };
    (field, column)
}

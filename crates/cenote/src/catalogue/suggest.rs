//! A draft of `catalogue.toml`, from the files of the tables, for a person to read and to change.

use std::fmt::Write as _;
use std::path::Path;

use cenote_net::PartyId;
use cenote_query::{Declared, MAX_ROWS};
use cenote_tables::{guess, printable, unique_columns};

use super::published::{Limits, PublishedTable, is_column_name};
use super::words::quoted;
use crate::{Error, Result};

/// The entry of a table whose rows are in the file at `path`.
///
/// # Errors
/// [`Error::Table`] with the place where the file cannot be read.
pub fn suggest(path: &Path) -> Result<String> {
    let found = guess(path, MAX_ROWS)?;
    let mut left_out: Vec<(String, String)> = found.left_out;
    let fields = found.table.fields.iter().filter(|field| {
        let fits = is_column_name(&field.name);
        if !fits {
            left_out.push((
                field.name.clone(),
                "its name has signs that names in a catalogue cannot have".into(),
            ));
        }
        fits
    });
    let fields: Vec<_> = fields.cloned().collect();
    if fields.is_empty() {
        let what = format!("{}: no column of it can be published", path.display());
        return Err(Error::Table(what));
    }
    let unique = unique_columns(&found.table).into_iter();
    let unique = unique
        .filter(|name| is_column_name(name))
        .map(|name| vec![name.to_owned()]);
    let declared = Declared {
        name: table_name(path),
        party: PartyId(0),
        fields,
        max_rows: more_than(found.table.rows),
        unique: unique.collect(),
        at_most: [].into(),
        distinct: [].into(),
        below: [].into(),
        values: [].into(),
        same_rows_as: None,
    };
    let table = PublishedTable::of(&declared, Limits::Free);
    let mut text = String::new();
    for (name, why) in left_out {
        let line: String = format!("left out, {name}: {why}")
            .chars()
            .map(printable)
            .collect();
        let _ = writeln!(text, "# {line}");
    }
    let declaration = table
        .declaration(&table.name, 0, None)
        .replacen("party = 0\n", "", 1);
    let data = path.file_name().unwrap_or_default().to_string_lossy();
    let _ = write!(text, "{declaration}data = {}\nto = \"all\"\n", quoted(&data));
    Ok(text)
}

/// The file's name without its ending, as far as a name of a table can have its letters.
fn table_name(path: &Path) -> String {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default();
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    let name: String = stem.chars().map(letter).take(60).collect();
    match name.is_empty() {
        true => "table".into(),
        false => name,
    }
}

/// A round number of rows, with room for a quarter more than there are.
fn more_than(rows: usize) -> usize {
    let wanted = (rows + rows / 4).max(10);
    let mut round = 10;
    loop {
        for digit in [1, 2, 5] {
            if digit * round >= wanted {
                return (digit * round).min(MAX_ROWS);
            }
        }
        round *= 10;
    }
}

//! Tables in CSV files.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use crate::column::Builder;
use crate::error::{Fault, Place, Problem};
use crate::header::find;
use crate::records::{Broken, Record, Records};
use crate::table::{Field, Table, Values};
use crate::text::{format_value, shown, text_of};
use crate::types::Type;

/// Reads these columns.
pub(crate) fn read(source: impl Read, fields: &[Field], max_rows: usize) -> Result<Table, Fault> {
    Reader::new(source, fields, max_rows)?.piece(usize::MAX)
}

/// Rows that are read in their order, some at a time.
pub(crate) struct Reader<R> {
    records: Records<R>,
    header: Vec<String>,
    fields: Vec<Field>,
    /// Where in a record each field is.
    places: Vec<usize>,
    max_rows: usize,
    /// Rows that were read.
    rows: usize,
}

impl<R: Read> Reader<R> {
    /// Finds the columns in the header of what `source` gives, which has at most so many rows.
    pub(crate) fn new(source: R, fields: &[Field], max_rows: usize) -> Result<Self, Fault> {
        let mut records = Records::new(source);
        let first = records.next().map_err(|broken| at_row(None, broken))?;
        let header = header(first.ok_or(Problem::NoHeader)?)?;
        // Where no column is found, the first line may be values, which no message may quote.
        let places = find(&header, fields).map_err(|problem| match problem {
            Problem::Missing { .. } if !fields.iter().any(|field| has(&header, &field.name)) => {
                Problem::NoColumns(fields.iter().map(|field| field.name.clone()).collect())
            }
            problem => problem,
        })?;
        if header.len() == 1 {
            records.take_blank_lines();
        }
        Ok(Reader {
            records,
            header,
            fields: fields.to_vec(),
            places,
            max_rows,
            rows: 0,
        })
    }

    /// The next rows, at most so many. There are none after the last.
    pub(crate) fn piece(&mut self, most: usize) -> Result<Table, Fault> {
        let room = most.min(self.max_rows - self.rows);
        let mut columns: Vec<Builder> = self
            .fields
            .iter()
            .map(|field| Builder::new(field, room))
            .collect();
        let before = self.rows;
        while self.rows - before < most {
            let row = self.rows + 1;
            let broken = |broken: Broken| at_row(Some(row), broken);
            let Some(record) = self.records.next().map_err(broken)? else {
                break;
            };
            if self.rows == self.max_rows {
                return Err(broken((record.line, Problem::TooManyRows(self.max_rows))));
            }
            if record.len() != self.header.len() {
                let problem = Problem::Ragged {
                    found: record.len(),
                    expected: self.header.len(),
                };
                return Err(broken((record.line, problem)));
            }
            for ((field, column), &place) in self.fields.iter().zip(&mut columns).zip(&self.places) {
                push(field.kind, column, &record.get(place), record.is_quoted(place)).map_err(|problem| {
                    Fault {
                        place: Place {
                            row: Some(row),
                            line: Some(record.line),
                            column: Some(self.header[place].clone()),
                        },
                        problem,
                    }
                })?;
            }
            self.rows = row;
        }
        Ok(Table {
            fields: self.fields.clone(),
            columns: columns.into_iter().map(Builder::finish).collect(),
            rows: self.rows - before,
        })
    }
}

/// A cell, and whether it has quotes.
pub(crate) type Cell<'a> = (Cow<'a, [u8]>, bool);

/// Calls `note` with the cells of each record behind the header. Gives the header.
pub(crate) fn each_record(
    source: impl Read,
    note: &mut dyn FnMut(&[Cell<'_>]),
) -> Result<Vec<String>, Fault> {
    let mut records = Records::new(source);
    let first = records.next().map_err(|broken| at_row(None, broken))?;
    let header = header(first.ok_or(Problem::NoHeader)?)?;
    if header.len() == 1 {
        records.take_blank_lines();
    }
    let mut row = 0;
    loop {
        row += 1;
        let Some(record) = records.next().map_err(|broken| at_row(Some(row), broken))? else {
            return Ok(header);
        };
        if record.len() != header.len() {
            let problem = Problem::Ragged {
                found: record.len(),
                expected: header.len(),
            };
            return Err(at_row(Some(row), (record.line, problem)));
        }
        let cells: Vec<_> = (0..record.len())
            .map(|place| (record.get(place), record.is_quoted(place)))
            .collect();
        note(&cells);
    }
}

fn at_row(row: Option<usize>, (line, problem): Broken) -> Fault {
    Fault {
        place: Place {
            row,
            line: Some(line),
            column: None,
        },
        problem,
    }
}

fn header(record: Record<'_>) -> Result<Vec<String>, Fault> {
    let name = |place| match std::str::from_utf8(&record.get(place)) {
        Ok(name) => Ok(name.trim().to_owned()),
        Err(_) => Err(Fault {
            place: Place {
                line: Some(record.line),
                ..Place::default()
            },
            problem: Problem::NotUtf8,
        }),
    };
    (0..record.len()).map(name).collect()
}

fn has(header: &[String], name: &str) -> bool {
    header
        .iter()
        .any(|there| there.to_lowercase() == name.to_lowercase())
}

fn push(kind: Type, column: &mut Builder, cell: &[u8], quoted: bool) -> Result<(), Problem> {
    match kind {
        Type::Char(_) if cell.is_empty() && !quoted => column.null(),
        _ => column.cell(cell),
    }
}

/// Writes the table: a header, and a line for each row.
pub(crate) fn write(table: &Table, target: &mut impl Write) -> Result<(), Fault> {
    let names = table.fields.iter().map(|field| field.name.as_bytes());
    line(names.map(|name| (name, false)), target)?;
    let mut cells: Vec<Vec<u8>> = vec![Vec::new(); table.fields.len()];
    for row in 0..table.rows {
        for ((field, column), cell) in table.fields.iter().zip(&table.columns).zip(&mut cells) {
            cell.clear();
            if !column.is_null(row) {
                match &column.values {
                    Values::Numbers(numbers) => {
                        cell.extend(format_value(field.kind, numbers.get(row)).bytes())
                    }
                    Values::Text(width, bytes) => cell.extend(shown(text_of(*width, bytes, row)).bytes()),
                }
            }
        }
        let nulls = table.columns.iter().map(|column| column.is_null(row));
        line(cells.iter().map(Vec::as_slice).zip(nulls), target)?;
    }
    Ok(())
}

/// Writes a line of cells, with whether each is null. Text that is empty but there is quoted. The null of a table with one column is a blank line.
fn line<'a>(cells: impl Iterator<Item = (&'a [u8], bool)>, target: &mut impl Write) -> Result<(), Fault> {
    let write = || -> io::Result<()> {
        for (place, (cell, null)) in cells.enumerate() {
            if place > 0 {
                target.write_all(b",")?;
            }
            let special = cell
                .iter()
                .any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n'));
            if special || cell.is_empty() && !null {
                target.write_all(b"\"")?;
                for (place, piece) in cell.split(|&byte| byte == b'"').enumerate() {
                    target.write_all(if place > 0 { b"\"\"" } else { b"" })?;
                    target.write_all(piece)?;
                }
                target.write_all(b"\"")?;
            } else {
                target.write_all(cell)?;
            }
        }
        target.write_all(b"\n")
    };
    write().map_err(|error| Problem::Unwritable(error).into())
}

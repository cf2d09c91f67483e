//! What a query gave and what it cost.

use cenote_tables::{Builder, Field, Table, cell};
use serde::{Deserialize, Serialize};

use crate::report::{PartyReport, Report};
use crate::text::grouped;
use crate::{Error, Result};

/// Rows of an answer that are printed; more are for `--json` and files.
const SHOWN: usize = 40;

/// An answer as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Their types.
    pub types: Vec<String>,
    /// How many rows it has.
    pub row_count: u64,
    /// The rows, `null` for values that are; nothing if they are in a file.
    pub rows: Option<Vec<Vec<Option<String>>>>,
    /// The first of them as a table for a screen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) shown: String,
}

impl Answered {
    /// All rows of an answer.
    pub(crate) fn rows_of(table: &Table) -> Self {
        Answered {
            shown: String::new(),
            ..Self::new(table, true)
        }
    }

    pub(crate) fn new(table: &Table, whole: bool) -> Self {
        let row = |row: usize| -> Vec<Option<String>> {
            let cells = table.columns.iter().zip(&table.fields);
            cells
                .map(|(column, field)| (!column.is_null(row)).then(|| cell(column, field, row)))
                .collect()
        };
        Answered {
            columns: table.fields.iter().map(|field| field.name.clone()).collect(),
            types: table.fields.iter().map(|field| field.kind.to_string()).collect(),
            row_count: table.rows as u64,
            rows: whole.then(|| (0..table.rows).map(row).collect()),
            shown: cenote_tables::show(table, SHOWN),
        }
    }
}

impl Answered {
    /// All rows as the bytes of a Parquet file. Every column may be null.
    ///
    /// # Errors
    /// [`Error::Table`] if it has no rows here, or they are not of their types.
    pub fn parquet(&self) -> Result<Vec<u8>> {
        Ok(cenote_tables::parquet_of(&self.table()?, "the answer")?)
    }

    /// The first rows as a table for a screen.
    ///
    /// # Errors
    /// As [`Answered::parquet`].
    pub fn text(&self) -> Result<String> {
        Ok(cenote_tables::show(&self.table()?, SHOWN))
    }

    fn table(&self) -> Result<Table> {
        let wrong = |what: &str| Error::Table(format!("the answer {what}"));
        let rows = self.rows.as_ref().ok_or_else(|| wrong("has no rows here"))?;
        let mut fields = Vec::new();
        for (name, kind) in self.columns.iter().zip(&self.types) {
            fields.push(Field {
                name: name.clone(),
                kind: kind.parse().map_err(|_| wrong("has a column of no type"))?,
                nullable: true,
            });
        }
        let mut columns: Vec<Builder> = fields
            .iter()
            .map(|field| Builder::new(field, rows.len()))
            .collect();
        for row in rows {
            if row.len() != columns.len() {
                return Err(wrong("has a row of another length"));
            }
            for (column, cell) in columns.iter_mut().zip(row) {
                let put = match cell {
                    Some(text) => column.cell(text.as_bytes()),
                    None => column.null(),
                };
                put.map_err(|_| wrong("has a value that is not of its type"))?;
            }
        }
        Ok(Table {
            fields,
            columns: columns.into_iter().map(Builder::finish).collect(),
            rows: rows.len(),
        })
    }
}

/// What one party tells of a query.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) report: PartyReport,
    pub(super) answer: Option<Answered>,
}

/// What a query gave, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueryReport {
    /// The answer, if a party that is reported learns it.
    pub answer: Option<Answered>,
    /// The file that it was written to.
    pub file: Option<String>,
    /// What it cost.
    #[serde(flatten)]
    pub report: Report,
}

impl QueryReport {
    /// The answer as a short table.
    pub fn answer_table(&self) -> String {
        let Some(answer) = &self.answer else {
            return "The answer is not for this party.\n".into();
        };
        let rows = grouped(answer.row_count);
        let s = if answer.row_count == 1 { "" } else { "s" };
        match &self.file {
            Some(file) => format!("{}\n{rows} row{s}, in {file}\n", answer.shown),
            None => format!("{}\n{rows} row{s}\n", answer.shown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(rows: &[[Option<&str>; 3]]) -> Answered {
        let row = |row: &[Option<&str>; 3]| row.iter().map(|cell| cell.map(str::to_owned)).collect();
        Answered {
            columns: ["who", "total", "day"].map(String::from).into(),
            types: ["char(4)", "decimal(9,2)", "date"].map(String::from).into(),
            row_count: rows.len() as u64,
            rows: Some(rows.iter().map(row).collect()),
            shown: String::new(),
        }
    }

    #[test]
    fn an_answer_is_the_same_in_parquet() {
        let answer = answered(&[
            [Some("é"), Some("-3.25"), Some("2024-02-29")],
            [Some(""), None, None],
        ]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer.parquet");
        std::fs::write(&path, answer.parquet().unwrap()).unwrap();
        let fields = answer
            .columns
            .iter()
            .zip(&answer.types)
            .map(|(name, kind)| Field {
                name: name.clone(),
                kind: kind.parse().unwrap(),
                nullable: true,
            });
        let fields: Vec<Field> = fields.collect();
        let table = cenote_tables::read(&path, &fields, 10).unwrap();
        assert_eq!(Answered::rows_of(&table), answer);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        answered(&[[Some("longer"), None, None]]).parquet().unwrap_err();
        answered(&[[None, Some("x"), None]]).parquet().unwrap_err();
        let mut none = answered(&[]);
        none.types[0] = "text".into();
        none.parquet().unwrap_err();
        none.rows = None;
        none.parquet().unwrap_err();
    }
}

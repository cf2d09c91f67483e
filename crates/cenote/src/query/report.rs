//! What a query gave and what it cost.

use cenote_tables::{Table, cell};
use serde::{Deserialize, Serialize};

use crate::report::{PartyReport, Report};
use crate::text::grouped;

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

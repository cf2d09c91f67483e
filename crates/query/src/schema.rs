//! What the parties agree on besides the query: the tables, and what becomes of the answer.

use std::collections::{BTreeMap, BTreeSet};

use cenote_net::PartyId;
use cenote_session::Parties;
use cenote_tables::Field;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::work::MAX_COLUMNS;

/// Most rows of a table.
pub const MAX_ROWS: usize = 1 << 28;

/// Most tables of a job, and of a query, in which those of a subquery are counted wherever it is named.
pub(crate) const MAX_TABLES: usize = 64;

/// Most bytes of the name of a table or column.
pub(crate) const MAX_NAME: usize = 128;

/// Most rows with one key.
const MAX_REPEATS: usize = 1000;

/// A table that one party holds.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name in the query.
    pub name: String,
    /// Who holds it.
    pub party: PartyId,
    /// Its columns.
    pub fields: Vec<Field>,
    /// The most rows it has: all that is known of how many there are.
    pub max_rows: usize,
    /// Columns in each of which no value comes twice.
    pub unique: Vec<String>,
    /// Columns in each of which a value comes at most so many times.
    pub at_most: BTreeMap<String, usize>,
    /// Columns that have at most so many different values.
    pub distinct: BTreeMap<String, usize>,
    /// Another table that has the same values in the column that both are joined by, which is unique in both: those of one name, or the only ones.
    pub same_rows_as: Option<String>,
}

/// How many rows of an answer are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Count {
    /// Nothing but that there are at most so many; those to whom the answer goes learn how many.
    AtMost(usize),
    /// Everybody learns how many there are.
    Revealed,
}

/// What becomes of the answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Who learns it.
    pub to: Parties,
    /// What is told of how many rows it has.
    pub count: Count,
    /// Groups of fewer rows are left out.
    pub min_group: u64,
}

/// What a query is asked of.
#[derive(Clone, Debug)]
pub struct Schema {
    /// How many parties there are.
    pub parties: u8,
    /// The tables.
    pub tables: Vec<Declared>,
    /// What becomes of the answer.
    pub answer: Answer,
}

impl Declared {
    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        let name = &self.name;
        let wrong = |what: String| Err(Error::Declared(format!("table {name}: {what}")));
        if self.party.0 >= schema.parties {
            return wrong(format!(
                "there is no {}: there are {}",
                self.party, schema.parties
            ));
        }
        if self.fields.is_empty() {
            return wrong("it has no columns".into());
        }
        if !(1..=MAX_ROWS).contains(&self.max_rows) {
            return wrong(format!("`max_rows` is {}: 1 to {MAX_ROWS}", self.max_rows));
        }
        if self.fields.len() > MAX_COLUMNS {
            let what = format!(
                "it has {} columns, and {MAX_COLUMNS} is the most: declare those that the query needs",
                self.fields.len()
            );
            return wrong(what);
        }
        let (mut columns, mut names) = (BTreeSet::new(), BTreeSet::new());
        for field in &self.fields {
            if field.name.len() > MAX_NAME {
                return wrong(format!("the name of a column has at most {MAX_NAME} bytes"));
            }
            names.insert(field.name.as_str());
            if !columns.insert(field.name.to_ascii_lowercase()) {
                return wrong(format!(
                    "there are two columns {}; names must differ in more than case",
                    field.name
                ));
            }
        }
        if self.unique.len() > self.fields.len() {
            return wrong("`unique` names more columns than it has".into());
        }
        let promised = [
            ("unique", self.unique.iter().collect::<Vec<_>>()),
            ("at_most", self.at_most.keys().collect()),
            ("distinct", self.distinct.keys().collect()),
        ];
        for (promise, columns) in promised {
            if let Some(column) = columns
                .into_iter()
                .find(|column| !names.contains(column.as_str()))
            {
                return wrong(format!("`{promise}` names {column}, which is no column of it"));
            }
        }
        if self
            .at_most
            .values()
            .chain(self.distinct.values())
            .any(|&count| count == 0)
        {
            return wrong("`at_most` and `distinct` count from 1".into());
        }
        if self.at_most.values().any(|&count| count > MAX_REPEATS) {
            return wrong(format!("`at_most` is {MAX_REPEATS} at most"));
        }
        if let Some(other) = &self.same_rows_as {
            match schema.table(other) {
                Some(at) if schema.tables[at].name == *name => {
                    return wrong("`same_rows_as` names the table itself".into());
                }
                Some(at) if schema.tables[at].max_rows != self.max_rows => {
                    return wrong(format!(
                        "it has the same rows as {other}, and must have the same `max_rows`"
                    ));
                }
                Some(_) => (),
                None => return wrong(format!("`same_rows_as` names {other}, which is no table")),
            }
        }
        Ok(())
    }
}

impl Schema {
    /// The place of a table.
    pub(crate) fn table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }

    /// Tables that promise to have the same rows have the same number.
    pub(crate) fn rows_like(&self, table: usize) -> usize {
        let next = |at: usize| {
            let other = self.tables[at].same_rows_as.as_deref();
            other.and_then(|name| self.table(name)).unwrap_or(at)
        };
        // After as many steps as there are tables, a chain is at its end, or goes round.
        let end = (0..self.tables.len()).fold(table, |at, _| next(at));
        let (_, least) =
            (0..self.tables.len()).fold((end, end), |(at, least), _| (next(at), least.min(next(at))));
        least
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// [`Error::Declared`], which says what is wrong.
    pub fn check(&self) -> Result<()> {
        if self.tables.len() > MAX_TABLES {
            let what = format!(
                "there are {} tables, and {MAX_TABLES} is the most",
                self.tables.len()
            );
            return Err(Error::Declared(what));
        }
        for (at, table) in self.tables.iter().enumerate() {
            if table.name.len() > MAX_NAME {
                let what = format!("the name of a table has at most {MAX_NAME} bytes");
                return Err(Error::Declared(what));
            }
            let alike = |other: &Declared| other.name.eq_ignore_ascii_case(&table.name);
            if self.tables.iter().position(alike) != Some(at) {
                let what = format!(
                    "there are two tables {}; names must differ in more than case",
                    table.name
                );
                return Err(Error::Declared(what));
            }
            table.check(self)?;
        }
        let last = self.answer.to.iter().last();
        if last.is_none_or(|last| last.0 >= self.parties) {
            let whom = last.map_or_else(|| "nobody".into(), |last| last.to_string());
            let what = format!("the answer goes to {whom}: there are {} parties", self.parties);
            return Err(Error::Declared(what));
        }
        if self.answer.count == Count::AtMost(0) {
            return Err(Error::Declared("the answer has `max_rows` 0: at least 1".into()));
        }
        Ok(())
    }
}

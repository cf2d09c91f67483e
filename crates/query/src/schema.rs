//! What the parties agree on besides the query: the tables, and what becomes of the answer.

use std::collections::{BTreeMap, BTreeSet};

use cenote_net::PartyId;
use cenote_session::Parties;
use cenote_tables::{Field, Type};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::kind::{ValueKind, scaled_exactly};
use crate::listed::List;
use crate::parameter::{MAX_PARAMETERS, Parameter};
use crate::work::MAX_COLUMNS;

/// Most rows of a table.
pub const MAX_ROWS: usize = 1 << 28;

/// Most tables of a job, and of a query, in which those of a subquery are counted wherever it is named.
pub(crate) const MAX_TABLES: usize = 64;

/// Most bytes of the name of a table or column.
pub(crate) const MAX_NAME: usize = 128;

/// Most rows with one key.
const MAX_REPEATS: usize = 1000;

/// Most values of a column that are listed.
const MAX_VALUES: usize = 1000;

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
    /// Columns whose values, together, do not come twice; rows with a null in one of them aside.
    pub unique: Vec<Vec<String>>,
    /// Columns in each of which a value comes at most so many times.
    pub at_most: BTreeMap<String, usize>,
    /// Columns that have at most so many different values.
    pub distinct: BTreeMap<String, usize>,
    /// Columns of numbers that are not negative, and less than this.
    pub below: BTreeMap<String, u64>,
    /// Columns of text that have no other values than these.
    pub values: BTreeMap<String, Vec<String>>,
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
    /// The values of the query's parameters.
    pub parameters: Vec<Parameter>,
    /// The most rows of a join in which a key may come several times on both sides; without it there are no such joins.
    pub max_join_rows: Option<usize>,
    /// Owners compute nothing on their own rows: those columns of a table that the query uses are given as they are, and all else is done secretly. It
    /// takes longer, and is for comparisons with systems in which everything is secret.
    pub secret_only: bool,
}

impl Declared {
    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// What the values of a column are.
    pub(crate) fn kind(&self, column: usize) -> ValueKind {
        let field = &self.fields[column];
        let kind = ValueKind::of(field.kind);
        match self.end(column) {
            None => kind,
            Some(end) => ValueKind::Number {
                least: 0,
                most: end - 1,
                scale: kind.scale(),
            },
        }
    }

    /// All values that a column may have, if they are listed.
    pub(crate) fn list(&self, column: usize) -> Option<List> {
        self.values
            .get(&self.fields[column].name)
            .map(|values| List::new(values))
    }

    /// The number that those of a column are promised to be less than, in units of its last place.
    pub(crate) fn end(&self, column: usize) -> Option<i128> {
        let field = &self.fields[column];
        let below = self.below.get(&field.name)?;
        scaled_exactly((*below).into(), ValueKind::of(field.kind).scale())
    }

    /// Whether no value comes twice in a column alone.
    pub(crate) fn is_unique(&self, name: &str) -> bool {
        self.unique.iter().any(|columns| *columns == [name])
    }

    /// Whether it makes sense among the tables of `schema`.
    fn check(&self, schema: &Schema) -> Result<()> {
        if self.party.0 >= schema.parties {
            return self.wrong(format!(
                "it belongs to {}, but there are only {} parties",
                self.party, schema.parties
            ));
        }
        if !(1..=MAX_ROWS).contains(&self.max_rows) {
            return self.wrong(format!(
                "`max_rows` is {}; it must be 1 to {MAX_ROWS}",
                self.max_rows
            ));
        }
        self.check_columns()?;
        self.check_promises()?;
        self.check_same_rows(schema)
    }

    fn wrong(&self, what: impl Into<String>) -> Result<()> {
        let (name, what) = (&self.name, what.into());
        Err(Error::Declared(format!("table {name}: {what}")))
    }

    fn check_columns(&self) -> Result<()> {
        if self.fields.is_empty() {
            return self.wrong("it has no columns; declare at least one");
        }
        if self.fields.len() > MAX_COLUMNS {
            let what = format!(
                "it has {} columns, more than the limit of {MAX_COLUMNS}; declare only those that the query needs",
                self.fields.len()
            );
            return self.wrong(what);
        }
        let mut names = BTreeSet::new();
        for Field { name, .. } in &self.fields {
            if name.len() > MAX_NAME {
                return self.wrong(format!(
                    "the name of a column may be at most {MAX_NAME} bytes long"
                ));
            }
            if !names.insert(name.to_ascii_lowercase()) {
                let what = format!("two columns are called {name}; names must differ in more than capitals");
                return self.wrong(what);
            }
        }
        Ok(())
    }

    fn check_promises(&self) -> Result<()> {
        if self.unique.len() > self.fields.len() {
            return self.wrong("`unique` names more columns than the table has");
        }
        for (at, columns) in self.unique.iter().enumerate() {
            if columns.len() > self.fields.len() {
                return self.wrong("`unique` names more columns than the table has");
            }
            let twice = |(place, column): (usize, &String)| columns[..place].contains(column);
            if columns.is_empty()
                || columns.iter().enumerate().any(twice)
                || self.unique[..at].contains(columns)
            {
                return self.wrong(
                    "`unique` names columns that are unique together each once, and no columns twice",
                );
            }
        }
        let promised = [
            ("unique", self.unique.iter().flatten().collect::<Vec<_>>()),
            ("at_most", self.at_most.keys().collect()),
            ("distinct", self.distinct.keys().collect()),
            ("below", self.below.keys().collect()),
            ("values", self.values.keys().collect()),
        ];
        for (promise, columns) in promised {
            let unknown = columns.into_iter().find(|column| self.column(column).is_none());
            if let Some(column) = unknown {
                return self.wrong(format!(
                    "`{promise}` names {column}, but the table has no such column"
                ));
            }
        }
        let mut counts = self.at_most.values().chain(self.distinct.values());
        if counts.any(|&count| count == 0) {
            return self.wrong("`at_most` and `distinct` must be 1 or more");
        }
        for (name, values) in &self.values {
            self.check_values(name, values)?;
        }
        for (name, &below) in &self.below {
            let column = self.column(name).unwrap_or_default();
            let kind = ValueKind::of(self.fields[column].kind);
            let ValueKind::Number { most, .. } = kind else {
                return self.wrong(format!(
                    "`below` names {name}, which is {}, not a number",
                    kind.name()
                ));
            };
            let last = self.end(column).map(|end| end - 1);
            if below == 0 || last.is_none_or(|last| last > most) {
                let kind = self.fields[column].kind;
                return self.wrong(format!(
                    "`below` of {name} must be 1 or more, and no more than {kind} holds"
                ));
            }
        }
        if self.at_most.values().any(|&count| count > MAX_REPEATS) {
            return self.wrong(format!("`at_most` must not be more than {MAX_REPEATS}"));
        }
        Ok(())
    }

    fn check_values(&self, name: &str, values: &[String]) -> Result<()> {
        let column = self.column(name).unwrap_or_default();
        let kind = self.fields[column].kind;
        let Type::Char(bytes) = kind else {
            return self.wrong(format!("`values` names {name}, which is {kind}, not text"));
        };
        if !(1..=MAX_VALUES).contains(&values.len()) {
            return self.wrong(format!("`values` of {name} must list 1 to {MAX_VALUES} values"));
        }
        let fits = |value: &&String| value.len() <= usize::from(bytes) && !value.contains('\0');
        if let Some(value) = values.iter().find(|value| !fits(value)) {
            return self.wrong(format!(
                "`values` of {name} lists {value:?}, which {kind} does not hold"
            ));
        }
        let mut known = BTreeSet::new();
        match values.iter().find(|value| !known.insert(*value)) {
            Some(value) => self.wrong(format!("`values` of {name} lists {value:?} twice")),
            None => Ok(()),
        }
    }

    fn check_same_rows(&self, schema: &Schema) -> Result<()> {
        let Some(other) = &self.same_rows_as else {
            return Ok(());
        };
        match schema.table(other).map(|at| &schema.tables[at]) {
            None => self.wrong(format!(
                "`same_rows_as` names {other}, but there is no such table"
            )),
            Some(table) if table.name == self.name => self.wrong("`same_rows_as` names the table itself"),
            Some(table) if table.max_rows != self.max_rows => self.wrong(format!(
                "`same_rows_as` names {other}, so both must have the same `max_rows`"
            )),
            Some(_) => Ok(()),
        }
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
                "there are {} tables, more than the limit of {MAX_TABLES}",
                self.tables.len()
            );
            return Err(Error::Declared(what));
        }
        for (at, table) in self.tables.iter().enumerate() {
            if table.name.len() > MAX_NAME {
                let what = format!("the name of a table may be at most {MAX_NAME} bytes long");
                return Err(Error::Declared(what));
            }
            let alike = |other: &Declared| other.name.eq_ignore_ascii_case(&table.name);
            if self.tables.iter().position(alike) != Some(at) {
                let what = format!(
                    "two tables are called {}; names must differ in more than capitals",
                    table.name
                );
                return Err(Error::Declared(what));
            }
            table.check(self)?;
        }
        if self.parameters.len() > MAX_PARAMETERS {
            return Err(Error::Declared(format!(
                "a query has at most {MAX_PARAMETERS} parameters"
            )));
        }
        let last = self.answer.to.iter().last();
        if last.is_none_or(|last| last.0 >= self.parties) {
            let whom = last.map_or_else(|| "nobody".into(), |last| last.to_string());
            let what = format!(
                "the answer goes to {whom}, and there are {} parties; name who learns it",
                self.parties
            );
            return Err(Error::Declared(what));
        }
        if self
            .max_join_rows
            .is_some_and(|most| !(1..=MAX_ROWS).contains(&most))
        {
            let what = format!("`max_join_rows` is 1 to {MAX_ROWS}");
            return Err(Error::Declared(what));
        }
        if self.answer.count == Count::AtMost(0) {
            return Err(Error::Declared(
                "`max_rows` of the answer must be 1 or more".into(),
            ));
        }
        Ok(())
    }
}

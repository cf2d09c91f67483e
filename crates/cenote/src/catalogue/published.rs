//! What a party publishes of its tables, as it goes over the wire: one text for one catalogue, bounded, and never a value of a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use cenote_net::PartyId;
use cenote_query::{Answer, Count, Declared, Schema};
use cenote_session::Parties;
use cenote_tables::{Field, printable};
use serde::{Deserialize, Serialize};

use crate::query::field;

/// Bytes of a catalogue, at most.
pub const MAX_BYTES: usize = 256 << 10;

/// Tables of a catalogue, at most.
pub const MAX_TABLES: usize = 256;

/// Columns of all its tables, at most.
pub const MAX_COLUMNS: usize = 1000;

/// Bytes of the name of a table, at most: a job may put the name of its party before it.
const MAX_TABLE_NAME: usize = 63;

/// Bytes of the name of a column, at most, as in jobs.
const MAX_COLUMN_NAME: usize = 128;

/// Signs that names of columns may have besides letters, digits and blanks.
const SIGNS: &str = "_-.,:/%#$@+*()[]";

/// What a party publishes to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The tables, by their names.
    pub tables: Vec<PublishedTable>,
}

/// A table as it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTable {
    /// Its name.
    pub name: String,
    /// Names and types of its columns, in order.
    pub columns: Vec<(String, String)>,
    /// The most rows that it has.
    pub max_rows: u64,
    /// Columns that are unique, each alone or several together.
    pub unique: Vec<Vec<String>>,
    /// How often a value of a column comes at most.
    pub at_most: BTreeMap<String, u64>,
    /// How many different values a column has at most.
    pub distinct: BTreeMap<String, u64>,
    /// Columns of numbers from 0 to less than this.
    pub below: BTreeMap<String, u64>,
    /// Columns that have only these texts.
    pub values: BTreeMap<String, Vec<String>>,
    /// The table of another party that has the same keys.
    pub same_rows_as: Option<String>,
    /// What its owner lets be asked of it.
    pub limits: Limits,
}

/// What the owner of a table lets be asked of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Limits {
    /// The owner has no rules for tables.
    Free,
    /// The owner has rules, and none for this table: nothing may be asked of it.
    Closed,
    /// What the rule of the table says.
    Rule(TableRule),
}

/// The rule of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRule {
    /// The least `min_group` of a job.
    pub min_group: u64,
    /// Columns of which an answer has sums and counts only.
    pub hidden: Vec<String>,
    /// Whether an answer tells of groups only.
    pub aggregates_only: bool,
    /// How many answers a day there may be.
    pub answers_per_day: Option<u64>,
}

/// What a catalogue is looked at for before it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It is no longer than a catalogue may be.
    Length,
    /// It is a catalogue, written in the one way in which it is written.
    Form,
    /// It has no more tables and columns than a catalogue may have.
    Size,
    /// Its names are names, and steer no screen.
    Names,
    /// Its tables can be declared in a job.
    Declarations,
    /// Its version follows those before.
    Version,
}

impl Check {
    /// All of them.
    pub const ALL: [Check; 6] = [
        Check::Length,
        Check::Form,
        Check::Size,
        Check::Names,
        Check::Declarations,
        Check::Version,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Check::Length => "catalogue length",
            Check::Form => "catalogue form",
            Check::Size => "catalogue size",
            Check::Names => "catalogue names",
            Check::Declarations => "catalogue declarations",
            Check::Version => "catalogue version",
        }
    }
}

/// Why a catalogue is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What it did not pass.
    pub check: Check,
    /// In words, without what would steer a screen.
    pub what: String,
}

impl Refused {
    /// By this check.
    pub fn new(check: Check, what: impl Into<String>) -> Self {
        let what: String = what.into();
        Refused {
            check,
            what: what.chars().take(300).map(printable).collect(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check.name(), self.what)
    }
}

impl Published {
    /// Its text.
    pub fn text(&self) -> String {
        // Nothing in it can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The catalogue that party `owner` has sent as `text`.
    ///
    /// # Errors
    /// Which check it does not pass.
    pub fn parse(text: &str, owner: u8) -> Result<Self, Refused> {
        if text.len() > MAX_BYTES {
            let what = format!("it has {} bytes, and may have {MAX_BYTES}", text.len());
            return Err(Refused::new(Check::Length, what));
        }
        let published: Published = serde_json::from_str(text).map_err(|error| {
            let what = format!(
                "it is no catalogue ({:?} error in column {})",
                error.classify(),
                error.column()
            );
            Refused::new(Check::Form, what)
        })?;
        published.check(owner)?;
        match published.text() == text {
            true => Ok(published),
            false => Err(Refused::new(Check::Form, "it is not written as catalogues are")),
        }
    }

    /// Sees that it can be published.
    ///
    /// # Errors
    /// Which check it does not pass.
    pub fn check(&self, owner: u8) -> Result<(), Refused> {
        if self.tables.len() > MAX_TABLES {
            let what = format!("it has {} tables, and may have {MAX_TABLES}", self.tables.len());
            return Err(Refused::new(Check::Size, what));
        }
        let columns: usize = self.tables.iter().map(|table| table.columns.len()).sum();
        if columns > MAX_COLUMNS {
            let what = format!("its tables have {columns} columns, and may have {MAX_COLUMNS} together");
            return Err(Refused::new(Check::Size, what));
        }
        let mut names = BTreeSet::new();
        for table in &self.tables {
            table.check_names()?;
            table.check_numbers()?;
            if !names.insert(table.name.to_lowercase()) {
                let what = format!("two tables are called {}", table.name);
                return Err(Refused::new(Check::Names, what));
            }
            table.declared(owner)?;
        }
        if !self.tables.is_sorted_by(|a, b| a.name < b.name) {
            return Err(Refused::new(Check::Form, "its tables are not in order"));
        }
        let bytes = self.text().len();
        if bytes > MAX_BYTES {
            let what = format!("it has {bytes} bytes, and may have {MAX_BYTES}");
            return Err(Refused::new(Check::Length, what));
        }
        Ok(())
    }
}

impl PublishedTable {
    /// It as it is declared, with the limits that its owner sets.
    pub(super) fn of(declared: &Declared, limits: Limits) -> Self {
        let counts = |counts: &BTreeMap<String, usize>| {
            let counts = counts.iter();
            counts
                .map(|(name, count)| (name.clone(), *count as u64))
                .collect()
        };
        PublishedTable {
            name: declared.name.clone(),
            columns: declared
                .fields
                .iter()
                .map(|field| (field.name.clone(), kind(field)))
                .collect(),
            max_rows: declared.max_rows as u64,
            unique: declared.unique.clone(),
            at_most: counts(&declared.at_most),
            distinct: counts(&declared.distinct),
            below: declared.below.clone(),
            values: declared.values.clone(),
            same_rows_as: declared.same_rows_as.clone(),
            limits,
        }
    }

    /// How a job declares it whose tables are called as here. That it has the rows of another table is left out, since that table may not be in the job.
    ///
    /// # Errors
    /// [`Check::Declarations`].
    pub fn declared(&self, owner: u8) -> Result<Declared, Refused> {
        let wrong = |what: String| Refused::new(Check::Declarations, format!("table {}: {what}", self.name));
        let mut fields = Vec::new();
        for (name, declared) in &self.columns {
            let field = field(name.clone(), declared).map_err(wrong)?;
            if kind(&field) != *declared {
                return Err(wrong(format!(
                    "the type of column {name} is written {}",
                    kind(&field)
                )));
            }
            fields.push(field);
        }
        let count = |count: &u64| usize::try_from(*count).unwrap_or(usize::MAX);
        let counts = |counts: &BTreeMap<String, u64>| {
            let counts = counts.iter();
            counts.map(|(name, most)| (name.clone(), count(most))).collect()
        };
        let declared = Declared {
            name: self.name.clone(),
            party: PartyId(owner),
            fields,
            max_rows: count(&self.max_rows),
            unique: self.unique.clone(),
            at_most: counts(&self.at_most),
            distinct: counts(&self.distinct),
            below: self.below.clone(),
            values: self.values.clone(),
            same_rows_as: None,
        };
        let alone = Schema {
            parties: owner.saturating_add(1).max(2),
            tables: vec![declared],
            answer: everything(owner.saturating_add(1).max(2)),
            max_join_rows: None,
            parameters: Vec::new(),
            secret_only: false,
        };
        let table_and = format!("table {}: ", self.name);
        alone.check().map_err(|error| {
            let what = error.to_string();
            wrong(what.strip_prefix(&table_and).unwrap_or(&what).to_owned())
        })?;
        let rule = match &self.limits {
            Limits::Rule(rule) => rule.clone(),
            Limits::Free | Limits::Closed => TableRule::default(),
        };
        let unknown = |name: &&String| !self.columns.iter().any(|(column, _)| column == *name);
        if let Some(name) = rule.hidden.iter().find(unknown) {
            return Err(wrong(format!("its rule hides {name}, which is no column of it")));
        }
        alone
            .tables
            .into_iter()
            .next()
            .ok_or_else(|| wrong("it is none".into()))
    }

    /// Job files hold no larger numbers.
    fn check_numbers(&self) -> Result<(), Refused> {
        let promised = [&self.at_most, &self.distinct, &self.below];
        let promised = promised.into_iter().flat_map(BTreeMap::values).copied();
        let limits = match &self.limits {
            Limits::Rule(rule) => vec![rule.min_group, rule.answers_per_day.unwrap_or(0)],
            Limits::Free | Limits::Closed => Vec::new(),
        };
        let mut all = promised.chain(limits).chain([self.max_rows]);
        match all.find(|number| i64::try_from(*number).is_err()) {
            None => Ok(()),
            Some(number) => Err(Refused::new(
                Check::Declarations,
                format!("table {} says {number}, which no job file holds", self.name),
            )),
        }
    }

    fn check_names(&self) -> Result<(), Refused> {
        let wrong = |what: String| Err(Refused::new(Check::Names, what));
        if let Some(what) = wrong_table_name(&self.name) {
            return wrong(format!("a table is called {:?}; {what}", shortened(&self.name)));
        }
        for (name, _) in &self.columns {
            if let Some(what) = wrong_column_name(name) {
                let name = shortened(name);
                return wrong(format!("a column of {} is called {name:?}; {what}", self.name));
            }
        }
        for text in self.values.values().flatten() {
            if text.chars().any(|character| printable(character) != character) {
                let what = format!(
                    "a value that {} lists has characters that steer a screen",
                    self.name
                );
                return wrong(what);
            }
        }
        if let Some(other) = &self.same_rows_as {
            let (party, name) = other.rsplit_once('.').unwrap_or(("", other));
            if wrong_table_name(name).is_some() || party.len() > 64 || wrong_column_name(other).is_some() {
                return wrong(format!("`same_rows_as` of {} names no table", self.name));
            }
        }
        Ok(())
    }
}

/// Everything to everybody: what becomes of the answer of a job that does not matter.
pub(super) fn everything(parties: u8) -> Answer {
    Answer {
        to: Parties::all(parties.into()),
        count: Count::Revealed,
        min_group: 0,
    }
}

/// The type of a column as it is declared.
pub(super) fn kind(field: &Field) -> String {
    let null = if field.nullable { "" } else { " not null" };
    format!("{}{null}", field.kind)
}

/// The beginning of a name that is none, with a mark in place of what no name has.
fn shortened(name: &str) -> String {
    let shown = |letter: char| match is_letter(letter) || letter == ' ' || SIGNS.contains(letter) {
        true => letter,
        false => char::REPLACEMENT_CHARACTER,
    };
    name.chars().take(40).map(shown).collect()
}

/// What is wrong with the name of a table, if something is.
fn wrong_table_name(name: &str) -> Option<&'static str> {
    let fits = |character: char| is_letter(character) || matches!(character, ' ' | '_' | '-');
    let fits = name.len() <= MAX_TABLE_NAME && name.chars().all(fits) && is_trimmed(name);
    (!fits).then_some("a name has 1 to 63 bytes: letters, digits, _, -, and blanks between them")
}

/// What is wrong with the name of a column, if something is.
fn wrong_column_name(name: &str) -> Option<&'static str> {
    let fits = |character: char| is_letter(character) || character == ' ' || SIGNS.contains(character);
    let fits = name.len() <= MAX_COLUMN_NAME && name.chars().all(fits) && is_trimmed(name);
    (!fits).then_some("a name has 1 to 128 bytes: letters, digits, _-.,:/%#$@+*()[] and blanks between them")
}

/// Whether a character is a letter or digit that is seen: the fillers of Hangul are letters, too.
fn is_letter(character: char) -> bool {
    character.is_alphanumeric() && !matches!(character, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// Whether a column can be published under this name.
pub(super) fn is_column_name(name: &str) -> bool {
    wrong_column_name(name).is_none()
}

fn is_trimmed(name: &str) -> bool {
    !name.is_empty() && name.trim() == name
}

//! `catalogue.toml`: what a party publishes, and to whom.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cenote_query::{Declared, Query, Schema};
use serde::Deserialize;
use toml::Spanned;

use super::published::{Limits, Published, PublishedTable, everything};
use crate::query::{Columns, Policy, TableEntry, Unique, declared};
use crate::settings_file::SettingsFile;
use crate::{Error, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "table")]
    tables: Vec<Spanned<Entry>>,
}

/// A table of a job's file, and what is published of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    party: Option<Spanned<u8>>,
    columns: Spanned<Columns>,
    max_rows: Spanned<u64>,
    #[serde(default)]
    unique: Vec<Unique>,
    #[serde(default)]
    at_most: BTreeMap<String, usize>,
    #[serde(default)]
    distinct: BTreeMap<String, usize>,
    #[serde(default)]
    below: BTreeMap<String, u64>,
    #[serde(default)]
    values: BTreeMap<String, Vec<String>>,
    same_rows_as: Option<String>,
    data: Spanned<String>,
    to: Option<Spanned<To>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`to` is \"all\", or a list of names of parties")]
enum To {
    All(String),
    Parties(Vec<String>),
}

/// A table that this party publishes.
#[derive(Clone, Debug)]
pub struct OwnTable {
    /// It as jobs declare it.
    pub declared: Declared,
    /// The data that stands for it.
    pub data: String,
    /// The parties to which it is published.
    pub to: Vec<u8>,
}

/// What this party publishes.
#[derive(Clone, Debug, Default)]
pub struct OwnCatalogue {
    me: u8,
    tables: Vec<OwnTable>,
}

impl OwnTable {
    /// Why the file at `path` cannot stand for the table, if it cannot: it is read as a whole.
    pub fn misfit(&self, path: &Path) -> Option<String> {
        let read = cenote_tables::read(path, &self.declared.fields, self.declared.max_rows);
        let table = match read {
            Ok(table) => table,
            Err(error) => return Some(error.to_string()),
        };
        let mut alone = self.declared.clone();
        alone.same_rows_as = None;
        let (name, parties) = (alone.name.clone(), alone.party.0.saturating_add(1).max(2));
        let schema = Schema {
            parties,
            tables: vec![alone],
            answer: everything(parties),
            max_join_rows: None,
            parameters: Vec::new(),
            secret_only: false,
        };
        let query = Query::new(&format!("SELECT COUNT(*) AS n FROM \"{name}\""), schema);
        let checked = query.and_then(|query| query.check(self.declared.party, &[Some(table)]));
        checked.err().map(|error| error.to_string())
    }
}

impl OwnCatalogue {
    /// Reads the catalogue of party `me` at `path`, where the parties have these `names`. Without a file nothing is published.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, if it cannot be published.
    pub fn load(path: &Path, me: u8, names: &[String]) -> Result<Self> {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(OwnCatalogue {
                me,
                tables: Vec::new(),
            });
        }
        let (file, source) = SettingsFile::read::<File>(path)?;
        let mut tables: Vec<OwnTable> = Vec::new();
        for entry in file.tables {
            let span = entry.span();
            let table = entry.into_inner().own(&source, me, names)?;
            let alone = Published {
                tables: vec![PublishedTable::of(&table.declared, Limits::Free)],
            };
            alone
                .check(me)
                .map_err(|refused| source.fault(span.clone(), refused.what))?;
            let name = table.declared.name.to_lowercase();
            if tables
                .iter()
                .any(|other| other.declared.name.to_lowercase() == name)
            {
                return Err(source.fault(span, format!("table {} comes twice", table.declared.name)));
            }
            tables.push(table);
        }
        tables.sort_by(|a, b| a.declared.name.cmp(&b.declared.name));
        let own = OwnCatalogue { me, tables };
        let whole = own.whole(None);
        whole
            .check(me)
            .map_err(|refused| source.fault_in_general(refused.what))?;
        Ok(own)
    }

    /// The tables, by their names.
    pub fn tables(&self) -> &[OwnTable] {
        &self.tables
    }

    /// All that it publishes, to whomever.
    pub fn whole(&self, policy: Option<&Policy>) -> Published {
        self.published(policy, |_| true)
    }

    /// What it publishes to party `to`, as the rules of its owner limit it.
    pub fn for_party(&self, to: u8, policy: Option<&Policy>) -> Published {
        self.published(policy, |table| table.to.contains(&to))
    }

    fn published(&self, policy: Option<&Policy>, is_in: impl Fn(&OwnTable) -> bool) -> Published {
        let tables = self.tables.iter().filter(|table| is_in(table));
        let tables = tables.map(|table| {
            let mut limits = Policy::limits(policy, &table.declared.name);
            if let Limits::Rule(rule) = &mut limits {
                // What is not published is not named. A job that follows the catalogue cannot be asked then, of which this party is warned.
                let is_column = |name: &String| table.declared.fields.iter().any(|field| field.name == *name);
                rule.hidden.retain(is_column);
            }
            PublishedTable::of(&table.declared, limits)
        });
        Published {
            tables: tables.collect(),
        }
    }

    /// The data that stands for a table of a job, if the job declares it as it was published.
    pub fn data_for(&self, declared: &Declared) -> Option<&str> {
        if declared.party.0 != self.me {
            return None;
        }
        let name = own_name(&declared.name);
        let own = self.tables.iter().find(|table| table.declared.name == name)?;
        let as_published = |declared: &Declared| PublishedTable {
            name: String::new(),
            same_rows_as: None,
            ..PublishedTable::of(declared, Limits::Free)
        };
        let is_same = as_published(declared) == as_published(&own.declared);
        // A job may leave the promise out, and call the other table by its party too.
        let promises_no_more = match (&declared.same_rows_as, &own.declared.same_rows_as) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(theirs), Some(own)) => {
                let parties = party_of(theirs).zip(party_of(own));
                own_name(theirs) == own_name(own) && parties.is_none_or(|(theirs, own)| theirs == own)
            }
        };
        (is_same && promises_no_more).then_some(own.data.as_str())
    }

    /// What its owner should see to: tables of which nothing may be asked, or not with their data. `usual` gives the data that goes with a table if nobody
    /// chooses.
    pub fn warnings(&self, policy: Option<&Policy>, usual: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        let Some(policy) = policy else { return Vec::new() };
        let mut warnings = Vec::new();
        for table in &self.tables {
            let name = &table.declared.name;
            match policy.hidden_besides(name, &table.declared.fields) {
                None => warnings.push(format!(
                    "table {name} is published, and the rules of tables do not name it, so nothing may be asked of it; name it there, or publish it no more"
                )),
                Some(missing) if !missing.is_empty() => warnings.push(format!(
                    "table {name} is published without {}, which its rule hides, so no job that declares it as published may be asked; publish these columns too",
                    missing.join(", ")
                )),
                Some(_) if policy.check_data(name, Some(&table.data), usual(name).as_deref()).is_err() => {
                    warnings.push(format!(
                        "the rule of table {name} is not for the data {:?} that the catalogue names; name it under `data` of the rule",
                        table.data
                    ))
                }
                Some(_) => {}
            }
        }
        warnings
    }
}

/// What stands before the name of a table: that of its party.
pub fn party_of(table: &str) -> Option<&str> {
    table.rsplit_once('.').map(|(party, _)| party)
}

/// The name of a table, without that of its party.
pub fn own_name(table: &str) -> &str {
    table.rsplit_once('.').map_or(table, |(_, name)| name)
}

/// What may follow an input's name in the name of the data that goes with it where nobody chooses.
const ENDINGS: [&str; 4] = ["", ".txt", ".csv", ".parquet"];

/// The names of the data that goes with an input where nobody chooses: the first that is there.
pub fn usual_names(input: &str) -> Vec<String> {
    let mut names = vec![input];
    // A job may put the name of its party before that of a table.
    names.extend(Some(own_name(input)).filter(|own| *own != input));
    let with_endings = |name: &str| ENDINGS.map(|ending| format!("{name}{ending}"));
    names.into_iter().flat_map(with_endings).collect()
}

impl Entry {
    fn own(self, source: &SettingsFile, me: u8, names: &[String]) -> Result<OwnTable> {
        let parties = u8::try_from(names.len()).unwrap_or(u8::MAX);
        if let Some(party) = self.party.as_ref().filter(|party| *party.get_ref() != me) {
            let what =
                format!("a catalogue has this party's own tables; leave `party` out, or write party = {me}");
            return Err(source.fault(party.span(), what));
        }
        if let Some(what) = wrong_data_name(self.data.get_ref()) {
            return Err(source.fault(self.data.span(), what));
        }
        let to = recipients(source, self.to, me, names)?;
        let at = self.name.span();
        let entry = TableEntry {
            name: self.name,
            party: Spanned::new(at, me),
            columns: self.columns,
            max_rows: self.max_rows,
            unique: self.unique,
            at_most: self.at_most,
            distinct: self.distinct,
            below: self.below,
            values: self.values,
            same_rows_as: self.same_rows_as,
            file: None::<PathBuf>,
        };
        Ok(OwnTable {
            declared: declared(source, entry, parties)?,
            data: self.data.into_inner(),
            to,
        })
    }
}

/// What is wrong with the name of a file in the folder of data, if something is.
pub fn wrong_data_name(name: &str) -> Option<&'static str> {
    let wrong = |character: char| character.is_control() || matches!(character, '/' | '\\' | ':');
    let is_wrong = name.is_empty() || name.len() > 128 || name.starts_with('.') || name.contains(wrong);
    is_wrong.then_some(
        "a name of data has 1 to 128 bytes, does not begin with a dot, and has no /, \\, : or control characters",
    )
}

fn recipients(source: &SettingsFile, to: Option<Spanned<To>>, me: u8, names: &[String]) -> Result<Vec<u8>> {
    let others = || (0..names.len() as u8).filter(|party| *party != me);
    let Some(to) = to else {
        return Ok(others().collect());
    };
    let fault = |what: String| -> Error { source.fault(to.span(), what) };
    match to.get_ref() {
        To::All(word) if word == "all" => Ok(others().collect()),
        To::All(_) => Err(fault(
            "write to = \"all\", or to = [\"…\"] with names of parties".into(),
        )),
        To::Parties(listed) => {
            let mut recipients = Vec::new();
            for name in listed {
                let Some(party) = others().find(|party| names[usize::from(*party)] == *name) else {
                    let others: Vec<&str> =
                        others().map(|party| names[usize::from(party)].as_str()).collect();
                    return Err(fault(format!(
                        "there is no other party called {name:?}; there is {}",
                        others.join(" and ")
                    )));
                };
                if !recipients.contains(&party) {
                    recipients.push(party);
                }
            }
            recipients.sort_unstable();
            Ok(recipients)
        }
    }
}

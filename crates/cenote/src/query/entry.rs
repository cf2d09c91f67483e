//! `[[table]]` in the file of a job.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use cenote_query::{Declared, MAX_ROWS};
use cenote_tables::Field;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::Result;
use crate::fields::party;
use crate::settings_file::SettingsFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableEntry {
    pub(crate) name: Spanned<String>,
    pub(crate) party: Spanned<u8>,
    pub(crate) columns: Spanned<Columns>,
    pub(crate) max_rows: Spanned<u64>,
    #[serde(default)]
    pub(crate) unique: Vec<Unique>,
    #[serde(default)]
    pub(crate) at_most: BTreeMap<String, usize>,
    #[serde(default)]
    pub(crate) distinct: BTreeMap<String, usize>,
    #[serde(default)]
    pub(crate) below: BTreeMap<String, u64>,
    #[serde(default)]
    pub(crate) values: BTreeMap<String, Vec<String>>,
    pub(crate) same_rows_as: Option<String>,
    pub(crate) file: Option<PathBuf>,
}

/// A column in which no value comes twice, or several that are unique together.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`unique` has names of columns, and for columns that are unique together lists of names"
)]
pub(crate) enum Unique {
    Alone(String),
    Together(Vec<String>),
}

/// Columns and their types, in the order of the file.
pub(crate) struct Columns(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Columns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "columns and their types, such as { id = \"u64 not null\", owed = \"decimal(12,2)\" }",
                )
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Columns, A::Error> {
                let mut columns = Vec::new();
                while let Some(column) = map.next_entry()? {
                    columns.push(column);
                }
                Ok(Columns(columns))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A table as it is declared.
pub(crate) fn declared(source: &SettingsFile, entry: TableEntry, parties: u8) -> Result<Declared> {
    let at = entry.columns.span();
    let fields = entry
        .columns
        .into_inner()
        .0
        .into_iter()
        .map(|(name, kind)| field(name, &kind).map_err(|what| source.fault(at.clone(), what)));
    let fields = fields.collect::<Result<Vec<Field>>>()?;
    let max_rows = usize::try_from(*entry.max_rows.get_ref()).unwrap_or(usize::MAX);
    if !(1..=MAX_ROWS).contains(&max_rows) {
        return Err(source.fault(entry.max_rows.span(), format!("`max_rows` is 1 to {MAX_ROWS}")));
    }
    Ok(Declared {
        party: party(source, &entry.party, parties)?,
        name: entry.name.into_inner(),
        fields,
        max_rows,
        unique: entry.unique.into_iter().map(Unique::columns).collect(),
        at_most: entry.at_most,
        distinct: entry.distinct,
        below: entry.below,
        values: entry.values,
        same_rows_as: entry.same_rows_as,
    })
}

impl Unique {
    fn columns(self) -> Vec<String> {
        match self {
            Unique::Alone(column) => vec![column],
            Unique::Together(columns) => columns,
        }
    }
}

/// A column as it is declared: its type, and `not null` if it never is.
///
/// # Errors
/// The types that there are.
pub fn field(name: String, declared: &str) -> std::result::Result<Field, String> {
    let lower = declared.to_ascii_lowercase();
    let words = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    let (kind, nullable) = match words.strip_suffix(" not null") {
        Some(kind) => (kind, false),
        None => (words.strip_suffix(" null").unwrap_or(&words), true),
    };
    let kind = kind.parse().map_err(|what| format!("column {name}: {what}"))?;
    Ok(Field { name, kind, nullable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_read_as_they_are_written() {
        let table = |promise: &str| {
            let text = format!(
                "name = \"a\"\nparty = 0\ncolumns = {{ x = \"u8\", y = \"u8\" }}\nmax_rows = 5\n{promise}"
            );
            toml::from_str::<TableEntry>(&text)
        };
        let entry = table("unique = [\"x\", [\"x\", \"y\"]]\nbelow = { y = 9 }").unwrap();
        let unique: Vec<Vec<String>> = entry.unique.into_iter().map(Unique::columns).collect();
        assert_eq!(unique, [vec!["x"], vec!["x", "y"]]);
        assert_eq!(entry.below, [("y".to_owned(), 9)].into());
        let error = table("unique = [5]").err().unwrap().to_string();
        assert!(error.contains("`unique` has names of columns"), "{error}");
    }
}

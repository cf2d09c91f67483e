//! What may be promised of columns.

use super::Declaration;
use crate::schema::{Declared, Schema};

/// A promise about columns of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    pub(super) table: usize,
    pub(super) kind: PromiseKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PromiseKind {
    /// Columns whose values, together, do not come twice.
    Unique(Vec<usize>),
    /// A column that has at most so many values.
    Distinct(usize, usize),
    /// Numbers that are not negative, and less than this.
    Below(usize, u64),
    /// Text that has only these values: those that the query names, and others in the place of those that it does not.
    Values(usize, Vec<String>),
}

impl PromiseKind {
    /// The column whose values it is about; nothing if it is about rows.
    pub(super) fn column(&self) -> Option<usize> {
        match self {
            PromiseKind::Unique(_) => None,
            PromiseKind::Distinct(column, _)
            | PromiseKind::Below(column, _)
            | PromiseKind::Values(column, _) => Some(*column),
        }
    }
}

impl Promise {
    /// Adds it to what is declared.
    pub(super) fn add(&self, schema: &mut Schema) {
        let table = &mut schema.tables[self.table];
        let name = |column: usize| table.fields[column].name.clone();
        match &self.kind {
            PromiseKind::Unique(columns) => {
                let columns = columns.iter().map(|&column| name(column)).collect();
                table.unique.push(columns);
            }
            PromiseKind::Distinct(column, count) => {
                let name = name(*column);
                table.distinct.insert(name, *count);
            }
            PromiseKind::Below(column, end) => {
                let name = name(*column);
                table.below.insert(name, *end);
            }
            PromiseKind::Values(column, values) => {
                let name = name(*column);
                table.values.insert(name, values.clone());
            }
        }
    }

    /// What must be so.
    pub(super) fn condition(&self, schema: &Schema) -> String {
        let table = &schema.tables[self.table];
        let of = |column: usize| format!("{}.{}", table.name, table.fields[column].name);
        match &self.kind {
            PromiseKind::Unique(columns) => match columns[..] {
                [column] => format!("no value comes twice in {}", of(column)),
                _ => {
                    let columns: Vec<String> = columns.iter().map(|&column| of(column)).collect();
                    format!("no values of {} come twice together", columns.join(", "))
                }
            },
            PromiseKind::Distinct(column, count) => {
                format!(
                    "{} has no more than, for example, {count} different values",
                    of(*column)
                )
            }
            PromiseKind::Below(column, end) => format!(
                "all values of {} are 0 or more and less than, for example, {end}",
                of(*column)
            ),
            PromiseKind::Values(column, values) => format!(
                "{} has only values that all parties may know, for example {} of them",
                of(*column),
                values.len()
            ),
        }
    }

    /// What to declare.
    pub(super) fn declaration(&self, schema: &Schema) -> Declaration {
        let table = &schema.tables[self.table];
        let declare = match &self.kind {
            PromiseKind::Unique(columns) => {
                let names: Vec<String> = columns
                    .iter()
                    .map(|&column| format!("{:?}", table.fields[column].name))
                    .collect();
                match names.len() {
                    1 => format!("unique = [{}]", names[0]),
                    _ => format!("unique = [[{}]]", names.join(", ")),
                }
            }
            PromiseKind::Distinct(column, count) => {
                format!("distinct = {{ {} = {count} }}", key(table, *column))
            }
            PromiseKind::Below(column, end) => format!("below = {{ {} = {end} }}", key(table, *column)),
            PromiseKind::Values(column, _) => format!("values = {{ {} = [\"…\"] }}", key(table, *column)),
        };
        Declaration {
            table: table.name.clone(),
            declare,
        }
    }
}

/// The name of a column as a key in a job's file.
fn key(table: &Declared, column: usize) -> String {
    let name = &table.fields[column].name;
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.clone(),
        false => format!("{name:?}"),
    }
}

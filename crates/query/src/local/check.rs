//! Whether a table keeps what its owner declares of it.

use cenote_tables::{Column, Field, Table, Type, Values};

use crate::error::{Error, Result};
use crate::schema::Declared;

/// Sees that a table keeps what its owner promises of it.
///
/// # Errors
/// [`Error::Rows`], which says what it does not keep.
pub(crate) fn check(declared: &Declared, table: &Table) -> Result<()> {
    let name = &declared.name;
    if table.rows > declared.max_rows {
        let what = format!(
            "it has {} rows, more than its `max_rows` of {}",
            table.rows, declared.max_rows
        );
        return Err(Error::rows(name, what));
    }
    if table.fields != declared.fields || table.columns.len() != table.fields.len() {
        return Err(Error::rows(name, "its columns are not the declared ones"));
    }
    for (field, column) in table.fields.iter().zip(&table.columns) {
        if !is_of(field, column, table.rows) {
            let what = format!("column {} has values that do not fit its type", field.name);
            return Err(Error::rows(name, what));
        }
    }
    for (at, field) in table.fields.iter().enumerate() {
        let column = &field.name;
        let once = declared.unique.contains(column).then_some(1);
        let at_most = declared.at_most.get(column).copied();
        let (most, distinct) = (
            once.into_iter().chain(at_most).min(),
            declared.distinct.get(column),
        );
        if most.is_none() && distinct.is_none() {
            continue;
        }
        let found = Repeats::of(&table.columns[at], table.rows);
        if let Some(most) = most.filter(|&most| found.most > most) {
            let what = match most {
                1 => format!(
                    "a value occurs {} times in column {column}, which is declared `unique`",
                    found.most
                ),
                _ => format!(
                    "a value occurs {} times in column {column}, but `at_most` allows {most}",
                    found.most
                ),
            };
            return Err(Error::rows(name, what));
        }
        if let Some(&most) = distinct.filter(|&&most| found.distinct > most) {
            let what = format!(
                "column {column} has {} different values, but `distinct` allows {most}",
                found.distinct
            );
            return Err(Error::rows(name, what));
        }
    }
    Ok(())
}

/// How often values come in a column, nulls aside.
#[derive(Default)]
struct Repeats {
    /// The one that comes most often.
    most: usize,
    /// How many different ones there are.
    distinct: usize,
}

impl Repeats {
    fn of(column: &Column, rows: usize) -> Self {
        let there = (0..rows).filter(|&row| !column.is_null(row));
        match &column.values {
            Values::Numbers(numbers) => {
                let sorted = numbers.gather(there).sorted();
                Self::of_sorted(sorted.iter())
            }
            Values::Text(width, bytes) => {
                let mut texts: Vec<&[u8]> = there.map(|row| &bytes[row * width..][..*width]).collect();
                texts.sort_unstable();
                Self::of_sorted(texts.into_iter())
            }
        }
    }

    fn of_sorted<T: PartialEq>(values: impl Iterator<Item = T>) -> Self {
        let mut found = Repeats::default();
        let mut last: Option<(T, usize)> = None;
        for value in values {
            let count = match last {
                Some((known, count)) if known == value => count + 1,
                _ => {
                    found.distinct += 1;
                    1
                }
            };
            found.most = found.most.max(count);
            last = Some((value, count));
        }
        found
    }
}

/// Whether a column has so many values, all of them as its field says.
fn is_of(field: &Field, column: &Column, rows: usize) -> bool {
    let whole = match &column.nulls {
        None => true,
        Some(nulls) => nulls.len() == rows && (field.nullable || !nulls.contains(&true)),
    };
    whole
        && match (&column.values, field.kind, field.kind.range()) {
            (Values::Numbers(numbers), _, Some((least, most))) => {
                let fits = |(row, number)| column.is_null(row) || (least..=most).contains(&number);
                numbers.len() == rows && numbers.iter().enumerate().all(fits)
            }
            (Values::Text(width, bytes), Type::Char(most), _) => {
                *width == usize::from(most) && bytes.len() == rows * width
            }
            _ => false,
        }
}

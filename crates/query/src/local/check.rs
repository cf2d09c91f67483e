//! Whether a table keeps what its owner declares of it.

use cenote_tables::{Column, Field, Table, Type, Values};

use super::rows::compare_values;
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
        promised(declared, field, (at, &table.columns[at]), table.rows)?;
    }
    for names in declared.unique.iter().filter(|names| names.len() > 1) {
        let places = names.iter().filter_map(|name| declared.column(name));
        let columns: Vec<&Column> = places.map(|at| &table.columns[at]).collect();
        if come_twice(&columns, table.rows) {
            let names = names.join(", ");
            let what = format!(
                "two rows have the same values in the columns {names}, which are declared `unique` together"
            );
            return Err(Error::rows(name, what));
        }
    }
    Ok(())
}

/// Sees that a column keeps what is promised of it alone.
fn promised(declared: &Declared, field: &Field, (at, column): (usize, &Column), rows: usize) -> Result<()> {
    let (table, name) = (&declared.name, &field.name);
    if let (Some(end), Values::Numbers(numbers)) = (declared.end(at), &column.values) {
        let within = |(row, number)| column.is_null(row) || (0..end).contains(&number);
        if !numbers.iter().enumerate().all(within) {
            let below = declared.below[name];
            let what = format!(
                "column {name} has a value that is not 0 or more and less than {below}, as `below` promises"
            );
            return Err(Error::rows(table, what));
        }
    }
    if let (Some(list), Values::Text(width, bytes)) = (declared.list(at), &column.values) {
        let listed = |(row, text)| column.is_null(row) || list.place(text).is_ok();
        if !bytes.chunks(*width).enumerate().all(listed) {
            let what = format!("column {name} has a value that `values` does not list");
            return Err(Error::rows(table, what));
        }
    }
    let once = declared.is_unique(name).then_some(1);
    let at_most = declared.at_most.get(name).copied();
    let (most, distinct) = (once.into_iter().chain(at_most).min(), declared.distinct.get(name));
    if most.is_none() && distinct.is_none() {
        return Ok(());
    }
    let found = Repeats::of(column, rows);
    if let Some(most) = most.filter(|&most| found.most > most) {
        let count = found.most;
        let what = match most {
            1 => format!("a value occurs {count} times in column {name}, which is declared `unique`"),
            _ => format!("a value occurs {count} times in column {name}, but `at_most` allows {most}"),
        };
        return Err(Error::rows(table, what));
    }
    if let Some(&most) = distinct.filter(|&&most| found.distinct > most) {
        let what = format!(
            "column {name} has {} different values, but `distinct` allows {most}",
            found.distinct
        );
        return Err(Error::rows(table, what));
    }
    Ok(())
}

/// Whether two rows without nulls in these columns have the same values in all of them.
fn come_twice(columns: &[&Column], rows: usize) -> bool {
    // No table has more rows.
    let rows = 0..u32::try_from(rows).unwrap_or(u32::MAX);
    let whole = |row: &u32| !columns.iter().any(|column| column.is_null(*row as usize));
    let compared = |one, other| compare_values(columns, one, other);
    let mut places: Vec<u32> = rows.filter(whole).collect();
    places.sort_unstable_by(|&one, &other| compared(one, other));
    places.windows(2).any(|pair| compared(pair[0], pair[1]).is_eq())
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

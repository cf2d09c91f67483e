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
    check_rows(declared, 0, table)?;
    let mut promises = promises(declared);
    promises.try_for_each(|promise| promise.check(declared, &promise.repeats(table)))
}

/// Sees that `rows`, behind so many others, keep what the owner of their table promises of each row.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_rows(declared: &Declared, before: usize, rows: &Table) -> Result<()> {
    let name = &declared.name;
    let count = before.saturating_add(rows.rows);
    if count > declared.max_rows {
        let what = format!(
            "it has {count} rows, more than its `max_rows` of {}",
            declared.max_rows
        );
        return Err(Error::rows(name, what));
    }
    if rows.fields != declared.fields || rows.columns.len() != rows.fields.len() {
        return Err(Error::rows(name, "its columns are not the declared ones"));
    }
    for (at, (field, column)) in rows.fields.iter().zip(&rows.columns).enumerate() {
        if !is_of(field, column, rows.rows) {
            let what = format!("column {} has values that do not fit its type", field.name);
            return Err(Error::rows(name, what));
        }
        values_promised(declared, field, (at, column))?;
    }
    Ok(())
}

/// Sees that a column has the values that are promised.
fn values_promised(declared: &Declared, field: &Field, (at, column): (usize, &Column)) -> Result<()> {
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
    Ok(())
}

/// What an owner promises of how often values come in some columns of a table, taken together. Rows in which one of them is null do not count.
pub struct Promise {
    /// The columns.
    columns: Vec<usize>,
    /// How many rows may have the same values.
    most: Option<usize>,
    /// How many different values there may be.
    distinct: Option<usize>,
}

/// All such promises of a table.
pub(crate) fn promises(declared: &Declared) -> impl Iterator<Item = Promise> {
    let of_one = |(at, field): (usize, &Field)| {
        let once = declared.is_unique(&field.name).then_some(1);
        let at_most = declared.at_most.get(&field.name).copied();
        let most = once.into_iter().chain(at_most).min();
        let distinct = declared.distinct.get(&field.name).copied();
        let is_promised = most.is_some() || distinct.is_some();
        is_promised.then(|| Promise {
            columns: vec![at],
            most,
            distinct,
        })
    };
    let of_several = |names: &Vec<String>| Promise {
        columns: names.iter().filter_map(|name| declared.column(name)).collect(),
        most: Some(1),
        distinct: None,
    };
    let several = declared.unique.iter().filter(|names| names.len() > 1);
    let single = declared.fields.iter().enumerate().filter_map(of_one);
    single.chain(several.map(of_several))
}

impl Promise {
    /// The columns, by their places in the table.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// How often values come in these columns of a table.
    fn repeats(&self, table: &Table) -> Repeats {
        let columns: Vec<&Column> = self.columns.iter().map(|&at| &table.columns[at]).collect();
        Repeats::of(&columns, table.rows)
    }

    /// Sees that values come as often as is promised.
    ///
    /// # Errors
    /// As [`check`].
    pub(crate) fn check(&self, declared: &Declared, found: &Repeats) -> Result<()> {
        let names = self.columns.iter().map(|&at| declared.fields[at].name.as_str());
        let names: Vec<&str> = names.collect();
        let name = names.join(", ");
        let what = match (self.most, self.distinct) {
            (Some(1), _) if found.most > 1 && names.len() > 1 => {
                format!(
                    "two rows have the same values in the columns {name}, which are declared `unique` together"
                )
            }
            (Some(1), _) if found.most > 1 => format!(
                "a value occurs {} times in column {name}, which is declared `unique`",
                found.most
            ),
            (Some(most), _) if found.most > most => format!(
                "a value occurs {} times in column {name}, but `at_most` allows {most}",
                found.most
            ),
            (_, Some(most)) if found.distinct > most => format!(
                "column {name} has {} different values, but `distinct` allows {most}",
                found.distinct
            ),
            _ => return Ok(()),
        };
        Err(Error::rows(&declared.name, what))
    }
}

/// How often values come, which are looked at in their order.
#[derive(Default)]
pub struct Repeats {
    /// The one that comes most often.
    most: usize,
    /// How many different ones there are.
    distinct: usize,
    /// How often the last one has come.
    last: usize,
}

impl Repeats {
    /// Those in some columns.
    fn of(columns: &[&Column], rows: usize) -> Self {
        let there = (0..rows).filter(|&row| !columns.iter().any(|column| column.is_null(row)));
        match columns {
            [column] => match &column.values {
                Values::Numbers(numbers) => Self::of_sorted(numbers.gather(there).sorted().iter()),
                Values::Text(width, bytes) => {
                    let mut texts: Vec<&[u8]> = there.map(|row| &bytes[row * width..][..*width]).collect();
                    texts.sort_unstable();
                    Self::of_sorted(texts.into_iter())
                }
            },
            _ => {
                // No table has more rows.
                let mut places: Vec<u32> = there.map(|row| row as u32).collect();
                let compared = |one, other| compare_values(columns, one, other);
                places.sort_unstable_by(|&one, &other| compared(one, other));
                let mut found = Repeats::default();
                for (at, &place) in places.iter().enumerate() {
                    found.add(at > 0 && compared(places[at - 1], place).is_eq());
                }
                found
            }
        }
    }

    fn of_sorted<T: PartialEq>(values: impl Iterator<Item = T>) -> Self {
        let mut found = Repeats::default();
        let mut last: Option<T> = None;
        for value in values {
            found.add(last.as_ref() == Some(&value));
            last = Some(value);
        }
        found
    }

    /// The next value comes, which may be the same as the last one.
    pub fn add(&mut self, is_same: bool) {
        self.last = match is_same {
            true => self.last + 1,
            false => {
                self.distinct += 1;
                1
            }
        };
        self.most = self.most.max(self.last);
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

//! Groups of rows in the clear, as these come.

use std::collections::HashMap;

use super::column::{Column, Values};
use super::rows::Rows;
use crate::kind::ValueKind;
use crate::relation::Function;

/// Groups that rows are added to.
pub(super) struct Groups<'a> {
    keys: usize,
    functions: &'a [Function],
    /// Whether there are groups by keys, or one of all rows.
    grouped: bool,
    /// The group of each key.
    places: HashMap<Box<[u8]>, usize>,
    /// The keys of each group, and what has been made of its rows.
    columns: Vec<GroupColumn>,
    count: usize,
}

struct GroupColumn {
    /// The value of each group.
    values: Values,
    /// Whether each group has one.
    any: Vec<bool>,
    /// How often a sum has gone beyond the greatest number more than beyond the least.
    over: Vec<i64>,
}

impl<'a> Groups<'a> {
    /// Groups by the first `keys` columns, whose columns are of `kinds`.
    pub(super) fn new(
        kinds: impl Iterator<Item = ValueKind>,
        keys: usize,
        functions: &'a [Function],
        grouped: bool,
    ) -> Self {
        let made = |kind| GroupColumn {
            values: Values::none(kind),
            any: Vec::new(),
            over: Vec::new(),
        };
        Groups {
            keys,
            functions,
            grouped,
            places: HashMap::new(),
            columns: kinds.map(made).collect(),
            count: usize::from(!grouped),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn add(&mut self, rows: &Rows) {
        let mut of_rows: Vec<usize> = vec![0; rows.count];
        // The first row of each new group.
        let mut firsts = Vec::new();
        if self.grouped {
            let mut key = Vec::new();
            for (row, group) in of_rows.iter_mut().enumerate() {
                key.clear();
                rows.columns[..self.keys]
                    .iter()
                    .for_each(|column| column.write(row, &mut key));
                *group = match self.places.get(&key[..]) {
                    Some(&group) => group,
                    None => {
                        let next = self.places.len();
                        self.places.insert(key.as_slice().into(), next);
                        firsts.push(row);
                        next
                    }
                };
            }
            self.count = self.places.len();
        }
        let (keys, values) = self.columns.split_at_mut(self.keys);
        for (made, column) in keys.iter_mut().zip(&rows.columns) {
            made.append(&column.gather(&firsts));
        }
        for ((made, column), function) in values
            .iter_mut()
            .zip(&rows.columns[self.keys..])
            .zip(self.functions)
        {
            made.grow(self.count);
            made.add(column, *function, &of_rows);
        }
    }

    /// The groups; nothing if a sum overflows.
    pub(super) fn finish(self) -> Option<Rows> {
        let Groups {
            keys,
            functions,
            count,
            columns,
            ..
        } = self;
        let column = |(at, mut made): (usize, GroupColumn)| {
            if made.over.iter().any(|&over| over != 0) {
                return None;
            }
            made.grow(count);
            let counts = at
                .checked_sub(keys)
                .is_some_and(|at| matches!(functions[at], Function::Rows | Function::Count));
            let nullable = !counts && made.any.contains(&false);
            Some(Column {
                nulls: nullable.then(|| made.any.iter().map(|any| !any).collect()),
                values: made.values,
            })
        };
        let columns = columns.into_iter().enumerate().map(column);
        Some(Rows {
            columns: columns.collect::<Option<Vec<_>>>()?,
            count,
        })
    }
}

impl GroupColumn {
    /// Room for so many groups.
    fn grow(&mut self, count: usize) {
        match &mut self.values {
            Values::Numbers(numbers) => numbers.resize(count, 0),
            Values::Text(width, bytes) => bytes.resize(count * *width, 0),
        }
        self.any.resize(count, false);
        self.over.resize(count, 0);
    }

    /// The values of new groups.
    fn append(&mut self, more: &Column) {
        match (&mut self.values, &more.values) {
            (Values::Numbers(own), Values::Numbers(numbers)) => own.extend(numbers),
            (Values::Text(_, own), Values::Text(_, bytes)) => own.extend(bytes),
            _ => (),
        }
        let count = self.values.rows();
        (self.any.len()..count).for_each(|at| self.any.push(!more.is_null(at - self.over.len())));
        self.over.resize(count, 0);
    }

    /// Adds each row to its group.
    fn add(&mut self, column: &Column, function: Function, of_rows: &[usize]) {
        let there = |row: &usize| function == Function::Rows || !column.is_null(*row);
        let rows = (0..of_rows.len()).filter(there);
        match (function, &mut self.values, &column.values) {
            (Function::Rows | Function::Count, Values::Numbers(counts), _) => {
                rows.for_each(|row| counts[of_rows[row]] += 1);
            }
            (Function::Sum, Values::Numbers(sums), Values::Numbers(numbers)) => {
                for row in rows {
                    let group = of_rows[row];
                    let (sum, overflows) = sums[group].overflowing_add(numbers[row]);
                    self.over[group] += i64::from(overflows) * if numbers[row] < 0 { -1 } else { 1 };
                    sums[group] = sum;
                    self.any[group] = true;
                }
            }
            (_, Values::Numbers(best), Values::Numbers(numbers)) => {
                for row in rows {
                    let group = of_rows[row];
                    let own = if function == Function::Least {
                        numbers[row].min(best[group])
                    } else {
                        numbers[row].max(best[group])
                    };
                    best[group] = if self.any[group] { own } else { numbers[row] };
                    self.any[group] = true;
                }
            }
            (_, Values::Text(width, best), Values::Text(_, bytes)) => {
                for row in rows {
                    let group = of_rows[row];
                    let text = &bytes[row * *width..][..*width];
                    let best = &mut best[group * *width..][..*width];
                    let better = match function {
                        Function::Least => text < &*best,
                        _ => text > &*best,
                    };
                    if better || !self.any[group] {
                        best.copy_from_slice(text);
                    }
                    self.any[group] = true;
                }
            }
            _ => (),
        }
    }
}

//! What a party does with its own rows, in the clear.

mod expr;

use std::cmp::Ordering;
use std::collections::HashMap;

use cenote_tables::{Column, Field, Table, Type, Values};

use self::expr::{evaluate, truths};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::plan::physical::{Join, Ordered, Physical, Step};
use crate::relation::Function;
use crate::schema::{Declared, Schema};

/// Rows in the clear.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<Column>,
    pub(crate) count: usize,
}

/// This party's tables, in the places of those of the schema.
pub(crate) struct Own<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) tables: &'a [Option<Table>],
}

/// Why this party's rows cannot be used.
fn refused(table: &str, what: impl Into<String>) -> Error {
    Error::Rows {
        table: table.into(),
        what: what.into(),
    }
}

/// Sees that a table keeps what its owner promises of it.
///
/// # Errors
/// [`Error::Rows`], which says what it does not keep.
pub(crate) fn check(declared: &Declared, table: &Table) -> Result<()> {
    let name = &declared.name;
    if table.rows > declared.max_rows {
        let what = format!(
            "it has {} rows, and `max_rows` is {}",
            table.rows, declared.max_rows
        );
        return Err(refused(name, what));
    }
    if table.fields != declared.fields || table.columns.len() != table.fields.len() {
        return Err(refused(name, "its columns are not those that are declared"));
    }
    for (field, column) in table.fields.iter().zip(&table.columns) {
        if !is_of(field, column, table.rows) {
            let what = format!("{} has what is not of its type", field.name);
            return Err(refused(name, what));
        }
    }
    let counts = |column: usize| {
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        let columns = std::slice::from_ref(&table.columns[column]);
        (0..table.rows).for_each(|row| {
            if let Some(key) = key(columns, row) {
                *counts.entry(key).or_default() += 1;
            }
        });
        counts
    };
    let of = |name: &String| declared.column(name).expect("the schema was checked");
    let unique = declared.unique.iter().map(|name| (name, 1));
    for (column, most) in unique.chain(declared.at_most.iter().map(|(name, &most)| (name, most))) {
        let found = counts(of(column)).into_values().max().unwrap_or(0);
        if found > most {
            let what = match most {
                1 => format!("a value comes {found} times in {column}, which is declared `unique`"),
                _ => format!("a value comes {found} times in {column}, and `at_most` says {most}"),
            };
            return Err(refused(name, what));
        }
    }
    for (column, &most) in &declared.distinct {
        let found = counts(of(column)).len();
        if found > most {
            let what = format!("{column} has {found} different values, and `distinct` says {most}");
            return Err(refused(name, what));
        }
    }
    Ok(())
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
                let fits = |(row, number)| column.is_null(row) || (least..=most).contains(number);
                numbers.len() == rows && numbers.iter().enumerate().all(fits)
            }
            (Values::Text(width, bytes), Type::Char(most), _) => {
                *width == usize::from(most) && bytes.len() == rows * width
            }
            _ => false,
        }
}

impl Own<'_> {
    /// The rows that `physical`, which this party owns, gives.
    ///
    /// # Errors
    /// [`Error::Rows`] if they do not keep what is promised, or a calculation goes wrong.
    pub(crate) fn rows(&self, physical: &Physical) -> Result<Rows> {
        match &physical.step {
            Step::Scan { table, columns } => {
                let own = self.tables.get(*table).and_then(Option::as_ref);
                let own = own.ok_or_else(|| refused(&self.schema.tables[*table].name, "it is not given"))?;
                Ok(Rows {
                    columns: columns
                        .iter()
                        .map(|&column| own.columns[column].clone())
                        .collect(),
                    count: own.rows,
                })
            }
            Step::Project(input, exprs) => {
                let rows = self.rows(input)?;
                self.projected(physical, &rows, exprs)
            }
            Step::Filter(input, condition) => {
                let rows = self.rows(input)?;
                let condition = self.projected(physical, &rows, std::slice::from_ref(condition))?;
                let kept = truths(&condition.columns[0]);
                let places: Vec<usize> = (0..rows.count).filter(|&row| kept[row]).collect();
                Ok(rows.gather(&places))
            }
            Step::Join(join) => self.joined(join, physical.rows),
            Step::Union(inputs) => {
                let parts = inputs
                    .iter()
                    .map(|input| self.rows(input))
                    .collect::<Result<Vec<_>>>()?;
                Ok(Rows::together(&parts))
            }
            Step::Group {
                input,
                keys,
                functions,
                grouped,
            } => {
                let rows = self.rows(input)?;
                let groups =
                    grouped_by(&rows, *keys, functions, *grouped).ok_or_else(|| self.failed(physical))?;
                if groups.count > physical.rows {
                    let what = format!(
                        "there are {} groups, and by `distinct` there are {} at most",
                        groups.count, physical.rows
                    );
                    return Err(refused(&self.names(physical), what));
                }
                Ok(groups)
            }
            Step::First { input, order, count } => {
                let rows = self.rows(input)?;
                let mut places: Vec<usize> = (0..rows.count).collect();
                places.sort_by(|&one, &other| rows.compare(order, one, other));
                places.truncate(*count);
                Ok(rows.gather(&places))
            }
            Step::Share(..) | Step::Paired(_) | Step::Verify { .. } => {
                unreachable!("what is secret has no owner")
            }
        }
    }

    fn projected(&self, physical: &Physical, rows: &Rows, exprs: &[Expr]) -> Result<Rows> {
        let columns = exprs
            .iter()
            .map(|expr| evaluate(expr, &rows.columns, rows.count, None))
            .collect::<std::result::Result<Vec<_>, _>>();
        Ok(Rows {
            columns: columns.map_err(|_| self.failed(physical))?,
            count: rows.count,
        })
    }

    fn joined(&self, join: &Join, most: usize) -> Result<Rows> {
        let (probe, lookup) = (self.rows(&join.probe)?, self.rows(&join.lookup)?);
        let columns = |rows: &Rows, keys: &[usize]| -> Vec<Column> {
            keys.iter().map(|&key| rows.columns[key].clone()).collect()
        };
        let mut found: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        let keys = columns(&lookup, &join.lookup_keys);
        for row in 0..lookup.count {
            if let Some(key) = key(&keys, row) {
                found.entry(key).or_default().push(row);
            }
        }
        if found.values().any(|rows| rows.len() > join.slots) {
            let what = format!(
                "a key of a join comes more than {} times, which is promised with `unique` or `at_most`",
                join.slots
            );
            return Err(refused(&self.names(&join.lookup), what));
        }
        let keys = columns(&probe, &join.probe_keys);
        let mut pairs: Vec<(usize, Option<usize>)> = Vec::new();
        for row in 0..probe.count {
            let others = key(&keys, row).and_then(|key| found.get(&key));
            match others {
                Some(others) => pairs.extend(others.iter().map(|&other| (row, Some(other)))),
                None if join.outer => pairs.push((row, None)),
                None => (),
            }
        }
        debug_assert!(pairs.len() <= most);
        let first: Vec<usize> = pairs.iter().map(|&(row, _)| row).collect();
        let own = probe.columns.iter().map(|column| column.gather(&first));
        let others = lookup.columns.iter().map(|column| {
            let mut gathered = column.gather_or_null(pairs.iter().map(|&(_, other)| other));
            if !join.outer && column.nulls.is_none() {
                gathered.nulls = None;
            }
            gathered
        });
        Ok(Rows {
            columns: own.chain(others).collect(),
            count: pairs.len(),
        })
    }

    fn failed(&self, physical: &Physical) -> Error {
        refused(
            &self.names(physical),
            "a calculation of the query overflows or divides by zero on its rows",
        )
    }

    /// The tables that a step is of, for messages.
    fn names(&self, physical: &Physical) -> String {
        let mut names = Vec::new();
        tables(physical, &mut |table| {
            names.push(self.schema.tables[table].name.clone())
        });
        names.sort();
        names.dedup();
        names.join(", ")
    }
}

/// Calls `each` with all tables that a step is of.
pub(crate) fn tables(physical: &Physical, each: &mut impl FnMut(usize)) {
    match &physical.step {
        Step::Scan { table, .. } => each(*table),
        Step::Project(input, _) | Step::Filter(input, _) | Step::Share(input, _) => tables(input, each),
        Step::Group { input, .. } | Step::First { input, .. } | Step::Verify { input, .. } => {
            tables(input, each)
        }
        Step::Union(inputs) => inputs.iter().for_each(|input| tables(input, each)),
        Step::Paired(parts) => parts.iter().for_each(|part| tables(&part.input, each)),
        Step::Join(join) => {
            tables(&join.probe, each);
            tables(&join.lookup, each);
        }
    }
}

impl Rows {
    fn gather(&self, places: &[usize]) -> Self {
        Rows {
            columns: self.columns.iter().map(|column| column.gather(places)).collect(),
            count: places.len(),
        }
    }

    /// The rows of all parts, of which there is at least one.
    fn together(parts: &[Rows]) -> Self {
        let columns = (0..parts[0].columns.len())
            .map(|column| Column::concat(parts.iter().map(|part| &part.columns[column])))
            .collect();
        Rows {
            columns,
            count: parts.iter().map(|part| part.count).sum(),
        }
    }

    /// How two rows come after one another.
    fn compare(&self, order: &[Ordered], one: usize, other: usize) -> Ordering {
        compare(&self.columns, order, one, other)
    }

    /// The rows in the order of these columns, those with a null in one of them last; and how many have none.
    pub(crate) fn sorted(&self, keys: &[usize]) -> (Self, usize) {
        let columns: Vec<&Column> = keys.iter().map(|&key| &self.columns[key]).collect();
        let is_null = |row: usize| columns.iter().any(|column| column.is_null(row));
        let mut places: Vec<usize> = (0..self.count).collect();
        places.sort_by(|&one, &other| {
            let by_keys = || {
                let each = columns.iter().map(|column| column.compare(one, other));
                each.fold(Ordering::Equal, Ordering::then)
            };
            is_null(one).cmp(&is_null(other)).then_with(by_keys)
        });
        let whole = places.iter().take_while(|&&row| !is_null(row)).count();
        (self.gather(&places), whole)
    }
}

/// How two rows come after one another.
pub(crate) fn compare(columns: &[Column], order: &[Ordered], one: usize, other: usize) -> Ordering {
    for by in order {
        let column = &columns[by.column];
        let nulls = (column.is_null(one), column.is_null(other));
        let found = match nulls {
            (false, false) if by.descending => column.values.compare(other, one),
            (false, false) => column.values.compare(one, other),
            (one, other) if by.nulls_first => other.cmp(&one),
            (one, other) => one.cmp(&other),
        };
        if found.is_ne() {
            return found;
        }
    }
    Ordering::Equal
}

/// A key as bytes; nothing if a part of it is null.
fn key(columns: &[Column], row: usize) -> Option<Vec<u8>> {
    if columns.iter().any(|column| column.is_null(row)) {
        return None;
    }
    Some(bytes(columns, row))
}

/// The values of a row as bytes, nulls too.
fn bytes(columns: &[Column], row: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for column in columns {
        bytes.push(column.is_null(row).into());
        match &column.values {
            Values::Numbers(numbers) => bytes.extend(numbers[row].to_le_bytes()),
            Values::Text(width, text) => bytes.extend(&text[row * width..][..*width]),
        }
    }
    bytes
}

/// The groups by the first `keys` columns; nothing if a sum overflows.
fn grouped_by(rows: &Rows, keys: usize, functions: &[Function], grouped: bool) -> Option<Rows> {
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut firsts: Vec<usize> = Vec::new();
    let mut group_of: Vec<usize> = Vec::with_capacity(rows.count);
    for row in 0..rows.count {
        let next = firsts.len();
        let group = match grouped {
            true => *places.entry(bytes(&rows.columns[..keys], row)).or_insert(next),
            false => 0,
        };
        if group == next {
            firsts.push(row);
        }
        group_of.push(group);
    }
    let count = if grouped { firsts.len() } else { 1 };
    let mut columns: Vec<Column> = rows.columns[..keys]
        .iter()
        .map(|column| column.gather(&firsts))
        .collect();
    for (column, function) in rows.columns[keys..].iter().zip(functions) {
        columns.push(aggregated(column, *function, &group_of, count)?);
    }
    Some(Rows { columns, count })
}

fn aggregated(column: &Column, function: Function, group_of: &[usize], count: usize) -> Option<Column> {
    let present = |row: usize| !column.is_null(row);
    if matches!(function, Function::Rows | Function::Count) {
        let mut counts = vec![0; count];
        for (row, &group) in group_of.iter().enumerate() {
            counts[group] += i128::from(function == Function::Rows || present(row));
        }
        return Some(Column {
            values: Values::Numbers(counts),
            nulls: None,
        });
    }
    if let (Function::Sum, Values::Numbers(numbers)) = (function, &column.values) {
        let (mut sums, mut any) = (vec![0i128; count], vec![false; count]);
        // How often a sum has gone beyond the greatest number more than beyond the least.
        let mut over = vec![0i64; count];
        for (row, &group) in group_of.iter().enumerate() {
            if present(row) {
                let (sum, overflows) = sums[group].overflowing_add(numbers[row]);
                over[group] += i64::from(overflows) * if numbers[row] < 0 { -1 } else { 1 };
                sums[group] = sum;
                any[group] = true;
            }
        }
        if over.iter().any(|&over| over != 0) {
            return None;
        }
        let nulls = any
            .iter()
            .any(|any| !any)
            .then(|| any.iter().map(|any| !any).collect());
        return Some(Column {
            values: Values::Numbers(sums),
            nulls,
        });
    }
    let mut best: Vec<Option<usize>> = vec![None; count];
    for (row, &group) in group_of.iter().enumerate() {
        let better = |other: usize| match function {
            Function::Least => column.values.compare(row, other).is_lt(),
            _ => column.values.compare(row, other).is_gt(),
        };
        if present(row) && best[group].is_none_or(better) {
            best[group] = Some(row);
        }
    }
    Some(column.gather_or_null(best.into_iter()))
}

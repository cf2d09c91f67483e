//! Which promises are worth a try: of columns that secret steps join, group, sort, compare or calculate with.

use std::collections::BTreeSet;

use super::promise::{Promise, PromiseKind};
use crate::expr::{Expr, Node, ValueKind};
use crate::plan::physical::{Physical, Step, values};
use crate::relation::Function;
use crate::schema::{Declared, Schema};

/// A column of a table.
type Origin = (usize, usize);

/// Examples of how many values a column has: one that alone makes groups, or one of several.
const VALUES: [usize; 2] = [100, 10];
/// How many values a list has in an example, besides those that the query names.
const LISTED: usize = 16;
/// What numbers are less than in an example, unless tables have more rows than a quarter of it.
const END: u64 = 1 << 20;
/// Text of so few bits gets no list.
const FEW_BITS: u32 = 16;

/// Promises to try, each with those that must hold as well.
pub(super) fn candidates(physical: &Physical, schema: &Schema) -> Vec<Vec<Promise>> {
    let mut found = Found::default();
    found.look(physical);
    let mut all: Vec<Vec<Promise>> = Vec::new();
    let mut add = |promises: Vec<Promise>| {
        if !promises.is_empty() && !all.contains(&promises) {
            all.push(promises);
        }
    };
    for (table, columns) in found.keys {
        if may_be_unique(&schema.tables[table], &columns) {
            let kind = PromiseKind::Unique(columns);
            add(vec![Promise { table, kind }]);
        }
    }
    for keys in &found.groups {
        add(few_values(keys, schema));
    }
    // Wide columns of many rows take most.
    let bits = |alike: &BTreeSet<Origin>| {
        let bits = |&(table, column): &Origin| {
            let table = &schema.tables[table];
            table.max_rows as u64 * u64::from(table.kind(column).width())
        };
        alike.iter().map(bits).max()
    };
    found.alike.sort_by_key(|alike| std::cmp::Reverse(bits(alike)));
    for alike in &found.alike {
        add(narrower(alike, schema));
        add(listed(alike, &found.texts, schema));
    }
    all
}

/// Whether it is not declared, and nothing that is declared speaks against it.
fn may_be_unique(table: &Declared, columns: &[usize]) -> bool {
    let names: Vec<&String> = columns.iter().map(|&column| &table.fields[column].name).collect();
    let is_known = table
        .unique
        .iter()
        .any(|unique| unique.iter().all(|name| names.contains(&name)));
    let repeats = |&name: &&String| {
        table.at_most.contains_key(name)
            || table.distinct.contains_key(name)
            || table.values.contains_key(name)
    };
    let many = |&column: &usize| {
        let all = values(table.kind(column), false);
        all.is_none_or(|all| all >= table.max_rows as u64)
    };
    !is_known && !names.iter().any(repeats) && columns.iter().all(many)
}

/// Columns that make groups have few values.
fn few_values(keys: &[Origin], schema: &Schema) -> Vec<Promise> {
    let is_open = |&&(table, column): &&Origin| {
        let table = &schema.tables[table];
        let name = &table.fields[column].name;
        values(table.kind(column), false).is_none()
            && !table.distinct.contains_key(name)
            && table.list(column).is_none()
    };
    let open: Vec<Origin> = keys.iter().filter(is_open).copied().collect();
    let is_unique = |&(table, column): &Origin| {
        let table = &schema.tables[table];
        table.is_unique(&table.fields[column].name)
    };
    let count = VALUES[usize::from(open.len() > 1)];
    let few_rows = |&(table, _): &Origin| schema.tables[table].max_rows <= count;
    if open.iter().any(|origin| is_unique(origin) || few_rows(origin)) {
        return Vec::new();
    }
    let promise = |(table, column): Origin| Promise {
        table,
        kind: PromiseKind::Distinct(column, count),
    };
    open.into_iter().map(promise).collect()
}

/// Numbers are small.
fn narrower(alike: &BTreeSet<Origin>, schema: &Schema) -> Vec<Promise> {
    let rows = alike
        .iter()
        .map(|&(table, _)| schema.tables[table].max_rows as u64);
    let end = rows.fold(END, |end, rows| end.max((4 * rows).next_power_of_two()));
    let open = alike.iter().filter(|&&(table, column)| {
        let table = &schema.tables[table];
        let is_wider =
            matches!(table.kind(column), ValueKind::Number { most, .. } if most >= i128::from(end));
        is_wider && table.end(column).is_none()
    });
    open.map(|&(table, column)| Promise {
        table,
        kind: PromiseKind::Below(column, end),
    })
    .collect()
}

/// Text has few values, which are listed.
fn listed(alike: &BTreeSet<Origin>, texts: &BTreeSet<String>, schema: &Schema) -> Vec<Promise> {
    let promise = |&(table, column): &Origin| {
        let declared = &schema.tables[table];
        let kind = declared.kind(column);
        let ValueKind::Text(bytes) = kind else { return None };
        let is_unique = declared.is_unique(&declared.fields[column].name);
        if declared.list(column).is_some() || kind.width() <= FEW_BITS || is_unique {
            return None;
        }
        let others = (0..LISTED).map(|number| number.to_string());
        let values: BTreeSet<String> = texts.iter().cloned().chain(others).collect();
        let fits = |value: &String| value.len() <= usize::from(bytes);
        Some(Promise {
            table,
            kind: PromiseKind::Values(column, values.into_iter().filter(fits).collect()),
        })
    };
    alike.iter().filter_map(promise).collect()
}

/// What secret steps do with columns of tables.
#[derive(Default)]
struct Found {
    /// Columns of a table by which rows are joined, or grouped.
    keys: Vec<(usize, Vec<usize>)>,
    /// Columns by which rows are grouped together.
    groups: Vec<Vec<Origin>>,
    /// Columns that are compared, each with those that it is joined with.
    alike: Vec<BTreeSet<Origin>>,
    /// Texts that the query names.
    texts: BTreeSet<String>,
}

impl Found {
    fn look(&mut self, physical: &Physical) {
        physical.exprs().iter().for_each(|expr| self.add_texts(expr));
        physical.inputs().into_iter().for_each(|input| self.look(input));
        if physical.owner.is_some() {
            return;
        }
        match &*physical.step {
            Step::Join(join) => {
                for (&probe, &lookup) in join.probe_keys.iter().zip(&join.lookup_keys) {
                    let both = [origins(&join.probe, probe), origins(&join.lookup, lookup)];
                    self.add_alike(both.concat());
                }
                for (side, keys) in [(&join.probe, &join.probe_keys), (&join.lookup, &join.lookup_keys)] {
                    self.add_key(&keys.iter().map(|&key| origins(side, key)).collect::<Vec<_>>());
                }
            }
            Step::Group {
                input,
                keys,
                functions,
                ..
            } => {
                let keys: Vec<Vec<Origin>> = (0..*keys).map(|key| origins(input, key)).collect();
                let single: Option<Vec<Origin>> = keys
                    .iter()
                    .map(|key| <[Origin; 1]>::try_from(&key[..]).ok().map(|[one]| one))
                    .collect();
                self.groups.extend(single);
                keys.iter()
                    .for_each(|key| self.add_key(std::slice::from_ref(key)));
                for (at, function) in (keys.len()..).zip(functions) {
                    if let Function::Sum | Function::Least | Function::Greatest = function {
                        self.add_alike(origins(input, at));
                    }
                }
                keys.into_iter().for_each(|key| self.add_alike(key));
            }
            Step::First { input, order, .. } => {
                order
                    .iter()
                    .for_each(|by| self.add_alike(origins(input, by.column)));
            }
            Step::Window { input, window } => {
                let made = window.made.iter().filter_map(|(_, of)| *of);
                let used = window.order.iter().map(|by| by.column).chain(made);
                used.for_each(|column| self.add_alike(origins(input, column)));
            }
            Step::Project(input, _) | Step::Filter(input, _) | Step::Verify { input, .. } => {
                for expr in physical.exprs().iter().filter(|expr| expr.as_column().is_none()) {
                    expr.columns(&mut |column| self.add_alike(origins(input, column)));
                }
            }
            Step::Scan { .. }
            | Step::Kept { .. }
            | Step::Paired(_)
            | Step::Union(_)
            | Step::Share(..)
            | Step::Repeat { .. } => {}
        }
    }

    /// Adds columns by which rows are joined or grouped, if they are of one table.
    fn add_key(&mut self, keys: &[Vec<Origin>]) {
        let Some(&[(table, _)]) = keys.first().map(Vec::as_slice) else {
            return;
        };
        let column = |key: &Vec<Origin>| match key[..] {
            [(of, column)] if of == table => Some(column),
            _ => None,
        };
        if let Some(columns) = keys.iter().map(column).collect::<Option<Vec<_>>>() {
            let key = (table, columns);
            if !self.keys.contains(&key) {
                self.keys.push(key);
            }
        }
    }

    /// Adds columns that are compared with one another, and with those that these are compared with.
    fn add_alike(&mut self, columns: Vec<Origin>) {
        if columns.is_empty() {
            return;
        }
        let columns = BTreeSet::from_iter(columns);
        let (met, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.alike)
            .into_iter()
            .partition(|alike| !alike.is_disjoint(&columns));
        self.alike = others;
        self.alike
            .push(met.into_iter().fold(columns, |all, alike| &all | &alike));
    }

    fn add_texts(&mut self, expr: &Expr) {
        if let Node::Text(bytes) = &expr.node {
            let text = String::from_utf8_lossy(bytes);
            self.texts.insert(text.trim_end_matches('\0').to_owned());
        }
        expr.parts().into_iter().for_each(|part| self.add_texts(part));
    }
}

/// The columns of tables whose values a column of a step has.
fn origins(steps: &Physical, column: usize) -> Vec<Origin> {
    match &*steps.step {
        Step::Scan { table, columns } => vec![(*table, columns[column])],
        Step::Project(input, exprs) => match exprs[column].as_column() {
            Some(column) => origins(input, column),
            None => Vec::new(),
        },
        Step::Filter(input, _) | Step::Share(input, _) => origins(input, column),
        Step::First { input, .. } | Step::Verify { input, .. } => origins(input, column),
        Step::Group {
            input,
            keys,
            functions,
            ..
        } => match column.checked_sub(*keys).map(|at| functions[at]) {
            None | Some(Function::Least | Function::Greatest | Function::Same) => origins(input, column),
            Some(Function::Rows | Function::Count | Function::Sum) => Vec::new(),
        },
        Step::Window { input, .. } | Step::Repeat { input, .. } if column < input.columns.len() => {
            origins(input, column)
        }
        Step::Window { .. } | Step::Repeat { .. } | Step::Kept { .. } => Vec::new(),
        Step::Union(inputs) => inputs.iter().flat_map(|input| origins(input, column)).collect(),
        Step::Join(join) => match column.checked_sub(join.probe.columns.len()) {
            None => origins(&join.probe, column),
            Some(column) => origins(&join.lookup, column),
        },
        Step::Paired(parts) => {
            let mut from = 0;
            for part in parts {
                let told = (0..part.input.columns.len()).filter(|&own| Some(own) != part.counts);
                let told: Vec<usize> = told.collect();
                if let Some(&own) = told.get(column - from) {
                    return origins(&part.input, own);
                }
                from += told.len();
            }
            Vec::new()
        }
    }
}

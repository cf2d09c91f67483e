//! In which ways the rows of tables can be placed in shards.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::MAX_TRIED;
use super::placing::{Placing, column_of, equal};
use crate::expr::Expr;
use crate::relation::{Operation, Relation};
use crate::schema::Schema;

/// A column of a table.
type Origin = (usize, usize);

/// The ways that may be worth it, those first in which most rows are placed by a key.
pub(super) fn candidates(relation: &Relation, schema: &Schema) -> Vec<Vec<Placing>> {
    let mut found = Found::default();
    found.visit(relation);
    let scanned = relation.scanned();
    let whole = vec![Placing::Whole; schema.tables.len()];
    let mut all: BTreeSet<Vec<Placing>> = BTreeSet::new();
    for &seed in &found.keys {
        let mut placings = whole.clone();
        for (table, column) in found.met(seed) {
            placings[table] = Placing::Key(column);
        }
        all.insert(placings);
    }
    let alone = scanned.iter().map(|&table| BTreeSet::from([table]));
    for tables in alone.chain(found.unions.iter().cloned()) {
        let mut placings = whole.clone();
        tables
            .into_iter()
            .for_each(|table| placings[table] = Placing::Rows);
        all.insert(placings);
    }
    // Rows of different tables that do not meet may be placed anyhow.
    let mut everywhere = whole.clone();
    scanned
        .iter()
        .for_each(|&table| everywhere[table] = Placing::Rows);
    all.insert(everywhere);
    let cut_rows = |placings: &Vec<Placing>| {
        let cut = placings.iter().zip(&schema.tables);
        let cut = cut.filter(|(placing, _)| **placing != Placing::Whole);
        cut.map(|(_, table)| table.max_rows).sum::<usize>()
    };
    let mut all: Vec<Vec<Placing>> = all.into_iter().collect();
    all.sort_by_key(|placings| std::cmp::Reverse(cut_rows(placings)));
    let mut both = side_by_side(&all, &found.components(schema.tables.len()));
    both.sort_by_key(|placings| std::cmp::Reverse(cut_rows(placings)));
    // Those of several components may have rows meet that no condition says are equal, so they do not push out all others.
    all.truncate(MAX_TRIED);
    both.truncate(MAX_TRIED);
    both.retain(|placings| !all.contains(placings));
    both.extend(all);
    both
}

/// With each of these ways the first of those by which tables are placed that never meet its own. Of each set of tables that meet, the first ways are taken.
fn side_by_side(all: &[Vec<Placing>], components: &[usize]) -> Vec<Vec<Placing>> {
    let components_of = |placings: &[Placing]| -> BTreeSet<usize> {
        let of_table = placings.iter().zip(components);
        let cut = of_table.filter(|(placing, _)| **placing != Placing::Whole);
        cut.map(|(_, &component)| component).collect()
    };
    let mut times: BTreeMap<BTreeSet<usize>, usize> = BTreeMap::new();
    let mut first: Vec<(&Vec<Placing>, BTreeSet<usize>)> = Vec::new();
    for placings in all {
        let own = components_of(placings);
        let times = times.entry(own.clone()).or_default();
        *times += 1;
        if *times <= MAX_TRIED {
            first.push((placings, own));
        }
    }
    let together = first.iter().map(|(placings, own)| {
        let (mut placings, mut own) = ((*placings).clone(), own.clone());
        for (other, others) in &first {
            if own.is_disjoint(others) {
                let both = placings.iter_mut().zip(*other);
                both.for_each(|(own, other)| *own = (*own).max(*other));
                own.extend(others);
            }
        }
        placings
    });
    let together: BTreeSet<Vec<Placing>> = together.collect();
    together.into_iter().collect()
}

/// The columns of tables by which rows meet, or are grouped.
#[derive(Default)]
struct Found {
    keys: BTreeSet<Origin>,
    /// The tables of relations that are put together.
    unions: BTreeSet<BTreeSet<usize>>,
    equal: BTreeMap<Origin, BTreeSet<Origin>>,
}

impl Found {
    fn visit(&mut self, relation: &Relation) {
        match &relation.operation {
            Operation::Inner(_, conditions) => {
                for condition in conditions {
                    self.conjuncts(relation, condition);
                }
            }
            Operation::Filter(_, condition) => self.conjuncts(relation, condition),
            Operation::Outer { left, right, on, .. } => {
                for (x, y) in on {
                    self.met_by([origins_of(left, x), origins_of(right, y)]);
                }
            }
            Operation::Group { input, keys, .. } => {
                keys.iter().for_each(|key| self.together(origins_of(input, key)));
            }
            Operation::Window(input, window) => {
                let keys = window.partition.iter();
                keys.for_each(|key| self.together(origins_of(input, key)));
            }
            Operation::Union(_) => {
                self.unions.insert(relation.scanned());
            }
            _ => {}
        }
        relation.inputs().into_iter().for_each(|input| self.visit(input));
    }

    fn conjuncts(&mut self, relation: &Relation, condition: &Expr) {
        for condition in condition.clone().conjuncts() {
            if let Some((x, y)) = equal(&condition) {
                self.met_by([x, y].map(|column| origins(relation, column)));
            }
        }
    }

    /// Rows meet by these columns.
    fn met_by(&mut self, ends: [Vec<Origin>; 2]) {
        if ends.iter().all(|end| !end.is_empty()) {
            self.together(ends.concat());
        }
    }

    /// Rows with one value of these columns are to be in one shard.
    fn together(&mut self, columns: Vec<Origin>) {
        for pair in columns.windows(2) {
            self.equal.entry(pair[0]).or_default().insert(pair[1]);
            self.equal.entry(pair[1]).or_default().insert(pair[0]);
        }
        self.keys.extend(columns);
    }

    /// A number for each of so many tables, the same for those that meet, perhaps by way of others.
    fn components(&self, tables: usize) -> Vec<usize> {
        let mut components: Vec<usize> = (0..tables).collect();
        let met = self
            .equal
            .iter()
            .flat_map(|(from, to)| to.iter().map(|to| [from.0, to.0]));
        let united = self
            .unions
            .iter()
            .flat_map(|union| union.iter().zip(union.iter().skip(1)));
        for [one, other] in met.chain(united.map(|(&one, &other)| [one, other])) {
            let (one, other) = (components[one], components[other]);
            let of_other = components.iter_mut().filter(|component| **component == other);
            of_other.for_each(|component| *component = one);
        }
        components
    }

    /// A column and those that it meets, one of each table: those nearest to it.
    fn met(&self, seed: Origin) -> BTreeMap<usize, usize> {
        let mut met = BTreeMap::from([seed]);
        let mut next = vec![seed];
        while let Some(from) = next.pop() {
            for &(table, column) in self.equal.get(&from).into_iter().flatten() {
                if let Entry::Vacant(place) = met.entry(table) {
                    place.insert(column);
                    next.insert(0, (table, column));
                }
            }
        }
        met
    }
}

/// The columns of tables whose values a column has: several where relations are put together.
fn origins(relation: &Relation, column: usize) -> Vec<Origin> {
    match &relation.operation {
        Operation::Scan(table) => vec![(*table, column)],
        Operation::Kept(_) => Vec::new(),
        Operation::Union(inputs) => {
            let all: Vec<Vec<Origin>> = inputs.iter().map(|input| origins(input, column)).collect();
            match all.iter().any(Vec::is_empty) {
                true => Vec::new(),
                false => all.concat(),
            }
        }
        Operation::Project(input, exprs) => origins_of(input, &exprs[column]),
        Operation::Filter(input, _) | Operation::First(input, ..) => origins(input, column),
        Operation::Group { input, keys, .. } => keys
            .get(column)
            .map_or_else(Vec::new, |key| origins_of(input, key)),
        Operation::Window(input, _) if column < input.columns.len() => origins(input, column),
        Operation::Window(..) => Vec::new(),
        Operation::Outer { left, right, .. } => match column.checked_sub(left.columns.len()) {
            None => origins(left, column),
            Some(column) => origins(right, column),
        },
        Operation::Inner(inputs, _) => {
            let mut column = column;
            for input in inputs {
                match column.checked_sub(input.columns.len()) {
                    None => return origins(input, column),
                    Some(rest) => column = rest,
                }
            }
            Vec::new()
        }
    }
}

/// The same of a column that an expression over `input` has.
fn origins_of(input: &Relation, expr: &Expr) -> Vec<Origin> {
    column_of(expr).map_or_else(Vec::new, |column| origins(input, column))
}

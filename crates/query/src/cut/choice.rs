//! In which ways the rows of tables can be placed in shards.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::MAX_PLANNED;
use super::placing::{Placing, column_of, equal};
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
    for &table in &scanned {
        let mut placings = whole.clone();
        placings[table] = Placing::Rows;
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
    all.truncate(MAX_PLANNED);
    all
}

/// The columns of tables by which rows meet, or are grouped.
#[derive(Default)]
struct Found {
    keys: BTreeSet<Origin>,
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
                    let ends = [(left, x), (right, y)]
                        .map(|(side, end)| column_of(end).and_then(|column| origin(side, column)));
                    self.met_by(ends);
                }
            }
            Operation::Group { input, keys, .. } => {
                let keys = keys.iter().filter_map(column_of);
                self.keys.extend(keys.filter_map(|column| origin(input, column)));
            }
            Operation::Window(input, window) => {
                let keys = window.partition.iter().filter_map(column_of);
                self.keys.extend(keys.filter_map(|column| origin(input, column)));
            }
            _ => {}
        }
        relation.inputs().into_iter().for_each(|input| self.visit(input));
    }

    fn conjuncts(&mut self, relation: &Relation, condition: &crate::expr::Expr) {
        for condition in condition.clone().conjuncts() {
            if let Some((x, y)) = equal(&condition) {
                self.met_by([x, y].map(|column| origin(relation, column)));
            }
        }
    }

    fn met_by(&mut self, ends: [Option<Origin>; 2]) {
        if let [Some(one), Some(other)] = ends {
            self.keys.extend([one, other]);
            self.equal.entry(one).or_default().insert(other);
            self.equal.entry(other).or_default().insert(one);
        }
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

/// The column of a table whose values a column has.
fn origin(relation: &Relation, column: usize) -> Option<Origin> {
    match &relation.operation {
        Operation::Scan(table) => Some((*table, column)),
        Operation::Kept(_) | Operation::Union(_) => None,
        Operation::Project(input, exprs) => origin(input, column_of(&exprs[column])?),
        Operation::Filter(input, _) | Operation::First(input, ..) => origin(input, column),
        Operation::Group { input, keys, .. } => origin(input, column_of(keys.get(column)?)?),
        Operation::Window(input, _) => (column < input.columns.len()).then(|| origin(input, column))?,
        Operation::Outer { left, right, .. } => match column.checked_sub(left.columns.len()) {
            None => origin(left, column),
            Some(column) => origin(right, column),
        },
        Operation::Inner(inputs, _) => {
            let mut column = column;
            for input in inputs {
                match column.checked_sub(input.columns.len()) {
                    None => return origin(input, column),
                    Some(rest) => column = rest,
                }
            }
            None
        }
    }
}

//! Which relations shards can compute by themselves, if the rows of tables are placed in certain shards.

use std::collections::{BTreeMap, BTreeSet};

use cenote_net::PartyId;

use crate::expr::{Comparison, Expr, Node, ValueKind};
use crate::plan::flatten;
use crate::relation::{Operation, Relation};
use crate::schema::Schema;

/// In which shards the rows of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placing {
    /// Every shard has all of them.
    Whole,
    /// No shard has any: only the merge reads them.
    Merge,
    /// Each row is in one shard, whichever.
    Rows,
    /// The value of this column decides in which shard a row is: rows with one value are in one shard.
    Key(usize),
}

/// Where the rows of all tables of a schema are.
pub(super) struct Places<'a> {
    pub(super) schema: &'a Schema,
    pub(super) placings: &'a [Placing],
}

impl Places<'_> {
    /// What shards have of the rows of `input` once they are put in an order: secretly, rows that are equal in it come anyhow, and in each shard in another way.
    fn ordered(&self, shares: Shares, input: &Relation) -> Shares {
        let tables = input.scanned();
        let owners: BTreeSet<PartyId> = tables
            .iter()
            .map(|&table| self.schema.tables[table].party)
            .collect();
        match shares {
            Shares::Whole if self.schema.secret_only || owners.len() > 1 => Shares::Other,
            shares => shares,
        }
    }
}

/// Columns that hold the value by which rows were placed, and whether each may be null.
pub(super) type Keys = BTreeMap<usize, bool>;

/// What shards have of a relation once each has computed it of its own rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shares {
    /// All of them have all of it.
    Whole,
    /// Each row is in one of them, and all of them together have all rows.
    Parts(Keys),
    /// Something else.
    Other,
}

/// The column whose value an expression has, perhaps as another kind.
pub(super) fn column_of(expr: &Expr) -> Option<usize> {
    match &expr.node {
        Node::Column(column) => Some(*column),
        Node::As(part) => match (part.kind, expr.kind) {
            (ValueKind::Number { .. }, ValueKind::Number { .. })
            | (ValueKind::Text(_), ValueKind::Text(_)) => column_of(part),
            _ => None,
        },
        _ => None,
    }
}

/// The columns that a condition says are equal.
pub(super) fn equal(condition: &Expr) -> Option<(usize, usize)> {
    match &condition.node {
        Node::Compare(Comparison::Equal, x, y) => Some((column_of(x)?, column_of(y)?)),
        _ => None,
    }
}

/// What shards have of `relation`, where rows of tables are placed as `of` says.
pub(super) fn shares(relation: &Relation, of: &Places<'_>) -> Shares {
    let nullable = |column: usize| relation.columns[column].nullable;
    match &relation.operation {
        Operation::Scan(table) => match of.placings[*table] {
            Placing::Whole => Shares::Whole,
            Placing::Merge => Shares::Other,
            Placing::Rows => Shares::Parts(Keys::new()),
            Placing::Key(column) => Shares::Parts(Keys::from([(column, nullable(column))])),
        },
        Operation::Kept(_) => Shares::Other,
        Operation::Project(input, exprs) => shares(input, of).mapped(exprs),
        Operation::Filter(input, _) => match input.operation {
            Operation::Inner(..) | Operation::Filter(..) | Operation::Scan(_) => joined(relation, of),
            _ => shares(input, of),
        },
        Operation::Inner(..) => joined(relation, of),
        Operation::Outer {
            left,
            right,
            on,
            full,
        } => {
            let on = on
                .iter()
                .filter_map(|(x, y)| Some((column_of(x)?, column_of(y)?)));
            outer((shares(left, of), shares(right, of)), on, *full)
        }
        Operation::Union(inputs) => inputs
            .iter()
            .map(|input| shares(input, of))
            .reduce(Shares::or)
            .unwrap_or(Shares::Whole),
        Operation::Group { input, keys, .. } => match shares(input, of) {
            // Rows without a value may be in any shard.
            Shares::Parts(by) => match Shares::Parts(without_nulls(&by)).mapped(keys) {
                Shares::Parts(by) if by.is_empty() => Shares::Other,
                grouped => grouped,
            },
            other => other,
        },
        Operation::Window(input, window) => match shares(input, of) {
            Shares::Parts(by) => {
                let columns: Vec<usize> = window.partition.iter().filter_map(column_of).collect();
                match without_nulls(&by).keys().any(|column| columns.contains(column)) {
                    true => Shares::Parts(by),
                    false => Shares::Other,
                }
            }
            other => of.ordered(other, input),
        },
        Operation::First(input, ..) => match shares(input, of) {
            Shares::Parts(_) => Shares::Other,
            other => of.ordered(other, input),
        },
    }
}

fn without_nulls(by: &Keys) -> Keys {
    by.iter()
        .filter(|(_, nullable)| !**nullable)
        .map(|(&column, &nullable)| (column, nullable))
        .collect()
}

impl Shares {
    /// The same of rows that are made of each row.
    fn mapped(self, exprs: &[Expr]) -> Self {
        let Shares::Parts(by) = self else {
            return self;
        };
        let moved = |(at, expr): (usize, &Expr)| Some((at, *by.get(&column_of(expr)?)?));
        Shares::Parts(exprs.iter().enumerate().filter_map(moved).collect())
    }

    /// Of all rows of two relations.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Shares::Whole, Shares::Whole) => Shares::Whole,
            (Shares::Parts(one), Shares::Parts(other)) => {
                let both = |(column, null): (usize, bool)| Some((column, null || *other.get(&column)?));
                Shares::Parts(one.into_iter().filter_map(both).collect())
            }
            _ => Shares::Other,
        }
    }
}

/// Of a join and the conditions on it.
fn joined(relation: &Relation, of: &Places<'_>) -> Shares {
    let (mut inputs, mut conditions) = (Vec::new(), Vec::new());
    flatten(relation, 0, &mut inputs, &mut conditions);
    let all: Vec<Shares> = inputs.iter().map(|input| shares(&input.relation, of)).collect();
    if all.contains(&Shares::Other) {
        return Shares::Other;
    }
    let in_parts = |at: &usize| matches!(all[*at], Shares::Parts(_));
    let Some(first) = (0..all.len()).find(in_parts) else {
        return Shares::Whole;
    };
    let input_of = |column: usize| inputs.partition_point(|input| input.first <= column) - 1;
    // The columns of the join that hold the value by which an input was placed.
    let keys_of = |at: usize| {
        let of = match &all[at] {
            Shares::Parts(by) => by.clone(),
            _ => Keys::new(),
        };
        let from = inputs[at].first;
        of.into_iter().map(move |(column, null)| (column + from, null))
    };
    let equal: Vec<(usize, usize)> = conditions
        .into_iter()
        .flat_map(Expr::conjuncts)
        .filter_map(|condition| equal(&condition))
        .flat_map(|(x, y)| [(x, y), (y, x)])
        .collect();
    let mut by: Keys = keys_of(first).collect();
    let mut met = vec![false; all.len()];
    met[first] = true;
    loop {
        let before = (by.clone(), met.clone());
        for &(x, y) in equal.iter().filter(|(x, _)| before.0.contains_key(x)) {
            let input = input_of(y);
            if !met[input] && keys_of(input).any(|(column, _)| column == y) {
                met[input] = true;
                by.extend(keys_of(input));
            }
            // What is equal is there.
            by.extend([(x, false), (y, false)]);
        }
        if before == (by.clone(), met.clone()) {
            break;
        }
    }
    match (0..all.len()).filter(in_parts).all(|at| met[at]) {
        true => Shares::Parts(by),
        false => Shares::Other,
    }
}

/// Of an outer join of what shards have of two relations, on columns that are equal.
fn outer(
    (left, right): (Shares, Shares),
    mut on: impl Iterator<Item = (usize, usize)>,
    full: bool,
) -> Shares {
    match (left, right) {
        (Shares::Whole, Shares::Whole) => Shares::Whole,
        (Shares::Parts(by), Shares::Whole) if !full => Shares::Parts(by),
        (Shares::Parts(one), Shares::Parts(other)) => {
            match on.any(|(x, y)| one.contains_key(&x) && other.contains_key(&y)) {
                true if full => Shares::Parts(Keys::new()),
                true => Shares::Parts(one),
                false => Shares::Other,
            }
        }
        _ => Shares::Other,
    }
}

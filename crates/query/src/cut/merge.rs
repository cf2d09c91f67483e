//! What shards compute of a query, and what is computed of that.

use super::conditions::lowered;
use super::placing::{Places, Shares, shares};
use crate::error::Error;
use crate::relation::{Aggregate, Function, Kept, Operation, Relation};
use crate::schema::MAX_ROWS;

/// A query in two parts: of each shard's rows, and of the rows that all shards have kept.
pub(super) struct Halves {
    /// The relations that each shard keeps: the largest that it can compute.
    pub(super) shard: Vec<Relation>,
    /// Where it takes rows of one of them, it has a [`Kept`] with nothing in it but which.
    pub(super) merge: Relation,
}

/// Cuts a query whose tables are placed as `of` says; nothing if it cannot be cut so.
pub(super) fn halves(relation: &Relation, of: &Places<'_>) -> Option<Halves> {
    halves_after(0, relation, of).map(Halves::once)
}

impl Halves {
    /// The same, where shards keep relations that are equal once.
    fn once(mut self) -> Self {
        let mut once: Vec<Relation> = Vec::new();
        let mut place = |relation: Relation| {
            let found = once.iter().position(|other| *other == relation);
            found.unwrap_or_else(|| {
                once.push(relation);
                once.len() - 1
            })
        };
        let places: Vec<usize> = self.shard.into_iter().map(&mut place).collect();
        for kept in kept_of(&mut self.merge) {
            kept.relation = places[kept.relation];
        }
        Halves { shard: once, ..self }
    }
}

/// The same of a part of a query, of which shards keep so many relations `before` those of this part.
fn halves_after(before: usize, relation: &Relation, of: &Places<'_>) -> Option<Halves> {
    let is_in_parts = |input: &Relation| matches!(shares(input, of), Shares::Parts(_));
    if is_in_parts(relation) {
        return Some(Halves {
            shard: vec![relation.clone()],
            merge: kept(before, relation),
        });
    }
    match &relation.operation {
        Operation::First(input, order, rows) if is_in_parts(input) => {
            let of_each = Operation::First(input.clone(), order.clone(), 0..rows.end);
            let shard = relation.with(of_each);
            let of_all = Operation::First(Box::new(kept(before, &shard)), order.clone(), rows.clone());
            Some(Halves {
                merge: relation.with(of_all),
                shard: vec![shard],
            })
        }
        Operation::Group {
            input,
            keys,
            aggregates,
            grouped,
            ..
        } if is_in_parts(input) => groups(before, relation, (keys.len(), aggregates, *grouped)),
        _ => below(before, relation, of),
    }
}

/// Cuts what a relation is made of. The merge reads the tables of an input that cannot be cut.
fn below(before: usize, relation: &Relation, of: &Places<'_>) -> Option<Halves> {
    let lowered = lowered(relation);
    let relation = lowered.as_ref().unwrap_or(relation);
    let inputs = relation.inputs().into_iter().enumerate();
    let cut: Vec<_> = inputs
        .filter(|(_, input)| shares(input, of) != Shares::Whole)
        .collect();
    let is_alone = cut.len() == 1;
    let mut halves = Halves {
        shard: Vec::new(),
        merge: relation.clone(),
    };
    for (at, input) in cut {
        let input = halves_after(before + halves.shard.len(), input, of);
        // What shards would keep as it is given, the merge is rather given itself.
        let Some(input) = input.filter(|input| is_alone || !input.shard.iter().all(is_given)) else {
            continue;
        };
        halves.shard.extend(input.shard);
        *halves.merge.inputs_mut().swap_remove(at) = input.merge;
    }
    (!halves.shard.is_empty()).then_some(halves)
}

/// Whether a relation has only rows of tables, each by itself.
fn is_given(relation: &Relation) -> bool {
    match &relation.operation {
        Operation::Scan(_) => true,
        Operation::Project(..) | Operation::Filter(..) | Operation::Union(_) => {
            relation.inputs().into_iter().all(is_given)
        }
        _ => false,
    }
}

/// The rows that shards have kept of a relation, which is theirs with this number.
fn kept(number: usize, relation: &Relation) -> Relation {
    relation.with(Operation::Kept(Kept {
        relation: number,
        shards: 0,
        rows: 0,
        distinct: Vec::new(),
    }))
}

/// Groups of each shard's rows, by the first `keys` columns, and groups of these.
fn groups(
    number: usize,
    relation: &Relation,
    (keys, aggregates, grouped): (usize, &[Aggregate], bool),
) -> Option<Halves> {
    // A shard without rows has no value that all of its rows have.
    if !grouped && aggregates.iter().any(|made| made.function == Function::Same) {
        return None;
    }
    let rows = kept(number, relation);
    let all = rows.all();
    let (by, made) = all.split_at(keys);
    let made = aggregates.iter().zip(made).map(|(aggregate, column)| Aggregate {
        function: aggregate.function.of_parts(),
        of: column.clone(),
    });
    let (by, made) = (by.to_vec(), made.collect());
    Some(Halves {
        merge: rows.grouped(by, made, MAX_ROWS as u64).promised_by(relation),
        shard: vec![relation.clone()],
    })
}

/// Where a relation takes what shards have kept.
pub(super) fn kept_of(relation: &mut Relation) -> Vec<&mut Kept> {
    if !matches!(relation.operation, Operation::Kept(_)) {
        return relation.inputs_mut().into_iter().flat_map(kept_of).collect();
    }
    match &mut relation.operation {
        Operation::Kept(kept) => vec![kept],
        _ => Vec::new(),
    }
}

/// Why a query is not cut.
pub(super) fn refused(relation: &Relation) -> Error {
    let what = "no part of the query can be computed in shards, because rows that meet would be in different ones; join by one key, or leave `shards` out";
    Error::query(relation.at, what)
}

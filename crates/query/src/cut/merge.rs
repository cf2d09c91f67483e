//! What shards compute of a query, and what is computed of that.

use super::placing::{Places, Shares, shares};
use crate::error::Error;
use crate::relation::{Aggregate, Function, Kept, Operation, Relation};
use crate::schema::MAX_ROWS;

/// A query in two parts: of each shard's rows, and of the rows that all shards have kept.
pub(super) struct Halves {
    pub(super) shard: Relation,
    /// Where the rows of the shards are taken, it has a [`Kept`] with nothing in it.
    pub(super) merge: Relation,
}

/// Cuts a query whose tables are placed as `of` says; nothing if it cannot be cut so.
pub(super) fn halves(relation: &Relation, of: &Places<'_>) -> Option<Halves> {
    let is_in_parts = |input: &Relation| matches!(shares(input, of), Shares::Parts(_));
    if is_in_parts(relation) {
        return Some(Halves {
            shard: relation.clone(),
            merge: kept(relation),
        });
    }
    match &relation.operation {
        Operation::First(input, order, rows) if is_in_parts(input) => {
            let of_each = Operation::First(input.clone(), order.clone(), 0..rows.end);
            let shard = relation.with(of_each);
            let of_all = Operation::First(Box::new(kept(&shard)), order.clone(), rows.clone());
            return Some(Halves {
                merge: relation.with(of_all),
                shard,
            });
        }
        Operation::Group {
            input,
            keys,
            aggregates,
            grouped,
            ..
        } if is_in_parts(input) => return groups(relation, keys.len(), aggregates, *grouped),
        _ => {}
    }
    let inputs = relation.inputs().into_iter().enumerate();
    let mut others = inputs.filter(|(_, input)| shares(input, of) != Shares::Whole);
    let (at, input) = others.next()?;
    if others.next().is_some() {
        return None;
    }
    let below = halves(input, of)?;
    let mut merge = relation.clone();
    *merge.inputs_mut().swap_remove(at) = below.merge;
    Some(Halves {
        shard: below.shard,
        merge,
    })
}

/// The rows that shards have kept of a relation.
fn kept(shard: &Relation) -> Relation {
    shard.with(Operation::Kept(Kept {
        shards: 0,
        rows: 0,
        distinct: Vec::new(),
    }))
}

/// Groups of each shard's rows, by the first `keys` columns, and groups of these.
fn groups(relation: &Relation, keys: usize, aggregates: &[Aggregate], grouped: bool) -> Option<Halves> {
    // A shard without rows has no value that all of its rows have.
    if !grouped && aggregates.iter().any(|made| made.function == Function::Same) {
        return None;
    }
    let rows = kept(relation);
    let all = rows.all();
    let (by, made) = all.split_at(keys);
    let made = aggregates.iter().zip(made).map(|(aggregate, column)| Aggregate {
        function: aggregate.function.of_parts(),
        of: column.clone(),
    });
    let (by, made) = (by.to_vec(), made.collect());
    Some(Halves {
        merge: rows.grouped(by, made, MAX_ROWS as u64).promised_by(relation),
        shard: relation.clone(),
    })
}

/// Where a relation takes what shards have kept.
pub(super) fn kept_of(relation: &mut Relation) -> Option<&mut Kept> {
    if !matches!(relation.operation, Operation::Kept(_)) {
        return relation.inputs_mut().into_iter().find_map(kept_of);
    }
    match &mut relation.operation {
        Operation::Kept(kept) => Some(kept),
        _ => None,
    }
}

/// Why a query is not cut.
pub(super) fn refused(relation: &Relation) -> Error {
    let what = "no part of the query can be computed in shards, because rows that meet would be in different ones; join by one key, or leave `shards` out";
    Error::query(relation.at, what)
}

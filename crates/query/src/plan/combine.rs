//! Steps that put the rows of other steps together, or keep the first of them.

use std::ops::Range;
use std::sync::Arc;

use super::facts::Facts;
use super::physical::{Column, Join, Ordered, Physical, Step, values};
use crate::error::{Error, Place, Result};
use crate::expr::Expr;
use crate::relation::Order;
use crate::schema::MAX_ROWS;

/// How often a key comes among the rows that are looked up, if that can be relied on.
pub(super) fn slots(lookup: &Physical, keys: &[usize]) -> Option<usize> {
    let count = lookup.at_most(keys)?.min(lookup.rows);
    // Only its owner can put rows with the same key together.
    (count == 1 || lookup.owner.is_some()).then_some(count)
}

fn too_many(at: Option<Place>, rows: usize) -> Error {
    let what = format!(
        "this may have {rows} rows, more than the limit of {MAX_ROWS}; lower `max_rows` or `at_most` of the tables"
    );
    Error::query(at, what)
}

/// A join, done by the party that has both, or secretly.
pub(super) fn join(join: Join, at: Option<Place>) -> Result<Physical> {
    join_of_at_most(join, usize::MAX, at)
}

/// The same, of which it is known that it has no more rows than `most`.
pub(super) fn join_of_at_most(join: Join, most: usize, at: Option<Place>) -> Result<Physical> {
    let rows = join.rows().min(most);
    if rows > MAX_ROWS {
        return Err(too_many(at, rows));
    }
    let owner = join.probe.owner.filter(|_| join.probe.owner == join.lookup.owner);
    let of_side = |side: &Physical, lacks: bool| {
        let column = |column: &Column| Column {
            nullable: column.nullable || lacks,
            ..*column
        };
        side.columns.iter().map(column).collect::<Vec<_>>()
    };
    let columns = [of_side(&join.probe, join.rest), of_side(&join.lookup, join.outer)].concat();
    let facts = Facts::of_join(&join, owner.is_none());
    debug_assert_eq!(facts.distinct.len(), columns.len());
    let join = match owner {
        Some(_) => join,
        None => Join {
            probe: join.probe.shared(&join.probe_keys),
            // What comes several times is put together before it is shared.
            lookup: if join.slots > 1 {
                join.lookup
            } else {
                join.lookup.shared(&join.lookup_keys)
            },
            ..join
        },
    };
    Ok(Physical {
        columns,
        rows,
        owner,
        facts,
        step: Arc::new(Step::Join(Box::new(join))),
    })
}

/// All rows of several steps with the same columns.
pub(super) fn union(inputs: Vec<Physical>, at: Option<Place>) -> Result<Physical> {
    let rows = inputs
        .iter()
        .map(|input| input.rows)
        .fold(0, usize::saturating_add);
    if rows > MAX_ROWS {
        return Err(too_many(at, rows));
    }
    let owner = inputs[0]
        .owner
        .filter(|_| inputs.iter().all(|input| input.owner == inputs[0].owner));
    let columns: Vec<Column> = (0..inputs[0].columns.len())
        .map(|column| Column {
            kind: inputs[0].columns[column].kind,
            nullable: inputs.iter().any(|input| input.columns[column].nullable),
        })
        .collect();
    let distinct = (0..columns.len()).map(|column| {
        let all = inputs.iter().try_fold(0u64, |all, input| {
            Some(all.saturating_add(input.facts.distinct[column]?))
        });
        match (all, values(columns[column].kind, columns[column].nullable)) {
            (Some(all), Some(values)) => Some(all.min(values)),
            (all, values) => all.or(values),
        }
    });
    let facts = Facts::new(Vec::new(), distinct.collect());
    Ok(Physical {
        columns,
        rows,
        owner,
        facts,
        step: Arc::new(Step::Union(inputs)),
    })
}

/// The rows in these places by the columns after the first `told`, which are the columns that remain.
pub(super) fn first(input: Physical, told: usize, order: &[Order], rows: Range<usize>) -> Physical {
    // A step has a row at least, which need not count.
    let (input, rows) = match rows.start < input.rows {
        true => (input, rows),
        false => (input.filter(Expr::bool(false)), 0..1),
    };
    let by = order.iter().enumerate().map(|(at, order)| Ordered {
        column: told + at,
        descending: order.descending,
        nulls_first: order.nulls_first,
    });
    // Which of several equal rows come first is told by what is told of them, and by nothing else.
    let others = (0..told).map(|column| Ordered {
        column,
        descending: false,
        nulls_first: true,
    });
    let mut order: Vec<Ordered> = Vec::new();
    for by in by.chain(others) {
        let before = order.iter().map(|by| by.column);
        if order.is_empty() || !input.facts.depends(by.column, before, input.owner.is_none()) {
            order.push(by);
        }
    }
    let all = input.all();
    Physical {
        columns: input.columns.clone(),
        rows: input.rows.min(rows.end) - rows.start,
        owner: input.owner,
        facts: input.facts.clone(),
        step: Arc::new(Step::First {
            input: Box::new(input),
            order,
            rows,
        }),
    }
    .project(all[..told].to_vec())
}

//! Rows that shards keep, and that are taken when they are put together.

use std::collections::BTreeMap;

use cenote_primitives::BitMatrix;
use cenote_program::{Bits, Session};

use super::cell::{Cell, Layout, any};
use super::{Executor, Rows};
use crate::plan::physical::{Column, Physical, Step};

/// Bits of a row that is kept: whether anything has gone wrong in its shard, whether the row counts, and its columns.
pub(crate) fn width(columns: &[Column]) -> u32 {
    let of = |column: &Column| column.kind.width() + u32::from(column.nullable);
    2 + columns.iter().map(of).sum::<u32>()
}

/// Rows as they are kept, of which `record` has whether each counts and its columns. Whether anything has `failed` is told with every row, so that nobody learns
/// in which shard it was.
pub(crate) fn to_keep(session: &Session, record: &Bits, failed: &Bits) -> cenote_program::Result<BitMatrix> {
    session.keep_bits(&Bits::join(&[&failed.filling(record.lanes()), record]))
}

/// What shards have kept of each relation, by its number, one shard after another.
pub(crate) type Taken = BTreeMap<usize, Bits>;

/// The steps of a plan that take what shards have kept, in the order of the relations.
fn taking<'a>(physical: &'a Physical, steps: &mut BTreeMap<usize, &'a Physical>) {
    if let Step::Kept { relation, .. } = &*physical.step {
        steps.insert(*relation, physical);
    }
    for input in physical.inputs() {
        taking(input, steps);
    }
}

/// All that shards have kept that a plan takes, of this party's `shares` of what each shard has kept of each relation.
pub(crate) fn taken(
    session: &Session,
    physical: &Physical,
    mut shares: Vec<Vec<BitMatrix>>,
) -> cenote_program::Result<Taken> {
    let mut steps = BTreeMap::new();
    taking(physical, &mut steps);
    let mut all = Taken::new();
    for (relation, step) in steps {
        let Step::Kept { shards, rows, .. } = *step.step else {
            continue;
        };
        let share = |shard: usize| {
            let share = shares.get_mut(shard).and_then(|own| own.get_mut(relation));
            // Where there is none, the engine says so.
            let none = || BitMatrix::zeros(0, rows);
            share.map_or_else(none, |share| std::mem::replace(share, none()))
        };
        let shares: Vec<BitMatrix> = (0..shards).map(share).collect();
        let taken = session.take_bits(width(&step.columns), rows, &shares)?;
        all.insert(relation, Bits::concat(&taken.iter().collect::<Vec<_>>()));
    }
    Ok(all)
}

impl Executor<'_> {
    /// What shards have kept of a relation.
    pub(super) fn of_shards(&mut self, physical: &Physical, relation: usize) -> Rows {
        let all = self.kept.get(&relation).cloned();
        let all = all.expect("what a plan takes was taken before");
        self.failures.push(any(&all.part(0, 1)));
        let mut from = 2;
        let columns = physical.columns.iter().map(|column| {
            let layout = Layout {
                width: column.kind.width(),
                nullable: column.nullable,
            };
            Cell::from_record(&all, &mut from, layout)
        });
        Rows {
            columns: columns.collect(),
            live: all.part(1, 1),
            count: physical.rows,
        }
    }
}

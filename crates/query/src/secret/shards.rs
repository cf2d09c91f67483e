//! Rows that shards keep, and that are taken when they are put together.

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

/// The step of a plan that takes what shards have kept, how many there are, and how many rows each has kept.
fn taking(physical: &Physical) -> Option<(&Physical, usize, usize)> {
    match &*physical.step {
        Step::Kept { shards, rows } => Some((physical, *shards, *rows)),
        _ => physical.inputs().into_iter().find_map(taking),
    }
}

/// All that shards have kept that a plan takes, one shard after another; nothing if it takes nothing.
pub(crate) fn taken(
    session: &Session,
    physical: &Physical,
    mut shares: Vec<BitMatrix>,
) -> cenote_program::Result<Option<Bits>> {
    let Some((step, shards, rows)) = taking(physical) else {
        return Ok(None);
    };
    // Where there are too few, the engine says so.
    shares.resize_with(shards, || BitMatrix::zeros(0, rows));
    let taken = session.take_bits(width(&step.columns), rows, &shares)?;
    Ok(Some(Bits::concat(&taken.iter().collect::<Vec<_>>())))
}

impl Executor<'_> {
    /// What shards have kept.
    pub(super) fn of_shards(&mut self, physical: &Physical) -> Rows {
        let all = self.kept.clone().expect("what a plan takes was taken before");
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

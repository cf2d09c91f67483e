//! Rows that shards keep, and that are taken when they are put together.

use cenote_primitives::BitMatrix;
use cenote_program::{Bits, Session};

use super::cell::{Cell, Layout, any};
use super::{Executor, Rows};
use crate::plan::physical::{Column, Physical};

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

/// The rows that shards have kept, which a merge takes.
#[derive(Debug)]
pub(crate) struct Kept {
    /// How many shards there are.
    pub(crate) shards: usize,
    /// How many rows each has kept, and their bits.
    pub(crate) rows: usize,
    pub(crate) width: u32,
}

impl Kept {
    /// All of them, one shard after another.
    pub(crate) fn taken(
        &self,
        session: &Session,
        mut shares: Vec<BitMatrix>,
    ) -> cenote_program::Result<Bits> {
        // Where there are too few, the engine says so.
        shares.resize_with(self.shards, || BitMatrix::zeros(0, self.rows));
        let taken = session.take_bits(self.width, self.rows, &shares)?;
        Ok(Bits::concat(&taken.iter().collect::<Vec<_>>()))
    }
}

impl Executor<'_> {
    /// What shards have kept.
    pub(super) fn of_shards(&mut self, physical: &Physical) -> Rows {
        let all = self.kept.take().expect("a merge takes what was kept, once");
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

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

impl Executor<'_> {
    /// What so many shards have kept, so many rows each.
    pub(super) fn of_shards(&mut self, physical: &Physical, shards: usize, rows: usize) -> Rows {
        let width = width(&physical.columns);
        let parts: Vec<Bits> = (0..shards)
            .map(|_| {
                // Where there are too few, the engine says so.
                let share = self.kept.pop_front();
                let share = share.unwrap_or_else(|| BitMatrix::zeros(0, rows));
                self.session.take_bits(width, rows, &share)
            })
            .collect();
        let all = Bits::concat(&parts.iter().collect::<Vec<_>>());
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
            count: shards * rows,
        }
    }
}

//! The side that commits.

use std::fmt;

use cenote_primitives::kernels::{LINEAR_SCRATCH, rows_to_columns};
use cenote_primitives::{Block, Block512, Position, Prg, as_bytes, gf128};

use super::code::add_parity;
use super::fold::Powers;
use super::scratch::Scratch;
use super::{ANSWER_BYTES, BATCH_UNIT, Batch, CODE_BITS, MESSAGE_BITS, SHARE_WORDS, Share};

/// Units expanded at once: as many as make the generators fast and the rows still fit into the second cache.
pub(super) const UNITS: usize = 8;

/// Units of a row that are folded at once.
const FOLD_UNITS: usize = 64;

/// The committer: both seeds of every position. They are wiped on drop.
pub struct Committer {
    seeds: Vec<[Prg; 2]>,
    scratch: Scratch,
}

/// Where unit `unit` lies in the stream of a seed. Seeds are used for nothing else, so there is one stream.
pub(super) fn position(unit: u64) -> Position {
    Position {
        stream: 0,
        index: unit,
    }
}

impl Committer {
    /// From [`CODE_BITS`] random OTs: the strings sent.
    ///
    /// # Panics
    /// If the number is another.
    pub fn new(seeds: &[[Block; 2]]) -> Self {
        assert_eq!(seeds.len(), CODE_BITS, "two seeds for each position");
        Self {
            seeds: seeds.iter().map(|pair| pair.map(Prg::new)).collect(),
            scratch: Scratch::new(2 * UNITS * CODE_BITS + FOLD_UNITS + LINEAR_SCRATCH),
        }
    }

    /// Commits to uniform strings: `messages` and `shares`, one for each column, and `corrections` for the receiver.
    ///
    /// # Panics
    /// If the batch is not whole units or an array does not fit it.
    pub fn commit(&self, batch: Batch, messages: &mut [Block], shares: &mut [Share], corrections: &mut [u8]) {
        let units = batch.units();
        assert_eq!(
            (messages.len(), shares.len()),
            (batch.columns, batch.columns),
            "one for each column"
        );
        assert_eq!(corrections.len(), batch.correction_bytes(), "corrections");
        let messages: &mut [[u64; 2]] = bytemuck::cast_slice_mut(messages);
        let shares: &mut [[u64; SHARE_WORDS]] = bytemuck::cast_slice_mut(shares);
        let unit = Batch {
            columns: BATCH_UNIT,
            ..batch
        };
        let mut outputs = messages
            .chunks_exact_mut(BATCH_UNIT)
            .zip(shares.chunks_exact_mut(BATCH_UNIT))
            .zip(corrections.chunks_exact_mut(unit.correction_bytes()));
        self.scratch.lend(|scratch| {
            let (zeros, scratch) = scratch.split_at_mut(UNITS * CODE_BITS);
            let (sums, scratch) = scratch.split_at_mut(UNITS * CODE_BITS);
            let (tables, _) = scratch.split_at_mut(LINEAR_SCRATCH);
            let tables: &mut [Block512; LINEAR_SCRATCH] = tables.try_into().expect("its length");
            for first in (0..units).step_by(UNITS) {
                let units = UNITS.min(units - first);
                self.expand(batch.first + first as u64, units, zeros, sums);
                let tiles = zeros
                    .chunks_exact(CODE_BITS)
                    .zip(sums.chunks_exact_mut(CODE_BITS));
                // The outputs come last, lest one is lost when there is no tile left.
                for ((zeros, sums), ((messages, shares), corrections)) in
                    tiles.take(units).zip(outputs.by_ref())
                {
                    let (message_rows, parity_rows) = sums.split_at_mut(MESSAGE_BITS);
                    add_parity(message_rows, parity_rows, tables);
                    corrections.copy_from_slice(as_bytes(parity_rows));
                    rows_to_columns::<2>(message_rows, messages);
                    rows_to_columns::<SHARE_WORDS>(zeros, shares);
                }
            }
        });
    }

    /// Writes `units` units, each as [`CODE_BITS`] rows, of `s^0` to `zeros` and of `s^0 ⊕ s^1` to `sums`.
    fn expand(&self, first: u64, units: usize, zeros: &mut [Block512], sums: &mut [Block512]) {
        let mut row = [Block512::ZERO; UNITS];
        let row = &mut row[..units];
        for (i, [zero, one]) in self.seeds.iter().enumerate() {
            zero.fill(position(first), row);
            for (unit, &block) in row.iter().enumerate() {
                zeros[unit * CODE_BITS + i] = block;
            }
            one.xor_into(position(first), row);
            for (unit, &block) in row.iter().enumerate() {
                sums[unit * CODE_BITS + i] = block;
            }
        }
    }

    /// The [`ANSWER_BYTES`] of the answer to challenge `alpha` on all of `batches`, blinded by the last [`BATCH_UNIT`]
    /// columns of the last batch, which must be used for nothing else.
    ///
    /// # Panics
    /// If a batch is not whole units.
    pub fn answer(&self, batches: &[Batch], alpha: Block) -> Vec<u8> {
        let mut zeros = vec![Block::ZERO; CODE_BITS];
        let mut messages = vec![Block::ZERO; MESSAGE_BITS];
        let mut powers = Powers::new(alpha);
        self.scratch.lend(|scratch| {
            for batch in batches {
                let units = batch.units();
                for first in (0..units).step_by(FOLD_UNITS) {
                    let units = FOLD_UNITS.min(units - first);
                    let (powers, row) = (powers.next(units), &mut scratch[..units]);
                    let at = position(batch.first + first as u64);
                    for (i, [zero, one]) in self.seeds.iter().enumerate() {
                        zero.fill(at, row);
                        zeros[i] ^= gf128::inner_product(bytemuck::cast_slice(row), powers);
                        if i < MESSAGE_BITS {
                            one.xor_into(at, row);
                            messages[i] ^= gf128::inner_product(bytemuck::cast_slice(row), powers);
                        }
                    }
                }
            }
        });
        let answer = [as_bytes(&zeros), as_bytes(&messages)].concat();
        debug_assert_eq!(answer.len(), ANSWER_BYTES);
        answer
    }
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Committer")
    }
}

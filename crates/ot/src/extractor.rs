//! From rows of the extension to strings of 128 bits, of which no bit is known.
//!
//! The base OTs' choices d are the difference of the extension's rows: the Δ-receiver has q_i ⊕ x_i d where the
//! Δ-sender has q_i. A Δ-receiver that cheats in `k` columns learns those `k` bits of d with probability 2^-k, and is
//! caught otherwise; so it knows at most [`GUESSES`] of them but with probability 2^-41. TinyLEGO (Nielsen, Schneider,
//! Trifiletti 2017, Theorem 1) multiplies all rows, and with them d, by a random public matrix drawn after the extension,
//! which makes of 128 + s bits 128 that are uniform whatever s bits are known.
//!
//! Here the matrix is fixed: G, 127 × 298, whose rows are a basis of a binary code of minimum distance ≥ 41. That is an
//! *exact* extractor for any 40 known bits: if G·d were not uniform given d on a set K, some sum of rows of G other than
//! zero would vanish outside K, and be a codeword of weight at most 40 (Chor et al., "The bit extraction problem", FOCS
//! 1985). Since this holds for every set at once, it does not matter when the bits were guessed, and the same Δ = G·d
//! serves any number of extensions; a random matrix would be known to the Δ-receiver before the second one.
//!
//! The code is the BCH code of [`cenote_primitives::bch`], shortened; row j of G is the generator polynomial times x^j.
//!
//! The last bit of a string is not extracted: it is 0 in the Δ-sender's, the choice in the Δ-receiver's, and 1 in Δ.

use cenote_primitives::{BLOCK_BITS, Block, Block512, SecretBlocks, bch, kernels, transpose64};
use zeroize::Zeroize;

use crate::columns::{Chunk, Columns};

/// Bits of Δ that are extracted.
const EXTRACTED: usize = 127;
/// Columns: the base OTs of a set-up.
pub(crate) const WIDTH: usize = EXTRACTED + bch::PARITY_BITS;
pub(crate) const ROW_WORDS: usize = WIDTH.div_ceil(64);
/// Known bits of d that cost no bit of Δ.
#[cfg(test)]
pub(crate) const GUESSES: usize = bch::DISTANCE - 1;

/// A row: column `c` is bit `c % 64` of word `c / 64`.
pub(crate) type Row = [u64; ROW_WORDS];

/// The linear map G, and scratch memory.
pub(crate) struct Extractor {
    /// Where the generator polynomial has coefficients 1.
    taps: Vec<usize>,
    /// One unit of all columns, then one unit of the strings' bits.
    scratch: SecretBlocks,
}

impl Extractor {
    pub(crate) fn new() -> Self {
        let generator = bch::generator_polynomial();
        let coefficient = |i: &usize| generator[i / 64] >> (i % 64) & 1 == 1;
        Self {
            taps: (0..=bch::PARITY_BITS).filter(coefficient).collect(),
            scratch: SecretBlocks::zeroed(WIDTH + 1 + EXTRACTED),
        }
    }

    /// The string of a row: its last bit `low`, the others G · row.
    pub(crate) fn string(&self, row: &Row, low: bool) -> Block {
        let bit = |column: usize| row[column / 64] >> (column % 64) & 1;
        let mut words = [u64::from(low), 0];
        for j in 0..EXTRACTED {
            let sum = self.taps.iter().fold(0, |sum, tap| sum ^ bit(j + tap));
            words[(j + 1) / 64] |= sum << ((j + 1) % 64);
        }
        Block(words.map(u64::to_le))
    }

    /// Appends the strings of a chunk's used rows to `out`. Their last bits are those of the column `low`, or 0.
    pub(crate) fn strings(
        &mut self,
        chunk: Chunk,
        columns: &Columns,
        low: Option<&[Block512]>,
        out: &mut Vec<Block>,
    ) {
        let (rows, bits) = self.scratch.split_at_mut(WIDTH);
        let mut tiles = [[0; 64]; 2];
        for unit in 0..chunk.used.div_ceil(BLOCK_BITS) {
            for (block, column) in rows.iter_mut().zip(columns.iter()) {
                *block = column[unit];
            }
            bits[0] = low.map_or(Block512::ZERO, |low| low[unit]);
            kernels::sum_taps(rows, &self.taps, &mut bits[1..]);
            for word in 0..8 {
                for (tile, bits) in tiles.iter_mut().zip(bits.chunks_exact(64)) {
                    for (word_of_tile, block) in tile.iter_mut().zip(bits) {
                        *word_of_tile = u64::from_le(block.0[word]);
                    }
                    transpose64(tile);
                }
                let left = chunk.used.saturating_sub(unit * BLOCK_BITS + 64 * word).min(64);
                let [low, high] = &tiles;
                let strings = low.iter().zip(high).take(left);
                out.extend(strings.map(|(low, high)| Block([low.to_le(), high.to_le()])));
            }
        }
        tiles.zeroize();
    }
}

/// Calls `take` with the number and the row of each of a chunk's used rows.
pub(crate) fn rows(chunk: Chunk, columns: &Columns, mut take: impl FnMut(usize, &Row)) {
    let mut tiles = [[0; 64]; ROW_WORDS];
    for first in (0..chunk.used).step_by(64) {
        for (index, column) in columns.iter().enumerate() {
            tiles[index / 64][index % 64] =
                u64::from_le(column[first / BLOCK_BITS].0[first % BLOCK_BITS / 64]);
        }
        tiles[WIDTH / 64][WIDTH % 64..].fill(0);
        tiles.iter_mut().for_each(transpose64);
        for i in 0..64.min(chunk.used - first) {
            let mut row = tiles.each_ref().map(|tile| tile[i]);
            take(first + i, &row);
            row.zeroize();
        }
    }
    tiles.zeroize();
}

#[cfg(test)]
mod tests;

//! The matrices of the extension: one column of bits for each base OT, in chunks of bounded size; and their fold, the
//! universal hash of the consistency check.

use cenote_primitives::{BLOCK_BITS, Block, Block512, SecretBlocks, gf128};

/// Rows of a chunk that are used for nothing but to blind the answer to its challenge.
pub(crate) const BLINDING: usize = 128;

/// 512-row units in the largest chunk. An odd number, so that the same unit of all columns does not compete for one set
/// of a cache.
pub(crate) const MAX_UNITS: usize = 255;

/// Rows that are sent and checked together. The last [`BLINDING`] of its `512 · units` rows blind the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Its size, in units of 512 rows.
    pub(crate) units: usize,
    /// The rows that are used, from the first on.
    pub(crate) used: usize,
}

/// The chunks that make `count` rows. All but the last have a multiple of 64.
pub(crate) fn chunks(count: usize) -> impl Iterator<Item = Chunk> {
    const MOST: usize = MAX_UNITS * BLOCK_BITS - BLINDING;
    (0..count).step_by(MOST).map(move |first| {
        let used = (count - first).min(MOST);
        Chunk {
            units: (used + BLINDING).div_ceil(BLOCK_BITS),
            used,
        }
    })
}

/// A chunk's columns, one after the other. Wiped on drop.
#[derive(Default)]
pub(crate) struct Columns {
    blocks: SecretBlocks,
    units: usize,
}

impl Columns {
    /// Makes room for `width` columns of `units` units. What is in them is unspecified.
    pub(crate) fn resize(&mut self, width: usize, units: usize) {
        self.blocks.resize(width * units);
        self.units = units;
    }

    /// Each column: row `i` is bit `i % 512` of block `i / 512`.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Block512]> {
        self.blocks.chunks_exact(self.units)
    }

    /// Each column, writable.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [Block512]> {
        self.blocks.chunks_exact_mut(self.units)
    }

    /// All columns.
    pub(crate) fn blocks(&self) -> &[Block512] {
        &self.blocks
    }

    /// All columns, writable.
    pub(crate) fn blocks_mut(&mut self) -> &mut [Block512] {
        &mut self.blocks
    }
}

/// The universal hash that challenge α names, on columns of one length.
pub(crate) struct Fold(Vec<Block>);

impl Fold {
    /// For columns of `units` units.
    pub(crate) fn new(alpha: Block, units: usize) -> Self {
        let mut powers = vec![Block::ZERO; 4 * units - 1];
        gf128::powers(alpha, &mut powers);
        Self(powers)
    }

    /// With y_0, …, y_m the column in blocks of 128 rows: y_0 α + y_1 α^2 + … + y_{m-1} α^m + y_m.
    ///
    /// It is linear, so a uniform y_m, the blinding rows, makes it uniform; and for columns that differ it is the same
    /// for at most m of the 2^128 challenges.
    pub(crate) fn fold(&self, column: &[Block512]) -> Block {
        let blocks: &[Block] = bytemuck::cast_slice(column);
        let (&blinding, blocks) = blocks.split_last().expect("a chunk has rows");
        gf128::inner_product(blocks, &self.0) ^ blinding
    }
}

#[cfg(test)]
mod tests {
    use cenote_primitives::{Entropy, as_bytes_mut};

    use super::*;

    #[test]
    fn chunks_hold_all_rows_and_the_blinding() {
        for count in [0, 1, 383, 384, 385, 130_431, 130_432, 130_433, 1_000_000] {
            let chunks: Vec<Chunk> = chunks(count).collect();
            assert_eq!(chunks.iter().map(|chunk| chunk.used).sum::<usize>(), count);
            for chunk in &chunks {
                assert!(chunk.units <= MAX_UNITS);
                let unused = chunk.units * BLOCK_BITS - chunk.used;
                assert!((BLINDING..BLINDING + BLOCK_BITS).contains(&unused));
            }
            assert!(chunks.iter().rev().skip(1).all(|chunk| chunk.used % 64 == 0));
        }
    }

    #[test]
    fn the_fold_is_its_definition() {
        let alpha = Entropy::for_tests(1).block();
        for units in [1, 2, 7] {
            let mut column = vec![Block512::ZERO; units];
            Entropy::for_tests(2).fill(as_bytes_mut(&mut column));
            let blocks: &[Block] = bytemuck::cast_slice(&column);
            // Horner's rule, without the last.
            let (last, blocks) = blocks.split_last().unwrap();
            let value = blocks
                .iter()
                .rev()
                .fold(Block::ZERO, |sum, &block| gf128::mul(sum ^ block, alpha));
            assert_eq!(Fold::new(alpha, units).fold(&column), value ^ *last);
        }
    }

    #[test]
    fn the_blinding_rows_reach_every_bit_of_the_fold() {
        let fold = Fold::new(Block([3, 5]), 2);
        for row in 0..BLINDING {
            let mut column = [Block512::ZERO; 2];
            let row = 2 * BLOCK_BITS - BLINDING + row;
            column[row / 512].0[row % 512 / 64] = u64::to_le(1 << (row % 64));
            let bit = row % 128;
            let mut expected = [0; 2];
            expected[bit / 64] = u64::to_le(1 << (bit % 64));
            assert_eq!(fold.fold(&column), Block(expected));
        }
    }
}

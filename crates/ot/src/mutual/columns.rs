//! The columns of a call, in pieces that stay in a core's own cache.

use std::ops::Range;

use cenote_primitives::{BLOCK_BITS, Block, Block512, SecretBlocks, gf128, kernels};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use super::delta::{SYMBOLS, WIDTH};
use crate::STRINGS;

/// Rows that are used for nothing but to blind the answer to the challenge: the last ones of a call.
const BLINDING: usize = 128;

/// Units of 512 rows in a piece. An odd number, so that the same unit of all columns does not compete for one set of a cache.
const PIECE: usize = 31;

/// How Δ is cut into symbols, as evenly as it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    symbols: usize,
}

impl Shape {
    pub(super) fn new(symbols: u32) -> Self {
        assert!(SYMBOLS.contains(&symbols), "{symbols} symbols");
        Self {
            symbols: symbols as usize,
        }
    }

    pub(super) fn symbols(self) -> usize {
        self.symbols
    }

    /// The bits of Δ that are a symbol.
    pub(super) fn bits(self, symbol: usize) -> Range<usize> {
        WIDTH * symbol / self.symbols..WIDTH * (symbol + 1) / self.symbols
    }

    /// Seeds of all trees.
    pub(super) fn seeds(self) -> usize {
        (0..self.symbols())
            .map(|symbol| 1 << self.bits(symbol).len())
            .sum()
    }

    /// Levels of all trees but their first ones.
    pub(super) fn sums(self) -> usize {
        WIDTH - self.symbols()
    }
}

/// Units of so many rows and of those that blind them.
pub(super) fn units(rows: usize) -> usize {
    rows.saturating_add(BLINDING).div_ceil(BLOCK_BITS)
}

/// The pieces of so many units.
pub(super) fn pieces(units: usize) -> impl Iterator<Item = Range<usize>> {
    (0..units)
        .step_by(PIECE)
        .map(move |first| first..units.min(first + PIECE))
}

/// The bits of a call, if they are this side's, and [`WIDTH`] columns. Wiped on drop.
#[derive(Default)]
pub(super) struct Matrix {
    /// Piece after piece the bits, if they are known, then the columns.
    blocks: SecretBlocks,
    units: usize,
}

/// A piece, writable.
pub(super) struct PieceMut<'a> {
    /// The bits.
    pub(super) choices: &'a mut [Block512],
    /// One column after the other.
    pub(super) columns: &'a mut [Block512],
}

impl Matrix {
    /// Makes room for so many units.
    pub(super) fn resize(&mut self, units: usize) -> Result<()> {
        let blocks = units.checked_mul(1 + WIDTH).filter(|blocks| {
            let mut probe: Vec<Block512> = Vec::new();
            *blocks <= self.blocks.len() || probe.try_reserve_exact(*blocks).is_ok()
        });
        let Some(blocks) = blocks else {
            return Err(Error::OutOfMemory(format!(
                "there is no room for {STRINGS}: {units} times 66048 bytes"
            )));
        };
        self.blocks.resize(blocks);
        self.units = units;
        Ok(())
    }

    pub(super) fn piece_mut(&mut self, piece: &Range<usize>) -> PieceMut<'_> {
        let of_piece = piece.start * (1 + WIDTH)..piece.end * (1 + WIDTH);
        let (choices, columns) = self.blocks[of_piece].split_at_mut(piece.len());
        PieceMut { choices, columns }
    }

    /// The hashes of the bits and of all columns: the sums of their blocks times `points`.
    pub(super) fn fold(&self, points: &[Block]) -> Zeroizing<[Block; 1 + WIDTH]> {
        let mut sums = Zeroizing::new([Block::ZERO; 1 + WIDTH]);
        for piece in pieces(self.units) {
            let of_piece = &self.blocks[piece.start * (1 + WIDTH)..piece.end * (1 + WIDTH)];
            let points = &points[4 * piece.start..4 * piece.end];
            gf128::add_inner_products(bytemuck::cast_slice(of_piece), points, &mut sums[..]);
        }
        sums
    }

    /// The first rows. Bit 0 becomes the bit of the row, if the bits are known, else 0: column 0 is written over.
    pub(super) fn rows(&mut self, known: bool, rows: &mut [Block]) {
        let mut rows = rows.chunks_mut(BLOCK_BITS);
        for piece in pieces(self.units) {
            let PieceMut { choices, columns } = self.piece_mut(&piece);
            let units = piece.len();
            match known {
                true => columns[..units].copy_from_slice(choices),
                false => columns[..units].fill(Block512::ZERO),
            }
            for unit in 0..units {
                let Some(rows) = rows.next() else {
                    return;
                };
                let transpose = |rows: &mut [Block]| {
                    let rows = bytemuck::cast_slice_mut(rows);
                    kernels::strided_rows_to_columns::<2>(&columns[unit..], units, rows);
                };
                if rows.len() == BLOCK_BITS {
                    transpose(rows);
                } else {
                    let mut all = Zeroizing::new([Block::ZERO; BLOCK_BITS]);
                    transpose(&mut all[..]);
                    rows.copy_from_slice(&all[..rows.len()]);
                }
            }
        }
    }
}

//! Folds: random combinations of columns (Section V-A of Nielsen, Schneider, Trifiletti 2017).

use cenote_primitives::kernels::columns_to_rows;
use cenote_primitives::{BLOCK_BITS, Block, Block512, SecretBlocks, gf128};

/// Columns folded at once.
pub(super) const FOLD_COLUMNS: usize = 4096;

/// Elements of GF(2^128) in a [`Block512`] of a row.
const ELEMENTS: usize = size_of::<Block512>() / size_of::<Block>();

/// Successive powers of a challenge.
pub(super) struct Powers {
    alpha: Block,
    /// The power before the next.
    last: Option<Block>,
    powers: Vec<Block>,
}

impl Powers {
    /// The powers from α itself on.
    pub(super) fn new(alpha: Block) -> Self {
        Self {
            alpha,
            last: None,
            powers: Vec::new(),
        }
    }

    /// The next powers, one for each element of `blocks` blocks of a row.
    pub(super) fn next(&mut self, blocks: usize) -> &[Block] {
        self.powers.resize(ELEMENTS * blocks, Block::ZERO);
        gf128::powers(self.alpha, &mut self.powers);
        if let Some(last) = self.last {
            for power in &mut self.powers {
                *power = gf128::mul(*power, last);
            }
        }
        self.last = self.powers.last().copied().or(self.last);
        &self.powers
    }
}

/// The fold of rows that come as columns of `W` words.
pub(super) struct Fold<const W: usize> {
    /// The sums, one for each row.
    rows: Vec<Block>,
    scratch: SecretBlocks,
}

impl<const W: usize> Fold<W> {
    /// Of `rows` rows, none of which has anything yet.
    pub(super) fn new(rows: usize) -> Self {
        Self {
            rows: vec![Block::ZERO; rows],
            scratch: SecretBlocks::default(),
        }
    }

    /// Adds up to [`FOLD_COLUMNS`] columns, 128 for each power; zeros if they are fewer.
    pub(super) fn absorb(&mut self, powers: &[Block], columns: &[[u64; W]]) {
        let count = self.rows.len();
        let units = columns.len().div_ceil(BLOCK_BITS);
        self.scratch.resize(self.scratch.len().max((1 + units) * count));
        let (tile, rows) = self.scratch.split_at_mut(count);
        for (unit, columns) in columns.chunks(BLOCK_BITS).enumerate() {
            columns_to_rows::<W>(columns, tile);
            for (row, &block) in rows.chunks_exact_mut(units).zip(&*tile) {
                row[unit] = block;
            }
        }
        let rows = bytemuck::cast_slice(&rows[..count * units]);
        gf128::add_inner_products(rows, powers, &mut self.rows);
    }

    /// The folded rows.
    pub(super) fn rows(&self) -> &[Block] {
        &self.rows
    }
}

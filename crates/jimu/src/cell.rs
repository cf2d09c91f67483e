//! The blocks of a wire in one lane, and where in them what is.

use std::ops::Range;

/// What a party holds of a wire in one lane, in blocks. All of it is linear: the cell of a sum is the sum of the cells.
///
/// The garbler's cell is the 0-label and a block with the MAC of the permutation bit. The evaluator's is the i-hash, the label, and a
/// block with the key of the permutation bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Blocks of a label.
    pub(crate) blocks: usize,
    /// Blocks of what stands before the label: nothing at the garbler, the i-hash at the evaluator.
    pub(crate) before: usize,
}

impl Cell {
    pub(crate) fn garbler(blocks: usize) -> Self {
        Self { blocks, before: 0 }
    }

    pub(crate) fn evaluator(blocks: usize) -> Self {
        let before = blocks - 1;
        Self { blocks, before }
    }

    /// Blocks of a cell.
    pub(crate) fn size(self) -> usize {
        self.before + self.blocks + 1
    }

    /// Where the label is.
    pub(crate) fn label(self) -> Range<usize> {
        self.before..self.before + self.blocks
    }

    /// Where the MAC or key is, in the lower word.
    pub(crate) fn word(self) -> usize {
        self.before + self.blocks
    }
}

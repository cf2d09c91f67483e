//! The vectors of elements of one proof's halves, reused from batch to batch.

use cenote_primitives::sumcheck::{Fold, QUARTER_POINTS, add_quarter_grid, fold_quarters, fold_weights};
use cenote_primitives::{BLOCK_BITS, Block, Block512, SecretBlocks, as_quarters_mut};

/// One half of a statement: the elements that are left of it.
#[derive(Default)]
pub(super) struct Half {
    elements: SecretBlocks,
    left: usize,
}

impl Half {
    /// The elements of the columns of two vectors of bits, one after the other.
    pub(super) fn begin(&mut self, fold: &Fold, first: &[Block512], second: &[Block512], tiles: usize) {
        self.left = 2 * BLOCK_BITS * tiles;
        self.elements.resize(self.left / 4);
        let (of_first, of_second) = self.slice(self.left).split_at_mut(BLOCK_BITS * tiles);
        fold.apply(first, of_first);
        fold.apply(second, of_second);
    }

    /// The elements that another half has, with its two vectors in the other order.
    pub(super) fn begin_as(&mut self, other: &mut Half) {
        self.left = other.left;
        self.elements.resize(self.left / 4);
        let half = self.left / 2;
        let (of_first, of_second) = self.slice(2 * half).split_at_mut(half);
        let others = other.slice(2 * half);
        of_first.copy_from_slice(&others[half..]);
        of_second.copy_from_slice(&others[..half]);
    }

    /// The elements of both vectors.
    pub(super) fn vectors(&mut self) -> [&mut [Block]; 2] {
        let half = self.left / 2;
        self.slice(2 * half).split_at_mut(half).into()
    }

    fn slice(&mut self, count: usize) -> &mut [Block] {
        &mut as_quarters_mut(&mut self.elements)[..count]
    }

    /// What is left in four quarters, the last of which end in zeros.
    fn quarters(&mut self) -> &mut [Block] {
        let (left, whole) = (self.left, self.left.next_multiple_of(4));
        let elements = self.slice(whole);
        elements[left..].fill(Block::ZERO);
        elements
    }

    /// The values of a step's message: sums of the products of this half and another.
    pub(super) fn message(&mut self, other: &mut Half) -> [Block; QUARTER_POINTS] {
        let mut values = [Block::ZERO; QUARTER_POINTS];
        add_quarter_grid(self.quarters(), other.quarters(), &mut values);
        values
    }

    /// A quarter of the elements is left: the values at the challenge.
    pub(super) fn fold(&mut self, challenge: &[Block; 2]) {
        let weights = fold_weights(challenge);
        let weights = weights.first_chunk().expect("four weights");
        let elements = self.quarters();
        fold_quarters(elements, weights);
        self.left = elements.len() / 4;
    }

    /// The mask, and the last two elements.
    pub(super) fn end(&mut self, mask: Block) -> [Block; 3] {
        let left = self.left;
        let elements = self.slice(left);
        [mask, elements[0], elements.get(1).copied().unwrap_or(Block::ZERO)]
    }

    pub(super) fn wipe(&mut self) {
        self.elements.wipe();
    }
}

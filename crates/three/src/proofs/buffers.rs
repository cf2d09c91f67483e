//! The vectors of elements of proofs' halves, reused from batch to batch.

use cenote_primitives::sumcheck::{
    QUARTER, QUARTER_POINTS, TileMut, add_quarter_grid, fold_quarters, fold_weights, quarters,
};
use cenote_primitives::{BLOCK_BITS, Block, SecretBlocks, as_quarters, as_quarters_mut};

/// Vectors of bits of which a half has the elements.
const VECTORS: usize = 2;

/// Elements of a tile in one quarter, of both vectors.
const OF_TILE: usize = VECTORS * QUARTER;

/// One half of a statement: the elements that are left of it.
///
/// At first these are in four quarters, each with a quarter of the first tile's elements of the first vector, then of the second, then those of the next tile.
#[derive(Default)]
pub(super) struct Half {
    elements: SecretBlocks,
    left: usize,
}

impl Half {
    /// Makes room for the elements of `tiles` tiles.
    pub(super) fn begin(&mut self, tiles: usize) {
        self.left = VECTORS * BLOCK_BITS * tiles;
        self.elements.resize(self.left / 4);
    }

    /// The elements of a tile of one of the vectors.
    pub(super) fn tile(&mut self, tile: usize, vector: usize) -> TileMut<'_> {
        let from = OF_TILE * tile + QUARTER * vector;
        let quarter = self.left / 4;
        let mut quarters = self.slice(4 * quarter).chunks_exact_mut(quarter);
        std::array::from_fn(|_| {
            let own = quarters.next().expect("four quarters");
            own[from..].first_chunk_mut().expect("elements of the tile")
        })
    }

    /// The elements of a tile of both vectors.
    fn of_tile(&self, tile: usize) -> [&[Block]; 4] {
        quarters(&as_quarters(&self.elements)[..self.left])
            .map(|quarter| &quarter[OF_TILE * tile..][..OF_TILE])
    }

    /// Adds the products of a tile of this half and another to the values of the first step's message.
    pub(super) fn add_message(&self, other: &Half, tile: usize, values: &mut [Block; QUARTER_POINTS]) {
        add_quarter_grid(self.of_tile(tile), other.of_tile(tile), values);
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
        add_quarter_grid(quarters(self.quarters()), quarters(other.quarters()), &mut values);
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

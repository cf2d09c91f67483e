//! The random weights of a batch's gates.

use cenote_primitives::sumcheck::{GridSums, QUARTER, RowSums, TileMut, add_grid, add_rows, weigh};
use cenote_primitives::{Block, Block512, Position, Prg, SecretBlocks, as_quarters_mut, as_words_mut, gf128};

use zeroize::Zeroizing;

use crate::triple_check::Pair;

/// x^64.
const SHIFTED: Block = Block([0, 1u64.to_le()]);

/// For each tile a block of weights, and as many again where they are of 128 bits: the weight of a column is the first one's plus x^64 times the second one's.
pub(super) struct Weights {
    variables: u32,
    halves: Vec<Vec<Block512>>,
}

impl Weights {
    pub(super) fn new(coin: Block, variables: u32, weight_bits: u32, tiles: usize) -> Self {
        let prg = Prg::new(coin);
        let half = |stream: u64| {
            let mut weights = vec![Block512::ZERO; tiles];
            prg.fill(Position { stream, index: 0 }, &mut weights);
            if weight_bits < 64 {
                let words = as_words_mut(&mut weights);
                words.iter_mut().for_each(|word| *word &= (1 << weight_bits) - 1);
            }
            weights
        };
        Self {
            variables,
            halves: (0..u64::from(weight_bits.div_ceil(64))).map(half).collect(),
        }
    }

    /// The values of a prover's first message, at the points of the grid of which a coordinate is ∞.
    pub(super) fn grid(&self, x: &Pair, y: &Pair, blocks: usize) -> Vec<Block> {
        let operands = [&x[0], &y[0], &y[1], &x[1]].map(|vector| &vector[..blocks]);
        self.joined(|weights| {
            let mut sums = GridSums::new(self.variables);
            add_grid(operands, weights, &mut sums);
            sums.totals().collect()
        })
    }

    /// The sum of each row of tiles of `weight · (x·y ⊕ z)`, or of `weight · z`.
    pub(super) fn rows(&self, products: Option<[&[Block512]; 2]>, z: &[Block512]) -> Zeroizing<Vec<Block>> {
        Zeroizing::new(self.joined(|weights| {
            let mut sums = RowSums::new(self.variables);
            add_rows(products, z, weights, &mut sums);
            sums.totals().collect()
        }))
    }

    fn joined(&self, of: impl Fn(&[Block512]) -> Vec<Block>) -> Vec<Block> {
        let mut halves = self.halves.iter().map(|weights| of(weights));
        let low = halves.next().unwrap_or_default();
        match halves.next() {
            None => low,
            Some(high) => {
                let (low, high) = (Zeroizing::new(low), Zeroizing::new(high));
                let join = |(low, high): (&Block, &Block)| *low ^ gf128::mul(*high, SHIFTED);
                low.iter().zip(high.iter()).map(join).collect()
            }
        }
    }

    /// Writes the elements of a tile times their columns' weights.
    pub(super) fn weigh(&self, elements: TileMut<'_>, mut weighed: TileMut<'_>, tile: usize) {
        for (to, from) in weighed.iter_mut().zip(&elements) {
            to.copy_from_slice(&from[..]);
        }
        let [low, high @ ..] = &self.halves[..] else {
            return;
        };
        let [high] = high else {
            return weigh(weighed, &low[tile]);
        };
        let mut copy = SecretBlocks::zeroed(QUARTER);
        let (quarters, _) = as_quarters_mut(&mut copy).as_chunks_mut::<QUARTER>();
        let quarters: &mut [_; 4] = quarters.try_into().expect("four quarters");
        for (to, from) in quarters.iter_mut().zip(&elements) {
            to.copy_from_slice(&from[..]);
        }
        weigh(quarters.each_mut(), &high[tile]);
        weigh(weighed.each_mut().map(|quarter| &mut **quarter), &low[tile]);
        for (element, high) in weighed.into_iter().flatten().zip(quarters.as_flattened()) {
            *element ^= gf128::mul(*high, SHIFTED);
        }
    }
}

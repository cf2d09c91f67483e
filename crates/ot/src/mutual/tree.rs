//! The trees of seeds, and what their streams add up to.

use cenote_primitives::{Block, Block512, Position, Prg, SecretBlocks, kernels};
use zeroize::Zeroizing;

use super::columns::{PieceMut, Shape};
use super::delta::mask;

/// The side that knows all seeds: it holds the bits.
pub(super) struct Holder {
    shape: Shape,
    /// Of each symbol, one after the other.
    seeds: Vec<Prg>,
    sum: SecretBlocks,
}

/// The side that knows all seeds of a symbol but the one that its own symbol numbers. Seeds are numbered by their difference from it.
pub(super) struct Knower {
    shape: Shape,
    seeds: Vec<Prg>,
    delta: Zeroizing<Block>,
    sum: SecretBlocks,
}

/// Both children of a node.
fn children(node: Block) -> [Block; 2] {
    let mut out = Zeroizing::new([Block512::ZERO]);
    Prg::new(node).fill(Position { stream: 0, index: 0 }, &mut *out);
    let [a, b, c, d, ..] = out[0].0;
    [Block([a, b]), Block([c, d])]
}

impl Holder {
    /// The trees from both keys of each base OT, and the sums of each level, hidden by the keys: those of left and of right children.
    pub(super) fn new(shape: Shape, keys: &[[Block; 2]]) -> (Self, Vec<Block>) {
        let mut seeds = Vec::with_capacity(shape.seeds());
        let mut sums = Vec::with_capacity(2 * shape.sums());
        for symbol in 0..shape.symbols() {
            let bits = shape.bits(symbol);
            let keys = &keys[bits.clone()];
            // The first level decides on the highest bit of a number.
            let mut nodes = Zeroizing::new(keys[bits.len() - 1].to_vec());
            for pads in keys[..bits.len() - 1].iter().rev() {
                let mut next = Zeroizing::new(Vec::with_capacity(2 * nodes.len()));
                next.extend(nodes.iter().flat_map(|&node| children(node)));
                nodes = next;
                for (side, &pad) in pads.iter().enumerate() {
                    sums.push(
                        nodes
                            .iter()
                            .skip(side)
                            .step_by(2)
                            .fold(pad, |sum, &node| sum ^ node),
                    );
                }
            }
            seeds.extend(nodes.iter().map(|&node| Prg::new(node)));
        }
        let holder = Self {
            shape,
            seeds,
            sum: SecretBlocks::default(),
        };
        (holder, sums)
    }

    /// A piece of x and of the columns v, and for each symbol but the first the difference of its u from x.
    pub(super) fn expand(&mut self, at: Position, piece: PieceMut<'_>, differences: &mut [Block512]) {
        let units = piece.choices.len();
        self.sum.resize(units);
        let mut seeds = self.seeds.as_slice();
        for symbol in 0..self.shape.symbols() {
            let bits = self.shape.bits(symbol);
            let (own, rest) = seeds.split_at(1 << bits.len());
            seeds = rest;
            let columns = &mut piece.columns[bits.start * units..bits.end * units];
            Prg::sums(own, 0, at, columns, &mut self.sum);
            match symbol {
                0 => piece.choices.copy_from_slice(&self.sum),
                _ => {
                    let difference = &mut differences[(symbol - 1) * units..symbol * units];
                    difference.copy_from_slice(&self.sum);
                    kernels::xor_into(difference, piece.choices);
                }
            }
        }
    }
}

impl Knower {
    /// The trees from the chosen keys of base OTs, whose choices were the complement of `delta`, and the hidden sums.
    pub(super) fn new(shape: Shape, delta: Block, keys: &[Block], sums: &[[Block; 2]]) -> Self {
        let mut seeds = Vec::with_capacity(shape.seeds());
        let mut sums = sums.iter();
        for symbol in 0..shape.symbols() {
            let bits = shape.bits(symbol);
            let mut nodes = Zeroizing::new(vec![Block::ZERO, keys[bits.end - 1]]);
            for at in bits.clone().rev().skip(1) {
                let swap = Block([mask(delta, at); 2]);
                let [left, right] = sums.next().copied().unwrap_or_default();
                // The sum of the children on the other side than this side's own: those with odd numbers.
                let mut missing = right ^ (left ^ right) & swap ^ keys[at];
                let mut next = Zeroizing::new(Vec::with_capacity(2 * nodes.len()));
                next.extend([Block::ZERO; 2]);
                for &node in &nodes[1..] {
                    let [left, right] = children(node);
                    let exchange = (left ^ right) & swap;
                    missing ^= right ^ exchange;
                    next.extend([left ^ exchange, right ^ exchange]);
                }
                next[1] = missing;
                nodes = next;
            }
            seeds.extend(nodes.iter().map(|&node| Prg::new(node)));
        }
        Self {
            shape,
            seeds,
            delta: Zeroizing::new(delta),
            sum: SecretBlocks::default(),
        }
    }

    /// A piece of the columns w.
    pub(super) fn expand(&mut self, at: Position, columns: &mut [Block512]) {
        let units = columns.len() / super::WIDTH;
        self.sum.resize(units);
        let mut seeds = self.seeds.as_slice();
        for symbol in 0..self.shape.symbols() {
            let bits = self.shape.bits(symbol);
            let (own, rest) = seeds.split_at(1 << bits.len());
            seeds = rest;
            let columns = &mut columns[bits.start * units..bits.end * units];
            Prg::sums(&own[1..], 1, at, columns, &mut self.sum);
        }
    }

    /// Adds to the columns, where this side's bit is 1, the differences that the holder told.
    pub(super) fn correct(&self, columns: &mut [Block512], differences: &[Block512]) {
        let units = columns.len() / super::WIDTH;
        for symbol in 1..self.shape.symbols() {
            let difference = &differences[(symbol - 1) * units..symbol * units];
            for bit in self.shape.bits(symbol) {
                let mask = Block512([mask(*self.delta, bit); 8]);
                let column = &mut columns[bit * units..(bit + 1) * units];
                for (column, difference) in column.iter_mut().zip(difference) {
                    *column ^= *difference & mask;
                }
            }
        }
    }
}

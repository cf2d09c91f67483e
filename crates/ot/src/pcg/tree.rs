//! Trees of blocks whose leaves are shared but for one: Guo, Yang, Wang, Zhang, Xie, Liu and Zhao, "Half-Tree" (EUROCRYPT 2023), with a hash that is keyed anew
//! for each level of each tree.
//!
//! The sum of a level is Δ. The children of a node are its hash, and the sum of its hash and of itself. So the side that knows Δ tells
//! of each level the sum of its left nodes, added to its key of a bit b, and the other side, which has the MAC, gets the sum of the left nodes or
//! of the right ones, by b. Of the first level it need tell nothing: the left node is the key itself, so the MAC is the left node or the right one.
//! What the other side has not is one node of a level: its children are the only ones that it cannot compute, and one of them the sum
//! tells. The one leaf that it lacks is, plus Δ, the sum of all others.

use std::hint::black_box;

use cenote_primitives::lanes::{Kernel, Lanes, run};
use cenote_primitives::{Block, hash};

use crate::mutual::mask;

/// The number of a tree: what the keys of its hashes are made from.
#[derive(Clone, Copy)]
pub(super) struct Number {
    /// Random, chosen by the side that knows Δ.
    pub(super) start: Block,
    /// Different for each tree with this start.
    pub(super) tree: u64,
}

impl Number {
    /// The key of the hash that makes this level.
    #[inline(always)]
    fn key(self, level: usize) -> Block {
        let [low, high] = self.start.0;
        Block([low ^ (self.tree << 8 | level as u64).to_le(), high])
    }
}

/// All leaves of a tree, with bit 0 cleared. `leaves[0]` is the key of the first level's bit to begin with; `sums` are the sums of left nodes, level by level.
pub(super) fn grow(number: Number, delta: Block, leaves: &mut [Block], sums: &mut [Block]) {
    assert_eq!(leaves.len(), 1 << sums.len());
    run(Grow {
        number,
        delta,
        leaves,
        sums,
    });
}

/// The leaves of a tree with bit 0 cleared, from the sum of each level's nodes on the side that `macs` say in bit 0. The leaf that nobody told becomes the other side's
/// plus Δ, so that its bit 0 is 1. Returns its number.
pub(super) fn regrow(number: Number, sums: &[Block], macs: &[Block], leaves: &mut [Block]) -> usize {
    assert!(leaves.len() == 1 << sums.len() && sums.len() == macs.len());
    run(Regrow {
        number,
        sums,
        macs,
        leaves,
    })
}

struct Grow<'a> {
    number: Number,
    delta: Block,
    leaves: &'a mut [Block],
    sums: &'a mut [Block],
}

impl Kernel for Grow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let root = self.leaves[0];
        self.leaves[1] = root ^ self.delta;
        self.sums[0] = root;
        for (level, sum) in self.sums.iter_mut().enumerate().skip(1) {
            *sum = double(lanes, self.number.key(level), self.leaves, 1 << level);
        }
        for leaf in self.leaves {
            leaf.0[0] &= !1u64.to_le();
        }
    }
}

struct Regrow<'a> {
    number: Number,
    sums: &'a [Block],
    macs: &'a [Block],
    leaves: &'a mut [Block],
}

impl Kernel for Regrow<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) -> usize {
        let leaves = self.leaves;
        // The node that is not known has some other value, and so have its children.
        let (mut at, mut total) = (0, Block::ZERO);
        for (level, (&sum, &mac)) in self.sums.iter().zip(self.macs).enumerate() {
            let left = match level {
                0 => Block::ZERO,
                _ => double(lanes, self.number.key(level), leaves, 1 << level),
            };
            let side = mask(mac, 0);
            let right = total ^ left;
            let wrong = left ^ (left ^ right) & Block([side; 2]);
            let correction = sum ^ wrong;
            let told = 2 * at + (side & 1) as usize;
            if level == 0 {
                leaves[..2].fill(Block::ZERO);
            }
            add_at(&mut leaves[..2 << level], told, correction);
            total ^= correction;
            at = told ^ 1;
        }
        // The sum of all others.
        add_at(leaves, at, total);
        let at = black_box(at);
        for (i, leaf) in leaves.iter_mut().enumerate() {
            leaf.0[0] = leaf.0[0] & !1u64.to_le() | (equal(i, at) & 1).to_le();
        }
        at
    }
}

/// All ones if the numbers are equal, else 0.
#[inline(always)]
fn equal(a: usize, b: usize) -> u64 {
    let difference = (a ^ b) as u64;
    (difference.wrapping_sub(1) as i64 >> 63) as u64
}

/// Adds to one node, without telling to which.
#[inline(always)]
fn add_at(nodes: &mut [Block], at: usize, addend: Block) {
    let at = black_box(at);
    for (i, node) in nodes.iter_mut().enumerate() {
        *node ^= addend & Block([equal(i, at); 2]);
    }
}

/// Replaces the first `parents` nodes by their children; returns the sum of left ones.
#[inline(always)]
fn double<L: Lanes>(lanes: &L, key: Block, nodes: &mut [Block], parents: usize) -> Block {
    match parents {
        0..8 => double_by::<L, 1>(lanes, key, nodes, parents),
        8..16 => double_by::<L, 2>(lanes, key, nodes, parents),
        16..32 => double_by::<L, 4>(lanes, key, nodes, parents),
        _ => double_by::<L, 8>(lanes, key, nodes, parents),
    }
}

/// The same, `4 Q` nodes at a time.
#[inline(always)]
fn double_by<L: Lanes, const Q: usize>(lanes: &L, key: Block, nodes: &mut [Block], parents: usize) -> Block {
    let key = lanes.splat(key);
    if !parents.is_multiple_of(4 * Q) {
        // A level of fewer nodes.
        let mut group = [[Block::ZERO; 4]; Q];
        group.as_flattened_mut()[..parents].copy_from_slice(&nodes[..parents]);
        let (children, _) = children(lanes, key, &group);
        let children = children.as_flattened().as_flattened();
        nodes[..2 * parents].copy_from_slice(&children[..2 * parents]);
        return nodes[..2 * parents]
            .iter()
            .step_by(2)
            .fold(Block::ZERO, |sum, &left| sum ^ left);
    }
    let mut sum = lanes.splat(Block::ZERO);
    // From the last to the first: children overwrite no parents but their own, and those that are done.
    for group in (0..parents / (4 * Q)).rev() {
        let (parents, _) = nodes.as_chunks::<4>();
        let (parents, _) = parents.as_chunks::<Q>();
        let (pairs, lefts) = children(lanes, key, &parents[group]);
        for left in lefts {
            sum = lanes.xor(sum, left);
        }
        let (nodes, _) = nodes.as_chunks_mut::<2>();
        let (nodes, _) = nodes.as_chunks_mut::<4>();
        let (nodes, _) = nodes.as_chunks_mut::<Q>();
        nodes[group] = pairs;
    }
    let mut parts = [Block::ZERO; 4];
    lanes.store(sum, &mut parts);
    parts[0] ^ parts[1] ^ parts[2] ^ parts[3]
}

/// Both children of each node, and the left ones again.
#[inline(always)]
fn children<L: Lanes, const Q: usize>(
    lanes: &L,
    key: L::V,
    parents: &[[Block; 4]; Q],
) -> ([[[Block; 2]; 4]; Q], [L::V; Q]) {
    let mut inputs = [key; Q];
    for k in 0..Q {
        inputs[k] = lanes.load(&parents[k]);
    }
    let [hashes] = hash::hash(lanes, [key], [inputs]);
    let mut children = [[[Block::ZERO; 2]; 4]; Q];
    for k in 0..Q {
        lanes.store_pairs([hashes[k], lanes.xor(inputs[k], hashes[k])], &mut children[k]);
    }
    (children, hashes)
}

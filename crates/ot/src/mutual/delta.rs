//! Δ: its bits, and how many symbols they make.

use std::ops::RangeInclusive;

use cenote_primitives::{Block, Entropy};
use zeroize::Zeroizing;

/// Bits of Δ.
pub(crate) const WIDTH: usize = 128;

/// How many symbols there may be: of 8 bits to 1.
pub const SYMBOLS: RangeInclusive<u32> = 16..=128;

/// Uniform but for bits 0 and 1.
pub(super) fn fresh_delta(entropy: &mut Entropy, first: bool) -> Zeroizing<Block> {
    let mut delta = Zeroizing::new(entropy.block());
    let low = u64::from_le(delta.0[0]) & !3 | if first { 3 } else { 1 };
    delta.0[0] = low.to_le();
    delta
}

/// Bit `at` of a block, as a mask.
pub(crate) fn mask(block: Block, at: usize) -> u64 {
    (u64::from_le(block.0[at / 64]) >> (at % 64) & 1).wrapping_neg()
}

//! A tweakable hash of blocks from fixed-key AES: H(x, i) = π(π(x) ⊕ i) ⊕ π(x), where π is AES-128 under
//! [`FIXED_KEY`](crate::lanes::FIXED_KEY).
//!
//! This is TMMO of Guo, Katz, Wang and Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers"
//! (IEEE S&P 2020; Section 7.4 of the full version, ePrint 2019/074): tweakable circular correlation robust if π is a
//! random permutation. Against an adversary that evaluates π `p` times, `q` hashes under one offset Δ are worth at most
//! about `p·q / 2^128`. A pair (Δ, tweak) must not serve two purposes: that is the caller's part.

use crate::lanes::{Kernel, Lanes, run_on};
use crate::{Block, Simd};

/// Hashes each block with its tweak, in place.
///
/// # Panics
/// If the lengths differ.
pub fn hash_each(tweaks: &[u64], blocks: &mut [Block]) {
    each_on(Simd::detect(), tweaks, blocks);
}

/// Hashes block `k` with tweak `first + k * stride` (modulo 2^64), in place.
pub fn hash_run(first: u64, stride: u64, blocks: &mut [Block]) {
    run_of_tweaks_on(Simd::detect(), first, stride, blocks);
}

fn each_on(simd: Simd, tweaks: &[u64], blocks: &mut [Block]) {
    assert_eq!(tweaks.len(), blocks.len(), "one tweak per block");
    let tweaks = Each(tweaks);
    run_on(simd, HashBlocks { tweaks, blocks });
}

fn run_of_tweaks_on(simd: Simd, first: u64, stride: u64, blocks: &mut [Block]) {
    let tweaks = Run { first, stride };
    run_on(simd, HashBlocks { tweaks, blocks });
}

/// H of `8 N` blocks side by side, for kernels.
#[inline(always)]
pub fn hash<L: Lanes, const N: usize>(
    lanes: &L,
    inputs: [[L::V; 2]; N],
    tweaks: [[L::V; 2]; N],
) -> [[L::V; 2]; N] {
    let once = lanes.permute(inputs);
    let mut out = once;
    for k in 0..N {
        for side in 0..2 {
            out[k][side] = lanes.xor(once[k][side], tweaks[k][side]);
        }
    }
    out = lanes.permute(out);
    for k in 0..N {
        for side in 0..2 {
            out[k][side] = lanes.xor(out[k][side], once[k][side]);
        }
    }
    out
}

/// Where the tweaks of a batch come from.
trait Tweaks {
    /// The tweaks of blocks `at..at + 4`; anything past the last block.
    fn four(&self, at: usize) -> [u64; 4];
}

struct Each<'a>(&'a [u64]);

impl Tweaks for Each<'_> {
    #[inline(always)]
    fn four(&self, at: usize) -> [u64; 4] {
        let mut four = [0; 4];
        let rest = self.0.get(at..).unwrap_or_default();
        match rest.first_chunk() {
            Some(all) => four = *all,
            None => four[..rest.len()].copy_from_slice(rest),
        }
        four
    }
}

struct Run {
    first: u64,
    stride: u64,
}

impl Tweaks for Run {
    #[inline(always)]
    fn four(&self, at: usize) -> [u64; 4] {
        let mut four = [0; 4];
        for (i, tweak) in four.iter_mut().enumerate() {
            *tweak = self.first.wrapping_add(self.stride.wrapping_mul((at + i) as u64));
        }
        four
    }
}

/// Blocks side by side in the AES pipeline.
const GROUP: usize = 32;

struct HashBlocks<'a, T> {
    tweaks: T,
    blocks: &'a mut [Block],
}

impl<T: Tweaks> HashBlocks<'_, T> {
    #[inline(always)]
    fn group<L: Lanes>(lanes: &L, tweaks: &T, at: usize, group: &mut [Block; GROUP]) {
        let group: &mut [[[Block; 4]; 2]; GROUP / 8] = bytemuck::cast_mut(group);
        let zero = lanes.splat(Block::ZERO);
        let (mut inputs, mut numbers) = ([[zero; 2]; GROUP / 8], [[zero; 2]; GROUP / 8]);
        for k in 0..GROUP / 8 {
            for side in 0..2 {
                inputs[k][side] = lanes.load(&group[k][side]);
                numbers[k][side] = lanes.numbers(tweaks.four(at + 8 * k + 4 * side));
            }
        }
        let out = hash(lanes, inputs, numbers);
        for k in 0..GROUP / 8 {
            for side in 0..2 {
                lanes.store(out[k][side], &mut group[k][side]);
            }
        }
    }
}

impl<T: Tweaks> Kernel for HashBlocks<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let (groups, tail) = self.blocks.as_chunks_mut::<GROUP>();
        let start = groups.len() * GROUP;
        for (k, group) in groups.iter_mut().enumerate() {
            Self::group(lanes, &self.tweaks, k * GROUP, group);
        }
        if !tail.is_empty() {
            let mut last = [Block::ZERO; GROUP];
            last[..tail.len()].copy_from_slice(tail);
            Self::group(lanes, &self.tweaks, start, &mut last);
            tail.copy_from_slice(&last[..tail.len()]);
            zeroize::Zeroize::zeroize(&mut last);
        }
    }
}

#[cfg(test)]
mod tests;

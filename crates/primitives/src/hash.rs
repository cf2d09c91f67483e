//! A tweakable hash of blocks from AES with a key for each tweak: H(x, k) = AES_k(σ(x)) ⊕ σ(x), with σ the linear orthomorphism
//! [`Lanes::sigma`].
//!
//! This is the construction of Guo, Katz, Wang, Weng and Yu, "Better Concrete Security for Half-Gates Garbling (in the
//! Multi-Instance Setting)" (CRYPTO 2020; ePrint 2019/1168): tweakable circular correlation robust, also for many instances
//! together, if AES is an ideal cipher. One call of AES is under one key and so tests the hashes under this key alone: where
//! no key serves more than `u` pairs (x, x ⊕ Δ), of different x, `p` calls are worth at most about `2 u p / 2^127` (Δ has 127 random bits).
//! σ is needed because what is encrypted with the hash contains Δ itself: without it, an adversary that has x and
//! H(x ⊕ Δ) ⊕ Δ could undo AES and read off Δ.
//!
//! Keys are a start, random and agreed on once Δ is fixed, plus a tweak: see [`hash_each`]. A pair (Δ, key) must not serve two
//! purposes: that is the caller's part.

use crate::lanes::{Kernel, Lanes, run_on};
use crate::{Block, Simd};

/// Hashes each block under the key `start ^ tweak` with its tweak (in the lower 64 bits), in place.
///
/// # Panics
/// If the lengths differ.
pub fn hash_each(start: Block, tweaks: &[u64], blocks: &mut [Block]) {
    each_on(Simd::detect(), start, tweaks, blocks);
}

fn each_on(simd: Simd, start: Block, tweaks: &[u64], blocks: &mut [Block]) {
    assert_eq!(tweaks.len(), blocks.len(), "one tweak per block");
    let kernel = HashBlocks {
        start,
        tweaks,
        blocks,
    };
    run_on(simd, kernel);
}

/// H of `4 M` blocks under each of `N` times four keys side by side, for kernels: `inputs[k]` under `keys[k]`, lane by lane.
#[inline(always)]
pub fn hash<L: Lanes, const N: usize, const M: usize>(
    lanes: &L,
    keys: [L::V; N],
    mut inputs: [[L::V; M]; N],
) -> [[L::V; M]; N] {
    for inputs in &mut inputs {
        for input in inputs {
            *input = lanes.sigma(*input);
        }
    }
    let mut out = lanes.encrypt(keys, inputs);
    for k in 0..N {
        for i in 0..M {
            out[k][i] = lanes.xor(out[k][i], inputs[k][i]);
        }
    }
    out
}

/// Blocks side by side in the AES pipeline.
const GROUP: usize = 32;

struct HashBlocks<'a> {
    start: Block,
    tweaks: &'a [u64],
    blocks: &'a mut [Block],
}

#[inline(always)]
fn group<L: Lanes>(lanes: &L, start: L::V, tweaks: &[u64; GROUP], group: &mut [Block; GROUP]) {
    let tweaks: &[[u64; 4]; GROUP / 4] = bytemuck::cast_ref(tweaks);
    let group: &mut [[Block; 4]; GROUP / 4] = bytemuck::cast_mut(group);
    let (mut keys, mut inputs) = ([start; GROUP / 4], [[start; 1]; GROUP / 4]);
    for k in 0..GROUP / 4 {
        keys[k] = lanes.xor(lanes.numbers(tweaks[k]), start);
        inputs[k][0] = lanes.load(&group[k]);
    }
    let out = hash(lanes, keys, inputs);
    for k in 0..GROUP / 4 {
        lanes.store(out[k][0], &mut group[k]);
    }
}

impl Kernel for HashBlocks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let start = lanes.splat(self.start);
        let (tweaks, last_tweaks) = self.tweaks.as_chunks::<GROUP>();
        let (blocks, last_blocks) = self.blocks.as_chunks_mut::<GROUP>();
        for (tweaks, blocks) in tweaks.iter().zip(blocks) {
            group(lanes, start, tweaks, blocks);
        }
        if !last_blocks.is_empty() {
            let (mut tweaks, mut blocks) = ([0; GROUP], [Block::ZERO; GROUP]);
            tweaks[..last_tweaks.len()].copy_from_slice(last_tweaks);
            blocks[..last_blocks.len()].copy_from_slice(last_blocks);
            group(lanes, start, &tweaks, &mut blocks);
            last_blocks.copy_from_slice(&blocks[..last_blocks.len()]);
            zeroize::Zeroize::zeroize(&mut blocks);
        }
    }
}

#[cfg(test)]
mod tests;

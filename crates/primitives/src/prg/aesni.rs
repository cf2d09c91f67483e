//! The keystream by AES-NI, eight AES blocks in flight.

use std::arch::x86_64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Position;
use crate::{Block, Block512};

/// 512-bit blocks in flight: eight AES blocks, enough to hide the latency of one round.
const GROUP: usize = 2;

/// The expanded key. It exists only on a CPU with AES-NI and AVX2.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Key([Block; 11]);

impl Key {
    #[target_feature(enable = "aes")]
    pub(super) fn new(key: Block) -> Key {
        Key(expand(key))
    }

    pub(super) fn run<const XOR: bool>(&self, at: Position, out: &mut [Block512]) {
        // SAFETY: a key exists only on a CPU with AES-NI and AVX2.
        unsafe { run::<XOR>(&self.0, at, out) }
    }

    pub(super) fn gather(&self, at: &[Position], out: &mut [Block512]) {
        // SAFETY: a key exists only on a CPU with AES-NI and AVX2.
        unsafe { gather(&self.0, at, out) }
    }
}

#[target_feature(enable = "aes,avx2")]
fn run<const XOR: bool>(keys: &[Block; 11], at: Position, out: &mut [Block512]) {
    let mut counter = first_input(at);
    let one = _mm_set_epi64x(0, 1);
    let mut next = || {
        let now = counter;
        counter = _mm_add_epi64(counter, one);
        now
    };
    let (groups, tail) = out.as_chunks_mut::<GROUP>();
    for group in groups {
        let state = std::array::from_fn::<_, { 4 * GROUP }, _>(|_| next());
        store::<XOR>(group, &encrypt(keys, state));
    }
    for block in tail {
        let state = std::array::from_fn::<_, 4, _>(|_| next());
        store::<XOR>(std::slice::from_mut(block), &encrypt(keys, state));
    }
}

#[target_feature(enable = "aes,avx2")]
fn gather(keys: &[Block; 11], at: &[Position], out: &mut [Block512]) {
    let input = |at: Position, j: usize| _mm_add_epi64(first_input(at), _mm_set_epi64x(0, j as i64));
    let (groups, tail) = out.as_chunks_mut::<GROUP>();
    let (at_groups, at_tail) = at.as_chunks::<GROUP>();
    for (at, group) in at_groups.iter().zip(groups) {
        let state = std::array::from_fn::<_, { 4 * GROUP }, _>(|i| input(at[i / 4], i % 4));
        store::<false>(group, &encrypt(keys, state));
    }
    for (&at, block) in at_tail.iter().zip(tail) {
        let state = std::array::from_fn::<_, 4, _>(|j| input(at, j));
        store::<false>(std::slice::from_mut(block), &encrypt(keys, state));
    }
}

/// The first of the four AES inputs of the block at `at`.
#[target_feature(enable = "avx2")]
#[inline]
fn first_input(at: Position) -> __m128i {
    _mm_set_epi64x(at.stream as i64, at.counter() as i64)
}

/// Encrypts `N` blocks side by side.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn encrypt<const N: usize>(keys: &[Block; 11], mut state: [__m128i; N]) -> [__m128i; N] {
    let keys: &[__m128i; 11] = bytemuck::cast_ref(keys);
    for x in &mut state {
        *x = _mm_xor_si128(*x, keys[0]);
    }
    for key in &keys[1..10] {
        for x in &mut state {
            *x = _mm_aesenc_si128(*x, *key);
        }
    }
    for x in &mut state {
        *x = _mm_aesenclast_si128(*x, keys[10]);
    }
    state
}

/// Writes or adds `stream` to `out`, which is as long.
#[target_feature(enable = "avx2")]
#[inline]
fn store<const XOR: bool>(out: &mut [Block512], stream: &[__m128i]) {
    let out: &mut [__m128i] = bytemuck::cast_slice_mut(out);
    for (out, &stream) in out.iter_mut().zip(stream) {
        *out = if XOR { _mm_xor_si128(*out, stream) } else { stream };
    }
}

/// The AES-128 key schedule (FIPS 197, section 5.2).
#[target_feature(enable = "aes")]
pub(crate) fn expand(key: Block) -> [Block; 11] {
    /// Round key `keys[$round]` from the one before it.
    macro_rules! round {
        ($keys:ident, $($round:literal: $constant:literal),*) => {$({
            let previous: __m128i = bytemuck::cast($keys[$round - 1]);
            // The last word, rotated, substituted and with the round constant, is added to all words; and word w
            // of the new key is the sum of words 0..=w of the previous one.
            let word = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<$constant>(previous));
            let sum = _mm_xor_si128(previous, _mm_slli_si128::<4>(previous));
            let sum = _mm_xor_si128(sum, _mm_slli_si128::<8>(sum));
            $keys[$round] = bytemuck::cast(_mm_xor_si128(sum, word));
        })*};
    }
    let mut keys = [Block::ZERO; 11];
    keys[0] = key;
    round!(keys, 1: 0x01, 2: 0x02, 3: 0x04, 4: 0x08, 5: 0x10, 6: 0x20, 7: 0x40, 8: 0x80, 9: 0x1b, 10: 0x36);
    keys
}

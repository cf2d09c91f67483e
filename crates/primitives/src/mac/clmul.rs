//! The MAC by PCLMULQDQ, up to 32 blocks per reduction.

use std::arch::x86_64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{BATCH, field};
use crate::{Block, Block512};

/// Powers of H in descending order, so that the powers for the `n` last blocks of a batch are the `n` last.
pub(super) type Powers = [Block; 4 * BATCH];

/// The powers of H. It exists only on a CPU with PCLMULQDQ and AVX2. Boxed, so that moving it leaves no copies.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Key(Box<Powers>);

impl Key {
    #[target_feature(enable = "pclmulqdq,avx2")]
    pub(super) fn new(h: Block) -> Key {
        let mut powers = Box::new([Block::ZERO; 4 * BATCH]);
        fill_powers(h, &mut powers);
        Key(powers)
    }

    pub(super) fn absorb(&self, value: Block, data: &[Block512]) -> Block {
        // SAFETY: a key exists only on a CPU with PCLMULQDQ and AVX2.
        unsafe { absorb(&self.0, value, data) }
    }

    pub(super) fn times_h(&self, a: Block) -> Block {
        // SAFETY: a key exists only on a CPU with PCLMULQDQ and AVX2.
        unsafe { dot(a, self.0[4 * BATCH - 1]) }
    }
}

/// Writes H^{4·BATCH}, …, H^2, H to `powers`.
#[target_feature(enable = "pclmulqdq,avx2")]
pub(super) fn fill_powers(h: Block, powers: &mut Powers) {
    let mut power = h;
    for slot in powers.iter_mut().rev() {
        *slot = power;
        power = dot(power, h);
    }
}

#[target_feature(enable = "pclmulqdq,avx2")]
fn absorb(powers: &Powers, value: Block, data: &[Block512]) -> Block {
    let powers: &[__m128i; 4 * BATCH] = bytemuck::cast_ref(powers);
    let mut value: __m128i = bytemuck::cast(value);
    let (batches, tail) = data.as_chunks::<BATCH>();
    for batch in batches {
        value = absorb_batch(powers, value, bytemuck::cast_slice(batch));
    }
    if !tail.is_empty() {
        value = absorb_batch(
            &powers[4 * (BATCH - tail.len())..],
            value,
            bytemuck::cast_slice(tail),
        );
    }
    bytemuck::cast(value)
}

/// `value` after one batch, with one power of H for each block.
#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
fn absorb_batch(powers: &[__m128i], mut value: __m128i, batch: &[__m128i]) -> __m128i {
    let mut sum = Wide::zero();
    for (&block, &power) in batch.iter().zip(powers) {
        sum.add_product(_mm_xor_si128(block, value), power);
        value = _mm_setzero_si128();
    }
    sum.reduce()
}

/// dot(a, b), as in the portable code.
#[target_feature(enable = "pclmulqdq,avx2")]
pub(super) fn dot(a: Block, b: Block) -> Block {
    let mut product = Wide::zero();
    product.add_product(bytemuck::cast(a), bytemuck::cast(b));
    bytemuck::cast(product.reduce())
}

/// A sum of products a·b, unreduced, in Karatsuba's form. Indices 0 and 1 are the low and high halves.
#[derive(Clone, Copy)]
pub(crate) struct Wide {
    /// The sum of a0·b0.
    pub(super) low: __m128i,
    /// The sum of (a0 + a1)·(b0 + b1), which holds all four products of halves.
    pub(super) all: __m128i,
    /// The sum of a1·b1.
    pub(super) high: __m128i,
}

impl Wide {
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn zero() -> Wide {
        Wide {
            low: _mm_setzero_si128(),
            all: _mm_setzero_si128(),
            high: _mm_setzero_si128(),
        }
    }

    #[target_feature(enable = "pclmulqdq,avx2")]
    #[inline]
    pub(crate) fn add_product(&mut self, a: __m128i, b: __m128i) {
        let add_halves = |x| _mm_xor_si128(x, _mm_shuffle_epi32::<0x4e>(x));
        self.low = _mm_xor_si128(self.low, _mm_clmulepi64_si128::<0x00>(a, b));
        self.all = _mm_xor_si128(
            self.all,
            _mm_clmulepi64_si128::<0x00>(add_halves(a), add_halves(b)),
        );
        self.high = _mm_xor_si128(self.high, _mm_clmulepi64_si128::<0x11>(a, b));
    }

    /// The sum: its low and its high 128 coefficients.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(crate) fn halves(self) -> (__m128i, __m128i) {
        let middle = _mm_xor_si128(self.all, _mm_xor_si128(self.low, self.high));
        (
            _mm_xor_si128(self.low, _mm_slli_si128::<8>(middle)),
            _mm_xor_si128(self.high, _mm_srli_si128::<8>(middle)),
        )
    }

    /// The sum times x^-128, reduced.
    #[target_feature(enable = "pclmulqdq,avx2")]
    #[inline]
    pub(super) fn reduce(self) -> __m128i {
        let modulus = _mm_set_epi64x(0, field::MODULUS as i64);
        let (low, high) = self.halves();
        // As in the portable code: clear the lowest 64 bits by a multiple of the modulus and shift them out, twice.
        let low = _mm_xor_si128(
            _mm_shuffle_epi32::<0x4e>(low),
            _mm_clmulepi64_si128::<0x00>(low, modulus),
        );
        let low = _mm_xor_si128(
            _mm_shuffle_epi32::<0x4e>(low),
            _mm_clmulepi64_si128::<0x00>(low, modulus),
        );
        _mm_xor_si128(high, low)
    }
}

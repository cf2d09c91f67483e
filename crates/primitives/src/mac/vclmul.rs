//! The MAC by VPCLMULQDQ on 512-bit registers, up to 32 blocks per reduction.

use std::arch::x86_64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::BATCH;
use super::clmul::{self, Wide};
use crate::{Block, Block512};

/// The powers of H, four to a register, in descending order. It exists only on a CPU with PCLMULQDQ, AVX2,
/// AVX-512 F and VPCLMULQDQ. Boxed, so that moving it leaves no copies.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Key(Box<[Block512; BATCH]>);

impl Key {
    #[target_feature(enable = "pclmulqdq,avx2,avx512f,vpclmulqdq")]
    pub(super) fn new(h: Block) -> Key {
        let mut powers = Box::new([Block512::ZERO; BATCH]);
        clmul::fill_powers(h, bytemuck::cast_mut(&mut *powers));
        Key(powers)
    }

    pub(super) fn absorb(&self, value: Block, data: &[Block512]) -> Block {
        // SAFETY: a key exists only on a CPU with PCLMULQDQ, AVX2, AVX-512 F and VPCLMULQDQ.
        unsafe { absorb(&self.0, value, data) }
    }

    pub(super) fn times_h(&self, a: Block) -> Block {
        let powers: &clmul::Powers = bytemuck::cast_ref(&*self.0);
        // SAFETY: a key exists only on a CPU with PCLMULQDQ and AVX2.
        unsafe { clmul::dot(a, powers[powers.len() - 1]) }
    }
}

#[target_feature(enable = "pclmulqdq,avx2,avx512f,vpclmulqdq")]
fn absorb(powers: &[Block512; BATCH], value: Block, data: &[Block512]) -> Block {
    let powers: &[__m512i; BATCH] = bytemuck::cast_ref(powers);
    let mut value: __m128i = bytemuck::cast(value);
    let (batches, tail) = data.as_chunks::<BATCH>();
    for batch in batches {
        value = absorb_batch(powers, value, bytemuck::cast_slice(batch));
    }
    if !tail.is_empty() {
        value = absorb_batch(&powers[BATCH - tail.len()..], value, bytemuck::cast_slice(tail));
    }
    bytemuck::cast(value)
}

/// `value` after one batch of at most [`BATCH`] registers, with one power of H for each block.
#[target_feature(enable = "pclmulqdq,avx2,avx512f,vpclmulqdq")]
#[inline]
fn absorb_batch(powers: &[__m512i], value: __m128i, batch: &[__m512i]) -> __m128i {
    let mut sum = Wide4::zero();
    let mut value = _mm512_zextsi128_si512(value);
    for (&block, &power) in batch.iter().zip(powers) {
        sum.add_products(_mm512_xor_si512(block, value), power);
        value = _mm512_setzero_si512();
    }
    sum.total().reduce()
}

/// Four sums of products, one in each 128-bit lane, in the form of [`Wide`].
#[derive(Clone, Copy)]
pub(crate) struct Wide4 {
    low: __m512i,
    all: __m512i,
    high: __m512i,
}

impl Wide4 {
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(crate) fn zero() -> Wide4 {
        Wide4 {
            low: _mm512_setzero_si512(),
            all: _mm512_setzero_si512(),
            high: _mm512_setzero_si512(),
        }
    }

    /// Adds the product of each lane of `a` and `b`.
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    #[inline]
    pub(crate) fn add_products(&mut self, a: __m512i, b: __m512i) {
        self.low = _mm512_xor_si512(self.low, _mm512_clmulepi64_epi128::<0x00>(a, b));
        self.high = _mm512_xor_si512(self.high, _mm512_clmulepi64_epi128::<0x11>(a, b));
        self.all = _mm512_xor_si512(
            self.all,
            _mm512_clmulepi64_epi128::<0x00>(add_halves(a), add_halves(b)),
        );
    }

    /// The four sums: their low and their high 128 coefficients.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    pub(crate) fn halves(self) -> (__m512i, __m512i) {
        let middle = _mm512_xor_si512(self.all, _mm512_xor_si512(self.low, self.high));
        (
            _mm512_xor_si512(self.low, _mm512_bslli_epi128::<8>(middle)),
            _mm512_xor_si512(self.high, _mm512_bsrli_epi128::<8>(middle)),
        )
    }

    /// The sum of the four sums.
    #[target_feature(enable = "avx2,avx512f")]
    #[inline]
    pub(crate) fn total(self) -> Wide {
        Wide {
            low: add_lanes(self.low),
            all: add_lanes(self.all),
            high: add_lanes(self.high),
        }
    }
}

/// The sum of the low and the high half of each 128-bit lane, in both halves.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_halves(x: __m512i) -> __m512i {
    _mm512_xor_si512(x, _mm512_shuffle_epi32::<0x4e>(x))
}

/// The sum of the four 128-bit lanes.
#[target_feature(enable = "avx2,avx512f")]
#[inline]
fn add_lanes(x: __m512i) -> __m128i {
    let half = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x));
    _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
}

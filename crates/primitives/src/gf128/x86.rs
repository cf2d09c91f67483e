//! The field by PCLMULQDQ, and its sums of products on 512-bit registers by VPCLMULQDQ.

use std::arch::x86_64::*;

use super::TAIL;
use crate::Block;
use crate::mac::clmul::Wide;
use crate::mac::vclmul::Wide4;

#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
pub(crate) fn mul(a: Block, b: Block) -> Block {
    bytemuck::cast(inner_product([bytemuck::cast(a)], [bytemuck::cast(b)]))
}

/// The sum of all `a[k] · b[k]`.
#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
pub(crate) fn inner_product<const N: usize>(a: [__m128i; N], b: [__m128i; N]) -> __m128i {
    let mut sum = Wide::zero();
    for (a, b) in a.into_iter().zip(b) {
        sum.add_product(a, b);
    }
    reduce(sum)
}

/// In each 128-bit lane, the sum of all `a[k] · b[k]`.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
#[inline]
pub(crate) fn inner_products<const N: usize>(a: [__m512i; N], b: [__m512i; N]) -> __m512i {
    let mut sums = Wide4::zero();
    for (a, b) in a.into_iter().zip(b) {
        sums.add_products(a, b);
    }
    reduce_4(sums)
}

/// The four sums, reduced.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
#[inline]
pub(crate) fn reduce_4(sums: Wide4) -> __m512i {
    let tail = _mm512_broadcast_i32x4(_mm_set_epi64x(0, TAIL as i64));
    let (low, high) = sums.halves();
    // As in `reduce`.
    let top = _mm512_clmulepi64_epi128::<0x01>(high, tail);
    let low = _mm512_xor_si512(low, _mm512_bslli_epi128::<8>(top));
    let high = _mm512_xor_si512(high, _mm512_bsrli_epi128::<8>(top));
    _mm512_xor_si512(low, _mm512_clmulepi64_epi128::<0x00>(high, tail))
}

#[target_feature(enable = "pclmulqdq,avx2")]
pub(super) fn powers(alpha: Block, out: &mut [Block]) {
    super::powers_by(alpha, out, |a, b| mul(a, b));
}

#[target_feature(enable = "pclmulqdq,avx2")]
pub(super) fn add_inner_products(rows: &[Block], b: &[Block], sums: &mut [Block]) {
    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(b.len())) {
        let mut product = Wide::zero();
        for (&a, &b) in row.iter().zip(b) {
            product.add_product(bytemuck::cast(a), bytemuck::cast(b));
        }
        *sum ^= bytemuck::cast::<_, Block>(reduce(product));
    }
}

#[target_feature(enable = "pclmulqdq,avx2,avx512f,vpclmulqdq")]
pub(super) fn add_inner_products_512(rows: &[Block], b: &[Block], sums: &mut [Block]) {
    let (b_fours, b_tail) = b.as_chunks::<4>();
    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(b.len())) {
        let (fours, tail) = row.as_chunks::<4>();
        let mut products = Wide4::zero();
        for (&a, &b) in fours.iter().zip(b_fours) {
            products.add_products(bytemuck::cast(a), bytemuck::cast(b));
        }
        let mut product = products.total();
        for (&a, &b) in tail.iter().zip(b_tail) {
            product.add_product(bytemuck::cast(a), bytemuck::cast(b));
        }
        *sum ^= bytemuck::cast::<_, Block>(reduce(product));
    }
}

#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
pub(crate) fn reduce(sum: Wide) -> __m128i {
    let tail = _mm_set_epi64x(0, TAIL as i64);
    let (low, high) = sum.halves();
    // The highest 64 coefficients first: what they become reaches 7 coefficients into the next 64 above x^128.
    let top = _mm_clmulepi64_si128::<0x01>(high, tail);
    let low = _mm_xor_si128(low, _mm_slli_si128::<8>(top));
    let high = _mm_xor_si128(high, _mm_srli_si128::<8>(top));
    _mm_xor_si128(low, _mm_clmulepi64_si128::<0x00>(high, tail))
}

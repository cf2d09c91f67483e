//! The field by PCLMULQDQ, and its sums of products on 512-bit registers by VPCLMULQDQ.

use std::arch::x86_64::*;

use super::TAIL;
use crate::Block;
use crate::mac::clmul::Wide;
use crate::mac::vclmul::Wide4;

#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
pub(super) fn mul(a: Block, b: Block) -> Block {
    let mut product = Wide::zero();
    product.add_product(bytemuck::cast(a), bytemuck::cast(b));
    reduce(product)
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
        *sum ^= reduce(product);
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
        *sum ^= reduce(product);
    }
}

#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
fn reduce(sum: Wide) -> Block {
    let tail = _mm_set_epi64x(0, TAIL as i64);
    let (low, high) = sum.halves();
    // The highest 64 coefficients first: what they become reaches 7 coefficients into the next 64 above x^128.
    let top = _mm_clmulepi64_si128::<0x01>(high, tail);
    let low = _mm_xor_si128(low, _mm_slli_si128::<8>(top));
    let high = _mm_xor_si128(high, _mm_srli_si128::<8>(top));
    bytemuck::cast(_mm_xor_si128(low, _mm_clmulepi64_si128::<0x00>(high, tail)))
}

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
pub(super) fn inner_product(a: &[Block], b: &[Block]) -> Block {
    let mut sum = Wide::zero();
    for (&a, &b) in a.iter().zip(b) {
        sum.add_product(bytemuck::cast(a), bytemuck::cast(b));
    }
    reduce(sum)
}

#[target_feature(enable = "pclmulqdq,avx2,avx512f,vpclmulqdq")]
pub(super) fn inner_product_512(a: &[Block], b: &[Block]) -> Block {
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sum = Wide4::zero();
    for (&a, &b) in a.iter().zip(b) {
        sum.add_products(bytemuck::cast(a), bytemuck::cast(b));
    }
    let mut sum = sum.total();
    for (&a, &b) in a_tail.iter().zip(b_tail) {
        sum.add_product(bytemuck::cast(a), bytemuck::cast(b));
    }
    reduce(sum)
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

//! Products of rows of symbols without GFNI.

use std::arch::x86_64::*;

use super::groups::{GROUP, Products};
use crate::Block512;

/// Outputs whose sums fit into registers together.
const PART: usize = 4;

/// Adds all inputs, times the coefficients whose products are given, to a group's sums. A product is looked up within a register,
/// for each half of a symbol. Loops, since test builds do not inline the closures of `map`.
#[target_feature(enable = "avx2")]
pub(super) fn add_products(inputs: &[Block512], products: &[Products], sums: &mut [Block512; GROUP]) {
    let low = _mm256_set1_epi8(0x0f);
    for (part, sums) in sums.as_chunks_mut::<PART>().0.iter_mut().enumerate() {
        let mut totals: [[__m256i; 2]; PART] = bytemuck::cast(*sums);
        for (&input, products) in inputs.iter().zip(products) {
            let halves: [__m256i; 2] = bytemuck::cast(input);
            let mut nibbles = [[low; 2]; 2];
            for (half, [of_low, of_high]) in halves.into_iter().zip(&mut nibbles) {
                *of_low = _mm256_and_si256(half, low);
                *of_high = _mm256_and_si256(_mm256_srli_epi64::<4>(half), low);
            }
            for (total, [of_low, of_high]) in totals.iter_mut().zip(&products[PART * part..]) {
                let of_low = _mm256_broadcastsi128_si256(bytemuck::cast(*of_low));
                let of_high = _mm256_broadcastsi128_si256(bytemuck::cast(*of_high));
                for (total, [low, high]) in total.iter_mut().zip(nibbles) {
                    let product = _mm256_xor_si256(
                        _mm256_shuffle_epi8(of_low, low),
                        _mm256_shuffle_epi8(of_high, high),
                    );
                    *total = _mm256_xor_si256(*total, product);
                }
            }
        }
        *sums = bytemuck::cast(totals);
    }
}

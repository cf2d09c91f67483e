//! Rows of symbols on 512-bit registers: products by GFNI, and the transposition of bytes.

use std::arch::x86_64::*;

use super::symbols::{Coefficients, GROUP};
use crate::{Block, Block512};

/// Adds all inputs, times their coefficients, to a group's sums.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(super) fn add_products(inputs: &[Block512], coefficients: &[Coefficients], sums: &mut [Block512; GROUP]) {
    let mut totals: [__m512i; GROUP] = bytemuck::cast(*sums);
    for (&input, coefficients) in inputs.iter().zip(coefficients) {
        let input: __m512i = bytemuck::cast(input);
        for (total, &coefficient) in totals.iter_mut().zip(coefficients) {
            let product = _mm512_gf2p8mul_epi8(input, _mm512_set1_epi32(coefficient as i32));
            *total = _mm512_xor_si512(*total, product);
        }
    }
    *sums = bytemuck::cast(totals);
}

/// [`super::vectors_to_rows`], of 64 vectors of a block for each 16 rows.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn vectors_to_rows(vectors: &[Block], rows: &mut [Block512]) {
    let blocks = rows.len() / 16;
    for (block, rows) in rows.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let mut tiles = [_mm512_setzero_si512(); 16];
        for (i, tile) in tiles.iter_mut().enumerate() {
            // Vectors 16, 32 and 48 later lie in the other lanes.
            let [a, b, c, d] = std::array::from_fn(|lane| -> __m128i {
                bytemuck::cast(vectors[(16 * lane + i) * blocks + block])
            });
            let low = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
            *tile = _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(low, c), d);
        }
        *rows = bytemuck::cast(transposed(tiles));
    }
}

/// [`super::rows_to_vectors`], to 64 vectors of a block for each 16 rows.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn rows_to_vectors(rows: &[Block512], vectors: &mut [Block]) {
    let blocks = rows.len() / 16;
    for (block, rows) in rows.as_chunks::<16>().0.iter().enumerate() {
        for (i, tile) in transposed(bytemuck::cast(*rows)).into_iter().enumerate() {
            let lanes = [
                _mm512_castsi512_si128(tile),
                _mm512_extracti32x4_epi32::<1>(tile),
                _mm512_extracti32x4_epi32::<2>(tile),
                _mm512_extracti32x4_epi32::<3>(tile),
            ];
            for (lane, value) in lanes.into_iter().enumerate() {
                vectors[(16 * lane + i) * blocks + block] = bytemuck::cast(value);
            }
        }
    }
}

/// The transposes of four 16 × 16 matrices of bytes side by side, in four steps as in the portable code.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn transposed(mut rows: [__m512i; 16]) -> [__m512i; 16] {
    for _ in 0..4 {
        let mut next = rows;
        for i in 0..8 {
            next[2 * i] = _mm512_unpacklo_epi8(rows[i], rows[i + 8]);
            next[2 * i + 1] = _mm512_unpackhi_epi8(rows[i], rows[i + 8]);
        }
        rows = next;
    }
    rows
}

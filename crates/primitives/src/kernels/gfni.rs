//! Rows of symbols on 512-bit registers: products by GFNI, and the transposition of bytes.

use std::arch::x86_64::*;

use super::groups::{Coefficients, GROUP};
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
pub(crate) fn transposed(rows: [__m512i; 16]) -> [__m512i; 16] {
    rotated(rotated(rotated(rotated(rows))))
}

/// One of the steps. It is written out because compilers keep the rows of a loop in memory.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn rotated(rows: [__m512i; 16]) -> [__m512i; 16] {
    let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = rows;
    let low = |a, b| _mm512_unpacklo_epi8(a, b);
    let high = |a, b| _mm512_unpackhi_epi8(a, b);
    [
        low(a0, b0),
        high(a0, b0),
        low(a1, b1),
        high(a1, b1),
        low(a2, b2),
        high(a2, b2),
        low(a3, b3),
        high(a3, b3),
        low(a4, b4),
        high(a4, b4),
        low(a5, b5),
        high(a5, b5),
        low(a6, b6),
        high(a6, b6),
        low(a7, b7),
        high(a7, b7),
    ]
}

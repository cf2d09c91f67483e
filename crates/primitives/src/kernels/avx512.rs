//! What compilers do not find: kernels for AVX-512 written by hand.

use std::arch::x86_64::*;

use super::linear::{GROUP, GROUPS, PASS, Tables};
use crate::{BLOCK_BITS, Block512};

/// x ⊕ y ⊕ z as a truth table.
const SUM: i32 = 0x96;

/// One pass of [`super::add_image`]: at most [`PASS`] inputs, and for each output the sum taken from each table.
#[target_feature(enable = "avx512f")]
pub(super) fn add_chosen(
    inputs: &[Block512],
    choices: &[[u8; GROUPS]],
    outputs: &mut [Block512],
    tables: &mut Tables,
) {
    let mut padded = [Block512::ZERO; PASS];
    padded[..inputs.len()].copy_from_slice(inputs);
    for (inputs, table) in padded.as_chunks::<GROUP>().0.iter().zip(&mut *tables) {
        let table: &mut [__m512i; 1 << GROUP] = bytemuck::cast_mut(table);
        table[0] = _mm512_setzero_si512();
        for (i, &input) in inputs.iter().enumerate() {
            for sum in 0..1 << i {
                table[1 << i | sum] = _mm512_xor_si512(table[sum], bytemuck::cast(input));
            }
        }
    }
    for (output, choices) in outputs.iter_mut().zip(choices) {
        let mut sum: __m512i = bytemuck::cast(*output);
        let chosen = |group: usize| -> __m512i {
            bytemuck::cast(tables[group][usize::from(choices[group]) % (1 << GROUP)])
        };
        for pair in 0..GROUPS / 2 {
            sum = _mm512_ternarylogic_epi64::<SUM>(sum, chosen(2 * pair), chosen(2 * pair + 1));
        }
        *output = bytemuck::cast(sum);
    }
}

/// [`super::strided_rows_to_columns`] of at most `64 W` rows to exactly 512 columns of at most 8 words.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn rows_to_columns<const W: usize>(
    rows: &[Block512],
    stride: usize,
    columns: &mut [[u64; W]; BLOCK_BITS],
) {
    const { assert!(0 < W && W <= 8) };
    let mut tiles = [[_mm512_setzero_si512(); 64]; W];
    for (tile, rows) in tiles.iter_mut().zip(rows.chunks(64 * stride)) {
        for (slot, &row) in tile.iter_mut().zip(rows.iter().step_by(stride)) {
            *slot = bytemuck::cast(row);
        }
        transpose_tile(tile);
    }
    if const { 8 % W == 0 } {
        // So many columns after another fill a register.
        let each = 8 / W;
        let columns = columns.as_flattened_mut();
        for r in (0..64).step_by(each) {
            let words = std::array::from_fn(|word| tiles[word % W][r + word / W]);
            for (lane, together) in transpose_words(words).into_iter().enumerate() {
                let first = (64 * lane + r) * W;
                columns[first..first + 8].copy_from_slice(&bytemuck::cast::<_, [u64; 8]>(together));
            }
        }
        return;
    }
    for r in 0..64 {
        let mut words = [_mm512_setzero_si512(); 8];
        for (word, tile) in words.iter_mut().zip(&tiles) {
            *word = tile[r];
        }
        for (lane, column) in transpose_words(words).into_iter().enumerate() {
            let place = columns[64 * lane + r].as_mut_ptr().cast();
            // SAFETY: the mask says to write the `W` words of this column only.
            unsafe { _mm512_mask_storeu_epi64(place, u8::MAX >> (8 - W), column) };
        }
    }
}

/// [`super::columns_to_rows`] of exactly 512 columns of at most 8 words to at most `64 W` rows.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn columns_to_rows<const W: usize>(columns: &[[u64; W]; BLOCK_BITS], rows: &mut [Block512]) {
    const { assert!(W <= 8) };
    let mut tiles = [[_mm512_setzero_si512(); 64]; W];
    for r in 0..64 {
        let mut lanes = [_mm512_setzero_si512(); 8];
        for (lane, column) in lanes.iter_mut().enumerate() {
            let place = columns[64 * lane + r].as_ptr().cast();
            // SAFETY: the mask says to read the `W` words of this column only.
            *column = unsafe { _mm512_maskz_loadu_epi64(u8::MAX >> (8 - W), place) };
        }
        for (word, tile) in transpose_words(lanes).into_iter().zip(&mut tiles) {
            tile[r] = word;
        }
    }
    for (tile, rows) in tiles.iter_mut().zip(rows.chunks_mut(64)) {
        transpose_tile(tile);
        for (row, &slot) in rows.iter_mut().zip(&*tile) {
            *row = bytemuck::cast(slot);
        }
    }
}

/// Transposes eight 64 × 64 bit matrices side by side: bit `j` of word `l` of register `i` changes places with bit `i` of
/// word `l` of register `j`.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn transpose_tile(tile: &mut [__m512i; 64]) {
    // As in the portable code, swapping quarters of quarters; while they are of whole bytes, by one shuffle each.
    for first in 0..8 {
        let mut rows: [__m512i; 8] = std::array::from_fn(|i| tile[8 * i + first]);
        for i in 0..4 {
            (rows[i], rows[i + 4]) = swap_32(rows[i], rows[i + 4]);
        }
        for i in [0, 1, 4, 5] {
            (rows[i], rows[i + 2]) = swap_bytes::<2>(rows[i], rows[i + 2]);
        }
        for i in [0, 2, 4, 6] {
            (rows[i], rows[i + 1]) = swap_bytes::<1>(rows[i], rows[i + 1]);
        }
        for i in 0..8 {
            tile[8 * i + first] = rows[i];
        }
    }
    for rows in tile.as_chunks_mut::<8>().0 {
        transpose_bytes(rows);
    }
}

/// Transposes the 8 × 8 bit matrices of eight rows, of a byte of each: bit `j` of a byte of register `i` changes places with bit `i` of that byte of register
/// `j`.
#[target_feature(enable = "avx512f")]
#[inline]
pub(crate) fn transpose_bytes(rows: &mut [__m512i; 8]) {
    for i in 0..4 {
        (rows[i], rows[i + 4]) = swap_bits::<4>(rows[i], rows[i + 4]);
    }
    for i in [0, 1, 4, 5] {
        (rows[i], rows[i + 2]) = swap_bits::<2>(rows[i], rows[i + 2]);
    }
    for i in [0, 2, 4, 6] {
        (rows[i], rows[i + 1]) = swap_bits::<1>(rows[i], rows[i + 1]);
    }
}

/// Swaps the upper half of each word of `a` with the lower half of that of `b`.
#[target_feature(enable = "avx512f")]
#[inline]
fn swap_32(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    (
        _mm512_mask_shuffle_epi32::<_MM_PERM_CDAB>(a, 0xaaaa, b),
        _mm512_mask_shuffle_epi32::<_MM_PERM_CDAB>(b, 0x5555, a),
    )
}

/// Swaps the upper half of every `2 WIDTH` bytes (one or two) of `a` with the lower half of those of `b`.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn swap_bytes<const WIDTH: usize>(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let (upper, across) = if WIDTH == 1 {
        (
            0xaaaa_aaaa_aaaa_aaaa,
            _mm_set_epi64x(0x0e0f_0c0d_0a0b_0809, 0x0607_0405_0203_0001),
        )
    } else {
        (
            0xcccc_cccc_cccc_cccc,
            _mm_set_epi64x(0x0d0c_0f0e_0908_0b0a, 0x0504_0706_0100_0302),
        )
    };
    let across = _mm512_broadcast_i32x4(across);
    (
        _mm512_mask_shuffle_epi8(a, upper, b, across),
        _mm512_mask_shuffle_epi8(b, !upper, a, across),
    )
}

/// Swaps the upper half of every `2 WIDTH` bits (at most four) of `a` with the lower half of those of `b`.
#[target_feature(enable = "avx512f")]
#[inline]
fn swap_bits<const WIDTH: u32>(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    /// (x ⊕ y) ∧ z as a truth table.
    const MASKED_SUM: i32 = 0x28;
    let mask = _mm512_set1_epi64((u64::MAX / ((1 << WIDTH) + 1)) as i64);
    let swap = _mm512_ternarylogic_epi64::<MASKED_SUM>(_mm512_srli_epi64::<WIDTH>(a), b, mask);
    (
        _mm512_xor_si512(a, _mm512_slli_epi64::<WIDTH>(swap)),
        _mm512_xor_si512(b, swap),
    )
}

/// Transposes an 8 × 8 matrix of words, a row in each register.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose_words(rows: [__m512i; 8]) -> [__m512i; 8] {
    let mut out = rows;
    for odd in 0..2 {
        let [a, b, c, d] = std::array::from_fn(|i| {
            if odd == 0 {
                _mm512_unpacklo_epi64(rows[2 * i], rows[2 * i + 1])
            } else {
                _mm512_unpackhi_epi64(rows[2 * i], rows[2 * i + 1])
            }
        });
        // Now a 4 × 4 matrix of pairs of words.
        let (ab, cd) = (
            _mm512_shuffle_i64x2::<0x44>(a, b),
            _mm512_shuffle_i64x2::<0x44>(c, d),
        );
        out[odd] = _mm512_shuffle_i64x2::<0x88>(ab, cd);
        out[odd + 2] = _mm512_shuffle_i64x2::<0xdd>(ab, cd);
        let (ab, cd) = (
            _mm512_shuffle_i64x2::<0xee>(a, b),
            _mm512_shuffle_i64x2::<0xee>(c, d),
        );
        out[odd + 4] = _mm512_shuffle_i64x2::<0x88>(ab, cd);
        out[odd + 6] = _mm512_shuffle_i64x2::<0xdd>(ab, cd);
    }
    out
}

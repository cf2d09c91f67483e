//! The field by PCLMULQDQ.

use std::arch::x86_64::*;

use super::TAIL;

/// Columns that are summed side by side, in registers.
const COLUMNS: usize = 4;

#[target_feature(enable = "pclmulqdq,avx2")]
pub(super) fn add_row_products(rows: &[u64], weights: &[u64], sums: &mut [u64]) {
    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(weights.len())) {
        let mut product = _mm_setzero_si128();
        for (&a, &b) in row.iter().zip(weights) {
            product = _mm_xor_si128(product, carryless(a, b));
        }
        *sum ^= reduce(product);
    }
}

#[target_feature(enable = "pclmulqdq,avx2")]
pub(super) fn add_weighted_rows(rows: &[u64], weights: &[u64], sums: &mut [u64]) {
    let width = sums.len();
    let (fours, rest) = sums.as_chunks_mut::<COLUMNS>();
    let first_of_rest = fours.len() * COLUMNS;
    for (group, sums) in fours.iter_mut().enumerate() {
        add_columns(&rows[group * COLUMNS..], width, weights, sums);
    }
    for (column, sum) in rest.iter_mut().enumerate() {
        add_columns(
            &rows[first_of_rest + column..],
            width,
            weights,
            std::array::from_mut(sum),
        );
    }
}

/// Adds the first columns of `rows`, which are `width` words apart.
#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
fn add_columns<const N: usize>(rows: &[u64], width: usize, weights: &[u64], sums: &mut [u64; N]) {
    let mut products = [_mm_setzero_si128(); N];
    for (row, &weight) in rows.chunks(width).zip(weights) {
        for (product, &word) in products.iter_mut().zip(row) {
            *product = _mm_xor_si128(*product, carryless(word, weight));
        }
    }
    for (sum, product) in sums.iter_mut().zip(products) {
        *sum ^= reduce(product);
    }
}

#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
fn carryless(a: u64, b: u64) -> __m128i {
    _mm_clmulepi64_si128::<0x00>(_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64))
}

#[target_feature(enable = "pclmulqdq,avx2")]
#[inline]
fn reduce(product: __m128i) -> u64 {
    let tail = _mm_cvtsi64_si128(TAIL as i64);
    let once = _mm_clmulepi64_si128::<0x01>(product, tail);
    let twice = _mm_clmulepi64_si128::<0x01>(once, tail);
    _mm_cvtsi128_si64(_mm_xor_si128(_mm_xor_si128(product, once), twice)) as u64
}

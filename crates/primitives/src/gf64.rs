//! The field GF(2^64), over which rows of secret bits are summed with weights.
//!
//! Elements are polynomials over GF(2) modulo x^64 + x^4 + x^3 + x + 1; bit `i` of a word is the coefficient of x^i. No branch or memory access depends
//! on an element on any path.

#[cfg(target_arch = "x86_64")]
mod x86;

use crate::Simd;
use crate::mac::field::carryless;

/// x^4 + x^3 + x + 1, to which x^64 is equal.
const TAIL: u64 = 0x1b;

/// The product of `a` and `b`.
#[inline]
pub fn mul(a: u64, b: u64) -> u64 {
    let mut product = [0];
    add_row_products(&[a], &[b], &mut product);
    product[0]
}

/// Adds to each of `sums` its row times `weights`: `sums[r] += Σ_c weights[c] · rows[r · weights.len() + c]`.
///
/// # Panics
/// If `rows` has another length than `sums.len() * weights.len()`.
#[inline]
pub fn add_row_products(rows: &[u64], weights: &[u64], sums: &mut [u64]) {
    add_row_products_on(Simd::detect(), rows, weights, sums);
}

/// Adds to `sums` the rows, each times its weight: `sums[c] += Σ_r weights[r] · rows[r · sums.len() + c]`.
///
/// # Panics
/// If `rows` has another length than `weights.len() * sums.len()`.
#[inline]
pub fn add_weighted_rows(rows: &[u64], weights: &[u64], sums: &mut [u64]) {
    add_weighted_rows_on(Simd::detect(), rows, weights, sums);
}

fn add_row_products_on(simd: Simd, rows: &[u64], weights: &[u64], sums: &mut [u64]) {
    assert_eq!(rows.len(), sums.len() * weights.len(), "a row for each sum");
    if weights.is_empty() {
        return;
    }
    match simd.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has PCLMULQDQ and AVX2.
        Simd::Avx2 | Simd::Avx512 => unsafe { x86::add_row_products(rows, weights, sums) },
        _ => {
            for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(weights.len())) {
                *sum ^= sum_of_products(row, weights);
            }
        }
    }
}

fn add_weighted_rows_on(simd: Simd, rows: &[u64], weights: &[u64], sums: &mut [u64]) {
    assert_eq!(rows.len(), sums.len() * weights.len(), "a row for each weight");
    if rows.is_empty() {
        return;
    }
    match simd.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has PCLMULQDQ and AVX2.
        Simd::Avx2 | Simd::Avx512 => unsafe { x86::add_weighted_rows(rows, weights, sums) },
        _ => {
            let width = sums.len();
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum ^= sum_of_products(rows[column..].iter().step_by(width), weights);
            }
        }
    }
}

/// The sum of all products in portable code, with one reduction at the end.
fn sum_of_products<'a>(words: impl IntoIterator<Item = &'a u64>, weights: &[u64]) -> u64 {
    let products = words.into_iter().zip(weights).map(|(&a, &b)| carryless(a, b));
    reduce(products.fold(0, |sum, product| sum ^ product))
}

/// A polynomial of 127 coefficients, reduced.
fn reduce(product: u128) -> u64 {
    let fold = |high: u128| high ^ high << 1 ^ high << 3 ^ high << 4;
    let once = fold(product >> 64);
    (product ^ once ^ fold(once >> 64)) as u64
}

#[cfg(test)]
mod tests;

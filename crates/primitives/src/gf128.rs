//! The field GF(2^128) in which consistency checks fold columns of correlated randomness.
//!
//! Elements are [`Block`]s: polynomials over GF(2) modulo x^128 + x^7 + x^2 + x + 1, where bit `i` of the little-endian
//! block is the coefficient of x^i. No branch or memory access depends on an element on any path.
//!
//! The product here is the ordinary one, so that 1 is `Block([1, 0])`; the field of [`PolyMac`](crate::PolyMac) has
//! another modulus and a product that is off by a unit.

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

use crate::mac::field::product;
use crate::{Block, Simd};

/// x^7 + x^2 + x + 1, to which x^128 is equal.
const TAIL: u64 = 0x87;

/// Independent chains of multiplications by which [`powers`] hides the latency of one.
const CHAINS: usize = 8;

/// The element 1.
pub const ONE: Block = Block([1u64.to_le(), 0]);

/// The product of `a` and `b`.
#[inline]
pub fn mul(a: Block, b: Block) -> Block {
    mul_on(Simd::detect(), a, b)
}

/// 1/a, as a^(2^128 - 2), the product of all a^(2^k) for k from 1 to 127; 0 for 0.
pub fn inverse(a: Block) -> Block {
    let (mut product, mut power) = (ONE, a);
    for _ in 1..128 {
        power = mul(power, power);
        product = mul(product, power);
    }
    product
}

/// Writes the powers of `alpha`: `out[k]` becomes `alpha^(k + 1)`.
#[inline]
pub fn powers(alpha: Block, out: &mut [Block]) {
    powers_on(Simd::detect(), alpha, out);
}

/// The sum of all `a[k] · b[k]`, with one reduction at the end.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn inner_product(a: &[Block], b: &[Block]) -> Block {
    inner_product_on(Simd::detect(), a, b)
}

/// Adds to each of `sums` the inner product of its row with `b`: `sums[i] += inner_product(row i, b)`, where row `i` is
/// `rows[i * b.len()..][..b.len()]`.
///
/// # Panics
/// If `rows` has another length than `sums.len() * b.len()`.
#[inline]
pub fn add_inner_products(rows: &[Block], b: &[Block], sums: &mut [Block]) {
    add_inner_products_on(Simd::detect(), rows, b, sums);
}

pub(crate) fn mul_on(simd: Simd, a: Block, b: Block) -> Block {
    match simd.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has PCLMULQDQ and AVX2.
        Simd::Avx2 | Simd::Avx512 => unsafe { x86::mul(a, b) },
        _ => sum_of_products(&[a], &[b]),
    }
}

fn powers_on(simd: Simd, alpha: Block, out: &mut [Block]) {
    match simd.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has PCLMULQDQ and AVX2.
        Simd::Avx2 | Simd::Avx512 => unsafe { x86::powers(alpha, out) },
        _ => powers_by(alpha, out, |a, b| mul_on(Simd::Portable, a, b)),
    }
}

fn inner_product_on(simd: Simd, a: &[Block], b: &[Block]) -> Block {
    assert_eq!(a.len(), b.len(), "one factor for each factor");
    let mut sum = [Block::ZERO];
    add_inner_products_on(simd, a, b, &mut sum);
    sum[0]
}

fn add_inner_products_on(simd: Simd, rows: &[Block], b: &[Block], sums: &mut [Block]) {
    assert_eq!(rows.len(), sums.len() * b.len(), "a row for each sum");
    if b.is_empty() {
        return;
    }
    match simd.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has PCLMULQDQ and AVX2.
        Simd::Avx2 => unsafe { x86::add_inner_products(rows, b, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has PCLMULQDQ, AVX2, AVX-512 F and VPCLMULQDQ.
        Simd::Avx512 => unsafe { x86::add_inner_products_512(rows, b, sums) },
        _ => {
            for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(b.len())) {
                *sum ^= sum_of_products(row, b);
            }
        }
    }
}

/// The inner product in portable code.
#[inline]
pub(crate) fn sum_of_products(a: &[Block], b: &[Block]) -> Block {
    let (low, high) = a.iter().zip(b).fold((0, 0), |sum, (&a, &b)| {
        let (low, high) = product(a, b);
        (sum.0 ^ low, sum.1 ^ high)
    });
    reduce(low, high)
}

/// [`powers`] with `mul` to multiply.
#[inline(always)]
fn powers_by(alpha: Block, out: &mut [Block], mul: impl Fn(Block, Block) -> Block) {
    let mut power = alpha;
    for slot in out.iter_mut().take(CHAINS) {
        *slot = power;
        power = mul(power, alpha);
    }
    if out.len() > CHAINS {
        let stride = out[CHAINS - 1];
        for k in CHAINS..out.len() {
            out[k] = mul(out[k - CHAINS], stride);
        }
    }
}

/// The polynomial `high · x^128 + low`, reduced.
pub(crate) fn reduce(low: u128, high: u128) -> Block {
    // A polynomial of 64 coefficients times the tail, shift by shift, as the tail has four terms.
    let times_tail = |a: u64| {
        let a = u128::from(a);
        a ^ a << 1 ^ a << 2 ^ a << 7
    };
    let top = times_tail((high >> 64) as u64);
    let low = low ^ top << 64 ^ times_tail((high ^ top >> 64) as u64);
    Block([low as u64, (low >> 64) as u64].map(u64::to_le))
}

#[cfg(test)]
mod tests;

//! Vectors of elements, and their products' sums.

use crate::{Block, Block512, Simd, gf128};

use super::elements::Elements;
use super::fold::{QUARTER, TileMut, column_of};

/// Points of the grid in two variables but for (0, 0).
pub const QUARTER_POINTS: usize = 8;

/// Multiplies the elements of a tile, as [`Fold::apply`](super::Fold::apply) writes them, with their columns' weights.
pub fn weigh(elements: TileMut<'_>, weights: &Block512) {
    weigh_on(Simd::detect(), elements, weights);
}

/// [`weigh`] on a given level.
pub(super) fn weigh_on(level: Simd, elements: TileMut<'_>, weights: &Block512) {
    let level = level.assert_supported();
    for (number, quarter) in elements.into_iter().enumerate() {
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX-512 F and BW and VPCLMULQDQ.
            Simd::Avx512 => unsafe { super::x86::weigh_quarter_512(quarter, number, weights) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is supported, so the CPU has AVX2 and PCLMULQDQ.
            Simd::Avx2 => unsafe { super::x86::weigh_quarter_128(quarter, number, weights) },
            _ => {
                for (place, element) in (QUARTER * number..).zip(quarter) {
                    *element = gf128::mul_on(Simd::Portable, *element, column_weight(weights, place));
                }
            }
        }
    }
}

/// The weight of the column whose element is at this place in a tile.
#[inline(always)]
pub(super) fn column_weight(weights: &Block512, place: usize) -> Block {
    let column = column_of(place);
    let weight = u128::from(u64::from_le(weights.0[column / 64])) << (column % 64);
    Block([weight as u64, (weight >> 64) as u64].map(u64::to_le))
}

/// Takes each of two vectors of elements as the values of a multilinear polynomial in two variables, in four quarters, and adds the sums of
/// their products at each point of `{0, 1, ∞}²` but (0, 0): 0 before 1 before ∞, the first variable slowest.
///
/// # Panics
/// If the quarters are not of one length.
pub fn add_quarter_grid(u: [&[Block]; 4], v: [&[Block]; 4], sums: &mut [Block; QUARTER_POINTS]) {
    add_quarter_grid_on(Simd::detect(), u, v, sums);
}

/// [`add_quarter_grid`] on a given level.
pub(super) fn add_quarter_grid_on(
    level: Simd,
    u: [&[Block]; 4],
    v: [&[Block]; 4],
    sums: &mut [Block; QUARTER_POINTS],
) {
    for quarter in u.iter().chain(&v) {
        assert_eq!(quarter.len(), u[0].len(), "quarters of one length");
    }
    let added = match level.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX-512 F and BW, VPCLMULQDQ and all that AVX2 has.
        Simd::Avx512 => unsafe { super::x86::quarter_grid_512(u, v) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX2 and PCLMULQDQ.
        Simd::Avx2 => unsafe { super::x86::quarter_grid_128(u, v) },
        // SAFETY: words are all that is needed.
        _ => unsafe { quarter_grid::<Block>(u, v, 0) },
    };
    sums.iter_mut().zip(added).for_each(|(sum, added)| *sum ^= added);
}

/// Replaces each quarter of a vector by the sum of the quarters times their weights, in its first quarter.
///
/// # Panics
/// If the length is not a multiple of four.
pub fn fold_quarters(elements: &mut [Block], weights: &[Block; 4]) {
    fold_quarters_on(Simd::detect(), elements, weights);
}

/// [`fold_quarters`] on a given level.
pub(super) fn fold_quarters_on(level: Simd, elements: &mut [Block], weights: &[Block; 4]) {
    assert!(elements.len().is_multiple_of(4), "a vector of four quarters");
    match level.assert_supported() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX-512 F and BW, VPCLMULQDQ and all that AVX2 has.
        Simd::Avx512 => unsafe { super::x86::fold_quarters_512(elements, weights) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is supported, so the CPU has AVX2 and PCLMULQDQ.
        Simd::Avx2 => unsafe { super::x86::fold_quarters_128(elements, weights) },
        // SAFETY: words are all that is needed.
        _ => unsafe { fold::<Block>(elements, weights, 0) },
    }
}

/// The sums of products from element `first` of each quarter on, as far as they fill `E`.
///
/// # Safety
/// The CPU must have the instructions of `E`.
#[inline(always)]
pub(super) unsafe fn quarter_grid<E: Elements>(
    u: [&[Block]; 4],
    v: [&[Block]; 4],
    first: usize,
) -> [Block; QUARTER_POINTS] {
    let quarter = u[0].len();
    // SAFETY: as promised.
    unsafe {
        let mut sums = [E::zero(); QUARTER_POINTS];
        for at in (first..quarter + 1 - E::WIDTH.min(quarter + 1)).step_by(E::WIDTH) {
            let ([u0, u1, u2, u3], [v0, v1, v2, v3]) = (at_all::<E>(u, at), at_all::<E>(v, at));
            let (u01, u23, v01, v23) = (u0.xor(u1), u2.xor(u3), v0.xor(v1), v2.xor(v3));
            E::add_product(&mut sums[0], u1, v1);
            E::add_product(&mut sums[1], u01, v01);
            E::add_product(&mut sums[2], u2, v2);
            E::add_product(&mut sums[3], u3, v3);
            E::add_product(&mut sums[4], u23, v23);
            E::add_product(&mut sums[5], u0.xor(u2), v0.xor(v2));
            E::add_product(&mut sums[6], u1.xor(u3), v1.xor(v3));
            E::add_product(&mut sums[7], u01.xor(u23), v01.xor(v23));
        }
        let mut totals = [Block::ZERO; QUARTER_POINTS];
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = E::reduce(sum).total();
        }
        totals
    }
}

/// The elements from `at` on of each quarter.
///
/// # Safety
/// As [`quarter_grid`].
#[inline(always)]
unsafe fn at_all<E: Elements>([a, b, c, d]: [&[Block]; 4], at: usize) -> [E; 4] {
    // SAFETY: as promised.
    unsafe {
        [
            E::load(&a[at..]),
            E::load(&b[at..]),
            E::load(&c[at..]),
            E::load(&d[at..]),
        ]
    }
}

/// The quarters of a vector.
#[inline(always)]
pub fn quarters(vector: &[Block]) -> [&[Block]; 4] {
    let quarter = vector.len() / 4;
    let (first, last) = vector.split_at(2 * quarter);
    let ((a, b), (c, d)) = (first.split_at(quarter), last.split_at(quarter));
    [a, b, c, d]
}

/// Folds from element `first` of each quarter on, as far as they fill `E`.
///
/// # Safety
/// As [`quarter_grid`].
#[inline(always)]
pub(super) unsafe fn fold<E: Elements>(elements: &mut [Block], weights: &[Block; 4], first: usize) {
    let quarter = elements.len() / 4;
    // SAFETY: as promised.
    unsafe {
        let [w0, w1, w2, w3] = *weights;
        let weights = [E::each(w0), E::each(w1), E::each(w2), E::each(w3)];
        for at in (first..quarter + 1 - E::WIDTH.min(quarter + 1)).step_by(E::WIDTH) {
            let mut sum = E::zero();
            for (part, weight) in at_all::<E>(quarters(elements), at).into_iter().zip(weights) {
                E::add_product(&mut sum, part, weight);
            }
            E::reduce(sum).store(&mut elements[at..]);
        }
    }
}

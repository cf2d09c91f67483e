//! Products of integers.

use super::columns::Columns;
use super::goal::Goal;
use super::integer::{add_with_carry, subtract};
use super::timed::{Timed, timed, untimed};
use crate::{Bit, Builder};

/// Narrowest factors whose full product takes fewer ANDs by Karatsuba than by the schoolbook.
const KARATSUBA_FULL: usize = 14;
/// The same for products modulo 2^n, of which only the low quarter is a full product.
const KARATSUBA_TRUNCATED: usize = 31;

/// `x · y mod 2^n`.
///
/// # Panics
/// If the widths differ.
pub fn multiply(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> Vec<Bit> {
    assert_eq!(x.len(), y.len(), "the operands have different widths");
    let n = x.len();
    if goal == Goal::LeastDepth || n < KARATSUBA_TRUNCATED {
        return schoolbook(b, x, y, n, goal);
    }
    // Of the cross products, only the part below 2^n counts.
    let half = n.div_ceil(2);
    let (x_low, x_high) = x.split_at(half);
    let (y_low, y_high) = y.split_at(half);
    let low = multiply_full(b, x_low, y_low, goal);
    let left = multiply(b, &x_low[..n - half], y_high, goal);
    let right = multiply(b, x_high, &y_low[..n - half], goal);
    let mut columns = Columns::new(n);
    columns.push_word(0, &timed(&low));
    columns.push_word(half, &timed(&left));
    columns.push_word(half, &timed(&right));
    untimed(&columns.sum(b, goal))
}

/// `x · y` in full: as many bits as `x` and `y` have together. The widths may differ.
pub fn multiply_full(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> Vec<Bit> {
    if goal == Goal::LeastDepth || x.len() != y.len() || x.len() < KARATSUBA_FULL {
        schoolbook(b, x, y, x.len() + y.len(), goal)
    } else {
        karatsuba(b, x, y)
    }
}

/// `x · y mod 2^width` from the products of all pairs of bits.
fn schoolbook(b: &mut Builder, x: &[Bit], y: &[Bit], width: usize, goal: Goal) -> Vec<Bit> {
    let mut columns = Columns::new(width);
    for (i, &x) in x.iter().enumerate() {
        for (j, &y) in y.iter().enumerate().take(width.saturating_sub(i)) {
            let product = Timed::from(x).and(b, y.into());
            columns.push(i + j, product);
        }
    }
    untimed(&columns.sum(b, goal))
}

/// `x · y` of equal widths from three products of half the width (Karatsuba and Ofman, 1962).
fn karatsuba(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    let goal = Goal::FewestAnds;
    let (n, half) = (x.len(), x.len().div_ceil(2));
    let (x_low, x_high) = x.split_at(half);
    let (y_low, y_high) = y.split_at(half);
    let low = multiply_full(b, x_low, y_low, goal);
    let high = multiply_full(b, x_high, y_high, goal);

    let mut halves_sum = |low: &[Bit], high: &[Bit]| {
        let (mut sum, carry) = add_with_carry(b, low, &extended(high, half), Bit::FALSE, goal);
        sum.push(carry);
        sum
    };
    let (x_sum, y_sum) = (halves_sum(x_low, x_high), halves_sum(y_low, y_high));
    let all = multiply_full(b, &x_sum, &y_sum, goal);
    // The two cross products together are below 2^(2 · half + 1).
    let width = 2 * half + 1;
    let without_low = subtract(b, &all[..width], &extended(&low, width), goal);
    let cross = subtract(b, &without_low, &extended(&high, width), goal);

    let mut columns = Columns::new(2 * n);
    columns.push_word(0, &timed(&low));
    columns.push_word(2 * half, &timed(&high));
    columns.push_word(half, &timed(&cross));
    untimed(&columns.sum(b, goal))
}

/// `word` with zeros up to `width`.
fn extended(word: &[Bit], width: usize) -> Vec<Bit> {
    let mut word = word.to_vec();
    word.resize(width, Bit::FALSE);
    word
}

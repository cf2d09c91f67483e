//! Quotients and remainders.
//!
//! Division by zero gives a quotient of ones only (`2^n - 1` unsigned, -1 signed) and the dividend as remainder. Signed
//! division truncates, so that the remainder has the sign of the dividend; `-2^(n-1)` divided by -1 is `-2^(n-1)`
//! with remainder 0. That is how RISC-V divides.
//!
//! For few ANDs division is *non-restoring*: each bit of the quotient takes one addition or subtraction of the divisor,
//! by the sign of the partial remainder, which is free to choose between as it only flips bits. The partial remainder
//! before bit `i` of `n`, from the top, is below `2^i`. So step `i` computes on `i + 1` bits and asks of the bits of the
//! divisor above whether there is a one among them, in which case the divisor is too large to fit in.
//!
//! For little depth each step gives two bits: the divisor, twice and thrice the divisor are all subtracted at once, and
//! the signs of the three differences choose the next partial remainder.

use super::conjunction::prefix_all;
use super::goal::Goal;
use super::integer::{absolute, add, add_with_carry, constant, negate_if, not, subtract_with_borrow};
use crate::{Bit, Builder};

/// The quotient and the remainder of `x / y`, both unsigned; of `x / 0`, ones only and `x`. `n²/2 + 9n/2 - 4` ANDs for
/// [`Goal::FewestAnds`], `2n - 1` less without the remainder; a divisor that is constant costs less.
///
/// # Panics
/// If the widths differ.
pub fn divide(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> (Vec<Bit>, Vec<Bit>) {
    assert_eq!(x.len(), y.len(), "the operands have different widths");
    // A constant divisor is as wide as it needs to be.
    let significant = y
        .iter()
        .rposition(|&bit| bit != Bit::FALSE)
        .map_or(0, |top| top + 1);
    let (quotient, mut remainder) = match &y[..significant] {
        [low @ .., Bit::TRUE] if low.iter().all(|&bit| bit == Bit::FALSE) => {
            let (remainder, quotient) = x.split_at(low.len());
            let quotient = [quotient, &constant(0, low.len())].concat();
            (quotient, remainder.to_vec())
        }
        divisor @ [.., Bit::TRUE] => steps(b, x, divisor, goal),
        _ => steps(b, x, y, goal),
    };
    remainder.resize(x.len(), Bit::FALSE);
    (quotient, remainder)
}

/// The quotient and the remainder of `x / y`, both in two's complement, as `x = q · y + r` with `|r| < |y|` and `r` zero or
/// of the sign of `x`; of `x / 0`, -1 and `x`; of `-2^(n-1) / -1`, `-2^(n-1)` and 0. Takes `4n - 2` ANDs more than
/// [`divide`] for [`Goal::FewestAnds`].
///
/// # Panics
/// If the widths differ.
pub fn divide_signed(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> (Vec<Bit>, Vec<Bit>) {
    let sign = |word: &[Bit]| word.last().copied().unwrap_or(Bit::FALSE);
    let (x_sign, y_sign) = (sign(x), sign(y));
    let (x, y) = (absolute(b, x, goal), absolute(b, y, goal));
    let (quotient, remainder) = divide(b, &x, &y, goal);
    let opposite = b.xor(x_sign, y_sign);
    let nonzero = any_from(b, &y, goal).first().copied().unwrap_or(Bit::FALSE);
    let negative = b.and(opposite, nonzero);
    let quotient = negate_if(b, negative, &quotient, goal);
    (quotient, negate_if(b, x_sign, &remainder, goal))
}

/// [`divide`] by a `y` that may be narrower than `x` if it is not 0; the remainder is as wide as `y`.
pub(super) fn steps(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> (Vec<Bit>, Vec<Bit>) {
    match goal {
        Goal::FewestAnds => non_restoring(b, x, y),
        Goal::LeastDepth => two_bits_a_step(b, x, y),
    }
}

fn non_restoring(b: &mut Builder, x: &[Bit], y: &[Bit]) -> (Vec<Bit>, Vec<Bit>) {
    let goal = Goal::FewestAnds;
    let above = any_from(b, y, goal);
    let mut quotient = Vec::with_capacity(x.len());
    // The partial remainder modulo 2^(width + 1), and whether it is negative.
    let mut partial: Vec<Bit> = Vec::new();
    let mut negative = Bit::FALSE;
    for (i, &bit) in x.iter().rev().enumerate() {
        let width = y.len().min(i + 1);
        partial.insert(0, bit);
        partial.resize(width + 1, Bit::FALSE);
        let subtract = !negative;
        let operand: Vec<Bit> = (0..=width)
            .map(|k| {
                let bit = y.get(k).copied().unwrap_or(Bit::FALSE);
                b.xor(bit, subtract)
            })
            .collect();
        let (low, carry) = add_with_carry(b, &partial[..width], &operand[..width], subtract, goal);
        let top = b.xor(partial[width], operand[width]);
        let top = b.xor(top, carry);
        partial = low;
        partial.push(top);
        // A divisor of 2^width or more is larger than the prefix of the dividend.
        let too_large = above.get(width).copied().unwrap_or(Bit::FALSE);
        negative = b.or(top, too_large);
        quotient.insert(0, !negative);
    }
    partial.resize(y.len(), Bit::FALSE);
    let correction: Vec<Bit> = y.iter().map(|&bit| b.and(bit, negative)).collect();
    (quotient, add(b, &partial, &correction, goal))
}

fn two_bits_a_step(b: &mut Builder, x: &[Bit], y: &[Bit]) -> (Vec<Bit>, Vec<Bit>) {
    let goal = Goal::LeastDepth;
    let wide = [y, &constant(0, 2)].concat();
    let twice = [&[Bit::FALSE], &wide[..y.len() + 1]].concat();
    let thrice = add(b, &wide, &twice, goal);
    let multiples = [wide, twice, thrice].map(|multiple| {
        let above = any_from(b, &multiple, goal);
        (multiple, above)
    });
    let mut digits = x.to_vec();
    if x.len() % 2 == 1 {
        digits.push(Bit::FALSE);
    }
    let mut quotient = Vec::with_capacity(digits.len());
    let mut partial: Vec<Bit> = Vec::new();
    for digit in digits.chunks(2).rev() {
        partial = [digit, &partial].concat();
        let width = partial.len();
        let differences = multiples.each_ref().map(|(multiple, above)| {
            let too_large = above.get(width).copied().unwrap_or(Bit::FALSE);
            let x = [&partial[..], &[Bit::FALSE]].concat();
            let y = [&multiple[..width], &[too_large]].concat();
            let (difference, negative) = subtract_with_borrow(b, &x, &y, Bit::FALSE, goal);
            (difference, !negative)
        });
        let mut next = partial.clone();
        let mut smaller = &partial;
        for (difference, fits) in &differences {
            for (k, bit) in next.iter_mut().enumerate() {
                let change = b.xor(smaller[k], difference[k]);
                let change = b.and(*fits, change);
                *bit = b.xor(*bit, change);
            }
            smaller = difference;
        }
        let [one, two, three] = differences.map(|(_, fits)| fits);
        let odd = b.xor(one, two);
        let odd = b.xor(odd, three);
        quotient.splice(0..0, [odd, two]);
        next.truncate(y.len());
        partial = next;
    }
    quotient.truncate(x.len());
    partial.resize(y.len(), Bit::FALSE);
    (quotient, partial)
}

/// Element `i` of the result is whether `bits[i..]` has a one.
fn any_from(b: &mut Builder, bits: &[Bit], goal: Goal) -> Vec<Bit> {
    let zeros: Vec<Bit> = not(bits).into_iter().rev().collect();
    let none = prefix_all(b, &zeros, goal);
    not(&none).into_iter().rev().collect()
}

//! Counting zeros from either end of an integer.

use super::conjunction::prefix_all;
use super::goal::Goal;
use super::integer::not;
use crate::{Bit, Builder};

/// The number of zeros above the highest one, `n` if there is none: `⌊log2 n⌋ + 1` bits wide, with `n - 1` ANDs for
/// [`Goal::FewestAnds`], the fewest there are.
pub fn leading_zeros(b: &mut Builder, x: &[Bit], goal: Goal) -> Vec<Bit> {
    let reversed: Vec<Bit> = x.iter().rev().copied().collect();
    trailing_zeros(b, &reversed, goal)
}

/// The number of zeros below the lowest one, `n` if there is none; width and ANDs as for [`leading_zeros`].
pub fn trailing_zeros(b: &mut Builder, x: &[Bit], goal: Goal) -> Vec<Bit> {
    let zeros = prefix_all(b, &not(x), goal);
    from_unary(b, &zeros)
}

/// The number of ones of `ones`, which come before all its zeros: `⌊log2 n⌋ + 1` bits wide, without ANDs.
fn from_unary(b: &mut Builder, ones: &[Bit]) -> Vec<Bit> {
    // The multiples of 2^j up to the number are even in number just if its bit j is 0.
    (0..=ones.len().checked_ilog2().unwrap_or(0))
        .map(|j| {
            let multiples = ones.iter().skip((1 << j) - 1).step_by(1 << j);
            multiples.fold(Bit::FALSE, |sum, &one| b.xor(sum, one))
        })
        .collect()
}

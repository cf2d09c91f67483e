//! Counting zeros from either end of an integer, and the conjunctions that it takes.

use super::Goal;
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

/// Element `i` of the result is the conjunction of `bits[0..=i]`: `n - 1` ANDs one after another for
/// [`Goal::FewestAnds`], `⌈log2 n⌉` levels of at most `n/2` for [`Goal::LeastDepth`].
pub(super) fn prefix_all(b: &mut Builder, bits: &[Bit], goal: Goal) -> Vec<Bit> {
    match goal {
        Goal::FewestAnds => bits
            .iter()
            .scan(Bit::TRUE, |all, &bit| {
                *all = b.and(*all, bit);
                Some(*all)
            })
            .collect(),
        Goal::LeastDepth if bits.len() < 2 => bits.to_vec(),
        Goal::LeastDepth => {
            let (low, high) = bits.split_at(bits.len().next_power_of_two() / 2);
            let mut all = prefix_all(b, low, goal);
            let below = all[low.len() - 1];
            for above in prefix_all(b, high, goal) {
                all.push(b.and(below, above));
            }
            all
        }
    }
}

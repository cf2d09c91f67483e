//! Conjunctions of all beginnings of a row of bits.

use super::goal::Goal;
use crate::{Bit, Builder};

/// Element `i` of the result is the conjunction of `bits[0..=i]`: `n - 1` ANDs one after another for
/// [`Goal::FewestAnds`], `⌈log2 n⌉` levels for [`Goal::LeastDepth`].
pub fn prefix_all(b: &mut Builder, bits: &[Bit], goal: Goal) -> Vec<Bit> {
    match goal {
        Goal::FewestAnds => bits
            .iter()
            .scan(Bit::TRUE, |all, &bit| {
                *all = b.and(*all, bit);
                Some(*all)
            })
            .collect(),
        Goal::LeastDepth => halves(b, bits),
    }
}

/// Every beginning at depth `⌈log2 n⌉` (Ladner and Fischer, "Parallel prefix computation", 1980). Of the lower half of `2^k`
/// bits, only all of them together must be there at depth `k`.
fn halves(b: &mut Builder, bits: &[Bit]) -> Vec<Bit> {
    if bits.len() < 2 {
        return bits.to_vec();
    }
    let (low, high) = bits.split_at(bits.len().next_power_of_two() / 2);
    let mut all = pairs(b, low);
    let below = all[low.len() - 1];
    for above in halves(b, high) {
        all.push(b.and(below, above));
    }
    all
}

/// Every beginning of `2^k` bits at depth `k + 1`, all of them together at depth `k`.
fn pairs(b: &mut Builder, bits: &[Bit]) -> Vec<Bit> {
    let [first, .., _] = bits else {
        return bits.to_vec();
    };
    let both: Vec<Bit> = bits.chunks(2).map(|pair| b.and(pair[0], pair[1])).collect();
    let both = halves(b, &both);
    let mut all = vec![*first];
    for (&below, pair) in both.iter().zip(bits[1..].chunks(2)) {
        all.push(below);
        if let [_, next] = pair {
            all.push(b.and(below, *next));
        }
    }
    all
}

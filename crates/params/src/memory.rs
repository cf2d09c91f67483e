//! Oblivious memory: how large the stash of a Circuit ORAM must be.
//!
//! Wang, Chan, Shi, "Circuit ORAM: On Tightness of the Goldreich-Ostrovsky Lower Bound" (CCS 2015): in a tree with as many leaves
//! as blocks, [`BUCKET`] blocks in a bucket and two evictions an access along deterministic reverse-lexicographic paths, the
//! stash holds more than `R` blocks after an access with probability at most `14·e^-R`, whatever is accessed.

use crate::LogProb;

/// Blocks of a bucket that the bound is for; larger buckets do no harm.
pub const BUCKET: u32 = 4;

/// The probability, at most, that the blocks left over after an access are more than `stash`.
#[must_use]
pub fn overflow(stash: u32) -> LogProb {
    LogProb::from_log2(14f64.log2() - f64::from(stash) * std::f64::consts::LOG2_E)
}

/// The smallest stash that none of `2^accesses` accesses to each of `trees` trees overflows but with probability `2^-bits`. It has room for the
/// block that is accessed besides those that the bound is of, which are left over from the access before.
///
/// ```
/// use cenote_params::memory::stash;
/// assert_eq!((stash(40, 0, 1), stash(40, 20, 3)), (32, 47));
/// ```
#[must_use]
pub fn stash(bits: u32, accesses: u32, trees: u32) -> u32 {
    let trees = f64::from(trees.max(1)).log2();
    let fits = |stash: &u32| overflow(*stash).log2() + trees <= -f64::from(bits.saturating_add(accesses));
    let mut stash = 1;
    while !fits(&stash) {
        stash += 1;
    }
    stash + 1
}

/// The probability, at most, that one of `bins` bins holds more than `capacity` of `blocks` blocks, each of which is in a bin at
/// random: `bins · e^-λ · (e·λ/c)^c` with `λ = blocks / bins` and `c = capacity + 1 > λ` (Chernoff's bound).
#[must_use]
pub fn bin_overflow(blocks: u64, bins: u64, capacity: u32) -> LogProb {
    let mean = blocks as f64 / bins as f64;
    let over = f64::from(capacity) + 1.0;
    if u64::from(capacity) >= blocks {
        return LogProb::ZERO;
    }
    if over <= mean {
        return LogProb::ONE;
    }
    let nats = (bins as f64).ln() - mean + over * (1.0 + mean.ln() - over.ln());
    LogProb::from_log2(nats.min(0.0) * std::f64::consts::LOG2_E)
}

/// The smallest capacity of bins that none of them exceeds but with probability `2^-bits`.
///
/// ```
/// assert_eq!(cenote_params::memory::bin(40, 10_000, 512), 66);
/// ```
#[must_use]
pub fn bin(bits: u32, blocks: u64, bins: u64) -> u32 {
    let mut capacity = 1;
    while !bin_overflow(blocks, bins, capacity).meets(bits) {
        capacity += 1;
    }
    capacity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combinatorics::log2_binomial;

    /// Chernoff's bound is above the exact probability; the fewer bins, the further.
    #[test]
    fn bins_overflow_less_often_than_bounded() {
        for (blocks, bins) in [(1250u64, 64u64), (10_000, 512), (100, 8)] {
            let capacity = bin(40, blocks, bins);
            let p = (bins as f64).recip();
            let exactly = |count: u64| {
                let chosen = log2_binomial(blocks, count) + count as f64 * p.log2();
                chosen + (blocks - count) as f64 * (1.0 - p).log2()
            };
            let tail: f64 = (u64::from(capacity) + 1..=blocks)
                .map(|count| exactly(count).exp2())
                .sum();
            let exact = (bins as f64 * tail).log2();
            let bound = bin_overflow(blocks, bins, capacity);
            assert!(bound.meets(40) && !bin_overflow(blocks, bins, capacity - 1).meets(40));
            assert!(
                exact <= bound.log2() && bound.log2() < exact + 20.0,
                "{exact} {bound}"
            );
        }
    }

    #[test]
    fn stashes_grow_with_what_is_asked() {
        assert_eq!(stash(0, 0, 1), 4);
        assert!(overflow(stash(60, 0, 1) - 1).meets(60) && !overflow(stash(60, 0, 1) - 2).meets(60));
        assert_eq!(stash(40, 20, 1), stash(60, 0, 1));
    }
}

//! Cut-and-choose of fresh gadgets: each is checked, and thrown away, or goes into the pool.

use cenote_primitives::{Block, Prg, Sampler};

/// The stream of a coin that decides what is checked.
const STREAM: u64 = 0;

/// What becomes of fresh gadgets.
#[derive(Debug)]
pub struct Cut {
    /// The numbers of those that are checked, in order.
    pub checked: Vec<u32>,
    /// 32 uniform bits for each of them: what it is checked with.
    pub bits: Vec<u32>,
    /// The numbers of the others, in order.
    pub kept: Vec<u32>,
}

/// What `coin` makes of `count` fresh gadgets: each is checked with probability `threshold / 2^32`, independently.
pub fn cut(coin: Block, count: u32, threshold: u32) -> Cut {
    let mut sampler = Sampler::from_stream(Prg::new(coin), STREAM);
    let expected = ((u64::from(count) * u64::from(threshold)) >> 32) as usize;
    let mut cut = Cut {
        checked: Vec::with_capacity(expected + expected / 8),
        bits: Vec::with_capacity(expected + expected / 8),
        kept: Vec::with_capacity(count as usize),
    };
    for number in 0..count {
        if sampler.next_u32() < threshold {
            cut.checked.push(number);
            cut.bits.push(sampler.next_u32());
        } else {
            cut.kept.push(number);
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_checked_or_kept_at_the_rate_asked_for() {
        let count = 1 << 17;
        for share in [1, 20, 2] {
            let threshold = u32::MAX / share;
            let Cut { checked, bits, kept } = cut(Block([u64::from(share), 1]), count, threshold);
            assert_eq!(checked.len(), bits.len());
            let mut all = [checked.clone(), kept].concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count));
            let expected = f64::from(count) / f64::from(share);
            let deviation = (expected * (1.0 - 1.0 / f64::from(share))).sqrt();
            assert!((checked.len() as f64 - expected).abs() <= 5.0 * deviation);
            let ones: u32 = bits.iter().map(|word| word.count_ones()).sum();
            let expected = 16.0 * bits.len() as f64;
            assert!((f64::from(ones) - expected).abs() < 5.0 * (8.0 * bits.len() as f64).sqrt());
        }
        assert!(cut(Block::ZERO, 100, 0).checked.is_empty());
    }
}

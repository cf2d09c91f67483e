//! Eras: how long one key of a component serves.
//!
//! The blocks of AES in counter mode never repeat, and random ones would: `q` blocks of keystream can be told from a random
//! string with advantage `q^2 / 2^129`. So no key gives more than 2^40 blocks, an advantage of 2^-49. The position alone
//! decides which key it has, so that the two holders of a component change keys together, without a message.
//!
//! A key of a later era is a hash of the first one and of the era. It is not derived from the era before: on demand, a
//! triple may wait for long before it is drawn, and its factors are derived again then.

use std::ops::Range;

use cenote_primitives::{Block, Position, Prg};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::keys::{FactorSeeds, Purpose};

/// The 512-bit blocks of a component that a batch of `n` takes for each of its triples, at the most: two factors and a summand of
/// zero, in each of the arrays. Of these there are up to ten at an error of 2^-40, and as many as 129 where `n` is small.
fn blocks_per_triple(n: u64) -> u64 {
    if n < 64 { 1024 } else { 32 }
}

/// 512-bit blocks of a thread's first era, and of each later one.
const FIRST: u64 = 1 << 29;
const LATER: u64 = 1 << 38;

/// How many 512-bit blocks a key serves, of four AES blocks each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// In the first era of each purpose of each worker. The first key serves all of them: seven of each of up to 64 workers are less than 2^9.
    first: u64,
    /// In each later era, whose key serves one purpose of one worker.
    later: u64,
    /// The same in batches.
    first_batches: u64,
    later_batches: u64,
}

impl Limits {
    /// The limits for batches of `n` triples.
    pub(super) fn new(n: u64) -> Self {
        Self::with(FIRST, LATER, n.saturating_mul(blocks_per_triple(n)))
    }

    pub(super) fn with(first: u64, later: u64, batch: u64) -> Self {
        let batches = |blocks: u64| (blocks / batch.max(1)).max(1);
        Self {
            first,
            later,
            first_batches: batches(first),
            later_batches: batches(later),
        }
    }

    /// The era of `at`, and the blocks of its stream that are of the same era.
    pub(super) fn era(&self, at: Position) -> (Era, Range<u64>) {
        let name = at.stream >> 48;
        let purpose = name >> 8;
        if [Purpose::FactorA, Purpose::FactorB, Purpose::TripleZero]
            .map(|of| of as u64)
            .contains(&purpose)
        {
            // All of a batch is of one era.
            let serial = at.stream & u64::from(u32::MAX);
            let number = number(serial, self.first_batches, self.later_batches);
            let of_triples = (Purpose::FactorA as u64) << 8 | name & 0xff;
            return (Era::new(of_triples, number), 0..u64::MAX);
        }
        let number = number(at.index, self.first, self.later);
        let start = match number {
            0 => 0,
            later => self.first + (later - 1) * self.later,
        };
        let length = if number == 0 { self.first } else { self.later };
        (Era::new(name, number), start..start + length)
    }

    /// Whether all of these positions, of factors, are of the first era.
    pub(super) fn all_first(&self, at: &[Position]) -> bool {
        at.iter()
            .all(|at| at.stream & u64::from(u32::MAX) < self.first_batches)
    }
}

fn number(used: u64, first: u64, later: u64) -> u64 {
    if used < first {
        0
    } else {
        1 + (used - first) / later
    }
}

/// What a key is for. All first eras are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Era {
    /// Purpose and worker.
    name: u64,
    number: u64,
}

impl Era {
    fn new(name: u64, number: u64) -> Self {
        Self {
            name: if number == 0 { 0 } else { name },
            number,
        }
    }

    pub(super) fn is_first(self) -> bool {
        self.number == 0
    }

    /// The generators of this era, if it is not the first.
    pub(super) fn prgs(self, seeds: &FactorSeeds) -> [Prg; 2] {
        seeds.each_ref().map(|seed| {
            let mut hash = Sha256::new();
            hash.update(b"cenote three: component key of a later era, version 1");
            hash.update(&seed[..]);
            hash.update(self.name.to_le_bytes());
            hash.update(self.number.to_le_bytes());
            let digest: Zeroizing<[u8; 32]> = Zeroizing::new(hash.finalize().into());
            Prg::new(Block::from_bytes(std::array::from_fn(|index| digest[index])))
        })
    }
}

#[cfg(test)]
mod tests {
    use cenote_params::computational::ThreeUse;

    use super::*;

    #[test]
    fn keys_serve_as_long_as_the_parameters_count_on() {
        assert_eq!((4 * FIRST) as f64, ThreeUse::BLOCKS_OF_FIRST);
        assert_eq!((4 * LATER) as f64, ThreeUse::BLOCKS_OF_KEY);
    }
}

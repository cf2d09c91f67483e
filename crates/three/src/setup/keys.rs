//! Correlated randomness without interaction (Araki et al. 2016, Section 3; spec `three-party`, Section 2).
//!
//! Component `j` of every sharing is held by parties `j` and `j - 1`, who share a fresh key for it. Positions in its
//! keystream are named by purpose, worker, serial and index, and made here only, so that none is used twice.

use cenote_net::PartyId;
use cenote_primitives::{Block, Block512, Entropy, Position, Prg};
use cenote_session::Result;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::ring::Ring;
use crate::steps;

/// What a stretch of keystream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Purpose {
    FactorA = 1,
    FactorB = 2,
    TripleZero = 3,
    GateZero = 4,
    Input = 5,
    GeneratorCoin = 6,
    EvaluatorCoin = 7,
}

/// The position of block `index` of a purpose's keystream. `serial` separates batches of one purpose.
pub(crate) fn position(purpose: Purpose, worker: u8, serial: u32, index: u64) -> Position {
    Position {
        stream: u64::from(purpose as u8) << 56 | u64::from(worker) << 48 | u64::from(serial),
        index,
    }
}

/// The position of a triple's second factor, given that of its first.
pub(crate) fn factor_b(a: Position) -> Position {
    debug_assert_eq!(a.stream >> 56, Purpose::FactorA as u64);
    Position {
        stream: a.stream ^ (Purpose::FactorA as u64 ^ Purpose::FactorB as u64) << 56,
        ..a
    }
}

/// Hands out the positions of one purpose, each once. Not `Clone`: a copy would hand them out again.
pub(crate) struct Counter(Position);

impl Counter {
    pub(crate) fn new(purpose: Purpose, worker: u8) -> Self {
        Self(position(purpose, worker, 0, 0))
    }

    /// The first of `blocks` fresh positions.
    pub(crate) fn take(&mut self, blocks: usize) -> Position {
        let at = self.0;
        self.0 = at.advance(blocks);
        at
    }
}

/// The generators of the two components that a party holds: of component `i`, shared with the previous party, and of
/// component `i + 1`, shared with the next.
pub(crate) struct Keys {
    pub(crate) components: [Prg; 2],
}

/// What the generators of a party's two components are made from.
pub(crate) type FactorSeeds = [Zeroizing<[u8; 16]>; 2];

impl Keys {
    pub(crate) fn from_seeds(seeds: &FactorSeeds) -> Self {
        Self {
            components: seeds.each_ref().map(|seed| Prg::new(Block::from_bytes(**seed))),
        }
    }

    /// Writes a random sharing's two components.
    pub(crate) fn random(&self, at: Position, out: [&mut [Block512]; 2]) {
        for (prg, out) in self.components.iter().zip(out) {
            prg.fill(at, out);
        }
    }

    /// Writes the random sharings at scattered positions.
    pub(crate) fn random_at(&self, at: &[Position], out: [&mut [Block512]; 2]) {
        for (prg, out) in self.components.iter().zip(out) {
            prg.gather(at, out);
        }
    }

    /// Writes this party's summand of a sharing of zero: the three parties' summands XOR to 0.
    pub(crate) fn zero(&self, at: Position, out: &mut [Block512]) {
        self.components[0].fill(at, out);
        self.components[1].xor_into(at, out);
    }
}

/// The secrets that this party shares with each peer, from which every key of the session is derived.
pub(crate) struct PairSecrets {
    previous: Zeroizing<[u8; 32]>,
    next: Zeroizing<[u8; 32]>,
}

impl PairSecrets {
    /// Agrees on fresh secrets: each side of a pair contributes 32 random bytes.
    pub(crate) fn agree(me: PartyId, session: &str, ring: &mut Ring, entropy: &mut Entropy) -> Result<Self> {
        let ours: [Zeroizing<[u8; 32]>; 2] = [entropy.bytes().into(), entropy.bytes().into()];
        let (from_previous, from_next) = ring.exchange(steps::SETUP, &ours[0], &ours[1])?;
        let (from_previous, from_next) = (Zeroizing::new(from_previous), Zeroizing::new(from_next));
        // Component j belongs to the pair of parties j and j - 1; party j's contribution goes first.
        let next = PartyId((me.0 + 1) % 3);
        Ok(Self {
            previous: pair_secret(session, me, &ours[0], &from_previous),
            next: pair_secret(session, next, &from_next, &ours[1]),
        })
    }

    /// The keys of correlated randomness.
    pub(crate) fn component_keys(&self) -> Keys {
        Keys::from_seeds(&self.component_seeds())
    }

    /// What the keys of correlated randomness are made from.
    pub(crate) fn component_seeds(&self) -> FactorSeeds {
        [&self.previous, &self.next].map(|secret| derive(secret, "component"))
    }

    /// Keys of one purpose for the pairs with the previous and the next party.
    pub(crate) fn pair_prgs(&self, label: &str) -> [Prg; 2] {
        [&self.previous, &self.next].map(|secret| Prg::new(Block::from_bytes(*derive(secret, label))))
    }
}

fn pair_secret(
    session: &str,
    component: PartyId,
    first: &[u8; 32],
    second: &[u8; 32],
) -> Zeroizing<[u8; 32]> {
    let mut hash = Sha256::new();
    hash.update(b"cenote three: pair secret, version 1");
    hash.update([component.0]);
    hash.update((session.len() as u64).to_le_bytes());
    hash.update(session.as_bytes());
    hash.update(first);
    hash.update(second);
    Zeroizing::new(hash.finalize().into())
}

fn derive(secret: &[u8; 32], label: &str) -> Zeroizing<[u8; 16]> {
    let mut hash = Sha256::new();
    hash.update(b"cenote three: key, version 1");
    hash.update(secret);
    hash.update(label.as_bytes());
    let digest: Zeroizing<[u8; 32]> = Zeroizing::new(hash.finalize().into());
    Zeroizing::new(std::array::from_fn(|i| digest[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of three parties that agreed on them.
    fn three_parties() -> [Keys; 3] {
        let secrets = [1u8, 2, 3].map(|byte| Zeroizing::new([byte; 32]));
        [0, 1, 2].map(|me: usize| {
            let pair = PairSecrets {
                previous: secrets[me].clone(),
                next: secrets[(me + 1) % 3].clone(),
            };
            pair.component_keys()
        })
    }

    #[test]
    fn both_holders_of_a_component_derive_the_same() {
        let keys = three_parties();
        let at = position(Purpose::FactorA, 0, 7, 100);
        let shares = keys.each_ref().map(|keys| {
            let mut share = [[Block512::ZERO; 3], [Block512::ZERO; 3]];
            let [first, second] = &mut share;
            keys.random(at, [first, second]);
            share
        });
        for me in 0..3 {
            assert!(shares[me][1] == shares[(me + 1) % 3][0], "component {}", me + 1);
            assert!(shares[me][0] != shares[me][1]);
            let mut scattered = [[Block512::ZERO; 1], [Block512::ZERO; 1]];
            let [first, second] = &mut scattered;
            keys[me].random_at(&[at.advance(2)], [first, second]);
            assert!(scattered[0][0] == shares[me][0][2] && scattered[1][0] == shares[me][1][2]);
        }
    }

    #[test]
    fn the_summands_of_zero_cancel() {
        let mut sum = [Block512::ZERO; 5];
        for keys in three_parties() {
            let mut summand = [Block512::ZERO; 5];
            keys.zero(position(Purpose::GateZero, 0, 0, 9), &mut summand);
            assert!(summand.iter().all(|block| *block != Block512::ZERO));
            sum.iter_mut()
                .zip(summand)
                .for_each(|(sum, summand)| *sum ^= summand);
        }
        assert!(sum == [Block512::ZERO; 5]);
    }

    #[test]
    fn purposes_workers_and_serials_never_meet() {
        let purposes = [
            Purpose::FactorA,
            Purpose::FactorB,
            Purpose::TripleZero,
            Purpose::GateZero,
            Purpose::Input,
            Purpose::GeneratorCoin,
            Purpose::EvaluatorCoin,
        ];
        let mut streams = std::collections::HashSet::new();
        for purpose in purposes {
            for worker in [0, 1, 255] {
                for serial in [0, 1, u32::MAX] {
                    assert!(streams.insert(position(purpose, worker, serial, 0).stream));
                }
            }
        }
        let factor = |purpose| position(purpose, 255, u32::MAX, 5);
        assert_eq!(factor_b(factor(Purpose::FactorA)), factor(Purpose::FactorB));
        let mut counter = Counter::new(Purpose::Input, 0);
        let (first, second) = (counter.take(3), counter.take(1));
        assert_eq!(first.advance(3), second);
    }
}

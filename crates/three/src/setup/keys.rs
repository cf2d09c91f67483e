//! Correlated randomness without interaction (Araki et al. 2016, Section 3; spec `three-party`, Section 2).
//!
//! Component `j` of every sharing is held by parties `j` and `j - 1`, who share a fresh key for it. Positions in its
//! keystream are named by purpose, worker, serial and index, and made here only, so that none is used twice.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

use cenote_net::PartyId;
use cenote_primitives::{Block, Block512, Entropy, Position, Prg};
use cenote_session::Result;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::eras::{Era, Limits};
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
    Order = 8,
    RowMask = 9,
    RowZero = 10,
    RowWeight = 11,
    ShuffleCoin = 12,
    RowPad = 13,
    SumFactor = 14,
    DigestCoin = 15,
    ProofCoin = 16,
    ProofPad = 17,
    ProofNonce = 18,
    ProofLeftMask = 19,
    ProofRightMask = 20,
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

    /// How many positions were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.0.index
    }

    /// The first of `blocks` fresh positions.
    pub(crate) fn take(&mut self, blocks: usize) -> Position {
        let at = self.0;
        self.0 = at.advance(blocks);
        at
    }
}

/// The generators of the two components that a party holds: of component `i`, shared with the previous party, and of
/// component `i + 1`, shared with the next. They go from era to era by themselves ([`super::eras`]).
pub(crate) struct Keys {
    /// Of the first era.
    components: [Prg; 2],
    seeds: FactorSeeds,
    limits: Limits,
    /// The later eras that were used last.
    later: RefCell<VecDeque<(Era, [Prg; 2])>>,
}

/// What the generators of a party's two components are made from.
pub(crate) type FactorSeeds = [Zeroizing<[u8; 16]>; 2];

/// Later eras whose generators are kept ready.
const READY: usize = 4;

impl Keys {
    /// The generators for a session with batches of `n` triples.
    pub(crate) fn from_seeds(seeds: &FactorSeeds, n: u64) -> Self {
        Self::limited(seeds, Limits::new(n))
    }

    fn limited(seeds: &FactorSeeds, limits: Limits) -> Self {
        Self {
            components: seeds.each_ref().map(|seed| Prg::new(Block::from_bytes(**seed))),
            seeds: seeds.clone(),
            limits,
            later: RefCell::default(),
        }
    }

    /// Writes a random sharing's two components.
    pub(crate) fn random(&self, at: Position, [first, second]: [&mut [Block512]; 2]) {
        self.in_eras(at, first.len(), |prgs, at, range| {
            prgs[0].fill(at, &mut first[range.clone()]);
            prgs[1].fill(at, &mut second[range]);
        });
    }

    /// Writes the random sharings at scattered positions, of factors.
    pub(crate) fn random_at(&self, at: &[Position], [first, second]: [&mut [Block512]; 2]) {
        let mut start = 0;
        if self.limits.all_first(at) {
            self.components[0].gather(at, first);
            self.components[1].gather(at, second);
            start = at.len();
        }
        while start < at.len() {
            let era = self.limits.era(at[start]).0;
            let others = at[start..].iter().position(|at| self.limits.era(*at).0 != era);
            let range = start..others.map_or(at.len(), |others| start + others);
            self.with(era, |prgs| {
                prgs[0].gather(&at[range.clone()], &mut first[range.clone()]);
                prgs[1].gather(&at[range.clone()], &mut second[range.clone()]);
            });
            start = range.end;
        }
    }

    /// Writes this party's summand of a sharing of zero: the three parties' summands XOR to 0.
    pub(crate) fn zero(&self, at: Position, out: &mut [Block512]) {
        self.in_eras(at, out.len(), |prgs, at, range| {
            prgs[0].fill(at, &mut out[range.clone()]);
            prgs[1].xor_into(at, &mut out[range]);
        });
    }

    /// Writes one component of a random sharing.
    pub(crate) fn component(&self, which: usize, at: Position, out: &mut [Block512]) {
        self.in_eras(at, out.len(), |prgs, at, range| {
            prgs[which].fill(at, &mut out[range]);
        });
    }

    /// Calls `with` for each stretch of `blocks` positions from `at` on that is of one era.
    fn in_eras(&self, at: Position, blocks: usize, mut with: impl FnMut(&[Prg; 2], Position, Range<usize>)) {
        let mut start = 0;
        while start < blocks {
            let at = at.advance(start);
            let (era, served) = self.limits.era(at);
            let count = usize::try_from(served.end - at.index).unwrap_or(usize::MAX);
            let range = start..start + count.min(blocks - start);
            start = range.end;
            self.with(era, |prgs| with(prgs, at, range));
        }
    }

    /// Calls `with` with the generators of `era`.
    fn with(&self, era: Era, with: impl FnOnce(&[Prg; 2])) {
        if era.is_first() {
            return with(&self.components);
        }
        let mut later = self.later.borrow_mut();
        let known = later.iter().position(|(known, _)| *known == era);
        let index = known.unwrap_or_else(|| {
            if later.len() == READY {
                later.pop_front();
            }
            later.push_back((era, era.prgs(&self.seeds)));
            later.len() - 1
        });
        with(&later[index].1);
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

    /// The keys of correlated randomness, for batches of `n` triples.
    pub(crate) fn component_keys(&self, n: u64) -> Keys {
        Keys::from_seeds(&self.component_seeds(), n)
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
            pair.component_keys(64)
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
            Purpose::Order,
            Purpose::RowMask,
            Purpose::RowZero,
            Purpose::RowWeight,
            Purpose::ShuffleCoin,
            Purpose::RowPad,
            Purpose::SumFactor,
            Purpose::DigestCoin,
            Purpose::ProofCoin,
            Purpose::ProofPad,
            Purpose::ProofNonce,
            Purpose::ProofLeftMask,
            Purpose::ProofRightMask,
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

    /// The keys of three parties, whose first era is of 10 blocks and later ones of 20, or of as many batches.
    fn short_eras() -> [Keys; 3] {
        three_parties().map(|keys| Keys::limited(&keys.seeds, Limits::with(10, 20, 1)))
    }

    /// Each holder's generators, over `blocks` positions from `at` on.
    fn sharing(parties: &[Keys; 3], at: Position, blocks: usize) -> [[Vec<Block512>; 2]; 3] {
        parties.each_ref().map(|keys| {
            let mut components = [(); 2].map(|()| vec![Block512::ZERO; blocks]);
            let [first, second] = &mut components;
            keys.random(at, [first, second]);
            components
        })
    }

    #[test]
    fn both_holders_go_to_the_next_era_together() {
        let (parties, endless) = (short_eras(), three_parties());
        let mut crossing = Counter::new(Purpose::GateZero, 3);
        for part in [7, 1, 30, 13] {
            let at = crossing.take(part);
            let shares = sharing(&parties, at, part);
            for me in 0..3 {
                let next = (me + 1) % 3;
                assert!(
                    shares[me][1] == shares[next][0],
                    "component {next} from {}",
                    at.index
                );
                let mut one_by_one = vec![Block512::ZERO; part];
                for (index, block) in one_by_one.iter_mut().enumerate() {
                    parties[me].component(0, at.advance(index), std::slice::from_mut(block));
                }
                assert!(shares[me][0] == one_by_one, "however much is asked for at once");
            }
            let mut sum = vec![Block512::ZERO; part];
            for keys in &parties {
                let mut summand = vec![Block512::ZERO; part];
                keys.zero(at, &mut summand);
                sum.iter_mut()
                    .zip(summand)
                    .for_each(|(sum, summand)| *sum ^= summand);
            }
            assert!(sum.iter().all(|block| *block == Block512::ZERO));
            // The first era is as it would be without a limit, all else is different.
            let unlimited = sharing(&endless, at, part);
            for index in 0..part {
                let first_era = at.index + (index as u64) < 10;
                assert_eq!(
                    shares[0][0][index] == unlimited[0][0][index],
                    first_era,
                    "position {}",
                    at.index + index as u64
                );
            }
        }
    }

    #[test]
    fn eras_have_keys_of_their_own() {
        let [keys, ..] = short_eras();
        let mut streams = std::collections::HashSet::new();
        let (seeds, limits) = (&keys.seeds, keys.limits);
        for worker in [0, 1, 255] {
            for purpose in [
                Purpose::FactorA,
                Purpose::GateZero,
                Purpose::Input,
                Purpose::EvaluatorCoin,
            ] {
                for used in [10, 30, 50, 70] {
                    let at = match purpose {
                        Purpose::FactorA => position(purpose, worker, used, 0),
                        _ => position(purpose, worker, 0, used.into()),
                    };
                    let (era, _) = limits.era(at);
                    assert!(!era.is_first());
                    let mut block = [Block512::ZERO];
                    era.prgs(seeds)[0].fill(Position { stream: 0, index: 0 }, &mut block);
                    assert!(streams.insert(block[0].0), "{purpose:?} of {worker} after {used}");
                }
            }
        }
    }

    #[test]
    fn factors_of_old_batches_are_found_again() {
        let parties = short_eras();
        let serials = [0, 9, 10, 200, 29, 30, 0, 31, 10, 50, 70, 90, 110, 9];
        let names = serials.map(|serial| position(Purpose::FactorA, 1, serial, u64::from(serial)));
        for keys in &parties {
            for names in [names, names.map(factor_b)] {
                let mut scattered = [[Block512::ZERO; 14]; 2];
                let [first, second] = &mut scattered;
                keys.random_at(&names, [first, second]);
                for (index, name) in names.into_iter().enumerate() {
                    let mut alone = [[Block512::ZERO]; 2];
                    let [first, second] = &mut alone;
                    keys.random(name, [first, second]);
                    assert!(alone[0][0] == scattered[0][index] && alone[1][0] == scattered[1][index]);
                }
            }
        }
    }

    #[test]
    fn no_key_serves_more_than_2_to_the_40_blocks() {
        const AES_BLOCKS: u64 = 4;
        let ends_in_time = |limits: Limits, at: &dyn Fn(u64) -> Position, unit: u64| {
            // The first key serves 2^9 threads.
            for (begin, most) in [(0, 1 << 31), (1 << 31, 1 << 40)] {
                let [begin, most] = [begin, most].map(|blocks: u64| blocks / AES_BLOCKS / unit);
                let [first, last, next] = [0, most - 1, most].map(|used| limits.era(at(begin + used)).0);
                assert!(first == last && last != next, "{begin} + {most}");
            }
        };
        for n in [1 << 12, 1 << 20] {
            let limits = Limits::new(n);
            ends_in_time(limits, &|index| position(Purpose::Input, 0, 0, index), 1);
            let of_batch = |serial: u64| position(Purpose::TripleZero, 0, serial as u32, 0);
            ends_in_time(limits, &of_batch, 32 * n);
        }
    }
}

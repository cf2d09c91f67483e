//! How much work breaks the primitives of a session: what stands beside the statistical errors, which no work changes.
//!
//! Each [`Primitive`] says in bits (base-2 logarithms of operations) how much work breaks it, with its formula and source, and
//! what chance there is without any work. "Work" counts calls of the primitive itself: AES with its key schedule, hashes, group
//! operations. The primitives are taken for ideal: known attacks on AES-128, BLAKE3 and Curve25519 are no better.

use serde::Serialize;

use crate::LogProb;
use crate::combinatorics::log2_factorial;
use crate::lego::{Account, MAX_SECURITY, Parameters};

/// One primitive as a session uses it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Primitive {
    /// What it protects.
    pub protects: &'static str,
    /// What it is made of.
    pub construction: &'static str,
    /// log2 of the operations that break it.
    pub bits: f64,
    /// The chance without work, if there is one.
    #[serde(rename = "advantage_log2", skip_serializing_if = "Option::is_none")]
    pub advantage: Option<LogProb>,
    /// The formula of `bits`.
    pub formula: &'static str,
    /// Where the bound is proved.
    pub source: &'static str,
}

/// The primitives of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Computational {
    /// One by one.
    pub primitives: Vec<Primitive>,
    /// The weakest of them.
    pub bits: f64,
}

impl From<Vec<Primitive>> for Computational {
    fn from(primitives: Vec<Primitive>) -> Self {
        let bits = primitives.iter().map(|p| p.bits).fold(f64::INFINITY, f64::min);
        Self { primitives, bits }
    }
}

/// Random bits of `Δ`: the last one is 1.
const DELTA_BITS: f64 = 127.0;

/// How likely it may be that more hashes meet in one key than are counted on.
const MEETING: f64 = -80.0;

/// Hashes with the difference added or not under one key: those of the two halves of a gate.
const PER_GATE: u32 = 2;

/// The hash of half gates and authenticators, when all sessions that an attacker works on together hash under `keys` keys, one
/// for each gate and each authenticator.
///
/// In one session no two gates share a key. Of several with random starts, more than `m` gates meet in one of 2^128 keys with
/// probability at most `keys^(m+1) / ((m+1)! 2^(128 m))`; the least `m` for which this is below 2^-80 is counted on. With the
/// two halves of a gate that is `u = 2 m` uses of a key. Each call of AES tests all of them, as input or as output: an
/// advantage of `2 u p / 2^127` for `p` calls, and of `(u-1) q / 2^127` without any, for `q` hashes.
#[must_use]
pub fn garbling_hash(keys: f64) -> Primitive {
    let meet = |m: u32| {
        let next = f64::from(m + 1);
        next * keys.log2() - log2_factorial(u64::from(m + 1)) - 128.0 * f64::from(m)
    };
    let gates = (1..128).find(|&m| meet(m) <= MEETING).unwrap_or(128);
    let uses = f64::from(PER_GATE * gates);
    let hashes = f64::from(PER_GATE) * keys.max(1.0);
    Primitive {
        protects: "gates and authenticators",
        construction: "AES_k(s(x)) ^ s(x), a key for each gate",
        bits: DELTA_BITS - 1.0 - uses.log2(),
        advantage: Some(LogProb::from_log2(
            (uses - 1.0).log2() + hashes.log2() - DELTA_BITS,
        )),
        formula: "127 - log2(2 u), u uses of a key; without work (u-1) hashes / 2^127",
        source: "Guo, Katz, Wang, Weng, Yu, CRYPTO 2020, multi-instance TCCR of MMO",
    }
}

/// AES-128 in counter mode: `keys` streams of at most `blocks` blocks each.
#[must_use]
pub fn streams(protects: &'static str, keys: f64, blocks: f64) -> Primitive {
    Primitive {
        protects,
        construction: "AES-128 in counter mode",
        bits: 128.0 - keys.max(1.0).log2(),
        advantage: Some(LogProb::from_log2(
            keys.max(1.0).log2() + 2.0 * blocks.max(1.0).log2() - 129.0,
        )),
        formula: "128 - log2(keys); without work keys blocks^2 / 2^129",
        source: "one call tests the same counter of all keys; Bellare and Rogaway 2006, switching lemma",
    }
}

/// Base OTs: discrete logarithms in a group of order about 2^252.
#[must_use]
pub fn base_ots() -> Primitive {
    Primitive {
        protects: "base OTs",
        construction: "endemic OT in Ristretto255",
        bits: (std::f64::consts::PI / 4.0).log2() / 2.0 + 126.0,
        advantage: None,
        formula: "log2 sqrt(pi l / 4), group order l = 2^252",
        source: "Masny and Rindal, CCS 2019; Pollard's rho with negation",
    }
}

/// The hash as random oracle: names, transcripts, strings of random OTs.
#[must_use]
pub fn random_oracle() -> Primitive {
    Primitive {
        protects: "names, transcripts and random OTs",
        construction: "BLAKE3, 256 bits",
        bits: 128.0,
        advantage: None,
        formula: "256 / 2, collisions",
        source: "birthday bound",
    }
}

/// Openings proved by a fold whose challenge is a hash, in pieces of at most `blocks` times 128.
#[must_use]
pub fn folded_openings(blocks: f64) -> Primitive {
    Primitive {
        protects: "openings",
        construction: "a fold over GF(2^128), its challenge hashed",
        bits: 128.0 - blocks.max(1.0).log2(),
        advantage: None,
        formula: "128 - log2(blocks of 128 in a piece)",
        source: "Fiat and Shamir 1986; roots of a polynomial of this degree",
    }
}

/// What a session of two parties does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LegoUse {
    /// Garbled gates, of all sessions that an attacker works on together.
    pub gates: f64,
    /// Authenticators of the same.
    pub authenticators: f64,
    /// Commitments of one session.
    pub commitments: f64,
}

impl LegoUse {
    /// A session that makes material once.
    #[must_use]
    pub fn of(parameters: &Parameters) -> Self {
        Self::from(&Account::once(MAX_SECURITY, parameters))
    }
}

impl From<&Account> for LegoUse {
    fn from(account: &Account) -> Self {
        Self {
            gates: account.gates,
            authenticators: account.authenticators,
            commitments: account.commitments,
        }
    }
}

/// Keys of streams in a set-up: two for each of 299 positions of a commitment, two for each of 298 base OTs.
const STREAMS: f64 = 2.0 * (299.0 + 298.0);

/// Most blocks of 128 openings in a piece.
pub const PIECE_BLOCKS: f64 = 64.0;

/// The primitives of a session of two parties.
#[must_use]
pub fn lego(use_: &LegoUse) -> Computational {
    vec![
        garbling_hash(use_.gates + use_.authenticators),
        // A commitment takes a bit of each stream.
        streams("commitments and OTs", STREAMS, use_.commitments / 128.0),
        base_ots(),
        random_oracle(),
        folded_openings(PIECE_BLOCKS),
    ]
    .into()
}

/// What a session of three parties does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ThreeUse {
    /// Workers of each party.
    pub workers: f64,
    /// Blocks of 128 bits of keystream that one component of all sharings takes, at most.
    pub blocks: f64,
    /// Whether views are compared by SHA-256, or by a MAC.
    pub hashed_views: bool,
}

impl ThreeUse {
    /// Most blocks of 128 bits that one key gives.
    pub const BLOCKS_OF_KEY: f64 = (1u64 << 40) as f64;

    /// What a component takes of its first key, at least, before it goes on to others: blocks of 128 bits.
    pub const BLOCKS_OF_FIRST: f64 = (1u64 << 31) as f64;
}

/// Purposes of a component's keystream that have keys of their own, after the first.
const PURPOSES: f64 = 5.0;

/// The keys of a worker's views: each of two threads has one with each peer for opened values, and one for products.
const KEYS_OF_VIEWS: f64 = 2.0 * 2.0;

/// The primitives of a session of three parties, any two of which share keys.
#[must_use]
pub fn three(use_: &ThreeUse) -> Computational {
    let later = if use_.blocks > ThreeUse::BLOCKS_OF_FIRST {
        PURPOSES * use_.workers + (use_.blocks / ThreeUse::BLOCKS_OF_KEY).ceil()
    } else {
        0.0
    };
    let views = if use_.hashed_views {
        0.0
    } else {
        KEYS_OF_VIEWS * use_.workers
    };
    let blocks = use_.blocks.min(ThreeUse::BLOCKS_OF_KEY);
    vec![
        streams("shares, triples and tags", 3.0 * (1.0 + later + views), blocks),
        Primitive {
            protects: "keys, names and hashed views",
            construction: "SHA-256",
            bits: 128.0,
            advantage: None,
            formula: "256 / 2, collisions",
            source: "birthday bound",
        },
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_a_billion_gates_has_more_than_117_bits() {
        let all = lego(&LegoUse {
            gates: 1e9,
            authenticators: 1e9,
            commitments: 4e9,
        });
        assert_eq!(all.primitives.len(), 5);
        assert!(all.primitives.iter().all(|p| p.bits >= all.bits));
        assert!(all.bits > 117.0 && all.bits < 118.0, "{}", all.bits);
        let streams = &all.primitives[1];
        assert!(streams.advantage.unwrap().log2() < -68.0);
    }

    #[test]
    fn the_work_of_three_parties_falls_with_the_number_of_their_keys() {
        let bits = |workers, blocks, hashed_views| {
            three(&ThreeUse {
                workers,
                blocks,
                hashed_views,
            })
            .bits
        };
        assert_eq!(bits(1.0, 1e6, true), 128.0 - 3f64.log2());
        assert_eq!(bits(1.0, 1e6, false), 128.0 - 15f64.log2());
        // Two more keys of each component, and one for each of five purposes.
        let long = 1.5 * ThreeUse::BLOCKS_OF_KEY;
        assert_eq!(bits(1.0, long, true), 128.0 - (3.0 * 8.0f64).log2());
        assert!(bits(64.0, 1e18, false) > 104.0);
    }

    #[test]
    fn hashes_that_meet_cost_a_bit_each_time_they_double() {
        // One session: its keys are all different, and the chance that two of 2^20 of several meet is small.
        let one = garbling_hash(2f64.powi(20));
        assert_eq!((one.bits, one.advantage.unwrap().log2()), (125.0, -106.0));
        // Of 2^50, two meet with probability 2^-29, three with 2^-108.
        assert_eq!(garbling_hash(2f64.powi(50)).bits, 124.0);
        assert!(garbling_hash(2f64.powi(64)).bits > 123.0);
    }
}

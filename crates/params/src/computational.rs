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
    let uses = uses_of_a_key(keys, PER_GATE);
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

/// The hash of half gates over labels of `blocks` blocks, of which 128 bits are unknown and which a random linear map compresses to
/// 128, in `sessions` sessions with `keys` gates in all: [`garbling_hash`] with `2 blocks` hashes in a gate, one for each block of
/// each half, and what the maps cost.
///
/// The difference has `d >= 127` unknown bits. A call of AES on an input tests guesses of its compression C(D), a call of the
/// inverse guesses of s(C(D)) or s(C(D)) + D_b, D_b a block of it. All are linear maps of the unknown bits, random enough that what
/// is not 0 becomes 0 with probability 2^-128: a kernel has `1 + 2^d / 2^128` elements on average, and each makes a guess as much
/// likelier. An attacker knows the maps. It chooses one of two sums of kernels, and the session where it is largest: that is
/// `1 + 2 sessions 2^d / 2^128` at most on average, where an ideal map has 1. For `d = 127` this is `1 + sessions`, and for 128
/// the guess is less likely.
#[must_use]
pub fn wide_garbling_hash(keys: f64, blocks: u32, sessions: f64) -> Primitive {
    let per_gate = PER_GATE * blocks.max(1);
    let uses = uses_of_a_key(keys, per_gate);
    let hashes = f64::from(per_gate) * keys.max(1.0);
    let kernel = (1.0 + sessions.max(1.0)).log2();
    Primitive {
        protects: "gates of wide labels",
        construction: "AES_k(s(x)) ^ s(x), a key for each gate, x a random linear map of the label plus a constant",
        bits: DELTA_BITS - 1.0 - uses.log2() - kernel,
        advantage: Some(LogProb::from_log2(
            (uses - 1.0).log2() + hashes.log2() - DELTA_BITS + kernel,
        )),
        formula: "127 - log2(2 u (1 + sessions)), u uses of a key; without work (u-1) (1 + sessions) hashes / 2^127",
        source: "as the hash of narrow labels; expected kernels of the maps",
    }
}

/// How many hashes with the difference added or not an attacker finds under one key at most, `per_gate` for each of the gates that
/// meet there.
fn uses_of_a_key(keys: f64, per_gate: u32) -> f64 {
    let meet = |m: u32| {
        let next = f64::from(m + 1);
        next * keys.log2() - log2_factorial(u64::from(m + 1)) - 128.0 * f64::from(m)
    };
    let gates = (1..128).find(|&m| meet(m) <= MEETING).unwrap_or(128);
    f64::from(per_gate * gates)
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

/// What the sessions of two parties over a pool of garbled gates do, all together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JimuUse {
    /// Sessions.
    pub sessions: f64,
    /// Garbled gates.
    pub gates: f64,
    /// Blocks of 128 bits in a label.
    pub blocks: u32,
    /// Seeds of labels' symbols in a session, of which the evaluator watches some.
    pub seeds: f64,
    /// Labels of inputs of the evaluator's, in the session that has the most.
    pub transfers: f64,
}

/// Wires of a garbled gate: each has a label, a symbol of each stream.
const WIRES_OF_GATE: f64 = 3.0;

/// Keys of streams for the base OTs of a session over a pool: two for each of 64 of permutation bits and 298 of inputs.
const POOL_STREAMS: f64 = 2.0 * (64.0 + 298.0);

/// Keys of pads for a transferred label: one for each colour. Of different labels they are used for different blocks, so that a call
/// tests those of one label only, however many are transferred.
const PADS: f64 = 2.0;

/// The primitives of all sessions of two parties over a pool of garbled gates. The difference of labels and the hash are the pool's; all
/// other keys are a session's own.
#[must_use]
pub fn jimu(use_: &JimuUse) -> Computational {
    // A block of a stream has a symbol of 16 labels, or bits of 128 OTs.
    let keys = use_.sessions.max(1.0) * (POOL_STREAMS + use_.seeds + PADS);
    let longest = (WIRES_OF_GATE * use_.gates + use_.transfers) / 16.0;
    vec![
        wide_garbling_hash(use_.gates, use_.blocks, 1.0),
        streams("labels and OTs", keys, longest),
        base_ots(),
        random_oracle(),
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
    /// Orders of rows that are drawn: three keys each.
    pub orders: f64,
    /// Whether views are compared by SHA-256, or by a MAC.
    pub hashed_views: bool,
    /// Whether gates are proved, so that there are no views of gates and triples.
    pub proofs: bool,
}

impl ThreeUse {
    /// Most blocks of 128 bits that one key gives.
    pub const BLOCKS_OF_KEY: f64 = (1u64 << 40) as f64;

    /// What a component takes of its first key, at least, before it goes on to others: blocks of 128 bits.
    pub const BLOCKS_OF_FIRST: f64 = (1u64 << 31) as f64;
}

/// Purposes of a component's keystream that have keys of their own, after the first.
const PURPOSES: f64 = 5.0;

/// The same with proofs: summands of gates, inputs, coins, pads, nonces and two masks.
const PURPOSES_OF_PROOFS: f64 = 7.0;

/// The same of moving rows in secret orders, which one worker does.
const PURPOSES_OF_ROWS: f64 = 7.0;

/// The keys of a worker's views: each of two threads has one with each peer for opened values, and one for products.
const KEYS_OF_VIEWS: f64 = 2.0 * 2.0;

/// The primitives of a session of three parties, any two of which share keys.
#[must_use]
pub fn three(use_: &ThreeUse) -> Computational {
    // The keys of their views are as many as of one thread.
    let (purposes_of_rows, views_of_rows) = match use_.orders > 0.0 {
        true => (PURPOSES_OF_ROWS, KEYS_OF_VIEWS / 2.0),
        false => (0.0, 0.0),
    };
    let later = if use_.blocks > ThreeUse::BLOCKS_OF_FIRST {
        let purposes = if use_.proofs { PURPOSES_OF_PROOFS } else { PURPOSES };
        purposes * use_.workers + purposes_of_rows + (use_.blocks / ThreeUse::BLOCKS_OF_KEY).ceil()
    } else {
        0.0
    };
    let views = if use_.hashed_views {
        0.0
    } else if use_.proofs {
        views_of_rows
    } else {
        KEYS_OF_VIEWS * use_.workers + views_of_rows
    };
    let blocks = use_.blocks.min(ThreeUse::BLOCKS_OF_KEY);
    vec![
        streams(
            "shares, triples and tags",
            3.0 * (1.0 + later + views + use_.orders),
            blocks,
        ),
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
    fn a_session_over_a_pool_has_more_than_118_bits() {
        let over = |sessions, gates, transfers| {
            jimu(&JimuUse {
                sessions,
                gates,
                blocks: 3,
                seeds: 103.0,
                transfers,
            })
        };
        let bits = |gates, transfers| over(1.0, gates, transfers);
        let all = bits(1e9, 1e3);
        assert_eq!(all.primitives.len(), 4);
        // 724 keys of base OTs, 103 seeds, and two of the transfer that a call tests.
        assert_eq!(all.bits, 128.0 - 829f64.log2());
        assert!(all.primitives[1].advantage.unwrap().log2() < -60.0);
        assert!(all.primitives[0].bits > 121.0);
        assert_eq!(bits(1e9, 1e9).bits, all.bits);
        assert!(all.bits > 118.0 && bits(1e12, 1e12).bits > 118.0);
        // Each session has as many keys; the pool's difference and hash are one for all.
        let later = over(1024.0, 1e9, 1e3);
        assert_eq!(later.bits, all.bits - 10.0);
        assert_eq!(later.primitives[0], all.primitives[0]);
    }

    #[test]
    fn the_work_of_three_parties_falls_with_the_number_of_their_keys() {
        let bits = |workers, blocks, hashed_views| {
            three(&ThreeUse {
                workers,
                blocks,
                orders: 0.0,
                hashed_views,
                proofs: false,
            })
            .bits
        };
        // Ten orders, and views of rows.
        let orders = three(&ThreeUse {
            workers: 1.0,
            blocks: 1e6,
            orders: 10.0,
            hashed_views: false,
            proofs: false,
        });
        assert_eq!(orders.bits, 128.0 - (15f64 + 6.0 + 30.0).log2());
        // Proofs have no views of their gates.
        let proved = three(&ThreeUse {
            workers: 5.0,
            blocks: 0.0,
            orders: 0.0,
            hashed_views: false,
            proofs: true,
        });
        assert!(proved.bits > bits(5.0, 0.0, false));
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

    #[test]
    fn wide_labels_cost_the_blocks_and_a_bit_for_their_compression() {
        let wide = |keys: f64, blocks, sessions| wide_garbling_hash(keys, blocks, sessions);
        let (keys, one) = (2f64.powi(20), garbling_hash(2f64.powi(20)));
        // Of one block it would be the narrow hash, but for the map.
        assert_eq!(wide(keys, 1, 1.0).bits, one.bits - 1.0);
        assert_eq!(wide(keys, 2, 1.0).bits, one.bits - 2.0);
        assert_eq!(wide(keys, 4, 1.0).bits, one.bits - 3.0);
        assert_eq!(wide(keys, 4, 7.0).bits, one.bits - 5.0);
        let three = wide(keys, 3, 1.0);
        assert_eq!(three.bits, 125.0 - 6f64.log2());
        let meets = 5f64.log2() + 6f64.log2() + 20.0 - 126.0;
        assert!((three.advantage.unwrap().log2() - meets).abs() < 1e-9);
    }

    /// The average over all maps of the kernel of C and of s(C) + D_b, with labels of two elements of GF(2^4) in place of
    /// GF(2^128) and spaces of 3 and of 4 unknown bits.
    #[test]
    fn kernels_of_random_maps_are_as_large_as_counted_on() {
        let times = |a: u32, b: u32| {
            (0..4).rev().fold(0, |product, i| {
                let carry = product >> 3;
                (product << 1 & 15) ^ (carry * 3) ^ ((b >> i & 1) * a)
            })
        };
        // Of the halves (low, high): (high, low + high).
        let sigma = |x: u32| x >> 2 | (x ^ x >> 2) << 2 & 12;
        let sum = |basis: &[u32], u: usize| {
            (0..basis.len())
                .filter(|k| u >> k & 1 == 1)
                .fold(0, |sum, k| sum ^ basis[k])
        };
        for basis in [
            &[0x12, 0x35, 0x81][..],
            &[1, 2, 4],
            &[0x13, 0x26, 0x4c, 0x88],
            &[0x10, 0x20, 0x40, 0x80],
        ] {
            let (mut plain, mut masked, mut larger) = (0, 0, 0);
            for map in 0..256 {
                let compress = |x: u32| times(x & 15, map & 15) ^ times(x >> 4, map >> 4);
                let values = || (0..1 << basis.len()).map(|u| sum(basis, u));
                let kernels = [
                    values().filter(|x| compress(*x) == 0).count(),
                    values().filter(|x| sigma(compress(*x)) == x & 15).count(),
                    values().filter(|x| sigma(compress(*x)) == x >> 4).count(),
                ];
                plain += kernels[0];
                masked += kernels[1] + kernels[2];
                larger += (2 * kernels[0]).max(kernels[1] + kernels[2]);
            }
            let ways = 1 << basis.len();
            // 256 maps: one for 0, and one in 16 for each other value.
            let all = 256 + (ways - 1) * 16;
            assert_eq!((plain, masked), (all, 2 * all), "{basis:?}");
            // As a factor of two kernels of one element each.
            let factor = larger as f64 / 512.0;
            assert!(
                factor > 1.0 && factor <= 1.0 + 2.0 * f64::from(ways as u32) / 16.0,
                "{factor}"
            );
        }
    }
}

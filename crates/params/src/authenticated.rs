//! What lets a cheater through by chance in a session of authenticated garbling, and what its primitives are used for.

use serde::Serialize;

use crate::computational::{Computational, garbling_hash, random_oracle, streams};
use crate::cot::{LOST, UNKNOWN};
use crate::pool::TripleParameters;
use crate::{LogProb, computational};

/// The bounds of a session, for its whole life.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Soundness {
    /// A triple all of whose leaky ANDs leak comes about, against an adversary that replaces those that were drawn.
    #[serde(rename = "triples_log2")]
    pub triples: LogProb,
    /// Δ is guessed: by forging a MAC, or a label.
    #[serde(rename = "differences_log2")]
    pub differences: LogProb,
    /// Columns of the OTs that differ have the same hash.
    #[serde(rename = "columns_log2")]
    pub columns: LogProb,
}

/// What hashes that meet are counted with, in a call of a million rows: there are fewer than `2^23.2` sums of columns of which none but 0 may have
/// the hash 0, each with probability `2^13 / 2^128` (`cenote_ot::mutual`). It is below `2^-91`.
const COLUMNS: f64 = -88.0;

impl Soundness {
    /// The bounds with these parameters, after `calls` extensions of the OTs.
    #[must_use]
    pub fn of(pool: &TripleParameters, calls: f64) -> Self {
        Self {
            triples: pool.adaptive_error.max(pool.error),
            differences: Self::differences(),
            columns: Self::columns(calls),
        }
    }

    /// The highest security that can be asked for with so many extensions: what is not the pool's to decide.
    #[must_use]
    pub fn largest(calls: f64) -> u32 {
        let rest = Self::differences() + Self::columns(calls);
        (-rest.log2()).floor().max(0.0) as u32
    }

    fn differences() -> LogProb {
        LogProb::from_log2(1.0 - f64::from(UNKNOWN))
    }

    fn columns(calls: f64) -> LogProb {
        LogProb::from_log2(COLUMNS + calls.max(1.0).log2())
    }

    /// The sum of all.
    #[must_use]
    pub fn total(&self) -> LogProb {
        [self.triples, self.differences, self.columns].into_iter().sum()
    }
}

/// Extensions of a million authenticated bits for so many leaky ANDs and gates: three bits of each leaky AND, and a mask of each gate.
#[must_use]
pub fn extensions(leaky: f64, gates: f64) -> f64 {
    (3.0 * leaky + gates) / 1e6
}

/// What a session does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Use {
    /// Garbled gates.
    pub gates: f64,
    /// Leaky ANDs.
    pub leaky: f64,
    /// Bits of a symbol of Δ.
    pub symbol: u32,
    /// Authenticated bits of each party.
    pub bits: f64,
}

/// The primitives of a session.
#[must_use]
pub fn primitives(use_: &Use) -> Computational {
    // The halves of a gate meet with probability 2^-127, since what tells them apart is drawn when their labels are fixed: part of the
    // advantage without work. A leaky AND has a key too, under which one pair of hashes is unknown to each party.
    let mut hash = garbling_hash(use_.gates + use_.leaky);
    // Bit 1 of Δ is public besides bit 0, and guesses in the OTs say where to look for the others.
    hash.bits -= 1.0 + LOST;
    hash.formula = "126 - log2(2 u) - log2(127), u uses of a key; without work (u-1) hashes / 2^127";
    let trees = 2.0 * f64::from(128u32.div_ceil(use_.symbol.max(1))) * f64::from(use_.symbol).exp2();
    vec![
        hash,
        streams("authenticated bits", trees, use_.bits / 128.0),
        computational::base_ots(),
        random_oracle(),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::triples;

    #[test]
    fn the_pool_decides_on_the_error_and_streams_on_the_work() {
        let pool = triples(40, 1 << 20).unwrap();
        let soundness = Soundness::of(&pool, 1e6);
        assert!(soundness.total().meets(39), "{soundness:?}");
        assert!(soundness.total() > soundness.triples);
        let of = |symbol| {
            primitives(&Use {
                gates: 1e9,
                leaky: 3e9,
                symbol,
                bits: 1e10,
            })
        };
        // 1024 keys for k = 4, 8192 for k = 8.
        assert_eq!([of(4), of(8)].map(|all| all.primitives[1].bits), [118.0, 115.0]);
        let hash = &of(4).primitives[0];
        assert!(hash.bits >= 116.0 && of(4).bits == hash.bits && of(8).bits == 115.0);
        let meeting = LogProb::from_log2(1e9f64.log2() - 127.0);
        assert!(hash.advantage.unwrap() >= meeting && hash.advantage.unwrap().meets(92));
    }
    #[test]
    fn no_more_can_be_asked_for_than_the_ots_give() {
        assert_eq!([1.0, 1e3, 1e6].map(Soundness::largest), [87, 78, 68]);
        for calls in [1.0, 1e3, 1e6] {
            let mut perfect = Soundness::of(&triples(128, 1 << 20).unwrap(), calls);
            perfect.triples = LogProb::ZERO;
            let largest = Soundness::largest(calls);
            assert!(perfect.total().meets(largest) && !perfect.total().meets(largest + 1));
        }
    }
    /// Pairs of all prefixes above a bit, and of those down to the same bit.
    #[test]
    fn hashes_of_columns_meet_more_rarely_than_is_counted() {
        for symbol in 1..=crate::cot::MAX_SYMBOL {
            let symbols = f64::from(128u32.div_ceil(symbol));
            let pairs = |count: f64| count * (count - 1.0) / 2.0;
            let above = symbols * (f64::from(symbol).exp2() - 1.0);
            let down: f64 = (1..=symbol).map(|level| pairs(f64::from(level).exp2())).sum();
            let sums = pairs(above) + symbols * down;
            assert!(sums.log2() < 23.2, "{symbol}: 2^{}", sums.log2());
            assert!(sums.log2() + (1e6f64 / 128.0).log2() - 128.0 < COLUMNS - 3.0);
        }
    }
}

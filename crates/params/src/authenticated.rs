//! What lets a cheater through by chance in a session of authenticated garbling, and what its primitives are used for.

use serde::Serialize;

use crate::computational::{Computational, Primitive, garbling_hash, random_oracle, streams};
use crate::cot::{LOST, UNKNOWN, seeds};
use crate::lpn::{self, Lpn};
use crate::pool::TripleParameters;
use crate::{LogProb, computational, short};

/// The bounds of a session, for its whole life.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Soundness {
    /// A triple all of whose leaky ANDs leak comes about, against an adversary that replaces those that were drawn.
    #[serde(rename = "triples_log2")]
    pub triples: LogProb,
    /// The lowest bits of a difference are guessed, on which leaky ANDs are compared: once for each difference, however much is made under it
    /// ([`short`]).
    #[serde(rename = "windows_log2")]
    pub windows: LogProb,
    /// Δ is guessed: by forging a MAC, or a label.
    #[serde(rename = "differences_log2")]
    pub differences: LogProb,
    /// Columns of the OTs that differ have the same hash.
    #[serde(rename = "columns_log2")]
    pub columns: LogProb,
    /// Wrong leaves of a generator's trees have the same hash as the right ones.
    #[serde(rename = "points_log2")]
    pub points: LogProb,
}

/// What hashes that meet are counted with, in a call of a million rows: there are fewer than `2^23.2` sums of columns of which none but 0 may have
/// the hash 0, each with probability `2^13 / 2^128` (`cenote_ot::mutual`). It is below `2^-91`.
const COLUMNS: f64 = -88.0;

/// The most bits of leaky ANDs that are asked for.
const MOST_LEAKY_BITS: u32 = 96;

impl Soundness {
    /// The bounds with these parameters and leaky ANDs of so many bits, in a session that has done this.
    #[must_use]
    pub fn of(pool: &TripleParameters, leaky_bits: u32, use_: &Use) -> Self {
        Self {
            triples: pool.adaptive_error.max(pool.error),
            windows: short::windows(leaky_bits),
            differences: Self::differences(),
            columns: Self::columns(use_),
            points: Self::points(use_),
        }
    }

    /// The highest security that can be asked for in a session that does this: what is not for the pool and the bits of leaky ANDs to decide.
    #[must_use]
    pub fn largest(use_: &Use) -> u32 {
        let longest = short::windows(MOST_LEAKY_BITS);
        let rest = longest + Self::differences() + Self::columns(use_) + Self::points(use_);
        (-rest.log2()).floor().max(0.0) as u32
    }

    fn differences() -> LogProb {
        LogProb::from_log2(1.0 - f64::from(UNKNOWN))
    }

    /// In extensions of a million rows.
    fn columns(use_: &Use) -> LogProb {
        LogProb::from_log2(COLUMNS + (use_.rows / 1e6).max(1.0).log2())
    }

    fn points(use_: &Use) -> LogProb {
        use_.generator
            .map_or(LogProb::ZERO, |sizes| sizes.check_error(use_.iterations))
    }

    /// The sum of all.
    #[must_use]
    pub fn total(&self) -> LogProb {
        [
            self.triples,
            self.windows,
            self.differences,
            self.columns,
            self.points,
        ]
        .into_iter()
        .sum()
    }
}

/// What a session does, and those before it over the same pool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Use {
    /// Sessions.
    pub sessions: f64,
    /// Garbled gates.
    pub gates: f64,
    /// Leaky ANDs.
    pub leaky: f64,
    /// Symbols of Δ.
    pub symbols: u32,
    /// Rows of the OTs: the authenticated bits of each party that come from them, and those that blind their checks.
    pub rows: f64,
    /// Iterations of the generator.
    pub iterations: f64,
    /// What makes authenticated bits from others, if they do not all come from the OTs.
    pub generator: Option<Lpn>,
}

impl Use {
    /// A session that garbles so many gates over a pool that so many leaky ANDs are put into: three bits of each of these, and a mask of each gate,
    /// in as few calls as can be.
    #[must_use]
    pub fn of(gates: f64, leaky: f64, symbols: u32, generator: Option<Lpn>) -> Self {
        let bits = 3.0 * leaky + gates;
        Self {
            sessions: 1.0,
            gates,
            leaky,
            symbols,
            rows: generator.map_or(bits, |sizes| sizes.seed() as f64),
            iterations: generator.map_or(0.0, |sizes| sizes.iterations(bits as u64) as f64),
            generator,
        }
    }

    /// The same over a pool for which each party has made `bits` authenticated bits before, in so many `rows`, `iterations` and `sessions`.
    /// These may have been of any of the sets of sizes there are, and are counted as the largest.
    #[must_use]
    pub fn after(self, [bits, rows, iterations]: [f64; 3], sessions: f64, bucket: u32) -> Self {
        let before = (iterations > 0.0).then_some(lpn::LARGE);
        let leaky = bits / 3.0;
        Self {
            sessions: self.sessions + sessions,
            gates: self.gates + leaky / f64::from(bucket),
            leaky: self.leaky + leaky,
            rows: self.rows + rows,
            iterations: self.iterations + iterations,
            generator: before.into_iter().chain(self.generator).max_by_key(Lpn::bits),
            ..self
        }
    }
}

/// The primitives of a session.
#[must_use]
pub fn primitives(use_: &Use) -> Computational {
    // The halves of a gate meet with probability 2^-127, since what tells them apart is drawn when their labels are fixed: part of the
    // advantage without work. A leaky AND has a key too, under which one pair of hashes is unknown to each party.
    // So has a level of a tree.
    let levels = use_
        .generator
        .map_or(0.0, |sizes| f64::from(sizes.blocks * sizes.block));
    let mut hash = garbling_hash(use_.gates + use_.leaky + levels * use_.iterations);
    // Bit 1 of Δ is public besides bit 0, and guesses in the OTs say where to look for the others.
    hash.bits -= 1.0 + LOST;
    hash.formula = "126 - log2(2 u) - log2(127), u uses of a key; without work (u-1) hashes / 2^127";
    // Each session has trees of its own.
    let trees = use_.sessions.max(1.0) * 2.0 * f64::from(seeds(use_.symbols));
    let mut primitives = vec![
        hash,
        streams("authenticated bits", trees, use_.rows / 128.0),
        base_ots_and_tests(),
        random_oracle(),
    ];
    primitives.extend(use_.generator.map(|sizes| sizes.primitive()));
    primitives.into()
}

/// Base OTs, and tests of equality by CPace in the same group. That these take no less is an estimate, for generic groups. With generators of
/// unknown logarithms r_i, and a cheater's share X and values K1, K2 linear in what it has seen, two guesses in one run take `K1 r_i = X z = K2 r_j`
/// with z the honest side's secret: then both r_i and r_j divide X, which is of degree 1, so that X is 0. What is left are chance relations:
/// `O((q + l + N)^2 / 2^252)` for q operations, l hashes to the group and N runs.
fn base_ots_and_tests() -> Primitive {
    Primitive {
        protects: "base OTs and equality tests",
        construction: "endemic OT and CPace in Ristretto255",
        formula: "log2 sqrt(pi l / 4), group order l = 2^252; an estimate for generic groups",
        source: "Masny and Rindal, CCS 2019; Abdalla, Haase and Hesse, ASIACRYPT 2021, Theorem 6.2; Pollard's rho with negation",
        ..computational::base_ots()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cot::{self, SYMBOLS};
    use crate::pool::triples;

    #[test]
    fn the_pool_decides_on_the_error_and_streams_on_the_work() {
        let pool = triples(40, 1 << 20).unwrap();
        let use_ = |symbols, generator| Use::of(1e9, 3e9, symbols, generator);
        for generator in [None, Some(lpn::LARGE)] {
            let soundness = Soundness::of(&pool, short::bits(40), &use_(32, generator));
            assert!(soundness.total().meets(39), "{soundness:?}");
            assert!(soundness.total() > soundness.triples);
            assert!(soundness.points.meets(52), "{soundness:?}");
            assert_eq!(soundness.points == LogProb::ZERO, generator.is_none());
        }
        let of = |symbols| primitives(&use_(symbols, None));
        // 1024, 2048 and 8192 keys.
        assert_eq!(
            [of(32), of(24), of(16)].map(|all| all.primitives[1].bits),
            [118.0, 117.0, 115.0]
        );
        let hash = &of(32).primitives[0];
        assert!(hash.bits >= 116.0 && of(32).bits == hash.bits && of(16).bits == 115.0);
        let meeting = LogProb::from_log2(1e9f64.log2() - 127.0);
        assert!(hash.advantage.unwrap() >= meeting && hash.advantage.unwrap().meets(92));
        // A generator adds an assumption, and keys of its trees to those of the hash.
        let generated = primitives(&use_(32, Some(lpn::LARGE)));
        assert_eq!(generated.bits, generated.primitives[0].bits);
        assert_eq!(generated.primitives.len(), of(32).primitives.len() + 1);
        assert!(generated.primitives[4].bits >= 128.0);
        let advantage = |all: &Computational| all.primitives[0].advantage.unwrap();
        assert!(advantage(&generated) > advantage(&of(32)) && generated.primitives[0].bits >= 116.0);
    }

    #[test]
    fn no_more_can_be_asked_for_than_the_ots_give() {
        let of_bits = |bits: f64, generator| Use::of(bits, 0.0, 32, generator);
        for (generator, largest) in [(None, [87, 78, 68]), (Some(lpn::LARGE), [52; 3])] {
            for (bits, largest) in [1e6, 1e9, 1e12].into_iter().zip(largest) {
                let use_ = of_bits(bits, generator);
                assert_eq!(Soundness::largest(&use_), largest);
                let mut perfect = Soundness::of(&triples(128, 1 << 20).unwrap(), MOST_LEAKY_BITS, &use_);
                perfect.triples = LogProb::ZERO;
                assert!(perfect.total().meets(largest) && !perfect.total().meets(largest + 1));
            }
        }
    }

    /// The same however much is done, and it takes the bound past that of the triples by less than a fortieth of a bit.
    #[test]
    fn windows_are_counted_once_for_each_difference() {
        let pool = triples(40, 1 << 20).unwrap();
        let alone = Use::of(1e6, 3e6, 24, None);
        let later = alone.after([1e7, 1e7, 0.0], 1.0, 3);
        let of = |bits, use_: &Use| Soundness::of(&pool, bits, use_);
        let bits = short::bits(40);
        assert_eq!(of(bits, &alone).windows, of(bits, &later).windows);
        assert_eq!(of(bits, &alone).windows.log2(), -46.0);
        assert!(of(bits, &later).total() > of(96, &later).total());
        for security in 1..=87 {
            let windows = short::windows(short::bits(security));
            let with = windows + LogProb::from_log2(-f64::from(security));
            assert!(windows.meets(security + 6) && with.meets_log2(1.0 / 40.0 - f64::from(security)));
        }
        let longest = Soundness::largest(&Use::of(1.0, 1.0, 32, None));
        assert_eq!(short::bits(longest), MOST_LEAKY_BITS);
    }

    /// What earlier sessions did adds up, whatever made their bits.
    #[test]
    fn sessions_over_a_pool_add_up() {
        let pool = triples(40, 1 << 20).unwrap();
        let alone = Use::of(1e6, 3e6, 24, None);
        assert_eq!(alone.after([0.0; 3], 0.0, 3), alone);
        let twice = alone.after([1e7, 1e7, 0.0], 1.0, 3);
        assert_eq!((twice.rows, twice.generator), (2e7, None));
        assert!(twice.leaky > 2.0 * alone.leaky && twice.gates > 2.0 * alone.gates);
        let of = |use_: Use| Soundness::of(&pool, short::bits(40), &use_);
        let doubled = of(twice).columns.log2() - of(alone).columns.log2();
        assert!((doubled - 1.0).abs() < 1e-9);
        let streams = |use_: &Use| primitives(use_).primitives[1].bits;
        assert_eq!(streams(&twice), streams(&alone) - 1.0);
        let small = Use::of(1e4, 3e4, 24, Some(lpn::SMALL));
        for after in [alone, small].map(|session| session.after([1e6, 1e5, 2.0], 1.0, 3)) {
            assert_eq!(after.generator, Some(lpn::LARGE));
            assert!(of(after).points > of(small).points);
        }
    }

    /// Pairs of all prefixes above a bit, and of those down to the same bit.
    #[test]
    fn hashes_of_columns_meet_more_rarely_than_is_counted() {
        for symbols in SYMBOLS {
            let pairs = |count: f64| count * (count - 1.0) / 2.0;
            let above = f64::from(seeds(symbols) - symbols);
            let levels = cot::bits(symbols).flat_map(|bits| 1..=bits);
            let down: f64 = levels.map(|level| pairs(f64::from(level).exp2())).sum();
            let sums = pairs(above) + down;
            assert!(sums.log2() < 23.2, "{symbols}: 2^{}", sums.log2());
            assert!(sums.log2() + (1e6f64 / 128.0).log2() - 128.0 < COLUMNS - 3.0);
        }
    }
}

//! What lets a cheater through by chance in a session over a pool.

use serde::Serialize;

use super::{Extraction, Parameters};
use crate::LogProb;
use crate::ihash::InteractiveHash;

/// The bounds of a session over a pool of garbled gates, for its whole life.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Soundness {
    /// A bucket of bad gates only comes about.
    #[serde(rename = "buckets_log2")]
    pub buckets: LogProb,
    /// A wire is anchored to bad gates mostly.
    #[serde(rename = "anchors_log2")]
    pub anchors: LogProb,
    /// A wrong label has the i-hash of the right one: the garbler opens one, or a bad gate gives one.
    #[serde(rename = "labels_log2")]
    pub labels: LogProb,
    /// The garbler knows a choice that masks an input of the evaluator.
    #[serde(rename = "choices_log2")]
    pub choices: LogProb,
    /// A permutation bit is opened as the other one.
    #[serde(rename = "bits_log2")]
    pub bits: LogProb,
    /// The difference of labels ends in 0, or has an i-hash that is none.
    #[serde(rename = "difference_log2")]
    pub difference: LogProb,
}

/// Unknown bits of the difference of MACs.
const MAC_BITS: f64 = 63.0;

/// Sums that show the last bit of the difference.
const DIFFERENCE_BITS: f64 = 64.0;

impl Soundness {
    /// The bounds with these parameters, for a statistical security of `security` bits. Wires are anchored to gates of the first pool.
    ///
    /// A wrong label that a gate in the pool gives is compared without a word, so that the garbler may try again: each
    /// gate that gets past the checks is a guess at the watch list, and there are `(1 - d)/d` of them before one is caught, on average,
    /// with `d = r_c r_d`. With what it may open, which ends the session if it is wrong, that is `1/d` guesses.
    #[must_use]
    pub fn of(pools: &[&Parameters], anchors: &Extraction, labels: &InteractiveHash, security: u32) -> Self {
        let caught = |pool: &&Parameters| pool.check_rate() * pool.detection();
        let caught = pools.iter().map(caught).fold(1.0, f64::min);
        let guesses = LogProb::from_log2(-caught.log2());
        Self {
            buckets: pools.iter().map(|pool| pool.adaptive_error()).sum(),
            anchors: anchors.error,
            labels: labels.error() * guesses,
            choices: LogProb::from_log2(-f64::from(security)),
            bits: LogProb::from_log2(-MAC_BITS),
            difference: LogProb::from_log2(-DIFFERENCE_BITS),
        }
    }

    /// The sum of all.
    #[must_use]
    pub fn total(&self) -> LogProb {
        let all = [
            self.buckets,
            self.anchors,
            self.labels,
            self.choices,
            self.bits,
            self.difference,
        ];
        all.into_iter().sum()
    }
}

/// The bits by which the i-hash of labels must be stronger than what is asked for: the logarithm of the guesses that bad gates are
/// ([`Soundness::of`]).
#[must_use]
pub fn guesses_log2(pool: &Parameters) -> u32 {
    (-(pool.check_rate() * pool.detection()).log2()).ceil() as u32
}

/// Labels that are transferred by OT beyond those that become the evaluator's inputs, in lot number `lot` (from 0) of a session with
/// `security` bits.
///
/// Of `m + t` labels `m` random sums are used; the garbler learns something of what masks them with probability `2^-t` at most. There are
/// as many lots as the service lives for, so lot `k` has the `1/((k+1)(k+2))`th part of `2^-security`: all of them together have no
/// more than the whole.
#[must_use]
pub fn spare_transfers(security: u32, lot: u64) -> u32 {
    let lot = lot as f64;
    security + ((lot + 1.0).log2() + (lot + 2.0).log2()).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ihash;
    use crate::pool::{Guard, Request, extraction, search};

    #[test]
    fn a_service_of_40_bits_has_38() {
        for size in [10_000, 1 << 20, 1 << 23] {
            let pool = search(&Request {
                security_bits: 41.0,
                guard: Guard::Adaptive,
                ..Request::new(40, size)
            })
            .unwrap();
            let anchors = extraction(&pool, 41.0).unwrap();
            let labels = ihash::for_labels(40 + guesses_log2(&pool)).unwrap();
            let soundness = Soundness::of(&[&pool], &anchors, &labels, 40);
            assert!(soundness.labels.meets(40) && soundness.buckets.meets(41) && soundness.anchors.meets(41));
            assert!(soundness.total().meets(38), "{soundness:?}");
            assert!(soundness.total().log2() > -41.0);
        }
    }

    #[test]
    fn lots_of_transfers_share_the_error_however_many_there_are() {
        let all: f64 = (0..100_000)
            .map(|lot| (-f64::from(spare_transfers(40, lot))).exp2())
            .sum();
        assert!(all <= (-40f64).exp2());
        assert_eq!([0, 1, 1000].map(|lot| spare_transfers(40, lot)), [41, 43, 60]);
    }
}

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
    /// Each pool comes with the gates of a gadget. A wrong label that a gate in the pool gives is compared without a word, so that the
    /// garbler may try again: see [`guesses`].
    #[must_use]
    pub fn of(
        pools: &[(&Parameters, u32)],
        anchors: &Extraction,
        labels: &InteractiveHash,
        security: u32,
    ) -> Self {
        let guesses = pools.iter().map(|&(pool, width)| guesses(pool, width));
        let guesses = LogProb::from_log2(guesses.fold(1.0, f64::max).log2());
        Self {
            buckets: pools.iter().map(|(pool, _)| pool.adaptive_error()).sum(),
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

/// How often the garbler may guess at the watch list, on average: with gadgets of `width` gates of this pool, and once with what it opens,
/// which ends the session if it is wrong.
///
/// A bad gadget that gets past the checks costs nothing if it is in vain. With `d = r_c r_d` there are `(1 - d)/d` before one is
/// caught, on average. Each of its gates is evaluated once, and its output is compared with both labels of the wire, `L` and `L + D`:
/// two guesses. So is a label that is opened.
#[must_use]
pub fn guesses(pool: &Parameters, width: u32) -> f64 {
    let caught = pool.check_rate() * pool.detection();
    2.0 * (f64::from(width.max(1)) * (1.0 - caught) / caught + 1.0)
}

/// The bits by which the i-hash of labels must be stronger than what is asked for: the logarithm of [`guesses`].
#[must_use]
pub fn guesses_log2(pool: &Parameters, width: u32) -> u32 {
    guesses(pool, width).log2().ceil() as u32
}

/// Labels that are transferred by OT beyond those that become the evaluator's inputs, in lot number `lot` (from 0) of session number `session`
/// (from 0) over a pool with `security` bits.
///
/// Of `m + t` labels `m` random sums are used; the garbler learns something of what masks them with probability `2^-t` at most. There are
/// as many sessions and lots as the pool lives for, so session `j` has the `1/((j+1)(j+2))`th part of `2^-security`, and lot `k` of it the
/// `1/((k+1)(k+2))`th part of that: all of them together have no more than the whole.
#[must_use]
pub fn spare_transfers(security: u32, session: u64, lot: u64) -> u32 {
    let part = |number: u64| (number as f64 + 1.0).log2() + (number as f64 + 2.0).log2();
    security + (part(session) + part(lot)).ceil() as u32
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
            let labels = ihash::for_labels(40 + guesses_log2(&pool, 1)).unwrap();
            let soundness = Soundness::of(&[(&pool, 1)], &anchors, &labels, 40);
            assert!(soundness.labels.meets(40) && soundness.buckets.meets(41) && soundness.anchors.meets(41));
            assert!(soundness.total().meets(38), "{soundness:?}");
            assert!(soundness.total().log2() > -41.0);
        }
    }

    /// Every bad gadget is a guess for each of its gates and for each of the two labels of a wire, and a label that is opened is two.
    #[test]
    fn codes_are_for_all_guesses_at_the_watch_list() {
        let pool = search(&Request::new(40, 1 << 20)).unwrap();
        let caught = pool.check_rate() * pool.detection();
        for width in [1, 8] {
            let until_caught = f64::from(width) * (1.0 / caught - 1.0);
            let counted = 2.0 * until_caught + 2.0;
            assert!((guesses(&pool, width) - counted).abs() < 1e-9);
            let bits = guesses_log2(&pool, width);
            let anchors = extraction(&pool, 40.0).unwrap();
            let code = |bits| ihash::for_labels(40 + bits).unwrap();
            let error = |bits| Soundness::of(&[(&pool, width)], &anchors, &code(bits), 40).labels;
            assert!(
                error(bits).meets(40) && error(bits).log2() < code(bits).error().log2() + f64::from(bits)
            );
            assert!(code(bits).error().log2() + counted.log2() <= -40.0);
            // With a guess for each bad gadget only, the code would be too short.
            assert!(!(code(bits - 2).error() * LogProb::from_log2(counted.log2())).meets(40));
        }
        // The larger of several pools' numbers counts: each gadget that is caught ends the session.
        let other = search(&Request::new(40, 2000)).unwrap();
        let anchors = extraction(&pool, 40.0).unwrap();
        let code = ihash::for_labels(50).unwrap();
        let both = Soundness::of(&[(&other, 8), (&pool, 1)], &anchors, &code, 40);
        let most = guesses(&other, 8).max(guesses(&pool, 1));
        assert!((both.labels.log2() - code.error().log2() - most.log2()).abs() < 1e-9);
    }

    /// However many lots a session has, and however many sessions there are.
    #[test]
    fn lots_of_transfers_share_the_error_however_many_there_are() {
        let error = |session, lot| (-f64::from(spare_transfers(40, session, lot))).exp2();
        let all: f64 = (0..100)
            .map(|session| (0..5000).map(|lot| error(session, lot)).sum::<f64>())
            .sum();
        assert!(all <= (-40f64).exp2());
        let of_one: f64 = (0..100_000).map(|lot| error(0, lot)).sum();
        assert!(of_one <= (-41f64).exp2());
        assert_eq!([0, 1, 1000].map(|lot| spare_transfers(40, 0, lot)), [42, 44, 61]);
        assert_eq!([1, 1000].map(|session| spare_transfers(40, session, 0)), [44, 61]);
    }
}

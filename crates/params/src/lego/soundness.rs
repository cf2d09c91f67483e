//! Everything that lets a cheater through by chance, and the sum.

use serde::Serialize;

use super::account::{Account, OT_COLUMNS};
use super::bounds::Errors;
use super::search::Parameters;
use crate::LogProb;

/// The least distance of the codes of commitments and of the extraction of `Δ` from the OTs: who opens a commitment to
/// something else, or learns a bit of `Δ`, must guess this many secret bits, and a wrong guess ends the session.
pub const CODE_DISTANCE: u32 = 41;

/// The most bits of statistical security: guessing through a code is the likelier way beyond it, whatever the buckets.
pub const MAX_SECURITY: u32 = CODE_DISTANCE - 1;

/// Who gains by an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cheater {
    /// The party that garbles.
    Garbler,
    /// The party that evaluates.
    Evaluator,
}

/// An event that no check notices, and a bound on its probability.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Term {
    /// What happens.
    pub event: &'static str,
    /// To whose advantage.
    pub cheater: Cheater,
    /// At most this likely.
    #[serde(rename = "error_log2")]
    pub error: LogProb,
    /// Why.
    pub source: &'static str,
}

/// The events of a session, each bounded by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Soundness {
    /// The events.
    pub terms: Vec<Term>,
    /// The sum over what a garbler can try.
    #[serde(rename = "garbler_log2")]
    pub garbler: LogProb,
    /// The sum over what an evaluator can try.
    #[serde(rename = "evaluator_log2")]
    pub evaluator: LogProb,
}

impl Errors {
    /// What parameters found for `security` keep to at the least.
    #[must_use]
    pub fn promised(security: u32) -> Self {
        let bound = LogProb::from_log2(-f64::from(security));
        Self {
            and_bucket: bound,
            input_authenticator: bound,
            input_bucket: bound,
        }
    }
}

impl Soundness {
    /// The likelier of the two sums: only one of the parties is corrupt.
    #[must_use]
    pub fn largest(&self) -> LogProb {
        self.garbler.max(self.evaluator)
    }

    /// What may go wrong in a session that has done what `account` says.
    #[must_use]
    pub fn of(account: &Account) -> Self {
        let errors = account.errors;
        let level = LogProb::from_log2(-f64::from(account.security));
        let distance = LogProb::from_log2(-f64::from(CODE_DISTANCE));
        let field = |roots: f64| LogProb::from_log2(roots.log2() - 128.0);
        let terms = [
            (
                "any bad AND bucket",
                Cheater::Garbler,
                errors.and_bucket,
                "Theorem 2, with 1/2 for half gates",
            ),
            (
                "any bad input authenticator",
                Cheater::Garbler,
                errors.input_authenticator,
                "Theorem 2",
            ),
            (
                "any bad input bucket",
                Cheater::Garbler,
                errors.input_bucket,
                "Theorem 2, with 1/2 for half gates",
            ),
            (
                "another difference of labels than the OTs'",
                Cheater::Garbler,
                level,
                "Figure 1, step 10: one spare OT for each bit",
            ),
            (
                "a commitment opened to something else",
                Cheater::Garbler,
                distance,
                "distance 41 of the code, less the bits guessed before",
            ),
            (
                "a commitment to no codeword",
                Cheater::Garbler,
                field(account.commitments / 128.0),
                "a polynomial over GF(2^128) of this degree",
            ),
            (
                "another last bit told than committed to",
                Cheater::Garbler,
                field(account.told / 128.0),
                "a polynomial over GF(2^128) of this degree",
            ),
            (
                "bits of the difference of labels learnt",
                Cheater::Evaluator,
                distance,
                "distance 41 of the extractor's code",
            ),
            (
                "OT columns that collide in the check",
                Cheater::Evaluator,
                field(OT_COLUMNS * (OT_COLUMNS - 1.0) / 2.0 * account.ot_elements),
                "pairs of columns, a polynomial each",
            ),
        ]
        .map(|(event, cheater, error, source)| Term {
            event,
            cheater,
            error,
            source,
        });
        let sum = |cheater| {
            terms
                .iter()
                .filter(|term| term.cheater == cheater)
                .map(|term| term.error)
                .sum()
        };
        Self {
            garbler: sum(Cheater::Garbler),
            evaluator: sum(Cheater::Evaluator),
            terms: terms.to_vec(),
        }
    }
}

/// What may go wrong in a session that makes material once with `parameters`, found for `security` bits. Further material adds
/// Theorem 2's bounds and those of the commitments again: see [`Account`].
#[must_use]
pub fn soundness(security: u32, parameters: &Parameters) -> Soundness {
    Soundness::of(&Account::once(security, parameters))
}

#[cfg(test)]
mod tests {
    use super::super::search::{Request, search};
    use super::*;

    #[test]
    fn the_sum_at_40_bits_is_what_the_documents_say() {
        assert_eq!(MAX_SECURITY, 40);
        let parameters = search(&Request::new(40, 6400, 256)).unwrap();
        let found = soundness(40, &parameters);
        assert_eq!(found.terms.len(), 9);
        // Three bounds and the comparison of Δ at 2^-40 each, one code at 2^-41.
        let most = 4.5f64.log2() - 40.0;
        assert!(found.garbler.log2() <= most && most < -37.8, "{}", found.garbler);
        assert_eq!(found.largest(), found.garbler);
        assert!(
            (found.evaluator.log2() + 41.0).abs() < 1e-9,
            "{}",
            found.evaluator
        );
        assert!(
            Errors::promised(40).sum().log2() >= parameters.errors().sum().log2(),
            "what is found is no worse than what is promised"
        );
        let pair = found.terms.last().unwrap();
        assert!(pair.error.log2() < -107.0, "{}", pair.error);
    }
}

//! How an attacked session must end: what the honest parties meet, and which of them may have an output.

use cenote_net::Step;
use cenote_session::{Check, MESSAGE_FORM};
use cenote_three::{Method, checks, steps};

use super::deviation::{Deviation, Position};

/// How an attacked session must end at the honest parties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// As if nothing had happened.
    Success,
    /// The deadline for the missing message passes: its receiver names the sender and the step, the other party hears.
    Silence,
    /// Both name one of these checks.
    Abort(Vec<Check>),
    /// The other party has all that it needs already; the receiver misses the sender.
    ReceiverLoses,
    /// The receiver names one of these checks; the other party has all that it needs already, or hears of it.
    ReceiverAborts(Vec<Check>),
    /// One of the last two: the protocol waits for the message, or goes on to another that does not fit.
    SilenceOrAbort(Vec<Check>),
}

/// How a session checks its products: its row of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Triples,
    Proofs,
}

impl From<&Method> for Kind {
    fn from(method: &Method) -> Self {
        match method {
            Method::Triples(_) => Self::Triples,
            Method::Proofs(_) => Self::Proofs,
        }
    }
}

impl Kind {
    /// Every step of such a session.
    pub(super) fn steps(self) -> Vec<Step> {
        let of_triples = [
            steps::MULTIPLY_TRIPLE,
            steps::OPEN_TRIPLE,
            steps::CHECK_TRIPLE,
            steps::TRIPLE_VIEW,
            steps::TRIPLE_PRODUCTS,
            steps::CHECK_GATE,
            steps::GATE_VIEW,
            steps::GATE_PRODUCTS,
        ];
        let all = steps::ALL.iter().copied();
        match self {
            Self::Triples => all.collect(),
            Self::Proofs => all
                .filter(|step| !of_triples.contains(step))
                .chain(steps::PROVED.iter().copied())
                .collect(),
        }
    }

    /// The checks that a message with wrong contents of the right form must fail.
    fn wrong_contents(self, step: Step, deviation: Deviation) -> Vec<Check> {
        match (self, step) {
            (_, steps::BARRIER | steps::FINISH) => vec![MESSAGE_FORM],
            (_, steps::COIN) => vec![checks::COIN_OPENING],
            (_, steps::OUTPUT | steps::OUTPUT_HASH) => vec![checks::OUTPUT_OPENING],
            (Self::Triples, _) => with_triples(step, deviation),
            (Self::Proofs, _) => with_proofs(step, deviation),
        }
    }

    /// How the session must end after `deviation` at `position`.
    pub(super) fn expected(self, position: &Position, deviation: Deviation) -> Expected {
        let (step, last) = (position.step, position.last);
        let form_or_contents = || {
            let mut checks = self.wrong_contents(step, deviation);
            checks.push(MESSAGE_FORM);
            checks
        };
        match deviation {
            // The input's last bit is padding, which nobody looks at.
            Deviation::FlipLast if step == steps::INPUT => Expected::Success,
            Deviation::Delay => Expected::Success,
            Deviation::Drop | Deviation::Silence if step == steps::FINISH => Expected::ReceiverLoses,
            _ if step == steps::FINISH && deviation != Deviation::Duplicate => {
                Expected::ReceiverAborts(vec![MESSAGE_FORM])
            }
            Deviation::Duplicate if matches!(step, steps::OUTPUT | steps::OUTPUT_HASH) => {
                Expected::ReceiverAborts(vec![MESSAGE_FORM])
            }
            Deviation::FlipFirst | Deviation::FlipMiddle | Deviation::FlipLast | Deviation::Random => {
                Expected::Abort(self.wrong_contents(step, deviation))
            }
            Deviation::Truncate | Deviation::Extend | Deviation::Empty | Deviation::OtherStep => {
                Expected::Abort(vec![MESSAGE_FORM])
            }
            // A word after the last one reaches nobody.
            Deviation::Duplicate if last => Expected::Success,
            // The copy is taken for the next layer's message, which is proved before the one that is left over is met.
            Deviation::Duplicate if (self, step) == (Self::Proofs, steps::MULTIPLY_GATE) => {
                Expected::Abort(vec![checks::PROOF, MESSAGE_FORM])
            }
            // Even where the next message has the same form, one is left over in the end.
            Deviation::Duplicate => Expected::Abort(vec![MESSAGE_FORM]),
            Deviation::Drop if last => Expected::Silence,
            Deviation::Drop | Deviation::Swap => Expected::SilenceOrAbort(form_or_contents()),
            Deviation::Silence => Expected::Silence,
        }
    }

    /// Whether the message's receiver may already hold the output when the deviation shows. The receiver of a wrong share
    /// of an output may not; the other honest party may, and it is the right one.
    pub(super) fn may_have_output(self, step: Step, deviation: Deviation, is_receiver: bool) -> bool {
        let doubled = deviation == Deviation::Duplicate;
        match (self, step) {
            (_, steps::FINISH) => true,
            (_, steps::OUTPUT | steps::OUTPUT_HASH) => !is_receiver || doubled,
            // The second copy arrives where an output's share is expected: no proof is on an evaluator's channels.
            (Self::Triples, steps::GATE_PRODUCTS) | (Self::Proofs, steps::INPUT | steps::MULTIPLY_GATE) => {
                !is_receiver && doubled
            }
            _ => false,
        }
    }

    /// The message whose last bit, flipped, fails the check; none if only other sessions have it: `kept` and `shuffle` have the tests of that.
    pub(super) fn trips(self, check: Check) -> Option<Step> {
        match (self, check) {
            (_, MESSAGE_FORM) => Some(steps::BARRIER),
            (_, checks::COIN_OPENING) => Some(steps::COIN),
            (_, checks::OUTPUT_OPENING) => Some(steps::OUTPUT),
            (_, checks::KEPT_SHARE | checks::SHUFFLE) => None,
            (Self::Triples, checks::VIEW_COMPARISON) => Some(steps::CHECK_GATE),
            (Self::Triples, checks::PRODUCT_COMPARISON) => Some(steps::GATE_PRODUCTS),
            (Self::Triples, checks::TRIPLE_OPENING) => Some(steps::OPEN_TRIPLE),
            (Self::Proofs, checks::PROOF) => Some(steps::MULTIPLY_GATE),
            (Self::Proofs, checks::PROOF_TRANSCRIPT) => Some(steps::PROOF_GRID),
            (Self::Proofs, checks::PROOF_OPERANDS) => Some(steps::PROOF_TAIL),
            (Self::Triples, checks::PROOF | checks::PROOF_TRANSCRIPT | checks::PROOF_OPERANDS) => None,
            (Self::Proofs, checks::VIEW_COMPARISON | checks::PRODUCT_COMPARISON | checks::TRIPLE_OPENING) => {
                None
            }
            _ => panic!("no row for {check}: what trips it?"),
        }
    }
}

fn with_triples(step: Step, deviation: Deviation) -> Vec<Check> {
    use checks::*;
    match step {
        // The pair's keys differ: the third party hears two versions of the first coin, or the receiver, with a third
        // version of it, opens other triples than its peers.
        steps::SETUP => vec![COIN_OPENING, TRIPLE_OPENING],
        // The owner computes with another share than the one it sent: see `inputs.rs` for one that does not.
        steps::INPUT => vec![VIEW_COMPARISON],
        // The coin decides whether a bad triple is opened or checked with another.
        steps::MULTIPLY_TRIPLE => vec![TRIPLE_OPENING, PRODUCT_COMPARISON],
        // The product is the last of the three values. A bit of a factor matters to the product only if the other
        // factor's is 1, but to the view in any case.
        steps::OPEN_TRIPLE => match deviation {
            Deviation::FlipLast | Deviation::Random => vec![TRIPLE_OPENING],
            _ => vec![TRIPLE_OPENING, VIEW_COMPARISON],
        },
        steps::CHECK_TRIPLE | steps::TRIPLE_VIEW | steps::CHECK_GATE | steps::GATE_VIEW => {
            vec![VIEW_COMPARISON]
        }
        // The sender goes on with the right product, so a gate that uses it shows two versions of a factor first.
        steps::MULTIPLY_GATE => vec![PRODUCT_COMPARISON, VIEW_COMPARISON],
        steps::TRIPLE_PRODUCTS | steps::GATE_PRODUCTS => vec![PRODUCT_COMPARISON],
        _ => panic!("no row for {step}: what must its wrong contents lead to?"),
    }
}

fn with_proofs(step: Step, deviation: Deviation) -> Vec<Check> {
    use checks::*;
    match step {
        // The pair's keys differ, and the third party hears two versions of the first coin.
        steps::SETUP => vec![COIN_OPENING],
        // The owner has other operands than its right verifier.
        steps::INPUT => vec![PROOF_OPERANDS],
        // The sender goes on with the right product: a gate of the same batch that uses it has two versions of an operand.
        steps::MULTIPLY_GATE => vec![PROOF, PROOF_OPERANDS],
        // The left verifier makes another digest than the right one heard, or the other way round, and the words on the challenge differ.
        steps::PROOF_GRID | steps::PROOF_DIGEST | steps::PROOF_CHALLENGE => vec![PROOF_TRANSCRIPT],
        // The last challenge is another at the receiver than at the prover, who told the value of a half, or that value is another.
        steps::PROOF_TAIL | steps::PROOF_DIGESTS => vec![PROOF_OPERANDS],
        // Of a proof that both have: what they found, and then the digest of what they heard, which is compared first. No output can be opened to
        // the prover without the verifier that stops.
        steps::PROOF_OPENING => match deviation {
            Deviation::FlipFirst => vec![PROOF],
            Deviation::FlipMiddle | Deviation::FlipLast | Deviation::Random => vec![PROOF_TRANSCRIPT],
            _ => vec![PROOF, PROOF_TRANSCRIPT],
        },
        _ => panic!("no row for {step}: what must its wrong contents lead to?"),
    }
}

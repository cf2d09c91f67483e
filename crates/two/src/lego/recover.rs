//! What the evaluator does when the garbler cheated past cut-and-choose (Section IV-A): it still gets the right output, and
//! sends what it would have sent.
//!
//! Where the gates of a bucket disagree, the label that most gates gave and authenticators accept is taken. If two labels
//! differ by something that turns an input's label into another that the input's authenticators accept, this is `Δ`: then
//! the evaluator reads the garbler's inputs off their labels by the anchors, computes in the clear
//! ([`replay`](super::provenance::replay)), and goes on as if nothing had happened. Whether gates disagree may depend on the
//! inputs, so nothing that the garbler sees may: no abort, no other message. (It does take longer, as a clock may show.)

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_primitives::Block;
use zeroize::{Zeroize, Zeroizing};

use super::material::{AndBuckets, Authenticators};

/// What the evaluator has found out about the garbler.
#[derive(Default)]
pub(crate) struct Suspicion {
    cheated: AtomicBool,
    delta: Mutex<Option<Zeroizing<Block>>>,
    witness: Option<Witness>,
}

/// A label and authenticators, most of them honest, that accept it: they tell whether a difference is `Δ`.
struct Witness {
    label: Zeroizing<Block>,
    authenticators: Authenticators,
}

impl Suspicion {
    /// Whether gates of a bucket have disagreed, which those of an honest garbler never do.
    pub(crate) fn cheated(&self) -> bool {
        self.cheated.load(Ordering::Relaxed)
    }

    /// `Δ`, if it is known. If nobody has given any input, the bits of all wires are known without it, and it is as good as
    /// known.
    pub(crate) fn delta(&self) -> Option<Block> {
        let delta = self.delta.lock().unwrap_or_else(PoisonError::into_inner);
        let without_inputs = (self.cheated() && self.witness.is_none()).then_some(Block::ZERO);
        delta.as_ref().map(|delta| **delta).or(without_inputs)
    }

    /// Notes an input's label that gadget `gadget` of `authenticators` has accepted. One such is enough, and the first is
    /// kept.
    pub(crate) fn witness(&mut self, authenticators: &Authenticators, gadget: usize, label: Block) {
        if self.witness.is_none() {
            let all = gadget * authenticators.size..(gadget + 1) * authenticators.size;
            self.witness = Some(Witness {
                label: Zeroizing::new(label),
                authenticators: Authenticators {
                    size: authenticators.size,
                    base: authenticators.base,
                    numbers: authenticators.numbers[all.clone()].to_vec(),
                    authenticators: authenticators.authenticators[all.clone()].to_vec(),
                    solderings: authenticators.solderings[all].to_vec(),
                },
            });
        }
    }

    /// Chooses the outputs of buckets `first..` of which some have gates that disagree.
    #[cold]
    pub(crate) fn choose(
        &self,
        buckets: &AndBuckets,
        first: usize,
        left: &[Block],
        right: &[Block],
        outputs: &mut [Block],
    ) {
        self.cheated.store(true, Ordering::Relaxed);
        for (at, ((&left, &right), output)) in left.iter().zip(right).zip(outputs).enumerate() {
            let mut given = buckets.gates.candidates(first + at, left, right);
            if given.iter().any(|label| *label != given[0]) {
                *output = vote(&given, |label| {
                    buckets.authenticators.accepting(first + at, label)
                });
                self.look_for_delta(&given);
            }
            given.zeroize();
        }
    }

    /// Whether two of `labels` differ by `Δ`.
    fn look_for_delta(&self, labels: &[Block]) {
        let Some(witness) = &self.witness else { return };
        for (at, &one) in labels.iter().enumerate() {
            for &other in &labels[at + 1..] {
                let difference = one ^ other;
                // The last bit of `Δ` is 1.
                if difference.0[0] & 1 == 1 && witness.authenticators.accept(0, *witness.label ^ difference) {
                    let mut delta = self.delta.lock().unwrap_or_else(PoisonError::into_inner);
                    delta.get_or_insert(Zeroizing::new(difference));
                    return;
                }
            }
        }
    }
}

/// The label with the most gates that gave it and authenticators that accept it; the first of several.
fn vote(given: &[Block], accepting: impl Fn(Block) -> usize) -> Block {
    let mut best = (0, given[0]);
    for (at, &label) in given.iter().enumerate() {
        if given[..at].contains(&label) {
            continue;
        }
        let gates = given[at..].iter().filter(|other| **other == label).count();
        let votes = gates + accepting(label);
        if votes > best.0 {
            best = (votes, label);
        }
    }
    best.1
}

/// Replaces those of `keys` that carry another bit than their wire has in an honest run. `carried` tells what bit a label
/// carries, `right` that of the wire.
pub(crate) fn right_labels(
    keys: &mut [Block],
    delta: Block,
    carried: impl Fn(usize, Block) -> bool,
    right: impl Fn(usize) -> bool,
) {
    for (at, key) in keys.iter_mut().enumerate() {
        if carried(at, *key) != right(at) {
            *key ^= delta;
        }
    }
}

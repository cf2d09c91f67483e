//! What the evaluator does when the garbler cheated past cut-and-choose (Section IV-A): it still gets the right output, and
//! sends what it would have sent.
//!
//! Where the gates of a bucket disagree, the label that most gates gave and authenticators accept is taken. If two labels
//! differ by something that turns an input's label into another that the input's authenticators accept, this is `Δ`: then
//! the evaluator reads the garbler's inputs off their labels by the anchors, computes in the clear
//! ([`replay`](crate::online::provenance::replay)), and goes on as if nothing had happened. Whether gates disagree may depend on the
//! inputs, so nothing that the garbler sees may: no abort, no other message.
//!
//! Differences seen before anybody has given an input are kept until there is one that tells which is `Δ`. Until then all
//! wires come from constants, and their bits are known without it.
//!
//! What remains is time. To find the buckets that disagree, their neighbours are evaluated a second time; `Δ` once found, the
//! computation so far is replayed before output labels leave, and with these an anchor is asked for every bit. The garbler sees
//! this as a delay, if it gets output labels after the evaluation at all.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_primitives::Block;
use zeroize::Zeroizing;

use crate::material::{AndBuckets, Authenticators};

/// Buckets that are evaluated again at once to find those that disagree: first many, then of these few.
const MANY: usize = 64;
const FEW: usize = 4;

/// Most differences kept, of each kind, while there is no input's label to try them on.
const KEPT: usize = 4096;

/// What the evaluator has found out about the garbler.
#[derive(Default)]
pub(crate) struct Suspicion {
    cheated: AtomicBool,
    found: Mutex<Found>,
    witness: Option<Witness>,
}

/// What is known of `Δ`.
#[derive(Default)]
struct Found {
    delta: Option<Zeroizing<Block>>,
    /// Differences of two labels each of which has most of its bucket's votes. Unless more than half of a bucket is bad, which
    /// Theorem 2 excludes, these are `Δ`, so there is one; and where a wrong label wins, there is such a pair.
    likely: Zeroizing<Vec<Block>>,
    /// Other differences: more than is needed, so the first ones will do.
    others: Zeroizing<Vec<Block>>,
}

/// A label and authenticators, most of them honest, that accept it: they tell whether a difference is `Δ`.
struct Witness {
    label: Zeroizing<Block>,
    authenticators: Authenticators,
}

impl Witness {
    fn accepts(&self, difference: Block) -> bool {
        self.authenticators.accept(0, *self.label ^ difference)
    }
}

impl Suspicion {
    /// Whether gates of a bucket have disagreed, which those of an honest garbler never do.
    pub(crate) fn cheated(&self) -> bool {
        self.cheated.load(Ordering::Relaxed)
    }

    /// `Δ`, if it is known. If nobody has given any input, the bits of all wires are known without it, and it is as good as
    /// known.
    pub(crate) fn delta(&self) -> Option<Block> {
        let without_inputs = (self.cheated() && self.witness.is_none()).then_some(Block::ZERO);
        self.found()
            .delta
            .as_ref()
            .map(|delta| **delta)
            .or(without_inputs)
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an input's label that gadget `gadget` of `authenticators` has accepted. One such is enough: the first is kept,
    /// and what waited for it is tried.
    pub(crate) fn witness(&mut self, authenticators: &Authenticators, gadget: usize, label: Block) {
        if self.witness.is_some() {
            return;
        }
        let all = gadget * authenticators.size..(gadget + 1) * authenticators.size;
        let witness = Witness {
            label: Zeroizing::new(label),
            authenticators: Authenticators {
                size: authenticators.size,
                base: authenticators.base,
                numbers: authenticators.numbers[all.clone()].to_vec(),
                parts: authenticators.parts[all.clone()].to_vec(),
                solderings: authenticators.solderings[all].to_vec(),
            },
        };
        let found = self.found.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (likely, others) = (
            std::mem::take(&mut found.likely),
            std::mem::take(&mut found.others),
        );
        let mut waiting = likely.iter().chain(others.iter());
        if let Some(&delta) = waiting.find(|difference| witness.accepts(**difference)) {
            found.delta = Some(Zeroizing::new(delta));
        }
        self.witness = Some(witness);
    }

    /// Chooses the outputs of those of the buckets from `first` on whose gates disagree.
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
        let beta = buckets.gates.beta();
        let mut again = Zeroizing::new([Block::ZERO; MANY]);
        let mut given = Zeroizing::new(vec![Block::ZERO; beta]);
        let mut candidates = Zeroizing::new(Vec::with_capacity(beta));
        let mut agree = |some: &Range<usize>| {
            let at = some.start - first..some.end - first;
            let (left, right) = (&left[at.clone()], &right[at]);
            buckets
                .gates
                .evaluate(some.start, left, right, &mut again[..some.len()])
        };
        for many in cut(first..first + left.len(), MANY) {
            if agree(&many) {
                continue;
            }
            for few in cut(many, FEW) {
                if agree(&few) {
                    continue;
                }
                for bucket in few {
                    let at = bucket - first;
                    buckets.gates.candidates(bucket, left[at], right[at], &mut given);
                    vote(&given, &mut candidates, |label| {
                        buckets.authenticators.accepting(bucket, label)
                    });
                    if candidates.len() > 1 {
                        outputs[at] = best(&candidates);
                        self.look_for_delta(&candidates, beta + buckets.authenticators.size);
                    }
                }
            }
        }
    }

    /// Tries whether two of `labels` differ by `Δ`, or keeps their differences. Each label has its votes, of `all` that there
    /// are.
    fn look_for_delta(&self, labels: &[(Block, usize)], all: usize) {
        let mut found = self.found();
        if found.delta.is_some() {
            return;
        }
        for (at, &(one, votes)) in labels.iter().enumerate() {
            for &(other, others_votes) in &labels[at + 1..] {
                let difference = one ^ other;
                // The last bit of `Δ` is 1.
                if difference.0[0] & 1 == 0 {
                    continue;
                }
                match &self.witness {
                    Some(witness) if witness.accepts(difference) => {
                        found.delta = Some(Zeroizing::new(difference));
                        return;
                    }
                    Some(_) => {}
                    None => found.keep(difference, 2 * votes.min(others_votes) > all),
                }
            }
        }
    }
}

impl Found {
    /// Keeps a difference until there is a witness.
    fn keep(&mut self, difference: Block, likely: bool) {
        let list = if likely {
            &mut self.likely
        } else {
            &mut self.others
        };
        // All at once: growing an array leaves its old copy in memory unwiped.
        let room = KEPT - list.len();
        list.reserve_exact(room);
        if list.len() < KEPT && !list.contains(&difference) {
            list.push(difference);
        }
    }
}

/// Cuts a range where there are multiples of `size`.
fn cut(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let end = (start + 1).next_multiple_of(size).min(range.end);
        (start < end).then(|| std::mem::replace(&mut start, end)..end)
    })
}

/// The different labels of `given`, in order, with the number of gates that gave them and authenticators that accept them.
fn vote(given: &[Block], candidates: &mut Vec<(Block, usize)>, accepting: impl Fn(Block) -> usize) {
    candidates.clear();
    for &label in given {
        match candidates.iter_mut().find(|(other, _)| *other == label) {
            Some((_, votes)) => *votes += 1,
            None => candidates.push((label, 1)),
        }
    }
    if candidates.len() > 1 {
        for (label, votes) in candidates {
            *votes += accepting(*label);
        }
    }
}

/// The label with the most votes; the first of several.
fn best(candidates: &[(Block, usize)]) -> Block {
    let mut best = candidates[0];
    for &candidate in candidates {
        if candidate.1 > best.1 {
            best = candidate;
        }
    }
    best.0
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

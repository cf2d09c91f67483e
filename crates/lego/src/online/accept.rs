//! The authenticators of many input wires at once (Figure 2, Eval, step 4).

use std::ops::Range;

use cenote_primitives::Block;
use zeroize::Zeroizing;

use crate::material::Authenticators;
use crate::online::recover::Suspicion;
use cenote_garble::accepts_each;

/// Gadgets whose authenticators are tried at a time.
const GADGETS: usize = 256;

/// Gadgets for which a further thread is worth starting.
const GADGETS_PER_THREAD: usize = 4096;

/// Whether the authenticators of an input's gadgets accept its labels. The first one is kept as a witness.
pub(super) fn accept<'a>(
    gadgets: impl Iterator<Item = (&'a Authenticators, Range<usize>)>,
    labels: &[Block],
    threads: usize,
    suspicion: &mut Suspicion,
) -> bool {
    let mut labels = labels;
    for (authenticators, gadgets) in gadgets {
        let (of_these, rest) = labels.split_at(gadgets.len());
        labels = rest;
        let first = gadgets.start;
        if !accepted(authenticators, gadgets, of_these, threads) {
            return false;
        }
        suspicion.witness(authenticators, first, of_these[0]);
    }
    true
}

/// Whether of each gadget of `gadgets` more than half of the authenticators accept its label; by up to `threads` threads.
fn accepted(
    authenticators: &Authenticators,
    gadgets: Range<usize>,
    labels: &[Block],
    threads: usize,
) -> bool {
    let threads = threads.min(labels.len() / GADGETS_PER_THREAD).max(1);
    let share = labels.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = labels
            .chunks(share)
            .zip((gadgets.start..).step_by(share))
            .skip(1)
            .map(|(labels, first)| scope.spawn(move || all_accepted(authenticators, first, labels)))
            .collect();
        let own = all_accepted(authenticators, gadgets.start, &labels[..share.min(labels.len())]);
        parts
            .into_iter()
            // A fault of this party's own must not accuse the peer.
            .fold(own, |all, part| {
                all & part
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
    })
}

fn all_accepted(authenticators: &Authenticators, first: usize, labels: &[Block]) -> bool {
    let size = authenticators.size;
    let mut numbers = Vec::with_capacity(GADGETS * size);
    let mut moved = Zeroizing::new(Vec::with_capacity(GADGETS * size));
    let mut accepts = vec![false; GADGETS * size];
    let mut all = true;
    for (chunk, labels) in labels.chunks(GADGETS).enumerate() {
        let first = (first + chunk * GADGETS) * size;
        let entries = first..first + labels.len() * size;
        numbers.clear();
        numbers.extend(
            authenticators.numbers[entries.clone()]
                .iter()
                .map(|&number| authenticators.base.number + u64::from(number)),
        );
        moved.clear();
        let solderings = authenticators.solderings[entries.clone()].chunks_exact(size);
        for (&label, solderings) in labels.iter().zip(solderings) {
            moved.extend(solderings.iter().map(|&soldering| label ^ soldering));
        }
        let accepts = &mut accepts[..moved.len()];
        let start = authenticators.base.start;
        accepts_each(start, &numbers, &authenticators.parts[entries], &moved, accepts);
        let most = |votes: &[bool]| 2 * votes.iter().filter(|vote| **vote).count() > size;
        all &= accepts.chunks_exact(size).all(most);
    }
    all
}

//! Figure 1, Generate: material for later use, knowing nothing of any function.
//!
//! An [`Order`] comes in, and material that has passed every check goes out, epoch by epoch. One epoch is: the OTs; a stream of
//! gates, authenticators, strings, masks and ports with commitments to all of them, checked batch by batch; one seed of the
//! evaluator's, also where there is nothing to cut and choose, since challenges of later proofs are bound to it; openings of
//! what is checked and solderings of the rest, and one proof of all of these. Nothing is kept that is not proved.

pub(crate) mod challenge;
mod estimate;
mod evaluator;
pub(crate) mod garbler;
pub(crate) mod shape;
mod solder;
mod stream;
mod workers;

pub use estimate::{Estimate, estimate};

use cenote_net::PartyId;
use cenote_session::Result;

use crate::order::Order;
use crate::settings::Config;

/// Gates in a batch of the stream. A batch is worked on in the cache of one core.
const GATES_IN_BATCH: usize = 8192;
/// Authenticators, strings, masks or ports in a batch of the stream.
const WIRES_IN_BATCH: usize = 16384;
/// Checked gates or authenticators opened in one message.
const OPENED_AT_ONCE: usize = 2048;

/// What both parties must have in common to generate: compared before anything is sent.
pub(crate) const AGREED: usize = 8 * 8 + 4;

pub(crate) fn agreed(order: &Order, config: &Config, workers: usize) -> [u8; AGREED] {
    let mut all = [0; AGREED];
    let words = order.counts().into_iter().chain([config.epoch, workers as u64]);
    for (bytes, word) in all.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    all[AGREED - 4..].copy_from_slice(&config.security.to_le_bytes());
    all
}

/// What [`agreed`] wrote, in words.
fn described(all: &[u8; AGREED]) -> String {
    let word = |i: usize| {
        all[8 * i..8 * i + 8]
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte))
    };
    let security = all[AGREED - 4..]
        .iter()
        .rev()
        .fold(0u32, |word, &byte| word << 8 | u32::from(byte));
    let order = Order::from_counts(std::array::from_fn(word));
    let (epoch, workers) = (word(6), word(7));
    format!("{order} in epochs of {epoch} at security {security} by {workers} workers")
}

/// Compares what the evaluator said with what this party was told to do.
pub(crate) fn compare(theirs: &[u8; AGREED], ours: &[u8; AGREED], peer: PartyId) -> Result<()> {
    if ours == theirs {
        return Ok(());
    }
    Err(cenote_net::Error::Mismatch {
        peer,
        field: "order".into(),
        ours: described(ours),
        theirs: described(theirs),
    }
    .into())
}

#[cfg(test)]
pub(crate) mod tests;

//! A batch: what is handed over at a time.

use crate::triple_check::Pair;

/// `N` checked triples: number `i` has the factors at position `i` of `worker`'s batch `serial`.
pub(crate) struct Batch {
    /// The worker that made it.
    pub(crate) worker: u8,
    pub(crate) serial: u32,
    pub(crate) products: Pair,
}

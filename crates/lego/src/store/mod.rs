//! Material on disk: lots, each made by one offline run under one `Δ`, in the form of [`cenote_store`].
//!
//! The parts of a lot are pieces of a few megabytes, of one kind each: [`crate::KINDS`] are the classes. What a session holds in
//! memory is what it has taken, besides one piece.
//!
//! Two uses of an AND bucket or an OT string would give labels of both bits to the evaluator, and a check that fails in a session may
//! tell who cheats something of the lot's secrets, which a second session would be attacked with. So lots are marked while a session
//! draws from them, and a failed check, here or told by the peer, deletes the lot. So does a process that ends in the
//! middle of a session, since nobody knows what the peer has seen. A session that is stopped, or loses its peer, leaves
//! what it did not take. An evaluator that got the right outputs although the garbler cheated keeps the lot: whether it noticed may depend on its
//! inputs, and the garbler would see what is gone.
//!
//! What makes material, the seeds of OTs and commitments, is never stored: put back to an earlier state it would make the
//! same again. A new lot needs a new set-up.

mod draw;
mod lot;
mod make;

use cenote_session::Result;
pub use cenote_store::{ItemId, Store, StoreKey, Unusable};

pub(crate) use draw::{Drawer, draw};
pub use lot::StoredLot;
pub(crate) use make::make;

/// The lots in a folder, the oldest first, and what cannot be used.
///
/// # Errors
/// [`Error::Storage`](cenote_session::Error::Storage) if the folder cannot be listed.
pub fn lots(folder: &Store) -> Result<(Vec<StoredLot>, Vec<Unusable>)> {
    let inventory = folder.inventory()?;
    let lots = inventory.items.iter().filter_map(StoredLot::of);
    Ok((lots.collect(), inventory.unusable))
}

#[cfg(test)]
mod tests;

//! Checked triples on disk: epochs, each made by one offline run under keys of its own, in the form of [`cenote_store`].
//!
//! The parts of an epoch are its batches, one each; the worker that made a batch is its class. A triple that served two gates would
//! give the difference of their operands away, so a session claims batches before it uses them.
//!
//! # Triples are good at all parties, or deleted
//!
//! A party that cheats in making triples learns from the coin of a batch whether it will be caught, before it is caught, and
//! can then fall silent. So a batch is *provisional* until all parties have said that every batch of every worker since the
//! last checkpoint is settled. If an offline run ends otherwise, in whatever way, provisional batches are deleted, those
//! of a crash when the folder is opened next. Of the batches between two checkpoints, all are used or none.
//!
//! # How long secrets stay
//!
//! A batch's file is deleted when the batch is read. The two seeds that all factors of an epoch's triples are derived from
//! stay in its description until its last batch is gone: whoever gets hold of the folder, its key, *and* another party's
//! shares can compute the factors of triples that were used before. Many small epochs keep that time short.

mod claimed;
mod epoch;
mod offline;
mod online;

use cenote_session::Result;
pub use cenote_store::{ItemId, Store, StoreKey, Unusable};

pub(crate) use claimed::Claimed;
pub(crate) use epoch::settings;
pub use epoch::{BatchNumber, StoredEpoch};
pub(crate) use offline::MAX_BATCHES;
pub use offline::{OfflineReport, fill};
pub(crate) use online::Online;

/// The protocol's name in descriptions of items.
const PROTOCOL: &str = "three";

/// The epochs in a folder, the oldest first, and what cannot be used.
///
/// # Errors
/// [`Error::Storage`](cenote_session::Error::Storage) if the folder cannot be listed.
pub fn epochs(folder: &Store) -> Result<(Vec<StoredEpoch>, Vec<Unusable>)> {
    let inventory = folder.inventory()?;
    let epochs = inventory.items.iter().filter_map(StoredEpoch::of);
    Ok((epochs.collect(), inventory.unusable))
}

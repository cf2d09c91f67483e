//! Checked triples on disk: made in an offline phase, used once, later.
//!
//! A stock folder belongs to one party. It has a folder for each *epoch* (one offline run), called by the epoch's name, in
//! it a file `epoch` and one file for each batch of triples. All are sealed under the folder's key (`sealed`), and their
//! names tell nothing secret. What is in the folder and cannot be read, or is no stock, is named and left alone: it does
//! not keep sessions from the rest.
//!
//! # No triple is used twice
//!
//! A triple that served two gates would give the difference of their operands away. So a session *claims* batches before
//! it uses them: their files are renamed, the folder is flushed to the disk, and only when both peers say that they have
//! claimed the same batches does any party read one. A claimed file is read by the session that claimed it or never; what a
//! crash leaves is deleted when the folder is opened next. A crash may waste batches, therefore, but a batch that was used
//! is gone at both honest parties. One honest party's folder may even be put back to an earlier state, by a backup
//! say: the other does not hold the used batches any more and does not claim them again. *Two* parties' folders must not be
//! put back together; nothing could tell that from stock that was never used.
//!
//! All this rests on renames and removals that outlast a crash. Where the system cannot flush a folder to the disk, no stock
//! folder is opened.
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
//! stay in its file `epoch` until its last batch is gone: whoever gets hold of the folder, its key, *and* another party's
//! shares can compute the factors of triples that were used before. Many small epochs keep that time short.

mod claimed;
mod compare;
mod epoch;
mod offer;
mod offline;
mod online;
mod removal;
mod sealed;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_net::PartyId;
use cenote_primitives::{BLOCK_BITS, as_bytes, as_bytes_mut};
use cenote_session::{Error, Result};

use crate::triple_check::Pair;
pub(crate) use claimed::Claimed;
pub use epoch::{BatchNumber, EpochId, Inventory, StoredEpoch, Unusable};
pub(crate) use epoch::{Epoch, settings};
pub use offline::{OfflineReport, fill};
pub(crate) use online::Online;
use removal::{remove_if_there, remove_or_warn};
pub use sealed::StockKey;
use sealed::{DRAFT, Label, Seal, create, fault, sync_folder};

/// The file in an epoch's folder that describes it.
const EPOCH_FILE: &str = "epoch";
/// The file that tells whether a key is the folder's.
const KEY_CHECK: &str = "key-check";
/// The file that is locked while the folder is open.
const LOCK: &str = "lock";
/// The end of the name of a batch that a session has claimed.
const CLAIMED: &str = ".claimed";
/// The end of the name of a batch that not all parties have confirmed.
const PROVISIONAL: &str = ".provisional";
/// The start of the name of an empty file that says which party lacked the epoch.
const LACKED_BY: &str = "lacked-by-";

/// One party's stock of triples on disk. While it is open, no other process can open it. Cloning gives another handle.
#[derive(Clone)]
pub struct StockFolder(Arc<Inner>);

struct Inner {
    path: PathBuf,
    seal: Seal,
    /// Whether an online session draws from it.
    in_session: AtomicBool,
    /// Epochs that are being made. Sessions do not see them yet.
    in_making: Mutex<Vec<EpochId>>,
    /// Held until the last handle is dropped.
    _lock: File,
}

impl std::fmt::Debug for StockFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StockFolder({})", self.0.path.display())
    }
}

/// What is in an epoch's folder.
#[derive(Default)]
struct Listing {
    /// Whether the file is there that describes the epoch. Without it, the rest is of no use.
    described: bool,
    batches: Vec<BatchNumber>,
    /// Claimed and provisional batches and unfinished files: for nobody's use.
    remains: Vec<PathBuf>,
    /// The parties that did not have it when a session last compared.
    lacked_by: Vec<PartyId>,
}

/// Everything in a stock folder that is no longer being made.
struct Contents {
    /// Usable epochs and the batches that are left of them, the oldest first.
    epochs: Vec<(Epoch, Listing)>,
    unusable: Vec<Unusable>,
}

impl StockFolder {
    /// Opens the stock folder at `path`, which is made if there is none, and clears away what sessions left that did not
    /// come to their end.
    ///
    /// An epoch that cannot be cleared up is named in the log and left as it is.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if another process has it open, the key is not the one that it was made with, files cannot be
    /// read or written, or the system cannot make changes of the folder outlast a crash.
    pub fn open(path: &Path, key: &StockKey) -> Result<Self> {
        let io = |what: &'static str| move |error: io::Error| fault(path, format_args!("{what}: {error}"));
        folder_builder()
            .recursive(true)
            .create(path)
            .map_err(io("the stock folder cannot be made"))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options
            .open(path.join(LOCK))
            .map_err(io("the stock folder's lock cannot be opened"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(fault(
                    path,
                    "another process is using this stock folder; wait until it is done, or use another folder",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(io("the stock folder cannot be locked")(error)),
        }
        sync_folder(path).map_err(io(
            "changes of the stock folder cannot be flushed to the disk, so a crash could bring used triples back; keep \
             stock on another file system or system",
        ))?;
        let seal = Seal::new(key);
        let check = path.join(KEY_CHECK);
        if check.exists() {
            seal.read_small(&check, Label::KeyCheck).map_err(|_| {
                fault(
                    path,
                    "this key is not the one that the stock folder was made with",
                )
            })?;
        } else {
            seal.write(path, KEY_CHECK, Label::KeyCheck, &[])?;
        }
        let folder = Self(Arc::new(Inner {
            path: path.to_owned(),
            seal,
            in_session: AtomicBool::new(false),
            in_making: Mutex::default(),
            _lock: lock,
        }));
        for (id, _) in folder.entries()? {
            if let Err(error) = folder.tidy(&id) {
                tracing::warn!(%error, "an epoch of stock is left as it is");
            }
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The epochs that it holds and that can be used, the oldest first.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if the folder cannot be listed.
    pub fn epochs(&self) -> Result<Vec<StoredEpoch>> {
        Ok(self.inventory()?.epochs)
    }

    /// What it holds, what cannot be used included.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if the folder cannot be listed.
    pub fn inventory(&self) -> Result<Inventory> {
        let Contents { epochs, unusable } = self.contents()?;
        let describe = |(epoch, listing): (Epoch, Listing)| StoredEpoch {
            id: epoch.id,
            party: epoch.party,
            made: epoch.made,
            settings: epoch.settings,
            gates_per_batch: epoch.n.saturating_mul(BLOCK_BITS as u64),
            batches: listing.batches,
            lacked_by: listing.lacked_by,
        };
        Ok(Inventory {
            epochs: epochs.into_iter().map(describe).collect(),
            unusable,
        })
    }

    /// All epochs but those that are being made.
    fn contents(&self) -> Result<Contents> {
        let mut contents = Contents {
            epochs: Vec::new(),
            unusable: Vec::new(),
        };
        let in_making = self.in_making().clone();
        for (id, is_folder) in self.entries()? {
            if in_making.contains(&id) {
                continue;
            }
            let read = || {
                if !is_folder {
                    return Err(fault(&self.epoch_folder(&id), "is not a folder"));
                }
                let listing = self.list(&id)?;
                // Spent, and about to be cleared away.
                if listing.batches.is_empty() {
                    return Ok(None);
                }
                let path = self.epoch_folder(&id).join(EPOCH_FILE);
                let bytes = self.0.seal.read_small(&path, Label::Epoch(id))?;
                let epoch = Epoch::decode(id, &bytes).map_err(|what| fault(&path, what))?;
                Ok(Some((epoch, listing)))
            };
            match read() {
                Ok(epoch) => contents.epochs.extend(epoch),
                Err(error) => contents.unusable.push(Unusable {
                    id,
                    why: error.to_string(),
                }),
            }
        }
        contents.epochs.sort_by_key(|(epoch, _)| (epoch.made, epoch.id));
        contents.unusable.sort_by_key(|unusable| unusable.id);
        Ok(contents)
    }

    fn in_making(&self) -> MutexGuard<'_, Vec<EpochId>> {
        self.0.in_making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn epoch_folder(&self, id: &EpochId) -> PathBuf {
        self.0.path.join(id.to_string())
    }

    /// What is called as an epoch's folder is, and whether it is a folder.
    fn entries(&self) -> Result<Vec<(EpochId, bool)>> {
        let list = || -> io::Result<Vec<(EpochId, bool)>> {
            let mut entries = Vec::new();
            for entry in fs::read_dir(&self.0.path)? {
                let entry = entry?;
                let Some(id) = entry.file_name().to_str().and_then(EpochId::of_folder) else {
                    continue;
                };
                entries.push((id, entry.file_type()?.is_dir()));
            }
            Ok(entries)
        };
        list().map_err(|error| fault(&self.0.path, format_args!("cannot be listed: {error}")))
    }

    /// The files of an epoch's folder, by their names.
    fn list(&self, id: &EpochId) -> Result<Listing> {
        let folder = self.epoch_folder(id);
        let list = || -> io::Result<Listing> {
            let mut listing = Listing::default();
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                if [CLAIMED, PROVISIONAL, DRAFT]
                    .iter()
                    .any(|end| name.ends_with(end))
                {
                    listing.remains.push(entry.path());
                } else if name == EPOCH_FILE {
                    listing.described = true;
                } else if let Some(party) = name.strip_prefix(LACKED_BY) {
                    listing.lacked_by.extend(party.parse().map(PartyId));
                } else {
                    listing.batches.extend(BatchNumber::of_file(name));
                }
            }
            listing.batches.sort_unstable();
            listing.lacked_by.sort_unstable();
            Ok(listing)
        };
        list().map_err(|error| fault(&folder, format_args!("cannot be listed: {error}")))
    }

    /// Makes the folder of a new epoch, which sessions do not see while the guard lives.
    fn begin(&self, epoch: &Epoch) -> Result<Making> {
        let making = Making(self.clone(), epoch.id);
        self.in_making().push(epoch.id);
        let folder = self.epoch_folder(&epoch.id);
        let make = || -> io::Result<()> {
            folder_builder().create(&folder)?;
            sync_folder(&self.0.path)
        };
        make().map_err(|error| Error::file(&folder, "cannot be made", &error))?;
        let label = Label::Epoch(epoch.id);
        self.0
            .seal
            .write(&folder, EPOCH_FILE, label, &[&epoch.encode()])?;
        Ok(making)
    }

    /// Puts a batch on the disk that is settled here. It is provisional, for nobody's use, until it is confirmed.
    fn store(&self, id: EpochId, number: BatchNumber, products: &Pair) -> Result<()> {
        let label = Label::Batch(id, number.worker, number.serial);
        let parts = [&products[0], &products[1]].map(|component| as_bytes(component));
        let name = number.file_name() + PROVISIONAL;
        self.0.seal.write(&self.epoch_folder(&id), &name, label, &parts)
    }

    /// Puts provisional batches in stock, once all parties have said that they are good.
    fn confirm(&self, id: &EpochId, numbers: &[BatchNumber]) -> Result<()> {
        let folder = self.epoch_folder(id);
        for number in numbers {
            let path = folder.join(number.file_name());
            let fault = |error: io::Error| Error::file(&path, "cannot be put in stock", &error);
            if path.exists() {
                return Err(fault(io::ErrorKind::AlreadyExists.into()));
            }
            fs::rename(folder.join(number.file_name() + PROVISIONAL), &path).map_err(fault)?;
        }
        sync_folder(&folder).map_err(|error| fault(&folder, format_args!("cannot be flushed: {error}")))
    }

    /// Notes which parties lack an epoch, for people to see. Nothing depends on it.
    fn note_lack(&self, id: &EpochId, listed: &[PartyId], lacked_by: &[PartyId]) {
        let path = |party: PartyId| self.epoch_folder(id).join(format!("{LACKED_BY}{}", party.0));
        let gone = listed.iter().filter(|party| !lacked_by.contains(party));
        let new = lacked_by.iter().filter(|party| !listed.contains(party));
        let written = gone
            .map(|party| remove_if_there(&path(*party)))
            .chain(new.map(|party| create(&path(*party)).map(|_| ())))
            .collect::<io::Result<()>>();
        if let Err(error) = written {
            tracing::warn!(epoch = %id, %error, "which parties lack an epoch of stock cannot be noted");
        }
    }

    /// Takes these batches out of stock, for good: when this returns, no later session will find them, whatever happens.
    fn claim(&self, id: &EpochId, numbers: &[BatchNumber]) -> Result<()> {
        let folder = self.epoch_folder(id);
        for number in numbers {
            let path = folder.join(number.file_name());
            fs::rename(&path, claimed_path(&folder, *number))
                .map_err(|error| fault(&path, format_args!("cannot be claimed: {error}")))?;
        }
        sync_folder(&folder).map_err(|error| fault(&folder, format_args!("cannot be flushed: {error}")))
    }

    /// Reads a claimed batch and deletes its file. If it fails, `products` is to be wiped.
    fn fetch(&self, id: EpochId, number: BatchNumber, products: &mut Pair) -> Result<()> {
        let path = claimed_path(&self.epoch_folder(&id), number);
        let label = Label::Batch(id, number.worker, number.serial);
        let [first, second] = products;
        let mut parts = [first, second].map(|component| as_bytes_mut(&mut component[..]));
        self.0.seal.read(&path, label, &mut parts)?;
        fs::remove_file(&path).map_err(|error| fault(&path, format_args!("cannot be deleted: {error}")))
    }

    /// Deletes claimed batches that will not be read.
    fn drop_claimed(&self, id: &EpochId, numbers: impl Iterator<Item = BatchNumber>) {
        let folder = self.epoch_folder(id);
        for number in numbers {
            remove_or_warn(&claimed_path(&folder, number));
        }
    }

    /// Reserves the folder for one online session.
    fn reserve(&self) -> Result<Reservation> {
        if self.0.in_session.swap(true, Ordering::AcqRel) {
            return Err(fault(
                &self.0.path,
                "another session of this process is using this stock folder",
            ));
        }
        Ok(Reservation(self.clone()))
    }
}

/// An online session's hold on a stock folder.
struct Reservation(StockFolder);

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.0.in_session.store(false, Ordering::Release);
    }
}

/// An epoch that is being made. Afterwards it is there for sessions, or forgotten if nothing of it is in stock.
struct Making(StockFolder, EpochId);

impl Drop for Making {
    fn drop(&mut self) {
        let Making(folder, id) = self;
        if folder.epoch_folder(id).exists()
            && let Err(error) = folder.tidy(id)
        {
            tracing::warn!(%error, "an epoch of stock cannot be cleared");
        }
        folder.in_making().retain(|known| known != id);
    }
}

fn claimed_path(folder: &Path, number: BatchNumber) -> PathBuf {
    folder.join(format!("{}{CLAIMED}", number.file_name()))
}

/// Makes folders for their owner only.
fn folder_builder() -> fs::DirBuilder {
    #[allow(unused_mut, reason = "there are modes on Unix only")]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

#[cfg(test)]
mod tests;

//! Material on disk: made in an offline phase, used once, later.
//!
//! A folder of material belongs to one party. It has a folder for each *lot* (one offline run, under one `Δ`), called by the
//! lot's name, and in it a file `lot` with what is needed to use the material, files with pieces of material of one kind, and
//! a file `used`: how many items of each kind are used. All are sealed under the folder's key (`sealed`); names tell
//! nothing secret. What a session holds in memory is what it has taken, besides one piece of a few megabytes.
//!
//! # Nothing is used twice
//!
//! Two uses of an AND bucket or an OT string would give labels of both bits to the evaluator. So what a session takes is
//! recorded as used, and the record flushed to the disk, before both parties tell each other that they have done so, and
//! only then anything is read. A crash may waste material, therefore, but material that was used is on record at both honest
//! parties. They start from the later of their two records.
//!
//! A folder must never be put back to an earlier state, by a backup say, and never be copied. The later record of an honest
//! peer makes up for it, but a peer that cheats tells the earlier one, too, and has the party use material twice; and nothing
//! could tell *two* folders that were put back from material that was never used.
//!
//! # Nothing is used after a failure
//!
//! A check that fails in a session may tell who cheats something of the lot's secrets, which a second session would be
//! attacked with. So a lot is marked as in use, durably, when a session draws from it, and the mark is taken away only by a
//! session that ends without a failed check, here or told by the peer; a failed one deletes the lot. A lot that is found
//! marked when the folder is opened was in a session that ended with its process, nobody knows how: it is deleted, too. An
//! evaluator that got the right outputs although the garbler cheated keeps the lot: whether it noticed may depend on its
//! inputs, and the garbler would see what is gone.
//!
//! What makes material, the seeds of OTs and commitments, is never stored: put back to an earlier state it would make the
//! same again. A new lot needs a new set-up.

mod draw;
mod lot;
mod make;
mod pack;
mod sealed;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_session::{Error, Result};

pub use draw::Drawer;
use lot::{Header, Label, PieceName};
pub use lot::{LotId, StoredLot};
pub use sealed::StockKey;
use sealed::{DRAFT, Seal, fault, sync_folder};

use super::order::Order;

/// The file in a lot's folder that describes it.
const LOT: &str = "lot";
/// The file in a lot's folder that tells what is used.
const USED: &str = "used";
/// The file in a lot's folder that is there while a session uses the lot.
const IN_USE: &str = "in-use";
/// The file that tells whether a key is the folder's.
const KEY_CHECK: &str = "key-check";
/// The file that is locked while the folder is open.
const LOCK: &str = "lock";
/// The longest file that describes something.
const MAX_SMALL: usize = 4 << 10;

/// One party's material on disk. While it is open, no other process can open it. Cloning gives another handle.
#[derive(Clone)]
pub struct MaterialFolder(Arc<Inner>);

struct Inner {
    path: PathBuf,
    seal: Seal,
    /// Whether a session draws from it.
    in_session: AtomicBool,
    /// Lots that are being made. Sessions do not see them yet.
    in_making: Mutex<Vec<LotId>>,
    /// Held until the last handle is dropped.
    _lock: File,
}

impl std::fmt::Debug for MaterialFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MaterialFolder({})", self.0.path.display())
    }
}

/// Numbers of items of each kind, as [`Order::counts`]: used ones, or all that there were up to an end.
type Counts = [u64; 6];

/// A lot as it lies on disk.
struct Found {
    id: LotId,
    header: Header,
    /// Items that are used.
    used: Counts,
    /// Items in an unbroken row from the used ones on, and the used ones.
    end: Counts,
}

impl Found {
    fn left(&self) -> Order {
        Order::from_counts(self.end).beyond(&Order::from_counts(self.used))
    }
}

impl MaterialFolder {
    /// Opens the folder at `path`, which is made if there is none, and clears away what is used up or unfinished,
    /// and lots whose session ended with its process.
    ///
    /// # Errors
    /// [`Error::Storage`] if another process has it open, the key is not the one that it was made with, or files cannot be
    /// read or written.
    pub fn open(path: &Path, key: &StockKey) -> Result<Self> {
        let io = |what: &'static str| move |error: io::Error| fault(path, format_args!("{what}: {error}"));
        folder_builder()
            .recursive(true)
            .create(path)
            .map_err(io("the folder of material cannot be made"))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options
            .open(path.join(LOCK))
            .map_err(io("its lock cannot be opened"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what =
                    "another process is using this folder of material; wait until it is done, or use another";
                return Err(fault(path, what));
            }
            Err(TryLockError::Error(error)) => return Err(io("it cannot be locked")(error)),
        }
        let seal = Seal::new(key);
        let check = path.join(KEY_CHECK);
        if check.exists() {
            seal.read(&check, &Label::KeyCheck.bytes(), 0).map_err(|_| {
                fault(
                    path,
                    "this key is not the one that the folder of material was made with",
                )
            })?;
        } else {
            seal.write(path, KEY_CHECK, &Label::KeyCheck.bytes(), &[])?;
        }
        let folder = Self(Arc::new(Inner {
            path: path.to_owned(),
            seal,
            in_session: AtomicBool::new(false),
            in_making: Mutex::default(),
            _lock: lock,
        }));
        for id in folder.ids()? {
            if folder.lot_folder(&id).join(IN_USE).exists() {
                tracing::warn!(lot = %id, "deleting a lot of material whose session did not end as it should");
            }
            folder.tidy(&id)?;
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What it holds, the oldest lot first.
    ///
    /// # Errors
    /// [`Error::Storage`] if a file cannot be read, is damaged, or is not this folder's.
    pub fn lots(&self) -> Result<Vec<StoredLot>> {
        let describe = |found: Found| StoredLot {
            id: found.id,
            garbler: found.header.garbler,
            made: found.header.made,
            security: found.header.security,
            left: found.left(),
            session: found.header.session,
        };
        Ok(self.contents()?.into_iter().map(describe).collect())
    }

    /// All lots that have something left, the oldest first.
    fn contents(&self) -> Result<Vec<Found>> {
        let mut contents = Vec::new();
        let in_making = self.in_making().clone();
        for id in self.ids()?.into_iter().filter(|id| !in_making.contains(id)) {
            let found = self.find(id)?;
            if !found.left().is_empty() {
                contents.push(found);
            }
        }
        contents.sort_by_key(|found| (found.header.made, found.id));
        Ok(contents)
    }

    fn find(&self, id: LotId) -> Result<Found> {
        let folder = self.lot_folder(&id);
        let path = folder.join(LOT);
        let bytes = self.0.seal.read(&path, &Label::Lot(id).bytes(), MAX_SMALL)?;
        let header = Header::decode(&bytes).map_err(|what| fault(&path, what))?;
        let used = self.used(&id)?;
        let mut end = used;
        for piece in self.pieces(&id)? {
            let end = &mut end[usize::from(piece.kind)];
            // In order, so a piece that is missing ends the row.
            if piece.first <= *end {
                *end = piece.end().max(*end);
            }
        }
        Ok(Found {
            id,
            header,
            used,
            end,
        })
    }

    /// How much of a lot is used.
    fn used(&self, id: &LotId) -> Result<Counts> {
        let path = self.lot_folder(id).join(USED);
        let bytes = self
            .0
            .seal
            .read(&path, &Label::Used(*id).bytes(), size_of::<Counts>())?;
        if bytes.len() != size_of::<Counts>() {
            return Err(fault(&path, "is too short"));
        }
        let mut counts = [0; 6];
        for (count, bytes) in counts.iter_mut().zip(bytes.as_chunks().0) {
            *count = u64::from_le_bytes(*bytes);
        }
        Ok(counts)
    }

    /// Records how much of a lot is used. When this returns, no later session will use it, whatever happens.
    fn record(&self, id: &LotId, used: &Counts) -> Result<()> {
        let bytes = used.map(u64::to_le_bytes);
        let label = Label::Used(*id).bytes();
        self.0
            .seal
            .write(&self.lot_folder(id), USED, &label, bytes.as_flattened())
    }

    fn in_making(&self) -> MutexGuard<'_, Vec<LotId>> {
        self.0.in_making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lot_folder(&self, id: &LotId) -> PathBuf {
        self.0.path.join(id.to_string())
    }

    fn ids(&self) -> Result<Vec<LotId>> {
        let names = names(&self.0.path)?;
        Ok(names.iter().filter_map(|name| LotId::of_folder(name)).collect())
    }

    /// The pieces of a lot, by kind, in order.
    fn pieces(&self, id: &LotId) -> Result<Vec<PieceName>> {
        let names = names(&self.lot_folder(id))?;
        let mut pieces: Vec<PieceName> = names.iter().filter_map(|name| PieceName::of_file(name)).collect();
        pieces.sort_unstable();
        Ok(pieces)
    }

    /// Deletes what nobody may use any more, and the lot itself, with its keys, once nothing is left of it.
    fn tidy(&self, id: &LotId) -> Result<()> {
        let folder = self.lot_folder(id);
        let names = names(&folder)?;
        // A lot that was not even begun has no record.
        let has = |file: &str| names.iter().any(|name| name == file);
        let used = if has(USED) && !has(IN_USE) {
            self.used(id)?
        } else {
            [u64::MAX; 6]
        };
        let mut left = false;
        let mut remove = || -> io::Result<()> {
            for name in &names {
                let spent = match PieceName::of_file(name) {
                    Some(piece) => piece.end() <= used[usize::from(piece.kind)],
                    None => name.ends_with(DRAFT),
                };
                if spent {
                    fs::remove_file(folder.join(name))?;
                } else {
                    left |= PieceName::of_file(name).is_some();
                }
            }
            if !left {
                remove_if_there(&folder.join(LOT))?;
                remove_if_there(&folder.join(USED))?;
                // Last: whatever is left beside it is not used.
                remove_if_there(&folder.join(IN_USE))?;
                fs::remove_dir(&folder)?;
                sync_folder(&self.0.path)?;
            }
            Ok(())
        };
        remove().map_err(|error| fault(&folder, format_args!("cannot be cleared: {error}")))
    }

    /// Deletes a lot and all that it has.
    fn discard(&self, id: &LotId) -> Result<()> {
        self.record(id, &[u64::MAX; 6])?;
        self.tidy(id)
    }

    /// Deletes a lot for good.
    ///
    /// # Errors
    /// [`Error::Storage`] if a session draws from this folder, or the lot's files cannot be deleted.
    pub fn remove(&self, id: &LotId) -> Result<()> {
        let _reservation = self.reserve()?;
        self.discard(id)
    }

    /// Marks a lot as in use. When this returns, the lot is gone should this process end before [`MaterialFolder::unmark`].
    fn mark(&self, id: &LotId) -> Result<()> {
        let label = Label::InUse(*id).bytes();
        self.0.seal.write(&self.lot_folder(id), IN_USE, &label, &[])
    }

    fn unmark(&self, id: &LotId) -> Result<()> {
        let folder = self.lot_folder(id);
        remove_if_there(&folder.join(IN_USE))
            .and_then(|()| sync_folder(&folder))
            .map_err(|error| fault(&folder, format_args!("cannot be released: {error}")))
    }

    /// Reserves the folder for one session.
    fn reserve(&self) -> Result<Reservation> {
        if self.0.in_session.swap(true, Ordering::AcqRel) {
            let what = "another session of this process is using this folder of material";
            return Err(fault(&self.0.path, what));
        }
        Ok(Reservation(self.clone()))
    }
}

/// A session's hold on a folder.
struct Reservation(MaterialFolder);

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.0.in_session.store(false, Ordering::Release);
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    };
    list().map_err(|error| fault(folder, format_args!("cannot be listed: {error}")))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes folders for their owner only.
fn folder_builder() -> fs::DirBuilder {
    #[allow(unused_mut, reason = "there are modes on Unix only")]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn malformed(path: &Path) -> Error {
    fault(path, "does not have the items that its name says")
}

#[cfg(test)]
mod tests;

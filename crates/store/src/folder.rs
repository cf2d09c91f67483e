//! The folder: who may open it, and what it holds on to while it is open.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cenote_session::Result;

use crate::durable::{self, sync_folder};
use crate::item::{ItemId, Peers};
use crate::names::{IN_USE, ITEM, USED};
use crate::runs::{Run, Runs};
use crate::seal::{MAGIC, Seal, StoreKey, fault};
use crate::sound::Sound;

/// The file that tells whether a key is the folder's.
const KEY_CHECK: &str = "key-check";
/// The file that is locked while the folder is open.
const LOCK: &str = "lock";
/// How long opening waits for another process to let go of the folder: one that was just told to end, or that another
/// thread of the owner has forked and that has not begun its own program yet.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest file that describes something.
const MAX_ITEM: usize = 16 << 10;
/// The longest record of what is used.
const MAX_USED: usize = 4 << 20;

/// One party's material on disk. While it is open, no other process can open it. Cloning gives another handle.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
    pub(crate) peers: Peers,
    /// Where sessions note what they use.
    pub(crate) audit: Option<Arc<File>>,
}

pub(crate) struct Inner {
    path: PathBuf,
    pub(crate) seal: Seal,
    /// Whether a session uses it.
    in_session: AtomicBool,
    busy: Mutex<Busy>,
    pub(crate) sound: Mutex<Sound>,
    /// Held until the last handle is dropped.
    _lock: File,
}

/// Items that not everybody may touch.
#[derive(Default)]
pub(crate) struct Busy {
    /// Those that are being made. Sessions do not see them yet.
    pub(crate) making: Vec<ItemId>,
    /// The one that the session holds.
    pub(crate) held: Option<ItemId>,
}

/// What a sealed file is.
#[derive(Clone, Copy)]
pub(crate) enum Label<'a> {
    KeyCheck,
    Item(ItemId),
    Used(ItemId),
    InUse(ItemId),
    Part(ItemId, Run),
    State(ItemId, &'a str),
}

impl Label<'_> {
    pub(crate) fn bytes(self) -> Vec<u8> {
        let (kind, id, part) = match self {
            Label::KeyCheck => (0, [0; 32], Vec::new()),
            Label::Item(id) => (1, id.0, Vec::new()),
            Label::Used(id) => (2, id.0, Vec::new()),
            Label::InUse(id) => (3, id.0, Vec::new()),
            Label::Part(id, part) => (4, id.0, Runs::from_iter([part]).encode()),
            Label::State(id, name) => (5, id.0, name.as_bytes().to_vec()),
        };
        [&MAGIC[..], &[kind], &id, &part].concat()
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.path().display())
    }
}

impl Store {
    /// Opens the folder at `path`, which is made if there is none, and clears away what is spent or unfinished, and
    /// marked items whose session ended with its process. Another process that has it open is waited for, for two seconds.
    ///
    /// An item that cannot be cleared up is named in the log and left as it is.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if another process has it open, the key is not the one that it was made with, it is of another
    /// version, files cannot be read or written, or the system cannot make changes of the folder outlast a crash.
    pub fn open(path: &Path, key: &StoreKey) -> Result<Self> {
        Self::open_within(path, key, PATIENCE)
    }

    pub(crate) fn open_within(path: &Path, key: &StoreKey, patience: Duration) -> Result<Self> {
        let io = |what: &'static str| move |error: io::Error| fault(path, format_args!("{what}: {error}"));
        folder_builder()
            .recursive(true)
            .create(path)
            .map_err(io("the stock folder cannot be made"))?;
        let lock = lock(path, patience)?;
        sync_folder(path).map_err(io(
            "changes of the stock folder cannot be flushed to the disk, so a crash could bring used material back; keep \
             stock on another file system or system",
        ))?;
        let seal = Seal::new(key);
        check_key(path, &seal)?;
        let store = Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                seal,
                in_session: AtomicBool::new(false),
                busy: Mutex::default(),
                sound: Mutex::default(),
                _lock: lock,
            }),
            peers: Peers::default(),
            audit: None,
        };
        for (id, _) in store.entries()? {
            if let Err(error) = store.tidy(&id) {
                tracing::warn!(%error, "an item of stock is left as it is");
            }
        }
        Ok(store)
    }

    /// A handle for work with the peers that have these keys: what it makes was made with them, and what was made with
    /// others is not offered to them.
    #[must_use]
    pub fn with_peers(&self, peers: Peers) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            peers,
            audit: self.audit.clone(),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    pub(crate) fn busy(&self) -> MutexGuard<'_, Busy> {
        self.inner.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn item_folder(&self, id: &ItemId) -> PathBuf {
        self.path().join(id.to_string())
    }

    /// What is called as an item's folder is, and whether it is a folder.
    pub(crate) fn entries(&self) -> Result<Vec<(ItemId, bool)>> {
        let list = || -> io::Result<Vec<(ItemId, bool)>> {
            let mut entries = Vec::new();
            for entry in fs::read_dir(self.path())? {
                let entry = entry?;
                let Some(id) = entry.file_name().to_str().and_then(ItemId::of_folder) else {
                    continue;
                };
                entries.push((id, entry.file_type()?.is_dir()));
            }
            Ok(entries)
        };
        list().map_err(|error| fault(self.path(), format_args!("cannot be listed: {error}")))
    }

    /// Writes a file of an item, for good.
    pub(crate) fn write(&self, id: &ItemId, name: &str, label: Label<'_>, pieces: &[&[u8]]) -> Result<()> {
        let folder = self.item_folder(id);
        self.inner.seal.write(&folder, name, &label.bytes(), pieces)?;
        self.note_written(id, name);
        Ok(())
    }

    /// Reads what describes an item.
    pub(crate) fn read_item(&self, id: &ItemId) -> Result<crate::Item> {
        let path = self.item_folder(id).join(ITEM);
        let bytes = self.inner.seal.read(&path, &Label::Item(*id).bytes(), MAX_ITEM)?;
        crate::Item::decode(*id, &bytes).map_err(|what| fault(&path, what))
    }

    /// Reads what is used of an item.
    pub(crate) fn read_used(&self, id: &ItemId) -> Result<Runs> {
        let path = self.item_folder(id).join(USED);
        let bytes = self.inner.seal.read(&path, &Label::Used(*id).bytes(), MAX_USED)?;
        Runs::decode(&bytes).ok_or_else(|| fault(&path, "is garbled"))
    }

    /// Records what is used of an item. When this returns, no later session will use it, whatever happens.
    pub(crate) fn record(&self, id: &ItemId, used: &Runs) -> Result<()> {
        self.write(id, USED, Label::Used(*id), &[&used.encode()])
    }

    /// Reserves the folder for one session, and deletes marked items: their session ended without a word.
    pub(crate) fn reserve(&self) -> Result<Reservation> {
        if self.inner.in_session.swap(true, Ordering::AcqRel) {
            let what = "another session of this process is using this stock folder";
            return Err(fault(self.path(), what));
        }
        let reservation = Reservation(self.clone());
        for (id, _) in self.entries()? {
            if self.item_folder(&id).join(IN_USE).exists()
                && let Err(error) = self.tidy(&id)
            {
                // Its mark keeps it from being used.
                tracing::warn!(%error, "an item of stock is left as it is");
            }
        }
        Ok(reservation)
    }
}

/// A session's hold on a folder.
#[derive(Debug)]
pub(crate) struct Reservation(pub(crate) Store);

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.busy().held = None;
        self.0.inner.in_session.store(false, Ordering::Release);
    }
}

/// Takes the folder's lock, which may take others a moment to let go.
fn lock(path: &Path, patience: Duration) -> Result<File> {
    let locked = durable::lock(&path.join(LOCK), patience)
        .map_err(|error| fault(path, format_args!("the stock folder cannot be locked: {error}")))?;
    locked.ok_or_else(|| {
        let what = "another process is using this stock folder; wait until it is done, or use another folder";
        fault(path, what)
    })
}

fn check_key(path: &Path, seal: &Seal) -> Result<()> {
    let (check, label) = (path.join(KEY_CHECK), Label::KeyCheck.bytes());
    if !check.exists() {
        return seal.write(path, KEY_CHECK, &label, &[]);
    }
    let mut mark = [0; MAGIC.len()];
    let marked = File::open(&check).and_then(|mut file| io::Read::read_exact(&mut file, &mut mark));
    if marked.is_ok() && mark != MAGIC && mark.starts_with(b"cnt ") {
        let what = "this stock folder was made by another version of this program, and its material cannot be read; \
                    delete the folder, or name another, and make new stock with the peers";
        return Err(fault(path, what));
    }
    seal.read(&check, &label, 0).map(|_| ()).map_err(|_| {
        fault(
            path,
            "this key is not the one that the stock folder was made with",
        )
    })
}

/// Makes folders for their owner only.
pub(crate) fn folder_builder() -> fs::DirBuilder {
    #[allow(unused_mut, reason = "there are modes on Unix only")]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

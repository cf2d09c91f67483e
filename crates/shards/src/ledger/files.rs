//! The files of a ledger: its lock, and writes that outlast a crash.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use cenote_session::{Error, Result};

/// The file that is locked while the ledger is open.
const LOCK: &str = "lock";

/// How long opening waits for another process to let go of the ledger, such as one that was just told to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is wrong with the file or folder at `path`.
pub(super) fn fault(path: &Path, what: impl Display) -> Error {
    Error::Storage(format!("{}: {what}", path.display()))
}

/// Where lines go.
pub(crate) trait Disk: Send {
    /// Writes bytes at the end. They are on the disk when this returns.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl Disk for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)?;
        self.sync_all()
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the folder if there is none, and locks it.
pub(super) fn claim(path: &Path) -> Result<File> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(path);
    made.map_err(|error| Error::file(path, "the ledger's folder cannot be made", &error))?;
    let opened = options().create(true).truncate(false).open(path.join(LOCK));
    let file = opened.map_err(|error| Error::file(path, "the ledger's lock cannot be opened", &error))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::WouldBlock) => {
                let what = "another coordinator has this ledger open; wait until it has ended";
                return Err(fault(path, what));
            }
            Err(TryLockError::Error(error)) => {
                return Err(Error::file(path, "the ledger cannot be locked", &error));
            }
        }
    }
}

/// What a file holds, at most `most` bytes; nothing if there is none.
pub(super) fn read(path: &Path, most: usize) -> Result<Option<Vec<u8>>> {
    let unreadable = |error: io::Error| Error::file(path, "cannot be read", &error);
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(unreadable)?,
    };
    let mut bytes = Vec::new();
    file.take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    match bytes.len() > most {
        true => Err(fault(
            path,
            format_args!("has more than {most} bytes: it is damaged"),
        )),
        false => Ok(Some(bytes)),
    }
}

/// A new file, empty. Its name is on the disk when that of another one is that [`write_whole`] writes next.
pub(super) fn create(path: &Path) -> Result<File> {
    let created = options().create(true).truncate(true).open(path);
    created.map_err(|error| Error::file(path, "cannot be made", &error))
}

/// The file at `path`, to be written on from byte `from`; what follows that is cut off.
pub(super) fn append_from(path: &Path, from: u64) -> Result<File> {
    let open = || {
        let mut file = options().open(path)?;
        file.set_len(from)?;
        file.seek(SeekFrom::Start(from))?;
        file.sync_all()?;
        Ok(file)
    };
    open().map_err(|error: io::Error| Error::file(path, "cannot be opened for writing", &error))
}

/// Writes a file called `name` in `folder`, or puts it in the place of one. It has its name only when it is whole, and is on the disk then.
pub(super) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (path, draft) = (folder.join(name), folder.join(format!("{name}.new")));
    let write = || {
        let mut file = options().create(true).truncate(true).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        sync_folder(folder)
    };
    write().map_err(|error: io::Error| Error::file(&path, "cannot be written", &error))
}

/// Makes new names in a folder outlast a crash.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return File::open(folder)?.sync_all();
    // Elsewhere folders cannot be opened as files, and what their changes outlast is not promised.
    #[cfg(not(unix))]
    {
        let _ = folder;
        Err(io::ErrorKind::Unsupported.into())
    }
}

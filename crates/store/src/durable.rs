//! Locks, and files that outlast a crash, for all folders that a party keeps.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a lock that is taken is waited for before it is tried again.
const AGAIN: Duration = Duration::from_millis(10);

/// The end of the name of a file that is being written.
pub(crate) const DRAFT: &str = ".new";

/// How a file is opened that its owner alone may read and write.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A file for its owner only, empty.
///
/// # Errors
/// What the system says.
pub fn create(path: &Path) -> io::Result<File> {
    options().create(true).truncate(true).open(path)
}

/// Locks the file at `path`, which is made if there is none, until what it gives is dropped: nothing if another process has not let go of it within `patience`, such as
/// one that was just told to end.
///
/// # Errors
/// What the system says.
pub fn lock(path: &Path, patience: Duration) -> io::Result<Option<File>> {
    let file = options().create(true).truncate(false).open(path)?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => std::thread::sleep(AGAIN),
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Makes renames and removals in `folder` outlast a crash, or fails.
///
/// # Errors
/// What the system says; where folders cannot be opened as files, that it is not supported.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return File::open(folder)?.sync_all();
    // Elsewhere what changes of folders outlast is not promised.
    #[cfg(not(unix))]
    {
        let _ = folder;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Writes the file `name` in `folder`, by `write`, in place of one of that name if there is any. When this returns, the file will outlast a crash; if it fails or is cut off,
/// the file is as before, or it is the new one, whole.
///
/// # Errors
/// What the system says; those of `write`.
pub fn write_whole(
    folder: &Path,
    name: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let (path, draft) = (folder.join(name), folder.join(format!("{name}{DRAFT}")));
    let whole = || {
        let mut file = create(&draft)?;
        write(&mut file)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&draft, &path)?;
        sync_folder(folder)
    };
    whole().inspect_err(|_| {
        // What cannot be removed is written over, or cleared, by whoever opens the folder next.
        let _ = fs::remove_file(&draft);
    })
}

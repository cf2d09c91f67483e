//! The folder of a service, which one process at a time may use.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{Error, Result};

const LOCK: &str = "service.lock";

/// How long to wait for a folder or a database that is in use. A process that is ending may hold either for a moment; a child that another
/// thread is starting may hold a folder.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Calls `take` until it says that it has taken what may be in use, for as long as `patience`, and says whether it has.
pub(crate) fn take_within(patience: Duration, mut take: impl FnMut() -> Result<bool>) -> Result<bool> {
    let start = Instant::now();
    loop {
        if take()? {
            return Ok(true);
        }
        if start.elapsed() >= patience {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A folder that this process alone uses, until this value is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Nothing in a folder that no service has used.
    _lock: Option<File>,
}

impl Folder {
    /// Takes the folder at `path`, which is made where there is none, for its owner only; what others may do in one that is there is taken from them. One that
    /// is in use is waited for, two seconds.
    ///
    /// # Errors
    /// [`Error::InUse`] where another process has it, with that process's number; [`Error::File`] where it cannot be used, or others may use it and this
    /// process cannot change that.
    pub fn claim(path: &Path) -> Result<Self> {
        Self::claim_within(path, PATIENCE)
    }

    fn claim_within(path: &Path, patience: Duration) -> Result<Self> {
        let fault = |error: std::io::Error| Error::file(path, error);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(fault)?;
        close_to_others(path)?;
        let name = path.join(LOCK);
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&name)
            .map_err(|error| Error::file(&name, error))?;
        take(path, &lock, patience)?;
        lock.set_len(0)
            .and_then(|()| lock.write_all(format!("process {}", std::process::id()).as_bytes()))
            .map_err(|error| Error::file(&name, error))?;
        Ok(Folder {
            path: path.to_owned(),
            _lock: Some(lock),
        })
    }

    /// Takes a folder that is there to look at it, and changes nothing in it.
    ///
    /// # Errors
    /// Those of [`Folder::claim`].
    pub(crate) fn look_at(path: &Path) -> Result<Self> {
        let name = path.join(LOCK);
        let lock = match File::open(&name) {
            Ok(lock) => Some(lock),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(Error::file(&name, error)),
        };
        if let Some(lock) = &lock {
            take(path, lock, PATIENCE)?;
        }
        Ok(Folder {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of this name in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Puts the names of its files on the disk.
    pub(crate) fn sync(&self) -> Result<()> {
        sync(&self.path).map_err(|error| Error::file(&self.path, error))
    }
}

/// Locks the file of the folder at `path`.
fn take(path: &Path, lock: &File, patience: Duration) -> Result<()> {
    let taken = take_within(patience, || match lock.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(Error::file(path.join(LOCK), error)),
    })?;
    if taken {
        return Ok(());
    }
    let mut holder = String::new();
    // What the file says is for people only.
    let _ = lock.take(64).read_to_string(&mut holder);
    let holder: String = holder.chars().filter(|c| !c.is_control()).collect();
    Err(Error::InUse {
        place: path.display().to_string(),
        holder: if holder.is_empty() {
            "which has not said its name".into()
        } else {
            holder
        },
    })
}

/// Sees that nobody but its owner can use a folder.
fn close_to_others(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path).map_err(|error| Error::file(path, error))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).map_err(|error| {
        let place = path.display();
        Error::file(
            path,
            format!("others may use it (mode {mode:03o}), and this cannot be changed ({error}); `chmod 700 {place}` as its owner"),
        )
    })?;
    tracing::warn!(folder = %path.display(), mode = format!("{mode:03o}"), "others could use the service's folder; it is its owner's only again");
    Ok(())
}

fn sync(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Writes a file called `name` in `folder`, for its owner only, or puts it in the place of one. It has its name only when it is whole, and is on the
/// disk then; until then it is called `part`, which nothing else may be.
///
/// # Errors
/// What the system says; what was called so before is still there then.
pub fn write_whole(folder: &Path, name: &str, part: &str, bytes: &[u8]) -> std::io::Result<()> {
    let part = folder.join(part);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&part, folder.join(name))?;
    sync(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_used_by_one_at_a_time() {
        let place = tempfile::tempdir().expect("folder");
        let path = place.path().join("service");
        let first = Folder::claim(&path).expect("free");
        let error = Folder::claim(&path).expect_err("in use").to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        let next = std::thread::scope(|scope| {
            let next = scope.spawn(|| Folder::claim_within(&path, Duration::from_secs(20)));
            std::thread::sleep(Duration::from_millis(100));
            drop(first);
            next.join().expect("no panic")
        });
        next.expect("free again within a moment");
    }

    #[test]
    fn a_folder_that_others_may_use_is_closed_to_them() {
        let place = tempfile::tempdir().expect("folder");
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o775)).expect("set");
        let mode = || {
            let metadata = std::fs::metadata(place.path()).expect("there");
            metadata.permissions().mode() & 0o777
        };
        drop(Folder::look_at(place.path()).expect("free"));
        assert_eq!(mode(), 0o775, "who looks changes nothing");
        drop(Folder::claim(place.path()).expect("free"));
        assert_eq!(mode(), 0o700);
    }

    #[test]
    fn a_file_is_there_whole_and_for_its_owner() {
        let place = tempfile::tempdir().expect("folder");
        for text in ["first, and long", "second"] {
            write_whole(place.path(), "file", "part", text.as_bytes()).expect("written");
            assert_eq!(
                std::fs::read_to_string(place.path().join("file")).expect("there"),
                text
            );
        }
        let mode = std::fs::metadata(place.path().join("file"))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!place.path().join("part").exists());
        // What cannot be written leaves what was there.
        std::fs::create_dir(place.path().join("part")).expect("made");
        write_whole(place.path(), "file", "part", b"third").expect_err("no file can be called so");
        assert_eq!(
            std::fs::read_to_string(place.path().join("file")).expect("there"),
            "second"
        );
    }
}

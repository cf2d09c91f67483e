//! The folder of a service, which one process at a time may use.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

const LOCK: &str = "service.lock";

/// A folder that this process alone uses, until this value is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Takes the folder at `path`, which is made where there is none, for its owner only.
    ///
    /// # Errors
    /// [`Error::InUse`] where another process has it, with that process's number; [`Error::File`] where it cannot be used.
    pub fn claim(path: &Path) -> Result<Self> {
        let fault = |error: std::io::Error| Error::file(path, error);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(fault)?;
        let name = path.join(LOCK);
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&name)
            .map_err(|error| Error::file(&name, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // What the file says is for people only.
                let _ = lock.take(64).read_to_string(&mut holder);
                let holder: String = holder.chars().filter(|c| !c.is_control()).collect();
                return Err(Error::InUse {
                    place: path.display().to_string(),
                    holder: if holder.is_empty() {
                        "which has not said its name".into()
                    } else {
                        holder
                    },
                });
            }
            Err(TryLockError::Error(error)) => return Err(Error::file(&name, error)),
        }
        lock.set_len(0)
            .and_then(|()| lock.write_all(format!("process {}", std::process::id()).as_bytes()))
            .map_err(|error| Error::file(&name, error))?;
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
        File::open(&self.path)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| Error::file(&self.path, error))
    }
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
        drop(first);
        Folder::claim(&path).expect("free again");
    }
}

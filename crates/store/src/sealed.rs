//! Files that only this party can read, in a folder of its own or of somebody else's.

use std::fs;
use std::path::{Path, PathBuf};

use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use crate::seal::{Seal, StoreKey};

/// A folder of files that are sealed under one key. Each is bound to what it is: one that was changed, cut short or put in another's place does not open.
pub struct Sealed {
    folder: PathBuf,
    seal: Seal,
}

impl Sealed {
    /// The folder at `path`, which is made if there is none.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be made.
    pub fn open(path: &Path, key: &StoreKey) -> Result<Self> {
        fs::create_dir_all(path).map_err(|error| Error::file(path, "cannot be made", &error))?;
        Ok(Sealed {
            folder: path.to_owned(),
            seal: Seal::new(key),
        })
    }

    /// Writes the file `name`, which is `what` it is, in place of one of that name. It outlasts a crash when this returns.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be written.
    pub fn write(&self, name: &str, what: &str, contents: &[u8]) -> Result<()> {
        self.seal.write(&self.folder, name, what.as_bytes(), &[contents])
    }

    /// The contents of the file `name`, which is `what` it is, of at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Storage`] if it is not there, is something else, or was changed.
    pub fn read(&self, name: &str, what: &str, most: usize) -> Result<Zeroizing<Vec<u8>>> {
        self.seal.read(&self.folder.join(name), what.as_bytes(), most)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) {
        // What cannot be removed is sealed, and of no use to anybody.
        let _ = fs::remove_file(self.folder.join(name));
    }
}

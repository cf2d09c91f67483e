//! What only this party can read, in a folder or an object store of its own or of somebody else's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote_session::{Error, Result, room};
use zeroize::Zeroizing;

use crate::objects::Objects;
use crate::seal::{Seal, StoreKey, sealed_length};

/// A place for what is sealed under one key. Each thing in it is bound to what it is: one that was changed, cut short or put in another's place does not open.
pub struct Sealed {
    place: Place,
    seal: Seal,
}

/// Where it lies.
enum Place {
    Folder(PathBuf),
    Objects(Objects),
}

/// What the names of variables begin with that are settings of stores.
const OF_STORES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

impl Sealed {
    /// In the folder at `path`, which is made if there is none.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be made.
    pub fn open(path: &Path, key: &StoreKey) -> Result<Self> {
        fs::create_dir_all(path).map_err(|error| Error::file(path, "cannot be made", &error))?;
        Ok(Sealed {
            place: Place::Folder(path.to_owned()),
            seal: Seal::new(key),
        })
    }

    /// In the object store at `url`, under the prefix `under` in it. What the store needs besides, such as credentials, comes from the environment. It answers each request
    /// within `deadline`.
    ///
    /// # Errors
    /// [`Error::Storage`] if no store is reached by such a URL, or settings of it are missing.
    pub fn in_store(url: &str, under: &str, deadline: Duration, key: &StoreKey) -> Result<Self> {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| OF_STORES.iter().any(|prefix| name.starts_with(prefix)));
        Ok(Sealed {
            place: Place::Objects(Objects::open(url, under, environment, deadline)?),
            seal: Seal::new(key),
        })
    }

    /// Writes `contents` under `name`, which is `what` it is, in place of what has that name. It outlasts a crash when this returns.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be written.
    pub fn write(&self, name: &str, what: &str, contents: &[u8]) -> Result<()> {
        match &self.place {
            Place::Folder(folder) => self.seal.write(folder, name, what.as_bytes(), &[contents]),
            Place::Objects(objects) => {
                let mut sealed = room::reserved("what is sealed", sealed_length(contents.len()))?;
                self.seal
                    .seal(what.as_bytes(), &[contents], &mut sealed)
                    .map_err(|error| Error::file(&objects.path(name), "cannot be sealed", &error))?;
                objects.write(name, sealed)
            }
        }
    }

    /// What lies under `name`, which is `what` it is, of at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Storage`] if it is not there, is something else, or was changed.
    pub fn read(&self, name: &str, what: &str, most: usize) -> Result<Zeroizing<Vec<u8>>> {
        match &self.place {
            Place::Folder(folder) => self.seal.read(&folder.join(name), what.as_bytes(), most),
            Place::Objects(objects) => {
                let (path, sealed) = (objects.path(name), objects.read(name, sealed_length(most))?);
                let source = (&*sealed, sealed.len() as u64);
                self.seal.unseal(&path, source, what.as_bytes())?.contents(most)
            }
        }
    }

    /// Removes what lies under `name`, if it is there. In an object store, which may take its time, it stays until all is removed.
    pub fn remove(&self, name: &str) {
        if let Place::Folder(folder) = &self.place {
            // What cannot be removed is sealed, and of no use to anybody.
            let _ = fs::remove_file(folder.join(name));
        }
    }

    /// Removes everything, as far as that is possible: what stays is of no use to anybody.
    pub fn remove_all(&self) {
        match &self.place {
            Place::Folder(folder) => drop(fs::remove_dir_all(folder)),
            Place::Objects(objects) => objects.remove_all(),
        }
    }
}

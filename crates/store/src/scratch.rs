//! What does not fit into memory, on the disk for as long as the process needs it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cenote_session::{Error, Result, room};
use zeroize::Zeroizing;

use crate::seal::{Seal, StoreKey, sealed_length};

/// A file without a name in a folder, which is to be on a disk of this machine: how much is written there, and where in the file, is not hidden. What is written is sealed
/// under a key that is only in the memory of this process. Its room is free again when this is dropped, or the process ends however. It is made when something is first
/// written.
pub struct Scratch {
    folder: PathBuf,
    /// What complaints call it.
    path: PathBuf,
    seal: Seal,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    file: Option<File>,
    /// Where it ends.
    end: u64,
}

/// Where in a scratch file something lies.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    at: u64,
    /// Bytes of it as they were before they were sealed.
    length: usize,
}

impl Scratch {
    /// One in the folder at `path`, which is made if there is none.
    pub fn within(path: &Path) -> Self {
        Scratch {
            folder: path.to_owned(),
            path: path.join("(a file for what does not fit into memory)"),
            seal: Seal::new(&StoreKey::generate().0),
            written: Mutex::default(),
        }
    }

    fn fault(&self, what: &str, error: &io::Error) -> Error {
        Error::file(&self.path, what, error)
    }

    /// Writes `contents` behind what is there.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::DiskFull`] with the folder, if it cannot be written.
    pub fn write(&self, contents: &[u8]) -> Result<Span> {
        let mut sealed = room::reserved("what is sealed", sealed_length(contents.len()))?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Written { file, end } = &mut *written;
        let at = *end;
        let mut write = || {
            self.seal.seal(&at.to_le_bytes(), &[contents], &mut sealed)?;
            let file = match file {
                Some(file) => file,
                None => {
                    std::fs::create_dir_all(&self.folder)?;
                    file.insert(tempfile::tempfile_in(&self.folder)?)
                }
            };
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&sealed)
        };
        write().map_err(|error| self.fault("cannot be written", &error))?;
        *end += sealed.len() as u64;
        Ok(Span {
            at,
            length: contents.len(),
        })
    }

    /// What lies in a span of it.
    ///
    /// # Errors
    /// [`Error::Storage`] with the folder, if it cannot be read, or was changed.
    pub fn read(&self, span: Span) -> Result<Zeroizing<Vec<u8>>> {
        let mut sealed = room::zeroed("what is sealed", sealed_length(span.length))?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let read = match &mut written.file {
            Some(file) => file
                .seek(SeekFrom::Start(span.at))
                .and_then(|_| file.read_exact(&mut sealed)),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        drop(written);
        read.map_err(|error| self.fault("cannot be read", &error))?;
        let source = (&*sealed, sealed.len() as u64);
        let label = span.at.to_le_bytes();
        self.seal
            .unseal(&self.path, source, &label)?
            .contents(span.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_in_any_order_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("scratch");
        let scratch = Scratch::within(&place);
        assert!(!place.exists(), "nothing was written");
        let contents =
            |length: usize| -> Vec<u8> { (0..length).map(|at| (at * length % 251) as u8).collect() };
        let lengths = [0, 1, 7, 300_000, 5];
        let spans = lengths.map(|length| scratch.write(&contents(length)).unwrap());
        for at in [4, 0, 3, 1, 2, 3] {
            assert!(*scratch.read(spans[at]).unwrap() == contents(lengths[at]), "{at}");
        }
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn what_was_changed_on_the_disk_does_not_open() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::within(folder.path());
        let [first, second] = [b"one", b"two"].map(|contents| scratch.write(contents).unwrap());
        let file_at = |at: u64| {
            let written = scratch.written.lock().unwrap();
            let mut file = written.file.as_ref().unwrap().try_clone().unwrap();
            file.seek(SeekFrom::Start(at)).unwrap();
            file
        };
        // In the place of another it is not what lies there.
        let mut sealed = vec![0; sealed_length(3)];
        file_at(first.at).read_exact(&mut sealed).unwrap();
        file_at(second.at).write_all(&sealed).unwrap();
        scratch.read(second).unwrap_err();
        assert_eq!(*scratch.read(first).unwrap(), b"one");
        let last = first.at + sealed.len() as u64 - 1;
        file_at(last).write_all(&[0xff]).unwrap();
        let error = scratch.read(first).unwrap_err().to_string();
        assert!(error.contains(&*folder.path().to_string_lossy()), "{error}");
    }
}

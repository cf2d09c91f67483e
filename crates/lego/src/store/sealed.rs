//! Encrypted and authenticated files (XChaCha20-Poly1305), written whole or not at all.
//!
//! A file is a mark, 16 random bytes and chunks. Every chunk is sealed by itself, so memory stays bounded, and bound to what
//! the file is, to its place in it, and to whether it is the last: a file that was changed, cut short, put together from
//! others or given another's name does not open. The form is that of the three-party stock's files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use cenote_primitives::Entropy;
use cenote_session::{Error, Result};
use chacha20poly1305::{AeadInOut, KeyInit, Tag, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

/// Marks the files, and the version of their form.
const MAGIC: [u8; 8] = *b"cnt lgo1";
/// The mark and the random part of the nonces.
const HEADER: usize = MAGIC.len() + SALT;
const SALT: usize = 16;
const TAG: usize = 16;
/// Plain bytes of every chunk but the last.
const CHUNK: usize = 1 << 18;
/// The end of the name of a file that is being written.
pub(super) const DRAFT: &str = ".new";

/// The key of a folder of material: 32 bytes that only this party knows.
///
/// `Debug` prints the type only; dropping it wipes it.
#[derive(Clone)]
pub struct StockKey(Zeroizing<[u8; 32]>);

impl StockKey {
    /// The key with these bytes, which must be random.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A fresh key, and its bytes to be kept.
    pub fn generate() -> (Self, Zeroizing<[u8; 32]>) {
        let bytes = Zeroizing::new(Entropy::os().bytes());
        (Self(bytes.clone()), bytes)
    }
}

impl std::fmt::Debug for StockKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StockKey")
    }
}

/// A complaint about a file or folder.
pub(super) fn fault(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::Storage(format!("{}: {what}", path.display()))
}

/// Seals and opens files under one key.
pub(super) struct Seal(XChaCha20Poly1305);

impl Seal {
    pub(super) fn new(key: &StockKey) -> Self {
        Self(XChaCha20Poly1305::new((&*key.0).into()))
    }

    /// Writes `contents` to the file `name` in `folder`, in place of one of that name if there is any. `label` says what the
    /// file is, and what it is of. When this returns, the file will outlast a crash; if it fails or is cut off, all is as
    /// before.
    pub(super) fn write(&self, folder: &Path, name: &str, label: &[u8], contents: &[u8]) -> Result<()> {
        let (path, draft) = (folder.join(name), folder.join(format!("{name}{DRAFT}")));
        let write = || -> io::Result<()> {
            let mut file = create(&draft)?;
            let mut salt = [0; SALT];
            Entropy::os().fill(&mut salt);
            file.write_all(&MAGIC)?;
            file.write_all(&salt)?;
            let mut buffer = Zeroizing::new(Vec::with_capacity(contents.len().min(CHUNK)));
            for (number, last, chunk) in chunks(contents) {
                buffer.clear();
                buffer.extend_from_slice(chunk);
                let label = labelled(label, number, last);
                let tag = self
                    .0
                    .encrypt_inout_detached(&nonce(&salt, number), &label, buffer.as_mut_slice().into())
                    .map_err(|_| io::Error::other("it is too long to be sealed"))?;
                file.write_all(&buffer)?;
                file.write_all(&tag)?;
            }
            file.sync_all()?;
            drop(file);
            fs::rename(&draft, &path)?;
            sync_folder(folder)
        };
        write().map_err(|error| {
            // What cannot be removed is cleared when the folder is opened next.
            let _ = fs::remove_file(&draft);
            fault(&path, format_args!("cannot be written: {error}"))
        })
    }

    /// The contents of the file at `path`, which must have at most `most` bytes.
    pub(super) fn read(&self, path: &Path, label: &[u8], most: usize) -> Result<Zeroizing<Vec<u8>>> {
        let unreadable = |error: io::Error| fault(path, format_args!("cannot be read: {error}"));
        let mut file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let found = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        let sealed = found.checked_sub(HEADER + TAG).map(|rest| rest + TAG);
        let (Some(sealed), true) = (sealed, metadata.is_file()) else {
            return Err(fault(
                path,
                format_args!("has {found} bytes: it is cut short or damaged"),
            ));
        };
        let count = sealed.div_ceil(CHUNK + TAG);
        if sealed < count * TAG || sealed - count * TAG > most {
            return Err(fault(path, format_args!("has {found} bytes: it is damaged")));
        }
        let mut header = [0; HEADER];
        file.read_exact(&mut header).map_err(unreadable)?;
        let (magic, salt) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(fault(path, "is no file of material, or of another version"));
        }
        let mut contents = Zeroizing::new(vec![0; sealed]);
        file.read_exact(&mut contents).map_err(unreadable)?;
        // Opened in place, then moved together over the tags.
        let mut length = 0;
        for number in 0..count {
            let start = number * (CHUNK + TAG);
            let end = (start + CHUNK + TAG).min(sealed);
            let (text, tag) = contents[start..end].split_at_mut(end - start - TAG.min(end - start));
            let opened = Tag::try_from(&*tag).is_ok_and(|tag| {
                let label = labelled(label, number as u64, number + 1 == count);
                let nonce = nonce(salt, number as u64);
                self.0
                    .decrypt_inout_detached(&nonce, &label, text.into(), &tag)
                    .is_ok()
            });
            if !opened {
                return Err(fault(
                    path,
                    "is damaged, not what its name says, or sealed under another key",
                ));
            }
            contents.copy_within(start..end - TAG, length);
            length += end - TAG - start;
        }
        contents.truncate(length);
        Ok(contents)
    }
}

/// Number of each chunk, whether it is the last, and what it has; there is at least one.
fn chunks(contents: &[u8]) -> impl Iterator<Item = (u64, bool, &[u8])> {
    let count = contents.len().div_ceil(CHUNK).max(1);
    (0..count).map(move |number| {
        let start = number * CHUNK;
        (
            number as u64,
            number + 1 == count,
            &contents[start..contents.len().min(start + CHUNK)],
        )
    })
}

fn labelled(label: &[u8], number: u64, last: bool) -> Vec<u8> {
    [&MAGIC[..], &number.to_le_bytes(), &[last.into()], label].concat()
}

fn nonce(salt: &[u8], chunk: u64) -> XNonce {
    let mut bytes = [0; 24];
    bytes[..SALT].copy_from_slice(salt);
    bytes[SALT..].copy_from_slice(&chunk.to_le_bytes());
    bytes.into()
}

/// A file for its owner only, empty.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes renames and removals in `folder` outlast a crash.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened as files, and their changes are journaled.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_open_as_what_they_are_only() {
        let folder = tempfile::tempdir().unwrap();
        let seal = Seal::new(&StockKey::from_bytes([1; 32]));
        let path = folder.path().join("file");
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let contents: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            seal.write(folder.path(), "file", b"this", &contents).unwrap();
            assert!(
                *seal.read(&path, b"this", length).unwrap() == contents,
                "{length}"
            );
            assert!(
                length == 0 || seal.read(&path, b"this", length - 1).is_err(),
                "too long"
            );
            assert!(seal.read(&path, b"that", length).is_err());
            let other = Seal::new(&StockKey::from_bytes([2; 32]));
            assert!(other.read(&path, b"this", length).is_err());
            let bytes = fs::read(&path).unwrap();
            for cut in [0, HEADER, bytes.len() - 1, HEADER + CHUNK + TAG] {
                if cut < bytes.len() {
                    fs::write(&path, &bytes[..cut]).unwrap();
                    assert!(
                        seal.read(&path, b"this", length).is_err(),
                        "{length} cut to {cut}"
                    );
                }
            }
            for at in [0, MAGIC.len(), HEADER, bytes.len() - 1] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1;
                fs::write(&path, damaged).unwrap();
                assert!(
                    seal.read(&path, b"this", length).is_err(),
                    "{length} damaged at {at}"
                );
            }
        }
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no drafts are left"
        );
    }
}

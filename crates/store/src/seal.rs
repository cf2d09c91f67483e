//! What is encrypted and authenticated: files, written whole or not at all, and objects elsewhere.
//!
//! A file is a mark, 19 random bytes, and chunks of 256 KiB sealed by the STREAM construction over XChaCha20-Poly1305 (Hoang,
//! Reyhanitabar, Rogaway, Vizár 2015), so memory stays bounded while it is read. Each chunk is bound to what the file is (its
//! *label*), to its place in the file, and to whether it is the last: a file that was changed, cut short, put together from others or
//! given another's name does not open.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use aead_stream::{NewStream, StreamBE32, StreamPrimitive};
use cenote_primitives::Entropy;
use cenote_session::{Error, Result, room};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use zeroize::Zeroizing;

use crate::durable::write_whole;

type Stream = StreamBE32<XChaCha20Poly1305>;

/// Marks the files, and the version of their form.
pub(crate) const MAGIC: [u8; 8] = *b"cnt str2";
/// The random part of the nonces.
const PREFIX: usize = 19;
pub(crate) const HEADER: usize = MAGIC.len() + PREFIX;
pub(crate) const TAG: usize = 16;
/// Plain bytes of every chunk but the last.
pub(crate) const CHUNK: usize = 1 << 18;
/// The key of a folder: 32 bytes that only this party knows.
///
/// `Debug` prints the type only; dropping it wipes it.
#[derive(Clone)]
pub struct StoreKey(Zeroizing<[u8; 32]>);

impl StoreKey {
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

impl std::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreKey")
    }
}

/// A complaint about a file or folder.
pub(crate) fn fault(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::Storage(format!("{}: {what}", path.display()))
}

/// Seals and opens files under one key.
pub(crate) struct Seal(XChaCha20Poly1305);

impl Seal {
    pub(crate) fn new(key: &StoreKey) -> Self {
        Self(XChaCha20Poly1305::new((&*key.0).into()))
    }

    fn stream(&self, prefix: &[u8; PREFIX]) -> Stream {
        Stream::from_aead(self.0.clone(), prefix.into())
    }

    /// Writes the sealed form of the concatenation of `pieces` to `out`.
    pub(crate) fn seal(&self, label: &[u8], pieces: &[&[u8]], out: &mut dyn Write) -> io::Result<()> {
        let prefix = Entropy::os().bytes();
        out.write_all(&MAGIC)?;
        out.write_all(&prefix)?;
        let stream = self.stream(&prefix);
        let (total, mut source): (usize, _) = (pieces.iter().map(|piece| piece.len()).sum(), pieces.to_vec());
        let mut buffer = Zeroizing::new(Vec::with_capacity(CHUNK.min(total) + TAG));
        for (position, last) in positions(total.div_ceil(CHUNK))? {
            buffer.clear();
            gather(&mut source, &mut buffer);
            stream
                .encrypt_in_place(position, last, label, &mut *buffer)
                .map_err(|_| io::Error::other("it is too long to be sealed"))?;
            out.write_all(&buffer)?;
        }
        Ok(())
    }

    /// Writes the concatenation of `pieces` to the file `name` in `folder`, in place of one of that name if there is any. When
    /// this returns, the file will outlast a crash; if it fails or is cut off, all is as before.
    pub(crate) fn write(&self, folder: &Path, name: &str, label: &[u8], pieces: &[&[u8]]) -> Result<()> {
        let write = |file: &mut File| self.seal(label, pieces, file);
        write_whole(folder, name, write)
            .map_err(|error| Error::file(&folder.join(name), "cannot be written", &error))
    }

    /// Opens the file at `path` for reading.
    pub(crate) fn open<'a>(&self, path: &'a Path, label: &'a [u8]) -> Result<Reader<'a, File>> {
        let unreadable = |error: io::Error| fault(path, format_args!("cannot be read: {error}"));
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(fault(path, "is not a file"));
        }
        self.unseal(path, (file, metadata.len()), label)
    }

    /// Opens what `source` gives, all of it `found` bytes. It lies at `path`, which may be that of an object elsewhere.
    pub(crate) fn unseal<'a, R: Read>(
        &self,
        path: &'a Path,
        (mut source, found): (R, u64),
        label: &'a [u8],
    ) -> Result<Reader<'a, R>> {
        let unreadable = |error: io::Error| fault(path, format_args!("cannot be read: {error}"));
        let damaged = || {
            fault(
                path,
                format_args!("has {found} bytes: it is cut short or damaged"),
            )
        };
        let mut header = [0; HEADER];
        if found < HEADER as u64 {
            return Err(damaged());
        }
        source.read_exact(&mut header).map_err(unreadable)?;
        let (magic, prefix) = header.split_first_chunk().expect("a header begins with a mark");
        if *magic != MAGIC {
            return Err(fault(path, "is no file of stock, or of another version"));
        }
        let sealed = found - HEADER as u64;
        let count = sealed.div_ceil((CHUNK + TAG) as u64);
        let length = sealed.checked_sub(count * TAG as u64);
        let (Some(length), 1..) = (length, count) else {
            return Err(damaged());
        };
        let positions = positions(usize::try_from(count).map_err(|_| damaged())?).map_err(unreadable)?;
        Ok(Reader {
            path,
            source,
            label,
            stream: self.stream(prefix.try_into().expect("the rest of the header")),
            length,
            left: length,
            positions: Box::new(positions),
            buffer: Zeroizing::default(),
        })
    }

    /// The contents of the file at `path`, which must have at most `most` bytes.
    pub(crate) fn read(&self, path: &Path, label: &[u8], most: usize) -> Result<Zeroizing<Vec<u8>>> {
        self.open(path, label)?.contents(most)
    }

    /// Opens the file at `path`, whose contents must exactly fill `spaces`, one after the other. What an error leaves in
    /// them is to be wiped.
    pub(crate) fn read_into(&self, path: &Path, label: &[u8], spaces: &mut [&mut [u8]]) -> Result<()> {
        let mut reader = self.open(path, label)?;
        let expected: usize = spaces.iter().map(|space| space.len()).sum();
        if reader.length != expected as u64 {
            let what = format!(
                "holds {} bytes instead of {expected}: it is cut short, damaged, or of other parameters",
                reader.length
            );
            return Err(fault(path, what));
        }
        let mut spaces = spaces.iter_mut();
        let mut space: &mut [u8] = &mut [];
        while let Some(mut chunk) = reader.chunk()? {
            while !chunk.is_empty() {
                if space.is_empty() {
                    let Some(next) = spaces.next() else { break };
                    space = next;
                }
                let count = space.len().min(chunk.len());
                let (now, later) = std::mem::take(&mut space).split_at_mut(count);
                now.copy_from_slice(&chunk[..count]);
                (space, chunk) = (later, &chunk[count..]);
            }
        }
        Ok(())
    }
}

/// The length of the sealed form of so many bytes.
pub(crate) fn sealed_length(plain: usize) -> usize {
    HEADER + plain + TAG * plain.div_ceil(CHUNK).max(1)
}

/// Something sealed that is being read, chunk by chunk.
pub(crate) struct Reader<'a, R> {
    path: &'a Path,
    source: R,
    label: &'a [u8],
    stream: Stream,
    /// Plain bytes of all of it.
    length: u64,
    left: u64,
    positions: Box<dyn Iterator<Item = (u32, bool)>>,
    buffer: Zeroizing<Vec<u8>>,
}

impl<R: Read> Reader<'_, R> {
    /// All of it, which must be at most `most` bytes.
    pub(crate) fn contents(mut self, most: usize) -> Result<Zeroizing<Vec<u8>>> {
        if self.length > most as u64 {
            let what = format!(
                "holds {} bytes instead of at most {most}: it is damaged",
                self.length
            );
            return Err(fault(self.path, what));
        }
        let mut contents = room::empty("stored material", self.length as usize)?;
        while let Some(chunk) = self.chunk()? {
            contents.extend_from_slice(chunk);
        }
        Ok(contents)
    }

    /// The next chunk, or `None` after the last.
    pub(crate) fn chunk(&mut self) -> Result<Option<&[u8]>> {
        let Some((position, last)) = self.positions.next() else {
            return Ok(None);
        };
        let plain = self.left.min(CHUNK as u64);
        self.left -= plain;
        self.buffer.resize(plain as usize + TAG, 0);
        self.source
            .read_exact(&mut self.buffer)
            .map_err(|error| fault(self.path, format_args!("cannot be read: {error}")))?;
        self.stream
            .decrypt_in_place(position, last, self.label, &mut *self.buffer)
            .map_err(|_| {
                let what = "is damaged, not what its name says, or sealed under another key";
                fault(self.path, what)
            })?;
        Ok(Some(&self.buffer))
    }
}

/// The position of each of `count` chunks, of which there is at least one, and whether it is the last.
fn positions(count: usize) -> io::Result<impl Iterator<Item = (u32, bool)>> {
    let last = u32::try_from(count.max(1) - 1).map_err(|_| io::Error::other("it is too long"))?;
    Ok((0..=last).map(move |position| (position, position == last)))
}

/// Moves the next bytes of `source`, at most a chunk, to `buffer`.
fn gather(source: &mut [&[u8]], buffer: &mut Vec<u8>) {
    for piece in source {
        let (now, later) = piece.split_at(piece.len().min(CHUNK - buffer.len()));
        buffer.extend_from_slice(now);
        *piece = later;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::durable::sync_folder;

    #[test]
    fn files_open_as_what_they_are_only() {
        let folder = tempfile::tempdir().unwrap();
        let seal = Seal::new(&StoreKey::from_bytes([1; 32]));
        let path = folder.path().join("file");
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let contents: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let refused = |seal: &Seal, label: &[u8], most: usize, what: &str| {
                let error = seal.read(&path, label, most).unwrap_err();
                assert!(matches!(error, Error::Storage(_)), "{length} {what}: {error}");
                assert!(error.to_string().contains("file"), "{length} {what}: {error}");
            };
            let (first, second) = contents.split_at(length / 3);
            seal.write(folder.path(), "file", b"this", &[first, &[], second])
                .unwrap();
            assert!(
                *seal.read(&path, b"this", length).unwrap() == contents,
                "{length}"
            );
            let mut spaces = [vec![0; length / 2], vec![0; length - length / 2]];
            let [first, second] = &mut spaces;
            seal.read_into(&path, b"this", &mut [first, second]).unwrap();
            assert!(spaces.concat() == contents, "{length}");
            let mut more = vec![0; length + 1];
            seal.read_into(&path, b"this", &mut [&mut more]).unwrap_err();
            if length > 0 {
                refused(&seal, b"this", length - 1, "longer than allowed");
            }
            refused(&seal, b"that", length, "under another label");
            let other = Seal::new(&StoreKey::from_bytes([2; 32]));
            refused(&other, b"this", length, "under another key");
            let bytes = fs::read(&path).unwrap();
            for cut in [0, HEADER, bytes.len() - 1, HEADER + CHUNK + TAG] {
                if cut < bytes.len() {
                    fs::write(&path, &bytes[..cut]).unwrap();
                    refused(&seal, b"this", length, &format!("cut to {cut}"));
                }
            }
            for at in [0, MAGIC.len(), HEADER, bytes.len() - 1] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1;
                fs::write(&path, damaged).unwrap();
                refused(&seal, b"this", length, &format!("damaged at {at}"));
            }
        }
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 1, "no drafts are left");
    }

    /// A system that cannot promise that a rename outlasts a crash gets no stock.
    #[cfg(target_os = "linux")]
    #[test]
    fn folders_that_cannot_be_flushed_are_refused() {
        let error = sync_folder(Path::new("/proc/self/task")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(sync_folder(tempfile::tempdir().unwrap().path()).is_ok());
    }
}

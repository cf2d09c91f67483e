//! Encrypted and authenticated files (XChaCha20-Poly1305), written at once or not at all.
//!
//! A file is a header and chunks. Each chunk is sealed by itself, so memory stays bounded, and bound to what the file
//! is ([`Label`]), to its place in the file, and to whether it is the last: a file that was changed, cut short, put
//! together from others or given another's name does not open. The nonce of a chunk is 16 random bytes of the file and the
//! chunk's number.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use cenote_primitives::Entropy;
use cenote_session::{Error, Result};
use chacha20poly1305::{AeadInOut, KeyInit, Tag, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::epoch::EpochId;

/// Marks the files, and the version of their form.
const MAGIC: [u8; 8] = *b"cnt stk1";
/// The mark and the random part of the nonces.
const HEADER: usize = MAGIC.len() + 16;
const TAG: usize = 16;
/// Plain bytes of every chunk but the last.
const CHUNK: usize = 1 << 18;
/// The longest file that is read without knowing its length.
const MAX_SMALL: usize = 4 << 10;

/// The key of a stock folder: 32 bytes that only this party knows.
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

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// Shows that a folder's key is the right one.
    KeyCheck,
    /// The description and the factor keys of an epoch.
    Epoch(EpochId),
    /// A batch of an epoch.
    Batch(EpochId, u8, u32),
}

impl Label {
    fn bytes(self, chunk: u64, last: bool) -> [u8; 64] {
        let (kind, epoch, worker, serial) = match self {
            Label::KeyCheck => (0, EpochId([0; 32]), 0, 0),
            Label::Epoch(epoch) => (1, epoch, 0, 0),
            Label::Batch(epoch, worker, serial) => (2, epoch, worker, serial),
        };
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..40].copy_from_slice(&epoch.0);
        bytes[40] = kind;
        bytes[41] = worker;
        bytes[42] = last.into();
        bytes[44..48].copy_from_slice(&serial.to_le_bytes());
        bytes[48..56].copy_from_slice(&chunk.to_le_bytes());
        bytes
    }
}

/// A complaint about a file.
pub(super) fn fault(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::Storage(format!("{}: {what}", path.display()))
}

/// Seals and opens files under one key.
pub(super) struct Seal(XChaCha20Poly1305);

impl Seal {
    pub(super) fn new(key: &StockKey) -> Self {
        Self(XChaCha20Poly1305::new((&*key.0).into()))
    }

    /// Writes the concatenation of `parts` to the file `name` in `folder`, which must not exist. When this returns, the file
    /// will outlast a crash; if it fails or is cut off, there is no file of that name.
    pub(super) fn write(&self, folder: &Path, name: &str, label: Label, parts: &[&[u8]]) -> Result<()> {
        let (path, draft) = (folder.join(name), folder.join(format!("{name}{DRAFT}")));
        let write = || -> io::Result<()> {
            let mut file = create(&draft)?;
            let mut salt = [0; 16];
            Entropy::os().fill(&mut salt);
            file.write_all(&MAGIC)?;
            file.write_all(&salt)?;
            let total: usize = parts.iter().map(|part| part.len()).sum();
            let mut source = Pieces(parts.to_vec());
            let mut buffer = Zeroizing::new(Vec::with_capacity(total.min(CHUNK) + TAG));
            for (number, length) in chunks(total) {
                buffer.resize(length, 0);
                source.read_exact(&mut buffer)?;
                let label = label.bytes(number, is_last(number, total));
                let tag = self
                    .0
                    .encrypt_inout_detached(&nonce(&salt, number), &label, buffer.as_mut_slice().into())
                    .map_err(|_| io::Error::other("it is too long to be sealed"))?;
                buffer.extend_from_slice(&tag);
                file.write_all(&buffer)?;
            }
            file.sync_all()?;
            drop(file);
            if path.exists() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(&draft, &path)?;
            sync_folder(folder)
        };
        write().map_err(|error| {
            // What cannot be removed is cleared when the folder is opened next.
            let _ = fs::remove_file(&draft);
            Error::file(&path, "cannot be written", &error)
        })
    }

    /// Opens the file at `path`, whose contents must exactly fill `parts`, one after the other. What an error leaves in
    /// them is to be wiped.
    pub(super) fn read(&self, path: &Path, label: Label, parts: &mut [&mut [u8]]) -> Result<()> {
        let (mut file, found) = open(path)?;
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let expected = HEADER + total + chunks(total).count() * TAG;
        if found != expected as u64 {
            let what = format!(
                "has {found} bytes instead of {expected}: it is cut short, damaged, or of other parameters"
            );
            return Err(fault(path, what));
        }
        let salt = header(path, &mut file)?;
        let mut target = Spaces(parts);
        let mut buffer = Zeroizing::new(Vec::with_capacity(total.min(CHUNK) + TAG));
        for (number, length) in chunks(total) {
            buffer.resize(length + TAG, 0);
            let place = (number, is_last(number, total));
            self.open_chunk((path, &mut file), &salt, label, place, &mut buffer)?;
            target.write(&buffer[..length]);
        }
        Ok(())
    }

    /// Opens a file of at most 4 KiB.
    pub(super) fn read_small(&self, path: &Path, label: Label) -> Result<Zeroizing<Vec<u8>>> {
        let (mut file, found) = open(path)?;
        let sealed = usize::try_from(found).unwrap_or(usize::MAX);
        if !(HEADER + TAG..=HEADER + TAG + MAX_SMALL).contains(&sealed) {
            return Err(fault(
                path,
                format!("has {found} bytes: it is cut short or damaged"),
            ));
        }
        let salt = header(path, &mut file)?;
        let mut buffer = Zeroizing::new(vec![0; sealed - HEADER]);
        self.open_chunk((path, &mut file), &salt, label, (0, true), &mut buffer)?;
        buffer.truncate(sealed - HEADER - TAG);
        Ok(buffer)
    }

    /// Reads a chunk with its tag and decrypts it in place.
    fn open_chunk(
        &self,
        (path, file): (&Path, &mut File),
        salt: &[u8; 16],
        label: Label,
        (number, last): (u64, bool),
        buffer: &mut [u8],
    ) -> Result<()> {
        file.read_exact(buffer)
            .map_err(|error| fault(path, format_args!("cannot be read: {error}")))?;
        let (text, tag) = buffer.split_at_mut(buffer.len() - TAG);
        let tag = Tag::try_from(&*tag).expect("a tag has 16 bytes");
        self.0
            .decrypt_inout_detached(
                &nonce(salt, number),
                &label.bytes(number, last),
                text.into(),
                &tag,
            )
            .map_err(|_| {
                fault(
                    path,
                    "is damaged, not what its name says, or sealed under another key",
                )
            })
    }
}

/// The end of the name of a file that is being written.
pub(super) const DRAFT: &str = ".new";

/// Number and length of each chunk of `total` bytes; there is at least one.
fn chunks(total: usize) -> impl Iterator<Item = (u64, usize)> {
    let count = total.div_ceil(CHUNK).max(1);
    (0..count).map(move |number| (number as u64, CHUNK.min(total - number * CHUNK)))
}

fn is_last(number: u64, total: usize) -> bool {
    number + 1 == total.div_ceil(CHUNK).max(1) as u64
}

fn nonce(salt: &[u8; 16], chunk: u64) -> XNonce {
    let mut bytes = [0; 24];
    bytes[..16].copy_from_slice(salt);
    bytes[16..].copy_from_slice(&chunk.to_le_bytes());
    bytes.into()
}

/// Reads slices one after the other.
struct Pieces<'a>(Vec<&'a [u8]>);

impl Pieces<'_> {
    fn read_exact(&mut self, mut out: &mut [u8]) -> io::Result<()> {
        for piece in &mut self.0 {
            let count = piece.len().min(out.len());
            let (now, later) = piece.split_at(count);
            out[..count].copy_from_slice(now);
            out = &mut out[count..];
            *piece = later;
        }
        if out.is_empty() {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

/// Fills slices one after the other.
struct Spaces<'a, 'b>(&'a mut [&'b mut [u8]]);

impl Spaces<'_, '_> {
    fn write(&mut self, mut bytes: &[u8]) {
        for space in self.0.iter_mut() {
            let whole = std::mem::take(space);
            let count = bytes.len().min(whole.len());
            let (now, later) = whole.split_at_mut(count);
            now.copy_from_slice(&bytes[..now.len()]);
            bytes = &bytes[now.len()..];
            *space = later;
        }
    }
}

fn open(path: &Path) -> Result<(File, u64)> {
    let open = || -> io::Result<(File, u64)> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        Ok((file, metadata.len()))
    };
    open().map_err(|error| fault(path, format_args!("cannot be opened: {error}")))
}

fn header(path: &Path, file: &mut File) -> Result<[u8; 16]> {
    let mut header = [0; HEADER];
    file.read_exact(&mut header)
        .map_err(|error| fault(path, format_args!("cannot be read: {error}")))?;
    let (magic, salt) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(fault(path, "is no file of stock, or of another version"));
    }
    Ok(salt.try_into().expect("the rest of the header"))
}

/// A file for its owner only, empty.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes renames and removals in `folder` outlast a crash, or fails.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return File::open(folder)?.sync_all();
    // Elsewhere folders cannot be opened as files, and what their changes outlast is not promised.
    #[cfg(not(unix))]
    {
        let _ = folder;
        Err(io::ErrorKind::Unsupported.into())
    }
}

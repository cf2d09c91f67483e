//! The files of a ledger: its lock, and writes that outlast a crash.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use cenote_session::{Error, Result};
use cenote_store::durable;

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

/// Makes the folder if there is none, and locks it.
pub(super) fn claim(path: &Path) -> Result<File> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(path);
    made.map_err(|error| Error::file(path, "the ledger's folder cannot be made", &error))?;
    let locked = durable::lock(&path.join(LOCK), PATIENCE)
        .map_err(|error| Error::file(path, "the ledger cannot be locked", &error))?;
    locked.ok_or_else(|| {
        fault(
            path,
            "another coordinator has this ledger open; wait until it has ended",
        )
    })
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
    durable::create(path).map_err(|error| Error::file(path, "cannot be made", &error))
}

/// The file at `path`, to be written on from byte `from`; what follows that is cut off.
pub(super) fn append_from(path: &Path, from: u64) -> Result<File> {
    let open = || {
        let mut file = durable::options().open(path)?;
        file.set_len(from)?;
        file.seek(SeekFrom::Start(from))?;
        file.sync_all()?;
        Ok(file)
    };
    open().map_err(|error: io::Error| Error::file(path, "cannot be opened for writing", &error))
}

/// Writes a file called `name` in `folder`, or puts it in the place of one. It has its name only when it is whole, and is on the disk then.
pub(super) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let written = durable::write_whole(folder, name, |file| file.write_all(bytes));
    written.map_err(|error| Error::file(&folder.join(name), "cannot be written", &error))
}

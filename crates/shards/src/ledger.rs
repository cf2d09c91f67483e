//! What a coordinator must not forget: a folder with the job that was begun, and every attempt that was handed out.
//!
//! `job` says which job was begun under which name, and its coin; it is written as a whole. The file `attempts-…` of that name has a line for each
//! attempt that is handed out, is done, is lost or failed a check. Every line is on the disk before anybody hears of what it says. A crash may leave the
//! last line unfinished; such a line is dropped. Other damage is an error, since a line that is forgotten could have an attempt made twice.

mod files;
mod line;

use std::fs::File;
use std::path::{Path, PathBuf};

use cenote_session::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::book::{Book, Entry, State};
use crate::{Job, JobName, Piece};
pub(crate) use files::Disk;

/// Puts something between a ledger and its file.
pub(crate) type Wrap = Box<dyn Fn(File) -> Box<dyn Disk> + Send>;

/// The file that says which job was begun.
const JOB: &str = "job";

/// One party's record of the attempts at a job. While it is open, no other process can open it.
pub struct Ledger {
    path: PathBuf,
    job: Job,
    begun: Option<Begun>,
    book: Book,
    /// Where lines are written, and how many there are; nothing before a job has begun, or after a line could not be written.
    lines: Option<(Box<dyn Disk>, u64)>,
    /// What stands between this and the disk.
    disk: Wrap,
    /// Held until the ledger is dropped.
    _lock: File,
}

/// A job that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) name: JobName,
    pub(crate) coin: [u8; 32],
    /// Attempts that had been handed out before under other names.
    pub(crate) before: u32,
    /// A digest of this party's keys.
    pub(crate) keys: [u8; 32],
}

/// What the file of the job holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    /// A digest of the terms.
    terms: String,
    shards: u32,
    attempts: u32,
    name: String,
    coin: String,
    before: u32,
    keys: String,
}

/// Of the files.
const VERSION: u32 = 1;

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ledger({})", self.path.display())
    }
}

impl Ledger {
    /// Opens the folder at `path`, which is made if there is none, for this job.
    ///
    /// # Errors
    /// [`Error::Storage`] if another process has it open, it is the ledger of another job, or its files are damaged or cannot be read or written.
    pub fn open(path: &Path, job: &Job) -> Result<Self> {
        let lock = files::claim(path)?;
        let mut ledger = Self {
            path: path.to_owned(),
            job: job.clone(),
            begun: None,
            book: Book::new(job, 0),
            lines: None,
            disk: Box::new(|file| Box::new(file)),
            _lock: lock,
        };
        if let Some(begun) = ledger.read_job()? {
            ledger.read_lines(&begun)?;
            ledger.begun = Some(begun);
        }
        Ok(ledger)
    }

    /// The same, with something between it and the disk.
    #[cfg(test)]
    pub(crate) fn over(mut self, disk: Wrap) -> Self {
        self.disk = disk;
        if let Some(begun) = self.begun.clone() {
            self.read_lines(&begun).expect("it was read before");
        }
        self
    }

    /// Whether a job was begun in the ledger at `path`.
    ///
    /// # Errors
    /// If the disk cannot tell.
    pub fn has_begun(path: &Path) -> std::io::Result<bool> {
        path.join(JOB).try_exists()
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The name under which the job was begun, if it was.
    pub fn name(&self) -> Option<JobName> {
        self.begun.as_ref().map(|begun| begun.name)
    }

    /// What was begun.
    pub(crate) fn begun(&self) -> Option<&Begun> {
        self.begun.as_ref()
    }

    /// What was handed out.
    pub(crate) fn book(&self) -> &Book {
        &self.book
    }

    /// The attempt at a piece that counts, if one does.
    pub(crate) fn done(&self, piece: Piece) -> Option<u32> {
        let count = self.book.count(piece);
        (count.state == State::Done).then_some(count.last)
    }

    /// Begins the job under a new name. What was recorded under another one stays in its file.
    pub(crate) fn begin(&mut self, begun: Begun) -> Result<()> {
        let path = self.lines_of(&begun.name);
        self.lines = None;
        let file = files::create(&path)?;
        files::write_whole(&self.path, JOB, self.write_job(&begun).as_bytes())?;
        self.lines = Some(((self.disk)(file), 0));
        self.book = Book::new(&self.job, begun.before);
        self.begun = Some(begun);
        Ok(())
    }

    /// Notes what follows from what was noted before. It is on the disk when this returns.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::DiskFull`] if it cannot be written: nothing more can be noted then.
    pub(crate) fn note(&mut self, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let gone = || Error::Storage(format!("{}: could not be written before", self.path.display()));
        let name = self.begun.as_ref().map(|begun| begun.name).ok_or_else(gone)?;
        let (mut disk, mut count) = self.lines.take().ok_or_else(gone)?;
        let mut text = String::new();
        for &entry in entries {
            self.book.note(entry).map_err(Error::Internal)?;
            text.push_str(&line::write(&name, count, entry));
            count += 1;
        }
        let path = self.lines_of(&name);
        let written = disk.append(text.as_bytes());
        written.map_err(|error| Error::file(&path, "cannot be written", &error))?;
        self.lines = Some((disk, count));
        Ok(())
    }

    /// The file of the lines.
    fn lines_of(&self, name: &JobName) -> PathBuf {
        self.path.join(format!("attempts-{}", &name.to_string()[..16]))
    }

    fn write_job(&self, begun: &Begun) -> String {
        let written = Written {
            version: VERSION,
            terms: hex::encode(digest(&self.job)),
            shards: self.job.shards(),
            attempts: self.job.attempts(),
            name: begun.name.to_string(),
            coin: hex::encode(begun.coin),
            before: begun.before,
            keys: hex::encode(begun.keys),
        };
        let text = serde_json::to_string(&written).expect("it has texts and numbers only");
        format!("{text}\n{}\n", line::seal(text.as_bytes()))
    }

    /// The job that was begun, if one was.
    fn read_job(&self) -> Result<Option<Begun>> {
        let path = self.path.join(JOB);
        let Some(text) = files::read(&path, 4 << 10)? else {
            return Ok(None);
        };
        let damaged = || {
            files::fault(
                &path,
                "is damaged; keep it, and begin the job anew with another folder",
            )
        };
        let text = String::from_utf8(text).map_err(|_| damaged())?;
        let (body, seal) = text.split_once('\n').ok_or_else(damaged)?;
        if seal.strip_suffix('\n') != Some(line::seal(body.as_bytes()).as_str()) {
            return Err(damaged());
        }
        let written: Written = serde_json::from_str(body).map_err(|_| damaged())?;
        let pairs = [
            ("version", VERSION.to_string(), written.version.to_string()),
            (
                "shards",
                self.job.shards().to_string(),
                written.shards.to_string(),
            ),
            (
                "attempts",
                self.job.attempts().to_string(),
                written.attempts.to_string(),
            ),
            ("terms", hex::encode(digest(&self.job)), written.terms),
        ];
        if let Some((what, ours, theirs)) = pairs.iter().find(|(_, ours, theirs)| ours != theirs) {
            let what = format!(
                "is the ledger of another job ({what}: {theirs} there, {ours} here); use another folder"
            );
            return Err(files::fault(&self.path, what));
        }
        let bytes = |text: &str| {
            let mut bytes = [0; 32];
            hex::decode_to_slice(text, &mut bytes).map_err(|_| damaged())?;
            Ok::<_, Error>(bytes)
        };
        Ok(Some(Begun {
            name: JobName(bytes(&written.name)?),
            coin: bytes(&written.coin)?,
            before: written.before,
            keys: bytes(&written.keys)?,
        }))
    }

    /// Reads the lines of a job that was begun, and drops what a crash left of one at their end.
    fn read_lines(&mut self, begun: &Begun) -> Result<()> {
        let path = self.lines_of(&begun.name);
        let most = line::BYTES * 4 * crate::job::MOST_ATTEMPTS as usize;
        let bytes = files::read(&path, most)?.ok_or_else(|| files::fault(&path, "is missing"))?;
        let entries = line::read_all(&begun.name, &bytes).map_err(|what| files::fault(&path, what))?;
        let mut book = Book::new(&self.job, begun.before);
        for (at, &entry) in entries.iter().enumerate() {
            let noted = book.note(entry);
            noted.map_err(|what| files::fault(&path, format!("line {} is wrong: {what}", at + 1)))?;
        }
        let whole = (entries.len() * line::BYTES) as u64;
        if whole < bytes.len() as u64 {
            tracing::warn!(path = %path.display(), "the last line was not finished, and is dropped");
        }
        let file = files::append_from(&path, whole)?;
        self.lines = Some(((self.disk)(file), entries.len() as u64));
        self.book = book;
        Ok(())
    }
}

/// What tells the terms of a job from others.
fn digest(job: &Job) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("cenote 2026 shards terms");
    for text in job.all_terms().iter().flat_map(|(name, value)| [name, value]) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests;

//! The audit log: who proposed, approved and learnt what and when, and which checks failed. It only grows, and its lines are chained.
//!
//! # Form
//! A text file with a line of JSON for each event. A line begins with its number (from 1), the time and the event, and ends with
//! `"previous"`, the hash of the line before, and `"hash"`, which is BLAKE3 over all of the line before the comma of `"hash"`. The first
//! line names the log by a random number, so that no line fits into another log. Nobody can change, insert or remove a line without
//! the hashes of all lines after it; and the hash of the last one is in the database, so that a file that was cut off or rewritten to
//! its end is noticed too.
//!
//! # Power loss
//! A line is recorded in the database, in the transaction of what it tells of, and only then written to the file. From time to time
//! the file is flushed to the disk, and the database forgets the lines that are there for good (the *settled* ones). When a log is
//! opened, therefore:
//!
//! - The settled part must be there as it was written: of a file in which a line was changed, is missing, stands elsewhere or was cut off, the first such
//!   line is named, and the log is refused ([`Fault`]).
//! - After it, each byte must be what the database has for that place, or zero, or missing: a block that had not reached the disk.
//!   Such bytes are put in place from the database. Any other byte ([`Fault::Changed`]), and any byte after the
//!   last line that the database knows ([`Fault::Long`]), was written by something else, and the log is refused as it is.
//!
//! A process that opens a log reads all of it, at some hundred megabytes a second, as [`verify`] does. Where it has to connect to its database again later, it
//! looks at the end of the settled part only.
//!
//! A database that was put back to an earlier state, from a backup say, is behind its file, which is [`Fault::Long`] or
//! [`Fault::Changed`] too.

mod event;
mod fault;
mod line;
mod log;
mod verify;

pub use event::{Actor, DataFile, Event};
pub use fault::Fault;
pub use line::Head;
pub(crate) use line::{Chain, Line};
pub(crate) use log::{Log, Read, compare, hash_at};
pub use verify::verify;

/// The file's name in the service's folder.
pub const FILE: &str = "audit.jsonl";

/// The end of a log that has `lines` after `from`.
pub(crate) fn follow_all(from: &Head, lines: &[Line]) -> Result<Head, Fault> {
    lines.iter().try_fold(from.clone(), |head, line| {
        line::follow(&head, line.text.as_bytes())
    })
}

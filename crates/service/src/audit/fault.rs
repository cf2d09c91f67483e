//! What can be wrong with the file.

/// How the file differs from what the service wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file ends early.
    #[error("the file ends after line {lines}, and {recorded} lines were written: it was cut off")]
    Short {
        /// The whole lines that are there.
        lines: u64,
        /// The lines that were written for good.
        recorded: u64,
    },
    /// There is more in the file than was written.
    #[error(
        "after line {lines}, the last that the database knows, the file goes on; either the database was put back to an earlier state, or something else wrote to the file"
    )]
    Long {
        /// The lines that were written.
        lines: u64,
    },
    /// A line is gone, and later ones have moved up.
    #[error("line {line} is missing: line {next} stands in its place")]
    Missing {
        /// The first missing line, from 1.
        line: u64,
        /// The line that was found there.
        next: u64,
    },
    /// Lines stand in another order, or twice.
    #[error("line {line} is not in its place: line {found} stands there")]
    OutOfOrder {
        /// The line, from 1.
        line: u64,
        /// The line that was found there.
        found: u64,
    },
    /// The last line is there in part only.
    #[error("line {line} is cut off: the file ends in the middle of it")]
    Torn {
        /// The line, from 1.
        line: u64,
    },
    /// A line is not the one that was written.
    #[error("line {line} was changed: {what}")]
    Changed {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The file cannot be read or written.
    #[error("{0}")]
    File(String),
    /// The disk of this file has no room.
    #[error("the disk of {0} is full")]
    Full(String),
}

impl Fault {
    /// The first line that is wrong, from 1, if it is known.
    pub fn line(&self) -> Option<u64> {
        match self {
            Fault::Changed { line, .. }
            | Fault::Missing { line, .. }
            | Fault::OutOfOrder { line, .. }
            | Fault::Torn { line } => Some(*line),
            Fault::Short { lines, .. } | Fault::Long { lines } => Some(lines + 1),
            Fault::File(_) | Fault::Full(_) => None,
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Fault::File(_) => "see that the file is there, and that the service's user can read and write it",
            Fault::Full(_) => "make room on that disk",
            _ => {
                "keep the file as it is, and find out who could write to it; a copy that holds all lines can take its place"
            }
        }
    }
}

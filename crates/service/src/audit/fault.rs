//! What can be wrong with the file.

/// How the file differs from what the service wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file ends early.
    #[error(
        "the file ends after line {lines}, and {recorded} lines were written; put back the file that was cut off"
    )]
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
    /// A line is not the one that was written.
    #[error("line {line} is not as it was written: {what}")]
    Changed {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The file cannot be read or written.
    #[error("{0}")]
    File(String),
}

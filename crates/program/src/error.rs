//! How a program fails.

use std::fmt;
use std::panic::Location;

/// Result of what a program does.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a program cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The protocol: a peer, the network, this machine.
    #[error(transparent)]
    Session(#[from] cenote_session::Error),
    /// The program did something that has no meaning.
    #[error("{0}")]
    Misuse(Misuse),
    /// An input of this party is not what the program takes.
    #[error("{0}")]
    BadInput(String),
    /// An oblivious memory had more blocks left over than its stash holds, and is of no more use. It happens with the
    /// probability that its settings allow, whatever is accessed.
    #[error("the stash of an oblivious memory overflowed: the memory is lost")]
    MemoryLost,
    /// The session has failed before; what happened then.
    #[error("the session has failed before: {0}")]
    Failed(String),
}

/// What a program did that has no meaning, and where in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// What it did, and what would be right.
    pub what: String,
    /// Where.
    pub at: &'static Location<'static>,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

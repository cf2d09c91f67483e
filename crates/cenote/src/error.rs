//! What can go wrong for a user, in the kinds that the command's exit codes tell apart.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use cenote_net::{Error as NetError, PartyId};
use cenote_params::Refusal;
use cenote_session::Error as EngineError;
use serde::{Deserialize, Serialize};

/// Result of the calls of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Where the fault lies, and the exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// This machine or this program failed.
    Internal = 1,
    /// A command line, job or party file is wrong, or the parties were given different jobs.
    Misuse = 2,
    /// A peer is missing, silent, gone, or not the one that was expected.
    Network = 3,
    /// A check of the protocol failed at this party.
    Cheating = 4,
    /// A data or circuit file is missing or wrong.
    BadInput = 5,
    /// A peer stopped and says that a check failed, at its side or at the third party's. This party saw nothing wrong itself.
    Reported = 6,
    /// The operator stopped it.
    Stopped = 7,
    /// A job of a service was not done by its deadline.
    Late = 8,
}

impl Kind {
    /// The exit code of the command.
    pub fn exit_code(self) -> u8 {
        self as u8
    }
}

/// A failure, with what a person needs to mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A job or party file does not say what it should.
    #[error("{}: {what}", Place(file, *line))]
    Config {
        /// The file.
        file: PathBuf,
        /// The line, from 1, where one is to blame.
        line: Option<usize>,
        /// What is wrong and what to write instead.
        what: String,
    },
    /// A call or command was given arguments that do not fit together.
    #[error("{0}")]
    Usage(String),
    /// A query is wrong, or asks for what there is not.
    #[error("the query{}: {what}", .at.map_or_else(String::new, |at| format!(", {at}")))]
    Query {
        /// Where in its text.
        at: Option<cenote_query::Place>,
        /// What is wrong, and what to write instead.
        what: String,
    },
    /// No security parameters meet a request.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// A file of values or a circuit file is missing or wrong. Never quotes the values.
    #[error("{}: {what}", Place(file, *line))]
    Data {
        /// The file.
        file: PathBuf,
        /// The line, from 1, where one is to blame.
        line: Option<usize>,
        /// What is wrong and what to do.
        what: String,
    },
    /// A table cannot be used, or not be written. Never quotes values.
    #[error("{0}")]
    Table(String),
    /// A file of this party does not go with a peer's.
    #[error("{}: {what}", Place(file, *line))]
    Differs {
        /// This party's file.
        file: PathBuf,
        /// The line, from 1, where the difference begins, if it is known.
        line: Option<usize>,
        /// The peer whose file differs.
        peer: PartyId,
        /// What differs and what to do. Never quotes the files.
        what: String,
    },
    /// The protocol stopped, because of the network, a check, or a disagreement between the parties.
    #[error("{error}{}", advice(error))]
    Protocol {
        /// As the protocol says it.
        error: EngineError,
    },
    /// This machine refused something that is no file of the user's.
    #[error("{what}: {source}")]
    Local {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The operator stopped it, and it ended in order.
    #[error("stopped by its operator ({word}): {what}")]
    Stopped {
        /// What the operator did, such as the name of a signal.
        word: String,
        /// What has become of what was going on.
        what: String,
    },
    /// A standing service refused what it was asked, cannot be reached, or has a job that did not end well.
    #[error("{what}")]
    Service {
        /// The kind of failure.
        kind: Kind,
        /// What is wrong and what to do.
        what: String,
    },
    /// A service's job in shards was cut off by this before its answer may have been opened: it can go on where it was.
    #[error(transparent)]
    CutOff(Box<Error>),
    /// Parties run as processes of this machine, and one or more failed.
    #[error("{0}")]
    Parties(Failures),
}

/// A file and a line, for errors.
struct Place<'a>(&'a Path, Option<usize>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())?;
        self.1.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

fn advice(error: &EngineError) -> &'static str {
    match error {
        EngineError::Net(NetError::Mismatch { .. }) => {
            "\n  what to do: give all parties the same job (protocol, parameters, circuit, lanes, owners and orders of \
             the values); nothing was computed"
        }
        EngineError::Net(NetError::Identity { .. }) => {
            "\n  what to do: ask that party, over a channel you trust, for the fingerprint that its \
             `cenote identity show` prints; nothing was sent to it"
        }
        EngineError::Net(NetError::Timeout { .. } | NetError::Stuck { .. } | NetError::PhaseOver { .. }) => {
            "\n  what to do: see that the party runs, that its address is right, and that it does not itself wait for another \
             party; raise the timeout if its network is slow"
        }
        EngineError::DiskFull(_) => "\n  what to do: make room on that disk and run again",
        EngineError::OutOfMemory(_) => {
            "\n  what to do: use fewer lanes or a smaller circuit, or give it more memory"
        }
        EngineError::Exhausted(_) => "\n  what to do: run `cenote stock make` at all parties",
        EngineError::Aborted { .. } => {
            "\n  what it means: some party deviated from the protocol. Nothing more was revealed; find out why before \
             running again"
        }
        EngineError::PeerStopped { reason, .. } if reason.check().is_some() => {
            "\n  what it means: if that is true, some party deviated from the protocol; this one saw nothing wrong itself. \
             Nothing more was revealed; find out why before running again"
        }
        _ => "",
    }
}

impl Error {
    pub(crate) fn config(file: impl Into<PathBuf>, line: Option<usize>, what: impl Into<String>) -> Self {
        Error::Config {
            file: file.into(),
            line,
            what: what.into(),
        }
    }

    pub(crate) fn data(file: impl Into<PathBuf>, line: Option<usize>, what: impl Into<String>) -> Self {
        Error::Data {
            file: file.into(),
            line,
            what: what.into(),
        }
    }

    /// Something on this machine that failed while doing `what`.
    pub fn local(what: impl Into<String>, source: io::Error) -> Self {
        Error::Local {
            what: what.into(),
            source,
        }
    }

    /// Where the fault lies.
    pub fn kind(&self) -> Kind {
        match self {
            Error::Config { .. } | Error::Usage(_) | Error::Query { .. } | Error::Refused(_) => Kind::Misuse,
            Error::Data { .. } | Error::Table(_) | Error::Differs { .. } => Kind::BadInput,
            Error::Local { .. } => Kind::Internal,
            Error::Stopped { .. } => Kind::Stopped,
            Error::Service { kind, .. } => *kind,
            Error::CutOff(by) => by.kind(),
            Error::Parties(failures) => failures.root().kind,
            Error::Protocol { error } => match error {
                EngineError::Net(NetError::Mismatch { .. })
                | EngineError::BadInput(_)
                | EngineError::Exhausted(_) => Kind::Misuse,
                EngineError::Storage(_) => Kind::BadInput,
                EngineError::DiskFull(_) | EngineError::OutOfMemory(_) => Kind::Internal,
                EngineError::Net(_) => Kind::Network,
                EngineError::Aborted { .. } => Kind::Cheating,
                EngineError::PeerStopped { reason, .. } => match reason.check() {
                    Some(_) => Kind::Reported,
                    None => Kind::Network,
                },
                _ => Kind::Internal,
            },
        }
    }

    /// How near to the root this failure is when several parties fail together: the lowest number is the cause, the
    /// others its consequences.
    fn remoteness(&self) -> u8 {
        match self {
            Error::Protocol { error } => match error {
                EngineError::Aborted { .. } => 2,
                EngineError::Net(NetError::Identity { .. } | NetError::Mismatch { .. }) => 3,
                EngineError::PeerStopped { reason, .. } if reason.lost().is_none() => 4,
                EngineError::Net(NetError::PeerLost { .. }) => SAW_NOTHING,
                EngineError::Net(
                    NetError::Timeout { .. }
                    | NetError::Stuck { .. }
                    | NetError::PhaseOver { .. }
                    | NetError::Closed { .. },
                ) => 6,
                EngineError::PeerStopped { .. } => 7,
                _ => 1,
            },
            Error::Differs { .. } => 3,
            _ => 0,
        }
    }
}

/// [`Failure::remoteness`] from here on is of parties that saw no more than that others are gone.
const SAW_NOTHING: u8 = 5;
/// That of a party that has not said anything.
const UNHEARD: u8 = 9;

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Error::Protocol { error }
    }
}

impl From<cenote_program::Error> for Error {
    fn from(error: cenote_program::Error) -> Self {
        match error {
            cenote_program::Error::Session(error) => error.into(),
            other => Error::Usage(other.to_string()),
        }
    }
}

impl From<NetError> for Error {
    fn from(error: NetError) -> Self {
        Error::Protocol { error: error.into() }
    }
}

/// How one party, a process of its own, failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The party.
    pub party: u8,
    /// Where the fault lies.
    pub kind: Kind,
    /// What it said.
    pub message: String,
    /// The peer that it names, if it names one.
    pub peer: Option<u8>,
    remoteness: u8,
}

impl Failure {
    /// How `party` failed with `error`.
    pub fn new(party: PartyId, error: &Error) -> Self {
        let peer = match error {
            Error::Differs { peer, .. } => Some(*peer),
            Error::Protocol {
                error: EngineError::Net(net),
            } => net_peer(net),
            Error::Protocol {
                error: EngineError::Aborted { peer, .. },
            } => *peer,
            Error::Protocol {
                error: EngineError::PeerStopped { peer, reason, .. },
            } => reason.lost().or(Some(*peer)),
            _ => None,
        };
        Failure {
            party: party.0,
            kind: error.kind(),
            message: error.to_string(),
            peer: peer.map(|peer| peer.0),
            remoteness: error.remoteness(),
        }
    }

    /// A process that ended without saying why.
    pub(crate) fn vanished(party: PartyId, message: String) -> Self {
        Failure {
            party: party.0,
            kind: Kind::Network,
            message,
            peer: None,
            remoteness: 0,
        }
    }

    /// A process that had to be ended after another failed, without having said why.
    pub(crate) fn unheard(party: PartyId) -> Self {
        Failure {
            party: party.0,
            kind: Kind::Network,
            message: "was still waiting for the others, and was ended".into(),
            peer: None,
            remoteness: UNHEARD,
        }
    }

    /// Whether it is this party's own trouble, rather than what it saw of another's.
    pub(crate) fn is_own(&self) -> bool {
        self.remoteness <= 1
    }
}

fn net_peer(error: &NetError) -> Option<PartyId> {
    match error {
        NetError::Timeout { peer, .. }
        | NetError::Stuck { peer, .. }
        | NetError::PhaseOver { peer, .. }
        | NetError::PeerLost { peer, .. }
        | NetError::PeerAborted { peer, .. }
        | NetError::Violation { peer, .. }
        | NetError::Mismatch { peer, .. }
        | NetError::Identity { peer, .. }
        | NetError::Closed { peer } => Some(*peer),
        _ => None,
    }
}

/// The failures of parties that ran together, the cause first. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures(Vec<Failure>);

impl Failures {
    /// Orders `failures`, the likeliest cause first: a party's own trouble, then failed checks, then disagreements, then
    /// what parties saw of each other's end. Among equals, the party that the others name comes first. If all that have
    /// spoken saw no more than that others are gone, a party that has not spoken is the cause.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(mut failures: Vec<Failure>) -> Self {
        assert!(!failures.is_empty(), "no party failed");
        let spoken = |failure: &&Failure| failure.remoteness < UNHEARD;
        if failures
            .iter()
            .filter(spoken)
            .all(|failure| failure.remoteness >= SAW_NOTHING)
        {
            for silent in failures
                .iter_mut()
                .filter(|failure| failure.remoteness == UNHEARD)
            {
                silent.message = "did not answer, and was ended".into();
                silent.remoteness = SAW_NOTHING - 1;
            }
        }
        let blamed = |party: u8| {
            failures
                .iter()
                .filter(|failure| failure.peer == Some(party))
                .count()
        };
        let blame: Vec<usize> = (0..=u8::MAX).map(blamed).collect();
        failures.sort_by_key(|failure| {
            (
                failure.remoteness,
                std::cmp::Reverse(blame[usize::from(failure.party)]),
                failure.party,
            )
        });
        Failures(failures)
    }

    /// The likeliest cause.
    pub fn root(&self) -> &Failure {
        &self.0[0]
    }

    /// All of them, the cause first.
    pub fn all(&self) -> &[Failure] {
        &self.0
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.root();
        write!(f, "party {}: {}", root.party, root.message)?;
        for failure in self.0[1..].iter().filter(|failure| failure.remoteness < UNHEARD) {
            if failure.message == root.message {
                write!(f, "\n  party {} says the same", failure.party)?;
                continue;
            }
            let first_line = failure.message.lines().next().unwrap_or_default();
            write!(f, "\n  party {} then stopped: {first_line}", failure.party)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

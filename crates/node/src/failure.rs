//! Failures of runs, in the record's kinds.

use cenote::{Error, Kind};
use cenote_net::Error as NetError;
use cenote_service::job::FailKind;
use cenote_session::Error as EngineError;

/// The kind of a failure of a run.
pub(crate) fn kind(error: &Error) -> FailKind {
    match error {
        Error::Data { .. } | Error::Config { .. } | Error::Table(_) | Error::Differs { .. } => {
            FailKind::BadInput
        }
        Error::Usage(_) | Error::Refused(_) => FailKind::Refused,
        Error::CutOff(by) => kind(by),
        Error::Service {
            kind: Kind::Network, ..
        } => FailKind::PeerLost,
        Error::Service {
            kind: Kind::Reported, ..
        } => FailKind::Peer,
        Error::Protocol { error } => match error {
            EngineError::Aborted { .. } => FailKind::Cheating,
            EngineError::Net(NetError::Mismatch { .. }) => FailKind::Mismatch,
            EngineError::Net(
                NetError::Timeout { .. } | NetError::Stuck { .. } | NetError::PhaseOver { .. },
            ) => FailKind::Timeout,
            EngineError::PeerStopped { .. } => FailKind::Peer,
            EngineError::Net(_) => FailKind::PeerLost,
            EngineError::Exhausted(_) => FailKind::Exhausted,
            EngineError::OutOfMemory(_) => FailKind::Refused,
            _ => FailKind::Internal,
        },
        _ => FailKind::Internal,
    }
}

/// Whether a failure of this kind leaves a job that can go on to be tried again.
pub(crate) fn may_pass(kind: FailKind) -> bool {
    matches!(
        kind,
        FailKind::PeerLost | FailKind::Timeout | FailKind::Peer | FailKind::Restarted
    )
}

/// The party that an error of a check names.
fn cheater(error: &Error) -> Option<u8> {
    match error {
        Error::Protocol {
            error: EngineError::Aborted { peer, .. },
        } => peer.map(|peer| peer.0),
        _ => None,
    }
}

/// The name of the check that an error is of.
fn check(error: &Error) -> Option<&'static str> {
    match error {
        Error::Protocol {
            error: EngineError::Aborted { check, .. },
        } => Some(check.name),
        _ => None,
    }
}

/// What peers are told of a failure of this kind: nothing of this party's data or machine.
pub(crate) fn words(kind: FailKind) -> &'static str {
    match kind {
        FailKind::Restarted => "the service was restarted",
        FailKind::Deadline => "the deadline has passed",
        FailKind::Refused => "it is refused there",
        FailKind::Cheating => "a check failed there",
        FailKind::PeerLost => "another party was lost there",
        FailKind::Timeout => "a wait took too long there",
        FailKind::Mismatch => "the parties differ in what must be equal",
        // One word for all that may hang on its rows: which it was would tell of them.
        FailKind::BadInput => {
            "it could not take part with its data, or there is no answer; its operator sees why"
        }
        FailKind::Exhausted => "material ran out there",
        FailKind::Peer => "another party told of a failure",
        FailKind::Internal => "something went wrong there",
    }
}

/// Why a run gave nothing.
pub(crate) struct Fault {
    pub(crate) kind: FailKind,
    pub(crate) reason: String,
    pub(crate) cheater: Option<u8>,
    pub(crate) check: Option<&'static str>,
    /// Whether the job can go on where it was.
    pub(crate) goes_on: bool,
}

impl Fault {
    pub(crate) fn new(kind: FailKind, reason: impl Into<String>) -> Self {
        Fault {
            kind,
            reason: reason.into(),
            cheater: None,
            check: None,
            goes_on: false,
        }
    }

    pub(crate) fn of(error: &Error) -> Self {
        let reason = match error {
            // The service holds the stock: no command of a person's makes any.
            Error::Protocol {
                error: exhausted @ EngineError::Exhausted(_),
            } => format!(
                "{exhausted}\n  what to do: propose the job anew; the service leaves out what is damaged, makes new stock by itself, and \
                 makes material while a job runs where there is too little"
            ),
            error => error.to_string(),
        };
        Fault {
            kind: kind(error),
            reason,
            cheater: cheater(error),
            check: check(error),
            goes_on: matches!(error, Error::CutOff(_)),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::of(&error)
    }
}

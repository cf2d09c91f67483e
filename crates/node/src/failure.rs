//! Failures of runs, in the record's kinds.

use cenote::Error;
use cenote_net::{Error as NetError, step};
use cenote_service::job::FailKind;
use cenote_session::Error as EngineError;

/// The kind of a failure of a run.
pub(crate) fn kind(error: &Error) -> FailKind {
    match error {
        Error::Data { .. } | Error::Config { .. } | Error::Table(_) | Error::Differs { .. } => {
            FailKind::BadInput
        }
        Error::Usage(_) | Error::Refused(_) => FailKind::Refused,
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

/// The code of the step in which the parties of a session say which processes they are, before they compare what they are to do.
const SAY_THE_RUN: u16 = 0x401;

/// Whether a run failed while its parties still met and compared what they are to do, before any of them could deviate from a protocol.
fn is_early(error: &Error) -> bool {
    let Error::Protocol { error } = error else {
        return false;
    };
    match error {
        EngineError::PeerStopped { step, .. }
        | EngineError::Net(
            NetError::Timeout { step, .. }
            | NetError::Stuck { step, .. }
            | NetError::PhaseOver { step, .. }
            | NetError::PeerLost { step, .. },
        ) => {
            let early = [step::CONNECT, step::HELLO, step::ROLL, step::AGREE];
            step.code == SAY_THE_RUN || early.contains(step)
        }
        // Programs that are not compared as a whole before they run are compared while they do.
        EngineError::Net(NetError::Mismatch { field, .. }) => field != "program",
        _ => false,
    }
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
    /// It came before any peer could deviate from the protocol.
    pub(crate) is_early: bool,
}

impl Fault {
    pub(crate) fn new(kind: FailKind, reason: impl Into<String>) -> Self {
        Fault {
            kind,
            reason: reason.into(),
            cheater: None,
            check: None,
            is_early: false,
        }
    }

    pub(crate) fn of(error: &Error) -> Self {
        Fault {
            kind: kind(error),
            reason: error.to_string(),
            cheater: cheater(error),
            check: check(error),
            is_early: is_early(error),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::of(&error)
    }
}

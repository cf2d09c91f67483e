//! How a session fails. Three kinds are kept apart: misuse by the program, trouble with the network, and cheating; an
//! error of the last kind is built only where a check of the protocol fails.

use std::path::Path;
use std::{fmt, io};

use cenote_net::{AbortReason, PartyId, Step};

use crate::{Check, MESSAGE_FORM};

/// Result of an engine's call.
pub type Result<T> = std::result::Result<T, Error>;

/// What stopped a party that neither saw a check fail nor lost a peer: its operator, or its own machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its operator stopped it.
    Operator,
    /// Its disk is full.
    DiskFull,
    /// It has too little memory.
    OutOfMemory,
    /// A file or folder of its stock is missing, damaged, in use or not what it should be.
    Storage,
    /// Its stock does not suffice, or a limit that its session states was reached.
    Exhausted,
    /// Its program or an input of it is wrong.
    BadInput,
}

impl Cause {
    /// In the order of their codes, which count from 1 and fit in three bits.
    const ALL: [Cause; 6] = [
        Cause::Operator,
        Cause::DiskFull,
        Cause::OutOfMemory,
        Cause::Storage,
        Cause::Exhausted,
        Cause::BadInput,
    ];

    fn code(self) -> u8 {
        1 + self as u8
    }

    fn from_code(code: u8) -> Option<Self> {
        Cause::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Operator => "its operator stopped it",
            Cause::DiskFull => "its disk is full",
            Cause::OutOfMemory => "it is out of memory",
            Cause::Storage => "its stock cannot be read or written",
            Cause::Exhausted => "its stock or a limit of its session is exhausted",
            Cause::BadInput => "its program or an input of it is wrong",
        })
    }
}

/// Why a party stopped, as it tells its peers in one byte. What it merely heard is told as hearsay, so that nobody takes one
/// party's word for another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A check failed at its side.
    Check(Check),
    /// It lost this party, or waited for it too long, or was left by it for a reason that is not passed on.
    Lost(PartyId),
    /// It stopped for this cause of its own.
    Own(Cause),
    /// It failed on its own machine in another way.
    Stopped,
    /// This party told it that this check failed there.
    HeardCheck(PartyId, Check),
    /// This party told it that it stopped for a cause of its own.
    HeardOwn(PartyId, Cause),
    /// The first party told it that the second was lost.
    HeardLost(PartyId, PartyId),
    /// One that this version does not know.
    Unknown(AbortReason),
}

// A check's five bits have the party that told of it above them, or `OWN`. Parties that are told of in words on a check
// are those of the protocols: at most three.
const OWN: u8 = 3;
// Above the party that was lost, or stopped, the cause; 0 if it was lost. In place of the party, `SELF` is who tells it.
const LOST: u8 = 0x80;
const SELF: u8 = 7;
const HEARD_LOST: u8 = 0xc0;
const STOPPED: u8 = 0xff;

impl Reason {
    /// What is sent in an abort message.
    pub fn code(self) -> AbortReason {
        let byte = match self {
            Reason::Check(check) => OWN << 5 | check.code,
            Reason::Lost(party) => LOST | party.0 & 7,
            Reason::Own(cause) => LOST | cause.code() << 3 | SELF,
            Reason::Stopped => STOPPED,
            Reason::HeardCheck(from, check) => from.0.min(OWN) << 5 | check.code,
            Reason::HeardOwn(from, cause) => LOST | cause.code() << 3 | from.0 & 7,
            Reason::HeardLost(from, party) => HEARD_LOST | (from.0 & 7) << 3 | party.0 & 7,
            Reason::Unknown(code) => return code,
        };
        byte.into()
    }

    /// What a peer's abort message means. Of checks only [`MESSAGE_FORM`] has its name: see [`Error::with_checks`].
    pub fn from_code(reason: AbortReason) -> Self {
        let &[code] = reason.as_bytes() else {
            return Reason::Unknown(reason);
        };
        let (first, second) = (PartyId(code >> 3 & 7), PartyId(code & 7));
        match code & 0xc0 {
            _ if code == STOPPED => Reason::Stopped,
            0 | 0x40 => match (Check::among(code & 0x1f, &[]), code >> 5) {
                (check, OWN) => Reason::Check(check),
                (check, from) => Reason::HeardCheck(PartyId(from), check),
            },
            LOST => match Cause::from_code(first.0) {
                Some(cause) if second == PartyId(SELF) => Reason::Own(cause),
                Some(cause) => Reason::HeardOwn(second, cause),
                None if first == PartyId(0) => Reason::Lost(second),
                None => Reason::Unknown(reason),
            },
            // Nobody loses itself: the code of party 7 doing so is that of a stop.
            HEARD_LOST if first != second => Reason::HeardLost(first, second),
            _ => Reason::Unknown(reason),
        }
    }

    /// What to tell others of what `peer` has told: as its word, and of its hearsay only that it is gone.
    fn heard_from(self, peer: PartyId) -> Self {
        match self {
            Reason::Check(check) => Reason::HeardCheck(peer, check),
            Reason::Own(cause) => Reason::HeardOwn(peer, cause),
            Reason::Lost(party) if party != peer => Reason::HeardLost(peer, party),
            _ => Reason::Lost(peer),
        }
    }

    /// The same, its check with the name that it has among `known`.
    fn with_checks(self, known: &[Check]) -> Self {
        match self {
            Reason::Check(check) => Reason::Check(Check::among(check.code, known)),
            Reason::HeardCheck(from, check) => Reason::HeardCheck(from, Check::among(check.code, known)),
            other => other,
        }
    }

    /// The check that failed, as far as this tells.
    pub fn check(self) -> Option<Check> {
        match self {
            Reason::Check(check) | Reason::HeardCheck(_, check) => Some(check),
            _ => None,
        }
    }

    /// The party that was lost, or stopped, before the one that tells it, as far as this tells.
    pub fn lost(self) -> Option<PartyId> {
        match self {
            Reason::Lost(party) | Reason::HeardLost(_, party) | Reason::HeardOwn(party, _) => Some(party),
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Check(check) => write!(f, "its check \"{check}\" failed"),
            Reason::Lost(party) => write!(f, "it lost {party}"),
            Reason::Own(cause) => cause.fmt(f),
            Reason::Stopped => f.write_str("it failed there"),
            Reason::HeardCheck(from, check) => {
                write!(f, "it heard from {from} that the check \"{check}\" failed there")
            }
            Reason::HeardOwn(from, cause) => write!(f, "it heard from {from}: {cause}"),
            Reason::HeardLost(from, party) => write!(f, "it heard from {from} that {party} was lost"),
            Reason::Unknown(code) => write!(f, "a reason unknown to this version ({code})"),
        }
    }
}

/// A failed call of an [`crate::Engine`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Cheating was detected by this party: nothing was revealed since, and nothing more will be computed.
    #[error("aborted: the check \"{check}\" failed in step \"{step}\"{}: {detail}", with(*peer))]
    Aborted {
        /// The check that failed.
        check: Check,
        /// The peer whose message failed it. Checks among three parties rarely tell which of two is at fault.
        peer: Option<PartyId>,
        /// Where.
        step: Step,
        /// What was seen, without secrets.
        detail: String,
    },
    /// A peer stopped and said so.
    #[error("{peer} stopped during step \"{step}\", and says: {reason}")]
    PeerStopped {
        /// The peer that stopped.
        peer: PartyId,
        /// What this party was doing.
        step: Step,
        /// The reason the peer gave. It is the peer's word only.
        reason: Reason,
    },
    /// A peer is gone, silent or different, or this machine's network failed.
    #[error(transparent)]
    Net(cenote_net::Error),
    /// The program or its inputs are wrong. The session goes on.
    #[error("bad input: {0}")]
    BadInput(String),
    /// The session refuses work beyond a stated limit.
    #[error("exhausted: {0}")]
    Exhausted(String),
    /// A file or folder of this machine's is missing, damaged, in use, or not what it should be.
    #[error("{0}")]
    Storage(String),
    /// The disk of this machine has no room for a file.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// This machine has too little memory.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The session failed before and computes nothing more.
    #[error("the session has failed before ({0}); start a new one")]
    Poisoned(String),
    /// This machine failed: out of threads, or a bug that must not take the peers with it.
    #[error("internal failure: {0}")]
    Internal(String),
}

fn with(peer: Option<PartyId>) -> String {
    peer.map_or_else(String::new, |peer| format!(" against {peer}"))
}

impl Error {
    /// The failed check, whether detected here or told by a peer.
    pub fn check(&self) -> Option<Check> {
        match self {
            Error::Aborted { check, .. } => Some(*check),
            Error::PeerStopped { reason, .. } => reason.check(),
            _ => None,
        }
    }

    /// The same, with the names of the protocol's checks where a peer has told a code.
    #[must_use]
    pub fn with_checks(mut self, known: &[Check]) -> Self {
        if let Error::PeerStopped { reason, .. } = &mut self {
            *reason = reason.with_checks(known);
        }
        self
    }

    /// `peer`, or some peer, failed `check`. `detail` holds no secrets. Called where the check is made only.
    pub fn cheated(
        check: Check,
        peer: impl Into<Option<PartyId>>,
        step: Step,
        detail: impl Into<String>,
    ) -> Self {
        Error::Aborted {
            check,
            peer: peer.into(),
            step,
            detail: detail.into(),
        }
    }

    /// What the system's refusal means where the file or folder at `path` `failed`, such as "cannot be written".
    pub fn file(path: &Path, failed: &str, source: &io::Error) -> Self {
        let what = format!("{}: {failed}: {source}", path.display());
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull(what),
            io::ErrorKind::OutOfMemory => Error::OutOfMemory(what),
            _ => Error::Storage(what),
        }
    }

    /// What to tell the peers: what this party saw as its own word, what a peer told it as that peer's. A channel that this
    /// party closed under its own session was interrupted by the operator.
    pub fn reason(&self) -> Reason {
        match self {
            Error::Aborted { check, .. } => Reason::Check(*check),
            Error::PeerStopped { peer, reason, .. } => reason.heard_from(*peer),
            Error::Net(
                cenote_net::Error::Timeout { peer, .. }
                | cenote_net::Error::Stuck { peer, .. }
                | cenote_net::Error::PhaseOver { peer, .. }
                | cenote_net::Error::PeerLost { peer, .. },
            ) => Reason::Lost(*peer),
            Error::Net(cenote_net::Error::Closed { .. }) => Reason::Own(Cause::Operator),
            Error::Storage(_) => Reason::Own(Cause::Storage),
            Error::DiskFull(_) => Reason::Own(Cause::DiskFull),
            Error::OutOfMemory(_) => Reason::Own(Cause::OutOfMemory),
            Error::Exhausted(_) => Reason::Own(Cause::Exhausted),
            Error::BadInput(_) => Reason::Own(Cause::BadInput),
            _ => Reason::Stopped,
        }
    }
}

impl From<cenote_net::Error> for Error {
    fn from(error: cenote_net::Error) -> Self {
        match error {
            cenote_net::Error::PeerAborted { peer, step, reason } => Error::PeerStopped {
                peer,
                step,
                reason: Reason::from_code(reason),
            },
            cenote_net::Error::Violation { peer, step, what } => Error::Aborted {
                check: MESSAGE_FORM,
                peer: Some(peer),
                step,
                detail: what,
            },
            other => Error::Net(other),
        }
    }
}

#[cfg(test)]
mod tests;

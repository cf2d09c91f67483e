//! How a session fails. Three kinds are kept apart: misuse by the program, trouble with the network, and cheating; an
//! error of the last kind is built only where a check of the protocol fails.

use std::fmt;

use cenote_net::{PartyId, Step};

/// Result of an engine's call.
pub type Result<T> = std::result::Result<T, Error>;

/// The checks of the protocols. Each exists in code under this name and is tripped by a cheating party in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// Two parties saw different opened values (three parties; Furukawa et al. 2017, "compare-view").
    ViewComparison,
    /// Two parties' words on a checked product differ: it is wrong (three parties; Furukawa et al. 2017, Protocol 2.24).
    ProductComparison,
    /// A triple that was opened in cut-and-choose is not a product.
    TripleOpening,
    /// The two holders of a component of a coin sent different values.
    CoinOpening,
    /// The two holders of a component of an output sent different values.
    OutputOpening,
    /// A message of another step or length than the protocol has at this point.
    MessageForm,
}

impl Check {
    /// Every check.
    pub const ALL: [Check; 6] = [
        Check::ViewComparison,
        Check::ProductComparison,
        Check::TripleOpening,
        Check::CoinOpening,
        Check::OutputOpening,
        Check::MessageForm,
    ];
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::ViewComparison => "view comparison",
            Check::ProductComparison => "product comparison",
            Check::TripleOpening => "opened triple",
            Check::CoinOpening => "coin opening",
            Check::OutputOpening => "output opening",
            Check::MessageForm => "message form",
        })
    }
}

/// Why a party stopped, as it tells its peers in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A check failed.
    Check(Check),
    /// It lost this party, or waited for it too long.
    Lost(PartyId),
    /// It was stopped by its operator or failed on its own machine.
    Stopped,
    /// A code that this version does not know.
    Unknown(u8),
}

const LOST: u8 = 0x80;
const STOPPED: u8 = 0xff;

impl Reason {
    /// The byte sent in an abort message.
    pub fn code(self) -> u8 {
        match self {
            Reason::Check(check) => check as u8,
            Reason::Lost(party) => LOST | party.0 & 7,
            Reason::Stopped => STOPPED,
            Reason::Unknown(code) => code,
        }
    }

    /// What a peer's byte means.
    pub fn from_code(code: u8) -> Self {
        if let Some(&check) = Check::ALL.get(usize::from(code)) {
            Reason::Check(check)
        } else if code == STOPPED {
            Reason::Stopped
        } else if code & !7 == LOST {
            Reason::Lost(PartyId(code & 7))
        } else {
            Reason::Unknown(code)
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Check(check) => write!(f, "its check \"{check}\" failed"),
            Reason::Lost(party) => write!(f, "it lost {party}"),
            Reason::Stopped => f.write_str("it was stopped there"),
            Reason::Unknown(code) => write!(f, "for a reason unknown to this version ({code})"),
        }
    }
}

/// A failed call of an [`crate::Engine`].
#[derive(Debug, thiserror::Error)]
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
    #[error("{peer} stopped during step \"{step}\": {reason}")]
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
    /// The failed check, whether detected here or reported by a peer.
    pub fn check(&self) -> Option<Check> {
        match *self {
            Error::Aborted { check, .. }
            | Error::PeerStopped {
                reason: Reason::Check(check),
                ..
            } => Some(check),
            _ => None,
        }
    }

    /// What to tell the peers.
    pub fn reason(&self) -> Reason {
        match self {
            Error::Aborted { check, .. } => Reason::Check(*check),
            Error::PeerStopped {
                peer,
                reason: Reason::Stopped,
                ..
            } => Reason::Lost(*peer),
            Error::PeerStopped { reason, .. } => *reason,
            Error::Net(
                cenote_net::Error::Timeout { peer, .. } | cenote_net::Error::PeerLost { peer, .. },
            ) => Reason::Lost(*peer),
            _ => Reason::Stopped,
        }
    }
}

impl From<cenote_net::Error> for Error {
    fn from(error: cenote_net::Error) -> Self {
        match error {
            cenote_net::Error::PeerAborted { peer, step, code } => Error::PeerStopped {
                peer,
                step,
                reason: Reason::from_code(code),
            },
            cenote_net::Error::Violation { peer, step, what } => Error::Aborted {
                check: Check::MessageForm,
                peer: Some(peer),
                step,
                detail: what,
            },
            other => Error::Net(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_survive_their_byte() {
        let others = [Reason::Lost(PartyId(2)), Reason::Stopped, Reason::Unknown(0x70)];
        for reason in Check::ALL.map(Reason::Check).into_iter().chain(others) {
            assert_eq!(Reason::from_code(reason.code()), reason);
        }
    }
}

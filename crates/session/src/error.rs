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
    /// The receiver of an OT extension used different choices in different columns (two parties; Roy 2022, Figure 10).
    OtConsistency,
    /// Corrections of commitments do not make them codewords (two parties; Frederiksen et al. 2016, commit phase).
    CommitmentConsistency,
    /// Values opened from commitments are not those committed to (two parties; the same, batch opening).
    Decommitment,
    /// The last bits told of committed strings are not theirs, "VerLeak" (two parties; Nielsen et al. 2017, Figure 1, step 7).
    LeakedBits,
    /// The committed difference of labels is not that of the OTs (two parties; the same, step 10).
    Difference,
    /// A garbled gate that was opened in cut-and-choose is no AND gate (two parties; the same, step 9).
    GateOpening,
    /// An authenticator that was opened in cut-and-choose refuses its wire's label (two parties; the same, step 9).
    AuthenticatorOpening,
    /// A challenge that no honest evaluator sends: it leaves too few gadgets, or shows strings that were never sent to it
    /// (two parties; the same, steps 8 and 10).
    Challenge,
    /// A label of the evaluator's own input does not carry its bit (two parties; the same, Figure 2, step 4).
    OwnInputLabel,
    /// The authenticators of an input wire refuse its label (two parties; the same, Figure 2, step 4).
    InputAuthenticator,
    /// An output label that the evaluator returned is none of its wire's (two parties).
    OutputLabel,
}

impl Check {
    /// Every check.
    pub const ALL: [Check; 17] = [
        Check::ViewComparison,
        Check::ProductComparison,
        Check::TripleOpening,
        Check::CoinOpening,
        Check::OutputOpening,
        Check::MessageForm,
        Check::OtConsistency,
        Check::CommitmentConsistency,
        Check::Decommitment,
        Check::LeakedBits,
        Check::Difference,
        Check::GateOpening,
        Check::AuthenticatorOpening,
        Check::Challenge,
        Check::OwnInputLabel,
        Check::InputAuthenticator,
        Check::OutputLabel,
    ];

    fn from_code(code: u8) -> Option<Self> {
        Check::ALL.get(usize::from(code)).copied()
    }
}

// A check is told in five bits.
const _: () = assert!(Check::ALL.len() <= 32);

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::ViewComparison => "view comparison",
            Check::ProductComparison => "product comparison",
            Check::TripleOpening => "opened triple",
            Check::CoinOpening => "coin opening",
            Check::OutputOpening => "output opening",
            Check::MessageForm => "message form",
            Check::OtConsistency => "OT consistency",
            Check::CommitmentConsistency => "commitment consistency",
            Check::Decommitment => "decommitment",
            Check::LeakedBits => "leaked bits",
            Check::Difference => "difference of labels",
            Check::GateOpening => "opened gate",
            Check::AuthenticatorOpening => "opened authenticator",
            Check::Challenge => "challenge",
            Check::OwnInputLabel => "own input label",
            Check::InputAuthenticator => "input authenticator",
            Check::OutputLabel => "output label",
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
    /// It was stopped by its operator or failed on its own machine.
    Stopped,
    /// This party told it that this check failed there.
    HeardCheck(PartyId, Check),
    /// The first party told it that the second was lost.
    HeardLost(PartyId, PartyId),
    /// A code that this version does not know.
    Unknown(u8),
}

// A check's five bits have the party that told of it above them, or `OWN`. Parties that are told of in words on a check
// are those of the protocols: at most three.
const OWN: u8 = 3;
const LOST: u8 = 0x80;
const HEARD_LOST: u8 = 0xc0;
const STOPPED: u8 = 0xff;

impl Reason {
    /// The byte sent in an abort message.
    pub fn code(self) -> u8 {
        match self {
            Reason::Check(check) => OWN << 5 | check as u8,
            Reason::Lost(party) => LOST | party.0 & 7,
            Reason::Stopped => STOPPED,
            Reason::HeardCheck(from, check) => from.0.min(OWN) << 5 | check as u8,
            Reason::HeardLost(from, party) => HEARD_LOST | (from.0 & 7) << 3 | party.0 & 7,
            Reason::Unknown(code) => code,
        }
    }

    /// What a peer's byte means.
    pub fn from_code(code: u8) -> Self {
        let (first, second) = (PartyId(code >> 3 & 7), PartyId(code & 7));
        match code & 0xc0 {
            _ if code == STOPPED => Reason::Stopped,
            0 | 0x40 => match (Check::from_code(code & 0x1f), code >> 5) {
                (None, _) => Reason::Unknown(code),
                (Some(check), OWN) => Reason::Check(check),
                (Some(check), from) => Reason::HeardCheck(PartyId(from), check),
            },
            LOST if first == PartyId(0) => Reason::Lost(second),
            // Nobody loses itself: the code of party 7 doing so is that of a stop.
            HEARD_LOST if first != second => Reason::HeardLost(first, second),
            _ => Reason::Unknown(code),
        }
    }

    /// What to tell others of what `peer` has told: as its word, and of its hearsay only that it is gone.
    fn heard_from(self, peer: PartyId) -> Self {
        match self {
            Reason::Check(check) => Reason::HeardCheck(peer, check),
            Reason::Lost(party) if party != peer => Reason::HeardLost(peer, party),
            _ => Reason::Lost(peer),
        }
    }

    /// The check that failed, as far as this tells.
    pub fn check(self) -> Option<Check> {
        match self {
            Reason::Check(check) | Reason::HeardCheck(_, check) => Some(check),
            _ => None,
        }
    }

    /// The party that was lost, as far as this tells.
    pub fn lost(self) -> Option<PartyId> {
        match self {
            Reason::Lost(party) | Reason::HeardLost(_, party) => Some(party),
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Check(check) => write!(f, "its check \"{check}\" failed"),
            Reason::Lost(party) => write!(f, "it lost {party}"),
            Reason::Stopped => f.write_str("it was stopped there"),
            Reason::HeardCheck(from, check) => {
                write!(f, "it heard from {from} that the check \"{check}\" failed there")
            }
            Reason::HeardLost(from, party) => write!(f, "it heard from {from} that {party} was lost"),
            Reason::Unknown(code) => write!(f, "a reason unknown to this version ({code})"),
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

    /// What to tell the peers: what this party saw as its own word, what a peer told it as that peer's.
    pub fn reason(&self) -> Reason {
        match self {
            Error::Aborted { check, .. } => Reason::Check(*check),
            Error::PeerStopped { peer, reason, .. } => reason.heard_from(*peer),
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
        for party in (0..8).map(PartyId) {
            let others = (0..8)
                .map(PartyId)
                .filter(|&other| other != party)
                .map(|other| Reason::HeardLost(party, other));
            let told = Check::ALL
                .map(|check| Reason::HeardCheck(party, check))
                .into_iter()
                .filter(|_| party.0 < OWN);
            for reason in told.chain(others).chain([Reason::Lost(party)]) {
                assert_eq!(Reason::from_code(reason.code()), reason);
            }
        }
        for reason in Check::ALL.map(Reason::Check).into_iter().chain([Reason::Stopped]) {
            assert_eq!(Reason::from_code(reason.code()), reason);
        }
        for code in 0..=u8::MAX {
            assert_eq!(Reason::from_code(code).code(), code, "{code}");
        }
    }

    /// A peer's word is passed on as that peer's, never as what this party saw itself.
    #[test]
    fn hearsay_is_told_as_hearsay() {
        let [two, one] = [PartyId(2), PartyId(1)];
        let heard = |reason| {
            let error = Error::PeerStopped {
                peer: two,
                step: Step {
                    code: 1,
                    name: "test",
                },
                reason,
            };
            error.reason()
        };
        let check = Check::TripleOpening;
        assert_eq!(heard(Reason::Check(check)), Reason::HeardCheck(two, check));
        assert_eq!(
            heard(Reason::Check(check)).to_string(),
            "it heard from party 2 that the check \"opened triple\" failed there"
        );
        assert_eq!(heard(Reason::Lost(one)), Reason::HeardLost(two, one));
        for other in [
            Reason::Lost(two),
            Reason::Stopped,
            Reason::Unknown(0x3f),
            Reason::HeardCheck(one, check),
            Reason::HeardLost(one, two),
        ] {
            assert_eq!(heard(other), Reason::Lost(two));
        }
    }
}

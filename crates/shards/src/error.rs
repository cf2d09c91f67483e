//! How the coordination of a job ends before the job does.

use std::time::Duration;

use cenote_net::PartyId;
use cenote_session::{Cause, Reason};

use crate::checks;
use crate::{Attempt, Piece};

/// Result of coordinating.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a job ended before all of its pieces were done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A coordinator lies, is lost or has stopped, or this one's ledger or settings are at fault.
    #[error(transparent)]
    Session(#[from] cenote_session::Error),
    /// A check failed in a piece's session, says the coordinator of this party.
    #[error("{attempt} failed, says {party}: {reason}")]
    Failed {
        /// In which.
        attempt: Attempt,
        /// Who says so.
        party: PartyId,
        /// In its words.
        reason: String,
    },
    /// So many attempts were lost that the rest does not suffice.
    #[error(
        "{piece} was lost {times} times (last: {last}), and of the job's {attempts} attempts {left} are left for {needed} pieces; find out why they are lost \
         before you allow more"
    )]
    UsedUp {
        /// What was lost last.
        piece: Piece,
        /// How many attempts at it were handed out.
        times: u32,
        /// Why the last one was lost.
        last: String,
        /// All that the job may have.
        attempts: u32,
        /// Those that are left.
        left: u32,
        /// How many pieces need one.
        needed: u32,
    },
    /// Nothing was heard of a coordinator.
    #[error("{peer}'s coordinator was silent for {:.1} s; waited for: {awaited}", waited.as_secs_f64())]
    Silent {
        /// Whose.
        peer: PartyId,
        /// How long.
        waited: Duration,
        /// What it should have said.
        awaited: String,
    },
    /// A coordinator is there, but does not say what is due.
    #[error("{peer}'s coordinator has not said within {:.1} s {awaited}", limit.as_secs_f64())]
    Late {
        /// Whose.
        peer: PartyId,
        /// How long it had.
        limit: Duration,
        /// What it should have said.
        awaited: String,
    },
    /// No piece could be started for a long time.
    #[error("no piece was started for {:.0} s: {who}", limit.as_secs_f64())]
    Idle {
        /// Who has no worker that is free.
        who: String,
        /// How long this may take.
        limit: Duration,
    },
    /// This party's operator stopped the job.
    #[error("the operator stopped the job")]
    Stopped,
}

impl Error {
    /// What the peers are told.
    pub fn reason(&self, me: PartyId) -> Reason {
        match self {
            Error::Session(error) => error.reason(),
            Error::Failed { party, .. } if *party == me => Reason::Check(checks::SESSION),
            Error::Failed { party, .. } => Reason::HeardCheck(*party, checks::SESSION),
            Error::UsedUp { .. } => Reason::Own(Cause::Exhausted),
            Error::Silent { peer, .. } | Error::Late { peer, .. } => Reason::Lost(*peer),
            Error::Idle { .. } => Reason::Stopped,
            Error::Stopped => Reason::Own(Cause::Operator),
        }
    }
}

//! What can go wrong between two parties, short of a failed check of the protocol.

use std::time::Duration;

use crate::{AbortReason, PartyId, Step};

/// Result of a channel operation.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed connection, handshake, send or receive. Every variant that concerns a peer names it and the step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer did not answer, or did not take what was sent, within the deadline.
    #[error("timed out after {:.1} s waiting for {peer} in step \"{step}\": is it running and reachable?", waited.as_secs_f64())]
    Timeout {
        /// The silent peer.
        peer: PartyId,
        /// What was waited for.
        step: Step,
        /// How long.
        waited: Duration,
    },
    /// A peer was not heard of for long. This party did not wait for it, but for another, which is there and says that it
    /// waits for that peer. The latter is the other's word only.
    #[error("nothing has been heard from {peer}: {through}, waited for in step \"{step}\" for {:.1} s, answers and says that it waits for {peer}", waited.as_secs_f64())]
    Stuck {
        /// The silent peer.
        peer: PartyId,
        /// The peer that this party waited for.
        through: PartyId,
        /// What was waited for.
        step: Step,
        /// How long.
        waited: Duration,
    },
    /// A phase of the session took longer than it may ([`crate::PhaseClock`]). Peer and step are those that this party
    /// was waiting for when the time was over.
    #[error("the time for {phase} is over ({:.0} s): still waiting for {peer} in step \"{step}\"; if it is honest and slow, give phases more time (phase_timeout)", limit.as_secs_f64())]
    PhaseOver {
        /// The peer that was waited for.
        peer: PartyId,
        /// What was waited for.
        step: Step,
        /// The phase's name.
        phase: String,
        /// How long it may take.
        limit: Duration,
    },
    /// The connection broke or was closed.
    #[error("lost {peer} in step \"{step}\": {reason}")]
    PeerLost {
        /// The lost peer.
        peer: PartyId,
        /// What was being done.
        step: Step,
        /// How, in words.
        reason: String,
    },
    /// The peer said that it stops, and why.
    #[error("{peer} aborted during step \"{step}\" (reason {reason})")]
    PeerAborted {
        /// The peer that stopped.
        peer: PartyId,
        /// What this party was doing.
        step: Step,
        /// The peer's reason, as in [`crate::Channel::abort`].
        reason: AbortReason,
    },
    /// The peer sent something that the protocol does not allow here: another step, another length, a bad frame.
    #[error("{peer} violated the protocol in step \"{step}\": {what}")]
    Violation {
        /// The offending peer.
        peer: PartyId,
        /// What was expected.
        step: Step,
        /// What came instead.
        what: String,
    },
    /// The peer's value of something that the handshake compares differs from this party's.
    #[error("{peer} disagrees on {field}: here {ours}, there {theirs}")]
    Mismatch {
        /// The peer that differs.
        peer: PartyId,
        /// What differs.
        field: String,
        /// This party's value.
        ours: String,
        /// The peer's value.
        theirs: String,
    },
    /// The peer showed another key than the one pinned for it.
    #[error("{peer} has the wrong identity: expected fingerprint {expected}, got {got}")]
    Identity {
        /// The peer as configured.
        peer: PartyId,
        /// The fingerprint pinned for it.
        expected: String,
        /// The fingerprint of the key it showed.
        got: String,
    },
    /// Something failed on this machine: an address is in use, a key cannot be read.
    #[error("{what}: {reason}")]
    Local {
        /// What was tried.
        what: String,
        /// Why it failed.
        reason: String,
    },
    /// The channel was closed by this party.
    #[error("the channel to {peer} was closed by this party")]
    Closed {
        /// Its peer.
        peer: PartyId,
    },
}

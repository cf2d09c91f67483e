//! What is told of the connection to a peer, and to whom.

use std::time::{Duration, SystemTime};

use crate::PartyId;

/// How the connection to a peer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrunkState {
    /// It is being made, or waited for, for the first time.
    Connecting,
    /// It is there.
    Up,
    /// It is not there.
    Down {
        /// Why.
        reason: String,
        /// How long after the last attempt it is dialled again, if this party dials.
        again: Option<Duration>,
    },
    /// Nothing can be done with the peer: it has another key or version. It is tried again.
    Refused {
        /// Why.
        reason: String,
    },
}

impl TrunkState {
    /// Whether it is the same but for when the peer is dialled again.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Down { reason, .. }, Self::Down { reason: theirs, .. }) => reason == theirs,
            _ => self == other,
        }
    }
}

/// Who hears of the peers. Called on the threads that read the connections, for each peer in order; what takes long holds
/// up the channels to that peer.
pub trait Heard: Send + Sync {
    /// The connection to `peer` stands otherwise than before.
    fn link(&self, peer: PartyId, state: &TrunkState);

    /// A message that `peer` sent with [`Trunks::tell`](crate::Trunks::tell). The peer may have chosen every byte of it.
    fn message(&self, peer: PartyId, message: Vec<u8>);
}

/// What is known of the connection to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrunkFacts {
    /// Whether it is up, and if not, why.
    pub state: TrunkState,
    /// Since when it stands so, by this party's clock.
    pub since: SystemTime,
    /// The version that the peer said last, which may be one that was refused.
    pub version: Option<String>,
    /// How long the last heartbeat took to it and back.
    pub round_trip: Option<Duration>,
    /// How many microseconds its clock is ahead, to within half of the round trip.
    pub clock_ahead: Option<i64>,
    /// Bytes sent to it since the start, before encryption.
    pub bytes_sent: u64,
    /// Bytes received from it since the start, after decryption.
    pub bytes_received: u64,
    /// Open channels over the connection, of all sessions.
    pub channels: usize,
}

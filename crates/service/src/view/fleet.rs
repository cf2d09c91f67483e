//! Peers, as callers see them.

use cenote_api::view::Peer;

use crate::Timestamp;
use crate::live::{self, LinkState};

impl From<live::Peer> for Peer {
    fn from(peer: live::Peer) -> Self {
        let (link, reason, again) = match peer.link {
            LinkState::Connecting => ("connecting", None, None),
            LinkState::Up => ("up", None, None),
            LinkState::Down { reason, again } => ("down", Some(reason), again),
            LinkState::Refused { reason } => ("refused", Some(reason), None),
        };
        Peer {
            party: peer.party,
            name: peer.name,
            address: peer.address,
            link: link.to_owned(),
            reason,
            again: again.map(Timestamp::millis),
            since: peer.since.millis(),
            version: peer.version,
            round_trip: peer.round_trip,
            clock_ahead: peer.clock_ahead,
            sent: peer.bytes[0],
            received: peer.bytes[1],
        }
    }
}

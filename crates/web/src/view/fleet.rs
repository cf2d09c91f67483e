//! The service itself, its peers and its stock.

use cenote_service::live::{self, LinkState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::word;

/// Which party this is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct About {
    /// Its number.
    pub party: u8,
    /// The names of all parties, in order.
    pub parties: Vec<String>,
    /// The version of the program.
    pub version: String,
    /// The fingerprint of its key, by which the others know it.
    pub fingerprint: String,
    /// Since when it is up.
    pub since: u64,
    /// The time by its clock.
    pub now: u64,
    /// Why no jobs can be taken, if none can.
    pub not_ready: Option<String>,
}

impl About {
    pub(crate) fn new(about: live::About, now: cenote_service::Timestamp, ready: Result<(), String>) -> Self {
        About {
            party: about.party,
            parties: about.parties,
            version: about.version,
            fingerprint: about.fingerprint,
            since: about.since.millis(),
            now: now.millis(),
            not_ready: ready.err(),
        }
    }
}

/// Named data of this party.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// When it last changed.
    pub changed: u64,
}

impl From<live::Data> for Data {
    fn from(data: live::Data) -> Self {
        Data {
            name: data.name,
            bytes: data.bytes,
            changed: data.changed.millis(),
        }
    }
}

/// Another party.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Peer {
    /// Its number.
    pub party: u8,
    /// Its name.
    pub name: String,
    /// Where it is, if this party dials it.
    pub address: Option<String>,
    /// How the connection stands: `connecting`, `up`, `down`, or `refused` where the peer is one with whom nothing can be done.
    #[schema(example = "up")]
    pub link: String,
    /// Why the connection is down or refused.
    pub reason: Option<String>,
    /// When it is tried again, if this party is the one that dials.
    pub again: Option<u64>,
    /// Since when it stands so.
    pub since: u64,
    /// The version that it runs, once it has said.
    pub version: Option<String>,
    /// A message to it and back, in milliseconds, the last time.
    pub round_trip: Option<f64>,
    /// How far its clock is ahead of this one, in milliseconds.
    pub clock_ahead: Option<f64>,
    /// Bytes sent to it since the service came up.
    pub sent: u64,
    /// Bytes received from it.
    pub received: u64,
}

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
            again: again.map(cenote_service::Timestamp::millis),
            since: peer.since.millis(),
            version: peer.version,
            round_trip: peer.round_trip,
            clock_ahead: peer.clock_ahead,
            sent: peer.bytes[0],
            received: peer.bytes[1],
        }
    }
}

/// Material of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stock {
    /// The protocol.
    pub protocol: String,
    /// What is counted.
    pub kind: String,
    /// How much there is.
    pub amount: u64,
    /// How much there should be.
    pub target: u64,
    /// Whether more of it is being made.
    pub making: bool,
}

impl From<live::Stock> for Stock {
    fn from(stock: live::Stock) -> Self {
        Stock {
            protocol: stock.protocol,
            kind: stock.kind,
            amount: stock.amount,
            target: stock.target,
            making: stock.making,
        }
    }
}

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Running {
    /// The job.
    pub job: String,
    /// Since when.
    pub since: u64,
    /// AND gates done.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

impl From<live::Running> for Running {
    fn from(running: live::Running) -> Self {
        Running {
            job: running.job.to_string(),
            since: running.since.millis(),
            done: running.done,
            total: running.total,
        }
    }
}

/// What an operator should see to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alarm {
    /// Its kind: cheating, peer-lost, stock-low, disk, clock, unsettled, warning.
    pub kind: String,
    /// What it is about.
    pub text: String,
    /// What to do.
    pub advice: String,
    /// Since when.
    pub since: u64,
}

impl From<live::Alarm> for Alarm {
    fn from(alarm: live::Alarm) -> Self {
        Alarm {
            kind: word(&alarm.kind),
            text: alarm.text,
            advice: alarm.advice,
            since: alarm.since.millis(),
        }
    }
}

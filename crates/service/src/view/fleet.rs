//! The service itself, its peers and its stock, as callers see them.

use cenote_api::view::{About, Alarm, Data, Peer, Running, Stock, Unsettled};

use super::word;
use crate::live::{self, LinkState};
use crate::{Timestamp, job};

impl live::About {
    /// At this time, `ready` or why not.
    pub fn view(self, now: Timestamp, ready: Result<(), String>) -> About {
        About {
            party: self.party,
            parties: self.parties,
            version: self.version,
            fingerprint: self.fingerprint,
            since: self.since.millis(),
            now: now.millis(),
            not_ready: ready.err(),
        }
    }
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

impl From<job::Unsettled> for Unsettled {
    fn from(known: job::Unsettled) -> Self {
        Unsettled {
            party: known.peer,
            times: known.times,
            grave: known.grave,
        }
    }
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

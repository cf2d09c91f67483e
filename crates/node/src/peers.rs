//! Talk with the peers: what is sent to each, and the queues of what is to be done for each.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use cenote_service::live::{LinkState, Peer as Seen};

use crate::message::Message;
use crate::monitor::Monitor;
use crate::peer::Peer;
use crate::settings::Settings;
use crate::wires::Wires;

/// Bytes of a peer's messages that wait.
const WAITING_BYTES: usize = 16 << 20;

/// Something to do for a peer.
pub(crate) enum Task {
    /// What it said.
    Message(Message, usize),
    /// Its connection has come up.
    Up,
    /// Both say again where their jobs stand.
    Statuses,
}

/// The peers of a service. Its locks, one for each peer, are held for a moment each, and no other is taken meanwhile.
pub(crate) struct Peers {
    me: u8,
    names: Vec<String>,
    /// By party; that of this party stays as it is.
    all: Vec<Peer>,
    /// The threads that do what peers ask, by party.
    pub(crate) workers: OnceLock<Vec<Vec<SyncSender<Task>>>>,
    pub(crate) wires: OnceLock<Arc<dyn Wires>>,
    monitor: Arc<Monitor>,
}

impl Peers {
    pub(crate) fn new(settings: &Settings, monitor: Arc<Monitor>) -> Self {
        let peer = |_: &String| Peer::new(settings.proposals_a_second);
        Peers {
            me: settings.me,
            all: settings.names.iter().map(peer).collect(),
            names: settings.names.clone(),
            workers: OnceLock::new(),
            wires: OnceLock::new(),
            monitor,
        }
    }

    /// The name of a party, for people.
    pub(crate) fn name(&self, party: u8) -> &str {
        self.names
            .get(usize::from(party))
            .map_or("a stranger", String::as_str)
    }

    /// How many parties there are, this one with them.
    pub(crate) fn count(&self) -> u8 {
        self.names.len() as u8
    }

    /// A peer; nothing for this party itself.
    pub(crate) fn get(&self, party: u8) -> Option<&Peer> {
        self.all.get(usize::from(party)).filter(|_| party != self.me)
    }

    /// How each peer stands, for people.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let Some(wires) = self.wires.get() else {
            return Vec::new();
        };
        let peers = (0..self.count()).filter_map(|party| Some((party, self.get(party)?)));
        peers
            .map(|(party, peer)| {
                let facts = wires.facts(party);
                let (hello, refused, holds_up) = {
                    let known = peer.known();
                    (known.hello.clone(), known.is_refused(), known.holds_up())
                };
                let (link, reason) = match (facts.link, refused) {
                    (LinkState::Up, Some(refused)) => (LinkState::Refused, Some(refused)),
                    (LinkState::Up, None) => (LinkState::Up, holds_up),
                    (link, _) => (link, facts.reason),
                };
                Seen {
                    party,
                    name: self.name(party).to_owned(),
                    address: facts.address,
                    link,
                    reason,
                    again: facts.again,
                    since: facts.since,
                    version: hello.map(|hello| hello.program),
                    round_trip: facts.round_trip,
                    clock_ahead: facts.clock_ahead,
                    sent: facts.bytes[0],
                    received: facts.bytes[1],
                }
            })
            .collect()
    }

    /// Whether a line may be written on what a peer has done wrong: if so, how many were left out before.
    pub(crate) fn line_on(&self, party: u8) -> Option<u64> {
        self.get(party)?.known().line(Instant::now())
    }

    /// Tells one peer, as far as it is there.
    pub(crate) fn tell(&self, to: u8, message: &Message) {
        let _ = self.is_told(to, message);
    }

    /// Tells one peer. Gives whether the message is on its way.
    pub(crate) fn is_told(&self, to: u8, message: &Message) -> bool {
        // Links can be up before this service has got what it tells with.
        let told = self
            .wires
            .get()
            .is_some_and(|wires| wires.tell(to, message.to_bytes()).is_ok());
        if !told {
            // It hears of it when the link is back, or at the next round of statuses.
            tracing::debug!(to, job = ?message.job(), "a message was lost");
            if let Some(peer) = self.get(to) {
                peer.known().behind = true;
            }
        }
        told
    }

    /// Tells all others that take part.
    pub(crate) fn tell_all(&self, parties: u8, message: &Message) {
        (0..parties)
            .filter(|party| *party != self.me)
            .for_each(|party| self.tell(party, message));
    }

    /// Gives a peer's thread something to do, if it has room.
    pub(crate) fn put(&self, peer: u8, worker: usize, task: Task) {
        let workers = self
            .workers
            .get()
            .and_then(|workers| workers.get(usize::from(peer)));
        let (Some(worker), Some(known)) = (workers.and_then(|workers| workers.get(worker)), self.get(peer))
        else {
            return;
        };
        let mut known = known.known();
        let bytes = match &task {
            Task::Message(_, bytes) => *bytes,
            Task::Up | Task::Statuses => 0,
        };
        if known.waiting + bytes > WAITING_BYTES || worker.try_send(task).is_err() {
            known.behind = true;
            drop(known);
            self.monitor.refused(peer);
        } else {
            known.waiting += bytes;
        }
    }
}

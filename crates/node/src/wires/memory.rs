//! Services of one process, joined by memory: for tests, and to try things out.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cenote::Link;
use cenote::Patience;
use cenote::runner::Connections;
use cenote_net::{Closer, Error as NetError, PartyId};
use cenote_service::Timestamp;
use cenote_service::live::LinkState;
use cenote_session::Topology;

use super::{Facts, Hear, LONGEST, Lost, Wires};

/// What a test does with a message on its way: what is delivered instead of it.
pub type Meddler = Arc<dyn Fn(u8, u8, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync>;

/// What a test does to the connections of a party of a session.
pub type Spoiler = Arc<dyn Fn(&str, u8, Connections) -> Connections + Send + Sync>;

/// How often who waits for others looks whether it still does.
const LOOK: Duration = Duration::from_millis(50);

/// Joins services of one process.
#[derive(Clone, Default)]
pub struct Hub(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    met: Condvar,
}

#[derive(Default)]
struct State {
    ears: BTreeMap<u8, Arc<dyn Hear>>,
    /// By sender and receiver.
    lines: BTreeMap<(u8, u8), Line>,
    /// Those of parties that are gone, which may still deliver what was sent before.
    ended: BTreeMap<(u8, u8), JoinHandle<()>>,
    /// Links that are cut, the lower party first.
    cut: Vec<(u8, u8)>,
    meddler: Option<Meddler>,
    spoiler: Option<Spoiler>,
    link: Link,
    sessions: BTreeMap<String, Meeting>,
}

/// A thread that delivers what is put in.
struct Line {
    sender: Sender<Parcel>,
    thread: JoinHandle<()>,
}

enum Parcel {
    Message(Vec<u8>),
    Link(bool),
}

/// The parties of a session that have come, and what the others will get.
struct Meeting {
    come: Vec<u8>,
    parts: BTreeMap<u8, Connections>,
    /// What ends the channels of each party.
    closers: BTreeMap<u8, Vec<Closer>>,
    parties: u8,
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins a service: what it sends with, once [`Hub::hear`] has been called for it.
    pub fn wires(&self, party: u8) -> Arc<dyn Wires> {
        Arc::new(Wire {
            hub: self.clone(),
            party,
        })
    }

    /// `ears` hear what comes for `party` from here on, and of all links.
    pub fn hear(&self, party: u8, ears: Arc<dyn Hear>) {
        let mut state = self.state();
        let others: Vec<u8> = state
            .ears
            .keys()
            .copied()
            .filter(|other| *other != party)
            .collect();
        state.ears.insert(party, ears);
        for other in others {
            for (from, to) in [(party, other), (other, party)] {
                let (sender, receiver) = channel();
                let hub = self.clone();
                let name = format!("wire-{from}-{to}");
                let before = state.ended.remove(&(from, to));
                let body = move || {
                    // What comes from the party as it was before is heard first.
                    let _ = before.map(JoinHandle::join);
                    hub.deliver(from, to, &receiver);
                };
                if let Ok(thread) = std::thread::Builder::new().name(name).spawn(body) {
                    // It is the first thing that is heard.
                    let _ = sender.send(Parcel::Link(true));
                    state.lines.insert((from, to), Line { sender, thread });
                }
            }
        }
    }

    fn deliver(&self, from: u8, to: u8, parcels: &Receiver<Parcel>) {
        while let Ok(parcel) = parcels.recv() {
            let ears = self.state().ears.get(&to).cloned();
            let Some(ears) = ears else { continue };
            match parcel {
                Parcel::Link(up) => ears.link(from, up),
                Parcel::Message(message) => ears.message(from, message),
            }
        }
    }

    /// Everything that is sent goes through `meddler`: an adversary, or a slow net.
    pub fn meddle(&self, meddler: Option<Meddler>) {
        self.state().meddler = meddler;
    }

    /// The connections of sessions that begin from here on are as `spoiler` makes them: a party that deviates.
    pub fn spoil(&self, spoiler: Option<Spoiler>) {
        self.state().spoiler = spoiler;
    }

    /// Sessions that begin from here on go over such links.
    pub fn slow_down(&self, link: Link) {
        self.state().link = link;
    }

    /// Says `message` to `to` in the name of `from`.
    pub fn say(&self, from: u8, to: u8, message: Vec<u8>) {
        if let Some(line) = self.state().lines.get(&(from, to)) {
            let _ = line.sender.send(Parcel::Message(message));
        }
    }

    /// Cuts the link of two parties, with all their sessions.
    pub fn cut(&self, a: u8, b: u8) {
        let mut state = self.state();
        let pair = (a.min(b), a.max(b));
        if !state.cut.contains(&pair) {
            state.cut.push(pair);
        }
        state.end_sessions(&[a, b]);
        state.tell_link(a, b, false);
    }

    /// Joins them again.
    pub fn mend(&self, a: u8, b: u8) {
        let mut state = self.state();
        state.cut.retain(|pair| *pair != (a.min(b), a.max(b)));
        state.tell_link(a, b, true);
    }

    /// The party is gone, as when its process is killed.
    pub fn kill(&self, party: u8) {
        let mut state = self.state();
        state.end_sessions(&[party]);
        state.ears.remove(&party);
        let others: Vec<u8> = state.ears.keys().copied().collect();
        for other in others {
            if let Some(line) = state.lines.get(&(party, other)) {
                let _ = line.sender.send(Parcel::Link(false));
            }
            for ends in [(party, other), (other, party)] {
                if let Some(line) = state.lines.remove(&ends) {
                    state.ended.insert(ends, line.thread);
                }
            }
        }
    }

    fn join(
        &self,
        party: u8,
        topology: &Topology,
        session: &str,
        (timeout, patience): (Duration, &Patience),
    ) -> cenote::Result<Connections> {
        let until = Instant::now() + timeout;
        let mut state = self.state();
        if !state.sessions.contains_key(session) {
            let mut parts = BTreeMap::new();
            let mut closers = BTreeMap::new();
            for (number, mut part) in (0u8..).zip(Connections::in_memory(topology, timeout)) {
                closers.insert(number, part.iter_mut().map(|channel| channel.closer()).collect());
                if let Some(spoiler) = &state.spoiler {
                    part = spoiler(session, number, part);
                }
                parts.insert(number, state.link.shape(part));
            }
            let meeting = Meeting {
                come: Vec::new(),
                parts,
                closers,
                parties: topology.parties,
            };
            state.sessions.insert(session.to_owned(), meeting);
        }
        let mine = state.sessions.get_mut(session).and_then(|meeting| {
            meeting.come.push(party);
            meeting.parts.remove(&party)
        });
        self.0.met.notify_all();
        loop {
            let missing = state
                .sessions
                .get(session)
                .map(|meeting| (0..meeting.parties).find(|other| !meeting.come.contains(other)));
            match (missing, mine.is_some()) {
                (Some(None), true) => break,
                (None, _) | (_, false) => return Err(gone(party)),
                (Some(Some(missing)), true) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() || patience.is_over() {
                        state.sessions.remove(session);
                        return Err(gone(missing));
                    }
                    state = self
                        .0
                        .met
                        .wait_timeout(state, left.min(LOOK))
                        .unwrap_or_else(PoisonError::into_inner)
                        .0;
                }
            }
        }
        mine.ok_or_else(|| gone(party))
    }
}

fn gone(party: u8) -> cenote::Error {
    NetError::PeerLost {
        peer: PartyId(party),
        step: cenote_net::step::CONNECT,
        reason: "it has not come".into(),
    }
    .into()
}

impl State {
    fn tell_link(&self, a: u8, b: u8, up: bool) {
        for line in [(a, b), (b, a)] {
            if let Some(line) = self.lines.get(&line) {
                let _ = line.sender.send(Parcel::Link(up));
            }
        }
    }

    fn end_sessions(&mut self, parties: &[u8]) {
        for meeting in self.sessions.values() {
            if parties.iter().all(|party| meeting.come.contains(party)) {
                let closers = parties.iter().filter_map(|party| meeting.closers.get(party));
                closers.flatten().for_each(Closer::close);
            }
        }
    }
}

struct Wire {
    hub: Hub,
    party: u8,
}

impl Wires for Wire {
    fn tell(&self, to: u8, message: Vec<u8>) -> Result<(), Lost> {
        let state = self.hub.state();
        let pair = (self.party.min(to), self.party.max(to));
        if state.cut.contains(&pair) || message.len() > LONGEST {
            return Err(Lost);
        }
        let line = state.lines.get(&(self.party, to)).ok_or(Lost)?.sender.clone();
        let meddler = state.meddler.clone();
        drop(state);
        let messages = match meddler {
            None => vec![message],
            Some(meddler) => meddler(self.party, to, message),
        };
        for message in messages {
            line.send(Parcel::Message(message)).map_err(|_| Lost)?;
        }
        Ok(())
    }

    fn facts(&self, peer: u8) -> Facts {
        let state = self.hub.state();
        let pair = (self.party.min(peer), self.party.max(peer));
        let up = state.ears.contains_key(&peer) && !state.cut.contains(&pair);
        Facts {
            link: if up { LinkState::Up } else { LinkState::Down },
            reason: (!up).then(|| "it is not there".into()),
            again: None,
            since: Timestamp::now(),
            address: None,
            round_trip: up.then_some(0.0),
            clock_ahead: up.then_some(0.0),
            bytes: [0, 0],
        }
    }

    fn connections(
        &self,
        topology: &Topology,
        session: &str,
        timeout: Duration,
        patience: &Patience,
    ) -> cenote::Result<Connections> {
        self.hub.join(self.party, topology, session, (timeout, patience))
    }

    fn stop(&self) {
        self.hub.kill(self.party);
    }
}

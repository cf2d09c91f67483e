//! What is known of a peer, whether it is connected or not.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use super::connection::Connection;
use super::facts::{Heard, TrunkFacts, TrunkState};
use super::locks::{Condvar, Mutex, MutexGuard};
use super::sessions::{Met, Offer};
use super::wire::SessionHash;
use crate::deadline::Deadline;
use crate::step::CONNECT;
use crate::{Error, Fault, Fingerprint, PartyId, Result};

/// One peer.
pub(super) struct Slot {
    pub(super) peer: PartyId,
    state: Mutex<State>,
    changed: Condvar,
    /// Held while a change is made and told, so that changes are told in order.
    telling: Mutex<()>,
}

struct State {
    stands: TrunkState,
    since: SystemTime,
    trunk: Option<Arc<Connection>>,
    /// How many connections have been made; the newest is the one that counts.
    made: u64,
    /// Sessions that this party has joined, and that wait for the peer.
    offers: HashMap<SessionHash, Arc<Offer>>,
    version: Option<String>,
    /// Why nothing can be done with it.
    refused: Option<Error>,
    /// A key that is not known, shown by who may be this peer.
    unknown_key: Option<Fingerprint>,
    round_trip: Option<Duration>,
    clock_ahead: Option<i64>,
    /// Over connections that are gone.
    sent: u64,
    received: u64,
    stopped: bool,
}

impl Slot {
    pub(super) fn new(peer: PartyId) -> Self {
        let state = State {
            stands: TrunkState::Connecting,
            since: SystemTime::now(),
            trunk: None,
            made: 0,
            offers: HashMap::new(),
            version: None,
            refused: None,
            unknown_key: None,
            round_trip: None,
            clock_ahead: None,
            sent: 0,
            received: 0,
            stopped: false,
        };
        Self {
            peer,
            state: Mutex::new(state),
            changed: Condvar::new(),
            telling: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn facts(&self) -> TrunkFacts {
        let state = self.lock();
        let trunk = state.trunk.as_ref();
        let (sent, received) = trunk.map_or((0, 0), |trunk| trunk.bytes());
        let trip = trunk
            .map(|trunk| trunk.round_trip())
            .filter(|trip| !trip.is_zero());
        TrunkFacts {
            state: state.stands.clone(),
            since: state.since,
            version: state.version.clone(),
            round_trip: trip.or(state.round_trip),
            clock_ahead: trunk.map(|trunk| trunk.clock_ahead()).or(state.clock_ahead),
            bytes_sent: state.sent + sent,
            bytes_received: state.received + received,
            channels: trunk.map_or(0, |trunk| trunk.channels()),
        }
    }

    /// How many connections have been made.
    #[cfg(test)]
    pub(super) fn made(&self) -> u64 {
        self.lock().made
    }

    /// The connection, if there is one.
    pub(super) fn trunk(&self) -> Result<Arc<Connection>> {
        let state = self.lock();
        if let Some(trunk) = &state.trunk {
            return Ok(trunk.clone());
        }
        if let Some(error) = &state.refused {
            return Err(error.clone());
        }
        let reason = match &state.stands {
            TrunkState::Down { reason, .. } => format!("it is not connected ({reason})"),
            _ => "it has not been connected yet".into(),
        };
        let (peer, step) = (self.peer, CONNECT);
        Err(Error::PeerLost { peer, step, reason })
    }

    /// Makes a change and tells of it.
    fn tell(&self, heard: &dyn Heard, change: impl FnOnce(&mut State) -> Option<TrunkState>) -> bool {
        let telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        let Some(stands) = change(&mut state) else {
            return false;
        };
        // What fails in the same way again and again is told of once.
        let is_known = state.stands.is_like(&stands);
        state.stands = stands.clone();
        if is_known {
            drop(state);
            self.changed.notify_all();
            return true;
        }
        state.since = SystemTime::now();
        drop(state);
        self.changed.notify_all();
        heard.link(self.peer, &stands);
        drop(telling);
        true
    }

    /// There is no connection, and why.
    pub(super) fn down(&self, heard: &dyn Heard, reason: String, again: Option<Duration>) {
        self.tell(heard, |state| {
            state.refused = None;
            Some(TrunkState::Down { reason, again })
        });
    }

    /// Nothing can be done with the peer. Not told while there is a connection, which is another then.
    pub(super) fn refuse(&self, heard: &dyn Heard, error: &Error, version: Option<String>) {
        let mut offers = Vec::new();
        self.tell(heard, |state| {
            if state.trunk.is_some() {
                return None;
            }
            state.refused = Some(error.clone());
            state.version = version.or(state.version.take());
            offers.extend(state.offers.values().cloned());
            Some(TrunkState::Refused {
                reason: error.to_string(),
            })
        });
        offers.iter().for_each(|offer| offer.fail(error.clone()));
    }

    /// There is a connection, which takes the place of one there was. False if that one does not end in time, or a newer one
    /// comes.
    pub(super) fn up(&self, heard: &dyn Heard, trunk: &Arc<Connection>, deadline: Deadline) -> bool {
        let mut state = self.lock();
        state.made += 1;
        let number = state.made;
        self.changed.notify_all();
        while let Some(old) = &state.trunk {
            old.break_off(Fault::Lost("it has connected anew".into()));
            let left = deadline.remaining().filter(|_| state.made == number);
            let Some(left) = left else {
                return false;
            };
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        self.tell(heard, |state| {
            // Of several that have waited the newest is left.
            if state.trunk.is_some() || state.stopped || state.made != number {
                return None;
            }
            state.trunk = Some(trunk.clone());
            state.version = Some(trunk.hello.version.clone());
            (state.refused, state.unknown_key) = (None, None);
            state.offers.values().for_each(|offer| trunk.offer(offer));
            Some(TrunkState::Up)
        })
    }

    /// The connection is over.
    pub(super) fn over(&self, heard: &dyn Heard, reason: String, again: Option<Duration>) {
        self.tell(heard, |state| {
            if let Some(trunk) = state.trunk.take() {
                let (sent, received) = trunk.bytes();
                state.sent += sent;
                state.received += received;
                state.round_trip = Some(trunk.round_trip()).filter(|trip| !trip.is_zero());
                state.clock_ahead = Some(trunk.clock_ahead());
            }
            Some(TrunkState::Down { reason, again })
        });
    }

    /// Somebody who may be this peer has shown an unknown key.
    pub(super) fn unknown_key(&self, shown: Fingerprint) {
        self.lock().unknown_key = Some(shown);
    }

    /// Has the peer offered a session as soon as it is connected, and now if it is.
    pub(super) fn offer(&self, offer: &Arc<Offer>) -> Result<()> {
        let mut state = self.lock();
        if state.stopped {
            return Err(Error::Closed { peer: self.peer });
        }
        if let (Some(error), None) = (&state.refused, &state.trunk) {
            return Err(error.clone());
        }
        match state.offers.entry(offer.join.session) {
            Entry::Occupied(_) => {
                return Err(Error::Local {
                    what: "joining a session".into(),
                    reason: "this party is joining it already".into(),
                });
            }
            Entry::Vacant(entry) => drop(entry.insert(offer.clone())),
        }
        if let Some(trunk) = &state.trunk {
            trunk.offer(offer);
        }
        Ok(())
    }

    /// Ends an offer; the peer is told why where it came to nothing.
    pub(super) fn end_offer(&self, offer: &Arc<Offer>, failure: Option<&str>) {
        let trunk = {
            let mut state = self.lock();
            state.offers.remove(&offer.join.session);
            state.trunk.clone()
        };
        let Some(reason) = failure else { return };
        if let Some(trunk) = trunk {
            trunk.withdraw(offer, reason);
        }
        let met: Option<Met> = (offer.outcome().as_ref()).and_then(|outcome| outcome.as_ref().ok().cloned());
        if let Some(met) = met {
            met.trunk.leave(met.first, &met.streams, reason);
            met.trunk.send_now();
        }
    }

    /// Why the peer has not joined within that time.
    pub(super) fn missing(&self, pinned: Option<Fingerprint>, waited: Duration) -> Error {
        let state = self.lock();
        let peer = self.peer;
        match (&state.trunk, &state.refused, state.unknown_key, pinned) {
            (None, Some(error), _, _) => error.clone(),
            (None, None, Some(got), Some(pinned)) => Error::Identity {
                peer,
                expected: pinned.to_string(),
                got: got.to_string(),
            },
            _ => Error::Timeout {
                peer,
                step: CONNECT,
                waited,
            },
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Nothing is to come any more: offers fail.
    pub(super) fn stop(&self) -> Option<Arc<Connection>> {
        let mut state = self.lock();
        state.stopped = true;
        let offers: Vec<_> = state.offers.drain().collect();
        let trunk = state.trunk.clone();
        drop(state);
        self.changed.notify_all();
        for (_, offer) in offers {
            offer.fail(Error::Closed { peer: self.peer });
        }
        trunk
    }

    /// Sleeps, but not beyond the stop.
    pub(super) fn pause(&self, limit: Duration) {
        let state = self.lock();
        drop((self.changed).wait_timeout_while(state, limit, |state| !state.stopped));
    }
}

//! Who has joined which session over a connection.
//!
//! Each party says that it joins, and with which streams. When both have, and want the same, the streams are open: each side
//! sends to the ids that the other has named. Nothing but the join itself can come before that.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::inflow::FIRST_WINDOW;
use super::locks::{Condvar, Mutex, MutexGuard};
use super::stream::Stream;
use super::wire::{FrameKind, Join, SessionHash, put, reason_body};
use crate::hello::{CHANNELS, LABELS};
use crate::step::CONNECT;
use crate::{Error, Fault, PartyId};

/// How long a session that the peer has joined and this party has not is kept.
const STALE: Duration = Duration::from_secs(600);

/// The joins over one connection that have not met.
#[derive(Default)]
pub(super) struct Sessions {
    ours: HashMap<SessionHash, Ours>,
    theirs: HashMap<SessionHash, Theirs>,
    /// Joins that have met, for as long as somebody waits for other peers, and the ids of the peer's.
    met: Vec<(u64, Weak<Offer>)>,
    /// The first id that the peer has not used.
    next: u64,
    over: bool,
}

struct Ours {
    first: u64,
    streams: Vec<Arc<Stream>>,
    offer: Arc<Offer>,
}

struct Theirs {
    first: u64,
    join: Join,
    since: Instant,
}

/// Wakes who waits for several offers.
#[derive(Default)]
pub(super) struct Gathering {
    changed: Mutex<bool>,
    condvar: Condvar,
}

impl Gathering {
    fn change(&self) {
        *self.changed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condvar.notify_all();
    }

    /// Waits up to `limit` until something has changed since the last call.
    pub(super) fn wait(&self, limit: Duration) {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .condvar
            .wait_timeout_while(changed, limit, |changed| !*changed);
        let (mut changed, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *changed = false;
    }
}

/// What this party wants with one peer.
pub(super) struct Offer {
    pub(super) peer: PartyId,
    /// Without what each connection adds.
    pub(super) join: Join,
    pub(super) queue_bytes: usize,
    pub(super) outcome: Mutex<Option<Result<Met, Error>>>,
    pub(super) gathering: Arc<Gathering>,
}

/// The streams of a session that both have joined.
#[derive(Clone)]
pub(super) struct Met {
    pub(super) trunk: Arc<Connection>,
    pub(super) first: u64,
    pub(super) streams: Vec<Arc<Stream>>,
}

impl Offer {
    pub(super) fn outcome(&self) -> MutexGuard<'_, Option<Result<Met, Error>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first outcome counts.
    fn settle(&self, outcome: Result<Met, Error>) {
        self.outcome().get_or_insert(outcome);
        self.gathering.change();
    }

    pub(super) fn fail(&self, error: Error) {
        self.settle(Err(error));
    }

    fn lost(&self, reason: String) -> Error {
        let (peer, step) = (self.peer, CONNECT);
        Error::PeerLost { peer, step, reason }
    }

    /// What it has come to; if both have met and the peer is lost since, that.
    pub(super) fn latest(&self) -> Option<Result<Met, Error>> {
        let outcome = self.outcome().clone()?;
        Some(
            outcome.and_then(|met| match met.streams.iter().find_map(|stream| stream.lost()) {
                Some(reason) => Err(self.lost(reason)),
                None => Ok(met),
            }),
        )
    }

    /// Whether the peer wants the same.
    fn compare(&self, theirs: &Join) -> Result<(), Error> {
        let ours = &self.join;
        let digest = |join: &Join| format!("those with digest {}", hex::encode(&join.labels[..8]));
        let pairs = [
            (
                "the number of parties",
                ours.parties.to_string(),
                theirs.parties.to_string(),
            ),
            (CHANNELS, ours.channels.to_string(), theirs.channels.to_string()),
            (LABELS, digest(ours), digest(theirs)),
        ];
        match pairs.into_iter().find(|(_, ours, theirs)| ours != theirs) {
            None => Ok(()),
            Some((field, ours, theirs)) => Err(Error::Mismatch {
                peer: self.peer,
                field: field.into(),
                ours,
                theirs,
            }),
        }
    }
}

/// Has those look again who wait for others, too.
fn wake(met: Vec<(u64, Weak<Offer>)>) {
    for offer in met.into_iter().filter_map(|(_, offer)| offer.upgrade()) {
        offer.gathering.change();
    }
}

fn frame(kind: FrameKind, id: u64, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    put(&mut frame, kind, id, body);
    frame
}

impl Connection {
    fn lock_sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the peer of what this party wants; the offer is settled when the peer wants something, too.
    pub(super) fn offer(self: &Arc<Self>, offer: &Arc<Offer>) {
        let mut sessions = self.lock_sessions();
        if sessions.over {
            return;
        }
        let session = offer.join.session;
        let theirs = sessions.theirs.remove(&session);
        let most = self.limits.unjoined.min(self.hello.unjoined);
        if theirs.is_none() && sessions.ours.len() >= most as usize {
            return offer.fail(Error::Local {
                what: "joining a session".into(),
                reason: format!("{most} sessions wait for {} to join", offer.peer),
            });
        }
        let (first, streams) = self.new_streams(offer.join.channels.into(), offer.queue_bytes);
        let join = Join {
            answers: theirs.as_ref().map_or(0, |theirs| theirs.first),
            window: FIRST_WINDOW.min(self.limits.window) as u32,
            ..offer.join
        };
        let told = frame(FrameKind::Join, first, &join.encode());
        let offer = offer.clone();
        let ours = Ours {
            first,
            streams,
            offer,
        };
        match theirs {
            Some(theirs) => self.meet(&mut sessions, ours, theirs.first, &theirs.join, Some(told)),
            None => {
                self.outlet.frame(told);
                sessions.ours.insert(session, ours);
            }
        }
        drop(sessions);
        self.send_now();
    }

    /// Both have joined. The peer may send as soon as it is `told` of this party's join, so that comes after the streams are ready for that.
    fn meet(
        self: &Arc<Self>,
        sessions: &mut Sessions,
        ours: Ours,
        theirs: u64,
        join: &Join,
        told: Option<Vec<u8>>,
    ) {
        let Ours {
            first,
            streams,
            offer,
        } = ours;
        let same = offer.compare(join);
        let mut wants = Vec::new();
        if same.is_ok() {
            let matched = streams.iter().zip(theirs..);
            wants.extend(matched.map(|(stream, id)| stream.match_with(theirs, id, join.window)));
        }
        if let Some(told) = told {
            self.outlet.frame(told);
        }
        match same {
            Ok(()) => {
                for (stream, wants) in streams.iter().zip(wants) {
                    self.list(stream, wants);
                }
                sessions.met.retain(|(_, offer)| offer.strong_count() > 0);
                sessions.met.push((theirs, Arc::downgrade(&offer)));
                let trunk = self.clone();
                offer.settle(Ok(Met {
                    trunk,
                    first,
                    streams,
                }));
            }
            Err(error) => {
                streams.iter().for_each(|stream| self.forget(stream.id));
                offer.fail(error);
            }
        }
    }

    /// Takes an offer back that is not settled.
    pub(super) fn withdraw(&self, offer: &Offer, reason: &str) {
        let mut sessions = self.lock_sessions();
        let Entry::Occupied(entry) = sessions.ours.entry(offer.join.session) else {
            return;
        };
        if !std::ptr::eq(&*entry.get().offer, offer) {
            return;
        }
        let ours = entry.remove();
        self.leave(ours.first, &ours.streams, reason);
        drop(sessions);
        self.send_now();
    }

    /// Leaves a session that did not come about.
    pub(super) fn leave(&self, first: u64, streams: &[Arc<Stream>], reason: &str) {
        streams.iter().for_each(|stream| self.forget(stream.id));
        self.outlet
            .frame(frame(FrameKind::Leave, first, reason_body(reason)));
    }

    /// The peer joins with its stream `first` and those after it.
    pub(super) fn peer_joins(self: &Arc<Self>, first: u64, body: &[u8]) -> Result<(), Fault> {
        let violation = |what: &str| Err(Fault::Violation(what.into()));
        let Some(join) = Join::decode(body) else {
            return violation("a join that is none");
        };
        let mut sessions = self.lock_sessions();
        let next = first.checked_add(join.channels.max(1).into());
        let Some(next) = next.filter(|_| first >= sessions.next.max(1)) else {
            return violation("a join with ids that were used before");
        };
        sessions.next = next;
        match sessions.ours.entry(join.session) {
            Entry::Occupied(entry) if join.answers == 0 || join.answers == entry.get().first => {
                let ours = entry.remove();
                self.meet(&mut sessions, ours, first, &join, None);
            }
            // It answers a join that this party has taken back.
            _ if join.answers != 0 => {}
            _ => {
                let since = Instant::now();
                let theirs = Theirs { first, join, since };
                if sessions.theirs.insert(join.session, theirs).is_some() {
                    return violation("a second join of one session");
                }
                // Some may be on their way to be taken back, so it is given twice as many as it is told.
                if sessions.theirs.len() > 2 * self.limits.unjoined as usize {
                    return violation("joins of too many sessions that nobody else has joined");
                }
            }
        }
        Ok(())
    }

    /// The peer leaves what it has joined with this id.
    pub(super) fn peer_leaves(&self, first: u64, reason: &str) {
        let mut sessions = self.lock_sessions();
        let before = sessions.theirs.len();
        sessions.theirs.retain(|_, theirs| theirs.first != first);
        if sessions.theirs.len() < before {
            return;
        }
        let met = std::mem::take(&mut sessions.met);
        let (left, others) = met.into_iter().partition(|(of, _)| *of == first);
        sessions.met = others;
        drop(sessions);
        let streams = self.all_streams();
        let lost = streams.into_iter().filter(|stream| stream.is_of(first));
        let mut ours = None;
        for stream in lost {
            ours = Some(ours.map_or(stream.id, |id: u64| id.min(stream.id)));
            let wants = stream.lose(&format!("it has left the session: {reason}"));
            self.list(&stream, wants);
        }
        wake(left);
        // It may not have met this party's join before it left.
        if let Some(ours) = ours {
            self.outlet.frame(frame(
                FrameKind::Leave,
                ours,
                reason_body("the other has left it"),
            ));
            self.send_now();
        }
    }

    /// The peer does not keep what this party has joined with this id.
    pub(super) fn peer_refuses(&self, first: u64, reason: &str) {
        let mut sessions = self.lock_sessions();
        let found =
            (sessions.ours.iter()).find_map(|(session, ours)| (ours.first == first).then_some(*session));
        if let Some(ours) = found.and_then(|session| sessions.ours.remove(&session)) {
            ours.streams.iter().for_each(|stream| self.forget(stream.id));
            let error = ours.offer.lost(format!("it refused the session: {reason}"));
            ours.offer.fail(error);
        }
    }

    /// Refuses what has waited for long.
    pub(super) fn expire_sessions(&self) {
        let mut sessions = self.lock_sessions();
        let stale: Vec<(SessionHash, u64)> = (sessions.theirs.iter())
            .filter(|(_, theirs)| theirs.since.elapsed() > STALE)
            .map(|(session, theirs)| (*session, theirs.first))
            .collect();
        for (session, first) in stale {
            sessions.theirs.remove(&session);
            let reason = reason_body("this party has not joined it for long");
            self.outlet.frame(frame(FrameKind::Refuse, first, reason));
        }
    }

    /// The connection is over. Offers that were not settled wait for the next one. From here on no session brings streams, so
    /// that `lose` loses all there are; who has met and waits for others looks at them after that.
    pub(super) fn end_sessions(&self, lose: impl FnOnce()) {
        let over = Sessions {
            over: true,
            ..Sessions::default()
        };
        let before = std::mem::replace(&mut *self.lock_sessions(), over);
        lose();
        wake(before.met);
    }
}

//! The roll call: which peers are there, and for whom they wait.
//!
//! A party whose process has halted says nothing and closes nothing. Who waits for it names it when the time is over; but
//! who waits for a live party that itself waits for the halted one must not name the live one. So peers with a channel
//! called [`ROLL_CALL`] between them tell each other on it, several times a second, for whom they wait. What a peer says is
//! its word only: at worst a wait for it takes twice its time, and another peer that has indeed been silent is named.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::step::ROLL;
use crate::{Channel, Closer, Error, PartyId, Result, Threads};

/// The label of channels that [`crate::connect`] keeps for the roll call, where it is among those asked for. Worth its price
/// among three parties and more.
pub const ROLL_CALL: &str = "roll call";

/// The time between two calls. Shorter waits are not told of.
pub(crate) const BEAT: Duration = Duration::from_millis(250);

/// The first call comes after this part of the time for which a peer is waited for, at the latest after that time, and within
/// a beat: sessions that end before it cost no thread.
const FIRST_PART: u32 = 8;
const LATEST_FIRST: Duration = Duration::from_secs(2);

/// The threads that call, and the one that looks when to.
static CALLERS: Threads = Threads::new("cenote-roll");

/// For whom this party waits, and what is known of its peers. Clones share it; when the last one goes, the call ends.
#[derive(Clone, Default)]
pub struct Roll(Arc<Shared>);

#[derive(Default)]
struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    /// How many waits for each peer are under way.
    waits: BTreeMap<PartyId, usize>,
    peers: BTreeMap<PartyId, Heard>,
    /// Channels over which nothing has been called yet.
    silent: Vec<Box<dyn Channel>>,
    interrupters: Vec<Closer>,
    callers: Vec<Thread>,
}

/// What a peer said last.
struct Heard {
    at: Instant,
    /// The parties that it waits for: a bit each.
    waits_for: u8,
}

/// What is known when the time for a peer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing that excuses it.
    Nothing,
    /// It is there, and says that it waits for another that is there too.
    Waiting,
    /// It is there, and says that it waits for this party, of which nothing has been heard either.
    Behind(PartyId),
}

fn bit(party: PartyId) -> u8 {
    1u8.checked_shl(party.0.into()).unwrap_or(0)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls all peers, each on a thread. One that cannot be called is neither excused nor named.
    fn call(self: &Arc<Self>) {
        let silent = std::mem::take(&mut self.lock().silent);
        for channel in silent {
            let peer = channel.peer();
            self.lock().interrupters.push(channel.interrupter());
            let shared = Arc::downgrade(self);
            if let Err(error) = CALLERS.start(move || call(&shared, channel)) {
                tracing::warn!(%error, %peer, "a peer is not told for whom this party waits");
                self.lock().peers.remove(&peer);
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.lock();
        state.interrupters.iter().for_each(Closer::close);
        state.callers.iter().for_each(Thread::unpark);
    }
}

impl Roll {
    /// Calls the peers at the other ends of `channels` until this is dropped, for the first time when a part of `timeout` is
    /// over.
    pub(crate) fn begin(
        &self,
        channels: impl IntoIterator<Item = Box<dyn Channel>>,
        timeout: Duration,
    ) -> Result<()> {
        let mut state = self.0.lock();
        for channel in channels {
            state.hear(channel.peer(), 0);
            state.silent.push(channel);
        }
        let calls = !state.silent.is_empty();
        drop(state);
        if !calls {
            return Ok(());
        }
        let due = Instant::now() + (timeout / FIRST_PART).min(LATEST_FIRST);
        UNCALLED.add(due, Arc::downgrade(&self.0))
    }

    /// Notes that this party waits for `peer`, until the guard is dropped.
    pub(crate) fn wait_for(&self, peer: PartyId) -> OnRoll {
        *self.0.lock().waits.entry(peer).or_default() += 1;
        OnRoll(self.clone(), peer)
    }

    /// What is known of `peer`, for which this party has `waited` in vain. Who was heard of in the latter half of that time
    /// is there.
    pub(crate) fn seen(&self, peer: PartyId, waited: Duration) -> Seen {
        let state = self.0.lock();
        let is_there = |heard: &Heard| heard.at.elapsed() < waited / 2;
        let Some(heard) = state.peers.get(&peer).filter(|heard| is_there(heard)) else {
            return Seen::Nothing;
        };
        let mut seen = Seen::Nothing;
        for (&other, of_other) in &state.peers {
            if other != peer && heard.waits_for & bit(other) != 0 {
                if !is_there(of_other) {
                    return Seen::Behind(other);
                }
                seen = Seen::Waiting;
            }
        }
        seen
    }
}

impl State {
    fn hear(&mut self, peer: PartyId, waits_for: u8) {
        let at = Instant::now();
        self.peers.insert(peer, Heard { at, waits_for });
    }
}

/// A wait that peers are told of.
pub(crate) struct OnRoll(Roll, PartyId);

impl Drop for OnRoll {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        if let Some(count) = state.waits.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                state.waits.remove(&self.1);
            }
        }
    }
}

impl fmt::Debug for Roll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        write!(f, "Roll({:?})", state.peers.keys().collect::<Vec<_>>())
    }
}

impl PartialEq for Roll {
    /// Whether both are one roll.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Roll {}

/// The rolls of all sessions of this process that have not been called yet.
static UNCALLED: Uncalled = Uncalled(Mutex::new(Vec::new()));

/// Rolls, and when they are to be called. While there are any, a thread looks after them.
struct Uncalled(Mutex<Vec<(Instant, Weak<Shared>)>>);

impl Uncalled {
    fn lock(&self) -> MutexGuard<'_, Vec<(Instant, Weak<Shared>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&'static self, due: Instant, roll: Weak<Shared>) -> Result<()> {
        let mut rolls = self.lock();
        if rolls.is_empty() {
            let started = CALLERS.start(move || self.watch());
            started.map_err(|error| Error::Local {
                what: "starting a thread for the roll call".into(),
                reason: error.to_string(),
            })?;
        }
        rolls.push((due, roll));
        Ok(())
    }

    /// Looks every beat whether one is due, until none is left.
    fn watch(&self) {
        loop {
            std::thread::sleep(BEAT);
            let mut rolls = self.lock();
            rolls.retain(|(_, roll)| roll.strong_count() > 0);
            let now = Instant::now();
            let due: Vec<_> = rolls.extract_if(.., |(due, _)| *due <= now).collect();
            let is_last = rolls.is_empty();
            drop(rolls);
            for roll in due.into_iter().filter_map(|(_, roll)| roll.upgrade()) {
                roll.call();
            }
            if is_last {
                return;
            }
        }
    }
}

/// Tells and hears once a beat, each side one message, so that nothing piles up for a peer that halts.
fn call(shared: &Weak<Shared>, mut channel: Box<dyn Channel>) {
    let peer = channel.peer();
    match shared.upgrade() {
        Some(roll) => roll.lock().callers.push(std::thread::current()),
        None => return,
    }
    loop {
        let Some(roll) = shared.upgrade() else { return };
        let waits = roll.lock().waits.keys().fold(0, |bits, &peer| bits | bit(peer));
        drop(roll);
        let mut theirs = [0];
        let mut outcome = channel.send(ROLL, &[waits]);
        if outcome.is_ok() {
            outcome = channel.recv(ROLL, &mut theirs);
        }
        while matches!(outcome, Err(Error::Timeout { .. })) {
            outcome = channel.recv(ROLL, &mut theirs);
        }
        let Some(roll) = shared.upgrade() else { return };
        if outcome.is_err() {
            // It is gone, or does not take part: it is neither excused nor named.
            roll.lock().peers.remove(&peer);
            return;
        }
        roll.lock().hear(peer, theirs[0]);
        drop(roll);
        let beat = Instant::now() + BEAT;
        while shared.strong_count() > 0 && Instant::now() < beat {
            std::thread::park_timeout(beat.saturating_duration_since(Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChannelOptions;

    const LONG: Duration = Duration::from_secs(1000);

    impl Roll {
        /// Has `peer` have said some seconds ago that it waits for these.
        pub(crate) fn heard(&self, peer: u8, ago: u64, waits_for: u8) {
            let at = Instant::now().checked_sub(Duration::from_secs(ago)).unwrap();
            self.0.lock().peers.insert(PartyId(peer), Heard { at, waits_for });
        }
    }

    #[test]
    fn who_is_there_and_waits_is_not_named() {
        let roll = Roll::default();
        assert_eq!(roll.seen(PartyId(1), LONG), Seen::Nothing, "no call");
        for (one, two, seen) in [
            ((0, 0b100), (600, 0), Seen::Behind(PartyId(2))),
            // Whoever was silent for less than half of the time may yet answer.
            ((0, 0b100), (400, 0), Seen::Waiting),
            ((600, 0b100), (600, 0), Seen::Nothing),
            ((0, 0), (600, 0), Seen::Nothing),
            // That it waits for itself, for this party or for one that is not there excuses nobody.
            ((0, 0b1111_1011), (600, 0), Seen::Nothing),
        ] {
            roll.heard(1, one.0, one.1);
            roll.heard(2, two.0, two.1);
            assert_eq!(roll.seen(PartyId(1), LONG), seen, "{one:?} {two:?}");
        }
    }

    #[test]
    fn waits_are_told_while_they_last() {
        let roll = Roll::default();
        let waits = || roll.0.lock().waits.clone();
        let first = roll.wait_for(PartyId(2));
        let second = roll.wait_for(PartyId(2));
        drop(first);
        assert_eq!(waits(), BTreeMap::from([(PartyId(2), 1)]));
        drop(second);
        assert_eq!(waits(), BTreeMap::new());
        assert_eq!([7, 8, 255].map(|party| bit(PartyId(party))), [0x80, 0, 0]);
    }

    /// The rolls of two parties with one channel between them.
    fn joined(timeout: Duration) -> [Roll; 2] {
        let (a, b) = crate::memory_pair(PartyId(0), PartyId(1), ChannelOptions::default());
        let rolls = [Roll::default(), Roll::default()];
        let channels: [Box<dyn Channel>; 2] = [Box::new(a), Box::new(b)];
        for (roll, channel) in rolls.iter().zip(channels) {
            roll.begin([channel], timeout).unwrap();
        }
        rolls
    }

    #[test]
    fn peers_hear_of_waits() {
        let [roll, of_peer] = joined(Duration::ZERO);
        let _wait = of_peer.wait_for(PartyId(2));
        let heard = || roll.0.lock().peers[&PartyId(1)].waits_for;
        let start = Instant::now();
        while heard() == 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing was heard");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(heard(), bit(PartyId(2)));
    }

    #[test]
    fn a_short_session_costs_no_thread_and_leaves_nothing_open() {
        let (a, mut b) = crate::memory_pair(PartyId(0), PartyId(1), ChannelOptions::default());
        let roll = Roll::default();
        roll.begin([Box::new(a) as Box<dyn Channel>], LONG).unwrap();
        assert!(roll.0.lock().callers.is_empty());
        drop(roll);
        let lost = b.recv(ROLL, &mut [0]).unwrap_err();
        assert!(matches!(lost, Error::PeerLost { .. }), "{lost}");
    }
}

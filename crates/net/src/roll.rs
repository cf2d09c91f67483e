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
use crate::{Channel, ChannelOptions, Closer, Error, OnWait, PartyId, Result};

/// The label of channels that [`crate::connect`] keeps for the roll call, where it is among those asked for. Worth its price
/// among three parties and more.
pub const ROLL_CALL: &str = "roll call";

/// The time between two calls. Shorter waits are not told of.
pub(crate) const BEAT: Duration = Duration::from_millis(250);

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
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.lock();
        state.interrupters.iter().for_each(Closer::close);
        state.callers.iter().for_each(Thread::unpark);
    }
}

impl Roll {
    /// Calls the peers at the other ends of `channels` until this is dropped.
    pub(crate) fn begin(&self, channels: impl IntoIterator<Item = Box<dyn Channel>>) -> Result<()> {
        for channel in channels {
            let mut state = self.0.lock();
            state.interrupters.push(channel.interrupter());
            state.hear(channel.peer(), 0);
            drop(state);
            let shared = Arc::downgrade(&self.0);
            let caller = std::thread::Builder::new()
                .name("cenote-roll".into())
                .spawn(move || call(&shared, channel))
                .map_err(|error| Error::Local {
                    what: "starting a thread for the roll call".into(),
                    reason: error.to_string(),
                })?;
            self.0.lock().callers.push(caller.thread().clone());
        }
        Ok(())
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

/// The options of a channel that the roll call itself uses: nobody hears of its waits.
pub(crate) fn options_of_call(options: &ChannelOptions) -> ChannelOptions {
    ChannelOptions {
        linger: Duration::ZERO,
        on_wait: OnWait::new(Duration::MAX, |_| ()),
        ..ChannelOptions::with_timeout(options.timeout)
    }
}

/// Tells and hears once a beat, each side one message, so that nothing piles up for a peer that halts.
fn call(shared: &Weak<Shared>, mut channel: Box<dyn Channel>) {
    let peer = channel.peer();
    // A session that is over before its first beat is none whose waits are told of.
    loop {
        let beat = Instant::now() + BEAT;
        while shared.strong_count() > 0 && Instant::now() < beat {
            std::thread::park_timeout(beat.saturating_duration_since(Instant::now()));
        }
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

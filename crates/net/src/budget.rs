//! Memory for what waits between parties: what peers have not taken yet, and what has come from them before it was asked
//! for. One bound for all channels of a process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::PartyId;

/// Memory that the channels to each peer share for their queues.
///
/// Each channel has a fixed part of its own ([`Budget::CHANNEL`]), enough for it to go on. What a queue needs beyond it is
/// drawn from the pool of its peer, so a peer that takes nothing, or sends what nobody asked for, is felt on the channels
/// to that peer only. One half of a pool is for all channels; when it is used up, further sends wait as they do at a full
/// queue. The other half is for one channel at a time, whose turn lasts until the peer has taken what it drew. So two
/// parties that send to each other at once on any number of channels come to receive, one channel after the other, as
/// long as no channel sends more than half a pool before it receives.
///
/// Clones share the memory, and so do channels that are made with clones of the same
/// [`ChannelOptions`](crate::ChannelOptions).
#[derive(Clone)]
pub struct Budget(Arc<Shared>);

struct Shared {
    /// Bytes of each pool.
    pool: usize,
    pools: Mutex<BTreeMap<PartyId, Arc<Pool>>>,
}

impl Budget {
    /// The default for each peer.
    pub const DEFAULT: usize = 128 << 20;

    /// The most that a channel takes outside of the pools, whatever its transport.
    pub const CHANNEL: usize = crate::sizes::CHANNEL;

    /// `bytes` for each peer.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Shared {
            pool: bytes,
            pools: Mutex::default(),
        }))
    }

    /// The most bytes of memory that `channels` channels to `peers` peers take in all, between sends and receives. The
    /// operating system's buffers for sockets are not among them, nor is the caller's memory for messages. While parties
    /// connect, strangers may take the fixed part of 64 channels more.
    pub fn bound(&self, peers: usize, channels: usize) -> u64 {
        (peers as u64)
            .saturating_mul(self.0.pool as u64)
            .saturating_add((channels as u64).saturating_mul(Self::CHANNEL as u64))
    }

    /// The bytes that are drawn from all pools now.
    pub fn drawn(&self) -> u64 {
        let pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.values().map(|pool| pool.drawn() as u64).sum()
    }

    /// The part of the budget that channels to `peer` draw on.
    pub fn share(&self, peer: PartyId) -> Share {
        let mut pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools
            .entry(peer)
            .or_insert_with(|| Arc::new(Pool::new(self.0.pool / 2)));
        Share(Some(pool.clone()))
    }
}

impl Default for Budget {
    /// [`Budget::DEFAULT`] bytes for each peer.
    fn default() -> Self {
        Self::new(Self::DEFAULT)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Budget({} bytes for each peer)", self.0.pool)
    }
}

impl PartialEq for Budget {
    /// Whether both are the same memory.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Budget {}

/// A peer's part of a [`Budget`]. The default one is empty.
#[derive(Clone, Default)]
pub struct Share(Option<Arc<Pool>>);

impl Share {
    /// An account that never has the turn.
    pub(crate) fn account(&self) -> Account {
        Account {
            pool: self.0.clone(),
            common: 0,
            turn: None,
        }
    }

    /// An account that may have the turn.
    pub(crate) fn account_with_turns(&self) -> Account {
        let mut account = self.account();
        account.turn = Some(0);
        account
    }
}

struct Pool {
    /// Bytes for all, and as many for the one that has the turn.
    half: usize,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    common: usize,
    taken: bool,
    turn: usize,
}

impl Pool {
    fn new(half: usize) -> Self {
        Self {
            half,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drawn(&self) -> usize {
        let state = self.lock();
        state.common + state.turn
    }
}

/// What one queue has drawn.
#[derive(Default)]
pub(crate) struct Account {
    pool: Option<Arc<Pool>>,
    common: usize,
    /// Bytes drawn by turn; none for those that never have it.
    turn: Option<usize>,
}

impl Account {
    /// Whether [`Account::draw`] would succeed now.
    pub(crate) fn can_draw(&self, bytes: usize) -> bool {
        self.pool.as_ref().is_some_and(|pool| {
            let state = pool.lock();
            state.common + bytes <= pool.half || self.can_draw_by_turn(pool, &state, bytes)
        })
    }

    fn can_draw_by_turn(&self, pool: &Pool, state: &PoolState, bytes: usize) -> bool {
        match self.turn {
            None => false,
            Some(0) => !state.taken && bytes <= pool.half,
            Some(_) => state.turn + bytes <= pool.half,
        }
    }

    /// Draws `bytes`, at least one; false if they are not to be had now.
    pub(crate) fn draw(&mut self, bytes: usize) -> bool {
        let Some(pool) = &self.pool else { return false };
        let mut state = pool.lock();
        if state.common + bytes <= pool.half {
            state.common += bytes;
            self.common += bytes;
        } else if self.can_draw_by_turn(pool, &state, bytes) {
            state.taken = true;
            state.turn += bytes;
            *self.turn.get_or_insert(0) += bytes;
        } else {
            return false;
        }
        true
    }

    /// Gives back `bytes` of those drawn: what was drawn by turn first.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        let Some(pool) = &self.pool else { return };
        let mut state = pool.lock();
        let by_turn = bytes.min(self.turn.unwrap_or(0));
        if by_turn > 0 {
            state.turn -= by_turn;
            self.turn = self.turn.map(|turn| turn - by_turn);
            state.taken = self.turn != Some(0);
        }
        let common = (bytes - by_turn).min(self.common);
        state.common -= common;
        self.common -= common;
    }

    pub(crate) fn drawn(&self) -> usize {
        self.common + self.turn.unwrap_or(0)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.give_back(self.drawn());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PartyId = PartyId(0);
    const B: PartyId = PartyId(1);

    #[test]
    fn one_at_a_time_draws_on_the_second_half() {
        let budget = Budget::new(200);
        let mut many = [(); 3].map(|()| budget.share(A).account_with_turns());
        assert!(many[0].draw(60) && many[1].draw(40));
        // All of the first half is drawn: one account takes its turn, and keeps it.
        assert!(many[2].can_draw(30) && many[2].draw(30));
        assert!(!many[0].can_draw(1) && !many[0].draw(1));
        assert!(many[2].draw(70) && !many[2].can_draw(1) && !many[2].draw(1));
        assert_eq!(budget.drawn(), 200);
        assert!(
            budget.share(B).account().draw(100),
            "another peer's pool is untouched"
        );
        assert_eq!(budget.drawn(), 200, "and what it drew was given back at its end");
        many[2].give_back(99);
        assert!(
            !many[0].can_draw(1),
            "the turn lasts until all that was drawn by it is given back"
        );
        many[2].give_back(1);
        assert!(many[0].draw(100));
        drop(many);
        assert_eq!(budget.drawn(), 0);
    }

    #[test]
    fn some_accounts_never_have_the_turn_or_anything() {
        let budget = Budget::new(200);
        let mut account = budget.share(A).account();
        assert!(account.draw(100) && !account.can_draw(1) && !account.draw(1));
        let mut none = Share::default().account_with_turns();
        assert!(!none.can_draw(1) && !none.draw(1));
        none.give_back(1);
        let mut large = budget.share(B).account_with_turns();
        assert!(!large.can_draw(101) && !large.draw(101));
    }

    #[test]
    fn the_bound_counts_peers_and_channels() {
        let budget = Budget::new(1000);
        assert_eq!(budget.bound(2, 0), 2000);
        assert_eq!(budget.bound(0, 3), 3 * Budget::CHANNEL as u64);
    }
}

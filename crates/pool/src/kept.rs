//! Pools on disk, which outlast sessions and crashes.
//!
//! A party keeps of a pool its keys, copies of the records of its gadgets that are made now and then, and a *journal*: the coins of all deliveries
//! that may have been drawn from since the copy. A coin is in the journal, on the disk, before a gadget is drawn by it. What the coins may have
//! touched since is left out when the pool is put back ([`touched`](crate::touched)), so no gadget is used twice, wherever a session was cut off.
//! All that makes fresh material is new in each session ([`Which`]).
//!
//! **Both parties put back the same pool**: they tell each other what they have, and leave out what the coins have touched since the older of
//! the two copies. If their journals do not end with the same delivery, the pool is given up, and another is made.
//!
//! **What bounds a pool.** Some bounds grow with what sessions do, over the pool's whole life. What they have used up is in the journal before it
//! is used; a session that would pass the bounds begins with another pool ([`Keep::is_spent`]).
//!
//! **A check that was cut off** is a party's way out when it sees that it will be caught. So a party that checks notes, before the other one can
//! know what comes of it, that a check has begun; if a session finds that note, the pool is given up, for bad gadgets may have been in it
//! that more tries would add to. A cheater begins anew then, with an empty pool, and the bound on its success is that of each pool times their
//! number, which is kept and told ([`Kept::ends`]). That number is of all pools with the peer in the folder, whatever their settings, so that another
//! security brings nobody fresh tries. A pool is *retired*, before anybody is told, whenever a check fails or is said to have failed: its keys and gadgets are deleted, the count stays in its journal until that of the next pool has it.

mod journal;
mod opening;
mod prepared;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_primitives::Block;
use cenote_session::{Error, Result};
use cenote_store::{Hold, ItemId, Living};

use journal::Journal;

pub use journal::{MOST_COINS, MOST_SESSIONS, Spent};
pub use opening::{Copies, Copy, Keep, Opened, Shape, Shown, open};
pub use prepared::{MOST_PREPARED, prepared};

/// Kinds of gadgets, each with a pool of its own, at most.
pub const KINDS: usize = 2;

/// The state that is the journal.
const JOURNAL: &str = "journal";

/// Which session over a pool it is: its number, and fresh random bytes of both parties, the garbler's first, so that not even a folder that was
/// put back to an earlier state repeats a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which {
    /// Less than [`MOST_SESSIONS`].
    pub number: u64,
    /// Fresh random bytes.
    pub nonce: [[u8; 16]; 2],
}

impl Which {
    /// A name that begins with the session's `name`, and that no other session over any pool has.
    pub fn session(&self, name: &str, pool: ItemId) -> String {
        let nonce = blake3::hash(self.nonce.as_flattened()).to_hex();
        format!("{name}, number {} of pool {pool}, {nonce}", self.number)
    }
}

/// The pool that a session uses, on disk.
pub struct Kept {
    living: Living,
    /// The copies of the pools' records, by kind.
    copies: &'static [&'static str],
    before: Spent,
    journal: Mutex<Journal>,
    _hold: Hold,
}

impl Kept {
    /// The pool's name.
    pub fn id(&self) -> ItemId {
        self.living.id()
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, journal: &Journal) -> Result<()> {
        self.living.write(JOURNAL, &[&journal.encode()])
    }

    /// Pools with this peer that ended with a check that failed or was cut off, whatever their settings.
    pub fn ends(&self) -> u32 {
        self.journal().ends
    }

    /// Whether the peer has cheated in a session over any pool, and was not told that it was noticed.
    pub fn has_cheated(&self) -> bool {
        self.journal().cheated
    }

    /// Notes that the peer has cheated.
    ///
    /// # Errors
    /// [`Error::Storage`], as all that writes to the disk.
    pub fn note_cheated(&self) -> Result<()> {
        let mut journal = self.journal();
        if journal.cheated {
            return Ok(());
        }
        journal.cheated = true;
        self.write(&journal)
    }

    /// What had been used up when the session began.
    pub fn before(&self) -> Spent {
        self.before
    }

    /// Notes what the session has used up, with what it is about to: before the peer can make anything of it. As much again is noted beside it,
    /// so that there is seldom anything to write.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn spend(&self, session: &Spent) -> Result<()> {
        let all = sum(&self.before, session);
        let mut journal = self.journal();
        if all.iter().zip(&journal.spent).all(|(all, noted)| all <= noted) {
            return Ok(());
        }
        journal.spent = sum(&all, session);
        self.write(&journal)
    }

    /// Notes what the session has used up, now that it ends.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn spent(&self, session: &Spent) -> Result<()> {
        let mut journal = self.journal();
        journal.spent = sum(&self.before, session);
        self.write(&journal)
    }

    /// Notes that a check begins.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn checking(&self) -> Result<()> {
        let mut journal = self.journal();
        journal.checking = true;
        self.write(&journal)
    }

    /// Notes a delivery, of which `kept` gadgets were not checked, before anything is drawn by its coin; and that its check has ended. If there
    /// are `most` coins since the copy, or [`MOST_COINS`], the copy is given up: little of the pool was not touched by them.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn made(&self, kind: usize, coin: Block, kept: usize, most: usize) -> Result<()> {
        let mut journal = self.journal();
        journal.checking = false;
        let track = &mut journal.tracks[kind];
        track.coins.push((coin, kept as u32));
        let since = track.next() - track.copied.unwrap_or(track.first);
        // The same at both parties, whatever one of them has from before its copy; but for the room in the journal.
        if since >= most as u64 || track.coins.len() >= MOST_COINS {
            track.forget();
        }
        self.write(&journal)
    }

    /// The number of the next delivery of a kind.
    pub fn next(&self, kind: usize) -> u64 {
        self.journal().tracks[kind].next()
    }

    /// Notes what is used, for an audit.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn used(&self, numbers: impl Iterator<Item = u64>) -> Result<()> {
        self.living.used(numbers)
    }

    /// The first delivery by whose coin something may have been drawn since the copy of a kind, if there is one.
    pub fn copied(&self, kind: usize) -> Option<u64> {
        self.journal().tracks[kind].copied
    }

    /// Makes a copy of a full pool from which something may yet be drawn by the coins of delivery `open` and later ones. The coins since the copy
    /// before are kept: the peer's may be as old as that one. There is no copy if one was given up after delivery `open`, whose coin is gone with it.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn copy(&self, kind: usize, pieces: &[&[u8]], open: u64) -> Result<()> {
        if open < self.journal().tracks[kind].first {
            return Ok(());
        }
        self.living.write(self.copies[kind], pieces)?;
        let mut journal = self.journal();
        let track = &mut journal.tracks[kind];
        let before = track.copied.replace(open).unwrap_or(track.first);
        let gone = before.saturating_sub(track.first).min(track.coins.len() as u64);
        track.coins.drain(..gone as usize);
        track.first += gone;
        self.write(&journal)
    }

    /// Ends the pool if `error` is of a check, here or by the peer's word.
    pub fn retire_after(&self, error: &Error) {
        if error.check().is_some() {
            self.retire();
        }
    }

    /// Ends the pool after a check that failed: nothing of it is to be used any more. To be called before the peer is told anything.
    pub fn retire(&self) {
        let mut journal = self.journal();
        if journal.retired {
            return;
        }
        (journal.retired, journal.checking) = (true, false);
        journal.ends = journal.ends.saturating_add(1);
        // Where there is no room for a note the pool goes all the same, if need be without its count.
        let ended = match (self.write(&journal), opening::retire(&self.living)) {
            (Err(_), Err(_)) => self.living.discard(),
            (_, ended) => ended,
        };
        if let Err(error) = ended {
            tracing::error!(%error, "a pool that must not be used again cannot be deleted: delete it by hand");
        }
    }
}

fn sum(left: &Spent, right: &Spent) -> Spent {
    std::array::from_fn(|kind| left[kind].saturating_add(right[kind]))
}

/// What people should know if so many pools ended with a check that failed or was cut off.
pub fn warning(ends: u32) -> Option<String> {
    (ends > 0).then(|| {
        format!(
            "{ends} times a check of gadgets failed, or a party was gone in the middle of it, and the pool was given up: if that happens \
             again and again, the peer is trying to cheat"
        )
    })
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({})", self.id())
    }
}

#[cfg(test)]
mod tests;

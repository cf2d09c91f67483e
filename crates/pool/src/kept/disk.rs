//! The pool that a session uses, on disk: what is noted of it while it is used.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_primitives::Block;
use cenote_session::{Error, Result, Warning, WarningKind};
use cenote_store::{Hold, ItemId, Living};

use super::identity::Held;
use super::journal::{JOURNAL, Journal, MOST_COINS, Spent};
use super::keep::Keep;

/// The pool that a session uses, on disk.
pub struct KeptPool {
    pub(super) living: Living,
    /// The copies of the pools' records, by kind.
    copies: &'static [&'static str],
    before: Spent,
    journal: Mutex<Journal>,
    _hold: Hold,
}

impl KeptPool {
    pub(super) fn new<K: Keep>(living: Living, journal: Journal, hold: Hold) -> Self {
        Self {
            living,
            copies: K::COPIES,
            before: journal.spent,
            journal: Mutex::new(journal),
            _hold: hold,
        }
    }

    /// The pool's name.
    pub fn id(&self) -> ItemId {
        self.living.id()
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self, journal: &Journal) -> Result<()> {
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

    /// Notes, at the end of a session, whether the peer has cheated in it. There is something to write in either case: how long that takes tells the peer
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Storage`], as all that writes to the disk.
    pub fn note_end(&self, cheated: bool) -> Result<()> {
        let mut journal = self.journal();
        journal.cheated |= cheated;
        self.write(&journal)
    }

    /// The number of the session: how many there were over this pool before.
    pub fn session(&self) -> u64 {
        self.journal().session
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

    /// Notes a delivery, of which `kept` gadgets were not checked, before anything is drawn by its coin; and that its check has ended. If two deliveries or
    /// more since the copy have `most` gadgets, or there are [`MOST_COINS`] coins, the copy is given up: little of the pool was not touched by them.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn made(&self, kind: usize, coin: Block, kept: usize, most: u64) -> Result<()> {
        let mut journal = self.journal();
        journal.checking = false;
        let track = &mut journal.tracks[kind];
        track.coins.push((coin, kept as u32));
        // The same at both parties, whatever one of them has from before its copy; but for the room in the journal.
        let since = track.since_copy();
        let gadgets: u64 = since.iter().map(|(_, kept)| u64::from(*kept)).sum();
        if (since.len() > 1 && gadgets >= most) || track.coins.len() >= MOST_COINS {
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
    /// before are kept: the peer's may be as old as that one. There is no copy if one was given up after delivery `open`, whose coin is gone with it:
    /// before the copy is written, or, by what [`KeptPool::made`] notes meanwhile, while it is.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn copy(&self, kind: usize, pieces: &[&[u8]], open: u64) -> Result<()> {
        if open < self.journal().tracks[kind].first {
            return Ok(());
        }
        self.living.write(self.copies[kind], pieces)?;
        self.note_copy(kind, open)
    }

    /// Notes the copy that was written.
    pub(super) fn note_copy(&self, kind: usize, open: u64) -> Result<()> {
        let mut journal = self.journal();
        let track = &mut journal.tracks[kind];
        if open < track.first {
            return Ok(());
        }
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
        let ended = match (self.write(&journal), retire(&self.living)) {
            (Err(_), Err(_)) => self.living.discard(),
            (_, ended) => ended,
        };
        if let Err(error) = ended {
            tracing::error!(%error, "a pool that must not be used again cannot be deleted: delete it by hand");
        }
    }
}

/// Deletes keys and gadgets of a pool that must not be used again. Its journal is left.
pub(super) fn retire(living: &Living) -> Result<()> {
    living.retire(Held::retired, JOURNAL)
}

fn sum(left: &Spent, right: &Spent) -> Spent {
    std::array::from_fn(|kind| left[kind].saturating_add(right[kind]))
}

/// What people should know if so many pools ended with a check that failed or was cut off.
pub fn warning(ends: u32) -> Option<Warning> {
    (ends > 0).then(|| {
        let text = format!(
            "{ends} times a check of gadgets failed, or a party was gone in the middle of it, and the pool was given up: if that happens \
             again and again, the peer is trying to cheat"
        );
        Warning::new(WarningKind::ChecksCutOff, text)
    })
}

impl fmt::Debug for KeptPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptPool({})", self.id())
    }
}

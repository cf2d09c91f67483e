//! Pools on disk, which outlast sessions and crashes.
//!
//! A party keeps of a pool its keys, copies of the records of its gadgets that are made now and then, and a *journal*: the coins of all deliveries
//! that may have been drawn from since the copy. A coin is in the journal, on the disk, before a gadget is drawn by it. What the coins may have
//! touched since is left out when the pool is put back ([`cenote_pool::touched`]), so no gadget is used twice, wherever a session was cut off.
//! All that makes fresh material is new in each session: base OTs, the streams of labels, the numbers of gates.
//!
//! **Both parties put back the same pool**: they tell each other what they have, and leave out what the coins have touched since the older of
//! the two copies. If their journals do not end with the same delivery, the pool is given up, and another is made.
//!
//! **A check that was cut off** is a garbler's way out when it sees by the coin that it will be caught. So the evaluator notes, before it lets the
//! coin be known, that a check has begun; if a session finds that note, the pool is given up, for bad gadgets may have been in it
//! that more tries would add to. The garbler begins anew then, with an empty pool, and the bound on its success is that of each pool times their
//! number, which the evaluator keeps and tells ([`Journal::ends`]). A pool is *retired*, before anybody is told, whenever a check fails or is said to
//! have failed: its keys and gadgets are deleted, the count stays in its journal until that of the next pool has it.

mod journal;
mod opening;

use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_primitives::{Block, as_bytes};
use cenote_session::{Error, Result};
use cenote_store::{Hold, ItemId, Living};

use crate::online::Kind;
use journal::{Journal, MOST_COINS};

pub(crate) use opening::{Copies, Copy, facts, open};

/// The name of the protocol's items.
const PROTOCOL: &str = "jimu";

/// The state that is the journal.
const JOURNAL: &str = "journal";

/// The copies of the pools' records.
const COPIES: [&str; 2] = ["gates", "mux"];

/// A copy is made whenever so many times the pool has been drawn since the one before.
const POOLS_BETWEEN_COPIES: u64 = 4;

/// Deliveries between copies, at most: a journal has the coins since the copy before the last.
const MOST_BETWEEN_COPIES: u64 = MOST_COINS as u64 / 4;

/// How the settings of a pool begin that was retired.
const RETIRED: &str = "retired, ";

/// The pool that a session uses, on disk.
pub(crate) struct Kept {
    living: Living,
    journal: Mutex<Journal>,
    _hold: Hold,
}

impl Kept {
    /// The pool's name.
    pub(crate) fn id(&self) -> ItemId {
        self.living.id()
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, journal: &Journal) -> Result<()> {
        self.living.write(JOURNAL, &[&journal.encode()])
    }

    /// Pools before this one that ended with a check that failed or was cut off.
    pub(crate) fn ends(&self) -> u32 {
        self.journal().ends
    }

    /// Whether the garbler has cheated in a session over this pool, and was not told that it was noticed.
    pub(crate) fn has_cheated(&self) -> bool {
        self.journal().cheated
    }

    /// Notes that the garbler has cheated.
    pub(crate) fn note_cheated(&self) -> Result<()> {
        let mut journal = self.journal();
        if journal.cheated {
            return Ok(());
        }
        journal.cheated = true;
        self.write(&journal)
    }

    /// Notes that a check begins.
    pub(crate) fn checking(&self) -> Result<()> {
        let mut journal = self.journal();
        journal.checking = true;
        self.write(&journal)
    }

    /// Notes a delivery, before anything is drawn by its coin.
    pub(crate) fn made(&self, kind: Kind, coin: Block, kept: usize) -> Result<()> {
        let mut journal = self.journal();
        journal.checking = false;
        let track = &mut journal.tracks[kind as usize];
        if track.coins.len() >= MOST_COINS {
            let reason = "the journal of a pool is full: no copy of it was made for long";
            return Err(Error::Internal(reason.into()));
        }
        track.coins.push((coin, kept as u32));
        self.write(&journal)
    }

    /// The number of the next delivery of a kind.
    pub(crate) fn next(&self, kind: Kind) -> u64 {
        self.journal().tracks[kind as usize].next()
    }

    /// Notes what is used, for an audit.
    pub(crate) fn used(&self, numbers: impl Iterator<Item = u64>) -> Result<()> {
        self.living.used(numbers)
    }

    /// Whether a copy is due of a full pool from which something may yet be drawn by delivery `open` and later ones: of `size` gadgets,
    /// drawn from deliveries of so many each.
    pub(crate) fn is_due(&self, kind: Kind, open: u64, [size, buffer]: [u64; 2]) -> bool {
        let period = (POOLS_BETWEEN_COPIES * size / buffer.max(1)).clamp(2, MOST_BETWEEN_COPIES);
        let copied = self.journal().tracks[kind as usize].copied;
        copied.is_none_or(|copied| open >= copied.saturating_add(period))
    }

    /// Makes a copy of a full pool. The coins since the copy before are kept: the peer's may be as old as that one.
    pub(crate) fn copy(&self, kind: Kind, records: &[Block], open: u64) -> Result<()> {
        self.living.write(COPIES[kind as usize], &[as_bytes(records)])?;
        let mut journal = self.journal();
        let track = &mut journal.tracks[kind as usize];
        let before = track.copied.replace(open).unwrap_or(track.first);
        let gone = before.saturating_sub(track.first).min(track.coins.len() as u64);
        track.coins.drain(..gone as usize);
        track.first += gone;
        self.write(&journal)
    }

    /// Ends the pool if `error` is of a check, here or by the peer's word.
    pub(crate) fn retire_after(&self, error: &Error) {
        if error.check().is_some() {
            self.retire();
        }
    }

    /// Ends the pool after a check that failed: nothing of it is to be used any more. To be called before the peer is told anything.
    pub(crate) fn retire(&self) {
        let mut journal = self.journal();
        if journal.retired {
            return;
        }
        (journal.retired, journal.checking) = (true, false);
        journal.ends = journal.ends.saturating_add(1);
        let ended = self.write(&journal).and_then(|()| retire(&self.living));
        if let Err(error) = ended {
            tracing::error!(%error, "a pool that must not be used again cannot be deleted: delete it by hand");
        }
    }
}

/// Deletes keys and gadgets of a pool whose journal says that it has ended.
fn retire(living: &Living) -> Result<()> {
    living.retire(|settings| format!("{RETIRED}{settings}"), JOURNAL)
}

#[cfg(test)]
mod tests;

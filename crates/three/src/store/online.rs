//! An online session's use of the stock: which epoch, which batches, and the claim before the use.

use std::collections::VecDeque;

use cenote_net::PartyId;
use cenote_session::{Error, MESSAGE_FORM, Result};
use sha2::{Digest, Sha256};

use super::compare::{Common, Epochs};
use super::epoch::Epoch;
use super::offer::Offer;
use super::{BatchNumber, Claimed, Contents, EpochId, Reservation, StockFolder, fault};
use crate::material::stock::Stock;
use crate::online::worker::Worker;
use crate::ring::Ring;
use crate::steps;

/// What all three parties have in stock for a session, and what the session has claimed of it.
pub(crate) struct Online {
    reservation: Reservation,
    /// All that this party holds, of any settings, the oldest first, and who was known to lack it.
    held: Vec<(EpochId, Vec<PartyId>)>,
    /// What this party holds for these settings: epochs, the oldest first, and what is left of them.
    shelves: Vec<Shelf>,
    /// Epochs for these settings that a peer lacks.
    orphans: usize,
    /// The epoch that the session draws from, once it is known how much it needs.
    chosen: Option<usize>,
    /// Whether some of its batches were claimed, so that no other may be drawn from.
    claimed: bool,
}

struct Shelf {
    epoch: Epoch,
    batches: VecDeque<BatchNumber>,
}

impl Online {
    /// Reserves `folder` and looks for epochs with these settings.
    pub(crate) fn open(me: PartyId, folder: &StockFolder, settings: &str) -> Result<Self> {
        let reservation = folder.reserve()?;
        let Contents { epochs, unusable } = folder.contents()?;
        for unusable in unusable {
            tracing::warn!("an epoch of stock is passed over: {}", unusable.why);
        }
        let (mut held, mut shelves) = (Vec::new(), Vec::new());
        for (epoch, listing) in epochs {
            if epoch.party != me {
                let what = format!("is stock of {}, not of {me}", epoch.party);
                return Err(fault(&folder.epoch_folder(&epoch.id), what));
            }
            held.push((epoch.id, listing.lacked_by));
            if epoch.settings == settings {
                let batches = listing.batches.into();
                shelves.push(Shelf { epoch, batches });
            }
        }
        Ok(Self {
            reservation,
            held,
            shelves,
            orphans: 0,
            chosen: None,
            claimed: false,
        })
    }

    /// Finds out what all three parties have, and notes in the folder what a peer lacks.
    pub(crate) fn compare(&mut self, me: PartyId, ring: &mut Ring) -> Result<()> {
        let epochs = Epochs::compare(self.held.iter().map(|(id, _)| *id), ring)?;
        let lacking: Vec<_> = self.held.iter().map(|(id, _)| epochs.lacking(id, ring)).collect();
        let here = self.shelves.len();
        self.shelves.retain(|shelf| epochs.common(&shelf.epoch.id));
        self.orphans = here - self.shelves.len();
        let stock = self
            .shelves
            .iter()
            .map(|shelf| (shelf.epoch.id, shelf.batches.iter()));
        let common = Common::compare(me, epochs, Offer::new(stock), ring)?;
        for shelf in &mut self.shelves {
            let id = shelf.epoch.id;
            shelf.batches.retain(|batch| common.contains(&id, *batch));
        }
        self.shelves.retain(|shelf| !shelf.batches.is_empty());

        let folder = &self.reservation.0;
        for ((id, known), lacking) in self.held.iter().zip(&lacking) {
            folder.note_lack(id, known, lacking);
        }
        let orphans = lacking.iter().filter(|lacking| !lacking.is_empty()).count();
        if orphans > 0 {
            tracing::warn!(
                folder = %folder.path().display(),
                "{orphans} epochs of stock are of no use, because a peer says that it does not have them"
            );
        }
        Ok(())
    }

    /// The epochs of which all three parties have something.
    #[cfg(test)]
    pub(super) fn offered(&self) -> Vec<EpochId> {
        self.shelves.iter().map(|shelf| shelf.epoch.id).collect()
    }

    /// An empty queue for a worker.
    pub(crate) fn queue(&self, n: usize) -> Claimed {
        Claimed::new(self.reservation.0.clone(), n)
    }

    /// Makes sure that there will be batches for all workers if worker `i` needs `totals[i]` since the start, without
    /// claiming them; settles which epoch is used, unless more is foreseen before anything is claimed.
    ///
    /// # Errors
    /// [`Error::Exhausted`], at all honest parties alike.
    pub(crate) fn foresee(&mut self, workers: &[Worker], totals: &[u64]) -> Result<()> {
        match missing(workers, totals).sum() {
            0 => Ok(()),
            sum => self.choose(sum).map(|_| ()),
        }
    }

    /// Settles the session's epoch, and gives its index: the oldest that has as many batches as are missing, but the same
    /// as before if that one still has enough or if some of its batches were claimed.
    fn choose(&mut self, missing: u64) -> Result<usize> {
        let has = |shelf: &Shelf| shelf.batches.len() as u64 >= missing;
        let kept = self.chosen.filter(|&chosen| has(&self.shelves[chosen]));
        let found = match kept {
            None if !self.claimed => self.shelves.iter().position(has),
            kept => kept,
        };
        if let Some(found) = found {
            self.chosen = Some(found);
            return Ok(found);
        }
        let lack = match self.chosen.filter(|_| self.claimed) {
            Some(chosen) => format!(
                "{missing} more batches of triples, but the epoch of stock that it draws from has {} left",
                self.shelves[chosen].batches.len()
            ),
            None => format!(
                "{missing} batches of triples, but no epoch of stock with its parameters has so many at all three \
                 parties (the largest has {}{})",
                self.shelves
                    .iter()
                    .map(|shelf| shelf.batches.len())
                    .max()
                    .unwrap_or(0),
                match self.orphans {
                    0 => String::new(),
                    orphans => format!("; {orphans} epochs of this party are lacking at a peer"),
                }
            ),
        };
        Err(Error::Exhausted(format!(
            "the session needs {lack}; make them in one offline run before the session starts"
        )))
    }

    /// Claims the batches that are missing for worker `i` to have had `totals[i]` since the start: first on this party's
    /// disk, then by its word to both peers and theirs. Only then do the workers get them.
    pub(crate) fn secure(&mut self, workers: &mut [Worker], totals: &[u64]) -> Result<()> {
        let missing: Vec<u64> = missing(workers, totals).collect();
        let sum = missing.iter().sum();
        if sum == 0 {
            return Ok(());
        }
        let chosen = self.choose(sum)?;
        let folder = &self.reservation.0;
        let Shelf { epoch, batches } = &mut self.shelves[chosen];
        if !self.claimed {
            self.claimed = true;
            for worker in &mut *workers {
                worker.evaluator.verifier.supply.factors = Some(epoch.factors());
            }
        }
        let mut shares: Vec<Vec<BatchNumber>> = Vec::with_capacity(workers.len());
        for count in missing {
            let count = usize::try_from(count).expect("no more than there are");
            shares.push(batches.drain(..count).collect());
        }
        folder.claim(&epoch.id, &shares.concat())?;
        let ring = &mut workers[0].evaluator.ring;
        if let Err(error) = all_have_claimed(epoch, &shares, ring) {
            folder.drop_claimed(&epoch.id, shares.into_iter().flatten());
            return Err(error);
        }
        for (worker, share) in workers.iter().zip(&shares) {
            if let Stock::Stored(claimed) = &worker.stock {
                claimed.put(epoch.id, share);
            }
        }
        Ok(())
    }
}

impl Drop for Online {
    fn drop(&mut self) {
        // What workers did not take is deleted by their queues, or else when the folder is opened next.
        if let Some(chosen) = self.chosen
            && let Err(error) = self.reservation.0.tidy(&self.shelves[chosen].epoch.id)
        {
            tracing::warn!(%error, "a spent epoch of stock cannot be cleared away");
        }
    }
}

/// How many batches each worker lacks.
fn missing(workers: &[Worker], totals: &[u64]) -> impl Iterator<Item = u64> {
    workers
        .iter()
        .zip(totals)
        .map(|(worker, total)| match &worker.stock {
            Stock::Stored(claimed) => total.saturating_sub(claimed.claimed()),
            Stock::Made(_) => 0,
        })
}

/// Tells both peers that this party has claimed these batches, and waits until both say the same.
fn all_have_claimed(epoch: &Epoch, shares: &[Vec<BatchNumber>], ring: &mut Ring) -> Result<()> {
    let mut hash = Sha256::new();
    hash.update(b"cenote three: claim, version 1");
    hash.update(epoch.id.0);
    for share in shares {
        hash.update((share.len() as u64).to_le_bytes());
        for number in share {
            hash.update([number.worker]);
            hash.update(number.serial.to_le_bytes());
        }
    }
    let word: [u8; 32] = hash.finalize().into();
    let (from_previous, from_next) = ring.exchange(steps::STOCK_CLAIM, &word, &word)?;
    for (theirs, peer) in [
        (from_previous, ring.previous.peer()),
        (from_next, ring.next.peer()),
    ] {
        if theirs != word {
            let what = "it claims other batches";
            return Err(Error::cheated(MESSAGE_FORM, Some(peer), steps::STOCK_CLAIM, what));
        }
    }
    Ok(())
}

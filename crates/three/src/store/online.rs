//! An online session's use of the stock: which epoch, and which batches.

use std::sync::Arc;

use cenote_net::{Channel, PartyId};
use cenote_session::{Error, Result};
use cenote_store::{Claim, Run, Runs, Session, Store};

use super::epoch::{factors, settings};
use super::{BatchNumber, Claimed, PROTOCOL};
use crate::checks::VIEW_COMPARISON;
use crate::material::stock::Stock;
use crate::online::checker::Checker;
use crate::online::worker::Worker;
use crate::ring::Ring;
use crate::settings::{Method, ViewCheck};

/// What all three parties have in stock for a session, and what the session has claimed of it.
pub(crate) struct Online {
    session: Session,
    /// The epoch that the session draws from, once it is known how much it needs. Once batches of it are claimed, no
    /// other may be drawn from.
    chosen: Option<usize>,
}

impl Online {
    /// Reserves `folder` and looks for epochs with the settings of a session.
    ///
    /// # Errors
    /// [`Error::BadInput`] if it proves its gates.
    pub(crate) fn open(me: PartyId, folder: &Store, method: &Method, view_check: ViewCheck) -> Result<Self> {
        let Method::Triples(parameters) = method else {
            return Err(Error::BadInput("proofs take nothing from stock".into()));
        };
        let settings = settings(parameters, view_check);
        let session = folder.session(me, PROTOCOL, |item| item.settings == settings)?;
        Ok(Self {
            session,
            chosen: None,
        })
    }

    /// Finds out what all three parties have, and notes in the folder what a peer lacks. `nonce` is random.
    pub(crate) fn compare(&mut self, nonce: [u8; 16], ring: &mut Ring) -> Result<()> {
        self.session.compare(nonce, &mut channels(ring), VIEW_COMPARISON)
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
        let shelves = self.session.shelves();
        let has = |index: usize| shelves[index].left.total() >= missing;
        let kept = self.chosen.filter(|&chosen| has(chosen));
        let found = match kept {
            None if self.session.held().is_none() => (0..shelves.len()).find(|&index| has(index)),
            kept => kept,
        };
        if found.is_some() {
            self.chosen = found;
        }
        found.ok_or_else(|| self.exhausted(missing))
    }

    fn exhausted(&self, missing: u64) -> Error {
        let lack = match self.session.held() {
            Some(held) => format!(
                "{missing} more batches of triples, but the epoch of stock that it draws from has {} left",
                held.left.total()
            ),
            None => format!(
                "{missing} batches of triples, but no epoch of stock with its parameters has so many at all three \
                 parties (the largest has {}{})",
                self.session
                    .shelves()
                    .iter()
                    .map(|shelf| shelf.left.total())
                    .max()
                    .unwrap_or(0),
                match self.session.orphans() {
                    0 => String::new(),
                    orphans => format!("; {orphans} epochs of this party are lacking at a peer"),
                }
            ),
        };
        Error::Exhausted(format!(
            "the session needs {lack}; make them in one offline run before the session starts"
        ))
    }

    /// Claims the batches that are missing for worker `i` to have had `totals[i]` since the start, but for those that
    /// some party cannot read. Only then do the workers get them.
    pub(crate) fn secure(&mut self, workers: &mut [Worker], totals: &[u64]) -> Result<()> {
        let missing: Vec<u64> = missing(workers, totals).collect();
        let sum = missing.iter().sum();
        if sum == 0 {
            return Ok(());
        }
        let chosen = self.choose(sum)?;
        if self.session.held().is_none() {
            let item = &self.session.shelves()[chosen].item;
            for worker in &mut *workers {
                if let Checker::Triples(verifier, _) = &mut worker.checker {
                    verifier.supply.factors = Some(factors(item)?);
                }
            }
            self.session.hold(chosen, false)?;
        }
        let next = |had: &Runs, left: &Runs| {
            let lacking = sum - had.total();
            if left.total() < lacking {
                let what = format!(
                    "the session needs {lacking} more batches of triples in place of damaged ones, but the epoch of \
                     stock that it draws from has {} left",
                    left.total()
                );
                return Err(Error::Exhausted(what));
            }
            Ok(left.first(lacking))
        };
        let threads = workers.len();
        let ring = &mut workers[0].evaluator.ring;
        let claim = self
            .session
            .claim(&mut channels(ring), VIEW_COMPARISON, next, |claim| {
                Ok(damaged(claim, threads))
            })?;
        let claim = Arc::new(claim);
        let mut numbers = claim.runs().numbers().filter_map(BatchNumber::of);
        for (worker, count) in workers.iter().zip(missing) {
            if let Checker::Triples(_, Stock::Stored(claimed)) = &worker.checker {
                claimed.put(&claim, numbers.by_ref().take(count as usize));
            }
        }
        Ok(())
    }

    /// An empty queue for a worker.
    pub(crate) fn queue(&self, n: usize) -> Claimed {
        Claimed::new(n)
    }
}

fn channels(ring: &mut Ring) -> [&mut dyn Channel; 2] {
    [ring.previous.as_mut(), ring.next.as_mut()]
}

/// Reads what was claimed through, in so many threads, before the workers rely on it. Gives the batches that cannot be
/// read.
fn damaged(claim: &Claim, threads: usize) -> Runs {
    let parts: Vec<Run> = claim
        .runs()
        .numbers()
        .filter_map(BatchNumber::of)
        .map(BatchNumber::part)
        .collect();
    let check = |parts: &[Run]| -> Vec<Run> {
        let damaged = parts.iter().filter(|part| {
            claim
                .check(**part)
                .inspect_err(|error| tracing::warn!(%error, "a batch of triples is left out"))
                .is_err()
        });
        damaged.copied().collect()
    };
    std::thread::scope(|scope| {
        let share = parts.len().div_ceil(threads).max(1);
        let check = &check;
        let checks: Vec<_> = parts
            .chunks(share)
            .map(|parts| (parts, scope.spawn(move || check(parts))))
            .collect();
        let found = checks
            .into_iter()
            .map(|(parts, thread)| thread.join().unwrap_or_else(|_| parts.to_vec()));
        found.flatten().collect()
    })
}

/// How many batches each worker lacks.
fn missing(workers: &[Worker], totals: &[u64]) -> impl Iterator<Item = u64> {
    workers
        .iter()
        .zip(totals)
        .map(|(worker, total)| match &worker.checker {
            Checker::Triples(_, Stock::Stored(claimed)) => total.saturating_sub(claimed.claimed()),
            _ => 0,
        })
}

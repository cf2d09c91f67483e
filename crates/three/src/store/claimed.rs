//! Batches that a session has claimed, on their way to one evaluator.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_session::{Error, Result};

use super::{BatchNumber, EpochId, StockFolder};
use crate::material::stock::Batch;
use crate::triple_check::{Pair, zero_pair};

/// The queue of one worker. A batch is read when it is taken, so that only what is in use is in memory.
pub(crate) struct Claimed {
    folder: StockFolder,
    n: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<(EpochId, BatchNumber)>,
    /// Batches that were ever put in.
    claimed: u64,
    spare: Option<Pair>,
}

impl Claimed {
    /// An empty queue of batches of `n` triples.
    pub(crate) fn new(folder: StockFolder, n: usize) -> Self {
        Self {
            folder,
            n,
            queue: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Batches that were ever put in.
    pub(super) fn claimed(&self) -> u64 {
        self.lock().claimed
    }

    /// Puts batches in that all three parties have claimed.
    pub(super) fn put(&self, epoch: EpochId, numbers: &[BatchNumber]) {
        let mut queue = self.lock();
        queue.claimed += numbers.len() as u64;
        queue
            .batches
            .extend(numbers.iter().map(|number| (epoch, *number)));
    }

    /// The next batch, read and deleted.
    pub(crate) fn take(&self) -> Result<Batch> {
        let (next, spare) = {
            let mut queue = self.lock();
            (queue.batches.pop_front(), queue.spare.take())
        };
        let (epoch, number) =
            next.ok_or_else(|| Error::Internal("a gate needs a triple beyond those claimed for it".into()))?;
        let mut products = spare.unwrap_or_else(|| zero_pair(self.n));
        match self.folder.fetch(epoch, number, &mut products) {
            Ok(()) => Ok(Batch {
                worker: number.worker,
                serial: number.serial,
                products,
            }),
            Err(error) => {
                wipe(&mut products);
                Err(error)
            }
        }
    }

    /// Takes arrays back to be used again.
    pub(crate) fn recycle(&self, spare: Pair) {
        self.lock().spare = Some(spare);
    }

    /// Deletes what is left, unread.
    pub(crate) fn discard(&self) {
        let mut queue = self.lock();
        for (epoch, number) in queue.batches.drain(..) {
            self.folder.drop_claimed(&epoch, std::iter::once(number));
        }
        queue.spare.iter_mut().for_each(wipe);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.discard();
    }
}

fn wipe(pair: &mut Pair) {
    pair.iter_mut().for_each(|component| component.wipe());
}

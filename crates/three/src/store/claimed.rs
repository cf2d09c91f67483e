//! Batches that a session has claimed, on their way to one evaluator.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_primitives::as_bytes_mut;
use cenote_session::{Error, Result};
use cenote_store::Claim;

use super::BatchNumber;
use crate::material::batch::Batch;
use crate::triple_check::{Pair, zero_pair};

/// The queue of one worker. A batch is read when it is taken, so that only what is in use is in memory.
pub(crate) struct Claimed {
    n: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<(Arc<Claim>, BatchNumber)>,
    /// Batches that were ever put in.
    claimed: u64,
    spare: Option<Pair>,
}

impl Claimed {
    /// An empty queue of batches of `n` triples.
    pub(crate) fn new(n: usize) -> Self {
        Self {
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
    pub(super) fn put(&self, claim: &Arc<Claim>, numbers: impl Iterator<Item = BatchNumber>) {
        let mut queue = self.lock();
        for number in numbers {
            queue.claimed += 1;
            queue.batches.push_back((Arc::clone(claim), number));
        }
    }

    /// The next batch, read and deleted.
    pub(crate) fn take(&self) -> Result<Batch> {
        let (next, spare) = {
            let mut queue = self.lock();
            (queue.batches.pop_front(), queue.spare.take())
        };
        let (claim, number) =
            next.ok_or_else(|| Error::Internal("a gate needs a triple beyond those claimed for it".into()))?;
        let mut products = spare.unwrap_or_else(|| zero_pair(self.n));
        let [first, second] = &mut products;
        let mut spaces = [first, second].map(|component| as_bytes_mut(&mut component[..]));
        let read = claim.read_into(number.part(), &mut spaces);
        claim.done(number.part());
        match read {
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
        for (claim, number) in queue.batches.drain(..) {
            claim.done(number.part());
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

#[cfg(test)]
mod tests {
    use cenote_net::PartyId;
    use cenote_primitives::{Block512, as_bytes};
    use cenote_store::{Item, ItemId, Keys, Peers, Runs, Store, StoreKey};

    use super::*;
    use crate::checks::VIEW_COMPARISON;

    const N: usize = 100;

    fn products(serial: u32) -> Pair {
        let mut pair = zero_pair(N);
        for (component, blocks) in (1u64..).zip(&mut pair) {
            for index in 0..N {
                blocks[index] = Block512([component, index as u64, serial.into(), 4, 5, 6, 7, 8]);
            }
        }
        pair
    }

    fn number(serial: u32) -> BatchNumber {
        BatchNumber { worker: 1, serial }
    }

    /// A batch that cannot be read leaves nothing of itself with the evaluator, and ends the session.
    #[test]
    fn a_damaged_batch_is_not_handed_over() {
        let path = tempfile::tempdir().unwrap();
        let store = Store::open(path.path(), &StoreKey::from_bytes([1; 32])).unwrap();
        let item = Item {
            id: ItemId([3; 32]),
            protocol: super::super::PROTOCOL.into(),
            party: PartyId(0),
            role: String::new(),
            settings: String::new(),
            made: 0,
            peers: Peers::default(),
            keys: Keys(Vec::new().into()),
        };
        let making = store.begin(&item).unwrap();
        for serial in 0..3 {
            let batch = products(serial);
            making
                .put(number(serial).part(), &[as_bytes(&batch[0]), as_bytes(&batch[1])])
                .unwrap();
        }
        making.confirm().unwrap();
        drop(making);
        let mut session = store.session(PartyId(0), &item.protocol, |_| true).unwrap();
        session.hold(0, false).unwrap();
        let all = |had: &Runs, left: &Runs| Ok(left.first(3 - had.total()));
        let claim = session
            .claim(&mut [], VIEW_COMPARISON, all, |_| Ok(Runs::default()))
            .unwrap();
        let claimed = Claimed::new(N);
        claimed.put(&Arc::new(claim), (0..3).map(number));
        let batch = claimed.take().unwrap();
        assert!(
            batch
                .products
                .iter()
                .zip(products(0))
                .all(|(a, b)| a[..] == b[..])
        );
        let inside = path.path().join(item.id.to_string());
        let file = |serial| inside.join(number(serial).part().to_string());
        let mut bytes = std::fs::read(file(1)).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(file(1), bytes).unwrap();
        let error = claimed.take().map(|batch| batch.serial).unwrap_err();
        assert!(matches!(error, Error::Storage(_)), "{error}");
        assert!(file(2).exists());
        claimed.discard();
        assert!(!file(2).exists());
        assert!(matches!(claimed.take(), Err(Error::Internal(_))));
    }
}

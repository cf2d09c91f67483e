//! Hand-over of checked triples from the generator's thread to the evaluator's (S&P 2017, Figure 5).
//!
//! The generator runs ahead of demand by a bounded amount: one batch waiting, one being made. A batch is handed over
//! only after the views it depends on have been compared, and those of batches that other workers had under way
//! then (`settlement`). So whoever holds a [`Batch`] holds settled triples.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote_net::{AbortReason, Closer, Threads};
use cenote_session::{Error, Result};

use super::batch::Batch;
pub(crate) use super::settlement::Settlement;
use super::settlement::{Place, Settled};
use crate::background::{Beside, Within};
use crate::last_word::LastWord;
use crate::offline::generator::Generator;
use crate::ring::Ring;
use crate::store::Claimed;
use crate::triple_check::Pair;

/// How often a wait for batches looks whether their thread has ended.
const GLANCE: Duration = Duration::from_secs(1);

/// The threads of all generators of this process.
static THREADS: Threads = Threads::new("triple generator");

#[derive(Default)]
struct State {
    /// Batches that the evaluator has asked for since the start.
    wanted: u64,
    made: u64,
    taken: u64,
}

#[derive(Default)]
struct Demand {
    state: Mutex<State>,
    changed: Condvar,
}

impl Demand {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where an evaluator's triples come from.
pub(crate) enum Stock {
    /// A generator that runs beside it.
    Made(Producer),
    /// Batches on disk.
    Stored(Claimed),
}

impl Stock {
    /// Asks a generator for `total` batches since the start, if fewer were asked for before. Stored batches are claimed
    /// elsewhere, before a circuit is run.
    pub(crate) fn want(&self, total: u64) {
        if let Stock::Made(producer) = self {
            producer.want(total);
        }
    }

    /// The next batch.
    pub(crate) fn take(&self) -> Result<Batch> {
        match self {
            Stock::Made(producer) => producer.take(),
            Stock::Stored(claimed) => claimed.take(),
        }
    }

    /// The generator's thread, if there is one.
    pub(crate) fn beside(&self) -> Option<&Beside> {
        match self {
            Stock::Made(producer) => Some(&producer.thread),
            Stock::Stored(_) => None,
        }
    }

    /// Waits until every batch that was asked for is there.
    pub(crate) fn fill(&self) -> Result<()> {
        match self {
            Stock::Made(producer) => producer.fill(),
            Stock::Stored(_) => Ok(()),
        }
    }

    /// Gives arrays back to be used again.
    pub(crate) fn recycle(&self, spare: Pair) {
        match self {
            Stock::Made(producer) => producer.recycle(spare),
            Stock::Stored(claimed) => claimed.recycle(spare),
        }
    }

    /// Says that no more batches are needed.
    pub(crate) fn end(&self) {
        if let Stock::Made(producer) = self {
            producer.end();
        }
    }

    /// Ends a generator, which tells its peers `last_word` if there is one, or deletes claimed batches that are left.
    pub(crate) fn stop(&mut self, last_word: Option<AbortReason>) {
        match self {
            Stock::Made(producer) => producer.stop(last_word),
            Stock::Stored(claimed) => claimed.discard(),
        }
    }
}

/// The consumer's end: a generator's thread and what it has made.
pub(crate) struct Producer {
    pub(crate) thread: Beside,
    demand: Arc<Demand>,
    batches: Option<Receiver<(Batch, Settled)>>,
    settlement: Arc<Settlement>,
    spares: Sender<Pair>,
    ahead: usize,
}

impl Producer {
    /// Starts the generator's thread. If it fails, it stops the evaluator by `evaluator_interrupters`. At most `ahead` finished batches wait for the
    /// evaluator. All generators of a party whose batches serve the same values share a `settlement`.
    pub(crate) fn start(
        generator: Generator,
        evaluator_interrupters: [Closer; 2],
        ahead: usize,
        settlement: &Arc<Settlement>,
        last_word: LastWord,
    ) -> Result<Self> {
        let demand = Arc::new(Demand::default());
        let interrupters = generator.ring.interrupters();
        let (to_evaluator, batches) = sync_channel(ahead);
        let (spares, from_evaluator) = channel();
        let (wanted, place) = (Arc::clone(&demand), settlement.join());
        let work = move |within| {
            let worker = Worker {
                generator,
                within,
                demand: wanted,
                batches: to_evaluator,
                spares: from_evaluator,
                place,
            };
            worker.run()
        };
        Ok(Self {
            thread: Beside::start(&THREADS, interrupters, evaluator_interrupters, last_word, work)?,
            demand,
            batches: Some(batches),
            settlement: Arc::clone(settlement),
            spares,
            ahead,
        })
    }

    /// Asks for `total` batches since the start, if fewer were asked for before.
    pub(crate) fn want(&self, total: u64) {
        let mut state = self.demand.lock();
        if total > state.wanted {
            state.wanted = total;
            self.demand.changed.notify_all();
        }
    }

    /// The next batch, which must have been asked for. Waits for it, and for those of other workers that it depends on; the
    /// generators' own deadlines bound the wait.
    pub(crate) fn take(&self) -> Result<Batch> {
        let batch = self.batches.as_ref().and_then(|batches| batches.recv().ok());
        self.demand.lock().taken += 1;
        let (batch, settled) = batch.ok_or_else(|| self.thread.ended())?;
        self.settlement.released(settled)?;
        Ok(batch)
    }

    /// Waits until every batch that was asked for is made.
    pub(crate) fn fill(&self) -> Result<()> {
        let mut state = self.demand.lock();
        let waiting = state.wanted - state.taken;
        if waiting > self.ahead as u64 {
            let limit = self.ahead;
            return Err(Error::BadInput(format!(
                "{waiting} batches of triples are wanted in stock, which holds {limit}"
            )));
        }
        while state.made < state.wanted {
            if self.thread.is_over() {
                return Err(self.thread.ended());
            }
            let wait = self.demand.changed.wait_timeout(state, GLANCE);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Gives arrays back for the generator to use again.
    pub(crate) fn recycle(&self, spare: Pair) {
        // A generator that has ended needs no spares.
        let _ = self.spares.send(spare);
    }

    /// Says that no more batches are needed. A peer may yet be making a batch that this party has and the peer needs.
    pub(crate) fn end(&self) {
        self.thread.end();
        // With the lock, so that the generator does not miss it between its look and its wait.
        let _state = self.demand.lock();
        self.demand.changed.notify_all();
    }

    /// Ends the generator's thread, which tells its peers `last_word` if there is one, and waits for it.
    pub(crate) fn stop(&mut self, last_word: Option<AbortReason>) {
        self.end();
        self.batches = None;
        self.thread.stop(last_word);
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.stop(None);
    }
}

/// The generator's thread.
struct Worker {
    generator: Generator,
    within: Within,
    demand: Arc<Demand>,
    batches: SyncSender<(Batch, Settled)>,
    spares: Receiver<Pair>,
    place: Place,
}

impl Worker {
    /// Gives back its channels.
    fn run(mut self) -> Ring {
        let mut made = 0;
        while self.wait_for_demand(made) {
            let start = Instant::now();
            let fixed = || self.place.fix();
            match self.generator.batch(self.spares.try_recv().ok(), fixed) {
                Ok(batch) => {
                    let settled = self.place.settle();
                    self.within.worked(&self.generator.ring, start.elapsed());
                    made += 1;
                    self.demand.lock().made = made;
                    self.demand.changed.notify_all();
                    if self.batches.send((batch, settled)).is_err() {
                        break;
                    }
                }
                Err(error) => {
                    self.within
                        .fail(&mut self.generator.ring, error, |error| self.place.fail(error));
                    self.demand.changed.notify_all();
                    break;
                }
            }
        }
        self.generator.ring
    }

    /// Waits until more than `made` batches are wanted. False if the session is over.
    fn wait_for_demand(&self, made: u64) -> bool {
        let mut state = self.demand.lock();
        while !self.within.is_ending() && state.wanted <= made {
            let waited = self.demand.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        !self.within.is_ending()
    }
}

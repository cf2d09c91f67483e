//! Hand-over of full logs of gates to a prover's thread, which proves them while the evaluator fills another.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Instant;

use cenote_net::{AbortReason, Closer, Threads};
use cenote_params::three::Proofs;
use cenote_session::Result;

use super::prover::{ADVANCES, Prover, ROUNDS};
use crate::background::{Beside, Within};
use crate::last_word::LastWord;
use crate::online::gate_log::GateLog;
use crate::ring::Ring;

/// The threads of all provers of this process.
static THREADS: Threads = Threads::new("prover");

/// The evaluator's end: a prover's thread, and the logs that are there or here, besides the evaluator's own.
pub(crate) struct Proving {
    pub(crate) thread: Beside,
    orders: Option<SyncSender<Order>>,
    proved: Receiver<GateLog>,
    /// Empty logs: as many as [`BATCHES`], less those that are under way.
    spares: Vec<GateLog>,
    /// Of each batch under way, the oldest first, how often the prover is yet to be told to go on with it.
    due: VecDeque<u8>,
    /// Words of the evaluator's log at which it is told so next, and how many more those after have.
    next: usize,
    stretch: usize,
}

/// Batches that are under way at most.
const BATCHES: usize = Proofs::BATCHES_UNDER_WAY;

/// How often a prover is told to go on while a log is filled: so often that a batch is proved before the next one's log is full, and so rarely that what the
/// others say has come by then.
const STRETCHES: usize = 4;

/// What a prover is to do. All parties say the same, in the same order: when depends only on how many gates they have evaluated.
enum Order {
    /// Begin with a batch, and go on with those under way.
    Begin(GateLog),
    /// Go on with the batches under way.
    Advance,
    /// Bring all batches to their end.
    Settle,
}

impl Proving {
    /// Starts the prover's thread. If it fails, it stops the evaluator by `evaluator_interrupters`.
    pub(crate) fn start(
        prover: Prover,
        evaluator_interrupters: [Closer; 2],
        last_word: LastWord,
        log: impl Fn() -> GateLog,
    ) -> Result<Self> {
        let stretch = prover.batch_words().div_ceil(STRETCHES);
        let interrupters = prover.ring.interrupters();
        // Room for all that can be ordered without a log being given back: so many batches with what they are due, and `Settle`.
        let (orders, to_do) = sync_channel(BATCHES * (1 + usize::from(ADVANCES)) + 1);
        let (done, proved) = channel();
        let work = move |within| run(prover, &within, &to_do, &done);
        Ok(Self {
            thread: Beside::start(&THREADS, interrupters, evaluator_interrupters, last_word, work)?,
            orders: Some(orders),
            proved,
            spares: (0..BATCHES).map(|_| log()).collect(),
            due: VecDeque::new(),
            next: stretch,
            stretch,
        })
    }

    /// Has the gates of a full log proved, and gives an empty one in its place. Waits for an earlier batch if too many are under way; their
    /// deadlines bound the wait.
    pub(crate) fn hand_over(&mut self, log: &mut GateLog) -> Result<()> {
        while self.due.len() >= BATCHES {
            self.order(Order::Advance)?;
        }
        if self.spares.is_empty() {
            self.wait()?;
        }
        let Some(empty) = self.spares.pop() else {
            return Err(self.thread.ended());
        };
        self.next = self.stretch;
        self.order(Order::Begin(std::mem::replace(log, empty)))?;
        self.due.push_back(ADVANCES);
        Ok(())
    }

    /// Has the prover go on with what is under way, if so many words are in the evaluator's log that it is time.
    pub(crate) fn filled(&mut self, words: usize) -> Result<()> {
        while words >= self.next {
            self.next += self.stretch;
            if !self.due.is_empty() {
                self.order(Order::Advance)?;
            }
        }
        Ok(())
    }

    /// Each order has the prover go on with every batch under way.
    fn order(&mut self, order: Order) -> Result<()> {
        match &self.orders {
            Some(orders) if orders.send(order).is_ok() => {}
            _ => return Err(self.thread.ended()),
        }
        self.due.iter_mut().for_each(|left| *left -= 1);
        while self.due.front() == Some(&0) {
            self.due.pop_front();
        }
        Ok(())
    }

    /// Has the gates of a log proved, and waits until all are. Gives the number of rounds.
    pub(crate) fn settle(&mut self, log: &mut GateLog) -> Result<u64> {
        if !log.is_empty() {
            self.hand_over(log)?;
        }
        if !self.is_busy() {
            return Ok(0);
        }
        self.order(Order::Settle)?;
        self.due.clear();
        while self.is_busy() {
            self.wait()?;
        }
        Ok(ROUNDS)
    }

    fn wait(&mut self) -> Result<()> {
        let log = self.proved.recv().map_err(|_| self.thread.ended())?;
        self.spares.push(log);
        Ok(())
    }

    /// Whether a batch is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.spares.len() < BATCHES
    }

    /// Ends the prover's thread, which tells its peers `last_word` if there is one, and waits for it.
    pub(crate) fn stop(&mut self, last_word: Option<AbortReason>) {
        self.orders = None;
        self.thread.stop(last_word);
    }
}

impl Drop for Proving {
    fn drop(&mut self) {
        self.stop(None);
    }
}

/// Does what it is told until there is no more to do, or a proof fails; gives back its channels.
fn run(mut prover: Prover, within: &Within, orders: &Receiver<Order>, done: &Sender<GateLog>) -> Ring {
    while let Ok(order) = orders.recv() {
        let start = Instant::now();
        let outcome = follow(&mut prover, order, done);
        within.worked(&prover.ring, start.elapsed());
        if let Err(error) = outcome {
            prover.wipe();
            within.fail(&mut prover.ring, error, |_| {});
            break;
        }
    }
    prover.wipe();
    prover.ring
}

fn follow(prover: &mut Prover, order: Order, done: &Sender<GateLog>) -> Result<()> {
    let give_back = |log: Option<GateLog>| {
        if let Some(log) = log {
            // An evaluator that has ended needs no logs.
            let _ = done.send(log);
        }
    };
    match order {
        Order::Begin(log) => give_back(prover.advance(Some(log))?),
        Order::Advance => give_back(prover.advance(None)?),
        Order::Settle => {
            while prover.is_busy() {
                give_back(prover.advance(None)?);
            }
        }
    }
    Ok(())
}

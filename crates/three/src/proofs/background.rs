//! Hand-over of full logs of gates to a prover's thread, which proves them while the evaluator fills another.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use cenote_net::{AbortReason, Closer, Meter, Threads};
use cenote_session::{Error, Result};

use super::prover::Prover;
use crate::background::{Background, Beside, Within};
use crate::last_word::LastWord;
use crate::online::gate_log::GateLog;
use crate::ring::Ring;

/// The threads of all provers of this process.
static THREADS: Threads = Threads::new("prover");

impl Background for Prover {
    const NAME: &'static str = "prover";

    fn ring(&mut self) -> &mut Ring {
        &mut self.ring
    }
}

/// The evaluator's end: a prover's thread, and the one log that is there or here, besides the evaluator's own.
pub(crate) struct Proving {
    thread: Beside<Prover>,
    full: Option<SyncSender<GateLog>>,
    proved: Receiver<(GateLog, u64)>,
    /// Nothing while a batch is under way.
    spare: Option<GateLog>,
}

impl Proving {
    /// Starts the prover's thread. If it fails, it stops the evaluator by `evaluator_interrupters`.
    pub(crate) fn start(
        prover: Prover,
        evaluator_interrupters: [Closer; 2],
        last_word: LastWord,
        spare: GateLog,
    ) -> Result<Self> {
        let interrupters = prover.ring.interrupters();
        let (full, logs) = sync_channel(1);
        let (done, proved) = channel();
        let work = move |within| run(prover, &within, &logs, &done);
        Ok(Self {
            thread: Beside::start(&THREADS, interrupters, evaluator_interrupters, last_word, work)?,
            full: Some(full),
            proved,
            spare: Some(spare),
        })
    }

    /// Has the gates of a full log proved, and gives an empty one in its place. Waits for the batch before, whose deadlines bound the wait.
    pub(crate) fn hand_over(&mut self, log: &mut GateLog) -> Result<()> {
        if self.spare.is_none() {
            self.wait()?;
        }
        let Some(empty) = self.spare.take() else {
            return Err(self.thread.ended());
        };
        let full = std::mem::replace(log, empty);
        match &self.full {
            Some(thread) if thread.send(full).is_ok() => Ok(()),
            _ => Err(self.thread.ended()),
        }
    }

    /// Has the gates of a log proved, and waits until all are. Gives the number of rounds.
    pub(crate) fn settle(&mut self, log: &mut GateLog) -> Result<u64> {
        if !log.is_empty() {
            self.hand_over(log)?;
        }
        match self.spare {
            Some(_) => Ok(0),
            None => self.wait(),
        }
    }

    fn wait(&mut self) -> Result<u64> {
        let (log, rounds) = self.proved.recv().map_err(|_| self.thread.ended())?;
        self.spare = Some(log);
        Ok(rounds)
    }

    /// Whether a batch is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.spare.is_none()
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.thread.check()
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        self.thread.failure()
    }

    pub(crate) fn explain(&self, error: Error) -> Error {
        self.thread.explain(error)
    }

    pub(crate) fn costs(&self) -> (Meter, Duration) {
        self.thread.costs()
    }

    pub(crate) fn end(&self) {
        self.thread.end();
    }

    pub(crate) fn stop(&mut self, last_word: Option<AbortReason>) {
        self.full = None;
        self.thread.stop(last_word);
    }
}

impl Drop for Proving {
    fn drop(&mut self) {
        self.stop(None);
    }
}

/// Proves one log after the other until there are no more, or one fails.
fn run(
    mut prover: Prover,
    within: &Within,
    logs: &Receiver<GateLog>,
    done: &Sender<(GateLog, u64)>,
) -> Prover {
    while let Ok(mut log) = logs.recv() {
        let start = Instant::now();
        match prover.prove(&mut log) {
            Ok(rounds) => {
                within.worked(&prover.ring, start.elapsed());
                if done.send((log, rounds)).is_err() {
                    break;
                }
            }
            Err(error) => {
                log.wipe();
                within.fail(&mut prover.ring, error, |_| {});
                break;
            }
        }
    }
    prover.wipe();
    prover
}

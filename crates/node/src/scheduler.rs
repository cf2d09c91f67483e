//! When jobs begin: the queue of those that wait, and the count of what runs.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use cenote_service::job::JobId;

use super::locks::{AtomicBool, Condvar, Mutex, MutexGuard, Ordering, lock};
use crate::queue::{Limits, Queue, Waiting};
use crate::running_job::RunningJob;

/// The queue of jobs, whoever waits for one that can begin, and how much runs. While the queue is locked only [`crate::peers::Peers`] is asked; the
/// other two locks are held for a moment each, and no other is taken meanwhile. Tests try all this under a checker of interleavings, over locks of its own.
pub(crate) struct Scheduler {
    queue: Mutex<Queue>,
    /// Whether something may begin.
    wanted: Mutex<bool>,
    wake: Condvar,
    /// How many threads run jobs or make stock.
    running: Mutex<usize>,
    ended: Condvar,
    stopping: AtomicBool,
}

/// What the end of the service waits for, until this is dropped.
pub(crate) struct RunGuard(Arc<Scheduler>);

impl Drop for RunGuard {
    fn drop(&mut self) {
        let mut running = lock(&self.0.running);
        *running = running.saturating_sub(1);
        drop(running);
        self.0.ended.notify_all();
    }
}

impl Scheduler {
    pub(crate) fn new(me: u8, limits: Limits) -> Self {
        Scheduler {
            queue: Mutex::new(Queue::new(me, limits)),
            wanted: Mutex::default(),
            wake: Condvar::new(),
            running: Mutex::default(),
            ended: Condvar::new(),
            stopping: AtomicBool::new(false),
        }
    }

    /// The service ends: its threads see that soon.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// Has what can begin begun, soon.
    pub(crate) fn start_ready(&self) {
        *lock(&self.wanted) = true;
        self.wake.notify_one();
    }

    /// Waits until something may begin, at most so long. Gives whether it may.
    pub(crate) fn wait_for_start(&self, limit: Duration) -> bool {
        let wanted = lock(&self.wanted);
        let (mut wanted, _) = self
            .wake
            .wait_timeout_while(wanted, limit, |wanted| !*wanted)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *wanted)
    }

    /// The next job that begins, as `choose` says. The end of the service waits for its run, unless that end came first.
    pub(crate) fn take_next(
        self: &Arc<Self>,
        choose: impl FnOnce(&mut Queue) -> Option<(Waiting, Arc<RunningJob>)>,
    ) -> Option<(Waiting, Arc<RunningJob>, RunGuard)> {
        // Counted before it is off the queue: in between, whoever closes the queue and waits would not see it.
        let guard = self.guard_run();
        let (waiting, running) = choose(&mut self.queue())?;
        Some((waiting, running, guard))
    }

    /// A job has come to its end, however.
    pub(crate) fn finished(&self, job: JobId) {
        self.queue().done(job);
        self.start_ready();
    }

    /// Something begins that the end of the service waits for.
    pub(crate) fn guard_run(self: &Arc<Self>) -> RunGuard {
        *lock(&self.running) += 1;
        RunGuard(Arc::clone(self))
    }

    /// Waits until nothing runs, at most so long. Gives whether nothing does.
    pub(crate) fn wait_finished(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut running = lock(&self.running);
        while *running > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.ended.wait_timeout(running, left);
            running = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

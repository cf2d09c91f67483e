//! The scheduler under a checker that tries interleavings of its threads. It is the same source over the checker's locks, where no wait ends by its time: a
//! thread that nobody wakes is found, and the checker prints the interleaving.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_service::job::JobId;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread::{JoinHandle, spawn};

use crate::queue::{Call, Limits, Waiting};

#[path = "../scheduler.rs"]
#[allow(
    clippy::duplicate_mod,
    dead_code,
    reason = "the checker needs the same source over other locks, and not all of it"
)]
mod scheduler;

/// As [`crate::locks`], of the checker.
mod locks {
    use std::sync::PoisonError;

    pub(super) use shuttle::sync::atomic::{AtomicBool, Ordering};
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};

    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

use scheduler::{RunGuard, Scheduler};

/// Interleavings of a scenario: so many by chance, and so many with a few changes of priority.
const TRIES: usize = 1000;
const CHANGES: usize = 3;
/// Longer than any test takes: what looks at the time does not end by it either.
const LONG: Duration = Duration::from_secs(3600);

/// A party that the leader tells which jobs begin, and what is seen of its runs.
struct Party {
    scheduler: Arc<Scheduler>,
    /// How many jobs may run side by side.
    jobs: usize,
    /// Jobs that have begun.
    begun: AtomicUsize,
    /// Jobs that run.
    running: AtomicUsize,
}

impl Party {
    /// One at which so many jobs run side by side, each of which fills the memory of one.
    fn new(jobs: usize) -> Arc<Self> {
        let limits = Limits {
            jobs: jobs as u64,
            per_proposer: jobs as u64,
            memory: jobs as u64,
        };
        Arc::new(Party {
            jobs,
            scheduler: Arc::new(Scheduler::new(1, limits)),
            begun: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
        })
    }

    /// A job waits here.
    fn enqueue(&self, job: u8) {
        self.scheduler.queue().add(Waiting {
            job: JobId([job; 16]),
            proposer: 0,
            parties: 2,
            memory: vec![1, 1],
            wanted: None,
            in_shards: false,
            stands: false,
            runs: 0,
            not_before: None,
        });
        self.scheduler.start_ready();
    }

    /// The leader begins it.
    fn call(&self, job: u8) {
        assert!(self.scheduler.queue().call(JobId([job; 16]), Call::default()));
        self.scheduler.start_ready();
    }

    /// Begins what can begin, each on a thread of its own.
    fn start_jobs(self: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let next = || {
            self.scheduler
                .take_next(|queue| queue.next_called(Instant::now(), |_| true))
        };
        let all = std::iter::from_fn(next);
        all.map(|(waiting, _, guard)| {
            let party = Arc::clone(self);
            self.begun.fetch_add(1, Ordering::SeqCst);
            spawn(move || party.run(waiting.job, guard))
        })
        .collect()
    }

    fn run(&self, job: JobId, guard: RunGuard) {
        let _guard = guard;
        let others = self.running.fetch_add(1, Ordering::SeqCst);
        assert!(others < self.jobs, "{others} jobs run beside it");
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.scheduler.finished(job);
    }

    /// Begins jobs as soon as they can, until so many have.
    fn start_all(self: &Arc<Self>, jobs: usize) {
        let mut runs = Vec::new();
        while runs.len() < jobs {
            if self.scheduler.wait_for_start(LONG) {
                runs.extend(self.start_jobs());
            }
        }
        runs.into_iter().for_each(join);
    }
}

fn join(thread: JoinHandle<()>) {
    thread.join().expect("it ends");
}

/// Tries interleavings of a scenario. None may panic, or leave a thread that waits for ever.
fn check(scenario: impl Fn() + Send + Sync + 'static) {
    let scenario = Arc::new(scenario);
    let again = Arc::clone(&scenario);
    shuttle::check_random(move || scenario(), TRIES);
    shuttle::check_pct(move || again(), TRIES, CHANGES);
}

#[test]
fn a_job_begins_whoever_comes_first() {
    check(|| {
        let party = Party::new(2);
        let (waits, called) = (Arc::clone(&party), Arc::clone(&party));
        let threads = [
            spawn(move || (1..=2).for_each(|job| waits.enqueue(job))),
            spawn(move || (1..=2).for_each(|job| called.call(job))),
        ];
        party.start_all(2);
        threads.into_iter().for_each(join);
        assert!(party.scheduler.queue().is_idle(|_| true));
        assert!(party.scheduler.wait_finished(LONG));
    });
}

#[test]
fn a_job_begins_when_the_one_before_has_ended() {
    check(|| {
        let party = Party::new(1);
        let others = Arc::clone(&party);
        let thread = spawn(move || {
            for job in 1..=3 {
                others.enqueue(job);
                others.call(job);
            }
        });
        party.start_all(3);
        join(thread);
        assert!(party.scheduler.queue().is_idle(|_| true));
    });
}

#[test]
fn a_job_begins_when_memory_is_given_back() {
    check(|| {
        let party = Party::new(1);
        assert!(party.scheduler.queue().reserve(1));
        party.enqueue(1);
        party.call(1);
        let maker = Arc::clone(&party);
        let maker = spawn(move || {
            maker.scheduler.queue().release(1);
            maker.scheduler.start_ready();
        });
        party.start_all(1);
        join(maker);
    });
}

#[test]
fn the_end_waits_for_all_that_has_begun_and_nothing_begins_after_it() {
    check(|| {
        let party = Party::new(2);
        let others = Arc::clone(&party);
        let others = spawn(move || {
            for job in 1..=2 {
                others.enqueue(job);
                others.call(job);
            }
        });
        let starter = Arc::clone(&party);
        let starter = spawn(move || {
            while !starter.scheduler.is_stopping() {
                if starter.scheduler.wait_for_start(LONG) {
                    drop(starter.start_jobs());
                }
            }
        });
        party.scheduler.stop();
        party.scheduler.queue().close();
        assert!(party.scheduler.wait_finished(LONG));
        let begun = party.begun.load(Ordering::SeqCst);
        assert_eq!(party.running.load(Ordering::SeqCst), 0, "a job still runs");
        // The clock wakes it where it is not stopped in between.
        party.scheduler.start_ready();
        [others, starter].into_iter().for_each(join);
        assert_eq!(
            party.begun.load(Ordering::SeqCst),
            begun,
            "a job began after the end"
        );
    });
}

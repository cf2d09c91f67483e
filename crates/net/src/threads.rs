//! Threads that stay when their work is done, for the next one: a session that takes a few milliseconds should not pay for
//! threads of its own, nor for the memory that every thread begins with.
//!
//! Each work has its thread for itself. It may leave nothing secret in what belongs to the thread (`thread_local!`), since the
//! next one finds that there.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How long a thread stays without work.
const STAY: Duration = Duration::from_secs(10);

/// How much work a thread does at most. The allocator keeps for each thread what its work has freed, in pieces that no other
/// thread uses, and these grow in number with all that is ever done there; they go back when the thread ends.
const WORKS: usize = 32;

type Work = Box<dyn FnOnce() + Send>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads of one name, as many as there is work for at a time. The one that had work last gets the next.
pub struct Threads {
    name: &'static str,
    idle: Mutex<Vec<(ThreadId, Sender<Work>)>>,
}

impl Threads {
    /// None yet.
    pub const fn new(name: &'static str) -> Self {
        Threads {
            name,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// What they are called.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Does `work` on a thread that does nothing else meanwhile. A thread on which work panics ends.
    ///
    /// # Errors
    /// That the system gives no thread.
    pub fn start<T: Send + 'static>(
        &'static self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Started<T>> {
        let outcome = Arc::new(Outcome::default());
        let given = Arc::clone(&outcome);
        let mut work: Work = Box::new(move || match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => given.give(Ok(result)),
            Err(panic) => {
                given.give(Err(panic));
                // The panic was told of; this ends the thread.
                resume_unwind(Box::new(()));
            }
        });
        let mut idle = lock(&self.idle);
        while let Some((_, thread)) = idle.pop() {
            match thread.send(work) {
                Ok(()) => return Ok(Started(outcome)),
                Err(back) => work = back.0,
            }
        }
        drop(idle);
        thread::Builder::new()
            .name(self.name.into())
            .spawn(move || self.serve(work))?;
        Ok(Started(outcome))
    }

    /// One work after the other.
    fn serve(&self, mut work: Work) {
        let (sender, next) = channel();
        let me = thread::current().id();
        for _ in 1..WORKS {
            work();
            lock(&self.idle).push((me, sender.clone()));
            match self.wait(me, &next) {
                Some(more) => work = more,
                None => return,
            }
        }
        work();
    }

    fn wait(&self, me: ThreadId, next: &Receiver<Work>) -> Option<Work> {
        if let Ok(work) = next.recv_timeout(STAY) {
            return Some(work);
        }
        let mut idle = lock(&self.idle);
        match idle.iter().position(|(other, _)| *other == me) {
            Some(place) => {
                idle.remove(place);
                None
            }
            // It was chosen just now, with the lock: its work is there.
            None => next.recv().ok(),
        }
    }
}

struct Outcome<T> {
    result: Mutex<Option<thread::Result<T>>>,
    there: Condvar,
}

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        Outcome {
            result: Mutex::default(),
            there: Condvar::new(),
        }
    }
}

impl<T> Outcome<T> {
    fn give(&self, result: thread::Result<T>) {
        *lock(&self.result) = Some(result);
        self.there.notify_all();
    }
}

/// Work that was started, and goes on if this is dropped.
pub struct Started<T>(Arc<Outcome<T>>);

impl<T> Started<T> {
    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        lock(&self.0.result).is_some()
    }

    /// Waits for its end. Gives what it returned.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> thread::Result<T> {
        let mut result = lock(&self.0.result);
        loop {
            match result.take() {
                Some(result) => return result,
                None => result = self.0.there.wait(result).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread that work is done on, once nothing is done there any more.
    fn settled(threads: &'static Threads) -> ThreadId {
        let before = lock(&threads.idle).len();
        let id = threads.start(|| thread::current().id()).unwrap().join().unwrap();
        while lock(&threads.idle).len() < before.max(1) {
            thread::sleep(Duration::from_millis(1));
        }
        id
    }

    #[test]
    fn a_thread_stays_for_the_next_work() {
        static THREADS: Threads = Threads::new("stays");
        let first = settled(&THREADS);
        assert_eq!(settled(&THREADS), first);
        let name = THREADS.start(|| thread::current().name().map(str::to_owned));
        assert_eq!(name.unwrap().join().unwrap().as_deref(), Some("stays"));
    }

    #[test]
    fn works_that_wait_for_each_other_go_on_side_by_side() {
        static THREADS: Threads = Threads::new("side by side");
        settled(&THREADS);
        let barrier = Arc::new(std::sync::Barrier::new(8));
        let works: Vec<_> = (0..8)
            .map(|number| {
                let barrier = Arc::clone(&barrier);
                let work = move || {
                    barrier.wait();
                    number
                };
                THREADS.start(work).unwrap()
            })
            .collect();
        let given: Vec<i32> = works.into_iter().map(|work| work.join().unwrap()).collect();
        assert_eq!(given, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_thread_on_which_work_panicked_has_no_other_work() {
        static THREADS: Threads = Threads::new("panics");
        let first = settled(&THREADS);
        let id = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&id);
        let work: io::Result<Started<()>> = THREADS.start(move || {
            *lock(&seen) = Some(thread::current().id());
            panic!("on purpose");
        });
        let panic = work.unwrap().join().unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
        assert_eq!(*lock(&id), Some(first), "it was on the thread that was there");
        assert_ne!(settled(&THREADS), first);
        assert!(lock(&THREADS.idle).iter().all(|(id, _)| *id != first));
    }

    #[test]
    fn a_thread_ends_after_so_much_work() {
        static THREADS: Threads = Threads::new("ends");
        let first = settled(&THREADS);
        let mut works = 1;
        while THREADS.start(|| thread::current().id()).unwrap().join().unwrap() == first {
            works += 1;
            assert!(works <= WORKS, "it does not end");
            while lock(&THREADS.idle).is_empty() && works < WORKS {
                thread::sleep(Duration::from_millis(1));
            }
        }
        assert_eq!(works, WORKS);
    }

    #[test]
    fn what_work_holds_is_gone_when_it_has_ended() {
        static THREADS: Threads = Threads::new("holds");
        let held = Arc::new(());
        let weak = Arc::downgrade(&held);
        let work = THREADS.start(move || drop(Arc::clone(&held))).unwrap();
        work.join().unwrap();
        assert!(weak.upgrade().is_none());
    }
}

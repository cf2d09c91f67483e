//! Threads that work beside an evaluator's, over channels of their own: generators of triples, and provers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cenote_net::{AbortReason, Closer, Meter, Started, Threads};
use cenote_session::{Error, Fate, Result, is_interrupted};

use crate::last_word::LastWord;
use crate::ring::Ring;

#[derive(Default)]
struct Shared {
    /// Once it is ending, its work is no longer needed, but it keeps its channels.
    fate: Fate,
    costs: Mutex<(Meter, Duration)>,
}

impl Shared {
    fn costs(&self) -> MutexGuard<'_, (Meter, Duration)> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The evaluator's end.
pub(crate) struct Beside {
    /// What the thread is called in errors.
    name: &'static str,
    shared: Arc<Shared>,
    interrupters: [Closer; 2],
    /// When it ends, it gives back its channels.
    thread: Option<Started<Ring>>,
}

/// The thread's end. If it fails, it stops the evaluator, so that nobody waits for a session that is lost.
pub(crate) struct Within {
    shared: Arc<Shared>,
    last_word: LastWord,
    evaluator_interrupters: [Closer; 2],
}

impl Beside {
    /// Starts the thread, which does `work` and gives back its channels, which `interrupters` stop.
    pub(crate) fn start(
        threads: &'static Threads,
        interrupters: [Closer; 2],
        evaluator_interrupters: [Closer; 2],
        last_word: LastWord,
        work: impl FnOnce(Within) -> Ring + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let within = Within {
            shared: Arc::clone(&shared),
            last_word,
            evaluator_interrupters,
        };
        let name = threads.name();
        let thread = threads
            .start(move || work(within))
            .map_err(|error| Error::Internal(format!("cannot start the {name}'s thread: {error}")))?;
        Ok(Self {
            name,
            shared,
            interrupters,
            thread: Some(thread),
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(Started::is_finished)
    }

    /// Why it does no more.
    pub(crate) fn ended(&self) -> Error {
        let unknown = || Error::Internal(format!("the {} ended without a reason", self.name));
        self.shared.fate.check().err().unwrap_or_else(unknown)
    }

    /// Its failure, if it has failed.
    pub(crate) fn check(&self) -> Result<()> {
        self.shared.fate.check()
    }

    /// Why it has failed, if it has and nobody has been told.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.shared.fate.failure()
    }

    /// The better explanation of `error`, which the evaluator met.
    pub(crate) fn explain(&self, error: Error) -> Error {
        self.shared.fate.explain(error, || self.is_over())
    }

    /// Bytes and messages of its channels, and the time it worked, up to what it finished last.
    pub(crate) fn costs(&self) -> (Meter, Duration) {
        *self.shared.costs()
    }

    /// Says that its work is no longer needed. It ends, or fails, in silence; its channels stay open, since a peer may yet need what it says.
    pub(crate) fn end(&self) {
        self.shared.fate.end();
    }

    /// Ends the thread, which tells its peers `last_word` if there is one, and waits for it. Its channels are closed then.
    pub(crate) fn stop(&mut self, last_word: Option<AbortReason>) {
        self.end();
        for interrupter in &self.interrupters {
            interrupter.close();
        }
        let Some(thread) = self.thread.take() else { return };
        match (thread.join(), last_word) {
            (Ok(mut ring), Some(code)) => ring.abort(code),
            (Ok(_), None) => {}
            (Err(_), _) => tracing::error!("the {}'s thread panicked", self.name),
        }
    }
}

impl Within {
    /// Whether its work is no longer needed.
    pub(crate) fn is_ending(&self) -> bool {
        self.shared.fate.is_ending()
    }

    /// Notes what its channels have carried, and how long it worked.
    pub(crate) fn worked(&self, ring: &Ring, time: Duration) {
        let mut costs = self.shared.costs();
        costs.0 = ring.meter();
        costs.1 += time;
    }

    /// Tells of a failure: `also` others of this party, the peers, and the evaluator.
    pub(crate) fn fail(&self, ring: &mut Ring, error: Error, also: impl FnOnce(&Error)) {
        // Known here before the peers hear of it: what they say then is no news.
        if !self.shared.fate.fail(error.clone()) {
            return;
        }
        // Who closed the channels under it knows why, and tells the peers (`Beside::stop`).
        if !is_interrupted(&error) {
            ring.abort(self.last_word.of(&error));
        }
        also(&error);
        for interrupter in &self.evaluator_interrupters {
            interrupter.close();
        }
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        // Nobody waits for a thread that has panicked.
        if std::thread::panicking() {
            self.evaluator_interrupters.iter().for_each(Closer::close);
        }
    }
}

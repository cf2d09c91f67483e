//! Which batches may be used: none while a cheater may still fall silent in another.
//!
//! A party that cheats in making triples learns from the coin of a batch whether it will be caught, before it is caught. It
//! can fall silent in a worker where it has lost, and were batches of other workers used all the same, it would have as
//! many chances in a session as there are workers. So a batch is *released* only when every batch, of any worker, whose coin
//! a peer could know at the moment when that batch was settled, is settled too. Then the first batch of the session in
//! which it cheats decides: if it loses there, nothing in which it cheated is ever used.
//!
//! Nobody waits in a circle: what is waited for was begun before something else was settled, so each wait leads to an
//! earlier one, at the peers, too.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cenote_session::{Error, Result};

#[derive(Default)]
struct State {
    /// How many batches, of all workers, have been fixed: all their products have been received.
    fixed: u64,
    /// For each worker the number of its batch that is fixed and not settled.
    open: Vec<Option<u64>>,
    failure: Option<Error>,
}

/// What the generators of one party have under way.
#[derive(Default)]
pub(crate) struct Settlement {
    state: Mutex<State>,
    changed: Condvar,
}

/// The moment when a batch was settled, as the number of batches that had been fixed.
#[derive(Clone, Copy)]
pub(crate) struct Settled(u64);

impl Settlement {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more generator.
    pub(crate) fn join(self: &Arc<Self>) -> Place {
        let mut state = self.lock();
        state.open.push(None);
        Place {
            settlement: Arc::clone(self),
            index: state.open.len() - 1,
        }
    }

    /// Waits until all batches are settled that were open when this one was. The generators' deadlines bound the wait.
    ///
    /// # Errors
    /// Why a generator has failed.
    pub(crate) fn released(&self, Settled(moment): Settled) -> Result<()> {
        let mut state = self.lock();
        while state.open.iter().flatten().any(|number| *number < moment) {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

/// A generator's place in the settlement. If it is dropped with a batch open, the session has failed.
pub(crate) struct Place {
    settlement: Arc<Settlement>,
    index: usize,
}

impl Place {
    /// All products of a batch have been received: from here on, a peer may learn its coin.
    pub(crate) fn fix(&self) {
        let mut state = self.settlement.lock();
        state.open[self.index] = Some(state.fixed);
        state.fixed += 1;
    }

    /// The batch is settled.
    pub(crate) fn settle(&self) -> Settled {
        let mut state = self.settlement.lock();
        state.open[self.index] = None;
        self.settlement.changed.notify_all();
        Settled(state.fixed)
    }

    /// The batch will not be settled.
    pub(crate) fn fail(&self, error: &Error) {
        self.settlement
            .lock()
            .failure
            .get_or_insert_with(|| error.clone());
        self.settlement.changed.notify_all();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.fail(&Error::Internal("a triple generator has ended".into()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    fn is_released(settlement: &Arc<Settlement>, moment: Settled) -> bool {
        settlement
            .lock()
            .open
            .iter()
            .flatten()
            .all(|number| *number >= moment.0)
    }

    #[test]
    fn a_batch_waits_for_what_was_open_when_it_was_settled() {
        let settlement = Arc::new(Settlement::default());
        let places = [(); 3].map(|()| settlement.join());
        places[0].fix();
        places[1].fix();
        let first = places[0].settle();
        assert!(!is_released(&settlement, first));
        // What is fixed later is not waited for.
        places[2].fix();
        places[0].fix();
        let second = places[1].settle();
        assert!(is_released(&settlement, first) && !is_released(&settlement, second));
        places[2].settle();
        assert!(!is_released(&settlement, second));
        places[0].settle();
        assert!(is_released(&settlement, second));
        settlement.released(second).unwrap();
    }

    #[test]
    fn whoever_waits_hears_of_a_failure() {
        let settlement = Arc::new(Settlement::default());
        let [one, two] = [(); 2].map(|()| settlement.join());
        two.fix();
        one.fix();
        let moment = one.settle();
        let (done, outcome) = channel();
        std::thread::scope(|scope| {
            let settlement = &settlement;
            scope.spawn(move || done.send(settlement.released(moment)).unwrap());
            assert!(
                outcome.recv_timeout(Duration::from_millis(50)).is_err(),
                "it waits"
            );
            two.fail(&Error::Exhausted("time".into()));
            let error = outcome.recv().unwrap().unwrap_err();
            assert!(matches!(error, Error::Exhausted(_)), "{error}");
        });
        // A batch that waits for nothing is released whatever happened.
        drop(two);
        settlement.released(Settled(0)).unwrap();
    }
}

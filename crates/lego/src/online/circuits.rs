//! Circuits in use, and those that are built ahead.

use std::collections::VecDeque;
use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_session::{Recent, Result};

use crate::online::tiles::Circuit;

/// Circuits in use, and what is built of them.
pub(super) struct Circuits<B> {
    known: Recent<Circuit>,
    /// With their lanes.
    built: VecDeque<(Arc<Circuit>, usize, B)>,
}

impl<B> Default for Circuits<B> {
    fn default() -> Self {
        Self {
            known: Recent::new(u64::MAX, |_| 0),
            built: VecDeque::new(),
        }
    }
}

impl<B> Circuits<B> {
    /// # Errors
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for it.
    pub(super) fn get(&mut self, plan: &Plan) -> Result<Arc<Circuit>> {
        self.known.get(plan, || Circuit::new(plan))
    }

    /// Drops one that will not be used again soon.
    pub(super) fn forget(&mut self, plan: &Plan) {
        self.known.forget(plan);
    }

    /// Keeps one that is built for so many lanes.
    pub(super) fn keep(&mut self, circuit: Arc<Circuit>, lanes: usize, built: B) {
        self.built.push_back((circuit, lanes, built));
    }

    fn position(&self, plan: &Plan, lanes: usize) -> Option<usize> {
        self.built
            .iter()
            .position(|(circuit, of, _)| *of == lanes && circuit.plan.digest() == plan.digest())
    }

    /// Whether one is built for so many lanes.
    pub(super) fn is_built(&self, plan: &Plan, lanes: usize) -> bool {
        self.position(plan, lanes).is_some()
    }

    /// The first one that is.
    pub(super) fn take(&mut self, plan: &Plan, lanes: usize) -> Option<B> {
        let at = self.position(plan, lanes)?;
        self.built.remove(at).map(|(.., built)| built)
    }
}

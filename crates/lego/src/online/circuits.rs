//! Circuits in use, and those that are built ahead.

use std::collections::VecDeque;
use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_session::Result;

use crate::online::tiles::Circuit;

/// Circuits in use, so that what was prepared many times is kept once, and what is built of them.
pub(super) struct Circuits<B> {
    known: Vec<Arc<Circuit>>,
    /// With their lanes.
    built: VecDeque<(Arc<Circuit>, usize, B)>,
}

impl<B> Default for Circuits<B> {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            built: VecDeque::new(),
        }
    }
}

impl<B> Circuits<B> {
    /// Most circuits that are kept while nothing uses them.
    const KEPT: usize = 16;

    /// # Errors
    /// [`OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for it.
    pub(super) fn get(&mut self, plan: &Plan) -> Result<Arc<Circuit>> {
        // The digest is of the circuit, and the plan is a function of it.
        let same = |known: &Arc<Circuit>| known.plan.digest() == plan.digest();
        if let Some(known) = self.known.iter().position(same) {
            // The one used last is forgotten last.
            let circuit = self.known.remove(known);
            self.known.push(circuit.clone());
            return Ok(circuit);
        }
        if self.known.len() >= Self::KEPT {
            self.known.remove(0);
        }
        let circuit = Arc::new(Circuit::new(plan)?);
        self.known.push(circuit.clone());
        Ok(circuit)
    }

    /// Drops one that will not be used again soon.
    pub(super) fn forget(&mut self, plan: &Plan) {
        self.known.retain(|known| known.plan.digest() != plan.digest());
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

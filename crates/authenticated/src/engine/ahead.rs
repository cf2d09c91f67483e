//! Circuits that are garbled ahead of their inputs.

use cenote_circuit::Plan;
use cenote_session::{Error, Guarded, Result};

use super::AuthenticatedEngine;
use crate::online::circuit::Circuit;
use crate::online::ready::{self, MOST_GATES, Ready};

impl AuthenticatedEngine {
    /// Garbles a circuit on so many lanes ahead of its inputs, and keeps it in the store with the pool's keys: the next run of it on as many
    /// lanes, of this session or a later one, takes its inputs, masked values and the check.
    ///
    /// # Errors
    /// [`Error::BadInput`] if the pool is not kept, or the circuit has no lanes or more than 2^20 AND gates in all of them; [`Error::Exhausted`] if
    /// there are very many already; otherwise what failed.
    pub fn make_ready(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.call("pool", |this| {
            let gates = (plan.and_count() as u64).saturating_mul(lanes as u64);
            if lanes == 0 || gates > MOST_GATES {
                let reason = format!(
                    "a circuit of {gates} AND gates on {lanes} lanes: up to {MOST_GATES} can be garbled ahead"
                );
                return Err(Error::BadInput(reason));
            }
            let circuit = this.circuits.get(plan, || Circuit::new(plan))?;
            let (party, channel) = this.parts();
            let Some(kept) = party.keys.kept.clone() else {
                let reason = "circuits are garbled ahead for pools that are kept";
                return Err(Error::BadInput(reason.into()));
            };
            let mut ready = party.garble_ahead(&circuit, lanes, channel)?;
            let pieces = ready.pieces(party.keys.role);
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &**piece).collect();
            kept.put(&ready::name(&circuit, lanes), &pieces)
        })
    }

    /// How often a circuit was garbled ahead on so many lanes and is not used.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no room for the circuit.
    pub fn ready_circuits(&mut self, plan: &Plan, lanes: usize) -> Result<usize> {
        if self.kept().is_none() {
            return Ok(0);
        }
        let circuit = self.circuits.get(plan, || Circuit::new(plan))?;
        let name = ready::name(&circuit, lanes);
        let claimed = self.claimed.iter().filter(|(claimed, _)| *claimed == name);
        Ok(self.kept().map_or(0, |kept| kept.prepared(&name)) + claimed.count())
    }

    /// What was garbled ahead for such a run, and claimed when it was announced or is claimed now.
    pub(super) fn take_ready(&mut self, circuit: &Circuit, lanes: usize) -> Result<Option<Ready>> {
        let name = ready::name(circuit, lanes);
        match self.claimed.iter().position(|(claimed, _)| *claimed == name) {
            Some(at) => Ok(Some(self.claimed.remove(at).1)),
            None => self.claim(circuit, lanes),
        }
    }

    /// What was garbled ahead for such a run, if there is any: it is claimed, for good.
    pub(super) fn claim(&self, circuit: &Circuit, lanes: usize) -> Result<Option<Ready>> {
        let (role, name) = (self.role(self.me), ready::name(circuit, lanes));
        match self.kept() {
            Some(kept) if kept.prepared(&name) > 0 => {
                let mut ready = Ready::empty(circuit, lanes, role)?;
                let taken = kept.take(&name, &mut ready.pieces(role))?;
                Ok(taken.then_some(ready))
            }
            _ => Ok(None),
        }
    }
}

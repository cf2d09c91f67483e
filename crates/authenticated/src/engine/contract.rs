//! The calls of the engine contract.

use cenote_circuit::Plan;
use cenote_net::{Meter, PartyId};
use cenote_params::authenticated;
use cenote_params::pool::tries_log2;
use cenote_pool::Role;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::{
    Costs, Engine, Guarded, Parties, Piece, Result, Warning, WireVector, check_arrange, check_input,
    check_run, compare_digests, farewell, selected,
};

use super::AuthenticatedEngine;
use crate::memory::most_lanes;
use crate::online::circuit::Circuit;
use crate::online::ready::{self, MOST_GATES};
use crate::{AuthenticatedWires, steps};

impl Engine for AuthenticatedEngine {
    type Wires = AuthenticatedWires;

    fn me(&self) -> PartyId {
        self.me
    }

    fn parties(&self) -> usize {
        2
    }

    fn prepare_gates(&mut self, count: u64) -> Result<()> {
        match count {
            0 => Ok(()),
            _ => self.fill(),
        }
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        let gates = (plan.and_count() as u64).saturating_mul(lanes as u64);
        if gates == 0 {
            return Ok(());
        }
        if self.ready_circuits(plan, lanes)? == 0 {
            return self.prepare_gates(gates);
        }
        // The first of a session are on their way before there are inputs.
        let claimed: u64 = self.claimed.iter().map(|(_, ready)| ready.gates()).sum();
        if claimed.saturating_add(gates) > MOST_GATES {
            return Ok(());
        }
        let ready = self.call("pool", |this| {
            let circuit = this.circuits.get(plan, || Circuit::new(plan))?;
            let ready = this.claim(&circuit, lanes)?;
            Ok(ready.map(|ready| (ready::name(&circuit, lanes), ready)))
        })?;
        let Some(ready) = ready else {
            return self.prepare_gates(gates);
        };
        self.claimed.push(ready);
        let inputs = self.claimed.iter().map(|(_, ready)| ready.inputs()).sum();
        self.call("pool", |this| {
            let (party, channel) = this.parts();
            party.ready_inputs(inputs, channel)
        })
    }

    fn most_lanes(&self, plan: &Plan) -> usize {
        most_lanes(plan)
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<AuthenticatedWires> {
        self.call("online", |this| {
            check_input(this.me, 2, owner, wires, lanes, bits)?;
            let role = this.role(owner);
            this.ledger.costs.rounds += if role == Role::Garbler { 2 } else { 3 };
            let (party, channel) = this.parts();
            party.input(role, wires, lanes, bits, channel)
        })
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<AuthenticatedWires> {
        self.call("online", |this| this.parts().0.constant(bits))
    }

    fn run(&mut self, plan: &Plan, inputs: &AuthenticatedWires) -> Result<AuthenticatedWires> {
        self.call("online", |this| {
            check_run(plan, inputs.wires())?;
            let ands = (plan.and_count() as u64).saturating_mul(inputs.lanes() as u64);
            let circuit = this.circuits.get(plan, || Circuit::new(plan))?;
            this.ledger.costs.and_gates += ands;
            if ands > 0 {
                this.ledger.costs.rounds += 2;
                if let Some(ready) = this.take_ready(&circuit, inputs.lanes())? {
                    let (party, channel) = this.parts();
                    return party.run_ready(&circuit, ready, inputs, channel);
                }
                this.filled()?;
            }
            let (party, channel) = this.parts();
            party.run(&circuit, inputs, channel)
        })
    }

    fn arrange(
        &mut self,
        parts: &[Piece<'_, AuthenticatedWires>],
        runs: &[LaneRun],
    ) -> Result<AuthenticatedWires> {
        self.call("online", |_| {
            check_arrange(parts, runs)?;
            let parts = selected(parts);
            AuthenticatedWires::arranged(&parts.iter().collect::<Vec<_>>(), runs)
        })
    }

    fn reveal(&mut self, wires: &AuthenticatedWires, to: Parties) -> Result<Option<BitMatrix>> {
        self.call("online", |this| {
            let roles: Vec<Role> = to.iter().map(|party| this.role(party)).collect();
            let mut outputs = None;
            this.ledger.costs.rounds += 2;
            for role in [Role::Evaluator, Role::Garbler] {
                if roles.contains(&role) {
                    this.ledger.costs.rounds += 1;
                    let (party, channel) = this.parts();
                    outputs = party.open(wires, role, channel)?.or(outputs);
                }
            }
            Ok(outputs)
        })
    }

    fn compare(&mut self, digest: &[u8; 32]) -> Result<()> {
        self.call("online", |this| {
            this.ledger.costs.rounds += 1;
            let (party, channel) = this.parts();
            party.settle(channel)?;
            compare_digests(&mut [channel], steps::COMPARE, digest)
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.finish_after("online", |this| {
            let (party, channel) = this.parts();
            party.settle(channel)?;
            party.supply.leave()?;
            party.keys.leave()?;
            farewell([channel], steps::FINISH)
        })
    }

    fn costs(&self) -> Costs {
        let mut costs = self.ledger.costs.clone();
        if let Some(channel) = &self.channel {
            costs.traffic = [channel.meter()].into_iter().sum::<Meter>();
        }
        costs
    }

    fn error_bound(&self) -> f64 {
        self.soundness().total().log2() + tries_log2(self.ends)
    }

    fn computational_bits(&self) -> f64 {
        self.used()
            .map_or(f64::INFINITY, |used| authenticated::primitives(&used).bits)
    }

    fn warnings(&self) -> Vec<Warning> {
        cenote_pool::kept::warning(self.ends).into_iter().collect()
    }
}

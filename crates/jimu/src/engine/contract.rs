//! The calls of the engine contract.

use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_params::computational;
use cenote_params::pool::tries_log2;
use cenote_pool::Role;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::{
    Costs, Engine, Guarded, Parties, Piece, Result, Warning, WireVector, cheated_warning, check_arrange,
    check_input, check_owner, check_run, compare_digests, farewell, selected,
};

use super::JimuEngine;
use crate::memory::most_lanes;
use crate::online::circuit::Circuit;
use crate::{JimuWires, steps};

impl Engine for JimuEngine {
    type Wires = JimuWires;

    fn me(&self) -> PartyId {
        self.me
    }

    fn parties(&self) -> usize {
        2
    }

    fn prepare_values(&mut self, inputs: &[(PartyId, usize)], outputs: &[(Parties, usize)]) -> Result<()> {
        inputs.iter().try_for_each(|(owner, _)| check_owner(2, *owner))?;
        let anchored = inputs
            .iter()
            .any(|&(owner, bits)| owner == self.garbler && bits > 0);
        let returned = outputs
            .iter()
            .any(|(to, bits)| to.contains(self.garbler) && *bits > 0);
        self.announced |= anchored || returned;
        Ok(())
    }

    fn prepare_gates(&mut self, count: u64) -> Result<()> {
        self.announced |= count > 0;
        Ok(())
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.announced |= plan.and_count() > 0 && lanes > 0;
        Ok(())
    }

    fn make_ahead(&mut self, told: &mut dyn FnMut(u64, u64)) -> Result<()> {
        match self.announced {
            true => self.fill_with(told),
            false => Ok(()),
        }
    }

    fn most_lanes(&self, plan: &Plan) -> usize {
        most_lanes(&self.sizes, plan)
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<JimuWires> {
        self.call("online", |this| {
            check_input(this.me, 2, owner, wires, lanes, bits)?;
            let role = this.role(owner);
            if role == Role::Garbler {
                this.filled()?;
            }
            this.ledger.costs.rounds += 1;
            let (side, channel) = this.parts();
            side.input(role, wires, lanes, bits, channel)
        })
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<JimuWires> {
        self.call("online", |this| this.parts().0.constant(bits))
    }

    fn run(&mut self, plan: &Plan, inputs: &JimuWires) -> Result<JimuWires> {
        self.call("online", |this| {
            check_run(plan, inputs.wires())?;
            let inputs = &this.unsettled(inputs)?;
            let ands = (plan.and_count() as u64).saturating_mul(inputs.lanes() as u64);
            if ands > 0 {
                this.filled()?;
            }
            this.ledger.costs.and_gates += ands;
            let width = this.parts().0.common().mux_width();
            let circuit = this.circuits.get(plan, || Circuit::new(plan, width))?;
            let (wires, lanes) = (plan.output_wires(), inputs.lanes());
            let (side, channel) = this.parts();
            let rule = side.common().history;
            let history = [
                JimuWires::history(&[inputs]),
                rule.of_circuit(plan),
                rule.of_outputs(wires, lanes),
            ];
            let history = history.into_iter().fold(0, u64::saturating_add);
            let outputs = side.run(&circuit, inputs, history, channel)?;
            if rule.is_too_long(history, wires, lanes) {
                return side.anchor(&outputs, channel);
            }
            Ok(outputs)
        })
    }

    fn arrange(&mut self, parts: &[Piece<'_, JimuWires>], runs: &[LaneRun]) -> Result<JimuWires> {
        self.call("online", |this| {
            check_arrange(parts, runs)?;
            let parts = selected(parts);
            let parts = parts.iter().map(|part| this.unsettled(part));
            let parts: Vec<JimuWires> = parts.collect::<Result<_>>()?;
            let parts: &[&JimuWires] = &parts.iter().collect::<Vec<_>>();
            let runs: Arc<[LaneRun]> = runs.into();
            this.parts().0.arrange(parts, runs)
        })
    }

    fn settle(&mut self, wires: JimuWires) -> Result<JimuWires> {
        self.call("online", |this| match wires.are_settled() {
            true => Ok(wires),
            false => this.parts().0.settle(&wires),
        })
    }

    fn reveal(&mut self, wires: &JimuWires, to: Parties) -> Result<Option<BitMatrix>> {
        self.call("online", |this| {
            let roles: Vec<Role> = to.iter().map(|party| this.role(party)).collect();
            let mut outputs = None;
            if roles.contains(&Role::Evaluator) {
                this.ledger.costs.rounds += 1;
                let (side, channel) = this.parts();
                outputs = side.open(wires, Role::Evaluator, channel)?;
            }
            if roles.contains(&Role::Garbler) {
                this.filled()?;
                this.ledger.costs.rounds += 2;
                let (side, channel) = this.parts();
                let wires = side.anchor(wires, channel)?;
                outputs = side.open(&wires, Role::Garbler, channel)?.or(outputs);
            }
            Ok(outputs)
        })
    }

    fn compare(&mut self, digest: &[u8; 32]) -> Result<()> {
        self.call("online", |this| {
            this.ledger.costs.rounds += 1;
            compare_digests(&mut [this.parts().1], steps::COMPARE, digest)
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.finish_after("online", |this| {
            let (side, channel) = this.parts();
            let mut of_pool = side.common_mut().maker().end()?;
            side.common().leave()?;
            farewell([channel, &mut *of_pool], steps::FINISH)
        })
    }

    fn costs(&self) -> Costs {
        let mut costs = self.ledger.costs.clone();
        if let (Some(channel), Some(side)) = (&self.channel, &self.side) {
            costs.traffic = channel.meter() + side.common().meter();
        }
        costs
    }

    fn error_bound(&self) -> f64 {
        self.soundness().total().log2() + tries_log2(self.ends)
    }

    fn computational_bits(&self) -> f64 {
        self.used()
            .map_or(f64::INFINITY, |used| computational::jimu(&used).bits)
    }

    fn warnings(&self) -> Vec<Warning> {
        let cheated = self.peer_cheated() || self.has_cheated;
        let ends = cenote_pool::kept::warning(self.ends);
        let cheated = cheated.then(|| cheated_warning(self.me));
        cheated.into_iter().chain(ends).collect()
    }
}

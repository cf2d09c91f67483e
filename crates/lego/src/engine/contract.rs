//! The calls of the engine contract.

use cenote_circuit::Plan;
use cenote_net::{Meter, PartyId};
use cenote_params::computational;
use cenote_params::lego::Account;
use cenote_primitives::{BitMatrix, LaneRun};
use cenote_session::{
    Costs, Demand, Engine, Error, Guarded, Parties, Piece, Result, Warning, WireVector, cheated_warning,
    check_arrange, check_input, check_owner, check_run, compare_digests, selected,
};

use super::{LegoEngine, count};
use crate::memory::{Portions, most_lanes};
use crate::{LegoWires, Order, steps};

/// Why nothing can be revealed or put in.
const NOT_GIVEN: &str = "inputs were reserved whose bits have not been given";

/// Why nothing can be run.
const SETTLED: &str = "wires that were settled can be revealed, and nothing else";

impl Engine for LegoEngine {
    type Wires = LegoWires;

    fn me(&self) -> PartyId {
        self.me
    }

    fn parties(&self) -> usize {
        2
    }

    fn prepare_values(&mut self, inputs: &[(PartyId, usize)], outputs: &[(Parties, usize)]) -> Result<()> {
        self.call("dependent", |this| {
            inputs.iter().try_for_each(|(owner, _)| check_owner(2, *owner))?;
            let inputs = inputs.iter().fold(Demand::new(), |demand, &(owner, bits)| {
                demand.and_input(owner, bits as u64)
            });
            let demand = outputs
                .iter()
                .fold(inputs, |demand, &(to, bits)| demand.and_output(to, bits as u64));
            this.announced += this.order(&demand);
            Ok(())
        })
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize) -> Result<()> {
        self.call("dependent", |this| {
            let ands = count(plan.and_count(), lanes);
            if ands == 0 {
                // Nothing to solder: its outputs are sums of its inputs.
                return Ok(());
            }
            let portions = Portions::new(plan, lanes, this.config.ahead);
            if portions.many() || ands.saturating_add(this.built) > this.config.ahead {
                this.announced.ands = this.announced.ands.saturating_add(portions.announced(ands));
                // Those of what was announced before share it too.
                let before = this.group.map_or(0, |_| this.config.calls);
                this.config.calls = before.saturating_add(portions.sharing(this.announced.anchors > 0));
                this.group = Some(portions.group(this.announced));
                return Ok(());
            }
            let order = this.order(&Demand::new().and_run(plan, lanes, 1));
            let announced = this.announced;
            this.announced += order;
            if let Err(error) = this.secure(order) {
                this.announced = announced;
                return Err(error);
            }
            let (side, channel) = this.parts();
            side.prepare(plan, lanes, channel)?;
            this.built += ands;
            this.note_run(plan, lanes);
            Ok(())
        })
    }

    fn prepare_gates(&mut self, count: u64) -> Result<()> {
        self.call("dependent", |this| {
            if count == 0 {
                return Ok(());
            }
            let open = this.open.get_or_insert_default();
            open.ands = open.ands.saturating_add(count);
            Ok(())
        })
    }

    fn input(
        &mut self,
        owner: PartyId,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
    ) -> Result<LegoWires> {
        self.call("online", |this| {
            check_input(this.me, 2, owner, wires, lanes, bits)?;
            if this.next_reserved().is_some() {
                return Err(Error::BadInput(NOT_GIVEN.into()));
            }
            let wires = this.reserve_now(owner, wires, lanes)?;
            this.give_now(bits)?;
            Ok(wires)
        })
    }

    fn constant(&mut self, bits: &BitMatrix) -> Result<LegoWires> {
        self.call("online", |this| this.parts().0.constant(bits))
    }

    fn run(&mut self, plan: &Plan, inputs: &LegoWires) -> Result<LegoWires> {
        self.call("online", |this| {
            check_run(plan, inputs.wires())?;
            let lanes = inputs.lanes();
            if inputs.are_settled() {
                return Err(Error::BadInput(SETTLED.into()));
            }
            let ands = count(plan.and_count(), lanes);
            this.ledger.costs.and_gates += ands;
            let built = this.parts().0.is_built(plan, lanes);
            if let (false, Some(open)) = (built, &mut this.open) {
                open.ands = open.ands.saturating_sub(ands);
            }
            if built {
                this.built -= ands;
            } else if ands > this.config.ahead.max(this.stock().ands) && this.next_reserved().is_none() {
                return this.run_in_pieces(plan, inputs);
            } else {
                this.make_room(ands)?;
                this.secure(Order {
                    ands,
                    ..Order::NOTHING
                })?;
                this.waiting = this.waiting.saturating_add(ands);
            }
            let (side, channel) = this.parts();
            let outputs = side.run(plan, inputs, channel)?;
            this.note_run(plan, lanes);
            Ok(outputs)
        })
    }

    fn arrange(&mut self, parts: &[Piece<'_, LegoWires>], runs: &[LaneRun]) -> Result<LegoWires> {
        self.call("online", |this| {
            check_arrange(parts, runs)?;
            if parts.iter().any(|(part, _)| part.are_settled()) {
                return Err(Error::BadInput(SETTLED.into()));
            }
            let parts = selected(parts);
            let arranged = this.parts().0.arrange(&parts.iter().collect::<Vec<_>>(), runs)?;
            this.note_use(&Order::NOTHING, count(arranged.wires(), arranged.lanes()), 0);
            Ok(arranged)
        })
    }

    fn most_lanes(&self, plan: &Plan) -> usize {
        most_lanes(plan, self.config.ahead)
    }

    fn settle(&mut self, wires: LegoWires) -> Result<LegoWires> {
        self.call("online", |this| {
            if this.next_reserved().is_some() {
                return Err(Error::BadInput(NOT_GIVEN.into()));
            }
            this.compute()?;
            this.held.settle(count(wires.wires(), wires.lanes()));
            this.parts().0.settle(wires)
        })
    }

    fn reveal(&mut self, wires: &LegoWires, to: Parties) -> Result<Option<BitMatrix>> {
        self.call("online", |this| {
            if this.next_reserved().is_some() {
                return Err(Error::BadInput(NOT_GIVEN.into()));
            }
            let bits = count(wires.wires(), wires.lanes());
            this.secure(this.order(&Demand::new().and_output(to, bits)))?;
            let to = this.roles.roles(to);
            let (side, channel) = this.parts();
            let (outputs, rounds) = side.reveal(wires, to, channel)?;
            this.ledger.costs.rounds += rounds;
            this.held.computed(this.built, this.open.is_some());
            this.waiting = 0;
            Ok(outputs)
        })
    }

    fn compare(&mut self, digest: &[u8; 32]) -> Result<()> {
        self.call("online", |this| {
            this.ledger.costs.rounds += 1;
            let (side, channel) = this.parts();
            side.clear_line(channel)?;
            compare_digests(&mut [channel], steps::COMPARE, digest)
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.finish_after("online", Self::farewell)
    }

    fn error_bound(&self) -> f64 {
        self.soundness()
            .map_or(f64::NEG_INFINITY, |found| found.largest().log2())
    }

    fn computational_bits(&self) -> f64 {
        let work = |account: &Account| computational::lego(&account.into()).bits;
        self.account.as_ref().map_or(f64::INFINITY, work)
    }

    fn warnings(&self) -> Vec<Warning> {
        let warning = self.peer_cheated().then(|| cheated_warning(self.me));
        warning.into_iter().collect()
    }

    fn costs(&self) -> Costs {
        let mut costs = self.ledger.costs.clone();
        if self.side.is_some() {
            costs.traffic = self.channels.iter().map(|channel| channel.meter()).sum::<Meter>();
        }
        costs
    }
}

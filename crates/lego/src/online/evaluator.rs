//! The evaluator's side.

mod answers;

use std::collections::VecDeque;
use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_net::{Channel, PartyId};
use cenote_primitives::{BitMatrix, Block, LaneRun, as_bytes};
use cenote_session::{Parties, Result, WireVector};
use zeroize::Zeroizing;

use super::bits::{pack, secret, unpack};
use super::circuits::Circuits;
use super::reaper::Reaper;
use super::roles::{EVALUATOR, GARBLER};
use super::shares::last_bit;
use super::side::Side;
use super::supply::{Supplies, Supply};
use crate::counters::{Bound, Transcript};
use crate::material::{AndBuckets, EvaluatorInputs, Run};
use crate::online::build::{Soldered, receive_solderings};
use crate::online::opening::{Watch, receive};
use crate::online::provenance::{Lanes, Origin, replay};
use crate::online::recover::{Suspicion, right_labels};
use crate::online::tiles::{Circuit, Lot};
use crate::room::{self, INPUTS};
use crate::setup::EvaluatorKeys;
use crate::steps;
use crate::store::Drawer;
use crate::wires::{Bundle, LegoWires};
use answers::{set_keys, strings};
use cenote_commit::Share;

/// The party that evaluates: keys, material, and what is under way.
pub(crate) struct Evaluator {
    pub(crate) supply: Supply<EvaluatorKeys>,
    pub(crate) suspicion: Suspicion,
    /// Most threads that evaluate one circuit.
    pub(crate) threads: usize,
    circuits: Circuits<Built>,
    /// Inputs whose bits their owner has not given yet, in order.
    reserved: VecDeque<Reserved>,
    /// Inputs whose labels this party does not have yet.
    inputs: Vec<Input>,
    /// What is to be evaluated once there are labels, in order.
    runs: Vec<Pending>,
    /// How many of them, at the front, wait for no solderings any more.
    cleared: usize,
    /// What the next proof begins with, if something was opened since the last one: from before any material that was made since.
    /// Everything opened is bound to what was drawn last by then, too.
    transcript: Option<Transcript>,
    reaper: Reaper,
    builds: u64,
    evaluations: u64,
}

/// A circuit, proved to be soldered as it should be.
struct Built {
    circuit: Arc<Circuit>,
    lanes: usize,
    lot: Lot<AndBuckets>,
    soldered: Soldered,
    /// Shares of the ports' labels; none if it was soldered to its inputs at once.
    ports: Zeroizing<Vec<Share>>,
}

/// An input without bits; with the gadgets if it is this party's own.
struct Reserved {
    bundle: Arc<Bundle>,
    own: Option<Vec<Run<EvaluatorInputs>>>,
}

/// An input without labels.
enum Input {
    Garblers(Arc<Bundle>),
    Own {
        bundle: Arc<Bundle>,
        gadgets: Vec<Run<EvaluatorInputs>>,
        bits: Zeroizing<Vec<bool>>,
    },
}

/// What is to be evaluated.
enum Pending {
    Circuit(Attached),
    /// Lanes of wires, and what they become.
    Lanes(Lanes, Arc<Bundle>),
}

/// A circuit to be evaluated.
struct Attached {
    built: Built,
    inputs: LegoWires,
    attachment: Attachment,
    /// What was drawn last when it was attached: its solderings are proved under this.
    bound: Bound,
    outputs: Arc<Bundle>,
}

/// How the inputs of a circuit are soldered to it.
enum Attachment {
    /// By the solderings of its gates.
    Direct,
    /// To ports; this has not been received yet.
    Awaited,
    /// To ports, by these solderings.
    Received(Vec<Block>),
}

impl Evaluator {
    /// A session without material.
    pub(crate) fn new(keys: EvaluatorKeys, drawer: Option<Drawer<EvaluatorKeys>>, threads: usize) -> Self {
        Self {
            supply: Supply::new(keys, drawer),
            suspicion: Suspicion::default(),
            threads,
            circuits: Circuits::default(),
            reserved: VecDeque::new(),
            inputs: Vec::new(),
            runs: Vec::new(),
            cleared: 0,
            transcript: None,
            reaper: Reaper::default(),
            builds: 0,
            evaluations: 0,
        }
    }

    fn build(
        &mut self,
        circuit: &Arc<Circuit>,
        lanes: usize,
        inputs: &[&[Share]],
        channel: &mut dyn Channel,
    ) -> Result<Built> {
        let gates = circuit.plan.and_count() * lanes;
        let lot = Lot::new(self.supply.stock.take_ands(gates)?);
        let transcript = self.supply.keys.counters.transcript("build", self.builds);
        let mut watch = Watch::new(&self.supply.keys.receiver, &transcript);
        let delta_share = *self.supply.keys.delta_share;
        let soldered = receive_solderings(circuit, lanes, inputs, &lot, delta_share, &mut watch, channel)?;
        if gates > 0 {
            self.builds += 1;
            watch.prove(channel, steps::PROVE_BUILD)?;
        }
        Ok(Built {
            circuit: circuit.clone(),
            lanes,
            lot,
            soldered,
            ports: Zeroizing::default(),
        })
    }

    /// Notes that the garbler opens something now.
    fn opening(&mut self) {
        if self.transcript.is_none() {
            self.transcript = Some(self.supply.keys.counters.transcript("eval", self.evaluations));
        }
    }
}

impl Side for Evaluator {
    fn clear_line(&mut self, channel: &mut dyn Channel) -> Result<()> {
        for run in self.runs.iter_mut().skip(self.cleared) {
            if let Pending::Circuit(run) = run
                && matches!(run.attachment, Attachment::Awaited)
            {
                let mut solderings = room::zeroed(INPUTS, run.built.ports.len())?;
                receive(channel, steps::ATTACH, &mut solderings)?;
                run.attachment = Attachment::Received(solderings);
            }
        }
        self.cleared = self.runs.len();
        Ok(())
    }

    fn supply(&self) -> &dyn Supplies {
        &self.supply
    }

    fn supply_mut(&mut self) -> &mut dyn Supplies {
        &mut self.supply
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    fn cheated(&self) -> bool {
        self.suspicion.cheated()
    }

    fn reserve(&mut self, owner: PartyId, wires: usize, lanes: usize) -> Result<LegoWires> {
        let count = wires * lanes;
        let mut shares = room::empty(INPUTS, count)?;
        let (origin, own) = if owner == GARBLER {
            let gadgets = self.supply.stock.take_garbler_inputs(count)?;
            gadgets
                .iter()
                .for_each(|run| shares.extend_from_slice(&run.items().shares[run.range()]));
            (Origin::Garbler(gadgets), None)
        } else {
            let gadgets = self.supply.stock.take_evaluator_inputs(count)?;
            gadgets
                .iter()
                .for_each(|run| shares.extend_from_slice(&run.items().shares[run.range()]));
            (Origin::Own, Some(gadgets))
        };
        let bundle = Bundle::evaluator(wires, lanes, shares, origin);
        self.reserved.push_back(Reserved {
            bundle: bundle.clone(),
            own,
        });
        Ok(LegoWires::of(bundle))
    }

    fn reserved(&self) -> Option<(&Arc<Bundle>, PartyId)> {
        let next = self.reserved.front()?;
        let owner = if next.own.is_some() { EVALUATOR } else { GARBLER };
        Some((&next.bundle, owner))
    }

    fn give(&mut self, own: Option<&BitMatrix>, channel: &mut dyn Channel) -> Result<()> {
        let Some(Reserved { bundle, own: gadgets }) = self.reserved.pop_front() else {
            return Ok(());
        };
        let (Some(gadgets), Some(own)) = (gadgets, own) else {
            self.inputs.push(Input::Garblers(bundle));
            return Ok(());
        };
        let _ = bundle.held().clear.set(own.clone());
        // Step 1. Under the choice bits, which nobody else knows, it can leave before anything else is known.
        let count = bundle.wires * bundle.lanes;
        let known = secret(count, own.bits())?;
        let choices = strings(&gadgets).map(last_bit);
        let masked = pack(choices.zip(known.iter()).map(|(choice, bit)| choice ^ bit), count)?;
        channel.send(steps::CHOICES, &masked)?;
        self.inputs.push(Input::Own {
            bundle,
            gadgets,
            bits: known,
        });
        Ok(())
    }

    fn constant(&mut self, values: &BitMatrix) -> Result<LegoWires> {
        let delta_share = *self.supply.keys.delta_share;
        let shares = values
            .bits()
            .map(|bit| if bit { delta_share } else { Share::default() });
        let count = values.rows() * values.lanes();
        let shares = secret(count, shares)?;
        let bundle = Bundle::evaluator(
            values.rows(),
            values.lanes(),
            shares,
            Origin::Known(values.clone()),
        );
        set_keys(&bundle, room::secret(INPUTS, count)?);
        Ok(LegoWires::of(bundle))
    }

    fn arrange(&mut self, parts: &[&LegoWires], runs: &[LaneRun]) -> Result<LegoWires> {
        let lanes = Lanes::new(parts, runs);
        let rows: Vec<Vec<&[Share]>> = parts.iter().map(|part| part.share_rows().collect()).collect();
        let shares = lanes.pick(&rows)?;
        let wires = parts.first().map_or(0, |part| part.wires());
        let bundle = Bundle::evaluator(wires, lanes.count(), shares, Origin::Lanes(lanes.clone()));
        match lanes.keys()? {
            Some(keys) => set_keys(&bundle, keys),
            None => self.runs.push(Pending::Lanes(lanes, bundle.clone())),
        }
        Ok(LegoWires::of(bundle))
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize, channel: &mut dyn Channel) -> Result<()> {
        self.clear_line(channel)?;
        let circuit = self.circuits.get(plan)?;
        let ports = self.supply.stock.take_ports(plan.input_wires() * lanes)?;
        let inputs: Vec<_> = (0..plan.input_wires())
            .map(|row| &ports[row * lanes..(row + 1) * lanes])
            .collect();
        let mut built = self.build(&circuit, lanes, &inputs, channel)?;
        built.ports = ports;
        self.circuits.keep(circuit, lanes, built);
        Ok(())
    }

    fn is_built(&self, plan: &Plan, lanes: usize) -> bool {
        self.circuits.is_built(plan, lanes)
    }

    fn run(&mut self, plan: &Plan, inputs: &LegoWires, channel: &mut dyn Channel) -> Result<LegoWires> {
        let lanes = inputs.lanes();
        let (mut built, attachment) = match self.circuits.take(plan, lanes) {
            Some(built) => {
                self.opening();
                (built, Attachment::Awaited)
            }
            None => {
                self.clear_line(channel)?;
                let circuit = self.circuits.get(plan)?;
                let rows: Vec<_> = inputs.share_rows().collect();
                (self.build(&circuit, lanes, &rows, channel)?, Attachment::Direct)
            }
        };
        let shares = std::mem::take(&mut built.soldered.outputs);
        let origin = Origin::Circuit {
            circuit: built.circuit.clone(),
            inputs: inputs.clone(),
        };
        let outputs = Bundle::evaluator(plan.output_wires(), lanes, shares, origin);
        self.runs.push(Pending::Circuit(Attached {
            built,
            inputs: inputs.clone(),
            attachment,
            bound: self.supply.keys.counters.bound(),
            outputs: outputs.clone(),
        }));
        Ok(LegoWires::of(outputs))
    }

    fn settle(&mut self, wires: LegoWires) -> Result<LegoWires> {
        // A label that was chosen without finding out `Δ` is right: see `Suspicion`. With `Δ` the bits are known.
        if let Some(delta) = self.suspicion.delta() {
            replay(&wires, delta);
        }
        wires.settled(None)
    }

    fn forget(&mut self, plan: &Plan) {
        self.circuits.forget(plan);
    }

    fn rest(&mut self) {
        self.reaper.wait();
    }

    fn reveal(
        &mut self,
        wires: &LegoWires,
        to: Parties,
        channel: &mut dyn Channel,
    ) -> Result<(Option<BitMatrix>, u64)> {
        let asking = self.inputs.iter().any(|input| matches!(input, Input::Own { .. }));
        let with_inputs = !self.inputs.is_empty();
        let evaluations = self.evaluations;
        self.clear_line(channel)?;
        let decoding = self.receive_answers(wires, to, channel)?;
        let answered = with_inputs || self.evaluations > evaluations;
        let rounds = u64::from(asking) + u64::from(answered) + u64::from(to.contains(GARBLER));
        // What comes from earlier reveals is replayed while this one's circuits are evaluated. If `Δ` is known now, it is known
        // for good.
        let known = self.suspicion.delta();
        let replayed = std::thread::scope(|scope| -> Result<_> {
            let beside = known.map(|delta| scope.spawn(move || replay(wires, delta)));
            self.evaluate()?;
            Ok(beside.and_then(|thread| thread.join().ok()))
        })?;
        let mut keys = room::empty(INPUTS, wires.wires() * wires.lanes())?;
        for row in wires.key_rows() {
            keys.extend_from_slice(row.expect("everything that was run has been evaluated"));
        }
        let mut outputs = unpack(wires.wires(), wires.lanes(), |at| decoding.bit(at, keys[at]))?;
        if let Some(delta) = self.suspicion.delta() {
            outputs = replayed.unwrap_or_else(|| replay(wires, delta));
            let carried = decoding.carried(delta);
            for row in wires.unknown_rows() {
                (0..wires.lanes()).for_each(|lane| {
                    let at = row * wires.lanes() + lane;
                    outputs.set(row, lane, carried(at, keys[at]));
                });
            }
            let right = secret(keys.len(), outputs.bits())?;
            right_labels(&mut keys, delta, carried, |at| right[at]);
        }
        if to.contains(GARBLER) {
            let last = pack(keys.iter().copied().map(last_bit), keys.len())?;
            let hash = blake3::hash(as_bytes(&keys));
            channel.send_parts(steps::OUTPUT_LABELS, &[&last, hash.as_bytes()])?;
            channel.flush()?;
        }
        Ok((to.contains(EVALUATOR).then_some(outputs), rounds))
    }
}

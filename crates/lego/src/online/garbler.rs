//! The garbler's side.

use crate::checks;
use std::collections::VecDeque;
use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_net::{Channel, PartyId};
use cenote_primitives::{BitMatrix, Block, LaneRun, as_bytes, mask_of};
use cenote_session::{Error, Parties, Result, WireVector};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::bits::{packed, secret};
use super::circuits::Circuits;
use super::reaper::Reaper;
use super::roles::{EVALUATOR, GARBLER};
use super::side::Side;
use super::supply::{Supplies, Supply};
use crate::material::Commitments;
use crate::online::build::solder;
use crate::online::opening::{Openings, PIECE};
use crate::online::provenance::Lanes;
use crate::online::tiles::{Circuit, Lot};
use crate::room::{self, INPUTS};
use crate::setup::GarblerKeys;
use crate::steps;
use crate::store::Drawer;
use crate::wires::{Bundle, LegoWires};
use cenote_commit::Share;

/// The party that garbles: keys, material, and what is under way.
pub(crate) struct Garbler {
    pub(crate) supply: Supply<GarblerKeys>,
    circuits: Circuits<Built>,
    /// Inputs whose bits their owner has not given yet, in order.
    reserved: VecDeque<Reserved>,
    /// Inputs whose labels the evaluator does not have yet.
    inputs: Vec<Input>,
    /// What was opened since the last proof.
    openings: Option<Openings>,
    reaper: Reaper,
    builds: u64,
    evaluations: u64,
}

/// A circuit built ahead.
struct Built {
    ports: Commitments,
    outputs: Commitments,
}

/// An input without bits; with the OT strings if it is the evaluator's.
struct Reserved {
    bundle: Arc<Bundle>,
    strings: Option<Commitments>,
}

/// An input that the evaluator has not got yet.
enum Input {
    Own {
        bundle: Arc<Bundle>,
        bits: Zeroizing<Vec<bool>>,
    },
    Evaluators {
        bundle: Arc<Bundle>,
        strings: Commitments,
        /// Its masked bits, once received.
        choices: Option<Vec<u8>>,
    },
}

impl Garbler {
    /// A session without material.
    pub(crate) fn new(keys: GarblerKeys, drawer: Option<Drawer<GarblerKeys>>) -> Self {
        Self {
            supply: Supply::new(keys, drawer),
            circuits: Circuits::default(),
            reserved: VecDeque::new(),
            inputs: Vec::new(),
            openings: None,
            reaper: Reaper::default(),
            builds: 0,
            evaluations: 0,
        }
    }

    fn build(
        &mut self,
        circuit: &Circuit,
        lanes: usize,
        inputs: &[(&[Block], &[Share])],
        channel: &mut dyn Channel,
    ) -> Result<Commitments> {
        let gates = circuit.plan.and_count() * lanes;
        let lot = Lot::new(self.supply.stock.take_ands(gates)?);
        let mut openings = Openings::new(&self.supply.keys.counters.transcript("build", self.builds));
        let delta = (*self.supply.keys.delta, *self.supply.keys.delta_share);
        let outputs = solder(circuit, lanes, inputs, &lot, delta, &mut openings, channel)?;
        if gates > 0 {
            self.builds += 1;
            openings.prove(channel, steps::PROVE_BUILD)?;
            self.reaper.drop_later(lot);
        }
        Ok(outputs)
    }

    /// Solders `wires` to `ports`.
    fn attach(&mut self, wires: &LegoWires, ports: &Commitments, channel: &mut dyn Channel) -> Result<()> {
        self.open_sums(wires, ports, steps::ATTACH, channel)
    }

    /// The openings that go with the next evaluation, bound to what was drawn last: between two of them more material may be
    /// made, and what is opened of it needs a challenge from after that.
    fn openings(&mut self) -> &mut Openings {
        let counters = &self.supply.keys.counters;
        let openings = self
            .openings
            .get_or_insert_with(|| Openings::new(&counters.transcript("eval", self.evaluations)));
        openings.bind(counters.bound());
        openings
    }

    /// Opens the sums of the labels of `wires` and `others`.
    fn open_sums(
        &mut self,
        wires: &LegoWires,
        others: &Commitments,
        step: cenote_net::Step,
        channel: &mut dyn Channel,
    ) -> Result<()> {
        let mut messages = room::empty(INPUTS, others.len())?;
        let mut shares = room::empty(INPUTS, others.len())?;
        for (row, (labels, row_shares)) in wires.committed_rows().enumerate() {
            let row = row * labels.len()..(row + 1) * labels.len();
            messages.extend(
                labels
                    .iter()
                    .zip(&others.messages[row.clone()])
                    .map(|(&a, &b)| a ^ b),
            );
            shares.extend(row_shares.iter().zip(&others.shares[row]).map(|(&a, &b)| a ^ b));
        }
        self.openings().open(channel, step, &messages, &shares)
    }

    /// Gives the evaluator the labels of an input (steps 1 and 2).
    fn answer(&mut self, input: &Input, channel: &mut dyn Channel) -> Result<()> {
        let (delta, delta_share) = (*self.supply.keys.delta, *self.supply.keys.delta_share);
        match input {
            Input::Own { bundle, bits } => {
                let labels = &bundle.committed().messages;
                for (labels, bits) in labels.chunks(PIECE).zip(bits.chunks(PIECE)) {
                    let keys = labels
                        .iter()
                        .zip(bits)
                        .map(|(&label, &bit)| label ^ times(delta, bit));
                    let keys = secret(labels.len(), keys)?;
                    channel.send(steps::GARBLER_LABELS, as_bytes(&keys))?;
                }
                Ok(())
            }
            Input::Evaluators {
                bundle,
                strings,
                choices,
            } => {
                let choices = choices.as_deref().unwrap_or_default();
                let labels = bundle.committed();
                let flip = |at: usize| packed(choices, at);
                let sums = labels.messages.iter().zip(strings.messages.iter()).enumerate();
                let messages = sums.map(|(at, (&label, &string))| label ^ string ^ times(delta, flip(at)));
                let messages = secret(labels.len(), messages)?;
                let sums = labels.shares.iter().zip(strings.shares.iter()).enumerate();
                let shares = sums.map(|(at, (&label, &string))| {
                    label ^ string ^ if flip(at) { delta_share } else { Share::default() }
                });
                let shares = secret(labels.len(), shares)?;
                self.openings()
                    .open(channel, steps::EVALUATOR_LABELS, &messages, &shares)
            }
        }
    }

    /// Receives the evaluator's output labels: last bits, which with the 0-labels tell the bits, and a hash of the labels,
    /// of which the evaluator knows no others than the right ones.
    fn receive_outputs(&mut self, wires: &LegoWires, channel: &mut dyn Channel) -> Result<BitMatrix> {
        let (count, lanes) = (wires.wires() * wires.lanes(), wires.lanes());
        let mut last = room::secret::<u8>(INPUTS, count.div_ceil(8))?;
        let mut hash = [0; blake3::OUT_LEN];
        channel.recv_parts(steps::OUTPUT_LABELS, &mut [&mut last, &mut hash])?;
        let mut hasher = blake3::Hasher::new();
        let mut outputs = room::bits(INPUTS, wires.wires(), lanes)?;
        for (row, (labels, _)) in wires.committed_rows().enumerate() {
            let mut keys = room::copy(INPUTS, labels)?;
            for (lane, key) in keys.iter_mut().enumerate() {
                let bit = packed(&last, row * lanes + lane) ^ (key.0[0] & 1 == 1);
                *key ^= times(*self.supply.keys.delta, bit);
                outputs.set(row, lane, bit);
            }
            hasher.update(as_bytes(&keys));
        }
        if bool::from(hasher.finalize().as_bytes().ct_eq(&hash)) {
            return Ok(outputs);
        }
        outputs.words_mut().zeroize();
        let detail = "an output label is not one of its wire's";
        Err(Error::cheated(
            checks::OUTPUT_LABEL,
            channel.peer(),
            steps::OUTPUT_LABELS,
            detail,
        ))
    }
}

impl Side for Garbler {
    fn clear_line(&mut self, channel: &mut dyn Channel) -> Result<()> {
        for input in &mut self.inputs {
            if let Input::Evaluators { bundle, choices, .. } = input
                && choices.is_none()
            {
                let mut bytes = room::zeroed(INPUTS, (bundle.wires * bundle.lanes).div_ceil(8))?;
                channel.recv(steps::CHOICES, &mut bytes)?;
                *choices = Some(bytes);
            }
        }
        Ok(())
    }

    fn supply(&self) -> &dyn Supplies {
        &self.supply
    }

    fn supply_mut(&mut self) -> &mut dyn Supplies {
        &mut self.supply
    }

    fn threads(&self) -> usize {
        1
    }

    fn set_threads(&mut self, _: usize) {}

    fn cheated(&self) -> bool {
        false
    }

    fn reserve(&mut self, owner: PartyId, wires: usize, lanes: usize) -> Result<LegoWires> {
        let count = wires * lanes;
        let (labels, strings) = if owner == GARBLER {
            (self.supply.stock.take_garbler_inputs(count)?, None)
        } else {
            let gadgets = self.supply.stock.take_evaluator_inputs(count)?;
            (gadgets.labels, Some(gadgets.strings))
        };
        let bundle = Bundle::garbler(wires, lanes, labels);
        self.reserved.push_back(Reserved {
            bundle: bundle.clone(),
            strings,
        });
        Ok(LegoWires::of(bundle))
    }

    fn reserved(&self) -> Option<(&Arc<Bundle>, PartyId)> {
        let next = self.reserved.front()?;
        let owner = if next.strings.is_some() {
            EVALUATOR
        } else {
            GARBLER
        };
        Some((&next.bundle, owner))
    }

    fn give(&mut self, own: Option<&BitMatrix>, _: &mut dyn Channel) -> Result<()> {
        let Some(Reserved { bundle, strings }) = self.reserved.pop_front() else {
            return Ok(());
        };
        self.inputs.push(match strings {
            Some(strings) => Input::Evaluators {
                bundle,
                strings,
                choices: None,
            },
            None => {
                let known = secret(
                    bundle.wires * bundle.lanes,
                    own.into_iter().flat_map(BitMatrix::bits),
                )?;
                Input::Own { bundle, bits: known }
            }
        });
        Ok(())
    }

    fn constant(&mut self, values: &BitMatrix) -> Result<LegoWires> {
        let (delta, delta_share) = (*self.supply.keys.delta, *self.supply.keys.delta_share);
        let count = values.rows() * values.lanes();
        let shares = values
            .bits()
            .map(|bit| if bit { delta_share } else { Share::default() });
        let labels = Commitments {
            messages: secret(
                count,
                values.bits().map(|bit| if bit { delta } else { Block::ZERO }),
            )?,
            shares: secret(count, shares)?,
        };
        Ok(LegoWires::of(Bundle::garbler(
            values.rows(),
            values.lanes(),
            labels,
        )))
    }

    fn arrange(&mut self, parts: &[&LegoWires], runs: &[LaneRun]) -> Result<LegoWires> {
        let lanes = Lanes::new(parts, runs);
        let rows = parts.iter().map(|part| part.committed_rows());
        let (messages, shares): (Vec<_>, Vec<_>) =
            rows.map(|rows| rows.unzip::<_, _, Vec<_>, Vec<_>>()).unzip();
        let labels = Commitments {
            messages: lanes.pick(&messages)?,
            shares: lanes.pick(&shares)?,
        };
        let wires = parts.first().map_or(0, |part| part.wires());
        Ok(LegoWires::of(Bundle::garbler(wires, lanes.count(), labels)))
    }

    fn prepare(&mut self, plan: &Plan, lanes: usize, channel: &mut dyn Channel) -> Result<()> {
        let circuit = self.circuits.get(plan)?;
        let ports = self.supply.stock.take_ports(plan.input_wires() * lanes)?;
        let rows = |row: usize| row * lanes..(row + 1) * lanes;
        let inputs: Vec<_> = (0..plan.input_wires())
            .map(|row| (&ports.messages[rows(row)], &ports.shares[rows(row)]))
            .collect();
        let outputs = self.build(&circuit, lanes, &inputs, channel)?;
        channel.flush()?;
        self.circuits.keep(circuit, lanes, Built { ports, outputs });
        Ok(())
    }

    fn is_built(&self, plan: &Plan, lanes: usize) -> bool {
        self.circuits.is_built(plan, lanes)
    }

    fn run(&mut self, plan: &Plan, inputs: &LegoWires, channel: &mut dyn Channel) -> Result<LegoWires> {
        let lanes = inputs.lanes();
        let outputs = match self.circuits.take(plan, lanes) {
            Some(built) => {
                self.attach(inputs, &built.ports, channel)?;
                built.outputs
            }
            None => {
                let circuit = self.circuits.get(plan)?;
                let rows: Vec<_> = inputs.committed_rows().collect();
                self.build(&circuit, lanes, &rows, channel)?
            }
        };
        channel.flush()?;
        Ok(LegoWires::of(Bundle::garbler(
            plan.output_wires(),
            lanes,
            outputs,
        )))
    }

    fn settle(&mut self, wires: LegoWires) -> Result<LegoWires> {
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
        let asked = self
            .inputs
            .iter()
            .any(|input| matches!(input, Input::Evaluators { .. }));
        self.clear_line(channel)?;
        let mut answered = !self.inputs.is_empty();
        for input in std::mem::take(&mut self.inputs) {
            self.answer(&input, channel)?;
        }
        let count = wires.wires() * wires.lanes();
        if to.contains(EVALUATOR) {
            let masks = self.supply.stock.take_masks(count)?;
            self.open_sums(wires, &masks, steps::DECODE, channel)?;
        } else if to.contains(GARBLER) {
            let anchors = self.supply.stock.take_anchors(count)?;
            self.open_sums(wires, &anchors, steps::ANCHOR, channel)?;
        }
        if let Some(openings) = self.openings.take() {
            self.evaluations += 1;
            answered = true;
            openings.prove(channel, steps::PROVE_EVAL)?;
        }
        channel.flush()?;
        let rounds = u64::from(asked) + u64::from(answered) + u64::from(to.contains(GARBLER));
        if !to.contains(GARBLER) {
            return Ok((None, rounds));
        }
        Ok((Some(self.receive_outputs(wires, channel)?), rounds))
    }
}

/// `delta` if `bit`, else zero; without a branch.
#[inline(always)]
fn times(delta: Block, bit: bool) -> Block {
    delta & Block([mask_of(bit); 2])
}

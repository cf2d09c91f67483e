//! The garbler's side.

use std::sync::Arc;

use cenote_net::Channel;
use cenote_pool::Role;
use cenote_primitives::{BitMatrix, Block, LaneRun, as_bytes};
use cenote_session::{Error, Result, WireVector, room};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::circuit::Circuit;
use super::group::{GROUP, INPUTS, packed};
use super::run::run_circuit;
use super::side::Side;
use super::solderings::Sums;
use super::supply::Common;
use super::transfers::GarblerStock;
use crate::offline;
use crate::setup::{GarblerKeys, add_if, colour};
use crate::wires::JimuWires;
use crate::{checks, steps};

/// The party that garbles.
pub(crate) struct Garbler {
    pub(super) keys: GarblerKeys,
    pub(super) common: Common,
    pub(super) solderings: Sums,
    pub(super) stock: GarblerStock,
}

impl Garbler {
    pub(crate) fn new(keys: GarblerKeys, common: Common) -> Self {
        Self {
            keys,
            common,
            solderings: Sums::default(),
            stock: GarblerStock::default(),
        }
    }

    /// The bits that the evaluator's labels of `wires` carry: it returns their last bits, and a hash of all of them, of which it
    /// knows no others than the right ones.
    fn receive_outputs(&mut self, wires: &JimuWires, channel: &mut dyn Channel) -> Result<BitMatrix> {
        let (cell, lanes) = (self.common.cell, wires.lanes());
        let count = wires.wires() * lanes;
        let mut last = Zeroizing::new(vec![0; count.div_ceil(8)]);
        let mut hash = [0; blake3::OUT_LEN];
        channel.recv_parts(steps::OUTPUT_LABELS, &mut [&mut last, &mut hash])?;
        let mut hasher = blake3::Hasher::new();
        let mut outputs = room::bits(INPUTS, wires.wires(), lanes)?;
        let mut labels = room::empty(INPUTS, lanes * cell.blocks)?;
        for (wire, row) in wires.cells().enumerate() {
            labels.clear();
            for (lane, of_lane) in row.chunks_exact(cell.size()).enumerate() {
                let label = &of_lane[cell.label()];
                let bit = packed(&last, wire * lanes + lane) ^ colour(label);
                let first = labels.len();
                labels.extend_from_slice(label);
                add_if(
                    &mut labels[first..],
                    &self.keys.secrets.delta,
                    u64::from(bit).wrapping_neg(),
                );
                outputs.set(wire, lane, bit);
            }
            hasher.update(as_bytes(&labels[..]));
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
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn input(
        &mut self,
        owner: Role,
        wires: usize,
        lanes: usize,
        given: Option<&BitMatrix>,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires> {
        let cells = match owner {
            Role::Garbler => {
                let given = given.into_iter().flat_map(BitMatrix::bits);
                let given = room::collected(INPUTS, wires * lanes, given)?;
                self.own_input(&given, channel)?
            }
            Role::Evaluator => self.evaluators_input(wires * lanes, channel)?,
        };
        let history = match owner {
            Role::Garbler => self.common.history.of_anchored(wires, lanes),
            Role::Evaluator => self.common.history.of_outputs(wires, lanes),
        };
        Ok(JimuWires::new(wires, lanes, cells, history, None))
    }

    fn constant(&mut self, values: &BitMatrix) -> Result<JimuWires> {
        let delta = &self.keys.secrets.delta;
        self.common.constant(values, |cell| negate(cell, delta), None)
    }

    fn arrange(&mut self, parts: &[&JimuWires], runs: Arc<[LaneRun]>) -> Result<JimuWires> {
        JimuWires::arranged(parts, &runs, self.common.history, None)
    }

    fn run(
        &mut self,
        circuit: &Arc<Circuit>,
        inputs: &JimuWires,
        history: u64,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires> {
        let cell = self.common.cell;
        let delta = self.keys.secrets.delta.clone();
        let outputs = run_circuit(
            circuit,
            inputs,
            cell,
            |cell| negate(cell, &delta),
            |kind, operands, outputs| self.gates(kind, operands, outputs, channel),
        )?;
        self.prove(1, channel)?;
        channel.flush()?;
        Ok(JimuWires::new(
            circuit.plan.output_wires(),
            inputs.lanes(),
            outputs,
            history,
            None,
        ))
    }

    fn settle(&mut self, wires: &JimuWires) -> Result<JimuWires> {
        wires.settled(None)
    }

    fn anchor(&mut self, wires: &JimuWires, channel: &mut dyn Channel) -> Result<JimuWires> {
        let blocks = wires.cells().map(<[Block]>::len).sum();
        let cells = room::collected(INPUTS, blocks, wires.cells().flatten().copied())?;
        let size = self.common.cell.size();
        for cells in cells.chunks(GROUP * size) {
            self.common.draw_anchors(cells.len() / size, channel)?;
            self.solder_anchors(cells, channel)?;
        }
        self.prove(1, channel)?;
        channel.flush()?;
        let (count, lanes) = (wires.wires(), wires.lanes());
        let history = self.common.history.of_anchored(count, lanes);
        Ok(JimuWires::new(count, lanes, cells, history, None))
    }

    fn open(&mut self, wires: &JimuWires, to: Role, channel: &mut dyn Channel) -> Result<Option<BitMatrix>> {
        match to {
            Role::Garbler => Ok(Some(self.receive_outputs(wires, channel)?)),
            Role::Evaluator => {
                let cell = self.common.cell;
                let cells = wires.cells().flat_map(|row| row.chunks_exact(cell.size()));
                let macs = cells.map(|of_lane| [of_lane[cell.word()].0[0]]);
                let macs = room::collected(INPUTS, wires.wires() * wires.lanes(), macs)?;
                let mut packed = Vec::new();
                offline::pack(&macs, &mut packed);
                self.keys.opener.open(channel, steps::DECODE, &packed, &macs)?;
                channel.flush()?;
                Ok(None)
            }
        }
    }

    fn cheated(&self) -> bool {
        false
    }
}

/// What negation adds to a cell: Δ to the 0-label, 1 to the permutation bit, which is bit 0 of its MAC.
#[inline(always)]
fn negate(cell: &mut [Block], delta: &[Block]) {
    let (label, word) = cell.split_at_mut(delta.len());
    add_if(label, delta, u64::MAX);
    word[0].0[0] ^= 1;
}

//! How a circuit and its lanes are gone through: tile by tile of lanes, and in each tile segment by segment of AND gates.
//!
//! Masks are computed ahead of labels, which wait for what the other party opens: each has a walk of its own.

use std::ops::Range;

use cenote_circuit::Plan;
use cenote_primitives::{Block, kernels};
use cenote_session::{Flips, Result, room};

use crate::setup::Blocks;
use crate::wires::{AuthenticatedWires, Cells};

/// Bytes of slots that a tile may have beyond what stays in a core's own cache, so that it has gates for a segment.
const WORKING_SET: usize = 16 << 20;

/// Bytes of slots that stay in a core's own cache.
const CACHE: usize = 512 << 10;

/// Bytes of a slot in a lane.
pub(crate) const CELL: usize = 3 * size_of::<Block>();

/// What room is asked for.
const WIRES: &str = "the wires of a circuit";

/// A plan, and where negations and constants end up: slots hold wires without them.
pub(crate) struct Circuit {
    pub(crate) plan: Plan,
    pub(crate) flips: Flips,
}

impl Circuit {
    /// Bytes of circuits that are kept besides the one used last.
    pub(crate) const KEPT: u64 = 8 << 20;

    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        Ok(Self {
            flips: Flips::of(plan, "circuits")?,
            plan: plan.clone(),
        })
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let flips = size_of_val(&*self.flips.operands) + size_of_val(&*self.flips.outputs);
        self.plan.bytes() + flips as u64
    }

    /// Lanes of a tile.
    pub(crate) fn tile(&self, lanes: usize, segment: usize) -> usize {
        tile(&self.plan, lanes, segment)
    }

    /// The segments of a tile of so many lanes.
    pub(crate) fn segments(&self, lanes: usize, segment: usize) -> Vec<Segment> {
        let most = (segment / lanes.max(1)).max(1);
        let (mut segments, mut current, mut ands) = (Vec::new(), Vec::new(), 0);
        for (number, level) in self.plan.levels().iter().enumerate() {
            let mut rest = level.ands.clone();
            while !rest.is_empty() {
                let end = rest.end.min(rest.start + most - ands);
                current.push(Part {
                    level: number,
                    ands: rest.start..end,
                });
                ands += end - rest.start;
                rest.start = end;
                if ands == most {
                    segments.push(Segment(std::mem::take(&mut current)));
                    ands = 0;
                }
            }
        }
        if !current.is_empty() {
            segments.push(Segment(current));
        }
        segments
    }
}

/// Lanes of a tile: as many as stay in cache, or as have gates for a segment.
pub(crate) fn tile(plan: &Plan, lanes: usize, segment: usize) -> usize {
    let cell = CELL * plan.slots().max(1);
    let enough = segment.div_ceil(plan.and_count().max(1));
    let most = (WORKING_SET / cell).min(segment).max(1);
    lanes.min(enough.max(CACHE / cell).clamp(1, most))
}

/// Gates that are garbled together.
pub(crate) struct Segment(pub(crate) Vec<Part>);

/// Gates of one level.
pub(crate) struct Part {
    level: usize,
    pub(crate) ands: Range<usize>,
}

impl Segment {
    /// The number of its gates.
    pub(crate) fn ands(&self) -> usize {
        self.0.iter().map(|part| part.ands.len()).sum()
    }
}

/// Slots of a tile, of `width` blocks for each lane: the first blocks of all lanes, then the second ones.
pub(crate) struct Walk {
    width: usize,
    slots: Blocks,
    lanes: usize,
    /// The outputs of gates of a level whose operands have not all been read.
    outputs: Blocks,
}

impl Walk {
    pub(crate) fn new(circuit: &Circuit, width: usize, tile: usize) -> Result<Self> {
        Ok(Self {
            width,
            slots: room::secret(WIRES, circuit.plan.slots() * tile * width)?,
            lanes: tile,
            outputs: Blocks::default(),
        })
    }

    /// Blocks of a slot.
    fn row(&self) -> usize {
        self.lanes * self.width
    }

    /// Begins a tile: `parts` are the arrays that a wire's blocks are from.
    pub(crate) fn begin(
        &mut self,
        circuit: &Circuit,
        inputs: &AuthenticatedWires,
        tile: &Range<usize>,
        parts: Range<usize>,
    ) {
        self.lanes = tile.len();
        let row = self.row();
        for (&slot, (bundle, wire)) in circuit.plan.input_slots().iter().zip(inputs.rows()) {
            let slot = &mut self.slots[slot as usize * row..][..row];
            let from = &bundle.row(wire)[parts.clone()];
            for (to, from) in slot.chunks_exact_mut(tile.len()).zip(from) {
                to.copy_from_slice(&from[tile.clone()]);
            }
        }
    }

    fn local(&mut self, circuit: &Circuit, level: usize) {
        let local = &circuit.plan.local_ops()[circuit.plan.levels()[level].local.clone()];
        let row = self.row();
        kernels::run_local_ops(bytemuck::cast_slice_mut(&mut self.slots), 2 * row, local, false);
    }

    fn come_to(&mut self, circuit: &Circuit, part: &Part) {
        if part.ands.start == circuit.plan.levels()[part.level].ands.start {
            self.local(circuit, part.level);
        }
    }

    /// Comes to a part of a level, and appends the labels of its gates' operands, left and right, to `to`: this is a walk of labels.
    pub(crate) fn labels(
        &mut self,
        circuit: &Circuit,
        part: &Part,
        negation: Block,
        [left, right]: [&mut Vec<Block>; 2],
    ) {
        if self.row() > 1 {
            return self.operands(circuit, part, |slots, flips| {
                for ((to, slot), flip) in [&mut *left, &mut *right].into_iter().zip(slots).zip(flips) {
                    match flip {
                        true => to.extend(slot.iter().map(|&label| label ^ negation)),
                        false => to.extend_from_slice(slot),
                    }
                }
            });
        }
        // The latency of a single lane is in loops like this one.
        self.come_to(circuit, part);
        let (slots, ops) = (&self.slots[..], &circuit.plan.and_ops()[part.ands.clone()]);
        let flips = &circuit.flips.operands[part.ands.clone()];
        let label = |slot: u32, flip: bool| match flip {
            true => slots[slot as usize] ^ negation,
            false => slots[slot as usize],
        };
        left.extend(ops.iter().zip(flips).map(|(op, flip)| label(op.a, flip[0])));
        right.extend(ops.iter().zip(flips).map(|(op, flip)| label(op.b, flip[1])));
    }

    /// Comes to a part of a level, and gives for each gate its operands' slots, and whether they are negated, to `take`.
    pub(crate) fn operands(
        &mut self,
        circuit: &Circuit,
        part: &Part,
        mut take: impl FnMut([&[Block]; 2], [bool; 2]),
    ) {
        self.come_to(circuit, part);
        let row = self.row();
        for gate in part.ands.clone() {
            let op = circuit.plan.and_ops()[gate];
            let slots = [op.a, op.b].map(|slot| &self.slots[slot as usize * row..][..row]);
            take(slots, circuit.flips.operands[gate]);
        }
    }

    /// The outputs of a part's gates, by the arrays that their blocks are from.
    pub(crate) fn outputs(&mut self, circuit: &Circuit, part: &Part, from: &[&[Block]]) -> Result<()> {
        let level = &circuit.plan.levels()[part.level];
        let row = self.row();
        let ops = &circuit.plan.and_ops()[level.ands.clone()];
        if part.ands == level.ands {
            for (gate, op) in ops.iter().enumerate() {
                let slot = &mut self.slots[op.dst as usize * row..][..row];
                if self.lanes == 1 {
                    slot.iter_mut()
                        .zip(from)
                        .for_each(|(slot, from)| *slot = from[gate]);
                    continue;
                }
                for (slot, from) in slot.chunks_exact_mut(self.lanes).zip(from) {
                    slot.copy_from_slice(&from[gate * self.lanes..(gate + 1) * self.lanes]);
                }
            }
            return Ok(());
        }
        room::grow(WIRES, &mut self.outputs, part.ands.len() * row)?;
        for gate in 0..part.ands.len() {
            for from in from {
                let from = &from[gate * self.lanes..(gate + 1) * self.lanes];
                self.outputs.extend_from_slice(from);
            }
        }
        if part.ands.end == level.ands.end {
            for (op, output) in ops.iter().zip(self.outputs.chunks_exact(row)) {
                self.slots[op.dst as usize * row..][..row].copy_from_slice(output);
            }
            self.outputs.clear();
        }
        Ok(())
    }

    /// Ends a tile of a walk of MACs and keys, which are put into `cells`.
    pub(crate) fn end_masks(
        &mut self,
        circuit: &Circuit,
        cells: &mut Cells,
        lanes: usize,
        tile: &Range<usize>,
    ) {
        self.end(circuit, |wire, slot, _| {
            let of = wire * lanes + tile.start..wire * lanes + tile.end;
            let (macs, keys) = slot.split_at(tile.len());
            cells.macs[of.clone()].copy_from_slice(macs);
            cells.keys[of].copy_from_slice(keys);
        });
    }

    /// Ends a tile of a walk of labels, which are put into `cells`.
    pub(crate) fn end_labels(
        &mut self,
        circuit: &Circuit,
        cells: &mut Cells,
        lanes: usize,
        tile: &Range<usize>,
        negation: Block,
    ) {
        self.end(circuit, |wire, slot, flip| {
            let to = &mut cells.labels[wire * lanes + tile.start..wire * lanes + tile.end];
            to.copy_from_slice(slot);
            if flip {
                to.iter_mut().for_each(|label| *label ^= negation);
            }
        });
    }

    /// Ends a tile, and gives for each output its slot, and whether it is negated, to `take`.
    fn end(&mut self, circuit: &Circuit, mut take: impl FnMut(usize, &[Block], bool)) {
        let levels = circuit.plan.levels();
        if levels.last().is_some_and(|last| last.ands.is_empty()) {
            self.local(circuit, levels.len() - 1);
        }
        let row = self.row();
        let outputs = circuit.plan.output_slots().iter().zip(&circuit.flips.outputs);
        for (wire, (&slot, &flip)) in outputs.enumerate() {
            take(wire, &self.slots[slot as usize * row..][..row], flip);
        }
    }
}

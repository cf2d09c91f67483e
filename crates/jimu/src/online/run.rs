//! A circuit is run on cells, whichever side's. Its gates are collected until there are enough for a group.

use std::ops::Range;

use cenote_primitives::{Block, kernels};
use cenote_session::{Result, WireVector, room};
use zeroize::Zeroizing;

use super::circuit::{Ands, Circuit, Operand};
use super::group::GROUP;
use crate::cell::Cell;
use crate::gadget::GadgetKind;
use crate::settings::MUX_WIDTH;
use crate::wires::JimuWires;

/// Circuits that are evaluated.
const CIRCUITS: &str = "the wires of a circuit";

/// Runs a circuit on cells. `bucket` makes the outputs' cells of gadgets of the cells of their left operands and of their right one;
/// `negate` adds to a cell what negation adds.
pub(super) fn run_circuit(
    circuit: &Circuit,
    inputs: &JimuWires,
    cell: Cell,
    negate: impl Fn(&mut [Block]),
    mut bucket: impl FnMut(GadgetKind, [&[Block]; 2], &mut Vec<Block>) -> Result<()>,
) -> Result<Zeroizing<Vec<Block>>> {
    let (plan, size) = (&circuit.plan, cell.size());
    let lanes = inputs.lanes();
    let rows: Vec<&[Block]> = inputs.cells().collect();
    let mut outputs = room::secret(CIRCUITS, plan.output_wires() * lanes * size)?;
    if lanes == 0 {
        return Ok(outputs);
    }
    // The same at both sides, which must go through lanes alike.
    let bytes = Cell::evaluator(cell.blocks).size() * size_of::<Block>();
    let tile = circuit.width(bytes).min(lanes);
    let mut slots = Slots {
        cells: room::secret(CIRCUITS, plan.slots() * tile * size)?,
        size,
        lanes: tile,
        negate,
    };
    let [of_single, of_shared] = circuit.widest();
    let mut single = Gates::new(GadgetKind::And, of_single * tile, size)?;
    let mut shared = Gates::new(GadgetKind::Mux, of_shared * tile, size)?;
    for tile in circuit.tiles(lanes, bytes) {
        slots.lanes = tile.len();
        let of_tile = tile.start * size..tile.end * size;
        for (&slot, input) in plan.input_slots().iter().zip(&rows) {
            slots.row_mut(slot).copy_from_slice(&input[of_tile.clone()]);
        }
        for (level, ands) in plan.levels().iter().zip(&circuit.levels) {
            let local = &plan.local_ops()[level.local.clone()];
            let row = 2 * slots.row_blocks();
            kernels::run_local_ops(bytemuck::cast_slice_mut(&mut slots.cells), row, local, false);
            // Outputs are written when all operands of the level have been read.
            single.run_single(ands, &slots, &mut bucket)?;
            shared.run_shared(ands, &slots, &mut bucket)?;
            single.write_single(ands, &mut slots);
            shared.write_shared(ands, &mut slots);
        }
        for (wire, (&slot, &flip)) in plan.output_slots().iter().zip(&circuit.output_flips).enumerate() {
            let to = &mut outputs[(wire * lanes + tile.start) * size..][..slots.row_blocks()];
            to.copy_from_slice(slots.row(slot));
            if flip {
                to.chunks_exact_mut(size).for_each(&slots.negate);
            }
        }
    }
    Ok(outputs)
}

/// The cells of a circuit's wires in some lanes: a row for each slot.
struct Slots<N> {
    cells: Zeroizing<Vec<Block>>,
    /// Blocks of a cell.
    size: usize,
    lanes: usize,
    negate: N,
}

impl<N: Fn(&mut [Block])> Slots<N> {
    fn row_blocks(&self) -> usize {
        self.lanes * self.size
    }

    fn row(&self, slot: u32) -> &[Block] {
        let row = self.row_blocks();
        &self.cells[slot as usize * row..][..row]
    }

    fn row_mut(&mut self, slot: u32) -> &mut [Block] {
        let row = self.row_blocks();
        &mut self.cells[slot as usize * row..][..row]
    }

    /// Appends an operand's cells in some lanes.
    fn push(&self, to: &mut Vec<Block>, (slot, flip): Operand, lanes: Range<usize>) {
        let (first, size) = (to.len(), self.size);
        to.extend_from_slice(&self.row(slot)[lanes.start * size..lanes.end * size]);
        if flip {
            to[first..].chunks_exact_mut(size).for_each(&self.negate);
        }
    }
}

/// Makes the outputs' cells of gadgets, and appends them.
trait Bucket: FnMut(GadgetKind, [&[Block]; 2], &mut Vec<Block>) -> Result<()> {}

impl<F: FnMut(GadgetKind, [&[Block]; 2], &mut Vec<Block>) -> Result<()>> Bucket for F {}

/// Operands of gates, collected until there are enough for a group, and the outputs that were made of them.
struct Gates {
    kind: GadgetKind,
    /// Blocks of a cell.
    size: usize,
    left: Zeroizing<Vec<Block>>,
    right: Zeroizing<Vec<Block>>,
    made: Zeroizing<Vec<Block>>,
}

impl Gates {
    /// With room for a group, and for the outputs of so many gates, of cells of `size` blocks.
    fn new(kind: GadgetKind, outputs: usize, size: usize) -> Result<Self> {
        let group = match outputs {
            0 => 0,
            _ => (GROUP + MUX_WIDTH) * size,
        };
        Ok(Self {
            kind,
            size,
            left: room::empty(CIRCUITS, group)?,
            right: room::empty(CIRCUITS, group)?,
            made: room::empty(CIRCUITS, outputs * size)?,
        })
    }

    /// Makes the outputs of what was collected, if that is `least` gates or more.
    fn make(&mut self, least: usize, bucket: &mut impl Bucket) -> Result<()> {
        if self.left.len() >= least * self.size {
            bucket(self.kind, [&self.left, &self.right], &mut self.made)?;
            self.left.clear();
            self.right.clear();
        }
        Ok(())
    }

    /// The gates of a level by themselves.
    fn run_single<N: Fn(&mut [Block])>(
        &mut self,
        ands: &Ands,
        slots: &Slots<N>,
        bucket: &mut impl Bucket,
    ) -> Result<()> {
        for (operands, _) in &ands.single {
            let mut lane = 0;
            while lane < slots.lanes {
                let end = slots.lanes.min(lane + GROUP - self.left.len() / self.size);
                slots.push(&mut self.left, operands[0], lane..end);
                slots.push(&mut self.right, operands[1], lane..end);
                lane = end;
                self.make(GROUP, bucket)?;
            }
        }
        self.make(1, bucket)
    }

    /// The gates of a level that have an operand in common with others.
    fn run_shared<N: Fn(&mut [Block])>(
        &mut self,
        ands: &Ands,
        slots: &Slots<N>,
        bucket: &mut impl Bucket,
    ) -> Result<()> {
        for (others, common) in &ands.shared {
            for lane in 0..slots.lanes {
                for (other, _) in others {
                    slots.push(&mut self.left, *other, lane..lane + 1);
                }
                slots.push(&mut self.right, *common, lane..lane + 1);
                self.make(GROUP, bucket)?;
            }
        }
        self.make(1, bucket)
    }

    /// Puts what [`Gates::run_single`] has made where it belongs.
    fn write_single<N: Fn(&mut [Block])>(&mut self, ands: &Ands, slots: &mut Slots<N>) {
        let made = self.made.chunks_exact(slots.row_blocks());
        for ((_, slot), made) in ands.single.iter().zip(made) {
            slots.row_mut(*slot).copy_from_slice(made);
        }
        self.made.clear();
    }

    /// Puts what [`Gates::run_shared`] has made where it belongs.
    fn write_shared<N: Fn(&mut [Block])>(&mut self, ands: &Ands, slots: &mut Slots<N>) {
        let mut made = self.made.chunks_exact(self.size);
        for (others, _) in &ands.shared {
            for lane in 0..slots.lanes {
                for ((_, slot), made) in others.iter().zip(made.by_ref()) {
                    slots.row_mut(*slot)[lane * self.size..][..self.size].copy_from_slice(made);
                }
            }
        }
        self.made.clear();
    }
}

//! Computing: wires are made, buckets drawn and soldered, gates evaluated as they come, and outputs opened.
//!
//! The garbler never waits for the evaluator but when the evaluator has an input, the pool is refilled, or it gets an output: it
//! draws the same gadgets as the evaluator, and streams solderings. A soldering of two wires is the sum of their 0-labels; which of
//! the two possible sums it is, with Δ or without, the evaluator sees by the wires' i-hashes, and that this is the sum of their
//! permutation bits it learns from the MACs, which come in one hash for many of them.

mod bucket;
pub(crate) mod circuit;
mod evaluator;
mod garbler;
mod inputs;
mod supply;

use std::ops::Range;
use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_net::Channel;
use cenote_pool::Role;
use cenote_primitives::{BitMatrix, Block, LaneRun};
use cenote_session::{Result, WireVector, room};
use zeroize::Zeroizing;

use crate::memory::Memory;
use crate::settings::{MUX_WIDTH, Sizes};
use crate::wires::{Cell, JimuWires};
use circuit::Circuit;

pub(crate) use evaluator::Evaluator;
pub(crate) use garbler::Garbler;
pub(crate) use supply::{Common, Kind, Supplied};

/// The evaluator's inputs that are transferred together, at most.
pub(crate) const INPUTS_AT_ONCE: usize = INPUTS_OF_LOT * inputs::LOTS;

/// The evaluator's inputs that are sums of the same transferred labels.
pub(crate) const INPUTS_OF_LOT: usize = inputs::UNIT;

/// Gates whose buckets are drawn, soldered and evaluated together, at most.
const GROUP: usize = 256;

/// Solderings that one proof is for: as many as there are when a group ends with so many.
const PROVED: usize = 2048;

/// What inputs and outputs take, where room for it is asked for.
const INPUTS: &str = "inputs and outputs";

/// Circuits that are evaluated.
const CIRCUITS: &str = "the wires of a circuit";

/// Bytes that an operation of a circuit keeps, about.
const BYTES_OF_OP: u64 = 24;

/// Below this no history is too long.
const SHORT_HISTORY: u64 = 1 << 22;

/// What the engine asks of its party's side of the session. Both sides get the same calls in the same order.
pub(crate) trait Side: Send {
    fn common(&self) -> &Common;

    fn common_mut(&mut self) -> &mut Common;

    /// Wires with the bits of `owner`, which has `bits`.
    fn input(
        &mut self,
        owner: Role,
        wires: usize,
        lanes: usize,
        bits: Option<&BitMatrix>,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires>;

    /// Wires with public bits.
    fn constant(&mut self, bits: &BitMatrix) -> Result<JimuWires>;

    /// Lanes of wires, put together anew.
    fn arrange(&mut self, parts: &[&JimuWires], runs: Arc<[LaneRun]>) -> Result<JimuWires>;

    /// Solders circuits to wires, and evaluates them.
    fn run(
        &mut self,
        circuit: &Arc<Circuit>,
        inputs: &JimuWires,
        history: u64,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires>;

    /// The same wires, so that nothing that they come from is needed any more: to be revealed, or anchored before they are used.
    fn settle(&mut self, wires: &JimuWires) -> Result<JimuWires>;

    /// The same wires, anchored, so that nothing that they come from is needed any more.
    fn anchor(&mut self, wires: &JimuWires, channel: &mut dyn Channel) -> Result<JimuWires>;

    /// Opens wires to one side. For the garbler they are anchored.
    fn open(&mut self, wires: &JimuWires, to: Role, channel: &mut dyn Channel) -> Result<Option<BitMatrix>>;

    /// Whether this side knows that the other has cheated.
    fn cheated(&self) -> bool;
}

/// Eight bits in a byte, first one lowest.
fn pack(bits: impl Iterator<Item = bool>, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count.div_ceil(8)];
    for (at, bit) in bits.enumerate() {
        bytes[at / 8] |= u8::from(bit) << (at % 8);
    }
    bytes
}

/// Bit `at` of what [`pack`] gave.
fn packed(bytes: &[u8], at: usize) -> bool {
    bytes[at / 8] >> (at % 8) & 1 == 1
}

/// Operands of gates, collected until there are enough for a group, and the outputs that were made of them.
struct Gates {
    kind: Kind,
    left: Zeroizing<Vec<Block>>,
    right: Zeroizing<Vec<Block>>,
    made: Zeroizing<Vec<Block>>,
}

impl Gates {
    /// With room for a group, and for the outputs of so many gates, of cells of `size` blocks.
    fn new(kind: Kind, outputs: usize, size: usize) -> Result<Self> {
        let group = match outputs {
            0 => 0,
            _ => (GROUP + MUX_WIDTH) * size,
        };
        Ok(Self {
            kind,
            left: room::empty(CIRCUITS, group)?,
            right: room::empty(CIRCUITS, group)?,
            made: room::empty(CIRCUITS, outputs * size)?,
        })
    }
}

/// Runs a circuit on cells. `bucket` makes the outputs' cells of gadgets of the cells of their left operands and of their right one;
/// `negate` adds to a cell what negation adds.
fn run_circuit(
    circuit: &Circuit,
    inputs: &JimuWires,
    cell: Cell,
    negate: impl Fn(&mut [Block]),
    mut bucket: impl FnMut(Kind, [&[Block]; 2], &mut Vec<Block>) -> Result<()>,
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
    let mut slots = room::secret(CIRCUITS, plan.slots() * tile * size)?;
    let [of_single, of_shared] = circuit.widest();
    let mut single = Gates::new(Kind::And, of_single * tile, size)?;
    let mut shared = Gates::new(Kind::Mux, of_shared * tile, size)?;
    for tile in circuit.tiles(lanes, bytes) {
        let row = tile.len() * size;
        let of_tile = tile.start * size..tile.end * size;
        for (&slot, input) in plan.input_slots().iter().zip(&rows) {
            slots[slot as usize * row..][..row].copy_from_slice(&input[of_tile.clone()]);
        }
        for (level, ands) in plan.levels().iter().zip(&circuit.levels) {
            let local = &plan.local_ops()[level.local.clone()];
            let words = bytemuck::cast_slice_mut(&mut slots);
            cenote_primitives::kernels::run_local_ops(words, 2 * row, local, false);
            let push = |to: &mut Vec<Block>, (slot, flip): (u32, bool), lanes: Range<usize>| {
                let first = to.len();
                let cells = &slots[slot as usize * row..][lanes.start * size..lanes.end * size];
                to.extend_from_slice(cells);
                if flip {
                    to[first..].chunks_exact_mut(size).for_each(&negate);
                }
            };
            // Outputs are written when all operands of the level have been read.
            let mut full = |gates: &mut Gates, least: usize| -> Result<()> {
                if gates.left.len() >= least * size {
                    bucket(gates.kind, [&gates.left, &gates.right], &mut gates.made)?;
                    gates.left.clear();
                    gates.right.clear();
                }
                Ok(())
            };
            for (operands, _) in &ands.single {
                let mut lane = 0;
                while lane < tile.len() {
                    let end = tile.len().min(lane + GROUP - single.left.len() / size);
                    push(&mut single.left, operands[0], lane..end);
                    push(&mut single.right, operands[1], lane..end);
                    lane = end;
                    full(&mut single, GROUP)?;
                }
            }
            full(&mut single, 1)?;
            for (others, common) in &ands.shared {
                for lane in 0..tile.len() {
                    for (other, _) in others {
                        push(&mut shared.left, *other, lane..lane + 1);
                    }
                    push(&mut shared.right, *common, lane..lane + 1);
                    full(&mut shared, GROUP)?;
                }
            }
            full(&mut shared, 1)?;
            let made = single.made.chunks_exact(row);
            for ((_, slot), made) in ands.single.iter().zip(made) {
                slots[*slot as usize * row..][..row].copy_from_slice(made);
            }
            let mut made = shared.made.chunks_exact(size);
            for (others, _) in &ands.shared {
                for lane in 0..tile.len() {
                    for ((_, slot), made) in others.iter().zip(made.by_ref()) {
                        slots[*slot as usize * row + lane * size..][..size].copy_from_slice(made);
                    }
                }
            }
            single.made.clear();
            shared.made.clear();
        }
        for (wire, (&slot, &flip)) in plan.output_slots().iter().zip(&circuit.output_flips).enumerate() {
            let to = &mut outputs[(wire * lanes + tile.start) * size..][..row];
            to.copy_from_slice(&slots[slot as usize * row..][..row]);
            if flip {
                to.chunks_exact_mut(size).for_each(&negate);
            }
        }
    }
    Ok(outputs)
}

/// What wires keep because of what they come from, in bytes at the evaluator, about. The same at both parties.
#[derive(Clone, Copy)]
pub(crate) struct History {
    of_bit: u64,
    of_anchored: u64,
}

impl History {
    fn new(sizes: &Sizes) -> Self {
        let memory = Memory::of(sizes, Role::Evaluator);
        Self {
            of_bit: memory.cell(),
            of_anchored: memory.anchored(),
        }
    }

    /// Of a circuit. One that is run again and again is kept once, but counted each time: to anchor the outputs of one that is so large is
    /// nothing beside running it. It is counted in operations, as sizes in memory are not the same on all machines.
    pub(crate) fn of_circuit(self, plan: &Plan) -> u64 {
        // An AND gate is in the plan and in its level.
        let ops = plan.local_ops().len() + 2 * plan.and_ops().len();
        BYTES_OF_OP.saturating_mul((ops + plan.input_wires() + plan.output_wires()) as u64)
    }

    /// Of wires that were computed, put in or made of public bits, besides what they come from.
    pub(crate) fn of_outputs(self, wires: usize, lanes: usize) -> u64 {
        self.of_bit
            .saturating_mul(wires as u64)
            .saturating_mul(lanes as u64)
    }

    /// Of anchored wires.
    pub(crate) fn of_anchored(self, wires: usize, lanes: usize) -> u64 {
        self.of_anchored
            .saturating_mul(wires as u64)
            .saturating_mul(lanes as u64)
    }

    /// Whether wires are to be anchored because too much is kept for them: it costs as much as two AND gates a bit.
    pub(crate) fn is_too_long(self, history: u64, wires: usize, lanes: usize) -> bool {
        history >= SHORT_HISTORY.max(self.of_anchored(wires, lanes).saturating_mul(4))
    }
}

#[cfg(test)]
mod tests {
    use cenote_circuit::library;
    use cenote_session::Recent;

    use super::*;

    /// A service that runs ever other circuits does not keep them.
    #[test]
    fn circuits_that_were_run_are_kept_if_they_are_small() {
        let mut circuits = Recent::new(Circuit::KEPT, Circuit::bytes);
        let get = |circuits: &mut Recent<Circuit>, plan: &Plan| {
            circuits.get(plan, || Circuit::new(plan, 0)).unwrap()
        };
        let plan = |name| Plan::new(&library::by_name(name).unwrap());
        let small: Vec<Plan> = ["add32", "add64", "mult16"].map(plan).into();
        let first = get(&mut circuits, &small[0]);
        for plan in &small {
            get(&mut circuits, plan);
        }
        assert!(Arc::ptr_eq(&get(&mut circuits, &small[0]), &first));
        let mut largest = 0;
        for name in ["sha512", "div512", "mult512", "sort64x32", "mult256"] {
            let Ok(circuit) = library::by_name(name) else {
                continue;
            };
            let circuit = get(&mut circuits, &Plan::new(&circuit));
            largest = circuit.bytes().max(largest);
            assert_eq!(Arc::strong_count(&circuit), 2, "it is kept");
            assert!(circuits.bytes() <= Circuit::KEPT + circuit.bytes(), "{name}");
        }
        assert!(largest > Circuit::KEPT / 2, "{largest}");
        assert_eq!(Arc::strong_count(&first), 1, "it is forgotten");
    }

    /// When wires are anchored must be the same at both parties, whatever machines they have, and follows from the parameters.
    #[test]
    fn what_is_kept_is_counted_alike_everywhere() {
        let sizes = Sizes::search(40, 1 << 20, None).unwrap();
        let history = History::new(&sizes);
        // Two blocks of i-hash, three of a label, and a key; of each gate two rows, two solderings and a number.
        let gate = 16 * (2 * 3 + 2 * 3) + 8;
        assert_eq!((sizes.blocks(), sizes.anchor.bucket), (3, 9));
        assert_eq!(history.of_outputs(5, 7), 35 * 96);
        assert_eq!(history.of_anchored(5, 7), 35 * (96 + 9 * gate));
        let plan = Plan::new(&library::by_name("add8").unwrap());
        let ops = plan.local_ops().len() + 2 * plan.and_ops().len() + 16 + 8;
        assert_eq!(history.of_circuit(&plan), 24 * ops as u64);
        for (history_of, long) in [(SHORT_HISTORY - 1, false), (SHORT_HISTORY, true)] {
            assert_eq!(history.is_too_long(history_of, 1, 1), long);
        }
        let wide = 4 * history.of_anchored(100, 1000);
        assert!(history.is_too_long(wide, 100, 1000) && !history.is_too_long(wide - 1, 100, 1000));
    }
}

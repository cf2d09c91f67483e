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

use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_net::Channel;
use cenote_pool::Pool;
use cenote_primitives::{BitMatrix, Block, LaneRun};
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use crate::gadget::Shape;
use crate::settings::Sizes;
use crate::wires::{Cell, JimuWires};
use circuit::Circuit;

pub(crate) use evaluator::Evaluator;
pub(crate) use garbler::Garbler;

/// The sides of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Garbler,
    Evaluator,
}

/// Buckets that are drawn, soldered and evaluated together, at most.
const GROUP: usize = 256;

/// Solderings that one proof is for: as many as there are when a group ends with so many.
const PROVED: usize = 2048;

/// Bytes that a bit of a circuit's outputs keeps: its cell at the evaluator.
const HISTORY_OF_BIT: u64 = 96;

/// Bytes that an anchored bit keeps: tables and solderings of some seven gates.
const HISTORY_OF_ANCHOR: u64 = 1500;

/// Below this no history is too long.
const SHORT_HISTORY: u64 = 1 << 22;

/// What the two sides have in common.
pub(crate) struct Common {
    pub(crate) sizes: Sizes,
    pub(crate) shape: Shape,
    pub(crate) cell: Cell,
    pub(crate) pool: Pool<Block>,
    /// Gadgets made at once.
    pub(crate) buffer: usize,
    /// The records of what was drawn last.
    pub(crate) drawn: Zeroizing<Vec<Block>>,
    /// Buckets, anchors aside.
    pub(crate) buckets: u64,
}

impl Common {
    pub(crate) fn new(sizes: Sizes, buffer: usize, size: usize, cell: Cell, record: usize) -> Result<Self> {
        let shape = Shape {
            blocks: sizes.blocks(),
            width: 1,
        };
        let mut pool = Pool::new(size, record);
        pool.reserve().map_err(|bytes| {
            Error::BadInput(format!(
                "a pool of {size} gates takes {bytes} bytes, and there are not as many"
            ))
        })?;
        Ok(Self {
            shape,
            cell,
            pool,
            buffer,
            drawn: Zeroizing::default(),
            buckets: 0,
            sizes,
        })
    }

    /// Gates in a bucket.
    pub(crate) fn bucket(&self) -> usize {
        self.sizes.pool.bucket() as usize
    }

    /// Gates that a wire is anchored to.
    pub(crate) fn anchor(&self) -> usize {
        self.sizes.anchor.bucket as usize
    }

    /// Draws `count` times `each` gadgets, of which there must be enough.
    pub(crate) fn draw(&mut self, count: usize, each: usize) -> Result<()> {
        self.drawn.clear();
        let drawn = self.pool.draw(count, each, &mut self.drawn);
        drawn.map_err(|unready| Error::Internal(unready.to_string()))
    }
}

/// What the engine asks of its party's side of the session. Both sides get the same calls in the same order.
pub(crate) trait Side: Send {
    fn common(&self) -> &Common;

    /// Makes a buffer of gadgets.
    fn refill(&mut self, channel: &mut dyn Channel) -> Result<()>;

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
    fn constant(&mut self, bits: &BitMatrix) -> JimuWires;

    /// Lanes of wires, put together anew.
    fn arrange(&mut self, parts: &[&JimuWires], runs: Arc<[LaneRun]>) -> JimuWires;

    /// Solders circuits to wires, and evaluates them.
    fn run(
        &mut self,
        circuit: &Circuit,
        inputs: &JimuWires,
        history: u64,
        channel: &mut dyn Channel,
    ) -> Result<JimuWires>;

    /// The same wires, anchored, so that nothing that they come from is needed any more.
    fn anchor(&mut self, wires: &JimuWires, channel: &mut dyn Channel) -> Result<JimuWires>;

    /// Opens wires to one side. For the garbler they are anchored.
    fn open(&mut self, wires: &JimuWires, to: Role, channel: &mut dyn Channel) -> Result<Option<BitMatrix>>;

    /// Whether this side knows that the other has cheated.
    fn cheated(&self) -> bool;
}

/// Makes gadgets until `count` can be drawn.
pub(crate) fn ready(side: &mut dyn Side, count: usize, channel: &mut dyn Channel) -> Result<()> {
    while side.common().pool.left() < count {
        side.refill(channel)?;
    }
    Ok(())
}

/// The bits of `matrix`, a wire's lanes after the other's: the order of cells.
fn bits(matrix: &BitMatrix) -> impl Iterator<Item = bool> {
    (0..matrix.rows()).flat_map(|row| {
        let words = matrix.row(row);
        (0..matrix.lanes()).map(move |lane| words[lane / 64] >> (lane % 64) & 1 == 1)
    })
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

/// Runs a circuit on cells: `bucket` makes the outputs' cells of AND gates of those of their operands, at most [`GROUP`] of them;
/// `negate` adds to a cell what negation adds.
fn run_circuit(
    circuit: &Circuit,
    inputs: &JimuWires,
    cell: Cell,
    negate: impl Fn(&mut [Block]),
    mut bucket: impl FnMut([&[Block]; 2], &mut Vec<Block>) -> Result<()>,
) -> Result<Zeroizing<Vec<Block>>> {
    let (plan, size) = (&circuit.plan, cell.size());
    let lanes = cenote_session::WireVector::lanes(inputs);
    let rows: Vec<&[Block]> = inputs.cells().collect();
    let mut outputs = Zeroizing::new(vec![Block::ZERO; plan.output_wires() * lanes * size]);
    // The same at both sides, which must go through lanes alike.
    let bytes = Cell::evaluator(cell.blocks).size() * size_of::<Block>();
    let mut slots = Zeroizing::new(vec![
        Block::ZERO;
        plan.slots() * circuit.width(bytes).min(lanes) * size
    ]);
    let [mut left, mut right] = [(); 2].map(|()| Zeroizing::new(Vec::<Block>::with_capacity(GROUP * size)));
    let mut made = Zeroizing::new(Vec::new());
    for tile in circuit.tiles(lanes, bytes) {
        let row = tile.len() * size;
        let of_tile = tile.start * size..tile.end * size;
        for (&slot, input) in plan.input_slots().iter().zip(&rows) {
            slots[slot as usize * row..][..row].copy_from_slice(&input[of_tile.clone()]);
        }
        for level in plan.levels() {
            let local = &plan.local_ops()[level.local.clone()];
            let words = bytemuck::cast_slice_mut(&mut slots);
            cenote_primitives::kernels::run_local_ops(words, 2 * row, local, false);
            // The AND gates of a level in all lanes, in groups. Their outputs are written when all operands have been read.
            let mut made_of: Vec<(usize, usize)> = Vec::new();
            made.clear();
            for gate in level.ands.clone() {
                let op = plan.and_ops()[gate];
                let mut lane = 0;
                while lane < tile.len() {
                    let count = (GROUP - left.len() / size).min(tile.len() - lane);
                    for (operand, slot, flip) in [
                        (&mut left, op.a, circuit.operand_flips[gate][0]),
                        (&mut right, op.b, circuit.operand_flips[gate][1]),
                    ] {
                        let first = operand.len();
                        let cells = &slots[slot as usize * row + lane * size..][..count * size];
                        operand.extend_from_slice(cells);
                        if flip {
                            operand[first..].chunks_exact_mut(size).for_each(&negate);
                        }
                    }
                    lane += count;
                    if left.len() == GROUP * size {
                        bucket([&left, &right], &mut made)?;
                        left.clear();
                        right.clear();
                    }
                }
                made_of.push((op.dst as usize * row, row));
            }
            if !left.is_empty() {
                bucket([&left, &right], &mut made)?;
                left.clear();
                right.clear();
            }
            let mut from = made.as_slice();
            for (at, row) in made_of {
                let (cells, rest) = from.split_at(row);
                slots[at..at + row].copy_from_slice(cells);
                from = rest;
            }
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

/// Circuits in use, so that what is run many times is prepared once.
#[derive(Default)]
pub(crate) struct Circuits(Vec<Arc<Circuit>>);

impl Circuits {
    /// Most circuits that are kept.
    const KEPT: usize = 16;

    pub(crate) fn get(&mut self, plan: &Plan) -> Arc<Circuit> {
        let known = self
            .0
            .iter()
            .position(|known| known.plan.digest() == plan.digest());
        let circuit = match known {
            Some(known) => self.0.remove(known),
            None => Arc::new(Circuit::new(plan)),
        };
        if self.0.len() >= Self::KEPT {
            self.0.remove(0);
        }
        self.0.push(circuit.clone());
        circuit
    }
}

/// What a program keeps of the outputs of a circuit besides what the inputs keep.
pub(crate) fn history_of_outputs(wires: usize, lanes: usize) -> u64 {
    HISTORY_OF_BIT
        .saturating_mul(wires as u64)
        .saturating_mul(lanes as u64)
}

/// What anchored wires keep.
pub(crate) fn history_of_anchored(wires: usize, lanes: usize) -> u64 {
    HISTORY_OF_ANCHOR
        .saturating_mul(wires as u64)
        .saturating_mul(lanes as u64)
}

/// Whether wires are to be anchored because too much is kept for them: it costs as much as two AND gates a bit.
pub(crate) fn too_long(history: u64, wires: usize, lanes: usize) -> bool {
    history >= SHORT_HISTORY.max(history_of_anchored(wires, lanes).saturating_mul(4))
}

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

use std::ops::Range;
use std::sync::Arc;

use cenote_circuit::Plan;
use cenote_net::{Channel, Meter, PartyId};
use cenote_params::computational::JimuUse;
use cenote_params::pool::{self, Parameters};
use cenote_pool::Pool;
use cenote_primitives::{BitMatrix, Block, LaneRun};
use cenote_session::{Error, Result, WireVector, room};
use zeroize::Zeroizing;

use crate::gadget::Shape;
use crate::kept::{Copies, Copy, Kept};
use crate::memory::Memory;
use crate::offline::{Delivery, Maker, Order};
use crate::settings::{MUX_WIDTH, Sizes};
use crate::wires::{Cell, JimuWires};
use circuit::Circuit;
use inputs::Lots;

pub(crate) use evaluator::Evaluator;
pub(crate) use garbler::Garbler;

/// The evaluator's inputs that are transferred together, at most.
pub(crate) const INPUTS_AT_ONCE: usize = INPUTS_OF_LOT * inputs::LOTS;

/// The evaluator's inputs that are sums of the same transferred labels.
pub(crate) const INPUTS_OF_LOT: usize = inputs::UNIT;

/// The sides of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Garbler,
    Evaluator,
}

impl Role {
    /// That of `party`, if `garbler` garbles.
    pub(crate) fn of(party: PartyId, garbler: PartyId) -> Self {
        match party == garbler {
            true => Role::Garbler,
            false => Role::Evaluator,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Garbler => "garbler",
            Role::Evaluator => "evaluator",
        }
    }
}

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

/// What the two sides have in common.
pub(crate) struct Common {
    pub(crate) sizes: Sizes,
    pub(crate) cell: Cell,
    pub(crate) history: History,
    /// Of each kind, if there is a pool of it.
    supplies: [Option<Supply>; 2],
    /// The records of what was drawn last.
    pub(crate) drawn: Zeroizing<Vec<Block>>,
    maker: Maker,
    /// Deliveries of each kind that are still to be ordered before they are needed.
    ahead: [u64; 2],
    /// Lots of labels transferred so far.
    lots: u64,
    /// Labels in them.
    transfers: u64,
    /// What is on disk, if the pools are kept.
    kept: Option<Arc<Kept>>,
    /// The number of the next delivery of each kind.
    next: [u64; 2],
}

/// How gadgets come to a side: in buffers of so many, some of them ahead; and what there is on disk.
pub(crate) struct Supplied {
    pub(crate) buffers: [u32; 2],
    pub(crate) ahead: [u64; 2],
    pub(crate) copies: Copies,
    pub(crate) kept: Option<Arc<Kept>>,
    /// Lots of labels that sessions before have transferred, at most.
    pub(crate) lots: u64,
}

/// Gadgets, by the number of their gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// AND gates.
    And,
    /// Gates that have an operand in common.
    Mux,
}

/// A pool of gadgets of one kind.
pub(crate) struct Supply {
    pub(crate) shape: Shape,
    pub(crate) pool: Pool<Block>,
    pub(crate) parameters: Parameters,
    /// Gadgets made at once.
    pub(crate) buffer: usize,
    /// Whether the copy on disk is one that was found there and lacks much.
    is_stale: bool,
}

impl Common {
    /// `record` is how many blocks a record of this side's takes. `buffers` are the gadgets of each kind made at once, and `ahead` how
    /// many buffers of each are made before they are needed.
    pub(crate) fn new(
        sizes: Sizes,
        cell: Cell,
        supplied: Supplied,
        record: impl Fn(Shape) -> usize,
        maker: Maker,
    ) -> Result<Self> {
        let Supplied {
            buffers,
            ahead,
            copies: [gates, muxes],
            kept,
            lots,
        } = supplied;
        let supply =
            |kind: Kind, parameters: &Parameters, width: usize, copy: Option<Copy>| -> Result<Supply> {
                let blocks = sizes.blocks();
                let shape = Shape { blocks, width };
                let size = parameters.pool_size() as usize;
                let (stride, together) = (record(shape), parameters.bucket() as usize);
                let is_stale = copy.as_ref().is_some_and(|(_, gaps)| !gaps.is_empty());
                let pool = match copy {
                    Some((records, gaps)) => Pool::restored([size, stride, together], records, gaps),
                    None => {
                        let mut pool = Pool::new(size, stride, together);
                        pool.reserve().map_err(|bytes| {
                            let what =
                                format!("there is no room for a pool of {size} gadgets: {bytes} bytes");
                            Error::OutOfMemory(what)
                        })?;
                        pool
                    }
                };
                Ok(Supply {
                    shape,
                    pool,
                    parameters: parameters.clone(),
                    buffer: buffers[kind as usize] as usize,
                    is_stale,
                })
            };
        let mux = sizes
            .mux
            .as_ref()
            .map(|mux| supply(Kind::Mux, mux, MUX_WIDTH, muxes));
        let next = [Kind::And, Kind::Mux].map(|kind| kept.as_ref().map_or(0, |kept| kept.next(kind)));
        Ok(Self {
            cell,
            history: History::new(&sizes),
            supplies: [Some(supply(Kind::And, &sizes.pool, 1, gates)?), mux.transpose()?],
            drawn: Zeroizing::default(),
            maker,
            ahead,
            kept,
            next,
            lots,
            transfers: 0,
            sizes,
        })
    }

    /// The kinds of which there is a pool.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> + use<> {
        let there = self.supplies.each_ref().map(Option::is_some);
        [Kind::And, Kind::Mux]
            .into_iter()
            .filter(move |kind| there[*kind as usize])
    }

    /// Gates of a gadget of the kind for gates that have an operand in common; 0 if there is none.
    pub(crate) fn mux_width(&self) -> usize {
        self.supplies[1].as_ref().map_or(0, |supply| supply.shape.width)
    }

    /// Gates that a wire is anchored to.
    pub(crate) fn anchor(&self) -> usize {
        self.sizes.anchor.bucket as usize
    }

    pub(crate) fn supply(&self, kind: Kind) -> &Supply {
        self.supplies[kind as usize]
            .as_ref()
            .expect("there is a pool of the kind")
    }

    pub(crate) fn supply_mut(&mut self, kind: Kind) -> &mut Supply {
        self.supplies[kind as usize]
            .as_mut()
            .expect("there is a pool of the kind")
    }

    /// Puts deliveries into a pool until `count` gadgets can be drawn. What `online` has queued is sent first: the peer may have to read
    /// it before it orders the same.
    pub(crate) fn ready(&mut self, kind: Kind, count: usize, online: &mut dyn Channel) -> Result<()> {
        self.ready_telling(kind, count, online, &mut |_| ())
    }

    /// The same, telling how many gadgets are in the pool.
    pub(crate) fn ready_telling(
        &mut self,
        kind: Kind,
        count: usize,
        online: &mut dyn Channel,
        told: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let count = count.next_multiple_of(self.supply(kind).parameters.bucket() as usize);
        while self.supply(kind).pool.left() < count {
            if self.maker.ordered(kind) == 0 {
                self.order(kind);
            }
            online.flush()?;
            let Delivery {
                records, kept, coin, ..
            } = self.maker.take(kind)?;
            self.supply_mut(kind).pool.refill(records, kept, coin);
            self.next[kind as usize] += 1;
            self.copy_if_due(kind)?;
            told(self.supply(kind).pool.len());
            if self.ahead[kind as usize] > 0 {
                self.ahead[kind as usize] -= 1;
                self.order(kind);
            }
        }
        Ok(())
    }

    fn copy_if_due(&mut self, kind: Kind) -> Result<()> {
        let (next, supply) = (self.next[kind as usize], self.supplies[kind as usize].as_mut());
        let (Some(kept), Some(supply)) = (&self.kept, supply) else {
            return Ok(());
        };
        let pool = &supply.pool;
        let open = next - pool.pending() as u64;
        let sizes = [pool.len(), supply.buffer].map(|gadgets| gadgets as u64);
        if pool.is_full() && (supply.is_stale || kept.is_due(kind, open, sizes)) {
            kept.copy(kind, pool.records(), open)?;
            supply.is_stale = false;
        }
        Ok(())
    }

    /// Copies pools that are kept, for the next session: nothing more is drawn in this one.
    pub(crate) fn leave(&self) -> Result<()> {
        let Some(kept) = &self.kept else {
            return Ok(());
        };
        for (kind, supply) in [Kind::And, Kind::Mux].into_iter().zip(&self.supplies) {
            if let Some(Supply { pool, .. }) = supply
                && pool.is_full()
            {
                kept.copy(kind, pool.records(), kept.next(kind))?;
            }
        }
        Ok(())
    }

    /// What is on disk, if the pools are kept.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    fn order(&mut self, kind: Kind) {
        let supply = self.supply_mut(kind);
        let order = Order {
            kind,
            shape: supply.shape,
            count: supply.buffer,
            threshold: supply.parameters.check_threshold(),
            spare: supply.pool.room(),
        };
        self.maker.order(order);
    }

    pub(crate) fn maker(&mut self) -> &mut Maker {
        &mut self.maker
    }

    /// What went over the channel of the pool.
    pub(crate) fn meter(&self) -> Meter {
        self.maker.meter()
    }

    /// Fails if the making of gadgets has failed.
    pub(crate) fn check(&self) -> Result<()> {
        self.maker.check()
    }

    /// Draws `count` times `each` gadgets, for which the pool must be [`ready`](Common::ready). Whatever they are for, they are drawn in
    /// buckets.
    pub(crate) fn draw(&mut self, kind: Kind, count: usize, each: usize) -> Result<()> {
        let supply = self.supplies[kind as usize]
            .as_mut()
            .expect("there is a pool of the kind");
        self.drawn.clear();
        let buckets = (count * each).div_ceil(supply.parameters.bucket() as usize);
        let drawn = supply.pool.draw(buckets, &mut self.drawn);
        drawn.map_err(|unready| Error::Internal(unready.to_string()))?;
        if let Some(kept) = &self.kept {
            let records = self.drawn.chunks_exact(supply.pool.stride());
            // A record ends with the number of its first gate.
            kept.used(records.filter_map(|record| record.last().map(|block| block.0[1])))?;
        }
        self.drawn.truncate(count * each * supply.pool.stride());
        Ok(())
    }

    /// The next lots of transfers, so many.
    fn next_lots(&mut self, count: usize) -> Lots {
        let (numbers, first) = (self.lots..self.lots + count as u64, self.transfers);
        let spare = numbers.map(|lot| pool::spare_transfers(self.sizes.security, lot) as usize);
        let sizes: Vec<usize> = spare.map(|spare| inputs::UNIT + spare).collect();
        self.lots += count as u64;
        self.transfers += sizes.iter().sum::<usize>() as u64;
        Lots { first, sizes }
    }

    /// What the primitives have been used for, about. Of gates, those that are or were in the pools, and as many more as are checked.
    pub(crate) fn used(&self) -> JimuUse {
        let gates = self.supplies.iter().flatten().map(|supply| {
            let pool = &supply.pool;
            let kept = (pool.len() + pool.left()) as f64 + pool.drawn() as f64;
            kept * supply.shape.width as f64 / (1.0 - supply.parameters.check_rate())
        });
        JimuUse {
            gates: gates.sum(),
            blocks: self.sizes.blocks() as u32,
            seeds: self.sizes.labels.length().into(),
            transfers: self.transfers as f64,
        }
    }
}

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

/// Circuits in use, so that what is run many times is prepared once.
#[derive(Default)]
pub(crate) struct Circuits(Vec<Arc<Circuit>>);

impl Circuits {
    /// Most circuits that are kept.
    const KEPT: usize = 16;

    /// Bytes that those before the last may have.
    pub(crate) const BYTES: u64 = 1 << 20;

    /// `plan`, with gadgets of `width` gates.
    pub(crate) fn get(&mut self, plan: &Plan, width: usize) -> Result<Arc<Circuit>> {
        let known = self
            .0
            .iter()
            .position(|known| known.plan.digest() == plan.digest());
        let circuit = match known {
            Some(known) => self.0.remove(known),
            None => Arc::new(Circuit::new(plan, width)?),
        };
        let before = |kept: &[Arc<Circuit>]| kept.iter().map(|kept| kept.bytes()).sum::<u64>();
        while self.0.len() >= Self::KEPT || before(&self.0) > Self::BYTES {
            self.0.remove(0);
        }
        self.0.push(circuit.clone());
        Ok(circuit)
    }
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

    use super::*;

    /// A service that runs ever other circuits does not keep them.
    #[test]
    fn circuits_that_were_run_are_kept_if_they_are_small() {
        let mut circuits = Circuits::default();
        let plan = |name| Plan::new(&library::by_name(name).unwrap());
        let small: Vec<Plan> = ["add32", "add64", "mult16"].map(plan).into();
        let first = circuits.get(&small[0], 0).unwrap();
        for plan in &small {
            circuits.get(plan, 0).unwrap();
        }
        assert!(Arc::ptr_eq(&circuits.get(&small[0], 0).unwrap(), &first));
        let bytes = |circuits: &Circuits| circuits.0.iter().map(|kept| kept.bytes()).sum::<u64>();
        let mut largest = 0;
        for name in ["sha512", "div512", "mult512", "sort64x32", "mult256"] {
            let Ok(circuit) = library::by_name(name) else {
                continue;
            };
            let circuit = circuits.get(&Plan::new(&circuit), 0).unwrap();
            largest = circuit.bytes().max(largest);
            assert!(Arc::ptr_eq(circuits.0.last().unwrap(), &circuit));
            assert!(bytes(&circuits) <= Circuits::BYTES + circuit.bytes(), "{name}");
        }
        assert!(largest > Circuits::BYTES / 2, "{largest}");
        assert!(!circuits.0.iter().any(|kept| Arc::ptr_eq(kept, &first)));
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

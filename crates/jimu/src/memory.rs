//! Memory: what a session holds at most, said before anything is made.

use cenote_circuit::Plan;
use cenote_params::pool::Work;
use cenote_pool::Role;
use cenote_primitives::Block;
use cenote_session::Demand;

use crate::cell::Cell;
use crate::online::circuit::WORKING_SET;
use crate::settings::Sizes;

/// Bytes of keys, of what is on its way, and of the gates of a group.
const SESSION: u64 = 8 << 20;

/// Buffers at a time, at most: the rest of one, the next one, and one that is made.
const BUFFERS: u64 = 3;

/// Bytes of a fresh gadget's wires that are no part of its record: MACs or keys, and whether it is checked.
const MAKING: u64 = 16;

/// Bytes that inputs and outputs of a group of lanes may take.
const GROUP_OF_LANES: u64 = 128 << 20;

/// Bytes that a party's session holds of this and that.
pub(crate) struct Memory<'a> {
    sizes: &'a Sizes,
    role: Role,
}

impl<'a> Memory<'a> {
    pub(crate) fn of(sizes: &'a Sizes, role: Role) -> Self {
        Self { sizes, role }
    }

    /// A bit's cell.
    pub(crate) fn cell(&self) -> u64 {
        let cell = match self.role {
            Role::Garbler => Cell::garbler(self.sizes.blocks()),
            Role::Evaluator => Cell::evaluator(self.sizes.blocks()),
        };
        bytes(cell.size())
    }

    /// The pools, the buffers that keep them full, and what does not depend on the program.
    pub(crate) fn supply(&self, buffers: [u32; 2], ahead: [u64; 2]) -> u64 {
        let pools = self.sizes.pools().zip(buffers).zip(ahead);
        let pools = pools.map(|(((pool, width), buffer), ahead)| {
            let record = self.sizes.stored_bytes(width as usize)[self.role as usize] as u64;
            let wires = u64::from(2 * width + 1) * MAKING;
            let records = BUFFERS.min(ahead.saturating_add(1)) * record;
            pool.pool_size() * record + u64::from(buffer) * (records + wires)
        });
        SESSION + pools.sum::<u64>()
    }

    /// A bit that is anchored: the tables of gates and what they are soldered with.
    pub(crate) fn anchored(&self) -> u64 {
        let gate = bytes(4 * self.sizes.blocks()) + 8;
        match self.role {
            Role::Garbler => self.cell(),
            Role::Evaluator => self.cell() + u64::from(self.sizes.anchor.bucket) * gate,
        }
    }

    /// A bit while it is put in or opened: a copy of its cell, and as much again with what it is verified.
    fn passing(&self) -> u64 {
        2 * self.cell()
    }

    /// Bits that a program keeps, however they came about: the oldest of what they are computed from is anchored.
    pub(crate) fn kept(&self, bits: u64) -> u64 {
        bits.saturating_mul(self.anchored())
    }

    /// A circuit that is run, and one whose outputs are kept as what was computed by it.
    fn circuit(&self, plan: &Plan) -> u64 {
        let slots = (WORKING_SET as u64).max((plan.slots() as u64).saturating_mul(self.cell()));
        // Of each gate, where it is negated; gates of a level wait for their outputs.
        let gates = plan.and_count() as u64 * 48;
        2 * (slots + plan.bytes()) + gates
    }

    /// All that a session holds that does what `demand` says, which is `work`.
    pub(crate) fn session(
        &self,
        buffers: [u32; 2],
        ahead: [u64; 2],
        work: &Work,
        demand: &Demand<'_>,
    ) -> u64 {
        // Where several circuits are run, what one gives is anchored when too much is kept for it.
        let several = demand.runs().iter().map(|run| run.times).sum::<usize>() > 1;
        let anchors = if several { u64::MAX } else { work.anchors };
        let runs = demand.runs().iter().map(|run| {
            let lanes = (run.lanes as u64).min(most_lanes(self.sizes, run.plan) as u64);
            let bits = (run.plan.input_wires() + run.plan.output_wires()) as u64;
            let bits = bits.saturating_mul(lanes);
            let anchored = bits.min(anchors).saturating_mul(self.anchored() - self.cell());
            let passing = bits.saturating_mul(self.cell() + self.passing());
            self.circuit(run.plan)
                .saturating_add(passing)
                .saturating_add(anchored)
        });
        [
            self.supply(buffers, ahead),
            runs.max().unwrap_or(0),
            demand.output_bits().saturating_mul(self.cell() + OPENED),
            self.kept(demand.kept_bits()),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// Bytes of a bit that has been opened, besides its cell.
const OPENED: u64 = 1;

fn bytes(blocks: usize) -> u64 {
    (blocks * size_of::<Block>()) as u64
}

/// See [`cenote_session::Engine::most_lanes`]: inputs and outputs of so many fit in what they may take at the evaluator, where they take most.
pub(crate) fn most_lanes(sizes: &Sizes, plan: &Plan) -> usize {
    let memory = Memory::of(sizes, Role::Evaluator);
    let bits = (plan.input_wires() + plan.output_wires()).max(1) as u64;
    let lanes = GROUP_OF_LANES / bits.saturating_mul(memory.anchored() + memory.passing());
    (usize::try_from(lanes).unwrap_or(usize::MAX) & !63).max(64)
}

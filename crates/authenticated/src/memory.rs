//! Memory: what a session holds at most, said before anything is made.

use cenote_circuit::Plan;
use cenote_params::lpn::Lpn;
use cenote_primitives::Block;
use cenote_session::Demand;

use crate::offline::Record;
use crate::online::AHEAD;
use crate::online::circuit::{CELL, Circuit, tile};
use crate::settings::Sizes;
use crate::setup::shape;

/// Bytes of keys, of seeds, and of what is on its way.
const SESSION: u64 = 24 << 20;

/// Bytes of an authenticated bit: the rows of both parties' bits.
const ROWS: u64 = 2 * size_of::<Block>() as u64;

/// Bytes of an authenticated bit while OT extension makes it: columns and rows.
const BIT: u64 = 2 * ROWS;

/// Segments at a time: in preparation, garbled, and to be checked.
const SEGMENTS: u64 = 2 * AHEAD as u64 + 2;

/// Bytes that inputs and outputs of a group of lanes may take.
const GROUP_OF_LANES: u64 = 128 << 20;

/// What a party's session holds.
pub(crate) struct Memory<'a> {
    pub(crate) sizes: &'a Sizes,
    /// The largest.
    pub(crate) lot: u64,
    pub(crate) segment: u64,
    pub(crate) generator: Option<Lpn>,
}

impl Memory<'_> {
    /// The pool, the lots that keep it full, and what does not depend on the program.
    pub(crate) fn supply(&self) -> u64 {
        // With its number, if it is kept.
        let record = (size_of::<Record>() + size_of::<u64>()) as u64;
        let bucket = self.sizes.bucket() as u64;
        let bits = 3 * self.lot + self.lot / bucket;
        // Masks, labels, outputs and tables of a gate; and what is opened of its triple, and kept of it, by MACs and by keys.
        let gate = (12 + 4 * bucket) * size_of::<Block>() as u64;
        let bits = match &self.generator {
            None => bits * BIT,
            Some(sizes) => bits * ROWS + sizes.seed() * BIT + shape(sizes).memory() as u64,
        };
        let lots = bits + 3 * self.lot * record;
        SESSION + self.sizes.pool.pool_size * record + lots + SEGMENTS * self.segment * gate
    }

    /// A circuit that is run, on so many lanes.
    fn circuit(&self, plan: &Plan, lanes: usize) -> u64 {
        let tile = tile(plan, lanes.max(1), self.segment as usize) as u64;
        let slots = (plan.slots() as u64)
            .saturating_mul(tile)
            .saturating_mul(CELL as u64);
        let outputs = (plan.max_level_ands() as u64)
            .saturating_mul(tile)
            .saturating_mul(CELL as u64);
        let circuits = 2 * plan.bytes() + Circuit::KEPT;
        slots.saturating_add(outputs).saturating_add(circuits)
    }

    /// Bits that a program keeps.
    pub(crate) fn kept(&self, bits: u64) -> u64 {
        bits.saturating_mul(CELL as u64)
    }

    /// A bit while it is put in or opened: the wire, and a copy of it.
    fn passing(&self) -> u64 {
        2 * CELL as u64 + 2 * BIT
    }

    /// All that a session holds that does what `demand` says, whose outputs go to parties as bits.
    pub(crate) fn session(&self, demand: &Demand<'_>) -> u64 {
        let runs = demand.runs().iter().map(|run| {
            let lanes = run.lanes.min(most_lanes(run.plan));
            let bits =
                ((run.plan.input_wires() + run.plan.output_wires()) as u64).saturating_mul(lanes as u64);
            self.circuit(run.plan, lanes)
                .saturating_add(bits.saturating_mul(CELL as u64 + self.passing()))
        });
        [
            self.supply(),
            runs.max().unwrap_or(0),
            demand.output_bits().saturating_mul(CELL as u64 + 1),
            self.kept(demand.kept_bits()),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// See [`cenote_session::Engine::most_lanes`]: inputs and outputs of so many fit in what they may take.
pub(crate) fn most_lanes(plan: &Plan) -> usize {
    let bits = (plan.input_wires() + plan.output_wires()).max(1) as u64;
    let lanes = GROUP_OF_LANES / bits.saturating_mul(3 * CELL as u64 + 2 * BIT);
    (usize::try_from(lanes).unwrap_or(usize::MAX) & !63).max(64)
}

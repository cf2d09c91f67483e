//! Evaluating circuits AND layer by AND layer (S&P 2017, Protocol A.2, step 2). All ANDs of a layer go in one message;
//! free gates are local; every AND is logged for verification.

use cenote_circuit::{AndOp, Plan};
use cenote_engine::Result;
use cenote_net::PartyId;
use cenote_primitives::{
    Block512, as_bytes, as_bytes_mut, as_words, as_words_mut, kernels, pack_bits, unpack_bits,
};

use crate::keys::{Counter, Keys, Purpose};
use crate::ring::Ring;
use crate::steps;
use crate::stock::Stock;
use crate::triple_check::constant_holder;
use crate::verify::{GateLog, Segment, Verifier};
use crate::wires::ThreeWires;

/// Words of live wires that a group of lanes should not exceed, so that its slots stay in the second-level cache.
const GROUP_WORDS: usize = 1 << 16;

/// Fewest and most words in a row of a group.
const GROUP_STRIDES: (usize, usize) = (8, 256);

/// Below this many lanes, rows that do not fill their words are packed bit by bit: padding would cost more than packing.
const PACK_BELOW: usize = 1024;

/// How a circuit's lanes are cut into groups that are evaluated one after the other. The same at every party, since it
/// depends on the plan and the number of lanes only.
#[derive(Clone, Copy)]
struct Groups {
    lanes: usize,
    each: usize,
}

impl Groups {
    fn of(plan: &Plan, lanes: usize) -> Self {
        let stride = GROUP_WORDS / (2 * plan.slots().max(1));
        let stride = (stride / 8 * 8).clamp(GROUP_STRIDES.0, GROUP_STRIDES.1);
        Self {
            lanes,
            each: stride * 64,
        }
    }

    /// First lane and number of lanes of each group.
    fn iter(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.lanes)
            .step_by(self.each)
            .map(move |first| (first, self.each.min(self.lanes - first)))
    }
}

/// 64-bit words that one layer of `ands` gates takes in a message, with this many lanes.
fn layer_words(ands: usize, lanes: usize) -> usize {
    if packs(lanes) {
        (ands * lanes).div_ceil(64)
    } else {
        ands * lanes.div_ceil(64)
    }
}

fn packs(lanes: usize) -> bool {
    lanes < PACK_BELOW && !lanes.is_multiple_of(64)
}

/// Blocks of gates that verification will check for `plan` on `lanes` lanes, at most (padding included).
pub(crate) fn planned_blocks(plan: &Plan, lanes: usize) -> u64 {
    let words: u64 = Groups::of(plan, lanes)
        .iter()
        .map(|(_, lanes)| {
            let layer = |level: &cenote_circuit::Level| layer_words(level.ands.len(), lanes) as u64;
            plan.levels().iter().map(layer).sum::<u64>()
        })
        .sum();
    words.div_ceil(8)
}

/// The evaluator's half of a worker.
pub(crate) struct Evaluator {
    me: PartyId,
    pub(crate) ring: Ring,
    pub(crate) keys: Keys,
    pub(crate) log: GateLog,
    pub(crate) verifier: Verifier,
    zeros: Counter,
    slots: [Vec<u64>; 2],
    summands: Vec<Block512>,
    pub(crate) rounds: u64,
}

impl Evaluator {
    pub(crate) fn new(me: PartyId, worker: u8, ring: Ring, keys: Keys, verifier: Verifier) -> Self {
        Self {
            me,
            ring,
            keys,
            log: GateLog::new(),
            verifier,
            zeros: Counter::new(Purpose::GateZero, worker),
            slots: [Vec::new(), Vec::new()],
            summands: Vec::new(),
            rounds: 0,
        }
    }

    /// Evaluates `plan` in every lane.
    pub(crate) fn run(
        &mut self,
        plan: &Plan,
        inputs: &ThreeWires,
        lanes: usize,
        stock: &Stock,
    ) -> Result<ThreeWires> {
        let mut outputs = ThreeWires::zeros(plan.output_slots().len(), lanes);
        for (first, count) in Groups::of(plan, lanes).iter() {
            let stride = count.div_ceil(64);
            self.load(plan, inputs, first / 64, stride);
            for level in plan.levels() {
                let holder = constant_holder(self.me);
                for (slots, holds) in self.slots.iter_mut().zip(holder) {
                    kernels::run_local_ops(slots, stride, &plan.local_ops()[level.local.clone()], holds);
                }
                self.run_ands(&plan.and_ops()[level.ands.clone()], count, stock)?;
            }
            self.store(plan, &mut outputs, first / 64, stride);
        }
        Ok(outputs)
    }

    fn load(&mut self, plan: &Plan, inputs: &ThreeWires, first: usize, stride: usize) {
        for (slots, rows) in self.slots.iter_mut().zip(&inputs.components) {
            slots.resize(plan.slots() * stride, 0);
            for (row, &slot) in rows.chunks_exact(inputs.stride()).zip(plan.input_slots()) {
                slots[slot as usize * stride..][..stride].copy_from_slice(&row[first..first + stride]);
            }
        }
    }

    fn store(&self, plan: &Plan, outputs: &mut ThreeWires, first: usize, stride: usize) {
        let full = outputs.stride();
        for (slots, rows) in self.slots.iter().zip(&mut outputs.components) {
            for (row, &slot) in rows.chunks_exact_mut(full).zip(plan.output_slots()) {
                row[first..first + stride].copy_from_slice(&slots[slot as usize * stride..][..stride]);
            }
        }
    }

    /// One layer of ANDs: `z_i = x_i·y_i ⊕ x_i·y_{i+1} ⊕ x_{i+1}·y_i ⊕ α_i`, which the previous party lacks.
    fn run_ands(&mut self, ands: &[AndOp], lanes: usize, stock: &Stock) -> Result<()> {
        if ands.is_empty() {
            return Ok(());
        }
        let words = layer_words(ands.len(), lanes);
        if self.log.is_full_for(words) {
            self.verify(stock)?;
        }
        let Segment { x, y, z } = self.log.extend(words);
        for (component, slots) in self.slots.iter().enumerate() {
            gather(slots, ands.iter().map(|and| and.a), lanes, x[component]);
            gather(slots, ands.iter().map(|and| and.b), lanes, y[component]);
        }
        let [ours, theirs] = z;
        self.summands.resize(words.div_ceil(8), Block512::ZERO);
        self.keys
            .zero(self.zeros.take(words.div_ceil(8)), &mut self.summands);
        let summands = &mut as_words_mut(&mut self.summands)[..words];
        kernels::multiply_into(x[0], x[1], y[0], y[1], summands);
        ours.copy_from_slice(&as_words(&self.summands)[..words]);

        self.ring.previous.send(steps::MULTIPLY_GATE, as_bytes(ours))?;
        self.ring.previous.flush()?;
        self.ring.next.recv(steps::MULTIPLY_GATE, as_bytes_mut(theirs))?;
        self.rounds += 1;
        for (slots, products) in self.slots.iter_mut().zip([&*ours, &*theirs]) {
            scatter(slots, ands.iter().map(|and| and.dst), lanes, products);
        }
        Ok(())
    }

    /// Verifies all gates evaluated so far.
    pub(crate) fn verify(&mut self, stock: &Stock) -> Result<()> {
        self.rounds += self
            .verifier
            .verify(&mut self.log, &mut self.ring, &self.keys, stock)?;
        Ok(())
    }

    /// Overwrites all shares with zeros.
    pub(crate) fn wipe(&mut self) {
        self.log.wipe();
        self.verifier.wipe();
        self.slots.iter_mut().for_each(|slots| slots.fill(0));
        self.summands.fill(Block512::ZERO);
    }
}

/// Copies the rows of `which` slots one after the other.
fn gather(slots: &[u64], which: impl Iterator<Item = u32>, lanes: usize, out: &mut [u64]) {
    let stride = lanes.div_ceil(64);
    let rows = which.map(|slot| &slots[slot as usize * stride..][..stride]);
    if packs(lanes) {
        out.fill(0);
        for (index, row) in rows.enumerate() {
            pack_bits(out, index * lanes, row, lanes);
        }
    } else {
        for (out, row) in out.chunks_exact_mut(stride).zip(rows) {
            out.copy_from_slice(row);
        }
    }
}

/// The inverse of [`gather`].
fn scatter(slots: &mut [u64], which: impl Iterator<Item = u32>, lanes: usize, rows: &[u64]) {
    let stride = lanes.div_ceil(64);
    for (index, slot) in which.enumerate() {
        let slot = &mut slots[slot as usize * stride..][..stride];
        if packs(lanes) {
            unpack_bits(slot, rows, index * lanes, lanes);
        } else {
            slot.copy_from_slice(&rows[index * stride..][..stride]);
        }
    }
}

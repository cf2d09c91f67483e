//! Evaluating circuits AND layer by AND layer (S&P 2017, Protocol A.2, step 2). All ANDs of a layer go in one message;
//! free gates are local; every AND is logged for verification.

use cenote_circuit::{AndOp, Plan};
use cenote_net::PartyId;
use cenote_primitives::{
    SecretBlocks, as_bytes, as_bytes_mut, as_words, as_words_mut, kernels, pack_bits, unpack_bits,
};
use cenote_session::Result;
use zeroize::Zeroize;

use crate::material::stock::Stock;
use crate::online::gate_log::{GateLog, Segment};
use crate::online::verify::Verifier;
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose};
use crate::steps;
use crate::triple_check::constant_holder;
use crate::wires::ThreeWires;

/// Words of live wires that a group of lanes should not exceed, so that its slots stay in the second-level cache.
const GROUP_WORDS: usize = 1 << 17;

/// The least and the greatest number of words in a row of a group.
const GROUP_STRIDES: (usize, usize) = (8, 256);

/// Below this many lanes, rows that do not fill their words are packed densely: padding would cost more than packing.
const PACK_BELOW: usize = 1024;

/// Lanes that are evaluated together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    first: usize,
    lanes: usize,
}

/// Words of a group's row that is to have room for `words`.
fn stride(words: usize) -> usize {
    words.next_multiple_of(8).clamp(GROUP_STRIDES.0, GROUP_STRIDES.1)
}

/// Lanes of a group, if there are enough of them.
pub(crate) fn most_lanes(plan: &Plan) -> usize {
    64 * stride(GROUP_WORDS / (2 * plan.slots().max(1)))
}

/// Cuts a circuit's lanes into groups. Only the plan and the numbers of lanes and workers count, so all parties cut alike.
pub(crate) fn groups(plan: &Plan, lanes: usize, workers: usize) -> Vec<Group> {
    let fair = lanes.div_ceil(64 * workers);
    let each = (64 * stride(fair)).min(most_lanes(plan));
    (0..lanes)
        .step_by(each)
        .map(|first| Group {
            first,
            lanes: each.min(lanes - first),
        })
        .collect()
}

/// 64-bit words of the message of a layer with `ands` gates in this many lanes.
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

/// Blocks of gates that verification will check for `plan` on these groups.
pub(crate) fn planned_blocks<'a>(plan: &Plan, groups: impl Iterator<Item = &'a Group>) -> u64 {
    let words = |group: &Group| -> u64 {
        plan.levels()
            .iter()
            .map(|level| layer_words(level.ands.len(), group.lanes) as u64)
            .sum()
    };
    groups.map(words).sum::<u64>().div_ceil(8)
}

/// 64-bit words that each AND layer of `plan` puts into the log, in the order of evaluation.
pub(crate) fn planned_layers<'a>(
    plan: &'a Plan,
    groups: impl Iterator<Item = &'a Group> + 'a,
) -> impl Iterator<Item = usize> + 'a {
    groups.flat_map(|group| {
        let words = |level: &cenote_circuit::Level| layer_words(level.ands.len(), group.lanes);
        plan.levels().iter().map(words)
    })
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
    summands: SecretBlocks,
    pub(crate) rounds: u64,
}

impl Evaluator {
    pub(crate) fn new(
        me: PartyId,
        worker: u8,
        ring: Ring,
        keys: Keys,
        log: GateLog,
        verifier: Verifier,
    ) -> Self {
        Self {
            me,
            ring,
            keys,
            log,
            verifier,
            zeros: Counter::new(Purpose::GateZero, worker),
            slots: [Vec::new(), Vec::new()],
            summands: SecretBlocks::default(),
            rounds: 0,
        }
    }

    /// Evaluates `plan` in a group of lanes of `inputs`; gives the outputs in these lanes.
    pub(crate) fn run(
        &mut self,
        plan: &Plan,
        inputs: &ThreeWires,
        group: Group,
        stock: &Stock,
    ) -> Result<ThreeWires> {
        let stride = group.lanes.div_ceil(64);
        self.load(plan, inputs, group.first / 64, stride);
        for level in plan.levels() {
            let holder = constant_holder(self.me);
            for (slots, holds) in self.slots.iter_mut().zip(holder) {
                kernels::run_local_ops(slots, stride, &plan.local_ops()[level.local.clone()], holds);
            }
            self.run_ands(&plan.and_ops()[level.ands.clone()], group.lanes, stock)?;
        }
        let mut outputs = ThreeWires::zeros(plan.output_slots().len(), group.lanes)?;
        for (slots, rows) in self.slots.iter().zip(&mut outputs.components) {
            for (row, &slot) in rows.chunks_exact_mut(stride).zip(plan.output_slots()) {
                row.copy_from_slice(&slots[slot as usize * stride..][..stride]);
            }
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
        self.summands.resize(words.div_ceil(8));
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
        self.slots
            .iter_mut()
            .for_each(|slots| slots.as_mut_slice().zeroize());
        self.summands.wipe();
    }
}

/// Puts the outputs of all groups together, in the order of the groups.
pub(crate) fn assemble(wires: usize, lanes: usize, parts: &[(Group, ThreeWires)]) -> Result<ThreeWires> {
    if let [(_, only)] = parts {
        return Ok(only.clone());
    }
    let mut all = ThreeWires::zeros(wires, lanes)?;
    let full = all.stride();
    for (group, part) in parts {
        let (first, stride) = (group.first / 64, part.stride());
        for (all, part) in all.components.iter_mut().zip(&part.components) {
            for (row, part) in all.chunks_exact_mut(full).zip(part.chunks_exact(stride)) {
                row[first..first + stride].copy_from_slice(part);
            }
        }
    }
    Ok(all)
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

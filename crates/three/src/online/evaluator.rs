//! Evaluating circuits AND layer by AND layer (S&P 2017, Protocol A.2, step 2). All ANDs of a layer go in one message;
//! free gates are local; every AND is logged for verification. Two waves of lanes take turns: while the products of one are on their way, those of the
//! other are computed.

use std::ops::Range;

use cenote_circuit::{Level, Plan};
use cenote_net::PartyId;
use cenote_params::three::LOG_BLOCKS;
use cenote_primitives::{
    SecretBlocks, as_bytes, as_bytes_mut, as_words, as_words_mut, kernels, pack_bits, unpack_bits,
};
use cenote_session::{Piece, Result};

use crate::online::checker::Checker;
use crate::online::gate_log::{GateLog, Segment};
use crate::ring::Ring;
use crate::setup::keys::{Counter, Keys, Purpose};
use crate::steps;
use crate::triple_check::constant_holder;
use crate::wires::{ThreeWires, put};

/// Words of live wires that a group of lanes should not exceed, so that its slots stay in the second-level cache.
const GROUP_WORDS: usize = 1 << 17;

/// The least and the greatest number of words in a row of a group.
const GROUP_STRIDES: (usize, usize) = (8, 256);

/// Words of an AND layer, on average, that are sent in one message if there are enough lanes, and the most groups for that.
const WAVE: (usize, usize) = (1 << 13, 16);

/// Words of any AND layer that are sent in one message, if it is not of one group: half of a log of gates that triples check.
const WIDEST: usize = 4 * LOG_BLOCKS as usize;

/// Words of an AND layer, on average, from which on lanes for one wave are cut into two.
const TWO_WAVES: usize = 1 << 11;

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
    let waves = 1 + usize::from(fill_two_waves(plan, lanes.div_ceil(workers)));
    let fair = lanes.div_ceil(64 * workers * waves);
    let each = (64 * stride(fair)).min(most_lanes(plan));
    (0..lanes)
        .step_by(each)
        .map(|first| Group {
            first,
            lanes: each.min(lanes - first),
        })
        .collect()
}

/// How many groups of `plan` are evaluated together, layer by layer, if there are so many.
pub(crate) fn groups_of_a_wave(plan: &Plan) -> usize {
    let (words, most) = WAVE;
    let (group, levels) = (most_lanes(plan) / 64, plan.levels());
    let fit = (WIDEST / group).checked_div(plan.max_level_ands()).unwrap_or(1);
    let due = (words * levels.len()).checked_div(plan.and_count() * group);
    due.unwrap_or(1).min(fit).clamp(1, most)
}

/// Whether so many lanes of a worker, if they are no more than for one wave, are cut into two.
fn fill_two_waves(plan: &Plan, lanes: usize) -> bool {
    plan.and_count() * lanes.div_ceil(64) >= TWO_WAVES * plan.levels().len()
}

/// Groups that are evaluated side by side, as a range for each of two waves.
fn waves(plan: &Plan, groups: &[Group]) -> Vec<[Range<usize>; 2]> {
    let each = groups_of_a_wave(plan);
    let is_long = |group: &Group| layer_words(plan.max_level_ands(), group.lanes) > WIDEST;
    if groups.iter().any(is_long) {
        // One message takes the line long enough, and two of this size may be more than a peer takes in before it reads.
        return (0..groups.len())
            .map(|first| [first..first + 1, first + 1..first + 1])
            .collect();
    }
    let pairs = (0..groups.len()).step_by(2 * each).map(|first| {
        let count = (groups.len() - first).min(2 * each);
        let lanes: usize = groups[first..first + count].iter().map(|group| group.lanes).sum();
        let cut = count > each || fill_two_waves(plan, lanes);
        let middle = first + if cut { count.div_ceil(2) } else { count };
        [first..middle, middle..first + count]
    });
    pairs.collect()
}

/// 64-bit words of a layer with `ands` gates in this many lanes.
fn layer_words(ands: usize, lanes: usize) -> usize {
    if packs(lanes) {
        (ands * lanes).div_ceil(64)
    } else {
        ands * lanes.div_ceil(64)
    }
}

/// 64-bit words of the ANDs of a level in these groups.
fn words_of(groups: &[Group], level: &Level) -> usize {
    let words = |group: &Group| layer_words(level.ands.len(), group.lanes);
    groups.iter().map(words).sum()
}

/// Blocks of the largest AND layer of `plan` that is evaluated and logged as a whole, on so many lanes.
pub(crate) fn largest_layer(plan: &Plan, lanes: usize) -> u64 {
    let of_wave = layer_words(plan.max_level_ands(), lanes).min(WIDEST);
    let of_group = layer_words(plan.max_level_ands(), lanes.min(most_lanes(plan)));
    of_wave.max(of_group).div_ceil(8) as u64
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
    let groups: Vec<Group> = groups.copied().collect();
    waves(plan, &groups).into_iter().flat_map(move |both| {
        let both = both.map(|wave| groups[wave].to_vec());
        plan.levels()
            .iter()
            .flat_map(move |level| both.each_ref().map(|wave| words_of(wave, level)))
    })
}

/// Where the outputs of a group go: of each component the words of each wire.
pub(crate) struct Outputs<'a> {
    group: Group,
    rows: [Vec<&'a mut [u64]>; 2],
}

/// Cuts room for the outputs of all lanes into that of each group.
pub(crate) fn outputs_of<'a>(all: &'a mut ThreeWires, groups: &[Group]) -> Vec<Outputs<'a>> {
    let stride = all.stride().max(1);
    let mut outputs: Vec<Outputs<'a>> = groups
        .iter()
        .map(|&group| Outputs {
            group,
            rows: [Vec::new(), Vec::new()],
        })
        .collect();
    for (index, component) in all.components_mut().iter_mut().enumerate() {
        for mut row in component.chunks_exact_mut(stride) {
            for outputs in &mut outputs {
                let own = row.split_off_mut(..outputs.group.stride());
                outputs.rows[index].push(own.expect("the groups have all lanes together"));
            }
        }
    }
    outputs
}

/// The evaluator's half of a worker.
pub(crate) struct Evaluator {
    me: PartyId,
    pub(crate) ring: Ring,
    pub(crate) keys: Keys,
    pub(crate) log: GateLog,
    zeros: Counter,
    /// Of each group of both waves, both components of the live wires.
    slots: Vec<[SecretBlocks; 2]>,
    /// Of each wave what hides its products.
    summands: [SecretBlocks; 2],
    pub(crate) rounds: u64,
}

impl Evaluator {
    pub(crate) fn new(me: PartyId, worker: u8, ring: Ring, keys: Keys, log: GateLog) -> Self {
        Self {
            me,
            ring,
            keys,
            log,
            zeros: Counter::new(Purpose::GateZero, worker),
            slots: Vec::new(),
            summands: Default::default(),
            rounds: 0,
        }
    }

    /// Evaluates `plan` in the lanes of these groups.
    pub(crate) fn run(
        &mut self,
        plan: &Plan,
        inputs: &[Piece<'_, ThreeWires>],
        mut outputs: Vec<Outputs<'_>>,
        checker: &mut Checker,
    ) -> Result<()> {
        let groups: Vec<Group> = outputs.iter().map(|outputs| outputs.group).collect();
        for [first, second] in waves(plan, &groups) {
            let both = first.start..second.end;
            if self.slots.len() < both.len() {
                self.slots.resize_with(both.len(), Default::default);
            }
            for (group, slots) in groups[both.clone()].iter().zip(&mut self.slots) {
                load(plan, inputs, *group, slots);
            }
            let wave = |number, range: Range<usize>| Wave {
                number,
                groups: &groups[range.clone()],
                slots: range.start - both.start..range.end - both.start,
                sent: None,
            };
            self.run_waves(plan, [wave(0, first), wave(1, second)], checker)?;
            for (outputs, slots) in outputs[both].iter_mut().zip(&self.slots) {
                outputs.fill(plan, slots);
            }
        }
        Ok(())
    }

    fn run_waves(&mut self, plan: &Plan, waves: [Wave<'_>; 2], checker: &mut Checker) -> Result<()> {
        let [mut one, mut other] = waves;
        for level in plan.levels() {
            // The order of the log, and of messages, is all parties': it depends on public sizes only.
            for _ in 0..2 {
                self.receive(plan, &mut one, checker)?;
                let words = words_of(one.groups, level);
                if words > 0 && self.log.is_full_for(words) {
                    self.receive(plan, &mut other, checker)?;
                    let Self { log, ring, keys, .. } = self;
                    self.rounds += checker.check_log(log, ring, keys)?;
                }
                checker.filled(self.log.words())?;
                self.send(plan, level, &mut one, checker)?;
                std::mem::swap(&mut one, &mut other);
            }
            self.rounds += u64::from(!level.ands.is_empty());
        }
        self.receive(plan, &mut one, checker)?;
        self.receive(plan, &mut other, checker)
    }

    /// One level of a wave: its free gates, and then this party's part of its ANDs, in one message.
    fn send(&mut self, plan: &Plan, level: &Level, wave: &mut Wave<'_>, checker: &Checker) -> Result<()> {
        let holder = constant_holder(self.me);
        let local = &plan.local_ops()[level.local.clone()];
        let ands = &plan.and_ops()[level.ands.clone()];
        let words = words_of(wave.groups, level);
        let start = self.log.words();
        let Segment { x, y, z } = self.log.extend(words);
        let slots = &mut self.slots[wave.slots.clone()];
        for ((group, slots), part) in wave.groups.iter().zip(slots).zip(parts(wave.groups, ands.len())) {
            for (component, (slots, holds)) in slots.iter_mut().zip(holder).enumerate() {
                let slots = as_words_mut(slots);
                kernels::run_local_ops(slots, group.stride(), local, holds);
                let (a, b) = (ands.iter().map(|and| and.a), ands.iter().map(|and| and.b));
                gather(slots, a, group.lanes, &mut x[component][part.clone()]);
                gather(slots, b, group.lanes, &mut y[component][part.clone()]);
            }
        }
        if words == 0 {
            return Ok(());
        }
        let [ours, _] = z;
        let blocks = words.div_ceil(8);
        let at = self.zeros.take(blocks);
        let summands = &mut self.summands[wave.number];
        summands.resize(if checker.proves() { 2 * blocks } else { blocks });
        let (first, second) = summands.split_at_mut(blocks);
        if checker.proves() {
            self.keys.random(at, [&mut *first, second]);
            ours.copy_from_slice(&as_words(first)[..words]);
            kernels::xor_words_into(ours, &as_words(second)[..words]);
        } else {
            self.keys.zero(at, first);
            ours.copy_from_slice(&as_words(first)[..words]);
        }
        // `z_i = x_i·y_i ⊕ x_i·y_{i+1} ⊕ x_{i+1}·y_i ⊕ r_i ⊕ r_{i+1}`, which the previous party lacks.
        kernels::multiply_into(x[0], x[1], y[0], y[1], ours);
        self.ring.previous.send(steps::MULTIPLY_GATE, as_bytes(ours))?;
        self.ring.previous.flush()?;
        wave.sent = Some((level.ands.clone(), start..start + words));
        Ok(())
    }

    /// Receives what is missing of the ANDs of a wave that were sent last, if it has not.
    fn receive(&mut self, plan: &Plan, wave: &mut Wave<'_>, checker: &Checker) -> Result<()> {
        let Some((ands, range)) = wave.sent.take() else {
            return Ok(());
        };
        let ands = &plan.and_ops()[ands];
        let words = range.len();
        let [ours, theirs] = self.log.products(range);
        self.ring.next.recv(steps::MULTIPLY_GATE, as_bytes_mut(theirs))?;
        let slots = &mut self.slots[wave.slots.clone()];
        for ((group, slots), part) in wave.groups.iter().zip(slots).zip(parts(wave.groups, ands.len())) {
            for (slots, products) in slots.iter_mut().zip([&*ours, &*theirs]) {
                let dst = ands.iter().map(|and| and.dst);
                scatter(as_words_mut(slots), dst, group.lanes, &products[part.clone()]);
            }
        }
        if checker.proves() {
            // What proofs need of a product: `r_i`, and `z_{i+1} ⊕ r_{i+1}`.
            let (first, second) = self.summands[wave.number].split_at(words.div_ceil(8));
            ours.copy_from_slice(&as_words(first)[..words]);
            kernels::xor_words_into(theirs, &as_words(second)[..words]);
        }
        Ok(())
    }

    /// Verifies all gates evaluated so far.
    pub(crate) fn settle(&mut self, checker: &mut Checker) -> Result<()> {
        self.rounds += checker.settle(&mut self.log, &mut self.ring, &self.keys)?;
        Ok(())
    }

    /// Overwrites all shares with zeros.
    pub(crate) fn wipe(&mut self) {
        self.log.wipe();
        self.slots.iter_mut().flatten().for_each(SecretBlocks::wipe);
        self.summands.iter_mut().for_each(SecretBlocks::wipe);
    }
}

/// Groups whose ANDs of a layer go in one message.
struct Wave<'a> {
    /// Which of the two it is.
    number: usize,
    groups: &'a [Group],
    /// Where their live wires are.
    slots: Range<usize>,
    /// The ANDs of the plan that were sent and not received, and where the log has them.
    sent: Option<(Range<usize>, Range<usize>)>,
}

impl Group {
    /// 64-bit words of a row.
    fn stride(self) -> usize {
        self.lanes.div_ceil(64)
    }
}

impl Outputs<'_> {
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    fn fill(&mut self, plan: &Plan, slots: &[SecretBlocks; 2]) {
        let stride = self.group.stride();
        for (slots, rows) in slots.iter().zip(&mut self.rows) {
            let slots = as_words(slots);
            for (row, &slot) in rows.iter_mut().zip(plan.output_slots()) {
                row.copy_from_slice(&slots[slot as usize * stride..][..stride]);
            }
        }
    }
}

/// Where each group's words of a layer with `ands` gates are.
fn parts(groups: &[Group], ands: usize) -> Vec<Range<usize>> {
    let mut next = 0;
    groups
        .iter()
        .map(|group| {
            let first = next;
            next += layer_words(ands, group.lanes);
            first..next
        })
        .collect()
}

/// Puts the inputs of `plan` in a group's lanes into their slots.
fn load(plan: &Plan, inputs: &[Piece<'_, ThreeWires>], group: Group, slots: &mut [SecretBlocks; 2]) {
    let (first, stride) = (group.first / 64, group.stride());
    for (component, slots) in slots.iter_mut().enumerate() {
        slots.resize((plan.slots() * stride).div_ceil(8));
        let slots = as_words_mut(slots);
        let mut to = plan.input_slots();
        for (wires, range) in inputs {
            let own;
            (own, to) = to.split_at(range.len());
            wires.each_row(
                component,
                range.clone(),
                first..first + stride,
                |row, at, words| {
                    let slot = own[row - range.start] as usize * stride;
                    put(&mut slots[slot + at..], words);
                },
            );
        }
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

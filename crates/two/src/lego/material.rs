//! Material between [`generate`](super::generate) and its use: typed, in order, each item used once.
//!
//! A stock hands items out by moving them: what was taken is no longer there, and nothing that is taken can be cloned.
//! Large kinds stay where `generate` put them, epoch by epoch, and are handed out as [`Run`]s of these arrays; epochs
//! may have buckets of different sizes. All of it is secret and wiped when the last run of an epoch is dropped.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use cenote_primitives::Block;
use zeroize::{Zeroize, Zeroizing};

use super::order::{Order, Short};
use crate::commit::Share;
use crate::garble::{self, Authenticator, Buckets, GateTable};

/// Labels or strings that the garbler is committed to, at the garbler: item `i` is `messages[i]`, `shares[i]`.
#[derive(Clone, Default)]
pub struct Commitments {
    /// What was committed to.
    pub messages: Zeroizing<Vec<Block>>,
    /// The garbler's shares.
    pub shares: Zeroizing<Vec<Share>>,
}

/// The labels of AND buckets at the garbler: the 0-labels of the left, right and output wire of gate 0.
#[derive(Default)]
pub struct GarblerAnds {
    /// Left, right, output.
    pub messages: Zeroizing<Vec<[Block; 3]>>,
    /// The shares of these.
    pub shares: Zeroizing<Vec<[Share; 3]>>,
}

/// Input wires of the evaluator, at the garbler.
#[derive(Default)]
pub struct GarblerStrings {
    /// The 0-labels `K_i`.
    pub labels: Commitments,
    /// The OT strings `r_i`.
    pub strings: Commitments,
}

/// What one epoch of `generate` gives the garbler.
#[derive(Default)]
pub struct GarblerEpoch {
    /// AND buckets.
    pub ands: GarblerAnds,
    /// 0-labels of the garbler's input wires.
    pub garbler_inputs: Commitments,
    /// 0-labels of the evaluator's input wires and its OT strings.
    pub evaluator_inputs: GarblerStrings,
    /// 0-labels of anchors.
    pub anchors: Commitments,
    /// Masks.
    pub masks: Commitments,
    /// Port labels.
    pub ports: Commitments,
}

/// Gadgets of `size` authenticators, at the evaluator. Authenticator `j` of gadget `i` is entry `i * size + j`.
#[derive(Default)]
pub struct Authenticators {
    /// Authenticators in a gadget.
    pub size: usize,
    /// What the numbers are relative to.
    pub base: u64,
    /// Numbers of the authenticators, less `base`.
    pub numbers: Vec<u32>,
    /// The authenticators.
    pub authenticators: Vec<Authenticator>,
    /// 0-label of the gadget's wire ^ that of the authenticator's.
    pub solderings: Vec<Block>,
}

/// Gadgets of `size` AND gates whose both inputs are one wire. Gate `j` of anchor `i` is entry `i * size + j`.
///
/// A label, with `Δ`, tells which bit it carries: nothing that the evaluator can do in an honest run, and all that it
/// needs to find the garbler's input when the garbler cheated.
#[derive(Default)]
pub struct Anchors {
    /// Gates in an anchor.
    pub size: usize,
    /// What the numbers are relative to.
    pub base: u64,
    /// Numbers of the gates, less `base`.
    pub numbers: Vec<u32>,
    /// Their tables.
    pub tables: Vec<GateTable>,
    /// 0-label of the anchor's wire ^ that of the gate's left input, and of its right.
    pub solderings: Vec<[Block; 2]>,
}

/// AND buckets at the evaluator.
pub struct AndBuckets {
    /// Shares of the 0-labels of gate 0's left, right and output wire.
    pub shares: Zeroizing<Vec<[Share; 3]>>,
    /// Gates and their solderings.
    pub gates: Buckets,
    /// Authenticators of the output wire.
    pub authenticators: Authenticators,
}

impl Default for AndBuckets {
    fn default() -> Self {
        Self {
            shares: Zeroizing::default(),
            gates: Buckets::new(1, 0, 0),
            authenticators: Authenticators::default(),
        }
    }
}

/// Input wires of the garbler, at the evaluator.
#[derive(Default)]
pub struct GarblerInputs {
    /// Shares of the 0-labels.
    pub shares: Zeroizing<Vec<Share>>,
    /// Anchors of the wires.
    pub anchors: Anchors,
    /// Authenticators of the wires.
    pub authenticators: Authenticators,
}

/// Input wires of the evaluator, at the evaluator.
#[derive(Default)]
pub struct EvaluatorInputs {
    /// Shares of the 0-labels.
    pub shares: Zeroizing<Vec<Share>>,
    /// Authenticators of the wires.
    pub authenticators: Authenticators,
    /// Shares of the OT strings `r_i`.
    pub string_shares: Zeroizing<Vec<Share>>,
    /// `r_i ^ b_i Δ`, whose last bit is the choice bit `b_i`.
    pub strings: Zeroizing<Vec<Block>>,
}

/// Anchors with nothing else, at the evaluator.
#[derive(Default)]
pub struct AnchorWires {
    /// Shares of the 0-labels of the anchors' wires.
    pub shares: Zeroizing<Vec<Share>>,
    /// The anchors.
    pub anchors: Anchors,
}

/// Masks, at the evaluator.
#[derive(Default)]
pub struct Masks {
    /// Shares of the masks.
    pub shares: Zeroizing<Vec<Share>>,
    /// The last bit of each mask: 0 or 1.
    pub bits: Zeroizing<Vec<u8>>,
}

/// What one epoch of `generate` gives the evaluator.
#[derive(Default)]
pub struct EvaluatorEpoch {
    /// AND buckets.
    pub ands: AndBuckets,
    /// The garbler's input wires.
    pub garbler_inputs: GarblerInputs,
    /// The evaluator's input wires.
    pub evaluator_inputs: EvaluatorInputs,
    /// Anchors.
    pub anchors: AnchorWires,
    /// Masks.
    pub masks: Masks,
    /// Shares of port labels.
    pub ports: Zeroizing<Vec<Share>>,
}

impl GarblerEpoch {
    /// Number of items of each kind, in the order of [`Order::counts`].
    pub fn counts(&self) -> [usize; 6] {
        [
            self.ands.messages.len(),
            self.garbler_inputs.len(),
            self.evaluator_inputs.labels.len(),
            self.anchors.len(),
            self.masks.len(),
            self.ports.len(),
        ]
    }
}

impl EvaluatorEpoch {
    /// Number of items of each kind, in the order of [`Order::counts`].
    pub fn counts(&self) -> [usize; 6] {
        [
            self.ands.shares.len(),
            self.garbler_inputs.shares.len(),
            self.evaluator_inputs.shares.len(),
            self.anchors.shares.len(),
            self.masks.shares.len(),
            self.ports.len(),
        ]
    }
}

impl Commitments {
    /// Number of commitments.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Appends a copy of those of `range`.
    fn copy(&mut self, from: &Commitments, range: Range<usize>) {
        append(&mut self.messages, &from.messages[range.clone()]);
        append(&mut self.shares, &from.shares[range]);
    }
}

/// Appends, and wipes what it grows out of.
fn append<T: Copy + Zeroize>(to: &mut Zeroizing<Vec<T>>, from: &[T]) {
    let needed = to.len() + from.len();
    if needed > to.capacity() {
        let mut grown = Zeroizing::new(Vec::with_capacity(needed.max(2 * to.capacity())));
        grown.extend_from_slice(to);
        *to = grown;
    }
    to.extend_from_slice(from);
}

impl Authenticators {
    /// How many of gadget `gadget`'s authenticators accept `label`.
    pub fn accepting(&self, gadget: usize, label: Block) -> usize {
        let accepts = |at: &usize| {
            let number = self.base + u64::from(self.numbers[*at]);
            garble::accepts(number, &self.authenticators[*at], label ^ self.solderings[*at])
        };
        (gadget * self.size..(gadget + 1) * self.size)
            .filter(accepts)
            .count()
    }

    /// Whether more than half of gadget `gadget`'s authenticators accept `label`.
    pub fn accept(&self, gadget: usize, label: Block) -> bool {
        2 * self.accepting(gadget, label) > self.size
    }
}

impl Anchors {
    /// The bit that `label` carries on anchor `anchor`'s wire: that of most of its gates.
    ///
    /// A gate on `label` twice gives the output label of the bit, on `label` and its opposite that of 0: equal for 0,
    /// different for 1.
    pub fn bit(&self, anchor: usize, label: Block, delta: Block) -> bool {
        let gates = anchor * self.size..(anchor + 1) * self.size;
        let numbers: Vec<u64> = self.numbers[gates.clone()]
            .iter()
            .map(|&number| self.base + u64::from(number))
            .collect();
        let side = |side: usize, label: Block| -> Vec<Block> {
            self.solderings[gates.clone()]
                .iter()
                .map(|soldering| label ^ soldering[side])
                .collect()
        };
        let (left, right) = (side(0, label), side(1, label));
        let opposite: Vec<Block> = right.iter().map(|&label| label ^ delta).collect();
        let tables = &self.tables[gates];
        let mut outputs = [vec![Block::ZERO; numbers.len()], vec![Block::ZERO; numbers.len()]];
        garble::evaluate(&numbers, &left, &right, tables, &mut outputs[0]);
        garble::evaluate(&numbers, &left, &opposite, tables, &mut outputs[1]);
        let ones = outputs[0].iter().zip(&outputs[1]).filter(|(a, b)| a != b).count();
        2 * ones > self.size
    }
}

/// Some items of an epoch's array, moved out of a stock. The array lives as long as any run of it.
pub struct Run<T> {
    items: Arc<T>,
    range: Range<usize>,
}

impl<T> Run<T> {
    /// The epoch's array; only the items of [`Run::range`] are this run's.
    pub fn items(&self) -> &T {
        &self.items
    }

    /// Which items of [`Run::items`] are this run's.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether it has no items.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Takes the first `count` items out.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split_front(&mut self, count: usize) -> Run<T> {
        assert!(count <= self.len(), "{count} items of {}", self.len());
        let middle = self.range.start + count;
        let front = self.range.start..middle;
        self.range.start = middle;
        Run {
            items: self.items.clone(),
            range: front,
        }
    }
}

/// Prints how many items there are.
impl<T> fmt::Debug for Run<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run({:?})", self.range)
    }
}

impl Run<GarblerAnds> {
    /// The 0-labels of left, right and output wire.
    pub fn messages(&self) -> &[[Block; 3]] {
        &self.items.messages[self.range.clone()]
    }

    /// The shares of these.
    pub fn shares(&self) -> &[[Share; 3]] {
        &self.items.shares[self.range.clone()]
    }
}

impl Run<AndBuckets> {
    /// The shares of the 0-labels of left, right and output wire.
    pub fn shares(&self) -> &[[Share; 3]] {
        &self.items.shares[self.range.clone()]
    }
}

/// Runs in the order in which they are used.
struct Queue<T> {
    runs: VecDeque<Run<T>>,
    left: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            runs: VecDeque::new(),
            left: 0,
        }
    }
}

impl<T> Queue<T> {
    /// Adds the items of `range`.
    fn push(&mut self, items: T, range: Range<usize>) {
        if !range.is_empty() {
            self.left += range.len() as u64;
            let items = Arc::new(items);
            self.runs.push_back(Run { items, range });
        }
    }

    fn take(&mut self, kind: &'static str, count: usize) -> Result<Vec<Run<T>>, Short> {
        if self.left < count as u64 {
            return Err(Short {
                kind,
                wanted: count as u64,
                left: self.left,
            });
        }
        self.left -= count as u64;
        let mut taken = Vec::new();
        let mut missing = count;
        while missing > 0 {
            let Some(front) = self.runs.front_mut() else { break };
            let run = front.split_front(missing.min(front.len()));
            missing -= run.len();
            taken.push(run);
            if front.is_empty() {
                self.runs.pop_front();
            }
        }
        Ok(taken)
    }
}

impl Queue<Commitments> {
    fn take_copy(&mut self, kind: &'static str, count: usize) -> Result<Commitments, Short> {
        let mut all = Commitments::default();
        for run in self.take(kind, count)? {
            all.copy(&run.items, run.range.clone());
        }
        Ok(all)
    }
}

/// The garbler's material.
pub struct GarblerStock {
    /// `Δ`.
    pub delta: Zeroizing<Block>,
    /// The share of the commitment to `Δ`.
    pub delta_share: Zeroizing<Share>,
    ands: Queue<GarblerAnds>,
    garbler_inputs: Queue<Commitments>,
    evaluator_inputs: Queue<GarblerStrings>,
    anchors: Queue<Commitments>,
    masks: Queue<Commitments>,
    ports: Queue<Commitments>,
}

impl GarblerStock {
    /// No material under `delta`.
    pub fn new(delta: Block, delta_share: Share) -> Self {
        Self {
            delta: Zeroizing::new(delta),
            delta_share: Zeroizing::new(delta_share),
            ands: Queue::default(),
            garbler_inputs: Queue::default(),
            evaluator_inputs: Queue::default(),
            anchors: Queue::default(),
            masks: Queue::default(),
            ports: Queue::default(),
        }
    }

    /// Adds an epoch's material, to be used after what is there.
    pub fn push(&mut self, epoch: GarblerEpoch) {
        let all = epoch.counts().map(|count| 0..count);
        self.push_some(epoch, all);
    }

    /// Adds some of an epoch's material: of each kind the items of a range.
    pub(crate) fn push_some(&mut self, epoch: GarblerEpoch, ranges: [Range<usize>; 6]) {
        let [ands, garbler_inputs, evaluator_inputs, anchors, masks, ports] = ranges;
        self.ands.push(epoch.ands, ands);
        self.garbler_inputs.push(epoch.garbler_inputs, garbler_inputs);
        self.evaluator_inputs
            .push(epoch.evaluator_inputs, evaluator_inputs);
        self.anchors.push(epoch.anchors, anchors);
        self.masks.push(epoch.masks, masks);
        self.ports.push(epoch.ports, ports);
    }

    /// What is left.
    pub fn left(&self) -> Order {
        Order {
            ands: self.ands.left,
            garbler_inputs: self.garbler_inputs.left,
            evaluator_inputs: self.evaluator_inputs.left,
            anchors: self.anchors.left,
            masks: self.masks.left,
            ports: self.ports.left,
        }
    }

    /// The next `count` AND buckets.
    ///
    /// # Errors
    /// If fewer are left; so with all of these calls, and then nothing is taken.
    pub fn take_ands(&mut self, count: usize) -> Result<Vec<Run<GarblerAnds>>, Short> {
        self.ands.take("AND buckets", count)
    }

    /// The next `count` input wires of the garbler: their 0-labels.
    pub fn take_garbler_inputs(&mut self, count: usize) -> Result<Commitments, Short> {
        self.garbler_inputs.take_copy("garbler inputs", count)
    }

    /// The next `count` input wires of the evaluator.
    pub fn take_evaluator_inputs(&mut self, count: usize) -> Result<GarblerStrings, Short> {
        let mut all = GarblerStrings::default();
        for run in self.evaluator_inputs.take("evaluator inputs", count)? {
            all.labels.copy(&run.items.labels, run.range.clone());
            all.strings.copy(&run.items.strings, run.range.clone());
        }
        Ok(all)
    }

    /// The next `count` anchors: the 0-labels of their wires.
    pub fn take_anchors(&mut self, count: usize) -> Result<Commitments, Short> {
        self.anchors.take_copy("anchors", count)
    }

    /// The next `count` masks.
    pub fn take_masks(&mut self, count: usize) -> Result<Commitments, Short> {
        self.masks.take_copy("masks", count)
    }

    /// The next `count` ports: their 0-labels.
    pub fn take_ports(&mut self, count: usize) -> Result<Commitments, Short> {
        self.ports.take_copy("ports", count)
    }
}

/// Prints what is left.
impl fmt::Debug for GarblerStock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GarblerStock({})", self.left())
    }
}

/// The evaluator's material.
pub struct EvaluatorStock {
    /// The share of the garbler's commitment to `Δ`.
    pub delta_share: Zeroizing<Share>,
    ands: Queue<AndBuckets>,
    garbler_inputs: Queue<GarblerInputs>,
    evaluator_inputs: Queue<EvaluatorInputs>,
    anchors: Queue<AnchorWires>,
    masks: Queue<Masks>,
    ports: Queue<Zeroizing<Vec<Share>>>,
}

impl EvaluatorStock {
    /// No material.
    pub fn new(delta_share: Share) -> Self {
        Self {
            delta_share: Zeroizing::new(delta_share),
            ands: Queue::default(),
            garbler_inputs: Queue::default(),
            evaluator_inputs: Queue::default(),
            anchors: Queue::default(),
            masks: Queue::default(),
            ports: Queue::default(),
        }
    }

    /// Adds an epoch's material, to be used after what is there.
    pub fn push(&mut self, epoch: EvaluatorEpoch) {
        let all = epoch.counts().map(|count| 0..count);
        self.push_some(epoch, all);
    }

    /// Adds some of an epoch's material: of each kind the items of a range.
    pub(crate) fn push_some(&mut self, epoch: EvaluatorEpoch, ranges: [Range<usize>; 6]) {
        let [ands, garbler_inputs, evaluator_inputs, anchors, masks, ports] = ranges;
        self.ands.push(epoch.ands, ands);
        self.garbler_inputs.push(epoch.garbler_inputs, garbler_inputs);
        self.evaluator_inputs
            .push(epoch.evaluator_inputs, evaluator_inputs);
        self.anchors.push(epoch.anchors, anchors);
        self.masks.push(epoch.masks, masks);
        self.ports.push(epoch.ports, ports);
    }

    /// What is left.
    pub fn left(&self) -> Order {
        Order {
            ands: self.ands.left,
            garbler_inputs: self.garbler_inputs.left,
            evaluator_inputs: self.evaluator_inputs.left,
            anchors: self.anchors.left,
            masks: self.masks.left,
            ports: self.ports.left,
        }
    }

    /// The next `count` AND buckets.
    ///
    /// # Errors
    /// If fewer are left; so with all of these calls, and then nothing is taken.
    pub fn take_ands(&mut self, count: usize) -> Result<Vec<Run<AndBuckets>>, Short> {
        self.ands.take("AND buckets", count)
    }

    /// The next `count` input wires of the garbler.
    pub fn take_garbler_inputs(&mut self, count: usize) -> Result<Vec<Run<GarblerInputs>>, Short> {
        self.garbler_inputs.take("garbler inputs", count)
    }

    /// The next `count` input wires of the evaluator.
    pub fn take_evaluator_inputs(&mut self, count: usize) -> Result<Vec<Run<EvaluatorInputs>>, Short> {
        self.evaluator_inputs.take("evaluator inputs", count)
    }

    /// The next `count` anchors.
    pub fn take_anchors(&mut self, count: usize) -> Result<Vec<Run<AnchorWires>>, Short> {
        self.anchors.take("anchors", count)
    }

    /// The next `count` masks.
    pub fn take_masks(&mut self, count: usize) -> Result<Masks, Short> {
        let mut all = Masks::default();
        for run in self.masks.take("masks", count)? {
            append(&mut all.shares, &run.items.shares[run.range.clone()]);
            append(&mut all.bits, &run.items.bits[run.range.clone()]);
        }
        Ok(all)
    }

    /// The next `count` ports: the shares of their 0-labels.
    pub fn take_ports(&mut self, count: usize) -> Result<Zeroizing<Vec<Share>>, Short> {
        let mut all = Zeroizing::default();
        for run in self.ports.take("ports", count)? {
            append(&mut all, &run.items[run.range.clone()]);
        }
        Ok(all)
    }
}

/// Prints what is left.
impl fmt::Debug for EvaluatorStock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EvaluatorStock({})", self.left())
    }
}

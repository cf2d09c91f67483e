//! Material between [`generate`](crate::offline) and its use: typed, in order, each item used once.
//!
//! A stock hands items out by moving them: what was taken is no longer there, and nothing that is taken can be cloned.
//! Large kinds stay where `generate` put them, epoch by epoch, and are handed out as [`Run`]s of these arrays; epochs
//! may have buckets of different sizes. All of it is secret and wiped when the last run of an epoch is dropped.

mod stock;

use std::ops::Range;

use cenote_primitives::Block;
use cenote_session::Result;
use zeroize::Zeroizing;

use cenote_commit::Share;
use cenote_garble::{self as garble, Authenticator, Base, Buckets, GateTable};

use crate::room;

pub use stock::{EvaluatorStock, GarblerStock, Run};

/// Labels or strings that the garbler is committed to, at the garbler: item `i` is `messages[i]`, `shares[i]`.
#[derive(Default)]
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
    pub base: Base,
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
    pub base: Base,
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
            gates: Buckets::new(1, Base::default(), 0),
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
    /// Number of items of each kind, in the order of [`Order::counts`](super::Order::counts).
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
    /// Number of items of each kind, in the order of [`Order::counts`](super::Order::counts).
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
    /// None, with room for `count`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](cenote_session::Error::OutOfMemory) if there is no memory for them.
    pub(crate) fn with_room(count: usize) -> Result<Self> {
        Ok(Self {
            messages: room::empty(room::CIRCUITS, count)?,
            shares: room::empty(room::CIRCUITS, count)?,
        })
    }

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
        self.messages.extend_from_slice(&from.messages[range.clone()]);
        self.shares.extend_from_slice(&from.shares[range]);
    }
}

impl Authenticators {
    /// How many of gadget `gadget`'s authenticators accept `label`.
    pub fn accepting(&self, gadget: usize, label: Block) -> usize {
        let accepts = |at: &usize| {
            let number = self.base.number + u64::from(self.numbers[*at]);
            let label = label ^ self.solderings[*at];
            garble::accepts(self.base.start, number, &self.authenticators[*at], label)
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
            .map(|&number| self.base.number + u64::from(number))
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
        let start = self.base.start;
        garble::evaluate(start, &numbers, &left, &right, tables, &mut outputs[0]);
        garble::evaluate(start, &numbers, &left, &opposite, tables, &mut outputs[1]);
        let ones = outputs[0].iter().zip(&outputs[1]).filter(|(a, b)| a != b).count();
        2 * ones > self.size
    }
}

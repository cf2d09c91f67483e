//! Material between [`generate`](crate::offline) and its use: typed, in order, each item used once.
//!
//! A stock hands items out by moving them: what was taken is no longer there, and nothing that is taken can be cloned.
//! Large kinds stay where `generate` put them, epoch by epoch, and are handed out as [`Run`]s of these arrays; epochs
//! may have buckets of different sizes. All of it is secret and wiped when the last run of an epoch is dropped.

mod pack;
mod stock;

use std::ops::Range;

use bytemuck::Zeroable;
use cenote_primitives::Block;
use cenote_session::{Error, Result};
use zeroize::Zeroizing;

use cenote_commit::Share;
use cenote_garble::{self as garble, Authenticator, Base, Buckets, GateTable};

use crate::room;
use crate::setup::{EvaluatorKeys, GarblerKeys};
use pack::{pack, unpack};

pub(crate) use pack::{GROUP, Pack};
pub use stock::{EvaluatorStock, GarblerStock, Run, Stock};

/// One of the parties, by its keys: what it has of each kind of material.
pub trait Holder {
    /// AND buckets.
    type Ands: Pack;
    /// Input wires of the garbler.
    type GarblerInputs: Pack;
    /// Input wires of the evaluator.
    type EvaluatorInputs: Pack;
    /// Anchors.
    type Anchors: Pack;
    /// Masks.
    type Masks: Pack;
    /// Ports.
    type Ports: Pack;
}

impl Holder for GarblerKeys {
    type Ands = GarblerAnds;
    type GarblerInputs = Commitments;
    type EvaluatorInputs = GarblerStrings;
    type Anchors = Commitments;
    type Masks = Commitments;
    type Ports = Commitments;
}

impl Holder for EvaluatorKeys {
    type Ands = AndBuckets;
    type GarblerInputs = GarblerInputs;
    type EvaluatorInputs = EvaluatorInputs;
    type Anchors = AnchorWires;
    type Masks = Masks;
    type Ports = Zeroizing<Vec<Share>>;
}

/// What one epoch of `generate` gives a party.
pub struct Epoch<H: Holder> {
    /// AND buckets.
    pub ands: H::Ands,
    /// Input wires of the garbler.
    pub garbler_inputs: H::GarblerInputs,
    /// Input wires of the evaluator.
    pub evaluator_inputs: H::EvaluatorInputs,
    /// Anchors.
    pub anchors: H::Anchors,
    /// Masks.
    pub masks: H::Masks,
    /// Ports.
    pub ports: H::Ports,
}

/// What it gives the garbler.
pub type GarblerEpoch = Epoch<GarblerKeys>;
/// What it gives the evaluator.
pub type EvaluatorEpoch = Epoch<EvaluatorKeys>;

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

/// Gadgets of `size` parts each, at the evaluator. Part `j` of gadget `i` is entry `i * size + j`.
#[derive(Default)]
pub struct Gadgets<P, S> {
    /// Parts of a gadget.
    pub size: usize,
    /// What the numbers are relative to.
    pub base: Base,
    /// Numbers of the parts, less `base`.
    pub numbers: Vec<u32>,
    /// The parts.
    pub parts: Vec<P>,
    /// What the wires of the parts are soldered by.
    pub solderings: Vec<S>,
}

/// Gadgets of authenticators. A soldering is the 0-label of the gadget's wire ^ that of the authenticator's.
pub type Authenticators = Gadgets<Authenticator, Block>;

/// Gadgets of AND gates whose both inputs are one wire. A soldering is the 0-label of the anchor's wire ^ that of the gate's
/// left input, and of its right.
///
/// A label, with `Δ`, tells which bit it carries: nothing that the evaluator can do in an honest run, and all that it
/// needs to find the garbler's input when the garbler cheated.
pub type Anchors = Gadgets<GateTable, [Block; 2]>;

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

impl<H: Holder> Default for Epoch<H> {
    fn default() -> Self {
        Self {
            ands: H::Ands::default(),
            garbler_inputs: H::GarblerInputs::default(),
            evaluator_inputs: H::EvaluatorInputs::default(),
            anchors: H::Anchors::default(),
            masks: H::Masks::default(),
            ports: H::Ports::default(),
        }
    }
}

impl<H: Holder> Epoch<H> {
    /// Number of items of each kind, in the order of [`Order::counts`](super::Order::counts).
    pub fn counts(&self) -> [usize; 6] {
        [
            self.ands.count(),
            self.garbler_inputs.count(),
            self.evaluator_inputs.count(),
            self.anchors.count(),
            self.masks.count(),
            self.ports.count(),
        ]
    }

    /// Bytes of an item of each kind, about.
    pub(crate) fn item_bytes(&self) -> [usize; 6] {
        [
            self.ands.item_bytes(),
            self.garbler_inputs.item_bytes(),
            self.evaluator_inputs.item_bytes(),
            self.anchors.item_bytes(),
            self.masks.item_bytes(),
            self.ports.item_bytes(),
        ]
    }

    /// The bytes of some items of a kind.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no memory for them.
    pub(crate) fn pack(&self, kind: u8, range: Range<usize>) -> Result<Zeroizing<Vec<u8>>> {
        match kind {
            0 => pack(&self.ands, range),
            1 => pack(&self.garbler_inputs, range),
            2 => pack(&self.evaluator_inputs, range),
            3 => pack(&self.anchors, range),
            4 => pack(&self.masks, range),
            5 => pack(&self.ports, range),
            _ => Err(no_kind(kind)),
        }
    }

    /// An epoch of `count` items of a kind, from what [`Epoch::pack`] gave.
    ///
    /// # Errors
    /// [`Error::Storage`] if the bytes are not of so many, or there is no such kind; [`Error::OutOfMemory`] if there is no
    /// memory for them.
    pub(crate) fn unpack(kind: u8, bytes: &[u8], count: usize) -> Result<Self> {
        let mut epoch = Self::default();
        match kind {
            0 => epoch.ands = unpack(bytes, count)?,
            1 => epoch.garbler_inputs = unpack(bytes, count)?,
            2 => epoch.evaluator_inputs = unpack(bytes, count)?,
            3 => epoch.anchors = unpack(bytes, count)?,
            4 => epoch.masks = unpack(bytes, count)?,
            5 => epoch.ports = unpack(bytes, count)?,
            _ => return Err(no_kind(kind)),
        }
        Ok(epoch)
    }
}

fn no_kind(kind: u8) -> Error {
    Error::Storage(format!("there is no kind {kind} of material"))
}

impl<P: Zeroable, S: Zeroable> Gadgets<P, S> {
    /// Room for `count` gadgets of `size` parts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no memory for `what`.
    pub(crate) fn with_room(what: &str, size: usize, base: Base, count: usize) -> Result<Self> {
        Ok(Self {
            size,
            base,
            numbers: room::zeroed(what, size * count)?,
            parts: room::zeroed(what, size * count)?,
            solderings: room::zeroed(what, size * count)?,
        })
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
            garble::accepts(self.base.start, number, &self.parts[*at], label)
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
        let tables = &self.parts[gates];
        let mut outputs = [vec![Block::ZERO; numbers.len()], vec![Block::ZERO; numbers.len()]];
        let start = self.base.start;
        garble::evaluate(start, &numbers, &left, &right, tables, &mut outputs[0]);
        garble::evaluate(start, &numbers, &left, &opposite, tables, &mut outputs[1]);
        let ones = outputs[0].iter().zip(&outputs[1]).filter(|(a, b)| a != b).count();
        2 * ones > self.size
    }
}

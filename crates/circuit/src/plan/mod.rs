//! A circuit scheduled for execution: levels of parallel ANDs, local gates between them, and reused wire slots.

mod interpret;
mod pieces;
mod schedule;

use std::ops::Range;

use crate::ir::Circuit;

pub use cenote_primitives::kernels::LocalOp;
pub use pieces::Pieces;

/// A conjunction, `dst ← a ∧ b`. Slots are indices below [`Plan::slots`]; `a` and `b` may be the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AndOp {
    /// Slot written. It may be the slot of an operand of any AND of the same level.
    pub dst: u32,
    /// First operand.
    pub a: u32,
    /// Second operand.
    pub b: u32,
}

/// One round of a plan: the local operations in order, then all the ANDs at once, every operand being read before any
/// result is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Range of [`Plan::local_ops`].
    pub local: Range<usize>,
    /// Range of [`Plan::and_ops`]; empty only in the last level. No slot is written twice.
    pub ands: Range<usize>,
}

/// A circuit scheduled for execution.
///
/// The number of levels with ANDs is the circuit's AND depth. A slot holds one wire after another, so evaluation needs
/// memory for the wires that are alive, not for all. Gates that no output needs are left out. The plan of a circuit is
/// deterministic: parties that agree on the circuit agree on the plan.
///
/// ```
/// use cenote_circuit::{BitOrder, Builder, Plan};
/// let mut b = Builder::new();
/// let x = b.input("x", 3, BitOrder::Lsb);
/// let two = b.and(x[0], x[1]);
/// let three = b.and(two, x[2]);
/// b.output("all", &[three], BitOrder::Lsb);
/// let plan = Plan::new(&b.finish());
/// assert_eq!((plan.and_count(), plan.and_depth(), plan.slots()), (2, 2, 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    slots: usize,
    input_slots: Vec<u32>,
    output_slots: Vec<u32>,
    levels: Vec<Level>,
    local_ops: Vec<LocalOp>,
    and_ops: Vec<AndOp>,
    max_level_ands: usize,
    digest: [u8; 32],
}

impl Plan {
    /// The schedule of `circuit`, in time and memory linear in its size.
    pub fn new(circuit: &Circuit) -> Plan {
        schedule::schedule(circuit)
    }

    /// Number of slots an executor needs.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The slot where each input wire is put before the first level. All are different, those of unused inputs too.
    pub fn input_slots(&self) -> &[u32] {
        &self.input_slots
    }

    /// The slot where each output wire is found after the last level. Repeated outputs share a slot.
    pub fn output_slots(&self) -> &[u32] {
        &self.output_slots
    }

    /// The levels, in order. All but the last have ANDs; the last may have local operations only.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The local operations of all levels.
    pub fn local_ops(&self) -> &[LocalOp] {
        &self.local_ops
    }

    /// The ANDs of all levels.
    pub fn and_ops(&self) -> &[AndOp] {
        &self.and_ops
    }

    /// Number of ANDs executed.
    pub fn and_count(&self) -> usize {
        self.and_ops.len()
    }

    /// Number of levels with ANDs: the rounds of a protocol that pays one per level.
    pub fn and_depth(&self) -> usize {
        self.levels.iter().filter(|level| !level.ands.is_empty()).count()
    }

    /// The largest number of ANDs in one level.
    pub fn max_level_ands(&self) -> usize {
        self.max_level_ands
    }

    /// Number of input wires.
    pub fn input_wires(&self) -> usize {
        self.input_slots.len()
    }

    /// Number of output wires.
    pub fn output_wires(&self) -> usize {
        self.output_slots.len()
    }

    /// Bytes that its operations and slots take.
    pub fn bytes(&self) -> u64 {
        let ops = size_of_val(self.local_ops()) + size_of_val(self.and_ops());
        (ops + size_of_val(self.input_slots()) + size_of_val(self.output_slots())) as u64
    }

    /// The digest of the circuit (see [`Circuit::digest`]).
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

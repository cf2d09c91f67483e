//! Where the negations and constants of a plan end up.

use cenote_circuit::{LocalOp, Plan};

use crate::{Result, room};

/// Which values of a plan are to be negated where they are used, if its local operations are executed without constants and negations:
/// for protocols in which a negated wire is the same, plus something known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flips {
    /// Of each AND gate, in the order of the plan, whether its left and its right operand are negated.
    pub operands: Vec<[bool; 2]>,
    /// Of each output wire, in the order of the plan, whether it is negated.
    pub outputs: Vec<bool>,
}

impl Flips {
    /// Where the negations and constants of `plan` end up.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if there is no room for `what`.
    pub fn of(plan: &Plan, what: &str) -> Result<Self> {
        let mut flips: Vec<bool> = room::reserved(what, plan.slots())?;
        flips.resize(plan.slots(), false);
        let mut operands = room::reserved(what, plan.and_count())?;
        for level in plan.levels() {
            for op in &plan.local_ops()[level.local.clone()] {
                let (dst, flip) = match *op {
                    LocalOp::Xor { dst, a, b } => (dst, flips[a as usize] ^ flips[b as usize]),
                    LocalOp::Not { dst, a } => (dst, !flips[a as usize]),
                    LocalOp::Const { dst, bit } => (dst, bit),
                    LocalOp::Copy { dst, a } => (dst, flips[a as usize]),
                };
                flips[dst as usize] = flip;
            }
            let ands = &plan.and_ops()[level.ands.clone()];
            operands.extend(ands.iter().map(|op| [flips[op.a as usize], flips[op.b as usize]]));
            for op in ands {
                flips[op.dst as usize] = false;
            }
        }
        let mut outputs = room::reserved(what, plan.output_wires())?;
        outputs.extend(plan.output_slots().iter().map(|&slot| flips[slot as usize]));
        Ok(Self { operands, outputs })
    }
}

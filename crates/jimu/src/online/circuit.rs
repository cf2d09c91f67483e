//! How a circuit and its lanes are gone through.

use std::ops::Range;

use cenote_circuit::Plan;
use cenote_primitives::kernels::LocalOp;

/// Bytes of slots that stay in a core's own cache.
const WORKING_SET: usize = 640 << 10;

/// A plan, and where negations and constants end up: cells of negated wires are sums like all others, plus what negation adds.
/// Where that is is known ahead, and so slots hold cells without it.
pub(crate) struct Circuit {
    pub(crate) plan: Plan,
    /// For each AND gate, whether its operands are negated.
    pub(crate) operand_flips: Vec<[bool; 2]>,
    /// The same for the outputs.
    pub(crate) output_flips: Vec<bool>,
}

impl Circuit {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut flips = vec![false; plan.slots()];
        let mut operand_flips = Vec::with_capacity(plan.and_count());
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
            operand_flips.extend(ands.iter().map(|op| [flips[op.a as usize], flips[op.b as usize]]));
            for op in ands {
                flips[op.dst as usize] = false;
            }
        }
        let outputs = plan.output_slots().iter();
        Self {
            plan: plan.clone(),
            operand_flips,
            output_flips: outputs.map(|&slot| flips[slot as usize]).collect(),
        }
    }

    /// Lanes at once: as many as the working set allows for cells of `bytes`.
    pub(crate) fn width(&self, bytes: usize) -> usize {
        (WORKING_SET / bytes / self.plan.slots().max(1)).max(1)
    }

    /// Ranges of lanes of equal width, nearly.
    pub(crate) fn tiles(&self, lanes: usize, bytes: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let count = lanes.div_ceil(self.width(bytes)).max(1);
        (0..count).map(move |tile| tile * lanes / count..(tile + 1) * lanes / count)
    }
}

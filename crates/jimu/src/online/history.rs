//! How much wires keep because of what they come from, and when that is too much.

use cenote_circuit::Plan;
use cenote_pool::Role;

use crate::memory::Memory;
use crate::settings::Sizes;

/// Bytes that an operation of a circuit keeps, about.
const BYTES_OF_OP: u64 = 24;

/// Below this no history is too long.
const SHORT_HISTORY: u64 = 1 << 22;

/// What wires keep because of what they come from, in bytes at the evaluator, about. The same at both parties.
#[derive(Clone, Copy)]
pub(crate) struct History {
    of_bit: u64,
    of_anchored: u64,
}

impl History {
    pub(super) fn new(sizes: &Sizes) -> Self {
        let memory = Memory::of(sizes, Role::Evaluator);
        Self {
            of_bit: memory.cell(),
            of_anchored: memory.anchored(),
        }
    }

    /// Of a circuit. One that is run again and again is kept once, but counted each time: to anchor the outputs of one that is so large is
    /// nothing beside running it. It is counted in operations, as sizes in memory are not the same on all machines.
    pub(crate) fn of_circuit(self, plan: &Plan) -> u64 {
        // An AND gate is in the plan and in its level.
        let ops = plan.local_ops().len() + 2 * plan.and_ops().len();
        BYTES_OF_OP.saturating_mul((ops + plan.input_wires() + plan.output_wires()) as u64)
    }

    /// Of wires that were computed, put in or made of public bits, besides what they come from.
    pub(crate) fn of_outputs(self, wires: usize, lanes: usize) -> u64 {
        self.of_bit
            .saturating_mul(wires as u64)
            .saturating_mul(lanes as u64)
    }

    /// Of anchored wires.
    pub(crate) fn of_anchored(self, wires: usize, lanes: usize) -> u64 {
        self.of_anchored
            .saturating_mul(wires as u64)
            .saturating_mul(lanes as u64)
    }

    /// Whether wires are to be anchored because too much is kept for them: it costs as much as two AND gates a bit.
    pub(crate) fn is_too_long(self, history: u64, wires: usize, lanes: usize) -> bool {
        history >= SHORT_HISTORY.max(self.of_anchored(wires, lanes).saturating_mul(4))
    }
}

#[cfg(test)]
mod tests {
    use cenote_circuit::library;

    use super::*;

    /// When wires are anchored must be the same at both parties, whatever machines they have, and follows from the parameters.
    #[test]
    fn what_is_kept_is_counted_alike_everywhere() {
        let sizes = Sizes::search(40, 1 << 20, None).unwrap();
        let history = History::new(&sizes);
        // Two blocks of i-hash, three of a label, and a key; of each gate two rows, two solderings and a number.
        let gate = 16 * (2 * 3 + 2 * 3) + 8;
        assert_eq!((sizes.blocks(), sizes.anchor.bucket), (3, 9));
        assert_eq!(history.of_outputs(5, 7), 35 * 96);
        assert_eq!(history.of_anchored(5, 7), 35 * (96 + 9 * gate));
        let plan = Plan::new(&library::by_name("add8").unwrap());
        let ops = plan.local_ops().len() + 2 * plan.and_ops().len() + 16 + 8;
        assert_eq!(history.of_circuit(&plan), 24 * ops as u64);
        for (history_of, long) in [(SHORT_HISTORY - 1, false), (SHORT_HISTORY, true)] {
            assert_eq!(history.is_too_long(history_of, 1, 1), long);
        }
        let wide = 4 * history.of_anchored(100, 1000);
        assert!(history.is_too_long(wide, 100, 1000) && !history.is_too_long(wide - 1, 100, 1000));
    }
}

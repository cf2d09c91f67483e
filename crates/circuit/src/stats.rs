//! What a circuit costs.

use crate::ir::{Circuit, Gate};
use crate::plan::Plan;

/// Sizes of a circuit.
///
/// Gates are counted as they stand, needed or not; the AND depth and the live width are those of its [`Plan`], which
/// leaves out what no output needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Gates that cost messages.
    pub ands: usize,
    /// Gates that are free.
    pub xors: usize,
    /// Negations.
    pub nots: usize,
    /// Wires that repeat another.
    pub copies: usize,
    /// Constants.
    pub constants: usize,
    /// The largest number of ANDs on a path to an output.
    pub and_depth: usize,
    /// Wires that an executor keeps at once: [`Plan::slots`].
    pub live_width: usize,
    /// Input wires.
    pub inputs: usize,
    /// Output wires.
    pub outputs: usize,
    /// Input wires and gates.
    pub wires: usize,
}

impl Circuit {
    /// The sizes of the circuit. It is planned on the way, so this takes time linear in the circuit.
    pub fn statistics(&self) -> Statistics {
        let plan = Plan::new(self);
        let inputs = self.input_wires() as usize;
        let mut statistics = Statistics {
            and_depth: plan.and_depth(),
            live_width: plan.slots(),
            inputs,
            outputs: self.output_wires().len(),
            wires: inputs + self.gates().len(),
            ..Statistics::default()
        };
        for gate in self.gates() {
            *match gate {
                Gate::And(..) => &mut statistics.ands,
                Gate::Xor(..) => &mut statistics.xors,
                Gate::Not(_) => &mut statistics.nots,
                Gate::Copy(_) => &mut statistics.copies,
                Gate::Const(_) => &mut statistics.constants,
            } += 1;
        }
        statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BitOrder, Value};

    #[test]
    fn every_kind_is_counted() {
        let value = |width| Value {
            name: "v".into(),
            width,
            order: BitOrder::Lsb,
        };
        let gates = vec![
            Gate::And(0, 1),
            Gate::And(2, 0),
            Gate::And(3, 3), // no output needs it
            Gate::Xor(3, 1),
            Gate::Not(5),
            Gate::Copy(6),
            Gate::Const(true),
            Gate::Xor(7, 8),
        ];
        let circuit = Circuit::new(vec![value(2)], vec![value(2)], gates, vec![9, 9]).unwrap();
        let expected = Statistics {
            ands: 3,
            xors: 2,
            nots: 1,
            copies: 1,
            constants: 1,
            and_depth: 2,
            live_width: 3,
            inputs: 2,
            outputs: 2,
            wires: 10,
        };
        assert_eq!(circuit.statistics(), expected);
    }
}

//! The compact form of a circuit.

use std::ops::Range;

/// A wire of a [`Circuit`]: inputs come first, in order, then the output of each gate, in order.
pub type WireId = u32;

/// Which end of a value its first wire is.
///
/// Files of the same function disagree on this (the AES of Bristol Fashion reverses each value, the older AES does
/// not), so every value of a circuit declares it, and integers or hexadecimal strings are only ever laid on wires
/// through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// The first wire is the least significant bit of the integer.
    Lsb,
    /// The first wire is the most significant bit of the integer.
    Msb,
}

/// A named group of wires that enters or leaves a circuit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Name for people; files without names get `in0, in1, …` and `out0, out1, …`.
    pub name: String,
    /// Number of wires.
    pub width: u32,
    /// Which end the first wire is.
    pub order: BitOrder,
}

/// One gate. Its output wire is given by its position (see [`Circuit::gates`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Exclusive or of two wires.
    Xor(WireId, WireId),
    /// Conjunction of two wires: the only gate that costs communication.
    And(WireId, WireId),
    /// Negation.
    Not(WireId),
    /// A public constant.
    Const(bool),
    /// The same value again.
    Copy(WireId),
}

/// A Boolean circuit in topological order: every gate reads only inputs and earlier gates.
///
/// The fields are private so that the order holds by construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    input_wires: u32,
    gates: Vec<Gate>,
    output_wires: Vec<WireId>,
}

impl Circuit {
    /// A circuit from its parts, or `None` if a gate or output refers to a wire that is not defined before it, the
    /// output widths do not add up to `output_wires`, or there are more than 2^32 - 1 wires.
    pub fn new(
        inputs: Vec<Value>,
        outputs: Vec<Value>,
        gates: Vec<Gate>,
        output_wires: Vec<WireId>,
    ) -> Option<Self> {
        let width = |values: &[Value]| values.iter().map(|v| u64::from(v.width)).sum::<u64>();
        let input_wires = u32::try_from(width(&inputs)).ok()?;
        let wires = u64::from(input_wires) + gates.len() as u64;
        if wires > u64::from(u32::MAX) || width(&outputs) != output_wires.len() as u64 {
            return None;
        }
        for (next, gate) in (u64::from(input_wires)..).zip(&gates) {
            let defined = |w: WireId| u64::from(w) < next;
            let ordered = match *gate {
                Gate::Xor(a, b) | Gate::And(a, b) => defined(a) && defined(b),
                Gate::Not(a) | Gate::Copy(a) => defined(a),
                Gate::Const(_) => true,
            };
            if !ordered {
                return None;
            }
        }
        if output_wires.iter().any(|&w| u64::from(w) >= wires) {
            return None;
        }
        Some(Self {
            inputs,
            outputs,
            input_wires,
            gates,
            output_wires,
        })
    }

    /// The input values, in the order of their wires.
    pub fn inputs(&self) -> &[Value] {
        &self.inputs
    }

    /// The output values, in order.
    pub fn outputs(&self) -> &[Value] {
        &self.outputs
    }

    /// Declares another bit order for input value `index`.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn set_input_order(&mut self, index: usize, order: BitOrder) {
        self.inputs[index].order = order;
    }

    /// Declares another bit order for output value `index`.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn set_output_order(&mut self, index: usize, order: BitOrder) {
        self.outputs[index].order = order;
    }

    /// Number of input wires.
    pub fn input_wires(&self) -> u32 {
        self.input_wires
    }

    /// The wires of input value `index`: rows of the matrix of inputs.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn input_range(&self, index: usize) -> Range<usize> {
        range(&self.inputs, index)
    }

    /// The places of output value `index` in [`Circuit::output_wires`]: rows of the matrix of outputs.
    ///
    /// # Panics
    /// If there is no such value.
    pub fn output_range(&self, index: usize) -> Range<usize> {
        range(&self.outputs, index)
    }

    /// The gates; gate `i` defines wire `input_wires() + i`.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The wires of the outputs, all values one after the other. A wire may occur twice, or be an input.
    pub fn output_wires(&self) -> &[WireId] {
        &self.output_wires
    }
}

/// The rows of value `index` when values lie one after the other.
fn range(values: &[Value], index: usize) -> Range<usize> {
    let start = values[..index].iter().map(|value| value.width as usize).sum();
    start..start + values[index].width as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(widths: &[u32]) -> Vec<Value> {
        let value = |&width| Value {
            name: String::new(),
            width,
            order: BitOrder::Lsb,
        };
        widths.iter().map(value).collect()
    }

    fn is_circuit(inputs: &[u32], outputs: &[u32], gates: &[Gate], output_wires: &[WireId]) -> bool {
        Circuit::new(
            values(inputs),
            values(outputs),
            gates.to_vec(),
            output_wires.to_vec(),
        )
        .is_some()
    }

    #[test]
    fn gates_read_earlier_wires_only() {
        for kind in [
            |w| Gate::Xor(0, w),
            |w| Gate::And(0, w),
            |w| Gate::Xor(w, 0),
            |w| Gate::And(w, 0),
            Gate::Not,
            Gate::Copy,
        ] {
            assert!(is_circuit(&[2], &[], &[kind(1)], &[]));
            assert!(is_circuit(&[2], &[], &[Gate::Not(0), kind(2)], &[]));
            assert!(!is_circuit(&[2], &[], &[kind(2)], &[]), "a gate reads itself");
            assert!(
                !is_circuit(&[2], &[], &[kind(3), Gate::Not(0)], &[]),
                "a gate reads a later one"
            );
            assert!(!is_circuit(&[2], &[], &[kind(u32::MAX)], &[]));
        }
    }

    #[test]
    fn outputs_are_wires_and_as_many_as_declared() {
        assert!(is_circuit(&[1], &[2, 0, 1], &[Gate::Not(0)], &[0, 1, 0]));
        assert!(!is_circuit(&[1], &[1], &[Gate::Not(0)], &[2]));
        assert!(!is_circuit(&[1], &[1], &[], &[0, 0]));
        assert!(!is_circuit(&[1], &[2], &[], &[0]));
        assert!(is_circuit(&[], &[], &[], &[]));
    }

    #[test]
    fn wires_are_less_than_two_to_the_32() {
        assert!(is_circuit(&[u32::MAX], &[], &[], &[]));
        assert!(!is_circuit(&[u32::MAX], &[], &[Gate::Const(true)], &[]));
        assert!(!is_circuit(&[u32::MAX, 1], &[], &[], &[]));
        assert!(!is_circuit(&[1], &[u32::MAX, u32::MAX, 3], &[], &[0]));
    }

    #[test]
    fn orders_can_be_declared() {
        let mut circuit = Circuit::new(values(&[1, 1]), values(&[1, 1]), vec![], vec![1, 0]).unwrap();
        circuit.set_input_order(1, BitOrder::Msb);
        circuit.set_output_order(0, BitOrder::Msb);
        let orders = |values: &[Value]| values.iter().map(|value| value.order).collect::<Vec<_>>();
        assert_eq!(orders(circuit.inputs()), [BitOrder::Lsb, BitOrder::Msb]);
        assert_eq!(orders(circuit.outputs()), [BitOrder::Msb, BitOrder::Lsb]);
    }
}

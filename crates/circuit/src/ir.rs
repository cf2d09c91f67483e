//! The compact form of a circuit.

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

    /// The gates; gate `i` defines wire `input_wires() + i`.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The wires of the outputs, all values one after the other. A wire may occur twice, or be an input.
    pub fn output_wires(&self) -> &[WireId] {
        &self.output_wires
    }
}

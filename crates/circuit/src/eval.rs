//! Circuits on clear bits, gate by gate.

use cenote_primitives::BitMatrix;

use crate::ir::{Circuit, Gate};

/// The inputs of an evaluation do not have one row per input wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the circuit has {expected} input wires, but the inputs have {found} rows")]
pub struct InputShape {
    /// Input wires of the circuit.
    pub expected: usize,
    /// Rows of the matrix given.
    pub found: usize,
}

impl InputShape {
    pub(crate) fn check(inputs: &BitMatrix, expected: usize) -> Result<(), Self> {
        let found = inputs.rows();
        if found == expected {
            Ok(())
        } else {
            Err(Self { expected, found })
        }
    }
}

impl Circuit {
    /// Evaluates the circuit in the clear: row `i` of `inputs` is input wire `i`, row `i` of the result output wire
    /// `i`, and each lane is an instance of its own.
    ///
    /// It keeps every wire and follows the gates as they are written: the plain meaning of a circuit, which
    /// [`Plan::evaluate`](crate::Plan::evaluate) is tested against. For many gates or lanes the plan is faster.
    ///
    /// # Errors
    /// [`InputShape`] if `inputs` does not have one row per input wire.
    pub fn evaluate(&self, inputs: &BitMatrix) -> Result<BitMatrix, InputShape> {
        InputShape::check(inputs, self.input_wires() as usize)?;
        let mut outputs = BitMatrix::zeros(self.output_wires().len(), inputs.lanes());
        let mut wires = vec![0u64; self.input_wires() as usize + self.gates().len()];
        for column in 0..inputs.stride() {
            for (row, wire) in wires[..inputs.rows()].iter_mut().enumerate() {
                *wire = inputs.row(row)[column];
            }
            for (next, gate) in (self.input_wires() as usize..).zip(self.gates()) {
                let wire = |w: u32| wires[w as usize];
                wires[next] = match *gate {
                    Gate::Xor(a, b) => wire(a) ^ wire(b),
                    Gate::And(a, b) => wire(a) & wire(b),
                    Gate::Not(a) => !wire(a),
                    Gate::Const(bit) => {
                        if bit {
                            u64::MAX
                        } else {
                            0
                        }
                    }
                    Gate::Copy(a) => wire(a),
                };
            }
            for (row, &wire) in self.output_wires().iter().enumerate() {
                outputs.row_mut(row)[column] = wires[wire as usize];
            }
        }
        outputs.mask_padding();
        Ok(outputs)
    }
}

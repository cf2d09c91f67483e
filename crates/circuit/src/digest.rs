//! The digest by which parties agree on a circuit.

use sha2::{Digest, Sha256};

use crate::ir::{BitOrder, Circuit, Gate, Value};

/// Bytes hashed at a time.
const CHUNK: usize = 64 << 10;

impl Circuit {
    /// SHA-256 of the circuit: of the widths and bit orders of its values, its gates and its output wires.
    ///
    /// Names are for people and are left out. Circuits of the same function with other gates have other digests.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sink {
            hash: Sha256::new_with_prefix(b"cenote circuit, version 1\0"),
            buffer: Vec::with_capacity(CHUNK + 16),
        };
        for values in [self.inputs(), self.outputs()] {
            hash.count(values.len());
            for Value {
                name: _,
                width,
                order,
            } in values
            {
                hash.record(
                    match order {
                        BitOrder::Lsb => 0,
                        BitOrder::Msb => 1,
                    },
                    &[*width],
                );
            }
        }
        hash.count(self.gates().len());
        for gate in self.gates() {
            match *gate {
                Gate::Xor(a, b) => hash.record(0, &[a, b]),
                Gate::And(a, b) => hash.record(1, &[a, b]),
                Gate::Not(a) => hash.record(2, &[a]),
                Gate::Const(bit) => hash.record(3, &[u32::from(bit)]),
                Gate::Copy(a) => hash.record(4, &[a]),
            }
        }
        hash.count(self.output_wires().len());
        for &wire in self.output_wires() {
            hash.record(5, &[wire]);
        }
        hash.finish()
    }
}

/// Every record starts with its kind, which fixes its length, and every list with its count: no two circuits have the
/// same encoding.
struct Sink {
    hash: Sha256,
    buffer: Vec<u8>,
}

impl Sink {
    fn count(&mut self, count: usize) {
        self.buffer.extend_from_slice(&(count as u64).to_le_bytes());
    }

    fn record(&mut self, kind: u8, words: &[u32]) {
        self.buffer.push(kind);
        for word in words {
            self.buffer.extend_from_slice(&word.to_le_bytes());
        }
        if self.buffer.len() >= CHUNK {
            self.hash.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn finish(mut self) -> [u8; 32] {
        self.hash.update(&self.buffer);
        self.hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, width: u32) -> Value {
        Value {
            name: name.into(),
            width,
            order: BitOrder::Lsb,
        }
    }

    fn circuit(inputs: &[u32], gates: &[Gate], outputs: &[u32]) -> Circuit {
        let inputs = inputs.iter().map(|&width| value("in", width)).collect();
        let width = outputs.len() as u32;
        Circuit::new(
            inputs,
            vec![value("out", width)],
            gates.to_vec(),
            outputs.to_vec(),
        )
        .unwrap()
    }

    #[test]
    fn every_part_but_the_names_counts() {
        let base = circuit(&[2], &[Gate::Xor(0, 1)], &[2]);
        let mut variants = vec![
            base.clone(),
            circuit(&[1, 1], &[Gate::Xor(0, 1)], &[2]),
            circuit(&[3], &[Gate::Xor(0, 1)], &[2]),
            circuit(&[2], &[Gate::And(0, 1)], &[2]),
            circuit(&[2], &[Gate::Xor(1, 0)], &[2]),
            circuit(&[2], &[Gate::Not(0)], &[2]),
            circuit(&[2], &[Gate::Copy(0)], &[2]),
            circuit(&[2], &[Gate::Const(false)], &[2]),
            circuit(&[2], &[Gate::Const(true)], &[2]),
            circuit(&[2], &[Gate::Xor(0, 1)], &[1]),
            circuit(&[2], &[Gate::Xor(0, 1)], &[2, 2]),
            circuit(&[2], &[], &[1]),
        ];
        let mut input_order = base.clone();
        input_order.set_input_order(0, BitOrder::Msb);
        let mut output_order = base.clone();
        output_order.set_output_order(0, BitOrder::Msb);
        variants.extend([input_order, output_order]);
        let mut digests: Vec<_> = variants.iter().map(Circuit::digest).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), variants.len());

        let renamed = Circuit::new(
            vec![value("x", 2)],
            vec![value("y", 1)],
            vec![Gate::Xor(0, 1)],
            vec![2],
        );
        assert_eq!(renamed.unwrap().digest(), base.digest());
    }

    #[test]
    fn the_encoding_is_the_documented_one() {
        let mut encoding = b"cenote circuit, version 1\0".to_vec();
        encoding.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]); // one input: LSB, 2 wires
        encoding.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]); // one output: LSB, 1 wire
        encoding.extend([1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]); // one gate: AND 0 1
        encoding.extend([1, 0, 0, 0, 0, 0, 0, 0, 5, 2, 0, 0, 0]); // one output wire: 2
        let expected: [u8; 32] = Sha256::digest(&encoding).into();
        assert_eq!(circuit(&[2], &[Gate::And(0, 1)], &[2]).digest(), expected);
    }
}

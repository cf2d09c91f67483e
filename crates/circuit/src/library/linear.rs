//! Linear maps over GF(2) with few XORs, by Paar's greedy method ("Optimized arithmetic for Reed–Solomon encoders",
//! 1997): again and again, the pair of terms that occurs together in most rows becomes a term of its own.

use crate::{Bit, Builder};

/// A linear map of at most 64 inputs and 64 outputs, as a straight-line program of XORs.
#[derive(Clone, Debug)]
pub(super) struct LinearMap {
    inputs: usize,
    /// Each step XORs two earlier terms; terms are the inputs, then the steps.
    steps: Vec<(usize, usize)>,
    /// The term of each output; a row of zeros has none.
    outputs: Vec<Option<usize>>,
}

impl LinearMap {
    /// The map whose output `i` is the XOR of the inputs named by the bits of `rows[i]`.
    ///
    /// # Panics
    /// If there are more than 64 rows or inputs.
    pub(super) fn new(inputs: usize, rows: &[u64]) -> Self {
        assert!(inputs <= 64 && rows.len() <= 64, "at most 64 inputs and outputs");
        // For each term, the rows that still contain it.
        let mut terms: Vec<u64> = (0..inputs)
            .map(|i| (0..rows.len()).fold(0, |column, r| column | (rows[r] >> i & 1) << r))
            .collect();
        let mut steps = Vec::new();
        loop {
            let mut best = (0, 0, 0);
            for j in 1..terms.len() {
                if terms[j].count_ones() <= best.0 {
                    continue;
                }
                for i in 0..j {
                    let together = (terms[i] & terms[j]).count_ones();
                    if together > best.0 {
                        best = (together, i, j);
                    }
                }
            }
            let (together, i, j) = best;
            if together == 0 {
                break;
            }
            let both = terms[i] & terms[j];
            terms[i] &= !both;
            terms[j] &= !both;
            terms.push(both);
            steps.push((i, j));
        }
        let outputs = (0..rows.len())
            .map(|r| terms.iter().position(|column| column >> r & 1 == 1))
            .collect();
        Self {
            inputs,
            steps,
            outputs,
        }
    }

    /// The image of `bits`.
    ///
    /// # Panics
    /// If there are not as many as inputs.
    pub(super) fn apply(&self, b: &mut Builder, bits: &[Bit]) -> Vec<Bit> {
        assert_eq!(bits.len(), self.inputs, "as many bits as inputs");
        let mut terms = bits.to_vec();
        for &(i, j) in &self.steps {
            terms.push(b.xor(terms[i], terms[j]));
        }
        let output = |term: &Option<usize>| term.map_or(Bit::FALSE, |t| terms[t]);
        self.outputs.iter().map(output).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitOrder;
    use cenote_primitives::BitMatrix;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn maps_are_right_and_never_longer_than_written_out(
            inputs in 1u32..=12,
            rows in prop::collection::vec(any::<u64>(), 0..=12),
        ) {
            let rows: Vec<u64> = rows.iter().map(|row| row & ((1 << inputs) - 1)).collect();
            let map = LinearMap::new(inputs as usize, &rows);
            let written_out: u32 = rows.iter().map(|row| row.count_ones().saturating_sub(1)).sum();
            prop_assert!(map.steps.len() <= written_out as usize);

            let mut b = Builder::new();
            let x = b.input("x", inputs, BitOrder::Lsb);
            let y = map.apply(&mut b, &x);
            b.output("y", &y, BitOrder::Lsb);
            let circuit = b.finish();
            let lanes = 1 << inputs;
            let all = BitMatrix::from_fn(inputs as usize, lanes, |i, lane| lane >> i & 1 == 1);
            let images = circuit.evaluate(&all).unwrap();
            for (r, row) in rows.iter().enumerate() {
                for lane in 0..lanes {
                    let parity = (row & lane as u64).count_ones() % 2 == 1;
                    prop_assert_eq!(images.get(r, lane), parity);
                }
            }
        }
    }
}

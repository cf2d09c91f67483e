//! Truth tables of three bits as XORs and the fewest ANDs.
//!
//! A function of three bits is a polynomial over GF(2). Its cubic and quadratic part is that of one product of affine
//! forms: `(x ⊕ a)(y ⊕ b)(z ⊕ c)` has the quadratic part `c·xy ⊕ b·xz ⊕ a·yz`, whatever `a`, `b` and `c`; without a
//! cubic part, `(x ⊕ r·z)(y ⊕ q·z)` has `xy ⊕ q·xz ⊕ r·yz`. So degree 3 takes two ANDs, degree 2 one, degree 1 none, and
//! no circuit has less, because a product of `k` ANDs has degree at most `k + 1`.

use crate::{Bit, Builder};

/// The three bits themselves as truth tables: bit `i` of a table is its value where the first bit is bit 0 of `i`.
const X: [u8; 3] = [0xaa, 0xcc, 0xf0];

/// The bit that `table` has for `bits`.
pub(super) fn look_up(b: &mut Builder, table: u8, bits: [Bit; 3]) -> Bit {
    let product_forms = factors(polynomial(table));
    let mut product = Bit::constant(!product_forms.is_empty());
    let mut product_table = if product_forms.is_empty() { 0 } else { u8::MAX };
    for form in product_forms {
        let factor = affine(b, form, bits);
        product = b.and(product, factor);
        product_table &= form;
    }
    let rest = affine(b, table ^ product_table, bits);
    b.xor(product, rest)
}

/// The coefficients of the polynomial of a table: bit `m` is that of the product of the bits in the mask `m`.
fn polynomial(table: u8) -> u8 {
    let table = table ^ (table << 1 & X[0]);
    let table = table ^ (table << 2 & X[1]);
    table ^ (table << 4 & X[2])
}

/// Affine forms, as tables, whose product has the quadratic and cubic part of a polynomial.
fn factors(polynomial: u8) -> Vec<u8> {
    let times = |mask: u8, form: u8| if polynomial >> mask & 1 == 1 { form } else { 0 };
    let has = |mask: u8| times(mask, 1) == 1;
    let (xy, xz, yz, xyz) = (0b011, 0b101, 0b110, 0b111);
    if has(xyz) {
        let one = u8::MAX;
        vec![
            X[0] ^ times(yz, one),
            X[1] ^ times(xz, one),
            X[2] ^ times(xy, one),
        ]
    } else if has(xy) {
        vec![X[0] ^ times(yz, X[2]), X[1] ^ times(xz, X[2])]
    } else if has(xz) {
        vec![X[0] ^ times(yz, X[1]), X[2]]
    } else if has(yz) {
        vec![X[1], X[2]]
    } else {
        Vec::new()
    }
}

/// An affine form, given as a table.
fn affine(b: &mut Builder, form: u8, bits: [Bit; 3]) -> Bit {
    let constant = Bit::constant(form & 1 == 1);
    (0..3).fold(constant, |sum, i| {
        let present = (form >> (1 << i) ^ form) & 1 == 1;
        if present { b.xor(sum, bits[i]) } else { sum }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitOrder;
    use cenote_primitives::BitMatrix;

    /// Degree of the function that a table is of three bits.
    fn degree(table: u8) -> usize {
        let masks = (0..8u8).filter(|mask| {
            // A coefficient is the parity of the table below its mask.
            (0..8u8).filter(|i| i & mask == *i && table >> i & 1 == 1).count() % 2 == 1
        });
        masks.map(|mask| mask.count_ones() as usize).max().unwrap_or(0)
    }

    /// Every table on every choice of inputs: three wires, the same wire again, negated or not, and constants.
    #[test]
    fn every_table_has_the_fewest_ands() {
        let all = BitMatrix::from_fn(3, 8, |i, lane| lane >> i & 1 == 1);
        for table in 0..=u8::MAX {
            for choice in 0..8usize.pow(3) {
                let pick = |i: usize| choice >> (3 * i) & 7;
                let value = |i: usize, lane: usize| match pick(i) {
                    source @ 0..6 => (lane >> (source / 2) ^ source) & 1,
                    constant => constant & 1,
                };
                let mut b = Builder::new();
                let x = b.input("x", 3, BitOrder::Lsb);
                let bits = [0, 1, 2].map(|i| match pick(i) {
                    source @ 0..6 if source % 2 == 1 => !x[source / 2],
                    source @ 0..6 => x[source / 2],
                    constant => Bit::constant(constant & 1 == 1),
                });
                let result = look_up(&mut b, table, bits);
                b.output("y", &[result], BitOrder::Lsb);
                let circuit = b.finish();
                let expected = (0..8).fold(0u8, |function, lane| {
                    let index = value(0, lane) | value(1, lane) << 1 | value(2, lane) << 2;
                    function | (table >> index & 1) << lane
                });
                let found = circuit.evaluate(&all).unwrap();
                let found = (0..8).fold(0u8, |function, lane| {
                    function | u8::from(found.get(0, lane)) << lane
                });
                assert_eq!(found, expected, "{table:08b} {choice:o}");
                let ands = circuit
                    .gates()
                    .iter()
                    .filter(|gate| matches!(gate, crate::Gate::And(..)))
                    .count();
                assert_eq!(ands, degree(expected).saturating_sub(1), "{table:08b} {choice:o}");
            }
        }
    }
}

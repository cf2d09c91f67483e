//! Circuits on integers against plain functions.

use cenote_circuit::{Bit, BitOrder, Builder, Circuit};
use cenote_primitives::BitMatrix;

/// A circuit on inputs of the given widths.
pub(crate) fn circuit(
    widths: &[usize],
    f: impl FnOnce(&mut Builder, &[Vec<Bit>]) -> Vec<Vec<Bit>>,
) -> Circuit {
    let mut b = Builder::new();
    let inputs: Vec<Vec<Bit>> = widths
        .iter()
        .map(|&w| b.input("x", w as u32, BitOrder::Lsb))
        .collect();
    for output in f(&mut b, &inputs) {
        b.output("z", &output, BitOrder::Lsb);
    }
    b.finish()
}

/// The outputs for every row of inputs.
pub(crate) fn run(circuit: &Circuit, rows: &[Vec<u128>]) -> Vec<Vec<u128>> {
    let place: Vec<(usize, usize)> = (0..circuit.inputs().len())
        .flat_map(|value| (0..circuit.input_range(value).len()).map(move |bit| (value, bit)))
        .collect();
    let inputs = BitMatrix::from_fn(place.len(), rows.len(), |wire, lane| {
        let (value, bit) = place[wire];
        rows[lane][value] >> bit & 1 == 1
    });
    let outputs = circuit.evaluate(&inputs).unwrap();
    let output = |lane, index| {
        let wires = circuit.output_range(index).enumerate();
        wires.fold(0, |z, (bit, wire)| z | u128::from(outputs.get(wire, lane)) << bit)
    };
    (0..rows.len())
        .map(|lane| {
            (0..circuit.outputs().len())
                .map(|index| output(lane, index))
                .collect()
        })
        .collect()
}

/// That the circuit of `f` gives `expected` on all rows; its number of ANDs.
pub(crate) fn check(
    widths: &[usize],
    rows: &[Vec<u128>],
    f: impl FnOnce(&mut Builder, &[Vec<Bit>]) -> Vec<Vec<Bit>>,
    expected: impl Fn(&[u128]) -> Vec<u128>,
) -> usize {
    let circuit = circuit(widths, f);
    for (row, result) in rows.iter().zip(run(&circuit, rows)) {
        assert_eq!(result, expected(row), "widths {widths:?}, inputs {row:x?}");
    }
    circuit.statistics().ands
}

/// All values of the widths, first fastest.
pub(crate) fn everything(widths: &[usize]) -> Vec<Vec<u128>> {
    let total: usize = widths.iter().sum();
    (0..1u128 << total)
        .map(|mut all| {
            let take = |&width: &usize| {
                let value = all & mask(width);
                all >>= width;
                value
            };
            widths.iter().map(take).collect()
        })
        .collect()
}

/// The largest number of `width` bits.
pub(crate) fn mask(width: usize) -> u128 {
    1u128
        .checked_shl(width as u32)
        .map_or(u128::MAX, |power| power - 1)
}

/// Numbers of the widths that follow from `seed`, of all sizes, and those at the ends.
pub(crate) fn samples(widths: &[usize], count: usize, seed: u64) -> Vec<Vec<u128>> {
    let mut state = seed;
    let mut next = || {
        // A congruential generator of 64 bits, of which the upper half is good.
        let mut half = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            u128::from(state >> 32)
        };
        half() << 96 | half() << 64 | half() << 32 | half()
    };
    (0..count)
        .map(|_| {
            let mut number = |&width: &usize| {
                let (kind, bits) = (next() >> 120, next());
                match kind % 8 {
                    0 => mask(width) & !(bits >> 126),
                    1 => (bits >> 126) & mask(width),
                    2 => (1u128 << (width.max(1) - 1)) & mask(width),
                    3 | 4 => (bits & mask(width)) >> ((kind >> 3) as usize * width / 32).min(127),
                    _ => bits & mask(width),
                }
            };
            widths.iter().map(&mut number).collect()
        })
        .collect()
}

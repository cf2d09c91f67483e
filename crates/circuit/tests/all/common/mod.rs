//! Random circuits and inputs.

use cenote_circuit::{BitOrder, Circuit, Gate, Value};
use cenote_primitives::BitMatrix;
use proptest::collection::vec;
use proptest::prelude::*;

/// A gate of any kind; its operands are positions among the wires before it, as fractions of 2^16 counted backwards.
type Shape = (u8, u16, u16);

/// Circuits with up to `gates` gates of all kinds, up to `inputs` input values and `outputs` output values of up to
/// `width` wires. Outputs may be anything: inputs, constants, and the same wire again.
pub(crate) fn circuits(
    gates: usize,
    inputs: usize,
    outputs: usize,
    width: u32,
) -> impl Strategy<Value = Circuit> {
    (
        vec(0..=width, 0..=inputs),
        vec(any::<Shape>(), 0..=gates),
        vec(vec(any::<u16>(), 0..=width as usize), 0..=outputs),
        any::<bool>(),
    )
        .prop_map(|(inputs, shapes, outputs, near)| build(&inputs, &shapes, &outputs, near))
}

fn build(inputs: &[u32], shapes: &[Shape], outputs: &[Vec<u16>], near: bool) -> Circuit {
    let first = inputs.iter().sum::<u32>();
    let mut wires = first;
    // `near` prefers wires just before, which makes deep circuits; else they are wide.
    let pick = |wires: u32, choice: u16| {
        let span = if near { wires.min(8) } else { wires };
        wires - 1 - ((u64::from(choice) * u64::from(span)) >> 16) as u32
    };
    let mut gates = Vec::new();
    for &(kind, a, b) in shapes {
        let gate = match kind % 16 {
            _ if wires == 0 => Gate::Const(kind % 2 == 0),
            0 => Gate::Const(a % 2 == 0),
            1 => Gate::Copy(pick(wires, a)),
            2 | 3 => Gate::Not(pick(wires, a)),
            4..10 => Gate::Xor(pick(wires, a), pick(wires, b)),
            _ => Gate::And(pick(wires, a), pick(wires, b)),
        };
        gates.push(gate);
        wires += 1;
    }
    let output_wires: Vec<u32> = outputs
        .iter()
        .flatten()
        .filter(|_| wires > 0)
        .map(|&choice| ((u64::from(choice) * u64::from(wires)) >> 16) as u32)
        .collect();
    let value = |width: u32| Value {
        name: "v".into(),
        width,
        order: BitOrder::Lsb,
    };
    let outputs = if wires == 0 {
        outputs.iter().map(|_| value(0)).collect()
    } else {
        outputs.iter().map(|bits| value(bits.len() as u32)).collect()
    };
    Circuit::new(
        inputs.iter().map(|&width| value(width)).collect(),
        outputs,
        gates,
        output_wires,
    )
    .unwrap()
}

/// Inputs that follow from `seed`, with `lanes` lanes.
pub(crate) fn inputs(circuit: &Circuit, lanes: usize, seed: u64) -> BitMatrix {
    let mut state = seed;
    BitMatrix::from_fn(circuit.input_wires() as usize, lanes, |_, _| {
        // The multiplier and increment of a 64-bit congruential generator, of which the top bit is fair.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 63 == 1
    })
}

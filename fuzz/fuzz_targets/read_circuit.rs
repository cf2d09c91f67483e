//! Any text is a circuit or is refused; a circuit read from a text is no larger than the text justifies, its plan
//! computes the same function, and it reads back from both formats.
#![no_main]

use cenote_circuit::format::{Format, WriteError, read, write};
use cenote_circuit::{Circuit, Plan};
use cenote_primitives::BitMatrix;
use libfuzzer_sys::fuzz_target;

/// Inputs that a circuit may ignore, in any text.
const UNUSED_INPUTS: usize = 1 << 16;

fn outputs(circuit: &Circuit) -> BitMatrix {
    let inputs = BitMatrix::from_fn(circuit.input_wires() as usize, 64, |row, lane| {
        (row * 64 + lane).wrapping_mul(0x9e37_79b9) >> 16 & 1 == 1
    });
    let outputs = circuit.evaluate(&inputs).expect("one row per input wire");
    assert!(
        Plan::new(circuit)
            .evaluate(&inputs)
            .expect("one row per input wire")
            == outputs
    );
    outputs
}

fuzz_target!(|text: &str| {
    let Ok(circuit) = read(text) else { return };
    assert!(circuit.input_wires() as usize <= text.len() + UNUSED_INPUTS);
    assert!(circuit.gates().len() <= text.len());
    let expected = outputs(&circuit);
    for format in [Format::Fashion, Format::Bristol] {
        let mut written = Vec::new();
        match write(&circuit, format, &mut written) {
            Ok(()) => {
                let again = read(std::str::from_utf8(&written).expect("circuits are ASCII"));
                match again {
                    Ok(again) => assert!(outputs(&again) == expected),
                    // Reading allows a circuit to ignore inputs in proportion to its text, and the copy may be shorter.
                    Err(error) => assert!(circuit.input_wires() as usize > UNUSED_INPUTS, "{error}"),
                }
            }
            Err(WriteError::TooManyValues { .. } | WriteError::NoInput) => assert!(format == Format::Bristol),
            Err(error) => panic!("{error}"),
        }
    }
});

//! Circuit files: what is written reads back, what is malformed is refused with line and reason, and nothing panics.

use cenote_circuit::format::{Format, WriteError, read, write};
use cenote_circuit::{BitOrder, Circuit, Gate, Value};
use proptest::prelude::*;

fn text(circuit: &Circuit, format: Format) -> Result<String, WriteError> {
    let mut text = Vec::new();
    write(circuit, format, &mut text)?;
    Ok(String::from_utf8(text).unwrap())
}

fn widths(values: &[Value]) -> Vec<u32> {
    values.iter().map(|value| value.width).collect()
}

fn same_function(left: &Circuit, right: &Circuit, seed: u64) {
    let inputs = crate::common::inputs(left, 64, seed);
    assert!(left.evaluate(&inputs).unwrap() == right.evaluate(&inputs).unwrap());
}

fn value(name: &str, width: u32) -> Value {
    Value {
        name: name.into(),
        width,
        order: BitOrder::Lsb,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fashion_reads_back(circuit in crate::common::circuits(100, 4, 4, 9), seed: u64) {
        let again = read(&text(&circuit, Format::Fashion).unwrap()).unwrap();
        prop_assert_eq!(widths(circuit.inputs()), widths(again.inputs()));
        prop_assert_eq!(widths(circuit.outputs()), widths(again.outputs()));
        same_function(&circuit, &again, seed);
        // Once the outputs are the last gates, nothing changes any more.
        let once = text(&again, Format::Fashion).unwrap();
        prop_assert_eq!(&text(&read(&once).unwrap(), Format::Fashion).unwrap(), &once);
    }

    #[test]
    fn bristol_reads_back(circuit in crate::common::circuits(100, 2, 1, 9), seed: u64) {
        match text(&circuit, Format::Bristol) {
            Ok(text) => {
                let again = read(&text).unwrap();
                let some = |values: &[Value]| widths(values).into_iter().filter(|&w| w > 0).collect::<Vec<_>>();
                prop_assert_eq!(some(circuit.inputs()), widths(again.inputs()));
                prop_assert_eq!(some(circuit.outputs()), widths(again.outputs()));
                prop_assert!(!text.contains("EQ"), "the older format has no constants and no copies");
                same_function(&circuit, &again, seed);
            }
            Err(WriteError::NoInput) => {
                prop_assert_eq!(circuit.input_wires(), 0);
                prop_assert!(!circuit.gates().is_empty());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in any::<String>()) {
        let _ = read(&text);
    }

    /// Random text in the alphabet of circuit files gets further than random text.
    #[test]
    fn text_of_words_does_not_panic(
        words in proptest::collection::vec(
            prop_oneof![
                4 => (0u32..9).prop_map(|number| number.to_string()),
                1 => any::<u32>().prop_map(|number| number.to_string()),
                3 => Just("\n".to_string()),
                2 => proptest::sample::select(vec!["XOR", "AND", "INV", "EQ", "EQW", "MAND", "OR", "NOT", "\r\n", "x"])
                    .prop_map(String::from),
            ],
            0..60,
        )
    ) {
        if let Ok(circuit) = read(&words.join(" ")) {
            let _ = circuit.statistics();
        }
    }

    /// A circuit file with a few bytes changed is a circuit or is refused; a circuit it then is writes and reads back.
    #[test]
    fn mutated_files_do_not_panic(
        circuit in crate::common::circuits(30, 2, 2, 5),
        old: bool,
        edits in proptest::collection::vec((any::<u16>(), 0u8..3, proptest::sample::select(&b"0123456789 \n\rXANDORIVEQWM-"[..])), 0..4),
    ) {
        let format = if old { Format::Bristol } else { Format::Fashion };
        let Ok(text) = text(&circuit, format) else { return Ok(()) };
        let mut bytes = text.into_bytes();
        for (at, kind, byte) in edits {
            let at = (usize::from(at) * bytes.len()) >> 16;
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => _ = bytes.remove(at),
            }
        }
        if let Ok(circuit) = read(std::str::from_utf8(&bytes).unwrap()) {
            let mut again = Vec::new();
            write(&circuit, Format::Fashion, &mut again).unwrap();
            same_function(&circuit, &read(std::str::from_utf8(&again).unwrap()).unwrap(), 3);
        }
    }
}

#[test]
fn every_operation_of_both_formats() {
    let fashion = "7 10\n2 1 2\n1 6\n\n1 1 1 3 EQ\n1 1 0 4 EQ\n1 1 2 5 EQW\n2 1 0 1 6 XOR\n4 2 0 2 1 3 7 8 MAND\n1 1 0 9 INV\n";
    let error = read(fashion).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 10: the text ends after 6 gates, but the first line declares 7"
    );
    let circuit = read(&fashion.replace("7 10", "6 10")).unwrap();
    assert_eq!(
        circuit.gates(),
        [
            Gate::Const(true),
            Gate::Const(false),
            Gate::Copy(2),
            Gate::Xor(0, 1),
            Gate::And(0, 1),
            Gate::And(2, 3),
            Gate::Not(0),
        ]
    );
    assert_eq!(circuit.inputs(), [value("in0", 1), value("in1", 2)]);
    assert_eq!(circuit.outputs(), [value("out0", 6)]);
    assert_eq!(circuit.output_wires(), [4, 5, 6, 7, 8, 9]);

    let old = read("3 5\n1 1   2\n\n1 1 0 2 NOT\n1 1 1 3 INV\n2 1 0 1 4 OR").unwrap();
    let expected = [
        Gate::Not(0),
        Gate::Not(1),
        Gate::Xor(0, 1),
        Gate::And(0, 1),
        Gate::Xor(4, 5),
    ];
    assert_eq!(old.gates(), expected);
    assert_eq!(old.inputs(), [value("in0", 1), value("in1", 1)]);
    assert_eq!(old.output_wires(), [3, 6]);
    let unary = read("1 4\n3 0 1\n1 1 1 3 INV").unwrap();
    assert_eq!(unary.inputs(), [value("in0", 3)]);
}

#[test]
fn wires_may_be_numbered_in_any_way() {
    let circuit = read("3 5\n1 2\n1 2\n2 1 0 1 4 AND\n2 1 4 0 2 XOR\n1 1 2 3 INV\n").unwrap();
    assert_eq!(circuit.gates(), [Gate::And(0, 1), Gate::Xor(2, 0), Gate::Not(3)]);
    assert_eq!(circuit.output_wires(), [4, 2]);
}

#[test]
fn layout_is_free() {
    let expected = read("2 4\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n1 1 2 3 INV\n").unwrap();
    for text in [
        "2 4\n2 1 1\n1 1\n2 1 0 1 2 AND\n1 1 2 3 INV",
        "2 4\r\n2 1 1 \r\n1 1\r\n\r\n2 1 0 1 2 AND\r\n1 1 2 3 INV\r\n\r\n",
        "\n\n  2\t4  \n\n2  1   1\n\n1 1\n2 1   0 1 2\tAND\n\n\n  1 1 2 3 INV \n \n",
    ] {
        assert_eq!(read(text).unwrap(), expected);
    }
}

/// A text whose outputs are its inputs.
#[test]
fn no_gates() {
    let circuit = read("0 4\n2 1 3\n1 2\n").unwrap();
    assert_eq!(circuit.output_wires(), [2, 3]);
    let circuit = read("0 4\n1 3 2\n").unwrap();
    assert_eq!((circuit.inputs().len(), circuit.output_wires()), (2, &[2, 3][..]));
    assert_eq!(read("0 0\n0\n0\n").unwrap().gates(), []);
    assert_eq!(
        read("1 1\n0\n1 1\n1 1 1 0 EQ\n").unwrap().gates(),
        [Gate::Const(true)]
    );
}

#[test]
fn outputs_that_are_no_gates_of_their_own_are_copied() {
    let circuit = Circuit::new(
        vec![value("in0", 2)],
        vec![value("out0", 4)],
        vec![Gate::And(0, 1), Gate::Const(true), Gate::Not(2)],
        vec![2, 0, 2, 3],
    )
    .unwrap();
    assert_eq!(
        text(&circuit, Format::Fashion).unwrap(),
        "5 7\n1 2\n1 4\n\n2 1 0 1 3 AND\n1 1 1 6 EQ\n1 1 3 2 INV\n1 1 0 4 EQW\n1 1 3 5 EQW\n"
    );
    assert_eq!(
        text(&circuit, Format::Bristol).unwrap(),
        "6 8\n2 0   4\n\n2 1 0 0 2 XOR\n2 1 0 1 4 AND\n1 1 2 7 INV\n1 1 4 3 INV\n2 1 0 2 5 XOR\n2 1 4 2 6 XOR\n"
    );
}

#[test]
fn the_older_format_cannot_hold_every_circuit() {
    let many = Circuit::new(vec![value("a", 1); 3], vec![value("b", 1)], vec![], vec![0]).unwrap();
    assert_eq!(
        text(&many, Format::Bristol).unwrap_err().to_string(),
        "the older Bristol format takes two input values and one output value at most, but the circuit has 3 and 1: \
         write Bristol Fashion"
    );
    let none = Circuit::new(vec![], vec![value("b", 1)], vec![Gate::Const(true)], vec![0]).unwrap();
    assert!(matches!(text(&none, Format::Bristol), Err(WriteError::NoInput)));
}

/// A text, and the line and reason of its refusal.
type Refused = (String, usize, &'static str);

/// A text with one gate, which is on line 5.
fn gate(line: &str) -> String {
    format!("1 4\n2 1 2\n1 1\n\n{line}\n")
}

/// A text with two gates, from line 5 on.
fn two_gates(lines: &str) -> String {
    format!("2 5\n2 1 2\n1 1\n\n{lines}\n")
}

fn bad_headers() -> Vec<Refused> {
    vec![
        ("".into(), 1, "the text is empty"),
        ("\n\n \n".into(), 3, "the text is empty"),
        (
            "x".into(),
            1,
            "`x` is not a number, but the number of gates should be here",
        ),
        (
            "-1 3".into(),
            1,
            "`-1` is not a number, but the number of gates should be here",
        ),
        ("1".into(), 1, "the line ends where the number of wires should be"),
        ("1 3 4\n".into(), 1, "`4` is one word too many"),
        (
            "4294967296 3".into(),
            1,
            "`4294967296` is too large for the number of gates",
        ),
        (
            "1 3".into(),
            1,
            "the text ends where the widths of the values should be",
        ),
        (
            "0 4\n1 2 x\n".into(),
            2,
            "`x` is not a number, but a width should be here",
        ),
        (
            "0 4\n3 1 2\n1 1\n".into(),
            2,
            "3 input values are declared, but 2 widths given",
        ),
        (
            "0 4\n2 1 2\n0 1\n".into(),
            3,
            "0 output values are declared, but 1 widths given",
        ),
        (
            "0 4\n2 1 2 1\n".into(),
            2,
            "expected the widths of two inputs and one output, found 4 numbers (Bristol Fashion has a line for the \
             inputs and a line for the outputs)",
        ),
        (
            "0 4\n1 5\n1 1\n".into(),
            2,
            "the inputs have 5 wires, but the first line declares 4 in all",
        ),
        (
            "0 4\n1 4\n\n1 5\n".into(),
            4,
            "the outputs have 5 wires, but the first line declares 4 in all",
        ),
        (
            "0 4\n4 0 5\n".into(),
            2,
            "the outputs have 5 wires, but the first line declares 4 in all",
        ),
    ]
}

/// Counts that no text of this length can justify.
fn huge_counts() -> Vec<Refused> {
    vec![
        (
            "4000000000 4000000000\n1 1\n1 1\n".into(),
            1,
            "4000000000 gates do not fit in a text of 30 bytes",
        ),
        (
            "1 4000000000\n1 1\n1 1\n".into(),
            1,
            "4000000000 wires cannot be defined in a text of 21 bytes",
        ),
        (
            "0 4000000000\n1 4000000000\n1 4000000000\n".into(),
            2,
            "4000000000 input wires are too many for a text of 39 bytes",
        ),
        (
            "0 4294967295\n2 4294967295 4294967295\n0\n".into(),
            2,
            "8589934590 input wires are too many for a text of 39 bytes",
        ),
    ]
}

/// A gate's form.
fn bad_gates() -> Vec<Refused> {
    vec![
        (
            gate("2"),
            5,
            "the line ends where the number of outputs of a gate should be",
        ),
        (
            gate("2 1 0 1 3"),
            5,
            "the line ends where the operation should be",
        ),
        (gate("2 1 0 1 3 NAND"), 5, "`NAND` is no known operation"),
        (gate("2 1 0 1 3 xor"), 5, "`xor` is no known operation"),
        (
            gate("2 1 0 1 3 \u{e9}\u{7}"),
            5,
            "`\\xc3\\xa9\\x07` is no known operation",
        ),
        (
            gate(&format!("2 1 0 1 3 {}", "A".repeat(1000))),
            5,
            "`AAAAAAAAAAAAAAAAAAAAAAAA…` is no known operation",
        ),
        (gate("2 1 0 1 3 XOR 7"), 5, "`7` is one word too many"),
        (
            gate("2 1 0 1x 3 XOR"),
            5,
            "`1x` is not a number, but a wire should be here",
        ),
        (
            gate("2 1 0 1 99999999999 XOR"),
            5,
            "`99999999999` is too large for a wire",
        ),
        (
            gate("2 1 0 1 XOR"),
            5,
            "3 wires are declared (2 in, 1 out), but 2 listed",
        ),
        (
            gate("2 1 0 1 2 3 XOR"),
            5,
            "3 wires are declared (2 in, 1 out), but 4 listed",
        ),
        (
            gate("4294967295 4294967295 0 1 3 XOR"),
            5,
            "8589934590 wires are declared (4294967295 in, 4294967295 out), but 3 listed",
        ),
        (gate("1 1 0 3 XOR"), 5, "`XOR` cannot have 1 inputs and 1 outputs"),
        (
            gate("1 2 0 1 3 AND"),
            5,
            "`AND` cannot have 1 inputs and 2 outputs",
        ),
        (
            gate("2 1 0 1 3 INV"),
            5,
            "`INV` cannot have 2 inputs and 1 outputs",
        ),
        (
            gate("3 1 0 1 2 3 MAND"),
            5,
            "`MAND` cannot have 3 inputs and 1 outputs",
        ),
        (gate("0 0 MAND"), 5, "`MAND` cannot have 0 inputs and 0 outputs"),
        (gate("1 1 2 3 EQ"), 5, "`EQ` sets a wire to 0 or 1, not to 2"),
    ]
}

/// Wires, in the older format too.
fn bad_wires() -> Vec<Refused> {
    vec![
        (
            gate("2 1 0 4 3 XOR"),
            5,
            "wire 4 is out of range: the first line declares 4 wires",
        ),
        (
            gate("2 1 0 1 4 XOR"),
            5,
            "wire 4 is out of range: the first line declares 4 wires",
        ),
        (gate("2 1 0 3 3 XOR"), 5, "wire 3 is used before it is defined"),
        (gate("1 1 0 2 INV"), 5, "wire 2 is an input, and is defined again"),
        (
            two_gates("1 1 0 3 INV\n1 1 0 3 INV"),
            6,
            "wire 3 is defined twice",
        ),
        (
            two_gates("1 1 4 3 INV\n1 1 0 4 INV"),
            5,
            "wire 4 is used before it is defined",
        ),
        (
            two_gates("4 2 0 1 3 2 3 4 MAND"),
            5,
            "wire 3 is used before it is defined",
        ),
        (two_gates("4 2 0 1 2 0 3 3 MAND"), 5, "wire 3 is defined twice"),
        (
            "1 3\n1 1 1\n\n2 1 0 2 2 OR\n".into(),
            4,
            "wire 2 is used before it is defined",
        ),
    ]
}

/// Counts that do not agree.
fn disagreeing_counts() -> Vec<Refused> {
    vec![
        (
            gate("1 1 0 3 INV\n\n1 1 0 3 INV"),
            7,
            "there is more after the 1 gates that the first line declares",
        ),
        (
            gate("1 1 0 3 INV\n\nthe end"),
            7,
            "there is more after the 1 gates that the first line declares",
        ),
        (
            two_gates("1 1 0 3 INV\n\n"),
            7,
            "the text ends after 1 gates, but the first line declares 2",
        ),
        (
            "1 5\n2 1 2\n1 1\n\n1 1 0 3 INV\n".into(),
            5,
            "inputs and gates define 4 wires, but the first line declares 5",
        ),
    ]
}

/// Every refusal, with its line and reason.
#[test]
fn refusals() {
    let all = [
        bad_headers(),
        huge_counts(),
        bad_gates(),
        bad_wires(),
        disagreeing_counts(),
    ];
    for (text, line, reason) in all.into_iter().flatten() {
        let error = read(&text).expect_err(&text);
        assert_eq!((error.line, error.reason.as_str()), (line, reason), "{text:?}");
        assert_eq!(error.to_string(), format!("line {line}: {reason}"));
    }
}

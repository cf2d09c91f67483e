//! SHDL: what Fairplay's compiler writes is read, what is malformed is refused with line and reason, and nothing panics.

use std::fmt::Write;

use cenote_circuit::format::{Owner, Shdl, read, read_shdl};
use cenote_circuit::{BitOrder, Circuit, Gate, Value};
use cenote_primitives::BitMatrix;
use proptest::prelude::*;

const ALICE: Option<Owner> = Some(Owner::Alice);
const BOB: Option<Owner> = Some(Owner::Bob);

fn value(name: &str, width: u32) -> Value {
    Value {
        name: name.into(),
        width,
        order: BitOrder::Lsb,
    }
}

/// The outputs for all inputs of a small circuit: element `i` has the outputs for input wires that are the bits of `i`.
fn table(circuit: &Circuit) -> Vec<u32> {
    let wires = circuit.input_wires() as usize;
    let inputs = BitMatrix::from_fn(wires, 1 << wires, |wire, lane| lane >> wire & 1 == 1);
    let outputs = circuit.evaluate(&inputs).unwrap();
    let number =
        |lane| (0..outputs.rows()).fold(0, |sum, row| sum | u32::from(outputs.get(row, lane)) << row);
    (0..1 << wires).map(number).collect()
}

/// Two-bit millionaires, with the names and the spacing of the compiler.
const MILLIONAIRES: &str = "\
0 input\t\t//output$input.bob$0
1 input\t\t//output$input.bob$1
2 input\t\t//output$input.alice.worth$0
3 input\t\t//output$input.alice.worth$1
4 gate arity 2 table [ 0 1 0 0 ] inputs [ 2 0 ]
5 gate arity 3 table [ 0 1 0 0 1 1 0 1 ] inputs [ 3 1 4 ]
6 output gate arity 1 table [ 0 1 ] inputs [ 5 ]\t//output$output.alice$0
7 output gate arity 1 table [ 1 0 ] inputs [ 5 ]\t//output$output.bob$0
";

#[test]
fn values_and_owners_are_those_of_the_comments() {
    let Shdl {
        circuit,
        input_owners,
        output_owners,
    } = read_shdl(MILLIONAIRES, None).unwrap();
    assert_eq!(
        circuit.inputs(),
        [value("input.bob", 2), value("input.alice.worth", 2)]
    );
    assert_eq!(
        circuit.outputs(),
        [value("output.alice", 1), value("output.bob", 1)]
    );
    assert_eq!(
        (input_owners, output_owners),
        (vec![BOB, ALICE], vec![ALICE, BOB])
    );
    let expected: Vec<u32> = (0..16).map(|i| if i >> 2 > i & 3 { 1 } else { 2 }).collect();
    assert_eq!(table(&circuit), expected);
    assert_eq!(circuit.statistics().ands, 2);
    assert_eq!(read(MILLIONAIRES).unwrap(), circuit);
}

/// The last input that is listed selects the half of the table.
#[test]
fn tables_of_every_arity() {
    let text = "\
        0 gate arity 0 table [0] inputs [] // false
        1 gate arity 0 table [1] inputs [] //true
        2 input
        3 input
        4 input
        5 output gate arity 1 table [ 1 0 ] inputs [ 2 ]
        6 output gate arity 2 table [ 0 0 1 0 ] inputs [ 2 3 ]
        7 output gate arity 3 table [ 0 1 0 1 0 0 1 1 ] inputs [ 2 3 4 ]
        8 output gate arity 3 table [ 0 1 0 1 0 0 1 1 ] inputs [ 4 1 0 ]
        9 output gate arity 2 table [ 1 1 1 1 ] inputs [ 2 2 ]";
    let circuit = read_shdl(text, None).unwrap().circuit;
    assert_eq!(circuit.inputs(), [value("input", 3)]);
    assert_eq!(circuit.outputs(), [value("output", 5)]);
    let expected = (0..8u32).map(|i| {
        let (x, y, z) = (i & 1, i >> 1 & 1, i >> 2 & 1);
        let mux = if z == 1 { y } else { x };
        (1 - x) | (y & (1 - x)) << 1 | mux << 2 | z << 3 | 1 << 4
    });
    assert_eq!(table(&circuit), expected.collect::<Vec<_>>());
    assert_eq!(circuit.statistics().ands, 2, "a multiplexer has one AND");
}

#[test]
fn a_format_file_names_the_values() {
    let text = "0 input\n1 input\n2 input //output$input.bob$0\n3 output gate arity 2 table [0 0 0 1] inputs [0 1]\n\
                4 output gate arity 2 table [0 1 1 0] inputs [1 2]\n";
    let format = "Bob input integer \"Enter y: \" [ 2 0 ]\r\n\nAlice input integer \"x\" [1]\n\
                  Alice output integer \"both\" [ 4 3 ]\nBob output integer \"\" [ 3 3 ]\nAlice output integer \"none\" []\n";
    let shdl = read_shdl(text, Some(format)).unwrap();
    assert_eq!(shdl.circuit.inputs(), [value("Enter y: ", 2), value("x", 1)]);
    assert_eq!(
        shdl.circuit.outputs(),
        [value("both", 2), value("", 2), value("none", 0)]
    );
    assert_eq!(shdl.input_owners, [BOB, ALICE]);
    assert_eq!(shdl.output_owners, [ALICE, BOB, ALICE]);
    // Input wires are now 2, 0 and 1 of the text.
    let expected = (0..8u32).map(|i| {
        let (two, zero, one) = (i & 1, i >> 1 & 1, i >> 2 & 1);
        let (three, four) = (zero & one, one ^ two);
        four | three << 1 | three << 2 | three << 3
    });
    assert_eq!(table(&shdl.circuit), expected.collect::<Vec<_>>());
}

#[test]
fn layout_is_free() {
    let expected = read("0 input//f$a$0\n1 output gate arity 1 table [ 1 0 ] inputs [ 0 ]//f$b$0").unwrap();
    assert_eq!(expected.inputs(), [value("a", 1)]);
    for text in [
        "0 input //f$a$0\r\n\r\n1 output gate arity 1 table [ 1 0 ] inputs [ 0 ] //f$b$0\r\n",
        "// a comment\n\n 0\tinput  // f$a$0 \n1 output gate  arity 1 table[1 0]inputs[0]//  f$b$0\n//f$b$7\n",
        // Wires in any numbering, and a constant before the inputs.
        "7 gate arity 0 table [1] inputs []\n4294967295 input //f$a$0\n3 output gate arity 1 table [ 1 0 ] inputs [ 4294967295 ] //f$b$0",
    ] {
        assert_eq!(read(text).unwrap(), expected, "{text:?}");
    }
}

#[test]
fn bits_come_in_their_order_and_missing_inputs_are_ignored_wires() {
    let text = "0 input //f$a$4\n1 input //f$b$0\n2 input //f$a$1\n3 output gate arity 1 table [0 1] inputs [0] //f$z$1\n\
                4 output gate arity 1 table [0 1] inputs [2] //f$z$0\n";
    let circuit = read(text).unwrap();
    assert_eq!(circuit.inputs(), [value("a", 5), value("b", 1)]);
    assert_eq!(
        (circuit.gates(), circuit.output_wires()),
        (&[] as &[Gate], &[1, 4][..])
    );
}

#[test]
fn comments_that_name_no_bit_are_remarks() {
    for remark in [
        "a remark",
        "f$a",
        "f$a$x",
        "f$a$-1",
        "$0",
        "f$$0",
        "f$a b$0",
        "f$a$",
        "f$é$0",
        "f$a$99999999999",
    ] {
        let circuit = read(&format!("0 input //{remark}\n")).unwrap();
        assert_eq!(circuit.inputs(), [value("input", 1)], "{remark}");
    }
    let names = [
        ("f$a.alice[3]$0", "a.alice[3]", ALICE),
        ("BOB$0", "BOB", BOB),
        ("f$bobby$0", "bobby", None),
        ("f$g$0$0", "g$0", None),
    ];
    for (comment, name, owner) in names {
        let shdl = read_shdl(&format!("0 input //{comment}\n"), None).unwrap();
        assert_eq!(shdl.circuit.inputs(), [value(name, 1)]);
        assert_eq!(shdl.input_owners, [owner]);
    }
}

#[test]
fn malformed_texts_are_refused() {
    let gate = |rest: &str| format!("0 input\n1 input\n\n2 {rest}\n");
    let cases: &[(String, usize, &str)] = &[
        ("// nothing\n\n".into(), 2, "there are no inputs and no gates"),
        ("0 input 1\n".into(), 1, "`1` is one word too many"),
        ("0 input\nx input\n".into(), 2, "`x` is not a number, but a wire should be here"),
        ("0 input\n4294967296 input\n".into(), 2, "`4294967296` is too large for a wire"),
        ("0 input\n1\n".into(), 2, "the line ends where `input` or `gate` should be"),
        ("0 input\n1 in\n".into(), 2, "`in` is neither `input` nor a gate"),
        ("0 output input\n".into(), 1, "`input` is neither `input` nor a gate"),
        ("0 input\n0 input\n".into(), 2, "wire 0 is defined twice"),
        (gate("gate"), 4, "the line ends where `arity` should be"),
        (gate("gate arty 2"), 4, "`arty` should be `arity`"),
        (gate("gate arity two"), 4, "`two` is not a number, but the arity of a gate should be here"),
        (gate("gate arity 4 table"), 4, "a gate has at most 3 inputs, not 4"),
        (gate("gate arity 4294967295 table"), 4, "a gate has at most 3 inputs, not 4294967295"),
        (gate("gate arity 1 table 0 1"), 4, "`0` should be `[`"),
        (gate("gate arity 1 table [ 0 1"), 4, "the line ends where `]` should be"),
        (gate("gate arity 1 table [ 0 1 1 ] inputs [ 0 ]"), 4, "the table of a gate with arity 1 has 2 entries, not 3"),
        (gate("gate arity 0 table [] inputs []"), 4, "the table of a gate with arity 0 has 1 entries, not 0"),
        (gate("gate arity 1 table [ 0 2 ] inputs [ 0 ]"), 4, "the entries of a table are 0 and 1, not 2"),
        (gate("gate arity 1 table [ 0 1 ] inputs [ 0 1 ]"), 4, "a gate with arity 1 cannot have 2 inputs"),
        (gate("gate arity 2 table [ 0 1 1 0 ] inputs [ 0 1 ] ]"), 4, "`]` is one word too many"),
        (gate("gate arity 2 table [ 0 1 1 0 ] inputs [ 0 2 ]"), 4, "wire 2 is used before it is defined"),
        (gate("gate arity 2 table [ 0 1 1 0 ] inputs [ 0 9 ]"), 4, "wire 9 is used before it is defined"),
        (
            "0 gate arity 1 table [ 0 1 ] inputs [ 1 ]\n1 input\n".into(),
            1,
            "wire 1 is used before it is defined",
        ),
        ("0 input //f$a$0\n1 input //f$b$0\n2 input //f$a$0\n".into(), 3, "bit 0 of `a` is given twice"),
        (
            "0 input\n1 output gate arity 1 table [0 1] inputs [0] //f$z$0\n2 output gate arity 1 table [0 1] inputs [0] //f$z$2\n"
                .into(),
            3,
            "bit 2 of `z` is given, but not bit 1",
        ),
        (
            "0 input //f$a$4000000000\n".into(),
            1,
            "bit 4000000000 of `a` is given, but too many bits below it are not",
        ),
        (
            "0 input //f$a$40000\n1 input //f$b$40000\n".into(),
            2,
            "bit 40000 of `b` is given, but too many bits below it are not",
        ),
    ];
    for (text, line, reason) in cases {
        let error = read_shdl(text, None).expect_err(text);
        assert_eq!((error.line, error.reason.as_str()), (*line, *reason), "{text:?}");
        assert_eq!(read(text), Err(error));
    }
}

#[test]
fn malformed_format_files_are_refused() {
    let text = "0 input\n1 input\n2 gate arity 1 table [0 1] inputs [0]\n3 output gate arity 1 table [0 1] inputs [2]\n";
    let rest = "Alice input integer \"x\" [ 0 1 ]\n";
    let cases = [
        (
            "Carol input integer \"x\" [ 0 ]",
            1,
            "`Carol` is neither `Alice` nor `Bob`",
        ),
        ("\nAlice", 2, "`` is neither `input` nor `output`"),
        (
            "Alice get integer \"x\" [ 0 ]",
            1,
            "`get` is neither `input` nor `output`",
        ),
        ("Alice input real \"x\" [ 0 ]", 1, "`real` should be `integer`"),
        (
            "Alice input integer x [ 0 ]",
            1,
            "a text in double quotes should be here",
        ),
        (
            "Alice input integer \"x [ 0 ]",
            1,
            "a text in double quotes should be here",
        ),
        (
            "Alice input integer \"é\" [ 0 ]",
            1,
            "a name has printable ASCII characters only",
        ),
        ("Alice input integer \"x\" 0", 1, "`0` should be `[`"),
        ("Alice input integer \"x\" [ 0 ] 1", 1, "`1` is one word too many"),
        ("Alice input integer \"x\" [ 0 0 ]", 1, "input 0 is named twice"),
        (
            "Alice input integer \"x\" [ 0 3 ]",
            1,
            "the circuit has no input 3",
        ),
        ("Alice input integer \"x\" [ 7 ]", 1, "the circuit has no input 7"),
        ("Bob output integer \"x\" [ 2 ]", 1, "the circuit has no output 2"),
        (
            "Alice input integer \"x\" [ 0 ]\nBob output integer \"z\" [ 3 ]",
            2,
            "input 1 is not named",
        ),
        (rest, 1, "output 3 is not named"),
        ("", 1, "input 0 is not named"),
    ];
    for (format, line, reason) in cases {
        let error = read_shdl(text, Some(format)).unwrap_err();
        assert_eq!(
            (error.line, error.reason),
            (line, format!("format file: {reason}")),
            "{format:?}"
        );
    }
    assert!(read_shdl(text, Some(&format!("{rest}Bob output integer \"z\" [ 3 ]"))).is_ok());
    // A wire that is both does not escape the format.
    let twice = "0 input\n0 output gate arity 0 table [1] inputs []\n";
    let error = read_shdl(twice, Some("Bob output integer \"z\" [ 0 ]")).unwrap_err();
    assert_eq!(error.to_string(), "line 2: wire 0 is defined twice");
}

type Function = fn(&[bool]) -> bool;

/// A circuit in SHDL; `seed` decides the order of operands and whether a gate has one more input that it ignores.
fn write_shdl(circuit: &Circuit, seed: u64) -> String {
    let mut text = String::new();
    let mut state = seed;
    let mut coin = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 63 == 1
    };
    for index in 0..circuit.inputs().len() {
        for (bit, wire) in circuit.input_range(index).enumerate() {
            writeln!(text, "{wire} input //output$input.v{index}${bit}").unwrap();
        }
    }
    let first = circuit.input_wires();
    for (wire, gate) in (first..).zip(circuit.gates()) {
        // The wires that the gate reads, and its value for theirs.
        let (mut operands, function): (_, Function) = match *gate {
            Gate::Xor(x, y) => (vec![x, y], |v| v[0] ^ v[1]),
            Gate::And(x, y) => (vec![x, y], |v| v[0] & v[1]),
            Gate::Not(x) => (vec![x], |v| !v[0]),
            Gate::Copy(x) => (vec![x], |v| v[0]),
            Gate::Const(true) => (vec![], |_| true),
            Gate::Const(false) => (vec![], |_| false),
        };
        if coin() && wire > 0 {
            operands.push(wire / 2);
        }
        let reverse = coin();
        let arity = operands.len();
        let entry = |index: usize| {
            let values: Vec<bool> = (0..arity)
                .map(|i| index >> (if reverse { arity - 1 - i } else { i }) & 1 == 1)
                .collect();
            u8::from(function(&values)).to_string()
        };
        let entries: Vec<String> = (0..1 << arity).map(entry).collect();
        if reverse {
            operands.reverse();
        }
        let operands: Vec<String> = operands.iter().map(u32::to_string).collect();
        let (entries, operands) = (entries.join(" "), operands.join(" "));
        writeln!(
            text,
            "{wire} gate arity {arity} table [ {entries} ] inputs [ {operands} ]"
        )
        .unwrap();
    }
    let mut next = first as usize + circuit.gates().len();
    for index in 0..circuit.outputs().len() {
        for (bit, place) in circuit.output_range(index).enumerate() {
            let wire = circuit.output_wires()[place];
            let gate = format!("output gate arity 1 table [ 0 1 ] inputs [ {wire} ]");
            writeln!(text, "{next} {gate} //output$output.v{index}${bit}").unwrap();
            next += 1;
        }
    }
    text
}

fn widths(values: &[Value]) -> Vec<u32> {
    values
        .iter()
        .map(|value| value.width)
        .filter(|&width| width > 0)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_written_reads_back(circuit in crate::common::circuits(100, 4, 4, 9), seed: u64) {
        let text = write_shdl(&circuit, seed);
        if text.is_empty() {
            return Ok(());
        }
        let again = read(&text).unwrap();
        prop_assert_eq!(widths(circuit.inputs()), widths(again.inputs()));
        prop_assert_eq!(widths(circuit.outputs()), widths(again.outputs()));
        let inputs = crate::common::inputs(&circuit, 64, seed);
        prop_assert!(circuit.evaluate(&inputs).unwrap() == again.evaluate(&inputs).unwrap());
        prop_assert!(again.statistics().ands <= circuit.statistics().ands);
    }

    /// A text with a few bytes changed is a circuit, no larger than the text justifies, or is refused.
    #[test]
    fn mutated_texts_do_not_panic(
        circuit in crate::common::circuits(20, 2, 2, 4),
        seed: u64,
        edits in proptest::collection::vec((any::<u16>(), 0u8..3, proptest::sample::select(&b"0123456789 \n\r[]$/inputgaerl\"\xc3"[..])), 0..5),
    ) {
        let mut bytes = write_shdl(&circuit, seed).into_bytes();
        for (at, kind, byte) in edits {
            let at = (usize::from(at) * bytes.len()) >> 16;
            match kind {
                _ if at >= bytes.len() => {}
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => _ = bytes.remove(at),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(circuit) = read(&text) {
            prop_assert!(circuit.input_wires() as usize <= text.len() + (1 << 16));
            prop_assert!(circuit.gates().len() <= text.len());
            let _ = circuit.statistics();
        }
    }

    /// Random words of the circuit's and of the format file's language.
    #[test]
    fn texts_of_words_do_not_panic(
        text in words(&["input\n", "output", "gate", "arity", "table", "[", "]", "inputs", "\n", "//f$a$0\n", "[0 1]"]),
        format in words(&["Alice", "Bob", "input", "output", "integer", "\"x\"", "[", "]", "\n", "\""]),
    ) {
        for text in [text.clone(), format!("0 input\n1 output gate arity 1 table [ 1 0 ] inputs [ 0 ]\n{text}")] {
            let _ = read_shdl(&text, None);
            let _ = read_shdl(&text, Some(&format));
        }
    }
}

fn words(language: &'static [&'static str]) -> impl Strategy<Value = String> {
    let word = prop_oneof![
        (0u32..4).prop_map(|number| number.to_string()),
        proptest::sample::select(language).prop_map(String::from),
    ];
    proptest::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

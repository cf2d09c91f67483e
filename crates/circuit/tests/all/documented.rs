//! What the document about circuits shows and states.

use cenote_circuit::format;
use cenote_circuit::library::by_name;
use cenote_primitives::BitMatrix;

const DOCUMENT: &str = include_str!("../../../../docs/circuits.md");

#[test]
fn the_three_files_compute_the_sum_of_two_bits() {
    for language in ["bristol-fashion", "bristol", "shdl"] {
        let start = format!("```{language}\n");
        let (_, rest) = DOCUMENT.split_once(&start).expect("an example of the format");
        let (text, _) = rest.split_once("```").expect("the end of the example");
        let circuit = format::read(text).unwrap_or_else(|error| panic!("{language}: {error}"));
        let widths = |values: &[cenote_circuit::Value]| values.iter().map(|v| v.width).collect::<Vec<_>>();
        assert_eq!(widths(circuit.inputs()), [1, 1], "{language}");
        assert_eq!(widths(circuit.outputs()), [2], "{language}");
        let inputs = BitMatrix::from_fn(2, 4, |wire, lane| lane >> wire & 1 == 1);
        let sums = circuit.evaluate(&inputs).unwrap();
        let sum = |lane| usize::from(sums.get(0, lane)) + 2 * usize::from(sums.get(1, lane));
        assert_eq!([0, 1, 2, 3].map(sum), [0, 1, 1, 2], "{language}");
        assert_eq!(circuit.statistics().ands, 1, "{language}");
    }
}

#[test]
fn names_of_the_second_shdl_file_are_as_shown() {
    let (_, rest) = DOCUMENT
        .split_once("`Bob input integer")
        .expect("an example of a line");
    let (line, _) = rest.split_once('`').expect("the end of the line");
    let names = format!(
        "Alice input integer \"x\" [ 0 ]\nBob input integer{line}\nBob output integer \"sum\" [ 2 3 ]\n"
    );
    let text = "0 input\n1 input\n2 output gate arity 2 table [ 0 1 1 0 ] inputs [ 0 1 ]\n\
                3 output gate arity 2 table [ 0 0 0 1 ] inputs [ 0 1 ]\n";
    let shdl = format::read_shdl(text, Some(&names)).unwrap();
    assert_eq!(shdl.circuit.inputs()[1].name, "input.bob.y");
    assert_eq!(
        shdl.input_owners,
        [Some(format::Owner::Alice), Some(format::Owner::Bob)]
    );
}

/// No stated count is off, and none is above the published one.
#[test]
fn counts_are_as_stated_and_no_worse_than_published() {
    let rows = DOCUMENT
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|row| {
            let cells: Vec<&str> = row
                .split('|')
                .map(|cell| cell.trim().trim_end_matches('`'))
                .collect();
            let [name, _, ours, published, ""] = cells[..] else {
                return None;
            };
            Some((
                name,
                ours.parse::<usize>().ok()?,
                published.parse::<usize>().ok()?,
            ))
        });
    let mut count = 0;
    for (name, ours, published) in rows {
        let ands = by_name(name).unwrap().statistics().ands;
        assert_eq!(ands, ours, "{name}");
        assert!(ands <= published, "{name}");
        count += 1;
    }
    assert_eq!(count, 12);
}

//! Instructions against what they should give.

mod parties;
mod wrong;

use super::*;
use crate::local;

/// A program that is written here, as whoever sends instructions does it.
#[derive(Default)]
struct Script {
    instructions: Vec<Instruction>,
    next: u64,
}

impl Script {
    fn push(&mut self, instruction: Instruction) -> u64 {
        let first = self.next;
        self.next += instruction.results();
        self.instructions.push(instruction);
        first
    }

    fn public(&mut self, width: u32, values: &[i64]) -> u64 {
        self.push(Instruction::Public(packed(width, values)))
    }

    fn input(&mut self, owner: u8, width: u32, values: &[i64]) -> u64 {
        self.push(Instruction::Input {
            owner,
            width,
            lanes: values.len(),
            kind: "row".into(),
            bits: Some(packed(width, values)),
        })
    }

    fn apply(&mut self, operation: Operation, operands: &[u64], numbers: &[u64]) -> u64 {
        self.push(Instruction::Apply {
            operation,
            operands: operands.to_vec(),
            numbers: numbers.to_vec(),
        })
    }

    fn reveal(&mut self, values: &[u64]) {
        self.push(Instruction::Reveal {
            values: values.to_vec(),
            to: vec![0],
            kinds: Vec::new(),
        });
    }
}

fn packed(width: u32, values: &[i64]) -> Packed {
    let bytes = if width <= 64 { 8 } else { 16 };
    let numbers = values
        .iter()
        .flat_map(|&value| i128::from(value).to_le_bytes().into_iter().take(bytes));
    Packed::of_numbers(width, &numbers.collect::<Vec<u8>>()).unwrap()
}

/// What one party alone gets, in the clear.
fn alone(script: &Script) -> Result<Vec<Opened>> {
    let told = local::in_the_clear(1, |session| {
        let mut told = Vec::new();
        let mut interpreter = Interpreter::new(session.clone());
        interpreter.follow([script.instructions.clone()], |opened| {
            told.extend(opened);
            Ok::<(), Error>(())
        })?;
        Ok(told)
    })?;
    Ok(told.into_iter().next().unwrap())
}

/// An operation on these rows, of `width` bits each; what of several it gives.
fn outcome(
    operation: Operation,
    rows: &[(u32, &[i64])],
    numbers: &[u64],
    of: u64,
) -> Result<(u32, Vec<u64>)> {
    let mut script = Script::default();
    let operands: Vec<u64> = rows
        .iter()
        .map(|&(width, values)| script.input(0, width, values))
        .collect();
    let first = script.apply(operation, &operands, numbers);
    script.reveal(&[first + of]);
    let opened = alone(&script)?.remove(0).unwrap().remove(0);
    let words = opened.numbers().unwrap();
    let words = words
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    Ok((opened.width(), words))
}

const X: &[i64] = &[7, -8, 5, 0, 3];
const Y: &[i64] = &[-2, 3, 0, 4, 3];

/// An operation, rows and public numbers that it takes, and the width of what it gives and that itself.
type Case<'a> = (Operation, Vec<(u32, &'a [i64])>, Vec<u64>, u32, Vec<i64>);

fn check(cases: Vec<Case<'_>>) {
    for (operation, rows, numbers, width, expected) in cases {
        let mask = u64::MAX >> (64 - width);
        let expected: Vec<u64> = expected.iter().map(|&value| value as u64 & mask).collect();
        let (told, found) = outcome(operation, &rows, &numbers, 0).unwrap();
        assert_eq!(
            (told, found),
            (width, expected),
            "{operation:?} {rows:?} {numbers:?}"
        );
    }
}

#[test]
fn bits_are_calculated_with() {
    use Operation::*;
    check(vec![
        (And, vec![(8, X), (8, Y)], vec![], 8, vec![6, 0, 0, 0, 3]),
        (Or, vec![(8, X), (8, &[1])], vec![], 8, vec![7, -7, 5, 1, 3]),
        (Xor, vec![(8, X), (8, Y)], vec![], 8, vec![-7, -5, 5, 4, 0]),
        (Not, vec![(8, X)], vec![], 8, vec![-8, 7, -6, -1, -4]),
        (Add, vec![(8, X), (8, Y)], vec![], 8, vec![5, -5, 5, 4, 6]),
        (Subtract, vec![(8, X), (8, Y)], vec![], 8, vec![9, -11, 5, -4, 0]),
        (Multiply, vec![(8, X), (8, Y)], vec![], 8, vec![-14, -24, 0, 0, 9]),
        (Negate, vec![(8, X)], vec![], 8, vec![-7, 8, -5, 0, -3]),
    ]);
}

#[test]
fn numbers_are_divided_and_compared() {
    use Operation::*;
    check(vec![
        (
            FloorDivide,
            vec![(8, X), (8, Y)],
            vec![1],
            8,
            vec![-4, -3, 0, 0, 1],
        ),
        (Modulo, vec![(8, X), (8, Y)], vec![1], 8, vec![-1, 1, 0, 0, 0]),
        (
            FloorDivide,
            vec![(8, X), (8, Y)],
            vec![0],
            8,
            vec![0, 82, 0, 0, 1],
        ),
        (Modulo, vec![(8, X), (8, Y)], vec![0], 8, vec![7, 2, 0, 0, 0]),
        (Less, vec![(8, X), (8, Y)], vec![1], 1, vec![0, 1, 0, 1, 0]),
        (Less, vec![(8, X), (8, Y)], vec![0], 1, vec![1, 0, 0, 1, 0]),
        (Equal, vec![(8, X), (8, Y)], vec![], 1, vec![0, 0, 0, 0, 1]),
        (Minimum, vec![(8, X), (8, Y)], vec![1], 8, vec![-2, -8, 0, 0, 3]),
        (Maximum, vec![(8, X), (8, Y)], vec![0], 8, vec![-2, -8, 5, 4, 3]),
        (
            Select,
            vec![(1, &[1, 0, 1, 0, 0]), (8, X), (8, Y)],
            vec![],
            8,
            vec![7, 3, 5, 4, 3],
        ),
    ]);
}

#[test]
fn bits_are_moved() {
    use Operation::*;
    check(vec![
        (Resize, vec![(8, X)], vec![12, 1], 12, vec![7, -8, 5, 0, 3]),
        (Resize, vec![(8, X)], vec![12, 0], 12, vec![7, 248, 5, 0, 3]),
        (Resize, vec![(8, X)], vec![2, 1], 2, vec![3, 0, 1, 0, 3]),
        (Part, vec![(8, X)], vec![1, 3], 3, vec![3, 4, 2, 0, 1]),
        (Join, vec![(4, &[1, 2]), (4, &[3])], vec![], 8, vec![49, 50]),
        (ShiftLeft, vec![(8, X)], vec![2], 8, vec![28, -32, 20, 0, 12]),
        (ShiftLeft, vec![(8, X)], vec![1 << 40], 8, vec![0; 5]),
        (ShiftRight, vec![(8, X)], vec![1, 1], 8, vec![3, -4, 2, 0, 1]),
        (ShiftRight, vec![(8, X)], vec![9, 1], 8, vec![0, -1, 0, 0, 0]),
        (
            ShiftLeftBy,
            vec![(8, X), (3, &[1])],
            vec![],
            8,
            vec![14, -16, 10, 0, 6],
        ),
        (
            ShiftRightBy,
            vec![(8, X), (4, &[1, 2, 9, 1, 0])],
            vec![1],
            8,
            vec![3, -2, 0, 0, 3],
        ),
    ]);
}

#[test]
fn rows_are_put_together() {
    use Operation::*;
    check(vec![
        (Slice, vec![(8, X)], vec![1, 3], 8, vec![-8, 5, 0]),
        (Take, vec![(8, X)], vec![4, 0, 4], 8, vec![3, 7, 3]),
        (
            Concat,
            vec![(8, X), (8, &[9])],
            vec![],
            8,
            vec![7, -8, 5, 0, 3, 9],
        ),
        (Fill, vec![(8, &[9])], vec![3], 8, vec![9; 3]),
        (Sum, vec![(8, X)], vec![64, 1, 1], 64, vec![7]),
        (Sum, vec![(8, X)], vec![10, 0, 1], 10, vec![263]),
        (Sum, vec![(8, X)], vec![4, 1, 1], 4, vec![7]),
        (Sum, vec![(8, &[1, 2, 3, 4, 5, 6])], vec![8, 0, 2], 8, vec![9, 12]),
        (Least, vec![(8, X)], vec![1], 8, vec![-8]),
        (Greatest, vec![(8, X)], vec![0], 8, vec![-8]),
        (PlaceOfLeast, vec![(8, &[4, 2, 9, 2, 9])], vec![0], 64, vec![1]),
        (
            PlaceOfGreatest,
            vec![(8, &[4, 2, 9, -1, 9])],
            vec![1],
            64,
            vec![2],
        ),
        (PlaceOfGreatest, vec![(8, &[4])], vec![1], 64, vec![0]),
        (Count, vec![(1, &[1, 0, 1, 1])], vec![], 64, vec![3]),
        (All, vec![(1, &[1, 0, 1])], vec![], 1, vec![0]),
        (Any, vec![(1, &[0, 0, 1])], vec![], 1, vec![1]),
        (CumulativeSum, vec![(8, X)], vec![], 8, vec![7, -1, 4, 4, 7]),
    ]);
}

#[test]
fn records_are_sorted_and_scanned() {
    use Operation::*;
    check(vec![
        (Sort, vec![(8, X)], vec![8, 1], 8, vec![-8, 0, 3, 5, 7]),
        (
            Sort,
            vec![(8, &[0x31, 0x12, 0x23])],
            vec![4, 0],
            8,
            vec![0x31, 0x12, 0x23],
        ),
        (
            Starts,
            vec![(8, &[1, 1, 2, 3, 3])],
            vec![],
            1,
            vec![1, 0, 1, 1, 0],
        ),
        (Ends, vec![(1, &[1, 0, 1, 1, 0])], vec![], 1, vec![0, 1, 1, 0, 1]),
        (
            Scan,
            vec![(1, &[1, 0, 1, 0, 0]), (8, X)],
            vec![0, 1],
            8,
            vec![7, -1, 5, 5, 8],
        ),
        (
            Scan,
            vec![(1, &[1, 0, 1, 0, 0]), (8, X)],
            vec![1, 1],
            8,
            vec![7, -8, 5, 0, 0],
        ),
        (
            Scan,
            vec![(1, &[1, 0, 1, 0, 0]), (8, X)],
            vec![2, 1],
            8,
            vec![7, 7, 5, 5, 5],
        ),
        (
            Compact,
            vec![(1, &[0, 1, 0, 1, 1]), (8, X)],
            vec![],
            8,
            vec![-8, 0, 3, 0, 0],
        ),
    ]);
    assert_eq!(
        outcome(Compact, &[(1, &[0, 1, 1]), (8, &[5])], &[], 1).unwrap(),
        (64, vec![2])
    );
}

#[test]
fn keys_are_looked_up() {
    use Operation::Lookup;
    let rows: &[(u32, &[i64])] = &[(8, &[-3, 2, 9]), (16, &[30, 20, 90]), (8, &[-3, 4, 9])];
    let told = |rows: &[(u32, &[i64])]| [0, 1, 2].map(|of| outcome(Lookup, rows, &[1], of).unwrap().1);
    assert_eq!(told(rows), [vec![1, 0, 1], vec![30, 0, 90], vec![1]]);
    // A key comes twice.
    let rows: &[(u32, &[i64])] = &[(8, &[2, 2, 9]), (16, &[30, 20, 90]), (8, &[2, 4, 9])];
    assert_eq!(told(rows), [vec![0, 0, 0], vec![0, 0, 0], vec![0]]);
}

#[test]
fn rows_are_shuffled_and_drawn() {
    let values: Vec<i64> = (0..64).collect();
    let (_, mut shuffled) = outcome(Operation::Shuffle, &[(8, &values)], &[], 0).unwrap();
    assert_ne!(shuffled, (0..64).collect::<Vec<_>>());
    shuffled.sort_unstable();
    assert_eq!(shuffled, (0..64).collect::<Vec<_>>());
    let (width, drawn) = outcome(Operation::Random, &[], &[20, 100], 0).unwrap();
    assert_eq!((width, drawn.len()), (20, 100));
    assert!(drawn.iter().any(|&value| value >> 19 == 1) && drawn.iter().all(|&value| value >> 20 == 0));
}

#[test]
fn memories_are_read_and_written() {
    use Operation::*;
    let mut script = Script::default();
    let row = script.input(0, 16, &[10, 11, 12, 13, 14]);
    let memory = script.apply(Memory, &[row], &[]);
    let (three, minus) = (script.input(0, 8, &[3]), script.input(0, 8, &[-1]));
    let (value, other) = (script.public(16, &[99]), script.input(0, 16, &[77]));
    let (yes, no) = (script.input(0, 1, &[1]), script.public(1, &[0]));
    let before = script.apply(Read, &[memory, three], &[1]);
    script.apply(Write, &[memory, three, value], &[1]);
    script.apply(Write, &[memory, minus, value], &[1]);
    let written = script.apply(Access, &[memory, yes, three, other], &[1]);
    let kept = script.apply(Access, &[memory, no, three, value], &[1]);
    let last = script.apply(Read, &[memory, three], &[0]);
    let none = script.apply(Read, &[memory, minus], &[1]);
    script.reveal(&[before, written, kept, last, none]);
    let opened = alone(&script).unwrap().remove(0).unwrap();
    let told = opened.iter().map(|value| value.numbers().unwrap()[0]);
    assert_eq!(told.collect::<Vec<_>>(), [13, 99, 77, 77, 0]);
    for wrong in [
        (Read, vec![row, three]),
        (Read, vec![memory, row]),
        (Write, vec![memory, three, minus]),
        (Access, vec![memory, other, three, value]),
    ] {
        let mut script = Script {
            instructions: script.instructions.clone(),
            next: script.next,
        };
        script.apply(wrong.0, &wrong.1, &[1]);
        assert!(matches!(alone(&script), Err(Error::BadInput(_))), "{wrong:?}");
    }
}

#[test]
fn functions_and_circuits_are_called() {
    use Operation::*;
    let apply = |operation, operands: &[u64], numbers: &[u64]| Instruction::Apply {
        operation,
        operands: operands.to_vec(),
        numbers: numbers.to_vec(),
    };
    let function = Recorded {
        inputs: vec![8, 8],
        body: vec![apply(Multiply, &[0, 1], &[]), apply(Less, &[0, 1], &[0])],
        outputs: vec![2, 3],
    };
    let circuit = function.circuit().unwrap();
    assert_eq!((circuit.inputs().len(), circuit.outputs().len()), (2, 2));
    let mut text = Vec::new();
    format::write(&circuit, format::Format::Fashion, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut script = Script::default();
    let (x, y) = (script.input(0, 8, &[3, 9]), script.input(0, 8, &[5]));
    for function in [Instruction::Define(function), Instruction::Circuit(text)] {
        let function = script.push(function);
        let called = script.apply(Call, &[function, x, y], &[]);
        script.reveal(&[called]);
    }
    for opened in alone(&script).unwrap() {
        let words = opened.unwrap()[0].numbers().unwrap();
        assert_eq!(
            [&words[..8], &words[8..]].map(|word| u64::from_le_bytes(word.try_into().unwrap())),
            [15 | 1 << 8, 45]
        );
    }
    // A function has arguments, calculates with single secrets, and gives something.
    let wrong = [
        Recorded::default(),
        Recorded {
            inputs: vec![8],
            body: vec![Instruction::Reveal {
                values: vec![0],
                to: vec![0],
                kinds: Vec::new(),
            }],
            outputs: vec![0],
        },
        Recorded {
            inputs: vec![8],
            body: vec![Instruction::Public(packed(8, &[1, 2]))],
            outputs: vec![1],
        },
        Recorded {
            inputs: vec![8],
            body: vec![],
            outputs: vec![7],
        },
    ];
    for function in wrong {
        assert!(function.circuit().is_err(), "{function:?}");
    }
    for text in ["", "1 1\n", "nonsense"] {
        let mut script = Script::default();
        script.push(Instruction::Circuit(text.into()));
        assert!(alone(&script).is_err());
    }
}

//! Instructions that have no meaning.

use super::*;

#[test]
fn what_has_no_meaning_is_an_error_and_never_a_panic() {
    let rows: &[(u32, &[i64])] = &[(8, &[1, 2, 3]), (8, &[4, 5]), (4, &[1, 2, 3]), (1, &[1, 0, 1])];
    let numbers: &[&[u64]] = &[
        &[],
        &[0],
        &[1 << 50],
        &[u64::MAX, 0],
        &[u64::MAX, u64::MAX],
        &[0, 0],
        &[5, 1, 7],
        &[8, 1, 0],
    ];
    for &operation in operation::ALL {
        for chosen in [
            &[][..],
            &[0],
            &[3],
            &[0, 1],
            &[0, 2],
            &[3, 1],
            &[0, 0, 1],
            &[0, 2, 0],
            &[3, 0, 1],
            &[0, 3, 0, 0],
            &[9],
        ] {
            for &numbers in numbers {
                let mut script = Script::default();
                for &(width, values) in rows {
                    script.input(0, width, values);
                }
                let result = script.apply(operation, chosen, numbers);
                if operation.results() > 0 && operation != Operation::Memory {
                    script.reveal(&[result]);
                }
                if let Err(error) = alone(&script) {
                    assert!(
                        matches!(error, Error::BadInput(_)),
                        "{operation:?} {chosen:?} {numbers:?}: {error}"
                    );
                    let text = error.to_string();
                    assert!(
                        text.contains(operation.name()) || text.contains("no number"),
                        "{text}"
                    );
                }
            }
        }
        assert_eq!(operation.name().parse(), Ok(operation));
    }
    assert!("dance".parse::<Operation>().is_err());
}

#[test]
fn inputs_and_reveals_without_meaning_are_errors() {
    let input = |owner, width, lanes, bits| Instruction::Input {
        owner,
        width,
        lanes,
        kind: String::new(),
        bits,
    };
    let wrong = [
        input(1, 8, 1, None),
        input(0, 8, 1, None),
        input(0, 8, 2, Some(packed(8, &[1]))),
        input(0, 9, 1, Some(packed(8, &[1]))),
        input(0, 8, 0, None),
        input(0, 200, 1, None),
        input(0, 0, 1, None),
        Instruction::Reveal {
            values: vec![0],
            to: vec![0],
            kinds: Vec::new(),
        },
        Instruction::Reveal {
            values: vec![],
            to: vec![1],
            kinds: Vec::new(),
        },
    ];
    for instruction in wrong {
        let mut script = Script::default();
        script.push(instruction.clone());
        let error = alone(&script).unwrap_err();
        assert!(matches!(error, Error::BadInput(_)), "{instruction:?}: {error}");
    }
}

#[test]
fn numbers_that_nobody_can_hold_are_refused_before_they_are_opened_or_made() {
    let apply = |operation, operands: &[u64], numbers: &[u64]| Instruction::Apply {
        operation,
        operands: operands.to_vec(),
        numbers: numbers.to_vec(),
    };
    let mut script = Script::default();
    let x = script.input(0, 100, &[0, 1]);
    let wide = script.apply(Operation::Join, &[x, x], &[]);
    script.reveal(&[wide]);
    let error = alone(&script).unwrap_err().to_string();
    assert!(error.contains("200 bits"), "{error}");
    let many = u64::from(u32::MAX);
    for (operation, operands, numbers) in [
        (Operation::Random, &[][..], &[1 << 16, many][..]),
        (Operation::Fill, &[1], &[many]),
    ] {
        let mut script = Script::default();
        script.input(0, 128, &[0, 1]);
        let single = script.apply(Operation::Slice, &[0], &[0, 1]);
        let wide = script.apply(Operation::Resize, &[single], &[1 << 16, 0]);
        let operands: Vec<u64> = operands.iter().map(|_| wide).collect();
        script.apply(operation, &operands, numbers);
        let error = alone(&script).unwrap_err().to_string();
        assert!(error.contains("of memory are needed"), "{operation:?}: {error}");
    }
    for width in [0, 1 << 17] {
        let function = Recorded {
            inputs: vec![width, width],
            body: vec![apply(Operation::FloorDivide, &[0, 1], &[1])],
            outputs: vec![2],
        };
        assert!(function.circuit().is_err(), "{width}");
    }
    let mut script = Script::default();
    let wide = script.input(0, 100, &[0, 1]);
    let wide = script.apply(Operation::Resize, &[wide], &[600, 0]);
    script.apply(Operation::Multiply, &[wide, wide], &[]);
    assert!(alone(&script).unwrap_err().to_string().contains("at most"));
}

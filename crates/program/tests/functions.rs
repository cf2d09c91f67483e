//! Functions that are recorded once and called often.

mod common;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_program::{Function, Secret};
use common::{alone, everywhere};

#[test]
fn a_function_does_what_its_body_does() {
    let revealed = everywhere(|session| {
        let step = Function::record(|[a, b]: [Secret<u32>; 2]| (&a * 3 + &b, a.lt(&b), [b.clone(), a]))?;
        let owner = PartyId(1);
        let values: Vec<u32> = (0..70).map(|x| x * x).collect();
        let row = session.input(owner, 70, (session.me() == owner).then_some(&values[..]));
        session.open(&step.call(&[row.clone(), &row.reverse() + 1]))
    });
    let values: Vec<u32> = (0..70).map(|x| x * x).collect();
    let pairs: Vec<(u32, u32)> = (0..70).map(|at| (values[at], values[69 - at] + 1)).collect();
    let (sums, less, [b, a]) = revealed;
    for (at, &(x, y)) in pairs.iter().enumerate() {
        assert_eq!((sums[at], less[at], b[at], a[at]), (x * 3 + y, x < y, y, x));
    }
}

/// Arguments that are not needed, results that are arguments or constants.
#[test]
fn odd_functions_are_functions() {
    let first = Function::record(|(a, _, _): (Secret<u8>, Secret<u8>, Secret<bool>)| a).unwrap();
    let twice = Function::record(|a: Secret<u8>| [a.clone(), a]).unwrap();
    let nothing = Function::record(|a: Secret<u8>| a.session().public(7u16)).unwrap();
    let opened = alone(|session| {
        let me = session.me();
        let (x, y) = (
            session.input(me, 2, Some(&[1, 2])),
            session.input(me, 2, Some(&[3, 4])),
        );
        let flag = session.public(true);
        session.open(&(
            first.call(&(x.clone(), y, flag)),
            twice.call(&x),
            nothing.call(&x),
        ))
    });
    assert_eq!(opened, (vec![1, 2], [vec![1, 2], vec![1, 2]], vec![7; 2]));
}

#[test]
fn functions_call_functions_and_become_circuits() {
    let square = Function::record(|x: Secret<u16>| &x * &x).unwrap();
    let fourth = Function::record(move |x: Secret<u16>| square.call(&square.call(&x))).unwrap();
    let circuit = fourth.circuit();
    let plan = Plan::new(&circuit);
    assert_eq!(
        (circuit.inputs().len(), plan.input_wires(), plan.output_wires()),
        (1, 16, 16)
    );
    let inputs = cenote_primitives::BitMatrix::from_fn(16, 50, |row, lane| lane >> row & 1 == 1);
    let outputs = plan.evaluate(&inputs).unwrap();
    for lane in 0..50u32 {
        let value = (0..16).fold(0, |value, row| {
            value | u16::from(outputs.get(row, lane as usize)) << row
        });
        assert_eq!(value, lane.pow(4) as u16);
    }
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let told = |result: cenote_program::Result<Function<Secret<u8>, Secret<u8>>>, words: &str| {
        let error = result.err().expect("it is refused").to_string();
        assert!(error.contains(words), "{error}");
    };
    told(Function::record(|x: Secret<u8>| x.repeat(3)), "use rows");
    told(
        Function::record(|x: Secret<u8>| {
            let _ = x.session().open(&x);
            x
        }),
        "cannot reveal",
    );
}

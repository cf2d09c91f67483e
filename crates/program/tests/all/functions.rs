//! Functions that are recorded once and called often.

use crate::common::{alone, everywhere};
use cenote_circuit::library::by_name;
use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_net::PartyId;
use cenote_program::{Function, Secret};

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

/// AES of FIPS 197, by a circuit of the library; and one whose values begin with the top bit.
#[test]
fn circuits_become_functions() {
    let aes = by_name("aes128").unwrap();
    let mut b = Builder::new();
    let x = b.input("x", 16, BitOrder::Msb);
    let high: Vec<_> = x[..8].to_vec();
    b.output("high", &high, BitOrder::Msb);
    b.output("mixed", &x, BitOrder::Lsb);
    let mixed = b.finish();
    let opened = everywhere(|session| {
        let encrypt = Function::<(Secret<u128>, Secret<u128>), Secret<u128>>::of_circuit(aes.clone())?;
        let owner = PartyId(1);
        let of = |values: &[u128]| session.input(owner, 2, (session.me() == owner).then_some(values));
        let key = of(&[0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f, 0]);
        let message = of(&[0x0011_2233_4455_6677_8899_aabb_ccdd_eeff, 0]);
        let take = Function::<[Secret<u8>; 2], (Secret<u8>, Secret<u16>)>::of_circuit(mixed.clone())?;
        let low = session.public_row(&[0x12u8, 0x80]);
        let high = session.public(0x34u8);
        session.open(&(encrypt.call(&(key, message)), take.call(&[low, high])))
    });
    let zeros = 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e;
    assert_eq!(opened.0, [0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a, zeros]);
    assert_eq!(
        opened.1,
        (
            vec![0x34; 2],
            vec![0x3412u16.reverse_bits(), 0x3480u16.reverse_bits()]
        )
    );

    let narrow = Function::<Secret<u8>, Secret<u8>>::of_circuit(by_name("add16").unwrap());
    let error = narrow.err().expect("widths differ").to_string();
    assert!(
        error.contains("arguments of 8 bits, where the circuit has 32"),
        "{error}"
    );
    let wide = Function::<[Secret<u16>; 2], Secret<u8>>::of_circuit(by_name("add16").unwrap());
    let error = wide.err().expect("widths differ").to_string();
    assert!(error.contains("results of 8 bits"), "{error}");
}

#[test]
fn progress_is_told_as_gates_are_run() {
    let told = alone(|session| {
        let told = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let tell = told.clone();
        session.on_progress(move |done| tell.borrow_mut().push(done));
        let x = session.input(session.me(), 100, Some(&[7u32; 100]));
        let y = &x & &x.reverse();
        session.open(&y)?;
        session.open(&(&y & &x))?;
        Ok(told.take())
    });
    assert_eq!(told, [3200, 6400]);
}

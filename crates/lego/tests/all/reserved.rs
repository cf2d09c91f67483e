//! Circuits soldered to their inputs ahead of the inputs' bits.

use std::sync::Arc;

use crate::common::{A, B, random_bits, start};
use cenote_circuit::{BitOrder, Builder, Plan};
use cenote_lego::LegoEngine;
use cenote_lego::LegoWires;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Error, Parties, Result, WireVector};
use cenote_testkit::World;

const LANES: usize = 70;

fn plan() -> Plan {
    let mut b = Builder::new();
    let x = b.input("x", 2, BitOrder::Lsb);
    let y = b.input("y", 2, BitOrder::Lsb);
    let both = [b.and(x[0], y[0]), b.and(x[1], !y[1])];
    b.output("z", &both, BitOrder::Lsb);
    Plan::new(&b.finish())
}

fn refused<T>(result: Result<T>) {
    match result {
        Err(Error::BadInput(_)) => {}
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("misuse was accepted"),
    }
}

fn run(program: impl Fn(&mut LegoEngine, &Plan) -> Result<()> + Send + Sync + 'static) {
    let program = Arc::new(program);
    let world = World::new(2, 11);
    let results = world.run(move |mut context| {
        let mut engine = start(&mut context, 40)?;
        program(&mut engine, &plan())?;
        engine.finish()
    });
    results.into_iter().for_each(|result| result.unwrap());
}

fn own(engine: &LegoEngine, owner: cenote_net::PartyId, bits: &BitMatrix) -> Option<BitMatrix> {
    (engine.me() == owner).then(|| bits.clone())
}

#[test]
fn bits_may_come_after_the_circuit() {
    run(|engine, plan| {
        let x = engine.reserve(A, 2, LANES)?;
        let y = engine.reserve(B, 2, LANES)?;
        let outputs = engine.run(plan, &LegoWires::concat(&[&x, &y]))?;
        let sent = engine.costs().rounds;
        let inputs = random_bits(5, 4, LANES);
        let rows = |range: std::ops::Range<usize>| {
            BitMatrix::from_fn(2, LANES, |row, lane| inputs.get(range.start + row, lane))
        };
        let bits = own(engine, A, &rows(0..2));
        engine.give(A, &x, bits.as_ref())?;
        let bits = own(engine, B, &rows(2..4));
        engine.give(B, &y, bits.as_ref())?;
        let opened = engine.reveal(&outputs, Parties::all(2))?;
        assert_eq!(opened.as_ref(), Some(&plan.evaluate(&inputs).unwrap()));
        assert_eq!(engine.costs().rounds - sent, 3);
        Ok(())
    });
}

/// Misuse is refused at both parties, and harms nothing.
#[test]
fn bits_come_in_the_order_of_reservation_and_before_anything_is_revealed() {
    run(|engine, plan| {
        let x = engine.reserve(A, 2, LANES)?;
        let y = engine.reserve(B, 2, LANES)?;
        let outputs = engine.run(plan, &LegoWires::concat(&[&x, &y]))?;
        let zeros = BitMatrix::zeros(2, LANES);
        refused(engine.reveal(&outputs, Parties::one(B)));
        let bits = own(engine, A, &zeros);
        refused(engine.input(A, 2, LANES, bits.as_ref()));
        let bits = own(engine, B, &zeros);
        refused(engine.give(B, &y, bits.as_ref()));
        refused(engine.give(B, &x, bits.as_ref()));
        let bits = own(engine, A, &zeros);
        refused(engine.give(A, &LegoWires::concat(&[&x, &y]), bits.as_ref()));
        engine.give(A, &x, bits.as_ref())?;
        refused(engine.give(A, &x, bits.as_ref()));
        refused(engine.reveal(&outputs, Parties::one(B)));
        let ones = BitMatrix::from_fn(2, LANES, |_, _| true);
        let bits = own(engine, B, &ones);
        engine.give(B, &y, bits.as_ref())?;
        refused(engine.give(B, &y, bits.as_ref()));
        let opened = engine.reveal(&outputs, Parties::one(B))?;
        assert_eq!(opened, own(engine, B, &zeros));
        Ok(())
    });
}

/// Inputs that no machine holds are refused at both parties before anything is made for them, and the session goes on.
#[test]
fn inputs_that_nobody_can_hold_are_refused() {
    run(|engine, _| {
        for (wires, lanes) in [(1 << 40, 1 << 20), (usize::MAX, usize::MAX)] {
            match engine.reserve(A, wires, lanes) {
                Err(Error::BadInput(why)) => assert!(why.contains("order them in parts"), "{why}"),
                other => panic!("{:?}", other.map(|_| ())),
            }
        }
        let x = engine.reserve(A, 2, LANES)?;
        let bits = random_bits(5, 2, LANES);
        let own = own(engine, A, &bits);
        engine.give(A, &x, own.as_ref())?;
        assert_eq!(engine.reveal(&x, Parties::all(2))?, Some(bits));
        Ok(())
    });
}

//! Programs that are larger than what is made ahead: material is made while they run, used and forgotten.

use crate::common::{A, B, config, random_bits};
use cenote_circuit::{Plan, library};
use cenote_lego::{LegoEngine, LegoWires, Order};
use cenote_net::PartyId;
use cenote_params::lego::Soundness;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Parties, Result, WireVector};
use cenote_testkit::{PartyContext, World};

/// AND gates ahead.
const AHEAD: u64 = 8192;

/// Circuits that are announced before any of them is run.
const CIRCUITS: u64 = 8;

fn start(context: &mut PartyContext, ahead: u64) -> Result<LegoEngine> {
    let mut config = config(context.me, 40, 3);
    (config.epoch, config.ahead) = (ahead / 2, ahead);
    let channel = context.take(PartyId(1 - context.me.0), "main");
    LegoEngine::start(context.me, vec![channel], config)
}

/// Half of the inputs of `plan` are the one's, half the other's.
fn put_in(engine: &mut LegoEngine, inputs: &BitMatrix) -> Result<LegoWires> {
    let (half, me) = (inputs.rows() / 2, engine.me());
    let mut of = |owner: PartyId| {
        let first = owner.index() * half;
        let own = BitMatrix::from_fn(half, inputs.lanes(), |row, lane| inputs.get(first + row, lane));
        engine.input(owner, half, inputs.lanes(), (owner == me).then_some(&own))
    };
    let (a, b) = (of(A)?, of(B)?);
    Ok(LegoWires::concat(&[&a, &b]))
}

/// Runs `circuit` on as many groups of lanes, all announced first, settled one by one and revealed in the end. Gives the most
/// that there was in stock besides masks, which fill up what is left of the commitments of an epoch; and the bounds on errors.
fn groups(circuit: &str, groups: usize, to: Parties) -> Vec<(u64, Soundness)> {
    let plan = Plan::new(&library::by_name(circuit).unwrap());
    let results = World::new(2, 4).run(move |mut context| -> Result<_> {
        let mut engine = start(&mut context, AHEAD)?;
        let lanes = engine.most_lanes(&plan);
        let bits = |wires: usize| groups * lanes * wires;
        let half = bits(plan.input_wires() / 2);
        engine.prepare_values(&[(A, half), (B, half)], &[(to, bits(plan.output_wires()))])?;
        engine.prepare(&plan, groups * lanes)?;
        let mut most = 0;
        let mut note = |engine: &LegoEngine| {
            let stock = engine.stock();
            most = most.max(Order { masks: 0, ..stock }.extent());
        };
        let mut settled = Vec::new();
        for group in 0..groups {
            let inputs = random_bits(group as u64, plan.input_wires(), lanes);
            let wires = put_in(&mut engine, &inputs)?;
            note(&engine);
            let outputs = engine.run(&plan, &wires)?;
            settled.push((engine.settle(outputs)?, plan.evaluate(&inputs).unwrap()));
        }
        for (wires, right) in &settled {
            let revealed = engine.reveal(wires, to)?;
            assert_eq!(revealed.as_ref(), to.contains(engine.me()).then_some(right));
            note(&engine);
        }
        engine.finish()?;
        Ok((most, engine.soundness().expect("there is material")))
    });
    results.into_iter().map(|result| result.unwrap()).collect()
}

#[test]
fn stock_does_not_grow_with_the_lanes() {
    for to in [Parties::one(A), Parties::all(2)] {
        // Rounding makes a little more than is ahead.
        let most = AHEAD + AHEAD / 2;
        for count in [2, 3, 8] {
            for (stock, soundness) in groups("mult8", count, to) {
                let error = soundness.largest().log2();
                assert!(
                    stock <= most && error <= crate::common::most_error(40),
                    "{stock}, 2^{error}"
                );
                // Gadgets that are made for outputs while they are opened have their share.
                bounds_hold(&soundness);
            }
        }
    }
}

/// Each of Theorem 2's bounds on all that was made is what was asked for.
fn bounds_hold(soundness: &Soundness) {
    let bounds = soundness
        .terms
        .iter()
        .filter(|term| term.event.starts_with("any bad"));
    let errors: Vec<f64> = bounds.map(|term| term.error.log2()).collect();
    assert!(
        errors.len() == 3 && errors.iter().all(|error| *error <= -40.0),
        "{errors:?}"
    );
}

/// However many circuits are announced before any of them is run, the error of all their material is no more than was asked for.
#[test]
fn circuits_that_are_announced_one_by_one_share_the_error() {
    let plan = Plan::new(&library::by_name("mult8").unwrap());
    let results = World::new(2, 4).run(move |mut context| -> Result<_> {
        let mut engine = start(&mut context, AHEAD)?;
        let lanes = engine.most_lanes(&plan);
        for _ in 0..CIRCUITS {
            engine.prepare(&plan, 2 * lanes)?;
        }
        for group in 0..2 * CIRCUITS {
            let inputs = random_bits(group, plan.input_wires(), lanes);
            let wires = put_in(&mut engine, &inputs)?;
            let outputs = engine.run(&plan, &wires)?;
            engine.settle(outputs)?;
        }
        engine.finish()?;
        Ok(engine.soundness().expect("there is material"))
    });
    for result in results {
        bounds_hold(&result.unwrap());
    }
}

/// What comes out of a circuit in pieces can be computed on.
#[test]
fn a_large_circuit_is_run_in_pieces() {
    let plan = Plan::new(&library::by_name("aes128").unwrap());
    let add = Plan::new(&library::by_name("add64").unwrap());
    assert!(plan.and_count() as u64 > AHEAD / 2);
    let results = World::new(2, 4).run(move |mut context| -> Result<_> {
        let mut engine = start(&mut context, AHEAD / 4)?;
        let inputs = random_bits(7, plan.input_wires(), 1);
        engine.prepare_values(&[(A, 128), (B, 128)], &[(Parties::all(2), 64)])?;
        engine.prepare(&plan, 1)?;
        let wires = put_in(&mut engine, &inputs)?;
        let outputs = engine.run(&plan, &wires)?;
        let most = engine.stock().extent();
        let sum = engine.run(&add, &outputs)?;
        let revealed = engine.reveal(&sum, Parties::all(2))?;
        engine.finish()?;
        let right = add.evaluate(&plan.evaluate(&inputs).unwrap()).unwrap();
        assert_eq!(revealed, Some(right));
        Ok((most, engine.costs().and_gates, engine.error_bound()))
    });
    for result in results {
        let (most, ands, error) = result.unwrap();
        assert!(
            most <= AHEAD / 2 && error <= crate::common::most_error(40),
            "{most}, 2^{error}"
        );
        assert!(ands > AHEAD / 2);
    }
}

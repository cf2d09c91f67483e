//! Messages that are malformed, missing, repeated or out of order.

use cenote_net::Step;
use cenote_testkit::{Perturbation, noticed};

use super::*;

/// A program that has every step of computing, after the pool was filled and set up: two runs, inputs and outputs of both, a refill.
fn program(engine: &mut JimuEngine) -> Result<()> {
    let mut state = input(engine, GARBLER, &bit(true))?;
    for round in 0..2 {
        let own = input(engine, EVALUATOR, &bit(round == 1))?;
        state = engine.run(&and(), &JimuWires::concat(&[&state, &own]))?;
        engine.compare(&[round; 32])?;
        engine.reveal(&state, Parties::all(2))?;
    }
    // More gates than there are.
    let lanes = 40;
    let many = engine.constant(&BitMatrix::from_fn(2, lanes, |_, lane| lane % 3 == 0))?;
    engine.run(&and(), &many)?;
    engine.finish()
}

/// What party `from` sends in these steps, of which each has a message, is perturbed in each way; who notices it, the peer or the party itself,
/// says so, and nobody panics or hangs.
fn every_perturbation(from: PartyId, steps: &[Step], program: fn(&mut JimuEngine) -> Result<()>) {
    // Of a symbol that is not watched, or a label that is not chosen.
    let harmless = [steps::INPUT_WIRES, steps::GADGETS, steps::OWN_LABELS];
    for &step in steps {
        let outcomes = noticed(from, [step, steps::FINISH], &harmless, |adversary, timeout| {
            let honest = Adversary::with(|_, _, message| vec![message]);
            let mut session = Session::new(61, 160, &Faults::new());
            session.timeout = timeout;
            let adversaries = match from == GARBLER {
                true => [adversary, &honest],
                false => [&honest, adversary],
            };
            let outcome = session.run_between(adversaries, program);
            [outcome.garbler, outcome.evaluator]
        });
        for (perturbation, results) in outcomes {
            if perturbation.is_missed() || matches!(perturbation, Perturbation::FlipBit { .. }) {
                continue;
            }
            let named =
                matches!(&results[1 - from.index()], Err(error) if error.to_string().contains(step.name));
            assert!(
                named || matches!(perturbation, Perturbation::Duplicate),
                "the step is named: {} of {from} {perturbation:?}: {results:?}",
                step.name
            );
        }
    }
}

#[test]
fn what_the_garbler_sends_while_computing() {
    let steps = [
        steps::INPUT_WIRES,
        steps::INPUT_LABELS,
        steps::OWN_LABELS,
        steps::SOLDER,
        steps::PROVE,
        steps::DECODE,
        steps::COMPARE,
        steps::FINISH,
        steps::GADGETS,
        steps::COIN,
        steps::OPEN_BITS,
        steps::OPEN_LABELS,
    ];
    every_perturbation(GARBLER, &steps, program);
}

#[test]
fn what_the_evaluator_sends_while_computing() {
    let steps = [
        steps::COMBINE,
        steps::CHOICES,
        steps::OUTPUT_LABELS,
        steps::COMPARE,
        steps::FINISH,
        steps::COIN,
    ];
    every_perturbation(EVALUATOR, &steps, program);
}

//! Messages that are malformed, missing, repeated or out of order.

use cenote_net::Step;
use cenote_testkit::{Perturbation, Target, perturbed};

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
    for &step in steps {
        // Most of the time of those that miss a message is spent waiting.
        std::thread::scope(|scope| {
            for perturbation in Perturbation::all() {
                scope.spawn(move || perturb(from, step, &perturbation, program));
            }
        });
    }
}

fn perturb(
    from: PartyId,
    step: Step,
    perturbation: &Perturbation,
    program: fn(&mut JimuEngine) -> Result<()>,
) {
    if step == steps::FINISH && matches!(perturbation, Perturbation::Duplicate) {
        // Nobody reads on after the last message.
        return;
    }
    let outcome = perturbed(&Target::step(step), perturbation, |adversary, timeout| {
        let honest = Adversary::with(|_, _, message| vec![message]);
        let mut session = Session::new(61, 160, &Faults::new());
        session.timeout = timeout;
        let adversaries = match from == GARBLER {
            true => [adversary, &honest],
            false => [&honest, adversary],
        };
        session.run_between(adversaries, program)
    });
    let results = [outcome.garbler, outcome.evaluator];
    let told = format!("{} of {from} {perturbation:?}: {results:?}", step.name);
    if matches!(perturbation, Perturbation::FlipBit { .. }) {
        assert!(results.iter().any(Result::is_err) || harmless(step), "{told}");
        return;
    }
    // A party that has said that it is finished may be, whatever becomes of what it said.
    let [at_itself, at_peer] = match from == GARBLER {
        true => [&results[0], &results[1]],
        false => [&results[1], &results[0]],
    };
    assert!(at_itself.is_err() || step == steps::FINISH, "{told}");
    let text = at_peer.as_ref().expect_err(&told).to_string();
    assert!(text.contains(&from.to_string()), "the peer is named: {told}");
    if !perturbation.is_missed() {
        let named = text.contains(step.name) || matches!(perturbation, Perturbation::Duplicate);
        assert!(named, "the step is named: {told}");
    }
}

/// Whether the first bit of a step may be another without harm: of a symbol that is not watched, of a label that is not chosen.
fn harmless(step: Step) -> bool {
    [steps::INPUT_WIRES, steps::GADGETS, steps::OWN_LABELS].contains(&step)
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

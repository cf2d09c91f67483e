//! Gates that are garbled wrongly, and masked values that are not told as they are.

use super::*;

/// The garbler's difference, for an adversary that is part of it.
type Secret = Arc<Mutex<Block>>;

/// Runs the AND in so many lanes; what the garbler sends passes through `adversary`, once it has told its difference.
fn run(seed: u64, lanes: usize, secret: &Secret, adversary: Adversary) -> [Result<BitMatrix>; 2] {
    Session::cheating(seed, GARBLER, &adversary).run(|engine| {
        if engine.me() == GARBLER {
            *secret.lock().unwrap() = *engine.parts().0.keys.delta;
        }
        program(lanes)(engine)
    })
}

fn add(body: &mut [u8], block: Block) {
    body.iter_mut()
        .zip(block.to_bytes())
        .for_each(|(byte, delta)| *byte ^= delta);
}

/// With Δ added to a half of a table the evaluator gets the label of the other value, if that half's masked value is 1. It is uniform, whatever the inputs.
#[test]
fn a_gate_that_gives_the_other_value_is_caught_when_its_masked_value_says_so() {
    // The first ones come after what tells the halves apart.
    for half in [16, 32] {
        let (mut caught, runs) = (0, 120);
        for seed in 0..runs {
            let secret = Secret::default();
            let delta = secret.clone();
            let adversary = changing(steps::TABLES, move |_, body| {
                add(&mut body[half..half + 16], *delta.lock().unwrap());
            });
            let [_, evaluator] = run(seed, 1, &secret, adversary);
            match evaluator {
                Ok(opened) => assert_eq!(opened, expected(1)),
                failed => {
                    assert_eq!(check(&failed), GATES);
                    caught += 1;
                }
            }
        }
        // 60 ± 5 standard deviations of 5.5.
        assert!((33..=87).contains(&caught), "{caught} of {runs} are caught");
    }
}

/// The bit that says which label is which, for all gates.
#[test]
fn a_wrong_colour_is_caught() {
    let adversary = changing(steps::TABLES, |_, body| *body.last_mut().unwrap() ^= 0x80);
    let [_, evaluator] = run(1, 64, &Secret::default(), adversary);
    assert_eq!(check(&evaluator), GATES);
}

#[test]
fn gates_with_garbage_are_caught_before_anything_is_opened() {
    let opened = Arc::new(Mutex::new(0));
    let count = opened.clone();
    let adversary = changing(steps::TABLES, |_, body| {
        body.iter_mut().for_each(|byte| *byte ^= 0x55)
    });
    let ears = Adversary::with(move |_, _, message: Message| {
        let outputs = [steps::OUTPUT_LABELS, steps::OPEN_OUTPUT_MASKS].contains(&message.step);
        *count.lock().unwrap() += usize::from(outputs);
        vec![message]
    });
    let [garbler, evaluator] = Session::with(1, [adversary, ears]).run(program(64));
    assert_eq!(check(&evaluator), GATES);
    assert!(garbler.is_err());
    assert_eq!(*opened.lock().unwrap(), 0, "the evaluator opens nothing");
}

/// The garbler's difference changes after its leaky ANDs were made: labels of a gate are none, and those of gates after it say nothing.
#[test]
fn another_difference_than_that_of_leaky_ands_gives_nothing() {
    let [garbler, evaluator] = Session::honest(1).run(|engine| {
        engine.ready(3 * 64)?;
        if engine.me() == GARBLER {
            engine.parts().0.keys.delta.0[1] ^= 1 << 20;
        }
        let x = input(engine, EVALUATOR, &bits(4, 64, |row, lane| (row + lane) % 3 != 1))?;
        let all = engine.run(&and_of_four(), &x)?;
        engine.reveal(&all, Parties::all(2))
    });
    // The evaluator would find it too, but its labels tell the garbler first.
    assert_eq!(check(&garbler), MASKED_VALUES);
    assert!(evaluator.is_err());
}

#[test]
fn a_wrong_proof_of_gates_is_caught() {
    let adversary = changing(steps::PROVE_GATES, |_, body| body[5] ^= 1);
    let [_, evaluator] = run(1, 20, &Secret::default(), adversary);
    assert_eq!(check(&evaluator), GATES);
}

/// What is opened of triples, each kind of it: e and f of the masks, and d of the leaky ANDs; and of the masks of inputs and outputs.
#[test]
fn bits_that_are_opened_as_others_are_caught() {
    for cheater in [GARBLER, EVALUATOR] {
        // Of 20 gates: 20 bits e, 20 f, 40 d, and the proof.
        let flips = [0, 19, 20, 39, 40, 79, 80].map(|bit| (steps::OPEN_TRIPLES, bit));
        let masks = [steps::OPEN_INPUT_MASKS, steps::OPEN_OUTPUT_MASKS].map(|step| (step, 3));
        for (step, bit) in flips.into_iter().chain(masks) {
            let adversary = changing(step, move |_, body| body[bit / 8] ^= 1 << (bit % 8));
            let [garbler, evaluator] = Session::cheating(1, cheater, &adversary).run(program(20));
            assert!(adversary.deviations() > 0);
            let honest = if cheater == GARBLER { evaluator } else { garbler };
            assert_eq!(check(&honest), BIT_OPENING, "{}: bit {bit}", step.name);
        }
    }
}

/// A label for the other masked value of the evaluator's input would make it compute with another input.
#[test]
fn a_label_of_another_input_of_the_evaluators_is_refused() {
    let secret = Secret::default();
    let delta = secret.clone();
    // The second message is that of the evaluator's input.
    let adversary = changing(steps::INPUT_LABELS, move |message, body| {
        if message == 1 {
            add(&mut body[..16], *delta.lock().unwrap());
        }
    });
    let [_, evaluator] = run(1, 5, &secret, adversary);
    assert_eq!(check(&evaluator), OWN_INPUT);
}

/// Masked values that the evaluator has no labels for: the garbler does not say what its shares are then.
#[test]
fn masked_values_of_operands_that_are_none_are_refused() {
    for at in [0, 8] {
        let adversary = changing(steps::MASKED_VALUES, move |_, body| body[at] ^= 1);
        let answers = Arc::new(Mutex::new(0));
        let count = answers.clone();
        let ears = changing(steps::PROVE_GATES, move |_, _| *count.lock().unwrap() += 1);
        let [garbler, _] = Session::with(1, [ears, adversary]).run(program(20));
        assert_eq!(check(&garbler), MASKED_VALUES);
        assert_eq!(*answers.lock().unwrap(), 0);
    }
}

#[test]
fn an_output_that_the_evaluator_has_no_label_for_is_refused() {
    for at in [0, 8] {
        let adversary = changing(steps::OUTPUT_LABELS, move |_, body| body[at] ^= 1);
        let [garbler, _] = Session::cheating(1, EVALUATOR, &adversary).run(program(20));
        assert_eq!(check(&garbler), checks::OUTPUT_LABELS);
    }
}

/// Whether the evaluator stops says nothing of its inputs: over many sessions it does as often for each of its inputs.
#[test]
fn a_failure_does_not_depend_on_the_evaluators_input() {
    let mut caught = [0; 2];
    let runs = 100;
    for (input_bit, caught) in caught.iter_mut().enumerate() {
        for seed in 0..runs {
            let secret = Secret::default();
            let delta = secret.clone();
            let adversary = changing(steps::TABLES, move |_, body| {
                add(&mut body[32..48], *delta.lock().unwrap())
            });
            let [_, evaluator] = Session::cheating(seed, GARBLER, &adversary).run(|engine| {
                if engine.me() == GARBLER {
                    *secret.lock().unwrap() = *engine.parts().0.keys.delta;
                }
                let x = input(engine, GARBLER, &bits(1, 1, |_, _| true))?;
                let y = input(engine, EVALUATOR, &bits(1, 1, |_, _| input_bit == 1))?;
                let both = engine.run(&and(), &AuthenticatedWires::concat(&[&x, &y]))?;
                engine.reveal(&both, Parties::one(EVALUATOR))
            });
            if evaluator.is_err() {
                assert_eq!(check(&evaluator), GATES);
                *caught += 1;
            }
        }
    }
    for caught in caught {
        assert!((25..=75).contains(&caught), "{caught} of {runs} are caught");
    }
}

/// All of a session is over when a check has failed.
#[test]
fn nothing_comes_after_a_failure() {
    let adversary = changing(steps::PROVE_GATES, |_, body| body[0] ^= 1);
    let [_, evaluator] = Session::cheating(1, GARBLER, &adversary).run(|engine| {
        let wires = engine.constant(&bits(4, 3, |_, _| true))?;
        let outputs = engine.run(&and_of_four(), &wires)?;
        let failed = engine.reveal(&outputs, Parties::all(2));
        Ok((
            failed,
            engine.constant(&bits(1, 1, |_, _| true)),
            engine.reveal(&outputs, Parties::all(2)),
        ))
    });
    let (failed, constant, again) = evaluator.unwrap();
    assert_eq!(check(&failed), GATES);
    assert!(matches!(constant, Err(Error::Poisoned(_))));
    assert!(matches!(again, Err(Error::Poisoned(_))));
}

//! Gates that are garbled wrongly, and masked values that are not told as they are.

use super::*;

/// The garbler's difference, for an adversary that is part of it.
type Secret = Arc<Mutex<Block>>;

/// Runs the AND in so many lanes; what the garbler sends passes through `adversary`, once it has told its difference.
fn run(seed: u64, lanes: usize, secret: &Secret, adversary: Adversary) -> [Result<BitMatrix>; 2] {
    Session::cheating(seed, GARBLER, &adversary)
        .over_bases()
        .run(|engine| {
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

/// Outputs of the AND of four wires of the evaluator's with `values`, to itself; the garbler goes on whatever masked values it is told.
fn and_of_evaluators(engine: &mut AuthenticatedEngine, values: [bool; 4]) -> Result<BitMatrix> {
    engine.parts().0.deviation.trusting = engine.me() == GARBLER;
    let x = input(engine, EVALUATOR, &bits(4, 1, |row, _| values[row]))?;
    let all = engine.run(&and_of_four(), &x)?;
    let opened = engine.reveal(&all, Parties::one(EVALUATOR))?;
    Ok(opened.unwrap_or_else(|| bits(1, 1, |_, _| false)))
}

/// Four inputs, whose AND is 1 for every fourth seed.
fn inputs(seed: u64) -> [bool; 4] {
    match seed % 4 {
        0 => [true, true, true, false],
        _ => [2, 3, 4, 5].map(|at| seed >> at & 1 == 1),
    }
}

/// How many of `runs` sessions the evaluator ends because of gates; in all others the AND of four wires is right.
fn caught(
    runs: u64,
    inputs: impl Fn(u64) -> [bool; 4],
    session: impl Fn(u64, [bool; 4]) -> [Result<BitMatrix>; 2],
) -> u64 {
    let mut caught = 0;
    for seed in 0..runs {
        let values = inputs(seed);
        let [garbler, evaluator] = session(seed, values);
        match evaluator {
            Ok(opened) => {
                assert!(garbler.is_ok());
                let all = values[0] && values[1] && values[2] && !values[3];
                assert_eq!(opened, bits(1, 1, |_, _| all), "{seed}: {values:?}");
            }
            failed => {
                assert_eq!(check(&failed), GATES);
                caught += 1;
            }
        }
    }
    caught
}

/// The garbler's difference changes after its leaky ANDs were made, and it takes masked values without labels. Of a first gate the evaluator gets a label that is
/// none, with probability 1/2, and then the gate after it is wrong with probability 1/2.
#[test]
fn another_difference_than_that_of_leaky_ands_is_caught_where_it_has_an_effect() {
    let runs = 160;
    let caught = caught(runs, inputs, |seed, values| {
        Session::honest(seed).over_bases().run(|engine| {
            engine.ready(3)?;
            if engine.me() == GARBLER {
                engine.parts().0.keys.delta.0[1] ^= 1 << 20;
            }
            and_of_evaluators(engine, values)
        })
    });
    // 60 ± 5 standard deviations of 6.1.
    assert!((29..=91).contains(&caught), "{caught} of {runs} are caught");
}

/// A table of a first gate is wrong in the half that the evaluator takes with probability 1/2. With Δ added the gate gives the other value, which is
/// noticed. With anything else it gives no label, and the gate after it is wrong with probability 1/2.
#[test]
fn wrong_tables_whose_outputs_feed_later_gates_are_caught_where_they_have_an_effect() {
    // 80 ± 5 standard deviations of 6.3, and 40 ± 5 of 5.5.
    for (with_delta, range) in [(true, 48..=112), (false, 13..=67)] {
        for half in [16, 32] {
            let runs = 160;
            let caught = caught(runs, inputs, |seed, values| {
                let secret = Secret::default();
                let delta = secret.clone();
                let adversary = changing(steps::TABLES, move |_, body| {
                    let garbage = Block([0x1234_5670, 1]);
                    let block = if with_delta {
                        *delta.lock().unwrap()
                    } else {
                        garbage
                    };
                    add(&mut body[half..half + 16], block);
                });
                Session::cheating(seed, GARBLER, &adversary)
                    .over_bases()
                    .run(|engine| {
                        if engine.me() == GARBLER {
                            *secret.lock().unwrap() = *engine.parts().0.keys.delta;
                        }
                        and_of_evaluators(engine, values)
                    })
            });
            assert!(range.contains(&caught), "{caught} of {runs} are caught");
        }
    }
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
        // Of 20 gates: e, f and two d each, and the proof.
        let flips = [0, 1, 2, 3, 40, 79, 80].map(|bit| (steps::OPEN_TRIPLES, bit));
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

/// Whether the evaluator stops says nothing of its inputs: with the same masks it does for one of two values of an input, if the masked value
/// decides; and masks are uniform.
#[test]
fn a_failure_depends_on_a_masked_value_and_not_on_the_evaluators_input() {
    for circuit in [and(), and_of_four()] {
        // The half that the left operand's masked value decides on, and that of the right one's: the second or fourth wire.
        for (half, decides) in [(16, false), (32, true)] {
            let (mut caught, runs) = ([0; 2], 40);
            for seed in 0..runs {
                let ends = [false, true].map(|second| {
                    let secret = Secret::default();
                    let delta = secret.clone();
                    let adversary = changing(steps::TABLES, move |_, body| {
                        add(&mut body[half..half + 16], *delta.lock().unwrap())
                    });
                    let [_, evaluator] =
                        Session::cheating(seed, GARBLER, &adversary)
                            .over_bases()
                            .run(|engine| {
                                if engine.me() == GARBLER {
                                    *secret.lock().unwrap() = *engine.parts().0.keys.delta;
                                }
                                let x =
                                    input(engine, EVALUATOR, &bits(4, 1, |row, _| row % 2 == 0 || second))?;
                                let x = x.select(0..circuit.input_wires());
                                let outputs = engine.run(&circuit, &x)?;
                                engine.reveal(&outputs, Parties::one(EVALUATOR))
                            });
                    let ended = evaluator.is_err();
                    assert!(!ended || check(&evaluator) == GATES);
                    ended
                });
                assert_eq!(ends[0] != ends[1], decides, "{half} of {seed}: {ends:?}");
                caught
                    .iter_mut()
                    .zip(ends)
                    .for_each(|(caught, ended)| *caught += u64::from(ended));
            }
            for caught in caught {
                // 20 ± 5 standard deviations of 3.2.
                assert!((4..=36).contains(&caught), "{caught} of {runs} are caught");
            }
        }
    }
}

/// A label of the evaluator's input that is none makes a gate give the right bit or the other one, whatever the input is.
#[test]
fn a_failure_by_a_label_that_is_none_does_not_depend_on_the_evaluators_input() {
    let runs = 100;
    for value in [false, true] {
        let inputs = |seed| {
            let [first, _, third, fourth] = inputs(seed);
            [first, value, third, fourth]
        };
        let caught = caught(runs, inputs, |seed, values| {
            let adversary = changing(steps::INPUT_LABELS, |_, body| body[16 + 9] ^= 4);
            Session::cheating(seed, GARBLER, &adversary)
                .over_bases()
                .run(|engine| and_of_evaluators(engine, values))
        });
        // The gate is wrong with probability 1/2, and the one after it: 75 ± 5 standard deviations of 4.3.
        assert!(
            (54..=96).contains(&caught),
            "{caught} of {runs} are caught with {value}"
        );
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

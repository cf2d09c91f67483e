//! Solderings, permutation bits and labels that are not what they should be.

use super::*;
use crate::online::INPUTS_AT_ONCE;

/// The garbler has one bad gate in a bucket, wrong for one value of the evaluator's bit, and spoils the solderings of the others. It is
/// caught, for the same reason and at the same point whatever the bit is.
#[test]
fn wrong_solderings_tell_nothing_of_what_they_are_soldered_to() {
    let gates = 128;
    let order = Session::order(11, gates, &[(1, ANCHOR), (1, BUCKET)]);
    for half in 0..2 {
        let mut fault = [Fault::None; 2];
        fault[half] = Fault::Garbage;
        let faults = Faults::from([(order[1][0].number, fault)]);
        for (x, y) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let adversary = Adversary::with(|_, _, mut message: Message| {
                let size = message.body.len() / (3 * BUCKET - 1);
                if message.step == steps::SOLDER
                    && size * (3 * BUCKET - 1) == message.body.len()
                    && size == 48
                {
                    // Of both operands, for all gates but the first.
                    for soldering in [1, 2, 4, 5] {
                        message.body[soldering * size + 7..][..20].fill(0xa5);
                    }
                }
                vec![message]
            });
            let outcome = Session::new(11, gates, &faults).run(Some(&adversary), |engine| {
                let x = input(engine, GARBLER, &bit(x == 1))?;
                let y = input(engine, EVALUATOR, &bit(y == 1))?;
                let both = engine.run(&and(), &JimuWires::concat(&[&x, &y]))?;
                engine.reveal(&both, Parties::one(EVALUATOR))
            });
            assert_eq!(adversary.deviations(), 1);
            let error = outcome.evaluator.unwrap_err();
            assert_eq!(error.check(), Some(checks::SOLDERING), "{x} {y}: {error}");
            assert!(!outcome.cheated);
        }
    }
}

/// An AND gate of a bit of either party, with outputs for both, behind adversaries of both.
fn attacked(seed: u64, garbler: &Adversary, evaluator: &Adversary) -> Outcome<Option<BitMatrix>> {
    Session::new(seed, 256, &Faults::new()).run_between([garbler, evaluator], |engine| {
        let x = input(engine, GARBLER, &bit(true))?;
        let y = input(engine, EVALUATOR, &bit(true))?;
        let both = engine.run(&and(), &JimuWires::concat(&[&x, &y]))?;
        let output = engine.reveal(&both, Parties::all(2))?;
        engine.finish()?;
        Ok(output)
    })
}

fn honest() -> Adversary {
    Adversary::with(|_, _, message| vec![message])
}

/// Adds `mask` to a range of bytes of message number `occurrence` of a step.
fn adding(step: cenote_net::Step, occurrence: usize, first: usize, mask: Vec<u8>) -> Adversary {
    let mut seen = 0;
    Adversary::with(move |_, _, mut message: Message| {
        if message.step == step {
            if seen == occurrence {
                let bytes = &mut message.body[first..first + mask.len()];
                bytes.iter_mut().zip(&mask).for_each(|(byte, mask)| *byte ^= mask);
            }
            seen += 1;
        }
        vec![message]
    })
}

/// Whatever the garbler opens of labels and bits: another soldering, or one with Δ, as if a permutation bit were another; a proof of other bits;
/// another bit of an output; another label of its own input.
#[test]
fn what_the_garbler_opens_wrongly_is_caught() {
    let seed = 12;
    let delta = || {
        let (garbler, _) = keys(seed);
        bytemuck::cast_slice(&garbler.0.secrets.delta[..]).to_vec()
    };
    for (step, occurrence, first, mask, check) in [
        // The solderings of the input's anchors, of the bucket, and of the output's anchors.
        (steps::SOLDER, 0, 48, vec![1], checks::SOLDERING),
        (steps::SOLDER, 1, 100, vec![1], checks::SOLDERING),
        (steps::SOLDER, 1, 48 * 6, vec![1], checks::SOLDERING),
        (steps::SOLDER, 2, 479, vec![1], checks::SOLDERING),
        (steps::SOLDER, 0, 48, delta(), checks::BIT_OPENING),
        (steps::SOLDER, 1, 0, delta(), checks::BIT_OPENING),
        (steps::SOLDER, 1, 48 * 7, delta(), checks::BIT_OPENING),
        (steps::PROVE, 0, 15, vec![1], checks::BIT_OPENING),
        (steps::PROVE, 1, 0, vec![1], checks::BIT_OPENING),
        (steps::DECODE, 0, 0, vec![1], checks::BIT_OPENING),
        (steps::DECODE, 0, 1, vec![1], checks::BIT_OPENING),
        (steps::INPUT_LABELS, 0, 47, vec![1], checks::INPUT_LABEL),
    ] {
        let adversary = adding(step, occurrence, first, mask);
        let outcome = attacked(seed, &adversary, &honest());
        assert_eq!(adversary.deviations(), 1, "{step:?}");
        let error = outcome.evaluator.unwrap_err();
        assert_eq!(
            error.check(),
            Some(check),
            "{step:?} {occurrence} {first}: {error}"
        );
        let error = outcome.garbler.unwrap_err();
        assert!(
            error.to_string().contains(check.name),
            "{step:?}: the garbler hears of it: {error}"
        );
    }
    // The other label of an input is another input, and no lie.
    let outcome = attacked(seed, &adding(steps::INPUT_LABELS, 0, 0, delta()), &honest());
    assert!(!outcome.cheated);
    assert_eq!(outcome.unwrap(), [Some(bit(false)), Some(bit(false))]);
}

/// An evaluator cannot say that an output is another than it is, without knowing Δ.
#[test]
fn an_output_label_that_the_evaluator_forges_is_caught() {
    for first in [0, 1, 32] {
        let adversary = adding(steps::OUTPUT_LABELS, 0, first, vec![1]);
        let outcome = attacked(13, &honest(), &adversary);
        assert_eq!(adversary.deviations(), 1);
        let error = outcome.garbler.unwrap_err();
        assert_eq!(error.check(), Some(checks::OUTPUT_LABEL), "byte {first}: {error}");
    }
}

/// The labels of another combination, or bits that were not sent, make the evaluator fail, and nothing else.
#[test]
fn an_evaluator_that_lies_about_its_inputs_harms_itself_only() {
    let outcome = attacked(14, &honest(), &adding(steps::COMBINE, 0, 0, vec![1]));
    let error = outcome.evaluator.unwrap_err();
    assert_eq!(error.check(), Some(checks::SOLDERING), "{error}");
    // Another bit of the mask is another input, of which the evaluator's own code knows nothing.
    let outcome = attacked(14, &honest(), &adding(steps::CHOICES, 0, 0, vec![1]));
    let error = outcome.evaluator.unwrap_err();
    assert_eq!(error.check(), Some(checks::BIT_OPENING), "{error}");
}

/// Inputs wait for the other party a few times for [`INPUTS_AT_ONCE`] of them, and not for each lot of 128; the bits are right.
#[test]
fn many_inputs_of_the_evaluator_are_transferred_together() {
    for (lanes, transfers) in [(3 * 128 + 5, 1), (INPUTS_AT_ONCE, 1), (INPUTS_AT_ONCE + 1, 2)] {
        let bits = BitMatrix::from_fn(1, lanes, |_, lane| lane % 3 == 1);
        let outcome = Session::new(3, 64, &Faults::new()).run(None, |engine| {
            let wires = input(engine, EVALUATOR, &bits)?;
            engine.reveal(&wires, Parties::one(EVALUATOR))
        });
        for step in [cenote_ot::steps::ANSWER, steps::COMBINE] {
            let sent = outcome.sent.iter().filter(|message| message.step == step);
            assert_eq!(sent.count(), transfers, "{step:?} {lanes}");
        }
        assert_eq!(outcome.unwrap()[1], Some(bits));
    }
}

/// A label that is wrong for one of the two choices is noticed by half of the evaluators, whatever their inputs are.
#[test]
fn labels_that_are_wrong_for_one_choice_are_caught_half_of_the_time() {
    let (lots, mut tried, mut caught) = (20, 0, [0; 2]);
    for seed in 50..74 {
        let mut lot = 0;
        let adversary = Adversary::with(move |_, _, mut message: Message| {
            if message.step == steps::OWN_LABELS {
                // Each time another label, for choice 0 and 1 in turns.
                message.body[96 * (lot + 3) + 48 * (lot % 2) + 5] ^= 1;
                lot += 1;
            }
            vec![message]
        });
        let input_bit = seed % 2 == 0;
        let outcome = Session::new(seed, 64, &Faults::new()).run(Some(&adversary), |engine| {
            let mut passed = 0;
            for _ in 0..lots {
                let bits = BitMatrix::from_fn(128, 1, |_, _| input_bit);
                match input(engine, EVALUATOR, &bits) {
                    Ok(_) => passed += 1,
                    Err(error) if engine.me() == EVALUATOR => {
                        assert_eq!(error.check(), Some(checks::OWN_INPUT_LABEL), "{error}");
                        return Ok((passed, true));
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok((passed, false))
        });
        let (passed, failed) = outcome.evaluator.unwrap();
        tried += passed + usize::from(failed);
        caught[usize::from(input_bit)] += usize::from(failed);
    }
    // Each session ends with the first catch: after two lots on average, with a variance of two.
    let [zeros, ones] = caught;
    assert_eq!(zeros + ones, 24);
    assert!((24..24 + 4 * 12).contains(&tried), "{tried}");
}

//! One cheating party, caught by name.

use std::sync::Mutex;
use std::time::Duration;

use crate::checks;
use cenote_net::{Channel, ChannelOptions, Label, PartyId, Step, memory_pair};
use cenote_session::{Check, Error, MESSAGE_FORM, Result};
use cenote_testkit::{Adversary, Message, Perturbation, Sent, Target, World, perturbed};

use super::rates::shape;
use super::{EVALUATOR, GARBLER, SMALL, config, run, succeed};
use crate::offline::garbler::Honest;
use crate::order::Order;
use crate::settings::Config;
use crate::setup::{EvaluatorKeys, GarblerKeys};
use crate::steps;
use cenote_commit::CODE_BITS;

/// Changes message `occurrence` of `step` that `party` sends, and returns the honest party's error.
fn caught(party: cenote_net::PartyId, step: Step, occurrence: usize, change: fn(&mut Vec<u8>)) -> Error {
    let mut before = occurrence;
    let adversary = Adversary::with(move |_, _, mut message: Message| {
        if message.step == step {
            if before == 0 {
                change(&mut message.body);
            }
            before = before.wrapping_sub(1);
        }
        vec![message]
    });
    let world = World::random(2).adversary(party, adversary.clone());
    let mut results = run(&world, &[SMALL], |_| ());
    assert_eq!(adversary.deviations(), 1, "{step}");
    let honest = results.remove(1 - party.index());
    match honest {
        Err(error) => error,
        Ok(_) => panic!("a change in step \"{step}\" went unnoticed"),
    }
}

/// Asserts that the deviation is caught by `check`, against the party that deviated.
fn assert_caught(
    party: cenote_net::PartyId,
    step: Step,
    occurrence: usize,
    change: fn(&mut Vec<u8>),
    check: Check,
) {
    match caught(party, step, occurrence, change) {
        Error::Aborted {
            check: found, peer, ..
        } => assert_eq!((found, peer), (check, Some(party)), "{step}"),
        other => panic!("{step}: {other}"),
    }
}

/// Bytes of corrections before the differences in set-up.
const DELTA_CORRECTIONS: usize = 2 * 64 * (CODE_BITS - 128);

#[test]
fn the_garbler_commits_to_no_codewords() {
    for step in [
        steps::COMMIT_DELTA,
        steps::GATES,
        steps::AUTHENTICATORS,
        steps::LEAK,
        steps::PORTS,
    ] {
        // A wrong bit matters where the evaluator watches the other share, with probability 1/2: many are wrong.
        assert_caught(
            GARBLER,
            step,
            0,
            |body| body[..4096].iter_mut().for_each(|byte| *byte ^= 0x55),
            checks::COMMITMENT_CONSISTENCY,
        );
    }
    assert_caught(
        GARBLER,
        steps::COMMIT_ANSWER,
        0,
        |body| body[0] ^= 1,
        checks::COMMITMENT_CONSISTENCY,
    );
}

#[test]
fn the_garbler_commits_to_another_difference() {
    let other = |body: &mut Vec<u8>| body[DELTA_CORRECTIONS + 5] ^= 4;
    assert_caught(GARBLER, steps::COMMIT_DELTA, 0, other, checks::DIFFERENCE);
    // With last bit 0.
    let even = |body: &mut Vec<u8>| body[DELTA_CORRECTIONS] ^= 1;
    assert_caught(GARBLER, steps::COMMIT_DELTA, 0, even, checks::LEAKED_BITS);
    assert_caught(
        GARBLER,
        steps::PROVE_STRINGS,
        0,
        |body| body[77] ^= 1,
        checks::DIFFERENCE,
    );
}

#[test]
fn the_garbler_tells_wrong_last_bits() {
    // The last byte is of a blinding commitment, the first after the differences of an OT string or a mask.
    let last = |body: &mut Vec<u8>| *body.last_mut().unwrap() ^= 1;
    assert_caught(GARBLER, steps::LEAK, 0, last, checks::LEAKED_BITS);
    assert_caught(GARBLER, steps::COMMIT_DELTA, 0, last, checks::LEAKED_BITS);
    let mask = |body: &mut Vec<u8>| {
        let at = body.len() - 65;
        body[at] ^= 0x80;
    };
    assert_caught(GARBLER, steps::LEAK, 0, mask, checks::LEAKED_BITS);
    // An OT string with last bit 1.
    let string = |body: &mut Vec<u8>| {
        let at = body.len() - (SMALL.masks as usize + 11).next_multiple_of(512) / 8 - 64 - 11 * 16;
        body[at] ^= 1;
    };
    assert_caught(GARBLER, steps::LEAK, 0, string, checks::LEAKED_BITS);
}

#[test]
fn the_garbler_opens_something_else() {
    // A label of a checked gate or authenticator: then that is not the label that it gives or accepts.
    assert_caught(
        GARBLER,
        steps::OPEN_GATES,
        0,
        |body| body[3] ^= 1,
        checks::GATE_OPENING,
    );
    assert_caught(
        GARBLER,
        steps::OPEN_AUTHENTICATORS,
        0,
        |body| body[3] ^= 1,
        checks::AUTHENTICATOR_OPENING,
    );
    for occurrence in [0, 1, 3] {
        assert_caught(
            GARBLER,
            steps::SOLDER,
            occurrence,
            |body| body[33] ^= 8,
            checks::DECOMMITMENT,
        );
    }
    assert_caught(
        GARBLER,
        steps::PROVE_GENERATE,
        0,
        |body| body[300] ^= 1,
        checks::DECOMMITMENT,
    );
}

#[test]
fn the_garbler_sends_garbage_gates() {
    // Every hundredth byte of tables, so many gates are bad: some is checked.
    let tables = |body: &mut Vec<u8>| {
        let end = body.len() * 9 / 10;
        let start = body.len() / 2;
        body[start..end]
            .iter_mut()
            .step_by(100)
            .for_each(|byte| *byte ^= 1);
    };
    let error = caught(GARBLER, steps::GATES, 0, tables);
    assert!(
        matches!(
            error.check(),
            Some(checks::GATE_OPENING | checks::COMMITMENT_CONSISTENCY)
        ),
        "{error}"
    );
    let authenticators = |body: &mut Vec<u8>| {
        let start = body.len() - 32 * 1024;
        body[start..].iter_mut().step_by(100).for_each(|byte| *byte ^= 1);
    };
    assert_caught(
        GARBLER,
        steps::AUTHENTICATORS,
        0,
        authenticators,
        checks::AUTHENTICATOR_OPENING,
    );
}

#[test]
fn the_evaluator_shows_strings_that_it_has_not() {
    assert_caught(
        EVALUATOR,
        steps::SHOW_STRINGS,
        0,
        |body| body[100] ^= 1,
        checks::CHALLENGE,
    );
    // The other choice's string is not known either.
    assert_caught(
        EVALUATOR,
        steps::SHOW_STRINGS,
        0,
        |body| body[16] ^= 1,
        checks::CHALLENGE,
    );
}

/// The garbler needs more than the seed leaves: as if the evaluator had looked for one that leaves too few.
#[test]
fn the_evaluator_leaves_too_few() {
    let results = World::random(2).run(|mut context| {
        let mut config = config(&context);
        let mut shape = shape();
        if context.me == GARBLER {
            shape.gates.needed = 400;
            let mut channel = context.take(EVALUATOR, "main");
            let mut keys = GarblerKeys::setup(&mut *channel, &mut config)?;
            keys.epoch(std::slice::from_mut(&mut channel), &shape, &mut [Honest])
                .map(|_| ())
        } else {
            let mut channel = context.take(GARBLER, "main");
            let mut keys = EvaluatorKeys::setup(&mut *channel, &mut config)?;
            keys.epoch(std::slice::from_mut(&mut channel), &mut config, &shape)
                .map(|_| ())
        }
    });
    match &results[0] {
        Err(Error::Aborted { check, peer, .. }) => {
            assert_eq!((*check, *peer), (checks::CHALLENGE, Some(EVALUATOR)));
        }
        other => panic!("{other:?}"),
    }
}

/// One of several workers is cheated: all stop, and both parties know why.
#[test]
fn a_workers_error_is_everybodys() {
    for (step, check) in [
        (steps::GATES, checks::COMMITMENT_CONSISTENCY),
        (steps::SOLDER, checks::DECOMMITMENT),
        (steps::PROVE_GENERATE, checks::DECOMMITMENT),
    ] {
        let mut done = false;
        let adversary = Adversary::with(move |_, label, mut message: Message| {
            if message.step == step && *label == "second".into() && !std::mem::replace(&mut done, true) {
                let end = message.body.len().min(2048);
                message.body[..end].iter_mut().for_each(|byte| *byte ^= 0x55);
            }
            vec![message]
        });
        let world = World::random(2)
            .labels(&["main", "second", "third"])
            .adversary(GARBLER, adversary.clone());
        let results = run(&world, &[SMALL], |_| ());
        assert_eq!(adversary.deviations(), 1);
        match &results[1] {
            Err(Error::Aborted {
                check: found, peer, ..
            }) => assert_eq!((*found, *peer), (check, Some(GARBLER))),
            Err(other) => panic!("{step}: {other}"),
            Ok(_) => panic!("{step}: unnoticed"),
        }
        match &results[0] {
            Err(error) => {
                let told = error.clone().with_checks(checks::ALL).check();
                assert_eq!(told, Some(check), "{step}: {error}");
            }
            // The garbler had sent everything when the evaluator stopped.
            Ok(_) => assert_ne!(step, steps::GATES),
        }
    }
}

/// Gates of one call, sent again in the next: their corrections are of other commitments.
#[test]
fn replayed_gates_are_refused() {
    let mut first: Option<Vec<u8>> = None;
    let adversary = Adversary::with(move |_, _, mut message: Message| {
        if message.step == steps::GATES {
            match &first {
                None => first = Some(message.body.clone()),
                Some(body) => message.body.clone_from(body),
            }
        }
        vec![message]
    });
    let world = World::random(2).adversary(GARBLER, adversary.clone());
    const ORDER: Order = Order {
        ands: 100,
        ..Order::NOTHING
    };
    let results = run(&world, &[ORDER, ORDER], |_| ());
    assert_eq!(adversary.deviations(), 1);
    match &results[1] {
        Err(error) => assert_eq!(error.check(), Some(checks::COMMITMENT_CONSISTENCY)),
        Ok(_) => panic!("unnoticed"),
    }
}

/// Any other seed, and any challenge of commitments, is as good as the evaluator's own, but not what it then expects.
#[test]
fn the_evaluator_hurts_itself_only() {
    for (step, seen) in [
        // Other gates are opened: more or fewer than it waits for, or by chance as many.
        (steps::CHALLENGE, &[MESSAGE_FORM, checks::GATE_OPENING][..]),
        (steps::COMMIT_CHALLENGE, &[checks::COMMITMENT_CONSISTENCY]),
        (steps::DELTA_CHALLENGE, &[checks::COMMITMENT_CONSISTENCY]),
    ] {
        let adversary = Adversary::new(Target::step(step), Perturbation::FlipBit { byte: 0, bit: 0 });
        let world = World::random(2).adversary(EVALUATOR, adversary.clone());
        let results = run(&world, &[SMALL], |_| ());
        assert_eq!(adversary.deviations(), 1);
        let check = match &results[1] {
            Err(error) => error.check(),
            Ok(_) => panic!("{step}: unnoticed"),
        };
        assert!(
            check.is_some_and(|check| seen.contains(&check)),
            "{step}: {check:?}"
        );
        match &results[0] {
            Err(error @ Error::PeerStopped { .. }) => {
                assert_eq!(error.clone().with_checks(checks::ALL).check(), check, "{step}");
            }
            Err(other) => panic!("{step}: {other:?}"),
            // The garbler had sent everything when the evaluator stopped.
            Ok(_) => assert_eq!(step, steps::CHALLENGE),
        }
    }
}

/// What comes of generating [`SMALL`] with these keys, what `party` sends behind `adversary`. The keys may be used again if both came
/// past the OTs, which are then in step.
fn generated(
    (garbler, evaluator): &mut (GarblerKeys, EvaluatorKeys),
    party: PartyId,
    adversary: &Adversary,
    timeout: Duration,
) -> [Result<()>; 2] {
    let before = (garbler.counters.clone(), evaluator.counters.clone());
    let (to_evaluator, to_garbler) = memory_pair(GARBLER, EVALUATOR, ChannelOptions::with_timeout(timeout));
    let ends: [Box<dyn Channel>; 2] = [Box::new(to_evaluator), Box::new(to_garbler)];
    let mut ends = [GARBLER, EVALUATOR]
        .into_iter()
        .zip(ends)
        .map(|(me, end)| match me == party {
            true => Box::new(adversary.wrap(Label::from("main"), end)) as Box<dyn Channel>,
            false => end,
        });
    let mut next = || vec![ends.next().expect("two ends")];
    let (mut to_evaluator, mut to_garbler) = (next(), next());
    let (a, b) = (&mut *garbler, &mut *evaluator);
    let results = std::thread::scope(|scope| {
        let of_garbler = scope.spawn(move || {
            a.generate(&mut to_evaluator, &mut Config::new("test"), &SMALL, &mut |_| {
                Ok(())
            })?;
            Ok(to_evaluator[0].close()?)
        });
        let of_evaluator = scope.spawn(move || {
            b.generate(&mut to_garbler, &mut Config::new("test"), &SMALL, &mut |_| Ok(()))?;
            Ok(to_garbler[0].close()?)
        });
        [of_garbler.join().unwrap(), of_evaluator.join().unwrap()]
    });
    (garbler.counters, evaluator.counters) = before;
    results
}

/// Every message of either party, deformed in every way: the honest party stops with an error, and nobody hangs.
#[test]
fn deformed_messages_are_refused() {
    let world = World::random(2);
    let set_up = |world: &World| {
        let (garbler, _, evaluator, _) = succeed(world, &[SMALL], |_| ());
        (garbler, evaluator)
    };
    // A set-up takes far longer than what is generated here.
    let keys = Mutex::new(set_up(&world));
    for party in [GARBLER, EVALUATOR] {
        let mut steps: Vec<(Step, usize)> = Vec::new();
        for Sent { step, .. } in world.transcript(party) {
            let own = steps::SETUP.contains(&step) || steps::GENERATE.contains(&step);
            match steps.iter_mut().find(|(known, _)| *known == step) {
                _ if !own => {}
                Some((_, count)) => *count += 1,
                None => steps.push((step, 1)),
            }
        }
        assert!(steps.len() > 4, "{steps:?}");
        for (step, count) in steps {
            // The OTs come after this step, and do not stay in step if it goes wrong.
            let afresh = steps::SETUP.contains(&step) || step == steps::ORDER;
            // All deviations of the last occurrence but the changes of bits, which have tests of their own.
            for perturbation in Perturbation::all().into_iter().skip(1) {
                let target = Target::step(step).occurrence(count - 1);
                let results = perturbed(&target, &perturbation, |adversary, timeout| {
                    if !afresh {
                        let mut keys = keys.lock().unwrap();
                        let results = generated(&mut keys, party, adversary, timeout);
                        // On a busy machine a party may have waited too long among the OTs.
                        if adversary.deviations() == 0 {
                            *keys = set_up(&World::random(2));
                        }
                        return results;
                    }
                    let world = World::random(2)
                        .channel_timeout(timeout)
                        .adversary(party, adversary.clone());
                    let mut results = run(&world, &[SMALL], |_| ()).into_iter();
                    [(); 2].map(|()| results.next().expect("two parties").map(drop))
                });
                let error = match &results[1 - party.index()] {
                    Err(error) => error,
                    // After its last message a party that is sent it twice finds out when it says goodbye.
                    Ok(_) => panic!("{step} of {party}, {perturbation:?}: unnoticed"),
                };
                let fine = perturbation.is_missed()
                    || matches!(
                        error,
                        Error::Aborted {
                            check: MESSAGE_FORM,
                            ..
                        }
                    );
                assert!(fine, "{step} of {party}, {perturbation:?}: {error}");
            }
        }
    }
    let honest = Adversary::with(|_, _, message| vec![message]);
    let results = generated(
        &mut keys.lock().unwrap(),
        GARBLER,
        &honest,
        Duration::from_secs(60),
    );
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

//! One cheating party in build and eval (spec, Section 6): caught by name, or without effect, whatever the evaluator's bits.

use crate::checks;
use cenote_net::{Error as NetError, Step};
use cenote_session::MESSAGE_FORM;
use cenote_testkit::{Adversary, Message};

use std::sync::OnceLock;

use super::*;

const LANES: usize = 3;

fn shape() -> Shape {
    unchecked(Order {
        ands: (plan().and_count() * LANES) as u64,
        garbler_inputs: 4 * LANES as u64,
        evaluator_inputs: 4 * LANES as u64,
        anchors: 9 * LANES as u64,
        masks: 9 * LANES as u64,
        ports: 8 * LANES as u64,
    })
}

/// What an honest garbler has made of [`shape`].
fn made() -> Arc<Made> {
    static MADE: OnceLock<Arc<Made>> = OnceLock::new();
    MADE.get_or_init(|| Made::new(7, shape(), Cheat::None, 0)).clone()
}

/// One job, with outputs to `to`.
fn job(engine: &mut LegoEngine, y: usize, to: Parties) -> Result<Option<BitMatrix>> {
    let plan = plan();
    let me = engine.me();
    engine.prepare(&plan, LANES)?;
    let (x, y) = (number(6, LANES), number(y, LANES));
    let a = engine.input(GARBLER, 4, LANES, (me == GARBLER).then_some(&x))?;
    let b = engine.input(EVALUATOR, 4, LANES, (me == EVALUATOR).then_some(&y))?;
    let outputs = engine.run(&plan, &WireVector::concat(&[&a, &b]))?;
    let revealed = engine.reveal(&outputs, to)?;
    engine.finish()?;
    Ok(revealed)
}

fn right(y: usize) -> BitMatrix {
    let (x, y) = (number(6, LANES), number(y, LANES));
    let inputs = BitMatrix::from_fn(8, LANES, |row, lane| {
        if row < 4 {
            x.get(row, lane)
        } else {
            y.get(row - 4, lane)
        }
    });
    plan().evaluate(&inputs).unwrap()
}

/// The result of the honest party when `party` changes its first message of `step`.
fn changed(
    party: PartyId,
    step: Step,
    change: fn(&mut Vec<u8>),
    y: usize,
    to: Parties,
) -> Result<Option<BitMatrix>> {
    let mut done = false;
    let adversary = Adversary::with(move |_, _, mut message: Message| {
        if message.step == step && !done {
            done = true;
            change(&mut message.body);
        }
        vec![message]
    });
    let world = World::new(2, 7).adversary(party, adversary.clone());
    let made = made();
    let mut results = world.run(move |mut context| {
        let mut engine = made.start(&mut context)?;
        job(&mut engine, y, to)
    });
    assert_eq!(adversary.deviations(), 1, "{step}");
    results.remove(1 - party.index())
}

/// Asserts that it is caught by `check`, in `step` or `found`, for all values of the evaluator's bits.
fn assert_caught(
    party: PartyId,
    step: Step,
    change: fn(&mut Vec<u8>),
    to: Parties,
    check: cenote_session::Check,
) {
    let mut details = Vec::new();
    for y in [0, 1, 15] {
        match changed(party, step, change, y, to) {
            Err(Error::Aborted {
                check: found,
                peer,
                step,
                detail,
            }) => {
                assert_eq!((found, peer), (check, Some(party)), "{step}");
                details.push((step, detail));
            }
            other => panic!("{step}, y = {y}: {other:?}"),
        }
    }
    assert!(
        details.windows(2).all(|pair| pair[0] == pair[1]),
        "the evaluator's bits show"
    );
}

#[test]
fn the_garbler_solders_or_opens_something_else() {
    let both = Parties::all(2);
    for step in [
        steps::BUILD,
        steps::ATTACH,
        steps::EVALUATOR_LABELS,
        steps::DECODE,
    ] {
        // The label's last bit, which would turn an input or an output, and another.
        assert_caught(GARBLER, step, |body| body[0] ^= 1, both, checks::DECOMMITMENT);
        assert_caught(GARBLER, step, |body| body[39] ^= 4, both, checks::DECOMMITMENT);
    }
    assert_caught(
        GARBLER,
        steps::ANCHOR,
        |body| body[16] ^= 1,
        Parties::one(GARBLER),
        checks::DECOMMITMENT,
    );
    for step in [steps::PROVE_BUILD, steps::PROVE_EVAL] {
        assert_caught(GARBLER, step, |body| body[100] ^= 1, both, checks::DECOMMITMENT);
    }
}

#[test]
fn the_garbler_sends_wrong_input_labels() {
    // The label of one input bit only: the evaluator stops whatever its own bits are.
    let check = checks::INPUT_AUTHENTICATOR;
    assert_caught(
        GARBLER,
        steps::GARBLER_LABELS,
        |body| body[0] ^= 1,
        Parties::one(EVALUATOR),
        check,
    );
    assert_caught(
        GARBLER,
        steps::GARBLER_LABELS,
        |body| body[16 * 7 + 3] ^= 0x80,
        Parties::all(2),
        check,
    );
}

#[test]
fn the_evaluator_forges_an_output() {
    for to in [Parties::one(GARBLER), Parties::all(2)] {
        // Another bit, with the hash of the label that it has.
        assert_caught(
            EVALUATOR,
            steps::OUTPUT_LABELS,
            |body| body[0] ^= 1,
            to,
            checks::OUTPUT_LABEL,
        );
        let hash = |body: &mut Vec<u8>| *body.last_mut().unwrap() ^= 1;
        assert_caught(EVALUATOR, steps::OUTPUT_LABELS, hash, to, checks::OUTPUT_LABEL);
    }
}

/// The evaluator masks its input wrongly: then that is its input as far as the garbler goes, and it cannot open what it asked
/// for as what it did not. The garbler is told nothing but that it has stopped.
#[test]
fn the_evaluator_masks_its_input_wrongly() {
    let result = changed(EVALUATOR, steps::CHOICES, |body| body[0] ^= 1, 3, Parties::all(2));
    match result {
        Err(Error::PeerStopped { peer, .. }) => assert_eq!(peer, EVALUATOR),
        other => panic!("{other:?}"),
    }
}

/// The garbler commits to other strings than the OTs gave, off by something that the last bits do not show. For whichever bit,
/// the evaluator's label is no label of the wire.
#[test]
fn the_garbler_commits_to_other_strings() {
    const OFF: Block = Block([1 << 17, 5]);
    let shape = shape();
    for y in [0, 1, 7, 15] {
        // The first string's difference follows the corrections.
        let leaked = shape.leaked().next_multiple_of(cenote_commit::BATCH_UNIT) + cenote_commit::BATCH_UNIT;
        let at = leaked / 8 * cenote_commit::PARITY_BITS;
        let mut done = false;
        let adversary = Adversary::with(move |_, _, mut message: Message| {
            if message.step == steps::LEAK && !done {
                done = true;
                let string = &mut message.body[at..at + 16];
                string
                    .iter_mut()
                    .zip(OFF.to_bytes())
                    .for_each(|(byte, off)| *byte ^= off);
            }
            vec![message]
        });
        let shape = shape.clone();
        let world = World::new(2, 8).adversary(GARBLER, adversary.clone());
        let results = world.run(move |mut context| {
            let mut engine = start(&mut context, &shape, Cheat::None, 0)?;
            if let Some(garbler) = side_mut::<Garbler>(&mut engine) {
                // What it has committed to.
                let mut strings = garbler.supply.stock.take_evaluator_inputs(4 * LANES)?;
                strings.strings.messages[0] ^= OFF;
                garbler.supply.stock.push(crate::GarblerEpoch {
                    evaluator_inputs: strings,
                    ..Default::default()
                });
            }
            job(&mut engine, y, Parties::all(2))
        });
        assert_eq!(adversary.deviations(), 1);
        match &results[1] {
            Err(Error::Aborted { check, peer, .. }) => {
                assert_eq!(
                    (*check, *peer),
                    (checks::OWN_INPUT_LABEL, Some(GARBLER)),
                    "y = {y}"
                );
            }
            other => panic!("y = {y}: {other:?}"),
        }
    }
}

/// Authenticators that refuse the label of 1 would tell the garbler which labels the evaluator has, if one of them could stop
/// it; most of each wire's are needed for that. Many runs, with both values of the bits.
#[test]
fn bad_authenticators_do_not_stop_the_evaluator() {
    for seed in 0..12 {
        // Of 13 authenticators of an input seven would have to be bad.
        let made = Made::new(100 + seed, shape(), Cheat::AcceptsZero, 6);
        for y in [0, 15] {
            let made = made.clone();
            let results = World::new(2, 100 + seed).run(move |mut context| {
                let mut engine = made.start(&mut context)?;
                job(&mut engine, y, Parties::all(2))
            });
            for result in results {
                assert_eq!(result.unwrap(), Some(right(y)));
            }
        }
    }
}

/// Every message of build and eval in a form that no honest party sends.
#[test]
fn malformed_messages_are_refused() {
    use cenote_testkit::{Perturbation, Target, perturbed};
    let world = World::new(2, 9);
    let honest = world.run(|mut context| {
        let mut engine = made().start(&mut context)?;
        job(&mut engine, 3, Parties::all(2))
    });
    assert!(
        honest
            .into_iter()
            .all(|result| result.is_ok_and(|bits| bits == Some(right(3))))
    );
    for party in [GARBLER, EVALUATOR] {
        let sent = world.transcript(party);
        for step in steps::EVAL
            .iter()
            .filter(|step| sent.iter().any(|sent| sent.step == **step))
        {
            for perturbation in Perturbation::all().into_iter().skip(1) {
                let results = perturbed(&Target::step(*step), &perturbation, |adversary, timeout| {
                    let world = World::new(2, 9)
                        .channel_timeout(timeout)
                        .adversary(party, adversary.clone());
                    world.run(|mut context| {
                        let mut engine = made().start(&mut context)?;
                        job(&mut engine, 3, Parties::all(2))
                    })
                });
                // The last message of a session may come twice: nobody waits for more.
                if *step == steps::FINISH && matches!(perturbation, Perturbation::Duplicate) {
                    continue;
                }
                let honest = &results[1 - party.index()];
                match honest {
                    Err(Error::Aborted { check, peer, .. }) => {
                        assert_eq!(
                            (*check, *peer),
                            (MESSAGE_FORM, Some(party)),
                            "{step} {perturbation:?}"
                        );
                    }
                    // Nothing came: the one that loses patience first says so.
                    Err(Error::Net(NetError::Timeout { peer, .. })) if perturbation.is_missed() => {
                        assert_eq!(*peer, party);
                    }
                    // It went without its last word.
                    Err(Error::Net(NetError::PeerLost { peer, step, .. })) => {
                        assert_eq!((*peer, *step), (party, steps::FINISH), "{perturbation:?}");
                    }
                    Err(Error::PeerStopped {
                        reason: cenote_session::Reason::Lost(_),
                        ..
                    }) => {}
                    other => panic!("{step} {perturbation:?}: {other:?}"),
                }
            }
        }
    }
}

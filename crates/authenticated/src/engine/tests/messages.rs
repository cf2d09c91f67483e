//! Messages that are malformed, missing, repeated or out of order.

use super::*;

const LANES: usize = 70;

/// A program that has every step, runs of more gates than there are triples for, inputs and outputs of both.
fn everything(engine: &mut AuthenticatedEngine) -> Result<Vec<BitMatrix>> {
    let mut outputs = Vec::new();
    for round in 0..2 {
        let (x, y) = values(LANES);
        let x = input(engine, GARBLER, &x)?;
        let y = input(engine, EVALUATOR, &y)?;
        let both = engine.run(&and(), &AuthenticatedWires::concat(&[&x, &y]))?;
        engine.compare(&[round; 32])?;
        outputs.extend(engine.reveal(&both, Parties::all(2))?);
    }
    engine.finish()?;
    Ok(outputs)
}

/// The steps in which `from` sends anything, without those of the connection.
fn steps_of(from: PartyId) -> Vec<Step> {
    let seen: Arc<Mutex<Vec<Step>>> = Arc::default();
    let sent = seen.clone();
    let ears = Adversary::with(move |_, _, message: Message| {
        let mut sent = sent.lock().unwrap();
        if message.step.code < cenote_net::step::FIRST && !sent.contains(&message.step) {
            sent.push(message.step);
        }
        vec![message]
    });
    let mut session = Session::cheating(61, from, &ears);
    session.generator = Some(GENERATOR);
    let done = session.run(everything);
    assert!(done.iter().all(Result::is_ok));
    seen.lock().unwrap().clone()
}

/// The steps of a session's set-up: all others come after it.
const OF_SET_UP: [Step; 4] = [
    cenote_ot::steps::BASE_KEY,
    cenote_ot::steps::BASE_CHOICES,
    cenote_ot::steps::TREES,
    steps::START,
];

/// What `from` sends in each of its steps is perturbed in each way; who notices it, the peer or the party itself,
/// says so, and nobody panics or hangs.
fn every_perturbation(from: PartyId) {
    // Of a leaky AND, or a tree half of which is not used.
    let harmless = [steps::LEAKY, cenote_ot::steps::TREES, cenote_ot::steps::COLUMNS];
    for step in steps_of(from) {
        let outcomes = noticed(from, [step, steps::FINISH], &harmless, |adversary, timeout| {
            let mut session = Session::cheating(61, from, adversary);
            session.timeout = timeout;
            session.generator = generator(step);
            session.over_bases = !OF_SET_UP.contains(&step);
            session.run(everything)
        });
        for (perturbation, results) in outcomes {
            let told = format!("{} of {from} {perturbation:?}: {results:?}", step.name);
            for outputs in results.iter().flatten() {
                assert_eq!(*outputs, [expected(LANES), expected(LANES)], "{told}");
            }
        }
    }
}

#[test]
fn what_the_garbler_sends() {
    every_perturbation(GARBLER);
}

#[test]
fn what_the_evaluator_sends() {
    every_perturbation(EVALUATOR);
}

/// No step of the protocol is left out, at neither side.
#[test]
fn every_step_is_perturbed() {
    use cenote_ot::steps::{ANSWER, BASE_CHOICES, BASE_KEY, CHALLENGE, COLUMNS, TREES};
    use cenote_ot::steps::{POINT_ANSWER, POINT_CHALLENGE, POINT_TREES};
    let both = [
        BASE_KEY,
        BASE_CHOICES,
        TREES,
        COLUMNS,
        CHALLENGE,
        ANSWER,
        POINT_TREES,
        POINT_CHALLENGE,
        POINT_ANSWER,
        steps::START,
        steps::LEAKY,
        steps::PRODUCTS,
        steps::AGREE_EQUALITY,
        steps::CONFIRM_EQUALITY,
        steps::COIN,
        steps::OPEN_INPUT_MASKS,
        steps::OPEN_TRIPLES,
        steps::OPEN_OUTPUT_MASKS,
        steps::COMPARE,
        steps::FINISH,
    ];
    let garblers = [steps::INPUT_LABELS, steps::TABLES, steps::PROVE_GATES];
    let evaluators = [steps::MASKED_INPUTS, steps::MASKED_VALUES, steps::OUTPUT_LABELS];
    let sorted = |parts: &[&[Step]]| {
        let mut all: Vec<u16> = parts.concat().iter().map(|step| step.code).collect();
        all.sort_unstable();
        all
    };
    for (from, own) in [(GARBLER, garblers), (EVALUATOR, evaluators)] {
        assert_eq!(sorted(&[&steps_of(from)]), sorted(&[&both, &own]), "{from}");
    }
    // Pools that are kept, circuits that were garbled ahead, and lots that grow have tests of their own.
    let kept = [steps::KEPT_POOLS, steps::TIE_MASKS, steps::TIE_LABELS, steps::LOT];
    let [base, bits, points] = [
        cenote_ot::steps::ALL,
        cenote_ot::steps::MUTUAL,
        cenote_ot::steps::PCG,
    ];
    let all = [base, bits, points, steps::SETUP, steps::FILL, steps::ONLINE];
    assert_eq!(sorted(&all), sorted(&[&both, &garblers, &evaluators, &kept]));
}

/// Bits beyond the last in a packed message.
#[test]
fn bits_beyond_the_last_are_refused() {
    let cases = [
        (GARBLER, steps::PRODUCTS),
        (GARBLER, steps::TABLES),
        (EVALUATOR, steps::MASKED_INPUTS),
        (EVALUATOR, steps::MASKED_VALUES),
        (EVALUATOR, steps::OUTPUT_LABELS),
    ];
    for (cheater, step) in cases {
        // 30 gates of a lot of 190, or 30 lanes.
        let adversary = changing(step, move |_, body| {
            let last = [steps::PRODUCTS, steps::TABLES].contains(&step);
            let at = if last { body.len() - 1 } else { 7 };
            body[at] |= 0x80;
        });
        let mut session = Session::cheating(3, cheater, &adversary);
        session.lots = [190; 2];
        let results = session.run(program(30));
        let honest = &results[usize::from(cheater == GARBLER)];
        assert_eq!(check(honest), cenote_session::MESSAGE_FORM, "{}", step.name);
    }
}

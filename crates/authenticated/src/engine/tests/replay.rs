//! Material that is sent twice.

use std::collections::BTreeMap;

use super::*;

/// Sends as the later messages of a step the first one of the same length.
fn repeating(step: Step) -> Adversary {
    let mut first: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    changing(step, move |_, body| {
        body.clone_from(first.entry(body.len()).or_insert_with(|| body.clone()));
    })
}

/// Two runs of the same size, each with a lot of its own.
fn twice(engine: &mut AuthenticatedEngine) -> Result<()> {
    for _ in 0..3 {
        let (x, y) = values(60);
        let x = input(engine, GARBLER, &x)?;
        let y = input(engine, EVALUATOR, &y)?;
        let both = engine.run(&and(), &AuthenticatedWires::concat(&[&x, &y]))?;
        engine.reveal(&both, Parties::all(2))?;
    }
    engine.finish()
}

#[test]
fn what_was_sent_before_is_not_taken_again() {
    let cases = [
        (GARBLER, cenote_ot::steps::COLUMNS, OT_CONSISTENCY),
        (EVALUATOR, cenote_ot::steps::COLUMNS, OT_CONSISTENCY),
        (GARBLER, cenote_ot::steps::ANSWER, OT_CONSISTENCY),
        (GARBLER, cenote_ot::steps::POINT_TREES, POINTS),
        (EVALUATOR, cenote_ot::steps::POINT_TREES, POINTS),
        (EVALUATOR, cenote_ot::steps::POINT_ANSWER, POINTS),
        (GARBLER, steps::LEAKY, LEAKY_AND),
        (EVALUATOR, steps::LEAKY, LEAKY_AND),
        (GARBLER, steps::PRODUCTS, LEAKY_AND),
        (EVALUATOR, steps::AGREE_EQUALITY, LEAKY_AND),
        (GARBLER, steps::CONFIRM_EQUALITY, LEAKY_AND),
        (GARBLER, steps::OPEN_TRIPLES, BIT_OPENING),
        (EVALUATOR, steps::OPEN_TRIPLES, BIT_OPENING),
        (GARBLER, steps::OPEN_OUTPUT_MASKS, BIT_OPENING),
        (EVALUATOR, steps::OPEN_OUTPUT_MASKS, BIT_OPENING),
        (GARBLER, steps::OPEN_INPUT_MASKS, BIT_OPENING),
        (EVALUATOR, steps::OPEN_INPUT_MASKS, BIT_OPENING),
        (GARBLER, steps::TABLES, GATES),
        (GARBLER, steps::PROVE_GATES, GATES),
        (EVALUATOR, steps::MASKED_VALUES, MASKED_VALUES),
        (EVALUATOR, steps::OUTPUT_LABELS, checks::OUTPUT_LABELS),
        (GARBLER, steps::COIN, checks::COIN),
    ];
    for (cheater, step, expected) in cases {
        let adversary = repeating(step);
        let mut session = Session::cheating(7, cheater, &adversary);
        session.generator = generator(step);
        let [garbler, evaluator] = session.run(twice);
        let honest = if cheater == GARBLER { evaluator } else { garbler };
        let told = format!("{} of {cheater}: {honest:?}", step.name);
        assert!(
            matches!(honest, Err(Error::Aborted { check, .. }) if check == expected),
            "{told}"
        );
    }
}

/// No tweak of the hash, and no bit of the OTs, serves twice: those of a lot come after those of the lot before.
#[test]
fn no_number_is_used_twice() {
    for generator in [None, Some(GENERATOR)] {
        let mut session = Session::honest(1);
        session.generator = generator;
        let [garbler, evaluator] = session.run(|engine| {
            let mut seen = Vec::new();
            for _ in 0..8 {
                let (party, channel) = engine.parts();
                let mut keys = [Block::ZERO; 100];
                let mut macs = [Block::ZERO; 100];
                party.keys.extend(channel, &mut macs, &mut keys)?;
                seen.extend(keys.map(Block::to_bytes));
                let counters = &mut party.keys.counters;
                assert!(counters.leaky(5) + 5 == counters.leaky(1));
                assert!(counters.gates(5) + 5 == counters.gates(1));
            }
            let count = seen.len();
            seen.sort_unstable();
            seen.dedup();
            Ok(seen.len() == count)
        });
        assert!(garbler.unwrap() && evaluator.unwrap());
    }
}

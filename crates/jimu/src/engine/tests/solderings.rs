//! Solderings, permutation bits and labels that are not what they should be.

use super::*;

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

//! How often wrong products pass, counted in sessions with weights of few bits, and compared with what the parameters declare. Weights are what decides: with
//! the first that hide something wrong all that follows is true, and what else may hide it does so with some `2^-121`.

use cenote_session::Error;
use cenote_three::{ViewCheck, checks, steps};

use super::{BLOCK, Trial, editing, previous};
use crate::common::proofs;
use crate::common::session::{Session, in_parallel};

/// Wrong bits of the products of one layer, by word.
type Attack = (&'static str, &'static [(usize, u64)]);

/// None is better than one wrong bit: the wrong bits of a word share its weight, a sum of weights is as random as one, and each row is checked by itself.
const ATTACKS: [Attack; 5] = [
    ("one bit", &[(0, 1 << 5)]),
    ("all bits of a word", &[(3, u64::MAX)]),
    ("one bit of two words", &[(0, 1), (1, 1)]),
    (
        "the same word of two rows",
        &[(2, 1 << 9), (2 + BLOCK / 64, 1 << 9)],
    ),
    (
        "every word",
        &[(0, 7), (1, 7), (2, 7), (3, 7), (4, 7), (5, 7), (6, 7), (7, 7)],
    ),
];

/// Whether wrong products of party 1 pass in a session of this number.
fn pass(weight_bits: u32, wrong: &'static [(usize, u64)], number: u64) -> bool {
    let parameters = proofs(40, 1 << 10).with_weights(weight_bits).unwrap();
    let trial = Trial {
        session: Session::new(parameters, ViewCheck::Mac, number),
        depth: 1,
        lanes: 2 * BLOCK,
    };
    let spy = editing(move |message| {
        let is_product = message.step == steps::MULTIPLY_GATE && message.wire.to == previous(1);
        is_product.then(|| {
            let mut body = message.body.clone();
            for (word, bits) in wrong {
                let word = &mut body[8 * word..][..8];
                word.iter_mut()
                    .zip(bits.to_le_bytes())
                    .for_each(|(byte, bits)| *byte ^= bits);
            }
            body
        })
    });
    let ended = trial.run(1, &spy);
    let caught =
        |party: usize| ended.results[party].as_ref().err().and_then(Error::check) == Some(checks::PROOF);
    assert_eq!(caught(0), caught(2), "{:?}", ended.results);
    !caught(0)
}

#[test]
fn wrong_products_pass_as_often_as_declared() {
    for (number, (weight_bits, (what, wrong))) in [1, 3]
        .into_iter()
        .flat_map(|bits| ATTACKS.map(|attack| (bits, attack)))
        .enumerate()
    {
        let declared = proofs(40, 1)
            .with_weights(weight_bits)
            .unwrap()
            .error()
            .log2()
            .exp2();
        assert!((declared * f64::from(1 << weight_bits) - 1.0).abs() < 1e-6);
        let sessions = 40 << weight_bits;
        let first = 100_000 * number as u64;
        let passed = in_parallel(sessions, 4, |index| {
            pass(weight_bits, wrong, first + index as u64)
        });
        let passed = passed.into_iter().filter(|passed| *passed).count();
        let (sessions, rate) = (sessions as f64, passed as f64 / sessions as f64);
        let error = (declared * (1.0 - declared) / sessions).sqrt();
        println!(
            "{what}, weights of {weight_bits} bits: {passed} of {sessions} = {rate:.4}; declared {declared:.4} ± {error:.4}"
        );
        assert!(
            (rate - declared).abs() <= 4.0 * error,
            "{what}: {rate}, not {declared} ± {error}"
        );
    }
}

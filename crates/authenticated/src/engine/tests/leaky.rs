//! Leaky ANDs that are none.

use super::*;

/// What comes of filling the pool, for the honest party.
fn fill(seed: u64, cheater: PartyId, adversary: &Adversary) -> Result<()> {
    let results = Session::cheating(seed, cheater, adversary).run(AuthenticatedEngine::fill);
    let [garbler, evaluator] = results;
    match cheater == GARBLER {
        true => evaluator,
        false => garbler,
    }
}

/// The cheater learns x of one leaky AND, and is caught if it is 1.
#[test]
fn a_wrong_block_is_caught_half_of_the_time() {
    for cheater in [GARBLER, EVALUATOR] {
        let (mut caught, runs) = (0, 160);
        for seed in 0..runs {
            let at = seed as usize * 7 % 192;
            let adversary = changing(steps::LEAKY, move |lot, body| {
                if lot == 0 {
                    body[16 * at + seed as usize % 16] ^= 1 << (seed % 8);
                }
            });
            let result = fill(1000 + seed, cheater, &adversary);
            assert!(adversary.deviations() > 0);
            match result {
                Ok(()) => {}
                failed => {
                    assert_eq!(check(&failed), LEAKY_AND);
                    caught += 1;
                }
            }
        }
        // 80 ± 5 standard deviations of 6.3.
        assert!((48..=112).contains(&caught), "{caught} of {runs} are caught");
    }
}

/// Each wrong block is a coin of its own.
#[test]
fn many_wrong_blocks_are_caught() {
    for seed in 0..4 {
        let adversary = changing(steps::LEAKY, |_, body| {
            body.iter_mut().step_by(16).for_each(|byte| *byte ^= 64)
        });
        assert_eq!(check(&fill(seed, EVALUATOR, &adversary)), LEAKY_AND);
    }
}

#[test]
fn a_wrong_correction_is_caught() {
    for cheater in [GARBLER, EVALUATOR] {
        for at in [0, 23] {
            let adversary = changing(steps::PRODUCTS, move |_, body| body[at] ^= 2);
            assert_eq!(check(&fill(1, cheater, &adversary)), LEAKY_AND);
        }
    }
}

#[test]
fn a_digest_that_was_not_committed_to_is_refused() {
    for cheater in [GARBLER, EVALUATOR] {
        for (step, at) in [
            (steps::COMMIT_EQUALITY, 0),
            (steps::OPEN_EQUALITY, 0),
            (steps::OPEN_EQUALITY, 40),
        ] {
            let adversary = changing(step, move |_, body| body[at] ^= 1);
            assert_eq!(check(&fill(1, cheater, &adversary)), checks::EQUALITY);
        }
    }
}

/// A party that waits for the other one's commitment, and then for its opening, and sends the same.
#[test]
fn a_digest_that_is_answered_late_is_refused() {
    let heard: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let listening = heard.clone();
    let ears = Adversary::with(move |_, _, message: Message| {
        if [steps::COMMIT_EQUALITY, steps::OPEN_EQUALITY].contains(&message.step) {
            listening.lock().unwrap().push(message.body.clone());
        }
        vec![message]
    });
    let late = Adversary::with(move |_, _, mut message: Message| {
        let number = match message.step {
            steps::COMMIT_EQUALITY => 0,
            steps::OPEN_EQUALITY => 1,
            _ => return vec![message],
        };
        while heard.lock().unwrap().len() <= number {
            std::thread::sleep(Duration::from_millis(1));
        }
        message.body = heard.lock().unwrap()[number].clone();
        vec![message]
    });
    let [garbler, _] = Session::with(1, [ears, late]).run(AuthenticatedEngine::fill);
    assert_eq!(check(&garbler), checks::EQUALITY);
}

/// The pool is filled with another difference than that of the OTs.
#[test]
fn another_difference_than_that_of_the_ots_is_caught() {
    for cheater in [GARBLER, EVALUATOR] {
        let [garbler, evaluator] = Session::honest(1).run(|engine| {
            if engine.me() == cheater {
                engine.parts().0.keys.delta.0[1] ^= 1 << 20;
            }
            engine.fill()
        });
        let honest = if cheater == GARBLER { evaluator } else { garbler };
        assert_eq!(check(&honest), LEAKY_AND);
    }
}

/// One whose bit 1 is the other party's: then no product is corrected, and half of them are wrong.
#[test]
fn a_difference_with_the_other_bit_1_is_caught() {
    let [garbler, _] = Session::honest(1).run(|engine| {
        if engine.me() == EVALUATOR {
            engine.parts().0.keys.delta.0[0] ^= 2;
        }
        engine.fill()
    });
    assert_eq!(check(&garbler), LEAKY_AND);
}

#[test]
fn other_bits_in_the_ots_are_caught() {
    for cheater in [GARBLER, EVALUATOR] {
        let adversary = changing(cenote_ot::steps::COLUMNS, |_, body| {
            body.iter_mut().step_by(64).for_each(|byte| *byte ^= 1);
        });
        assert_eq!(check(&fill(1, cheater, &adversary)), OT_CONSISTENCY);
    }
}

#[test]
fn another_coin_than_the_one_that_was_committed_to_is_refused() {
    for step in [steps::START, steps::COIN] {
        let adversary = changing(step, |message, body| {
            if message == 1 {
                body[40] ^= 1;
            }
        });
        assert_eq!(check(&fill(1, GARBLER, &adversary)), checks::COIN);
    }
}

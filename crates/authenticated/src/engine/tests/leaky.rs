//! Leaky ANDs that are none.

use super::*;
use crate::offline::Lot;

/// What comes of filling the pool, for the honest party.
fn fill(seed: u64, cheater: PartyId, adversary: &Adversary) -> Result<()> {
    let results = Session::cheating(seed, cheater, adversary).run(AuthenticatedEngine::fill);
    let [garbler, evaluator] = results;
    match cheater == GARBLER {
        true => evaluator,
        false => garbler,
    }
}

/// A lot as a party has it: its difference, its MACs of x, y and z and its keys of the other party's; and what came of making it.
struct Made {
    delta: Block,
    macs: Vec<Block>,
    keys: Vec<Block>,
    outcome: Result<()>,
}

/// Leaky ANDs of a lot.
const LOT: usize = 100;

fn make(engine: &mut AuthenticatedEngine) -> Result<Made> {
    let (party, channel) = engine.parts();
    let mut blocks = [(); 2].map(|()| vec![Block::ZERO; 3 * LOT]);
    let [macs, keys] = &mut blocks;
    party.keys.extend(channel, macs, keys)?;
    let mut lot = Lot {
        count: LOT,
        macs,
        keys,
    };
    let outcome = lot.make(&mut party.keys, channel, &mut [Block::ZERO; LOT]);
    let delta = *party.keys.delta;
    let [macs, keys] = blocks;
    Ok(Made {
        delta,
        macs,
        keys,
        outcome,
    })
}

fn bit(block: Block) -> bool {
    block.0[0] & 1 == 1
}

/// The cheater learns x of one leaky AND: it is caught if and only if that is 1, and otherwise all are products still.
#[test]
fn a_wrong_block_is_caught_if_the_other_partys_bit_is_1() {
    for cheater in [GARBLER, EVALUATOR] {
        let mut caught = 0;
        for seed in 0..40 {
            let at = seed as usize * 7 % LOT;
            let adversary = changing(steps::LEAKY, move |_, body| {
                body[16 * at + seed as usize % 16] ^= 1 << (seed % 8);
            });
            let made = Session::cheating(1000 + seed, cheater, &adversary)
                .over_bases()
                .run(make);
            assert_eq!(adversary.deviations(), 1);
            let made = made.map(Result::unwrap);
            let honest = &made[usize::from(cheater == GARBLER)];
            if bit(honest.macs[at]) {
                assert_eq!(check(&honest.outcome), LEAKY_AND);
                caught += 1;
                continue;
            }
            assert!(made.iter().all(|made| made.outcome.is_ok()));
            for (ours, theirs) in [(&made[0], &made[1]), (&made[1], &made[0])] {
                for (&mac, &key) in ours.macs.iter().zip(&theirs.keys) {
                    let times = if bit(mac) { theirs.delta } else { Block::ZERO };
                    assert!(mac == key ^ times);
                }
            }
            for at in 0..LOT {
                let [x, y, z] = [0, 1, 2].map(|part| {
                    let at = part * LOT + at;
                    bit(made[0].macs[at]) != bit(made[1].macs[at])
                });
                assert_eq!(z, x && y, "{seed}: {at}");
            }
        }
        assert!((8..=32).contains(&caught), "{caught} of 40");
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

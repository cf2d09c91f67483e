//! Leaky ANDs that are none.

use super::*;
use crate::offline::Lot;

/// What comes of filling the pool with leaky ANDs of each length, for the honest party: the check that fails.
fn fill(seed: u64, cheater: PartyId, adversary: impl Fn(usize) -> Adversary) -> [Check; 3] {
    LENGTHS.map(|leaky_bits| {
        let adversary = adversary(leaky_bits as usize / 8);
        let session = Session::cheating(seed, cheater, &adversary)
            .over_bases()
            .of_bits(leaky_bits);
        let results = session.run(AuthenticatedEngine::fill);
        check(&results[usize::from(cheater == GARBLER)])
    })
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
    for (cheater, leaky_bits) in both_with_lengths() {
        let (mut caught, width) = (0, leaky_bits as usize / 8);
        for seed in 0..40 {
            let at = seed as usize * 7 % LOT;
            let adversary = changing(steps::LEAKY, move |_, body| {
                body[width * at + seed as usize % width] ^= 1 << (seed % 8);
            });
            let made = Session::cheating(1000 + seed, cheater, &adversary)
                .over_bases()
                .of_bits(leaky_bits)
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
            are_products(&made, seed);
        }
        assert!((8..=32).contains(&caught), "{caught} of 40");
    }
}

fn both_with_lengths() -> impl Iterator<Item = (PartyId, u32)> {
    let both = [GARBLER, EVALUATOR].into_iter();
    both.flat_map(|cheater| LENGTHS.map(|leaky_bits| (cheater, leaky_bits)))
}

/// MACs are right in all bits, and z is the product of x and y.
fn are_products(made: &[Made; 2], seed: u64) {
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

#[test]
fn leaky_ands_of_honest_parties_are_products() {
    for leaky_bits in [8, 48, 56, 72, 96, 128] {
        let session = Session::honest(1).over_bases().of_bits(leaky_bits);
        let made = session.run(make).map(Result::unwrap);
        assert!(made.iter().all(|made| made.outcome.is_ok()));
        are_products(&made, 1);
    }
}

/// Each wrong block is a coin of its own.
#[test]
fn many_wrong_blocks_are_caught() {
    for cheater in [GARBLER, EVALUATOR] {
        for seed in 0..4 {
            let wrong = |width| {
                changing(steps::LEAKY, move |_, body| {
                    body.iter_mut().step_by(width).for_each(|byte| *byte ^= 64)
                })
            };
            assert_eq!(fill(seed, cheater, wrong), [LEAKY_AND; 3]);
        }
    }
}

#[test]
fn a_wrong_correction_is_caught() {
    for cheater in [GARBLER, EVALUATOR] {
        for at in [0, 23] {
            let wrong = |_| changing(steps::PRODUCTS, move |_, body| body[at] ^= 2);
            assert_eq!(fill(1, cheater, wrong), [LEAKY_AND; 3]);
        }
    }
}

#[test]
fn another_share_or_tag_is_refused() {
    for cheater in [GARBLER, EVALUATOR] {
        let wrong = |_| changing(steps::CONFIRM_EQUALITY, |_, body| body[31] ^= 1);
        assert_eq!(fill(1, cheater, wrong), [LEAKY_AND; 3]);
        // The neutral one; more than the field has; and 1, which is the encoding of no point.
        let mut one = [0; 32];
        one[0] = 1;
        for share in [[0; 32], [0xff; 32], one] {
            let wrong = |_| {
                changing(steps::AGREE_EQUALITY, move |_, body| {
                    body.copy_from_slice(&share);
                })
            };
            assert_eq!(fill(1, cheater, wrong), [cenote_session::MESSAGE_FORM; 3]);
        }
        // Another point: that of the honest party itself, or of another lot, or of another session.
        let mut seen: Option<Vec<u8>> = None;
        let adversary = changing(steps::AGREE_EQUALITY, move |_, body| {
            body.clone_from(seen.get_or_insert_with(|| body.clone()));
        });
        let results = Session::cheating(1, cheater, &adversary)
            .over_bases()
            .run(|engine| engine.ready(100));
        assert!(adversary.deviations() > 0);
        assert_eq!(check(&results[usize::from(cheater == GARBLER)]), LEAKY_AND);
    }
}

/// What a party sends in these steps is what its peer sent in them, as soon as it has heard it.
fn echoing(steps: &'static [Step]) -> [Adversary; 2] {
    let heard: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let listening = heard.clone();
    let ears = Adversary::with(move |_, _, message: Message| {
        if steps.contains(&message.step) {
            listening.lock().unwrap().push(message.body.clone());
        }
        vec![message]
    });
    let late = Adversary::with(move |_, _, mut message: Message| {
        let Some(number) = steps.iter().position(|step| *step == message.step) else {
            return vec![message];
        };
        while heard.lock().unwrap().len() <= number {
            std::thread::sleep(Duration::from_millis(1));
        }
        message.body = heard.lock().unwrap()[number].clone();
        vec![message]
    });
    [ears, late]
}

/// A party that waits for the other one's share, and then for its tag, and sends the same. Or for its tag alone.
#[test]
fn a_test_that_is_answered_late_is_refused() {
    const BOTH: &[Step] = &[steps::AGREE_EQUALITY, steps::CONFIRM_EQUALITY];
    for steps in [BOTH, &BOTH[1..]] {
        for cheater in [GARBLER, EVALUATOR] {
            let [ears, late] = echoing(steps);
            let adversaries = match cheater == EVALUATOR {
                true => [ears, late],
                false => [late, ears],
            };
            let results = Session::with(1, adversaries)
                .over_bases()
                .run(AuthenticatedEngine::fill);
            assert_eq!(check(&results[usize::from(cheater == GARBLER)]), LEAKY_AND);
        }
    }
}

/// The pool is filled with another difference than that of the OTs: above what leaky ANDs have of it, and in it.
#[test]
fn another_difference_than_that_of_the_ots_is_caught() {
    for (cheater, leaky_bits) in both_with_lengths() {
        for (word, bit) in [(1, 61), (0, 20)] {
            let session = Session::honest(1).over_bases().of_bits(leaky_bits);
            let [garbler, evaluator] = session.run(|engine| {
                if engine.me() == cheater {
                    engine.parts().0.keys.delta.0[word] ^= 1 << bit;
                }
                engine.fill()
            });
            let honest = if cheater == GARBLER { evaluator } else { garbler };
            assert_eq!(check(&honest), LEAKY_AND);
        }
    }
}

/// One whose bit 1 is the other party's: then no product is corrected, and half of them are wrong.
#[test]
fn a_difference_with_the_other_bit_1_is_caught() {
    for (cheater, leaky_bits) in both_with_lengths() {
        let session = Session::honest(1).over_bases().of_bits(leaky_bits);
        let results = session.run(|engine| {
            if engine.me() == cheater {
                engine.parts().0.keys.delta.0[0] ^= 2;
            }
            engine.fill()
        });
        assert_eq!(check(&results[usize::from(cheater == GARBLER)]), LEAKY_AND);
    }
}

#[test]
fn other_bits_in_the_ots_are_caught() {
    for cheater in [GARBLER, EVALUATOR] {
        let wrong = |_| {
            changing(cenote_ot::steps::COLUMNS, |_, body| {
                body.iter_mut().step_by(64).for_each(|byte| *byte ^= 1);
            })
        };
        assert_eq!(fill(1, cheater, wrong), [OT_CONSISTENCY; 3]);
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
        let [_, evaluator] = Session::cheating(1, GARBLER, &adversary).run(AuthenticatedEngine::fill);
        assert_eq!(check(&evaluator), checks::COIN);
    }
}

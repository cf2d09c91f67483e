use std::time::Duration;

use cenote_net::{ChannelOptions, Label, PartyId, Step, memory_pair};
use cenote_session::MESSAGE_FORM;
use cenote_testkit::{Adversary, Message, Perturbation, Target};

use super::delta::fresh_delta;
use super::*;
use crate::checks::BIT_OPENING;

const OPEN: Step = Step {
    code: 0x7001,
    name: "open bits",
};

/// What both sides get of a run, the second one's messages behind `adversary`.
pub(crate) fn both<T: Send>(
    adversary: Option<&Adversary>,
    side: impl Fn(bool, &mut dyn Channel) -> T + Sync,
) -> [T; 2] {
    let options = ChannelOptions::with_timeout(Duration::from_secs(10));
    let (mut to_second, to_first) = memory_pair(PartyId(0), PartyId(1), options);
    let mut to_first: Box<dyn Channel> = Box::new(to_first);
    if let Some(adversary) = adversary {
        to_first = Box::new(adversary.wrap(Label::from("main"), to_first));
    }
    std::thread::scope(|scope| {
        let side = &side;
        let first = scope.spawn(move || {
            let result = side(true, &mut to_second);
            drop(to_second);
            result
        });
        let second = side(false, &mut *to_first);
        drop(to_first);
        [first.join().unwrap(), second]
    })
}

/// A side of a set-up without public-key cryptography.
pub(crate) fn deal(first: bool, channel: &mut dyn Channel, seed: u64, symbols: u32) -> Result<Mutual> {
    let mut entropy = Entropy::for_tests(seed);
    let deltas = [true, false].map(|first| fresh_delta(&mut entropy, first));
    let keys: [Vec<[Block; 2]>; 2] =
        [(); 2].map(|()| (0..WIDTH).map(|_| [entropy.block(), entropy.block()]).collect());
    let me = usize::from(!first);
    let delta = deltas[me].clone();
    let chosen: Vec<Block> = (0..WIDTH)
        .map(|at| keys[1 - me][at][usize::from(mask(*delta, at) == 0)])
        .collect();
    let mut entropy = Entropy::for_tests(seed * 2 + 1000 + u64::from(first));
    Mutual::with_keys(
        channel,
        &mut entropy,
        b"test",
        symbols,
        delta,
        (&keys[me], &chosen),
    )
}

/// The MACs and keys of `count` bits.
pub(crate) fn bits(mutual: &mut Mutual, channel: &mut dyn Channel, count: usize) -> Result<[Vec<Block>; 2]> {
    let (mut macs, mut keys) = (vec![Block::ZERO; count], vec![Block::ZERO; count]);
    mutual.extend(channel, &mut macs, &mut keys)?;
    Ok([macs, keys])
}

fn assert_authentic(delta: Block, macs: &[Block], keys: &[Block]) {
    assert_eq!(macs.len(), keys.len());
    for (at, (&mac, &key)) in macs.iter().zip(keys).enumerate() {
        let bit = Block([mask(mac, 0); 2]);
        assert!(mac == key ^ delta & bit, "bit {at}");
        assert_eq!(mask(key, 0), 0, "bit {at}");
    }
}

pub(crate) fn authentic(both: [(Block, [Vec<Block>; 2]); 2]) {
    let [(first, [macs, keys]), (second, [their_macs, their_keys])] = both;
    assert_authentic(second, &macs, &their_keys);
    assert_authentic(first, &their_macs, &keys);
}

fn caught<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Aborted { check, .. }) if *check == OT_CONSISTENCY)
}

#[test]
fn bits_are_authenticated_in_calls_and_symbols_of_all_sizes() {
    const SIZES: [usize; 9] = [1, 0, 383, 384, 385, 513, 16_256, 16_257, 40_001];
    for symbols in [16, 17, 24, 31, 32, 43, 64, 100, 128] {
        let [first, second] = both(None, |first, channel| {
            let mut mutual = deal(first, channel, symbols.into(), symbols).unwrap();
            let made = SIZES.map(|count| bits(&mut mutual, channel, count).unwrap());
            (mutual.delta(), made)
        });
        let sum = first.0 ^ second.0;
        assert_eq!((mask(first.0, 0), mask(second.0, 0)), (u64::MAX, u64::MAX));
        assert_eq!(
            mask(sum, 1),
            u64::MAX,
            "bit 1 of the sum of both differences is 1"
        );
        let mut strings = Vec::new();
        for (ours, theirs) in first.1.into_iter().zip(second.1) {
            strings.extend(
                [&ours[1], &theirs[1]]
                    .into_iter()
                    .flatten()
                    .map(|key| key.to_bytes()),
            );
            for macs in [&ours[0], &theirs[0]]
                .into_iter()
                .filter(|macs| macs.len() == 40_001)
            {
                for at in 0..WIDTH {
                    let ones = macs.iter().filter(|&&mac| mask(mac, at) != 0).count();
                    assert!(
                        (19_400..20_600).contains(&ones),
                        "bit {at} is 1 in {ones} of 40001"
                    );
                }
            }
            authentic([(first.0, ours), (second.0, theirs)]);
        }
        let count = strings.len();
        strings.sort_unstable();
        strings.dedup();
        assert_eq!(strings.len(), count, "a key occurs twice");
    }
}

/// More than is sent at a time.
#[test]
fn long_calls_are_taken_in_turns() {
    let options = ChannelOptions {
        queue_bytes: WINDOW + (1 << 20),
        ..ChannelOptions::with_timeout(Duration::from_secs(20))
    };
    let (mut to_second, mut to_first) = memory_pair(PartyId(0), PartyId(1), options);
    let count = 3 * WINDOW / 16;
    let side = |first: bool, channel: &mut dyn Channel| {
        let mut mutual = deal(first, channel, 11, 128)?;
        bits(&mut mutual, channel, count).map(|made| (mutual.delta(), made))
    };
    let [first, second] = std::thread::scope(|scope| {
        let first = scope.spawn(move || side(true, &mut to_second));
        let second = side(false, &mut to_first);
        [first.join().unwrap(), second]
    });
    authentic([first.unwrap(), second.unwrap()]);
}

#[test]
fn a_set_up_by_base_ots_takes_the_bytes_that_are_declared() {
    for symbols in [24, 16] {
        let run = |sessions: [&'static [u8]; 2]| {
            both(None, move |first, channel| {
                let mut entropy = Entropy::for_tests(u64::from(first));
                let session = sessions[usize::from(first)];
                let mut mutual = Mutual::new(channel, &mut entropy, session, first, symbols).unwrap();
                let before = channel.meter().payload_sent;
                let made = bits(&mut mutual, channel, 100_000);
                (mutual.delta(), made, channel.meter().payload_sent - before)
            })
        };
        let [first, second] = run([b"one"; 2]);
        let rows = (100_000 + 128usize).next_multiple_of(512) as u64;
        let bytes = rows / 8 * u64::from(symbols - 1) + 16 + 129 * 16;
        assert_eq!([first.2, second.2], [bytes; 2]);
        authentic([(first.0, first.1.unwrap()), (second.0, second.1.unwrap())]);
        let [first, second] = run([b"one", b"two"]);
        assert!(caught(&first.1) || caught(&second.1));
    }
}

/// Flips bit 0 of the first difference that is sent for `symbol`.
fn other_bit(symbol: usize) -> Adversary {
    Adversary::with(move |_, _, mut message: Message| {
        if message.step == steps::COLUMNS {
            message.body[(symbol - 1) * 64] ^= 1;
        }
        vec![message]
    })
}

/// It passes if and only if that symbol of Δ is 0, and then all bits are those of the other columns.
#[test]
fn another_bit_for_one_symbol_is_a_guess_of_the_symbol() {
    for (symbols, runs, range) in [(128, 200, 65..135), (64, 300, 45..105)] {
        let mut passed = 0;
        for seed in 0..runs {
            let at = 1 + (seed as usize * 7) % (symbols as usize - 1);
            let adversary = other_bit(at);
            let [(delta, first), (theirs, second)] = both(Some(&adversary), |first, channel| {
                let mut mutual = deal(first, channel, seed, symbols).unwrap();
                let made = bits(&mut mutual, channel, 100);
                (mutual.delta(), made)
            });
            assert!(adversary.deviations() > 0);
            let of_symbol = Shape::new(symbols).bits(at);
            let zero = of_symbol.into_iter().all(|bit| mask(delta, bit) == 0);
            assert_eq!(first.is_ok(), zero, "run {seed}");
            match first {
                Ok(first) => {
                    authentic([(delta, first), (theirs, second.unwrap())]);
                    passed += 1;
                }
                failed => assert!(caught(&failed), "{failed:?}"),
            }
        }
        assert!(range.contains(&passed), "{passed} of {runs} passed");
    }
}

/// A wrong sum in a tree is taken if a bit of Δ says so: half of the time.
#[test]
fn a_wrong_tree_is_a_guess_of_a_bit() {
    let mut passed = 0;
    for seed in 0..200 {
        let at = seed as usize * 5 % Shape::new(16).sums();
        let side = seed as usize % 2;
        let adversary = Adversary::with(move |_, _, mut message: Message| {
            if message.step == steps::TREES {
                message.body[32 * at + 16 * side + 3] ^= 4;
            }
            vec![message]
        });
        let [(delta, first), (theirs, second)] = both(Some(&adversary), |first, channel| {
            let mut mutual = deal(first, channel, seed, 16).unwrap();
            let made = bits(&mut mutual, channel, 100);
            (mutual.delta(), made)
        });
        // The sums of a symbol are those of its bits from the second highest down.
        let bit = at / 7 * 8 + 6 - at % 7;
        let takes_right = mask(delta, bit) == 0;
        assert_eq!(first.is_ok(), takes_right != (side == 1), "run {seed}");
        match first {
            Ok(first) => {
                authentic([(delta, first), (theirs, second.unwrap())]);
                passed += 1;
            }
            failed => assert!(caught(&failed), "{failed:?}"),
        }
    }
    assert!((65..135).contains(&passed), "{passed} of 200 passed");
}

#[test]
fn other_bits_for_many_symbols_are_caught_in_any_piece() {
    for (piece, symbols) in [(0, 1..16), (1, 5..16), (2, 1..11)] {
        let mut seen = 0;
        let adversary = Adversary::with(move |_, _, mut message: Message| {
            if message.step == steps::COLUMNS {
                if seen == piece {
                    let units = message.body.len() / 15 / 64;
                    for symbol in symbols.clone() {
                        message.body[(symbol - 1) * units * 64 + 9] ^= 16;
                    }
                }
                seen += 1;
            }
            vec![message]
        });
        let [first, second] = both(Some(&adversary), |first, channel| {
            let mut mutual = deal(first, channel, 5, 16).unwrap();
            let made = bits(&mut mutual, channel, 40_000);
            let again = bits(&mut mutual, channel, 10);
            (made, again)
        });
        assert!(caught(&first.0), "{:?}", first.0);
        assert!(caught(&first.1), "nothing comes after a failure: {:?}", first.1);
        assert!(second.1.is_err());
    }
}

#[test]
fn no_message_is_taken_that_was_changed() {
    for step in [steps::TREES, steps::COLUMNS, steps::CHALLENGE, steps::ANSWER] {
        for perturbation in Perturbation::all() {
            let adversary = Adversary::new(Target::step(step), perturbation.clone());
            let [first, second] = both(Some(&adversary), |first, channel| {
                let mut mutual = deal(first, channel, 9, 32)?;
                bits(&mut mutual, channel, 20_000).map(|made| (mutual.delta(), made))
            });
            assert!(adversary.deviations() > 0);
            let told = format!("{} {perturbation:?}: {:?}", step.name, first.as_ref().err());
            match (first, &perturbation) {
                (Ok(first), Perturbation::FlipBit { .. }) => match second {
                    // A right guess.
                    Ok(second) => authentic([first, second]),
                    // The cheater's own loss: it answered another challenge.
                    Err(_) => assert_eq!(step, steps::CHALLENGE, "{told}"),
                },
                (Err(Error::Aborted { check, .. }), _) => {
                    assert!([OT_CONSISTENCY, MESSAGE_FORM].contains(&check), "{told}");
                }
                (Err(Error::Net(_)), _) => {}
                (Ok(_), Perturbation::Duplicate) => assert_eq!(step, steps::ANSWER, "{told}"),
                (other, _) => panic!("{told}: {}", other.is_ok()),
            }
        }
    }
}

#[test]
fn opened_bits_are_those_that_were_authenticated() {
    for lie in [None, Some(0), Some(77)] {
        let [first, second] = both(None, |first, channel| {
            let mut mutual = deal(first, channel, 3, 32).unwrap();
            let [macs, keys] = bits(&mut mutual, channel, 100).unwrap();
            let (macs, keys): (&[[u64; 2]], &[[u64; 2]]) =
                (bytemuck::cast_slice(&macs), bytemuck::cast_slice(&keys));
            let mut opened = vec![0; 2];
            for (at, mac) in macs.iter().enumerate() {
                opened[at / 64] |= (mac[0] & 1) << (at % 64);
            }
            if let (Some(at), false) = (lie, first) {
                opened[at / 64] ^= 1 << (at % 64);
            }
            let (mut opener, mut verifier) = (mutual.opener(0), mutual.verifier(0));
            opener.open(channel, OPEN, &opened, macs).unwrap();
            let received = verifier.receive(channel, OPEN, keys);
            (opened, received)
        });
        assert_eq!(
            second.1.as_ref().ok(),
            Some(&first.0),
            "the second side sees what the first opens"
        );
        match lie {
            None => assert_eq!(first.1.unwrap(), second.0),
            Some(_) => assert!(
                matches!(&first.1, Err(Error::Aborted { check, .. }) if *check == BIT_OPENING),
                "{:?}",
                first.1
            ),
        }
    }
}

/// Sessions over base OTs that were kept have the differences in common and nothing else.
#[test]
fn base_ots_serve_many_sessions() {
    let made = both(None, |first, channel| {
        let mut entropy = Entropy::for_tests(77 + u64::from(first));
        let base = Base::establish(channel, &mut entropy, b"base", first).unwrap();
        let bytes = base.encode();
        assert!(Base::decode(&bytes, !first).is_none());
        assert!(Base::decode(&bytes[1..], first).is_none());
        assert!(Base::decode(&[&bytes[..], &[0]].concat(), first).is_none());
        let base = Base::decode(&bytes, first).unwrap();
        assert_eq!(*base.encode(), *bytes);
        [(b"one", 32), (b"two", 32), (b"six", 16)].map(|(session, symbols)| {
            let mut mutual = base.begin(channel, &mut entropy, session, symbols).unwrap();
            (mutual.delta(), bits(&mut mutual, channel, 500).unwrap())
        })
    });
    let [first, second] = made;
    let mut all = Vec::new();
    for (first, second) in first.into_iter().zip(second) {
        all.extend(first.1[1].iter().map(|key| (first.0, *key)));
        authentic([first, second]);
    }
    assert!(all.iter().all(|(delta, _)| *delta == all[0].0));
    all.sort_unstable_by_key(|(_, key)| key.0);
    all.dedup();
    assert_eq!(all.len(), 1500, "no key twice");
}

/// Of trees with wrong sums and wrong differences the other side's columns depend on the highest bits of its symbol alone, down to the column's own.
#[test]
fn columns_depend_on_prefixes_of_symbols() {
    let shape = Shape::new(32);
    let mut entropy = Entropy::for_tests(8);
    let keys: Vec<[Block; 2]> = (0..WIDTH).map(|_| [entropy.block(), entropy.block()]).collect();
    let (_, mut sums) = Holder::new(shape, &keys);
    sums.iter_mut().for_each(|sum| *sum ^= entropy.block());
    let differences: Vec<Block512> = (1..shape.symbols())
        .map(|_| Block512(std::array::from_fn(|_| entropy.block().0[0])))
        .collect();
    let at = Position { stream: 0, index: 0 };
    // Of the second symbol, for each of its values.
    let columns: Vec<Vec<Block512>> = (0..16u64)
        .map(|value| {
            let delta = Block([(value << 4).to_le(), 0]);
            let chosen: Vec<Block> = (0..WIDTH)
                .map(|at| keys[at][usize::from(mask(delta, at) == 0)])
                .collect();
            let mut knower = Knower::new(shape, delta, &chosen, sums.as_chunks().0);
            let mut columns = vec![Block512::ZERO; WIDTH];
            knower.expand(at, &mut columns);
            knower.correct(&mut columns, &differences);
            columns[shape.bits(1)].to_vec()
        })
        .collect();
    for (value, ours) in columns.iter().enumerate() {
        for (other, theirs) in columns.iter().enumerate() {
            for bit in 0..4 {
                let same = value >> bit == other >> bit;
                assert_eq!(ours[bit] == theirs[bit], same, "bit {bit} of {value} and {other}");
            }
        }
    }
}

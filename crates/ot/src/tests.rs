//! The extension on base OTs from a dealer, honest and attacked.
use crate::checks::OT_CONSISTENCY;
use cenote_session::{Error, Result};

use std::time::Duration;

use cenote_net::{Channel, ChannelOptions, Label, PartyId, memory_pair};
use cenote_primitives::{Block, Entropy};
use cenote_testkit::{Adversary, Message};

use crate::extension::{Receiver, Sender};
use crate::extractor::{Extractor, ROW_WORDS, Row, WIDTH};
use crate::{Chosen, DeltaReceiver, DeltaSender, steps};

/// A set-up without public-key cryptography, and the sender's choices.
fn deal(seed: u64) -> (DeltaSender, DeltaReceiver, Row) {
    let mut entropy = Entropy::for_tests(seed);
    let mut choices: Row = std::array::from_fn(|_| u64::from_le_bytes(entropy.bytes()));
    choices[ROW_WORDS - 1] &= (1 << (WIDTH % 64)) - 1;
    let keys: Vec<[Block; 2]> = (0..WIDTH).map(|_| [entropy.block(), entropy.block()]).collect();
    let chosen: Vec<Block> = (0..WIDTH)
        .map(|i| keys[i][usize::from(bit(&choices, i))])
        .collect();
    let sender = Sender::from_keys(&choices, &chosen, &mut entropy);
    let receiver = Receiver::from_keys(&keys);
    (
        DeltaSender::from_extension(sender, b"test"),
        DeltaReceiver::from_extension(receiver, b"test"),
        choices,
    )
}

pub(crate) fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// Runs both sides, the receiver's channel behind `adversary`. Each drops its channel at its end.
pub(crate) fn both<A: Send, B>(
    adversary: Option<&Adversary>,
    sender: impl FnOnce(&mut dyn Channel) -> A + Send,
    receiver: impl FnOnce(&mut dyn Channel) -> B,
) -> (A, B) {
    let options = ChannelOptions::with_timeout(Duration::from_secs(10));
    let (mut to_receiver, to_sender) = memory_pair(PartyId(0), PartyId(1), options);
    let mut to_sender: Box<dyn Channel> = Box::new(to_sender);
    if let Some(adversary) = adversary {
        to_sender = Box::new(adversary.wrap(Label::from("main"), to_sender));
    }
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || sender(&mut to_receiver));
        let received = receiver(&mut *to_sender);
        drop(to_sender);
        (sender.join().unwrap(), received)
    })
}

fn assert_correlated(delta: Block, own: &[Block], chosen: &Chosen) {
    assert_eq!(chosen.strings.len(), own.len());
    assert_eq!(chosen.choices.len(), own.len().div_ceil(64));
    for (i, (&own, &theirs)) in own.iter().zip(&chosen.strings).enumerate() {
        let choice = bit(&chosen.choices, i);
        assert!(theirs == if choice { own ^ delta } else { own }, "string {i}");
        assert_eq!(own.to_bytes()[0] & 1, 0, "string {i}");
        assert_eq!(theirs.to_bytes()[0] & 1, u8::from(choice), "string {i}");
    }
    assert_padding(chosen);
}

fn assert_padding(chosen: &Chosen) {
    for i in chosen.strings.len()..64 * chosen.choices.len() {
        assert!(!bit(&chosen.choices, i), "bit {i} is beyond the last choice");
    }
}

fn assert_distinct(strings: impl Iterator<Item = Block>) {
    let mut strings: Vec<_> = strings.map(Block::to_bytes).collect();
    let count = strings.len();
    strings.sort_unstable();
    strings.dedup();
    assert_eq!(strings.len(), count, "a string occurs twice");
}

#[test]
fn calls_of_all_sizes_under_one_set_up_are_correlated() {
    // Of one bit to three chunks; sizes around words, units and chunks.
    const SIZES: [usize; 17] = [
        1, 0, 2, 63, 64, 65, 383, 384, 385, 511, 512, 513, 1000, 130_432, 130_433, 300_001, 40,
    ];
    let (mut sender, mut receiver, choices) = deal(1);
    assert_eq!(sender.delta(), Extractor::new().string(&choices, true));
    let (own, chosen) = both(
        None,
        |channel| SIZES.map(|count| sender.correlated(channel, count).unwrap()),
        |channel| {
            // The same choices each time, so that only the keystream can make the strings differ.
            SIZES.map(|count| {
                receiver
                    .correlated(channel, &mut Entropy::for_tests(9), count)
                    .unwrap()
            })
        },
    );
    for (own, chosen) in own.iter().zip(&chosen) {
        assert_correlated(sender.delta(), own, chosen);
    }
    let large = &chosen[15];
    let ones: u32 = large.choices.iter().map(|word| word.count_ones()).sum();
    assert!(
        (149_000..151_000).contains(&ones),
        "{ones} of 300001 choices are 1"
    );
    assert_distinct(own.iter().flatten().copied());
    assert_distinct(own.iter().flatten().map(|own| *own ^ sender.delta()));
    // Every bit but the first varies evenly, in the sender's strings and so in all.
    for j in 1..128 {
        let ones = own[15].iter().filter(|own| bit(&own.0, j)).count();
        assert!(
            (148_500..151_500).contains(&ones),
            "bit {j} is 1 in {ones} of 300001"
        );
    }
}

#[test]
fn random_strings_are_one_of_two_and_unrelated() {
    const SIZES: [usize; 7] = [1, 64, 65, 299, 0, 1024, 131_000];
    let (mut sender, mut receiver, _) = deal(2);
    let (pairs, chosen) = both(
        None,
        |channel| SIZES.map(|count| sender.random(channel, count).unwrap()),
        |channel| {
            SIZES.map(|count| {
                receiver
                    .random(channel, &mut Entropy::for_tests(9), count)
                    .unwrap()
            })
        },
    );
    for (pairs, chosen) in pairs.iter().zip(&chosen) {
        assert_eq!(chosen.strings.len(), pairs.len());
        for (i, (pair, string)) in pairs.iter().zip(&chosen.strings).enumerate() {
            assert!(
                pair[usize::from(bit(&chosen.choices, i))] == *string,
                "string {i}"
            );
        }
        assert_padding(chosen);
    }
    assert_distinct(pairs.iter().flatten().flatten().copied());
    assert_distinct(pairs.iter().flatten().map(|[zero, one]| *zero ^ *one));
}

#[test]
fn both_kinds_take_turns() {
    let (mut sender, mut receiver, _) = deal(3);
    let delta = sender.delta();
    let (own, theirs) = both(
        None,
        |channel| {
            let first = sender.correlated(channel, 100).unwrap();
            let pairs = sender.random(channel, 100).unwrap();
            (first, pairs, sender.correlated(channel, 100).unwrap())
        },
        |channel| {
            let entropy = &mut Entropy::for_tests(9);
            let first = receiver.correlated(channel, entropy, 100).unwrap();
            let random = receiver.random(channel, entropy, 100).unwrap();
            (first, random, receiver.correlated(channel, entropy, 100).unwrap())
        },
    );
    assert_correlated(delta, &own.0, &theirs.0);
    assert_correlated(delta, &own.2, &theirs.2);
    for (i, (pair, string)) in own.1.iter().zip(&theirs.1.strings).enumerate() {
        assert_eq!(pair[usize::from(bit(&theirs.1.choices, i))], *string);
    }
    assert_ne!(theirs.0.choices, theirs.2.choices, "choices are fresh");
}

/// Other sessions hash rows to other strings.
#[test]
fn the_session_goes_into_random_strings() {
    let keys = [[Block([1, 2]), Block([3, 4])]; WIDTH];
    let strings = |session: &[u8]| {
        let mut receiver = DeltaReceiver::from_extension(Receiver::from_keys(&keys), session);
        let chosen = [keys[0][0]; WIDTH];
        let sender = Sender::from_keys(&Row::default(), &chosen, &mut Entropy::for_tests(1));
        let mut sender = DeltaSender::from_extension(sender, session);
        let entropy = &mut Entropy::for_tests(2);
        both(
            None,
            |channel| sender.random(channel, 10).unwrap(),
            |channel| receiver.random(channel, entropy, 10).unwrap(),
        )
        .1
        .strings
    };
    assert_eq!(strings(b"a"), strings(b"a"));
    assert!(strings(b"a").iter().zip(strings(b"b")).all(|(a, b)| *a != b));
}

/// Flips bit `row` of the given of `width` columns in message number `occurrence` of the extension: other choices there.
pub(crate) fn flip(width: usize, occurrence: usize, row: usize, columns: Vec<usize>) -> Adversary {
    let mut seen = 0;
    Adversary::with(move |_, _, mut message| {
        if message.step == steps::COLUMNS {
            if seen == occurrence {
                let height = message.body.len() / width;
                for column in &columns {
                    message.body[column * height + row / 8] ^= 1 << (row % 8);
                }
            }
            seen += 1;
        }
        vec![message]
    })
}

/// One call of `count` strings against `adversary`.
fn attack(seed: u64, count: usize, adversary: &Adversary) -> (Result<Vec<Block>>, Chosen, Block, Row) {
    let (mut sender, mut receiver, choices) = deal(seed);
    let (own, chosen) = both(
        Some(adversary),
        |channel| sender.correlated(channel, count),
        |channel| receiver.correlated(channel, &mut Entropy::for_tests(!seed), count),
    );
    (own, chosen.unwrap_or_default(), sender.delta(), choices)
}

pub(crate) fn caught<T>(result: &Result<T>) -> bool {
    matches!(
        result,
        Err(Error::Aborted {
            check: OT_CONSISTENCY,
            step: steps::ANSWER,
            ..
        })
    )
}

/// Another choice in one column: passes if and only if the sender's choice in that column is 0 (half of all times), so a
/// pass tells one bit, and being caught ends all.
#[test]
fn one_inconsistent_column_is_a_guess_of_one_bit() {
    const RUNS: u64 = 400;
    let mut passed = 0;
    for seed in 0..RUNS {
        let column = (seed * 37) as usize % WIDTH;
        let adversary = flip(WIDTH, 0, 5 + seed as usize % 90, vec![column]);
        let (own, chosen, delta, choices) = attack(seed, 100, &adversary);
        assert_eq!(adversary.deviations(), 1);
        match own {
            Ok(own) => {
                assert!(!bit(&choices, column), "run {seed}");
                assert_correlated(delta, &own, &chosen);
                passed += 1;
            }
            failed => {
                assert!(caught(&failed), "{failed:?}");
                assert!(bit(&choices, column), "run {seed}");
            }
        }
    }
    // 200 ± 5 standard deviations.
    assert!((150..250).contains(&passed), "{passed} of {RUNS} passed");
}

#[test]
fn many_inconsistent_columns_are_caught() {
    for seed in 0..20 {
        // All columns too: they agree then, but not with the choices that the answer folds.
        let all: Vec<usize> = (0..WIDTH).collect();
        for columns in [&all[..], &all[..60], &all[200..]] {
            // In a used row, an unused one, and a blinding one.
            for row in [0, 300, 511] {
                let (own, ..) = attack(seed, 100, &flip(WIDTH, 0, row, columns.to_vec()));
                assert!(caught(&own), "{} columns, row {row}", columns.len());
            }
        }
    }
}

/// Exactly the columns with choice 1 count: who knows d passes with any number of others, and is caught for one more.
#[test]
fn the_check_is_exact() {
    let choices = deal(77).2;
    let zeros: Vec<usize> = (0..WIDTH).filter(|&i| !bit(&choices, i)).collect();
    assert!(zeros.len() > 100);
    let (own, chosen, delta, _) = attack(77, 1000, &flip(WIDTH, 0, 999, zeros.clone()));
    assert_correlated(delta, &own.unwrap(), &chosen);
    for one in (0..WIDTH).filter(|i| !zeros.contains(i)) {
        let columns = zeros.iter().copied().chain([one]).collect();
        assert!(
            caught(&attack(77, 1000, &flip(WIDTH, 0, 999, columns)).0),
            "column {one}"
        );
    }
}

/// In any chunk of a call; what passed before is not returned either.
#[test]
fn later_chunks_are_checked_too() {
    for chunk in 0..3 {
        let adversary = flip(WIDTH, chunk, 200, (0..60).collect());
        assert!(caught(&attack(5, 300_000, &adversary).0), "chunk {chunk}");
        assert_eq!(adversary.deviations(), 1);
    }
}

#[test]
fn a_wrong_answer_is_caught() {
    for place in [0, 1, 2, 150, WIDTH] {
        for byte in [0, 15] {
            let adversary = Adversary::with(move |_, _, mut message| {
                if message.step == steps::ANSWER {
                    message.body[16 * place + byte] ^= 0x80;
                }
                vec![message]
            });
            assert!(caught(&attack(6, 50, &adversary).0), "element {place}");
        }
    }
}

/// Sends message `which` of `step` again in place of the one after it.
fn replay(step: cenote_net::Step) -> Adversary {
    let mut kept: Option<Message> = None;
    Adversary::with(move |_, _, message| {
        if message.step != step {
            return vec![message];
        }
        vec![kept.get_or_insert(message).clone()]
    })
}

#[test]
fn what_was_sent_before_is_no_answer_to_anything_else() {
    for step in [steps::COLUMNS, steps::ANSWER] {
        let adversary = replay(step);
        let (mut sender, mut receiver, _) = deal(8);
        let (results, _) = both(
            Some(&adversary),
            |channel| [sender.correlated(channel, 70), sender.correlated(channel, 70)],
            |channel| {
                // Even with the same choices: the keystream is another.
                [(); 2].map(|()| {
                    receiver
                        .correlated(channel, &mut Entropy::for_tests(1), 70)
                        .map(drop)
                        .ok()
                })
            },
        );
        assert!(results[0].is_ok(), "\"{step}\"");
        assert!(caught(&results[1]), "\"{step}\"");
        assert_eq!(adversary.deviations(), 1);
    }
}

/// A failed check must not be a free guess: no call after it does anything.
#[test]
fn a_failure_is_for_good() {
    let (mut sender, mut receiver, _) = deal(9);
    let adversary = flip(WIDTH, 0, 0, (0..60).collect());
    both(
        Some(&adversary),
        |channel| {
            assert!(caught(&sender.correlated(channel, 10)));
            let before = channel.meter();
            assert!(caught(&sender.correlated(channel, 10)));
            assert!(caught(&sender.random(channel, 10)));
            assert!(caught(&sender.correlated(channel, 0)));
            assert_eq!(channel.meter(), before, "nothing was sent or received");
        },
        |channel| {
            let entropy = &mut Entropy::for_tests(1);
            receiver.correlated(channel, entropy, 10).unwrap();
            // The sender is gone.
            let lost = |result: Result<Chosen>| {
                matches!(result, Err(Error::Net(cenote_net::Error::PeerLost { .. })))
            };
            assert!(lost(receiver.correlated(channel, entropy, 10)));
            let before = channel.meter();
            assert!(lost(receiver.random(channel, entropy, 10)));
            assert_eq!(channel.meter(), before, "nothing was sent or received");
        },
    );
}

#[test]
fn nothing_secret_is_printed() {
    let (sender, receiver, _) = deal(1);
    let chosen = Chosen {
        choices: vec![5],
        strings: vec![Block([1, 2]); 3],
    };
    assert_eq!(
        format!("{sender:?} {receiver:?} {chosen:?}"),
        "DeltaSender DeltaReceiver Chosen(3)"
    );
}

/// Strings that no machine holds are refused before anything is sent, and as every failure that ends the set-up.
#[test]
fn strings_that_there_is_no_room_for_are_refused() {
    let refused = |error: Option<Error>| match error {
        Some(Error::OutOfMemory(what)) => assert!(what.contains("oblivious transfers"), "{what}"),
        other => panic!("{other:?}"),
    };
    for count in [1 << 57, usize::MAX] {
        for random in [false, true] {
            let (mut sender, mut receiver, _) = deal(9);
            let mut entropy = Entropy::for_tests(9);
            both(
                None,
                |channel| {
                    refused(if random {
                        sender.random(channel, count).err()
                    } else {
                        sender.correlated(channel, count).err()
                    });
                    assert_eq!(channel.meter().payload_sent, 0);
                    refused(sender.correlated(channel, 1).err());
                },
                |channel| {
                    refused(if random {
                        receiver.random(channel, &mut entropy, count).err()
                    } else {
                        receiver.correlated(channel, &mut entropy, count).err()
                    });
                    assert_eq!(channel.meter().payload_sent, 0);
                },
            );
        }
    }
}

use cenote_net::{PartyId, Step};
use cenote_session::{Error, MESSAGE_FORM};
use cenote_testkit::{Adversary, Message, Perturbation, Target};

use super::opening::is_packed;
use super::*;
use crate::checks::{BIT_OPENING, OT_CONSISTENCY};
use crate::tests::{bit, both, caught, flip};

const OPEN: Step = Step {
    code: 0x7001,
    name: "open bits",
};

/// A set-up without public-key cryptography.
fn deal<const WORDS: usize>(seed: u64) -> (BitSender<WORDS>, BitReceiver<WORDS>) {
    let mut entropy = Entropy::for_tests(seed);
    let gamma: Mac<WORDS> = std::array::from_fn(|_| u64::from_le_bytes(entropy.bytes()));
    let keys: Vec<_> = (0..64 * WORDS)
        .map(|_| [entropy.block(), entropy.block()])
        .collect();
    let chosen: Vec<_> = (0..64 * WORDS)
        .map(|i| keys[i][usize::from(bit(&gamma, i))])
        .collect();
    let sender = extension::Sender::from_keys(&gamma, &chosen, &mut entropy);
    let receiver = extension::Receiver::from_keys(&keys);
    (
        BitSender::from_extension(sender, bind(b"test")),
        BitReceiver::from_extension(receiver, bind(b"test")),
    )
}

/// A set-up with `count` bits, and their keys.
#[allow(clippy::type_complexity, reason = "what a test takes apart at once")]
fn with_bits(
    seed: u64,
    count: usize,
) -> (
    (BitSender<1>, Vec<Mac<1>>),
    (BitReceiver<1>, AuthenticatedBits<1>),
) {
    let (mut sender, mut receiver) = deal(seed);
    let entropy = &mut Entropy::for_tests(!seed);
    let (keys, bits) = both(
        None,
        |channel| sender.keys(channel, count).unwrap(),
        |channel| receiver.bits(channel, entropy, count).unwrap(),
    );
    ((sender, keys), (receiver, bits))
}

fn assert_authentic<const WORDS: usize>(
    gamma: Mac<WORDS>,
    keys: &[Mac<WORDS>],
    authenticated: &AuthenticatedBits<WORDS>,
) {
    assert_eq!(authenticated.len(), keys.len());
    assert!(is_packed(&authenticated.bits, keys.len()));
    for (i, (key, mac)) in keys.iter().zip(&authenticated.macs).enumerate() {
        let mask = u64::from(bit(&authenticated.bits, i)).wrapping_neg();
        let expected: Mac<WORDS> = std::array::from_fn(|word| key[word] ^ gamma[word] & mask);
        assert!(*mac == expected, "bit {i}");
    }
}

fn calls_of_all_sizes<const WORDS: usize>() {
    // Of one bit to three chunks; sizes around words, units and chunks.
    const SIZES: [usize; 15] = [
        1, 0, 63, 64, 65, 383, 384, 385, 511, 512, 513, 130_432, 130_433, 300_001, 40,
    ];
    let (mut sender, mut receiver) = deal::<WORDS>(1);
    let gamma = sender.gamma();
    let (keys, bits) = both(
        None,
        |channel| SIZES.map(|count| sender.keys(channel, count).unwrap()),
        |channel| {
            // The same bits each time, so that only the keystream can make the MACs differ.
            SIZES.map(|count| receiver.bits(channel, &mut Entropy::for_tests(9), count).unwrap())
        },
    );
    for ((keys, bits), size) in keys.iter().zip(&bits).zip(SIZES) {
        assert_eq!(keys.len(), size);
        assert_authentic(gamma, keys, bits);
    }
    let ones: u32 = bits[13].bits.iter().map(|word| word.count_ones()).sum();
    assert!((149_000..151_000).contains(&ones), "{ones} of 300001 bits are 1");
    let mut all: Vec<_> = keys.iter().flatten().collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "a key occurs twice");
    for c in 0..64 * WORDS {
        let ones = keys[13].iter().filter(|key| bit(&key[..], c)).count();
        assert!(
            (148_500..151_500).contains(&ones),
            "bit {c} is 1 in {ones} of 300001"
        );
    }
}

#[test]
fn calls_of_all_sizes_are_authenticated_by_64_bits() {
    calls_of_all_sizes::<1>();
}

#[test]
fn calls_of_all_sizes_are_authenticated_by_128_bits() {
    calls_of_all_sizes::<2>();
}

#[test]
fn chosen_bits_are_authenticated() {
    const COUNT: usize = 131_000;
    let (mut sender, mut receiver) = deal::<1>(2);
    let mut chosen: Vec<u64> = (0..COUNT.div_ceil(64) as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let (keys, bits) = both(
        None,
        |channel| sender.keys(channel, COUNT).unwrap(),
        |channel| {
            let entropy = &mut Entropy::for_tests(3);
            receiver.chosen(channel, entropy, &chosen, COUNT).unwrap()
        },
    );
    assert_authentic(sender.gamma(), &keys, &bits);
    *chosen.last_mut().unwrap() &= u64::MAX >> (COUNT.wrapping_neg() % 64);
    assert_eq!(bits.bits, chosen);
}

#[test]
fn base_ots_and_bytes_are_as_declared() {
    let run = |sessions: [&'static [u8]; 2]| {
        both(
            None,
            move |channel| {
                let entropy = &mut Entropy::for_tests(1);
                let mut sender = BitSender::<1>::new(channel, entropy, sessions[0]).unwrap();
                let before = channel.meter();
                let keys = sender.keys(channel, 140_000);
                let after = channel.meter();
                let bytes = [
                    after.payload_received - before.payload_received,
                    after.payload_sent - before.payload_sent,
                ];
                (sender.gamma(), keys, bytes)
            },
            move |channel| {
                let entropy = &mut Entropy::for_tests(2);
                let mut receiver = BitReceiver::<1>::new(channel, entropy, sessions[1]).unwrap();
                receiver.bits(channel, entropy, 140_000)
            },
        )
    };
    let ((gamma, keys, bytes), bits) = run([b"one"; 2]);
    assert_authentic(gamma, &keys.unwrap(), &bits.unwrap());
    // 140,000 = 130,432 + 9568, and 128 more rows of each, up to a multiple of 512.
    let rows = (130_432 + 128) + (9568usize + 128).next_multiple_of(512);
    assert_eq!(bytes, [rows as u64 * 8 + 2 * (16 + 1024), 2 * 16]);
    let ((_, keys, _), _) = run([b"one", b"other"]);
    assert!(caught(&keys));
}

/// Passes if and only if that bit of Γ is 0, and then all bits are those of the other columns.
#[test]
fn another_choice_in_one_column_is_a_guess_of_one_bit() {
    let mut passed = 0;
    for seed in 0..200 {
        let (mut sender, mut receiver) = deal::<1>(seed);
        let column = seed as usize * 37 % 64;
        let adversary = flip(64, 0, seed as usize % 100, vec![column]);
        let (keys, bits) = both(
            Some(&adversary),
            |channel| sender.keys(channel, 100),
            |channel| receiver.bits(channel, &mut Entropy::for_tests(!seed), 100),
        );
        assert_eq!(adversary.deviations(), 1);
        let gamma = sender.gamma();
        match keys {
            Ok(keys) => {
                assert!(!bit(&gamma, column), "run {seed}");
                assert_authentic(gamma, &keys, &bits.unwrap());
                passed += 1;
            }
            failed => {
                assert!(caught(&failed), "{failed:?}");
                assert!(bit(&gamma, column), "run {seed}");
            }
        }
    }
    // 100 ± 5 standard deviations.
    assert!((65..135).contains(&passed), "{passed} of 200 passed");
}

#[test]
fn other_choices_in_many_columns_are_caught_in_any_chunk() {
    for (chunk, row) in [(0, 0), (0, 511), (1, 70_000), (2, 5)] {
        for columns in [0..64, 0..40, 10..64] {
            let (mut sender, mut receiver) = deal::<1>(5);
            let adversary = flip(64, chunk, row, columns.collect());
            let (keys, _) = both(
                Some(&adversary),
                |channel| sender.keys(channel, 300_000),
                |channel| receiver.bits(channel, &mut Entropy::for_tests(6), 300_000),
            );
            assert!(caught(&keys), "chunk {chunk}, row {row}");
            assert_eq!(adversary.deviations(), 1);
        }
    }
}

fn sums<const WORDS: usize>(of: &[Mac<WORDS>], count: usize) -> Vec<Mac<WORDS>> {
    (0..count)
        .map(|i| std::array::from_fn(|word| of[i][word] ^ of[i + 1][word] ^ of[2 * i][word]))
        .collect()
}

fn bit_sums(of: &[u64], count: usize) -> Vec<u64> {
    let mut sums = vec![0; count.div_ceil(64)];
    for i in 0..count {
        sums[i / 64] |= u64::from(bit(of, i) ^ bit(of, i + 1) ^ bit(of, 2 * i)) << (i % 64);
    }
    sums
}

fn opens_sums<const WORDS: usize>() {
    const SIZES: [usize; 12] = [0, 1, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 10_000];
    let (mut sender, mut receiver) = deal::<WORDS>(7);
    let (received, opened) = both(
        None,
        |channel| {
            let keys = sender.keys(channel, 20_000).unwrap();
            let mut verifier = sender.verifier(3);
            SIZES.map(|count| {
                let before = channel.meter().payload_received;
                let bits = verifier.receive(channel, OPEN, &sums(&keys, count)).unwrap();
                let bytes = channel.meter().payload_received - before;
                assert_eq!(bytes, opening_bytes(count) as u64);
                bits
            })
        },
        |channel| {
            let bits = receiver
                .bits(channel, &mut Entropy::for_tests(8), 20_000)
                .unwrap();
            let mut opener = receiver.opener(3);
            SIZES.map(|count| {
                let (sum, macs) = (bit_sums(&bits.bits, count), sums(&bits.macs, count));
                opener.open(channel, OPEN, &sum, &macs).unwrap();
                sum
            })
        },
    );
    assert_eq!(received, opened);
}

#[test]
fn sums_are_opened() {
    opens_sums::<1>();
    opens_sums::<2>();
}

/// Opens `count` bits in each of two messages under `adversary`, and returns what the verifier makes of them.
fn open_twice(count: usize, streams: [u64; 2], adversary: &Adversary) -> [Result<Vec<u64>>; 2] {
    let ((sender, keys), (receiver, bits)) = with_bits(11, count);
    let mut verifier = sender.verifier(streams[0]);
    let mut opener = receiver.opener(streams[1]);
    both(
        Some(adversary),
        |channel| [(); 2].map(|()| verifier.receive(channel, OPEN, &keys)),
        |channel| {
            for _ in 0..2 {
                // The verifier may be gone.
                let sent = opener.open(channel, OPEN, &bits.bits, &bits.macs);
                drop(sent.and_then(|()| Ok(channel.flush()?)));
            }
        },
    )
    .0
}

fn is_refused<T>(result: &Result<T>, check: cenote_session::Check) -> bool {
    matches!(result, Err(Error::Aborted { check: failed, step: OPEN, .. }) if *failed == check)
}

#[test]
fn a_lie_about_any_bit_or_the_proof_is_caught() {
    const COUNT: usize = 5000;
    assert!(
        open_twice(COUNT, [0; 2], &Adversary::with(|_, _, message| vec![message]))
            .iter()
            .all(Result::is_ok)
    );
    for place in [0, 1, 63, 64, 4095, 4096, 4999, 5000, 5127] {
        let adversary = Adversary::new(
            Target::step(OPEN),
            Perturbation::FlipBit {
                byte: place / 8,
                bit: place as u8 % 8,
            },
        );
        let [first, second] = open_twice(COUNT, [0; 2], &adversary);
        assert!(is_refused(&first, BIT_OPENING), "bit {place}: {first:?}");
        assert!(is_refused(&second, BIT_OPENING), "bit {place}: {second:?}");
        assert_eq!(adversary.deviations(), 1);
    }
}

/// Who knows Γ can lie, and who lacks one bit of it cannot: nothing else is between a lie and its success.
#[test]
fn a_lie_takes_all_of_gamma() {
    let ((sender, keys), (receiver, bits)) = with_bits(12, 200);
    let mut lie = bits.clone();
    lie.bits[1] ^= 1 << 40;
    lie.macs[104][0] ^= sender.gamma()[0];
    for wrong in (0..64).map(Some).chain([None]) {
        let mut macs = lie.macs.clone();
        if let Some(wrong) = wrong {
            macs[104][0] ^= 1 << wrong;
        }
        let (mut opener, mut verifier) = (receiver.opener(0), deal::<1>(12).0.verifier(0));
        let proof = opener.prove(&macs);
        let verified = verifier.verify(PartyId(1), OPEN, &keys, &lie.bits, &proof);
        match wrong {
            None => verified.unwrap(),
            Some(wrong) => assert!(is_refused(&verified, BIT_OPENING), "without bit {wrong}"),
        }
    }
}

#[test]
fn openings_of_another_time_or_stream_are_caught() {
    // The second message is the first again, of the same bits.
    let mut kept: Option<Message> = None;
    let replay = Adversary::with(move |_, _, message| vec![kept.get_or_insert(message).clone()]);
    let [first, second] = open_twice(100, [0; 2], &replay);
    assert!(first.is_ok() && is_refused(&second, BIT_OPENING), "{second:?}");
    assert_eq!(replay.deviations(), 1);
    // In the other order.
    let swap = Adversary::new(Target::step(OPEN), Perturbation::SwapWithNext);
    let [first, second] = open_twice(100, [0; 2], &swap);
    assert!(is_refused(&first, BIT_OPENING) && is_refused(&second, BIT_OPENING));
    let pass = Adversary::with(|_, _, message| vec![message]);
    assert!(is_refused(&open_twice(100, [0, 1], &pass)[0], BIT_OPENING));
}

/// Bits and MACs that are right, but not of these places.
#[test]
fn bits_that_changed_places_are_caught() {
    let ((sender, keys), (receiver, mut bits)) = with_bits(13, 64);
    let other = (1..64)
        .find(|&i| bit(&bits.bits, i) != bit(&bits.bits, 0))
        .unwrap();
    bits.macs.swap(0, other);
    bits.bits[0] ^= 1 | 1 << other;
    let proof = receiver.opener(0).prove(&bits.macs);
    let verified = sender
        .verifier(0)
        .verify(PartyId(1), OPEN, &keys, &bits.bits, &proof);
    assert!(is_refused(&verified, BIT_OPENING));
}

#[test]
fn malformed_openings_are_refused() {
    for perturbation in [
        Perturbation::Truncate(1),
        Perturbation::Truncate(100),
        Perturbation::Extend(1),
        Perturbation::Relabel(Step {
            code: 0x7002,
            name: "relabelled",
        }),
        // Bit 100 of 100.
        Perturbation::FlipBit { byte: 12, bit: 4 },
        Perturbation::FlipBit { byte: 12, bit: 7 },
    ] {
        let adversary = Adversary::new(Target::step(OPEN), perturbation.clone());
        let [first, _] = open_twice(100, [0; 2], &adversary);
        assert!(is_refused(&first, MESSAGE_FORM), "{perturbation:?}: {first:?}");
        assert_eq!(adversary.deviations(), 1);
    }
    let drop_all = Adversary::with(|_, _, _| Vec::new());
    let [first, _] = open_twice(100, [0; 2], &drop_all);
    assert!(
        matches!(first, Err(Error::Net(cenote_net::Error::PeerLost { .. }))),
        "{first:?}"
    );
    // What a caller received itself.
    let ((sender, keys), (receiver, bits)) = with_bits(14, 100);
    let proof = receiver.opener(0).prove(&bits.macs);
    let long = [bits.bits[0], bits.bits[1], 0];
    let beyond = [bits.bits[0], bits.bits[1] | 1 << 36];
    for words in [&bits.bits[..1], &long, &beyond, &[]] {
        let sender = deal::<1>(14).0;
        let verified = sender.verifier(0).verify(PartyId(1), OPEN, &keys, words, &proof);
        assert!(is_refused(&verified, MESSAGE_FORM));
    }
    let mut verifier = sender.verifier(0);
    verifier
        .verify(PartyId(1), OPEN, &keys, &bits.bits, &proof)
        .unwrap();
}

/// Of an opening or of the extension: keys and verifiers of the set-up are of no use any more.
#[test]
fn a_failure_is_for_good() {
    let ((mut sender, keys), (receiver, bits)) = with_bits(15, 64);
    let mut verifiers = [sender.verifier(0), sender.verifier(1)];
    let [first, second] = [0, 1].map(|stream| receiver.opener(stream).prove(&bits.macs));
    let verify = |verifier: &mut Verifier<1>, bits: &[u64], proof| {
        verifier.verify(PartyId(1), OPEN, &keys, bits, proof)
    };
    verify(&mut verifiers[1], &bits.bits, &second).unwrap();
    let lie = [bits.bits[0] ^ 2];
    assert!(is_refused(&verify(&mut verifiers[0], &lie, &first), BIT_OPENING));
    for verifier in &mut verifiers {
        assert!(is_refused(&verify(verifier, &bits.bits, &first), BIT_OPENING));
    }
    let refused = verify(&mut sender.verifier(2), &bits.bits, &first);
    assert!(is_refused(&refused, BIT_OPENING));
    both(
        None,
        |channel| {
            assert!(is_refused(&sender.keys(channel, 0), BIT_OPENING));
            assert!(is_refused(&sender.keys(channel, 10), BIT_OPENING));
            assert_eq!(
                channel.meter(),
                Default::default(),
                "nothing was sent or received"
            );
        },
        |_| (),
    );

    let ((mut sender, keys), (mut receiver, bits)) = with_bits(16, 64);
    let mut verifier = sender.verifier(0);
    let proof = receiver.opener(0).prove(&bits.macs);
    let adversary = flip(64, 0, 0, (0..60).collect());
    let (failed, _) = both(
        Some(&adversary),
        |channel| sender.keys(channel, 10),
        |channel| receiver.bits(channel, &mut Entropy::for_tests(1), 10),
    );
    assert!(caught(&failed));
    let refused = verifier.verify(PartyId(1), OPEN, &keys, &bits.bits, &proof);
    assert_eq!(refused.unwrap_err().check(), Some(OT_CONSISTENCY));
}

#[test]
fn nothing_secret_is_printed() {
    let ((sender, _), (receiver, bits)) = with_bits(17, 3);
    assert_eq!(
        format!(
            "{sender:?} {receiver:?} {bits:?} {:?} {:?}",
            sender.verifier(0),
            receiver.opener(0)
        ),
        "BitSender BitReceiver AuthenticatedBits(3) Verifier Opener"
    );
}

/// Bits that no machine holds are refused before anything is sent.
#[test]
fn bits_that_there_is_no_room_for_are_refused() {
    let refused = |error: Option<Error>| match error {
        Some(Error::OutOfMemory(what)) => assert!(what.contains("oblivious transfers"), "{what}"),
        other => panic!("{other:?}"),
    };
    for count in [1 << 58, usize::MAX] {
        let (mut sender, mut receiver) = deal::<1>(9);
        let mut entropy = Entropy::for_tests(9);
        both(
            None,
            |channel| {
                refused(sender.keys(channel, count).err());
                assert_eq!(channel.meter().payload_sent, 0);
            },
            |channel| {
                refused(receiver.bits(channel, &mut entropy, count).err());
                assert_eq!(channel.meter().payload_sent, 0);
            },
        );
    }
}

use cenote_session::{Error, MESSAGE_FORM, Result};
use std::time::Duration;

use cenote_net::{ChannelOptions, PartyId, memory_pair};

use super::*;

type Keys<T> = Zeroizing<Vec<T>>;

/// Both sides of `count` base OTs.
fn run(
    count: usize,
    choices: &[u64],
    seed: u64,
    sessions: [&[u8]; 2],
) -> (Result<Keys<[Block; 2]>>, Result<Keys<Block>>) {
    let options = ChannelOptions::with_timeout(Duration::from_secs(10));
    let (mut to_receiver, mut to_sender) = memory_pair(PartyId(0), PartyId(1), options);
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let mut entropy = Entropy::for_tests(seed);
            send(&mut to_receiver, &mut entropy, sessions[0], count)
        });
        let mut entropy = Entropy::for_tests(seed + 1);
        let received = receive(&mut to_sender, &mut entropy, sessions[1], choices, count);
        drop(to_sender);
        (sender.join().unwrap(), received)
    })
}

fn choice(choices: &[u64], index: usize) -> usize {
    (choices[index / 64] >> (index % 64) & 1) as usize
}

#[test]
fn the_receiver_has_the_chosen_key_and_not_the_other() {
    let choices = [0xf00d_5eed_0123_4567, 0x89ab_cdef_0000_ffff, 5];
    for count in [1, 2, 3, 63, 64, 65, 130] {
        let (sent, received) = run(count, &choices, 7, [b"session"; 2]);
        let (sent, received) = (sent.unwrap(), received.unwrap());
        assert_eq!((sent.len(), received.len()), (count, count));
        for (index, (pair, key)) in sent.iter().zip(&*received).enumerate() {
            assert_eq!(pair[choice(&choices, index)], *key, "{index} of {count}");
            assert_ne!(pair[0], pair[1], "{index} of {count}");
        }
        let mut all: Vec<_> = sent.as_flattened().iter().map(|key| key.to_bytes()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2 * count, "no key occurs twice");
    }
}

#[test]
fn other_sessions_give_other_keys() {
    let choices = [0b0110];
    let (sent, received) = run(4, &choices, 7, [b"one", b"other"]);
    for (pair, key) in sent.unwrap().iter().zip(&*received.unwrap()) {
        assert!(!pair.contains(key));
    }
    let fixed = |session: &[u8]| run(4, &choices, 7, [session; 2]).1.unwrap();
    assert_ne!(*fixed(b"one"), *fixed(b"other"));
    assert_eq!(*fixed(b"one"), *fixed(b"one"));
}

/// The keys from the formulas of the module's header, by single operations on points.
#[test]
fn the_keys_are_those_of_the_protocol() {
    let session = b"known answer";
    let secret = Scalar::from(123_456_789u64);
    let message = RistrettoPoint::mul_base(&secret).compress();
    let (points, keys) = (PointOracle::new(session), KeyOracle::new(session, &message));
    let mut random = [[Block512::ZERO; 2]; 6];
    Entropy::for_tests(3)
        .prg()
        .fill(Position { stream: 0, index: 0 }, random.as_flattened_mut());
    let pairs = mask(&points, 10..16, &random, |index| (index % 2) as u8);
    let half = secret * Scalar::from(2u64).invert();
    let sent = agree(PartyId(1), &points, &keys, &half, 10..16, &pairs).unwrap();
    for (i, pair) in pairs.iter().enumerate() {
        let index = 10 + i;
        let point = |branch: usize| {
            let own = CompressedRistretto(pair[branch]).decompress().unwrap();
            let hashed = points.half(index, branch as u8, &pair[1 - branch]);
            own + hashed + hashed
        };
        for branch in 0..2 {
            let shared = (secret * point(branch)).compress();
            assert_eq!(sent[i][branch], keys.key(index, branch as u8, pair, &shared));
        }
        // Of the chosen branch the receiver knows the discrete logarithm, 2·(t/2).
        let exponent = *half_exponent(&random[i]) * Scalar::from(2u64);
        assert_eq!(point(index % 2), RistrettoPoint::mul_base(&exponent));
        assert_ne!(point(1 - index % 2), RistrettoPoint::mul_base(&exponent));
    }
}

/// With the same randomness the free element is the same for both choices, at the other place: an element's place says
/// nothing unless it can be told from a uniform one.
#[test]
fn the_free_element_stands_opposite_the_choice() {
    let points = PointOracle::new(b"");
    let mut random = [[Block512::ZERO; 2]; 3];
    Entropy::for_tests(4)
        .prg()
        .fill(Position { stream: 0, index: 0 }, random.as_flattened_mut());
    let [zeros, ones] = [0, 1].map(|bit| mask(&points, 0..3, &random, |_| bit));
    for (zero, one) in zeros.iter().zip(&ones) {
        assert_eq!(zero[1], one[0]);
        assert_ne!(zero[0], one[1]);
    }
}

/// Golden values: a change of any hash, label or encoding shows.
#[test]
fn keys_are_as_recorded() {
    let (sent, received) = run(67, &[0x0f0f_3333_5555_aaaa, 6], 2025, [b"golden"; 2]);
    let digest =
        |blocks: &[Block]| blake3::hash(cenote_primitives::as_bytes(blocks)).to_hex()[..32].to_owned();
    assert_eq!(
        digest(sent.unwrap().as_flattened()),
        "f49c433baa9ac30a8e545a4bff29721c"
    );
    assert_eq!(digest(&received.unwrap()), "eabb67a0d18ce3f1652832b9abe2d533");
}

fn form(result: Result<impl Sized>) -> bool {
    matches!(
        result,
        Err(Error::Aborted {
            check: MESSAGE_FORM,
            ..
        })
    )
}

#[test]
fn bytes_that_are_no_point_are_refused() {
    // Not below the field's order; odd, thus "negative"; even, but no square where there must be one.
    let mut odd = [0; POINT];
    odd[0] = 1;
    let none = (1..).map(|byte| {
        let mut bytes = [0; POINT];
        bytes[0] = 2 * byte;
        bytes
    });
    let no_square = none
        .take(100)
        .find(|bytes| CompressedRistretto(*bytes).decompress().is_none())
        .unwrap();
    let options = ChannelOptions::with_timeout(Duration::from_secs(10));
    for bad in [[0xff; POINT], odd, no_square] {
        for place in [0, 1, 2 * 64, 2 * 69 + 1] {
            let (mut cheater, mut honest) = memory_pair(PartyId(0), PartyId(1), options.clone());
            let good = RistrettoPoint::mul_base(&Scalar::from(3u64)).compress().0;
            let mut elements = [good; 2 * 70];
            elements[place] = bad;
            for message in elements.chunks(2 * BATCH) {
                cheater.send(steps::BASE_CHOICES, message.as_flattened()).unwrap();
            }
            cheater.flush().unwrap();
            assert!(
                form(send(&mut honest, &mut Entropy::for_tests(1), b"", 70)),
                "element {place}"
            );
        }
        let (mut cheater, mut honest) = memory_pair(PartyId(0), PartyId(1), options.clone());
        cheater.send(steps::BASE_KEY, &bad).unwrap();
        cheater.flush().unwrap();
        assert!(form(receive(
            &mut honest,
            &mut Entropy::for_tests(1),
            b"",
            &[0; 2],
            70
        )));
    }
}

#[test]
fn the_neutral_element_is_no_key() {
    let options = ChannelOptions::with_timeout(Duration::from_secs(10));
    let (mut cheater, mut honest) = memory_pair(PartyId(0), PartyId(1), options);
    cheater.send(steps::BASE_KEY, &[0; POINT]).unwrap();
    cheater.flush().unwrap();
    assert!(form(receive(
        &mut honest,
        &mut Entropy::for_tests(1),
        b"",
        &[0],
        3
    )));
}

/// A receiver may choose elements that cancel the hash, so that a shared point is neutral: it is an OT like any other.
#[test]
fn neutral_shared_points_do_no_harm() {
    let points = PointOracle::new(b"");
    let message = RistrettoPoint::mul_base(&Scalar::from(5u64)).compress();
    let keys = KeyOracle::new(b"", &message);
    let free = RistrettoPoint::mul_base(&Scalar::from(3u64)).compress().0;
    let cancelling = (-double(&points.half(0, 0, &free))).compress().0;
    let half = Scalar::from(5u64) * Scalar::from(2u64).invert();
    let good = [free, RistrettoPoint::mul_base(&Scalar::from(4u64)).compress().0];
    let with = agree(
        PartyId(1),
        &points,
        &keys,
        &half,
        0..2,
        &[[cancelling, free], good],
    )
    .unwrap();
    assert_eq!(
        with[0][0],
        keys.key(0, 0, &[cancelling, free], &CompressedRistretto([0; POINT]))
    );
    // The OT after it, whose point is encoded in the same batch, is not touched.
    assert_eq!(
        with[1],
        agree(PartyId(1), &points, &keys, &half, 1..2, &[good]).unwrap()[0]
    );
}

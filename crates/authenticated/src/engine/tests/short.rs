//! Leaky ANDs of fewer bits than blocks have.

use super::*;
use crate::offline::Lot;

/// Bodies of a step.
type Bodies = Arc<Mutex<Vec<Vec<u8>>>>;

fn listening(step: Step, to: &Bodies) -> Adversary {
    let to = to.clone();
    changing(step, move |_, body| to.lock().unwrap().push(body.clone()))
}

/// Makes a lot of so many; gives its sums.
fn sums(engine: &mut AuthenticatedEngine, count: usize) -> Result<Vec<Block>> {
    let (party, channel) = engine.parts();
    let [mut macs, mut keys] = [(); 2].map(|()| vec![Block::ZERO; 3 * count]);
    party.keys.extend(channel, &mut macs, &mut keys)?;
    let mut sums = vec![Block::ZERO; count];
    let mut lot = Lot {
        count,
        macs: &mut macs,
        keys: &mut keys,
    };
    let first = lot.multiply(&mut party.keys, channel, &mut sums)?;
    lot.compare(&mut party.keys, channel, &sums, first)?;
    Ok(sums)
}

/// What a party sends and compares is cut from what it would be, and nothing of the last block is left over.
#[test]
fn short_sums_are_cuts_of_long_ones() {
    let made = |leaky_bits: u32| {
        let bodies = [Bodies::default(), Bodies::default()];
        let ears = bodies.each_ref().map(|bodies| listening(steps::LEAKY, bodies));
        let session = Session::with(5, ears).over_bases().of_bits(leaky_bits);
        let [a, b] = session.run(|engine| sums(engine, 333)).map(Result::unwrap);
        let sent = bodies.map(|bodies| bodies.lock().unwrap().concat());
        (sent, [a, b])
    };
    let (all, long) = made(128);
    assert_eq!(long[0], long[1]);
    for leaky_bits in [8, 48, 56, 72, 96] {
        let width = leaky_bits as usize / 8;
        let cut = |bytes: &[u8]| -> Vec<u8> {
            bytes
                .as_chunks::<16>()
                .0
                .iter()
                .flat_map(|block| &block[..width])
                .copied()
                .collect()
        };
        let (sent, sums) = made(leaky_bits);
        for me in 0..2 {
            assert_eq!(sent[me], cut(&all[me]));
            let bytes = |sums: &[Block]| sums.iter().flat_map(|sum| sum.to_bytes()).collect::<Vec<_>>();
            assert_eq!(cut(&bytes(&sums[me])), cut(&bytes(&long[me])));
        }
    }
}

#[test]
fn nothing_beyond_the_last_block_is_sent() {
    for leaky_bits in LENGTHS {
        let width = leaky_bits as usize / 8;
        for count in [1, 7, 8, 9, 4096, 4103] {
            let bodies = Bodies::default();
            let ears = [listening(steps::LEAKY, &bodies), passing()];
            let session = Session::with(5, ears).over_bases().of_bits(leaky_bits);
            let done = session.run(|engine| sums(engine, count));
            assert!(done.iter().all(Result::is_ok));
            let lengths: Vec<usize> = bodies.lock().unwrap().iter().map(Vec::len).collect();
            let expected: Vec<usize> = match count.checked_sub(4096) {
                None | Some(0) => vec![count * width],
                Some(rest) => vec![4096 * width, rest * width],
            };
            assert_eq!(lengths, expected);
        }
    }
}

/// One byte less or more; and whole blocks.
#[test]
fn messages_of_another_length_are_refused() {
    for cheater in [GARBLER, EVALUATOR] {
        for step in [steps::LEAKY, steps::AGREE_EQUALITY, steps::CONFIRM_EQUALITY] {
            for change in 0..3 {
                let adversary = changing(step, move |_, body| match change {
                    0 => drop(body.pop()),
                    1 => body.push(0),
                    _ => body.resize(16 * 192, 0),
                });
                let results = Session::cheating(1, cheater, &adversary)
                    .over_bases()
                    .run(AuthenticatedEngine::fill);
                let honest = &results[usize::from(cheater == GARBLER)];
                let error = honest.as_ref().unwrap_err();
                assert!(error.to_string().contains(&cheater.to_string()), "{error}");
                assert_eq!(check(honest), cenote_session::MESSAGE_FORM, "{error}");
            }
        }
    }
}

#[test]
fn a_peer_with_another_t_is_refused() {
    for leaky_bits in [[48, 56], [96, 72]] {
        let mut session = Session::honest(1);
        session.leaky_bits = leaky_bits;
        for refused in session.run(AuthenticatedEngine::fill) {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("leaky ANDs"), "{error}");
        }
    }
}

//! Honest runs.

use cenote_primitives::{as_bytes, gf128};

use super::*;

#[test]
fn shares_satisfy_their_equation() {
    let pair = pair(&mut Entropy::for_tests(1));
    // Batches of one unit, of a run of units, and of more than one run.
    for (first, columns) in [(0, 512), (1, 4096), (9, 512 * 11)] {
        let made = pair.commit(first, columns);
        for i in [0, 1, 63, 64, 511, columns / 2, columns - 1] {
            let expected = made.theirs[i] ^ and(pair.choices, codeword(made.messages[i]));
            assert_eq!(made.mine[i], expected, "column {i} of {columns}");
        }
    }
}

#[test]
fn how_commitments_are_cut_into_batches_does_not_matter() {
    let pair = pair(&mut Entropy::for_tests(2));
    let whole = pair.commit(3, 512 * 9);
    for (i, first) in (3..12).enumerate() {
        let part = pair.commit(first, 512);
        assert_eq!(part.messages, whole.messages[512 * i..][..512]);
        assert_eq!(part.theirs, whole.theirs[512 * i..][..512]);
        assert_eq!(part.mine, whole.mine[512 * i..][..512]);
        let bytes = part.corrections.len();
        assert_eq!(part.corrections, whole.corrections[bytes * i..][..bytes]);
    }
    let mut messages = whole.messages.clone();
    messages.sort_unstable_by_key(|message| message.0);
    messages.dedup();
    assert_eq!(messages.len(), 512 * 9, "messages are random");
}

#[test]
fn honest_openings_of_any_number_in_any_pieces_are_accepted() {
    let pair = pair(&mut Entropy::for_tests(3));
    let made = pair.commit(0, 512 * 18);
    for count in [0, 1, 2, 127, 128, 129, 511, 512, 513, 4096, 4097, 9216] {
        for piece in [1, 100, 4096, MAX_PIECE] {
            if count / piece < 200 {
                assert_eq!(
                    pair.open(&made, &made.messages[..count], piece),
                    Ok(()),
                    "{count} in pieces of {piece}"
                );
            }
        }
    }
}

#[test]
fn sums_and_chosen_messages_open() {
    let mut entropy = Entropy::for_tests(4);
    let pair = pair(&mut entropy);
    let mut made = pair.commit(0, 1024);
    // Chosen messages for some, at odd places.
    let chosen: Vec<Block> = (0..700).map(|_| entropy.block()).collect();
    let differences: Vec<Block> = chosen
        .iter()
        .zip(&made.messages[5..])
        .map(|(&a, &b)| a ^ b)
        .collect();
    pair.receiver.adjust(&mut made.mine[5..705], &differences);
    made.messages[5..705].copy_from_slice(&chosen);
    assert_eq!(pair.open(&made, &made.messages, 1024), Ok(()));
    // Sums of pairs and of triples of these.
    for terms in [2, 3] {
        let sum_blocks = |of: &[Block]| -> Vec<Block> {
            of.windows(terms)
                .map(|w| w.iter().fold(Block::ZERO, |sum, &x| sum ^ x))
                .collect()
        };
        let sum_shares = |of: &[Share]| -> Vec<Share> {
            of.windows(terms)
                .map(|w| w.iter().fold(Share::default(), |sum, &x| sum ^ x))
                .collect()
        };
        let sums = Commitments {
            messages: sum_blocks(&made.messages),
            theirs: sum_shares(&made.theirs),
            mine: sum_shares(&made.mine),
            ..made.clone()
        };
        assert_eq!(pair.open(&sums, &sums.messages, 400), Ok(()));
        assert_eq!(
            pair.receiver
                .verify_each(&sums.messages, &open_each(&sums.theirs), &sums.mine),
            Ok(())
        );
    }
}

#[test]
fn the_check_accepts_honest_batches_and_gives_the_folded_messages() {
    let mut entropy = Entropy::for_tests(5);
    let pair = pair(&mut entropy);
    let parts = [
        pair.commit(0, 512),
        pair.commit(7, 512 * 9),
        pair.commit(100, 1024),
    ];
    let alpha = entropy.block();
    let folded = pair
        .check(&parts.each_ref(), alpha, |_| {})
        .expect("an honest committer");
    // The definition: bit after bit of all messages.
    let messages: Vec<Block> = parts.iter().flat_map(|part| part.messages.clone()).collect();
    let mut powers = vec![Block::ZERO; messages.len() / 128];
    gf128::powers(alpha, &mut powers);
    for (row, folded) in folded.iter().enumerate() {
        let elements: Vec<Block> = messages
            .chunks(128)
            .map(|messages| {
                let bits = messages
                    .iter()
                    .map(|m| u128::from_le_bytes(m.to_bytes()) >> row & 1);
                let element = bits.enumerate().fold(0, |sum, (i, bit)| sum | bit << i);
                Block::from_bytes(u128::to_le_bytes(element))
            })
            .collect();
        assert_eq!(*folded, gf128::inner_product(&elements, &powers), "row {row}");
    }
}

#[test]
fn several_threads_may_use_both_sides() {
    let pair = pair(&mut Entropy::for_tests(6));
    let whole = pair.commit(0, 512 * 16);
    std::thread::scope(|scope| {
        for i in 0..4 {
            let (pair, whole) = (&pair, &whole);
            scope.spawn(move || {
                let part = pair.commit(4 * i as u64, 512 * 4);
                assert_eq!(part.mine, whole.mine[2048 * i..][..2048]);
                assert_eq!(pair.open(&part, &part.messages, 1000), Ok(()));
            });
        }
    });
}

#[test]
fn nothing_secret_is_printed() {
    let pair = pair(&mut Entropy::for_tests(7));
    let share = Share::default();
    let printed = format!(
        "{:?} {:?} {:?} {:?} {:?} {share:?}",
        pair.committer,
        pair.receiver,
        pair.receiver.check(Block::ZERO),
        Opener::new(b""),
        pair.receiver.verify(b""),
    );
    assert_eq!(
        printed,
        "Committer Receiver ConsistencyCheck Opener Verifier Share"
    );
}

#[test]
fn sizes_are_as_stated() {
    let pair = pair(&mut Entropy::for_tests(8));
    let made = pair.commit(0, 512);
    assert_eq!(made.corrections.len(), 512 * 171 / 8);
    assert_eq!(
        pair.committer.answer(&[made.batch], Block([1, 2])).len(),
        ANSWER_BYTES
    );
    for (count, bytes) in [(0, 0), (3, 3 * 38), (125, 125 * 38), (126, 4784), (512, 4784)] {
        let mut opener = Opener::new(b"");
        opener.open(&made.messages[..count], &made.theirs[..count]);
        let mut verifier = pair.receiver.verify(b"");
        verifier.absorb(&made.messages[..count], &made.mine[..count]);
        assert_eq!((opener.finish().len(), verifier.proof_bytes()), (bytes, bytes));
        assert_eq!(proof_bytes(count), bytes);
    }
    assert_eq!(as_bytes(&made.theirs).len(), 512 * 40);
}

/// Both sides must bind the same at the same places: what is opened after it has other challenges, what was opened before has
/// not.
#[test]
fn what_is_bound_in_between_counts_from_there_on() {
    let pair = pair(&mut Entropy::for_tests(6));
    let made = pair.commit(0, 512);
    let pieces = [0..200, 200..400];
    let proof = |bound: [&[u8]; 2]| {
        let mut opener = Opener::new(b"test");
        for (bound, piece) in bound.into_iter().zip(pieces.clone()) {
            opener.bind(bound);
            opener.open(&made.messages[piece.clone()], &made.theirs[piece]);
        }
        opener.finish()
    };
    let mut verifier = pair.receiver.verify(b"test");
    for (bound, piece) in [b"one", b"two"].into_iter().zip(pieces.clone()) {
        verifier.bind(bound);
        verifier.absorb(&made.messages[piece.clone()], &made.mine[piece]);
    }
    let right = proof([b"one", b"two"]);
    for wrong in [[b"one", b"one"], [b"two", b"two"], [b"two", b"one"]] {
        assert_ne!(proof([wrong[0], wrong[1]]), right);
    }
    assert_eq!(verifier.finish(&right), Ok(()));
}

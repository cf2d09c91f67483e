//! Committers that cheat.

use cenote_primitives::{as_bytes, gf128};

use super::*;

/// Flips bit `column` of correction row `row` of the unit in which the column is.
fn flip(corrections: &mut [u8], row: usize, column: usize) {
    let unit = &mut corrections[column / 512 * PARITY_BITS * 64..][..PARITY_BITS * 64];
    unit[row * 64 + column % 512 / 8] ^= 1 << (column % 8);
}

#[test]
fn wrong_corrections_in_few_rows_pass_as_often_as_the_choice_bits_are_guessed() {
    const RUNS: usize = 1500;
    let mut entropy = Entropy::for_tests(40);
    for wrong in 1..=3usize {
        // Guessing that s^0 is watched in the wrong rows, or that s^1 is.
        for guess in [false, true] {
            let mut passed = 0;
            for _ in 0..RUNS {
                let pair = pair(&mut entropy);
                let mut made = pair.begin(0, 1024);
                let rows = std::array::from_fn::<_, 3, _>(|i| (i * 57 + 3) % PARITY_BITS);
                let columns = [0, 129, 511];
                for &row in &rows[..wrong] {
                    for column in columns {
                        flip(&mut made.corrections, row, column);
                    }
                }
                pair.receive(&mut made);
                let alpha = entropy.block();
                let result = pair.check(&[&made], alpha, |answer| {
                    if guess {
                        // What the wrong corrections add to the fold of a row.
                        let mut powers = [Block::ZERO; 4];
                        gf128::powers(alpha, &mut powers);
                        let mut errors = [0u128; 4];
                        for column in columns {
                            errors[column / 128] |= 1 << (column % 128);
                        }
                        let errors = errors.map(|error| Block::from_bytes(error.to_le_bytes()));
                        let fold = gf128::inner_product(&errors, &powers);
                        for &row in &rows[..wrong] {
                            let at = &mut answer[16 * (MESSAGE_BITS + row)..][..16];
                            for (byte, error) in at.iter_mut().zip(fold.to_bytes()) {
                                *byte ^= error;
                            }
                        }
                    }
                });
                let guessed = rows[..wrong]
                    .iter()
                    .all(|&row| bit(&pair.choices, MESSAGE_BITS + row) == guess);
                assert_eq!(result.is_ok(), guessed, "{wrong} rows, guess {guess}");
                passed += usize::from(result.is_ok());
            }
            let share = 0.5f64.powi(wrong as i32);
            let (mean, deviation) = (RUNS as f64 * share, (RUNS as f64 * share * (1.0 - share)).sqrt());
            assert!(
                (passed as f64 - mean).abs() < 4.0 * deviation,
                "{wrong} rows: {passed} of {RUNS}"
            );
        }
    }
}

#[test]
fn wrong_corrections_in_many_rows_are_caught() {
    let mut entropy = Entropy::for_tests(41);
    let pair = pair(&mut entropy);
    let honest = pair.begin(0, 512 * 10);
    // One column wholly random; every column wrong in a row of its own; all corrections missing.
    let mut column = honest.clone();
    (0..PARITY_BITS)
        .filter(|_| entropy.bytes::<1>()[0] & 1 == 1)
        .for_each(|row| flip(&mut column.corrections, row, 3000));
    let mut diagonal = honest.clone();
    (0..512 * 9).for_each(|i| flip(&mut diagonal.corrections, i % PARITY_BITS, i));
    let mut missing = honest.clone();
    missing.corrections.fill(0);
    for (name, mut made) in [("column", column), ("diagonal", diagonal), ("missing", missing)] {
        pair.receive(&mut made);
        let alpha = entropy.block();
        assert_eq!(pair.check(&[&made], alpha, |_| {}), Err(Mismatch), "{name}");
    }
    let mut honest = honest;
    pair.receive(&mut honest);
    assert!(pair.check(&[&honest], entropy.block(), |_| {}).is_ok());
}

#[test]
fn wrong_answers_to_the_check_are_caught() {
    let mut entropy = Entropy::for_tests(42);
    let pair = pair(&mut entropy);
    let made = pair.commit(0, 1024);
    let alpha = entropy.block();
    let check = |tamper: &dyn Fn(&mut Vec<u8>)| pair.check(&[&made], alpha, tamper);
    assert!(check(&|_| {}).is_ok());
    // Any row, of the shares or of the messages.
    for row in 0..CODE_BITS + MESSAGE_BITS {
        let byte = 16 * row + row % 16;
        assert_eq!(
            check(&|answer| answer[byte] ^= 1 << (row % 8)),
            Err(Mismatch),
            "row {row}"
        );
    }
    assert_eq!(check(&|answer| answer.truncate(ANSWER_BYTES - 1)), Err(Mismatch));
    assert_eq!(check(&|answer| answer.push(0)), Err(Mismatch));
    assert_eq!(check(&|answer| answer.clear()), Err(Mismatch));
    // The answer to another challenge, or of other batches.
    let other = pair.committer.answer(&[made.batch], entropy.block());
    assert_eq!(check(&|answer| answer.clone_from(&other)), Err(Mismatch));
    let batch = Batch {
        first: 1,
        ..made.batch
    };
    let other = pair.committer.answer(&[batch], alpha);
    assert_eq!(check(&|answer| answer.clone_from(&other)), Err(Mismatch));
}

#[test]
fn a_wrong_message_is_caught_wherever_and_whatever_bit_is_wrong() {
    let pair = pair(&mut Entropy::for_tests(43));
    let made = pair.commit(0, 512 * 9);
    for bit in 0..MESSAGE_BITS {
        for (count, wrong) in [(1, 0), (3, 1), (130, 129)] {
            let mut messages = made.messages[..count].to_vec();
            messages[wrong].0[bit / 64] ^= 1 << (bit % 64);
            assert_eq!(
                pair.open(&made, &messages, count),
                Err(Mismatch),
                "bit {bit} of message {wrong}"
            );
            let openings = open_each(&made.theirs[..count]);
            let each = pair
                .receiver
                .verify_each(&messages, &openings, &made.mine[..count]);
            assert_eq!(each, Err(Mismatch), "bit {bit} of message {wrong}");
        }
    }
    for wrong in [0, 127, 128, 511, 512, 4095, 4096, 4607] {
        for piece in [1000, 4608] {
            let mut messages = made.messages.clone();
            messages[wrong].0[0] ^= 1;
            assert_eq!(
                pair.open(&made, &messages, piece),
                Err(Mismatch),
                "message {wrong}"
            );
            // Two wrongs of the same kind, which cancel in a plain sum.
            messages[(wrong + 128) % 4608].0[0] ^= 1;
            assert_eq!(
                pair.open(&made, &messages, piece),
                Err(Mismatch),
                "message {wrong}"
            );
        }
    }
}

#[test]
fn a_wrong_message_needs_all_choice_bits_of_its_codeword() {
    let mut entropy = Entropy::for_tests(44);
    let pair = pair(&mut entropy);
    let made = pair.commit(0, 512);
    for bit in [0, 64, 127] {
        let difference = Block::from_bytes((1u128 << bit).to_le_bytes());
        let code = codeword(difference);
        let positions: Vec<usize> = (0..CODE_BITS).filter(|&i| super::bit(&code, i)).collect();
        assert!(positions.len() >= 41);
        let message = made.messages[7] ^ difference;
        let open = |guess: Share| {
            let share = made.theirs[7] ^ and(guess, code);
            pair.receiver
                .verify_each(&[message], &open_each(&[share]), &made.mine[7..8])
        };
        // A committer that knew all choice bits could lie, which shows that they are all that stops it.
        assert_eq!(open(pair.choices), Ok(()));
        for i in positions {
            let mut guess = pair.choices;
            guess.0[i / 64] ^= 1 << (i % 64);
            assert_eq!(open(guess), Err(Mismatch), "all known but that of position {i}");
        }
    }
}

#[test]
fn the_same_holds_for_a_proof() {
    let mut entropy = Entropy::for_tests(45);
    let pair = pair(&mut entropy);
    let made = pair.commit(0, 512);
    let difference = entropy.block();
    let mut messages = made.messages[..200].to_vec();
    messages[130] ^= difference;
    let lie = |guess: Share| {
        let mut theirs = made.theirs[..200].to_vec();
        theirs[130] ^= and(guess, codeword(difference));
        let mut opener = Opener::new(b"");
        opener.open(&messages, &theirs);
        let mut verifier = pair.receiver.verify(b"");
        verifier.absorb(&messages, &made.mine[..200]);
        verifier.finish(&opener.finish())
    };
    assert_eq!(lie(pair.choices), Ok(()));
    let mut wrong = 0;
    for i in (0..CODE_BITS).step_by(7) {
        let mut guess = pair.choices;
        guess.0[i / 64] ^= 1 << (i % 64);
        let expected = if bit(&codeword(difference), i) {
            Err(Mismatch)
        } else {
            Ok(())
        };
        assert_eq!(lie(guess), expected, "position {i}");
        wrong += usize::from(expected.is_err());
    }
    assert!(wrong > 0);
}

#[test]
fn wrong_proofs_are_caught() {
    let pair = pair(&mut Entropy::for_tests(46));
    let made = pair.commit(0, 1024);
    let messages = &made.messages[..600];
    let prove = |transcript: &[u8], pieces: &[std::ops::Range<usize>]| {
        let mut opener = Opener::new(transcript);
        for piece in pieces {
            opener.open(&messages[piece.clone()], &made.theirs[piece.clone()]);
        }
        opener.finish()
    };
    let verify = |proof: &[u8]| {
        let mut verifier = pair.receiver.verify(b"first");
        for piece in [0..250, 250..600] {
            verifier.absorb(&messages[piece.clone()], &made.mine[piece]);
        }
        verifier.finish(proof)
    };
    let honest = prove(b"first", &[0..250, 250..600]);
    assert_eq!(verify(&honest), Ok(()));
    // Any row wrong, in any of its bits.
    for row in 0..CODE_BITS {
        let mut proof = honest.clone();
        proof[16 * row + row % 16] ^= 1 << (row % 8);
        assert_eq!(verify(&proof), Err(Mismatch), "row {row}");
    }
    for length in [0, 16, PROOF_BYTES - 16, PROOF_BYTES - 1] {
        assert_eq!(verify(&honest[..length]), Err(Mismatch), "{length} bytes");
    }
    assert_eq!(verify(&[honest.clone(), vec![0]].concat()), Err(Mismatch));
    // Proofs of other transcripts, other pieces, another order, a piece left out, a piece twice.
    let everything = 0..600;
    for (name, proof) in [
        ("transcript", prove(b"second", &[0..250, 250..600])),
        ("no transcript", prove(b"", &[0..250, 250..600])),
        ("one piece", prove(b"first", std::slice::from_ref(&everything))),
        ("other pieces", prove(b"first", &[0..251, 251..600])),
        ("order", prove(b"first", &[250..600, 0..250])),
        ("left out", prove(b"first", &[0..250, 250..599])),
        ("twice", prove(b"first", &[0..250, 250..600, 250..600])),
    ] {
        assert_eq!(verify(&proof), Err(Mismatch), "{name}");
    }
}

#[test]
fn a_committer_that_foresees_the_transcript_lies_and_one_that_does_not_fails() {
    let mut entropy = Entropy::for_tests(50);
    let pair = pair(&mut entropy);
    let honest = pair.commit(0, 512);
    let shown: Vec<Block> = (0..256).map(|_| entropy.block()).collect();
    let foreseen = b"no nonce of the receiver's";
    // It knows what it will show, hence the challenge, before it says what it commits to: strings whose first bits differ
    // from those shown by elements x_1 and x_2 of the field with x_1 α + x_2 α^2 = 0.
    let alpha = opening::Challenger::new(foreseen).challenge(&shown);
    let second = entropy.block();
    let lie = [gf128::mul(second, alpha), second];
    let committed: Vec<Block> = (0..256)
        .map(|i| shown[i] ^ Block([lie[i / 128].0[i % 128 / 64] >> (i % 64) & 1, 0]))
        .collect();
    let mut made = honest.clone();
    let differences: Vec<Block> = (0..256).map(|i| committed[i] ^ made.messages[i]).collect();
    pair.receiver.adjust(&mut made.mine[..256], &differences);
    let believed = |transcript: &[u8]| {
        let mut opener = Opener::new(transcript);
        opener.open(&shown, &made.theirs[..256]);
        let mut verifier = pair.receiver.verify(transcript);
        verifier.absorb(&shown, &made.mine[..256]);
        verifier.finish(&opener.finish())
    };
    assert_eq!(
        believed(foreseen),
        Ok(()),
        "the reason for the rule on transcripts"
    );
    assert_eq!(believed(&[foreseen.as_slice(), b"0"].concat()), Err(Mismatch));
}

#[test]
fn wrong_shares_of_few_openings_are_caught() {
    let pair = pair(&mut Entropy::for_tests(47));
    let made = pair.commit(0, 512);
    let messages = &made.messages[..5];
    let verify = |openings: &[u8]| pair.receiver.verify_each(messages, openings, &made.mine[..5]);
    let honest = open_each(&made.theirs[..5]);
    assert_eq!(verify(&honest), Ok(()));
    // Also in the bits after the share's last, which must be zero.
    for bit in 0..8 * honest.len() {
        let mut openings = honest.clone();
        openings[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(verify(&openings), Err(Mismatch), "bit {bit}");
    }
    for length in [0, 1, OPENING_BYTES, honest.len() - 1] {
        assert_eq!(verify(&honest[..length]), Err(Mismatch), "{length} bytes");
    }
    assert_eq!(
        verify(&[honest.clone(), vec![0; OPENING_BYTES]].concat()),
        Err(Mismatch)
    );
    assert_eq!(pair.receiver.verify_each(&[], &[], &[]), Ok(()));
}

/// The number of openings says what their proof is, whatever pieces they come in: the other form is refused, and so are the
/// shares of fewer or other openings.
#[test]
fn few_openings_are_proved_by_their_shares_and_many_by_a_fold() {
    let pair = pair(&mut Entropy::for_tests(51));
    let made = pair.commit(0, 512);
    let verify = |pieces: &[usize], lie: Block, proof: &[u8]| {
        let mut verifier = pair.receiver.verify(b"test");
        let mut first = 0;
        for &piece in pieces {
            let piece = first..first + piece;
            first = piece.end;
            let mut messages = made.messages[piece.clone()].to_vec();
            messages[0] ^= lie;
            verifier.absorb(&messages, &made.mine[piece]);
        }
        verifier.finish(proof)
    };
    let prove = |pieces: &[usize]| {
        let mut opener = Opener::new(b"test");
        let mut first = 0;
        for &piece in pieces {
            let piece = first..first + piece;
            first = piece.end;
            opener.open(&made.messages[piece.clone()], &made.theirs[piece]);
        }
        opener.finish()
    };
    let (few, many) = ([60, 60, 5], [60, 60, 6]);
    for pieces in [few, many] {
        assert_eq!(verify(&pieces, Block::ZERO, &prove(&pieces)), Ok(()));
        assert_eq!(verify(&pieces, Block([0, 1]), &prove(&pieces)), Err(Mismatch));
        for other in [&few[..], &many, &few[..2], &[200]] {
            if other != pieces {
                assert_eq!(
                    verify(&pieces, Block::ZERO, &prove(other)),
                    Err(Mismatch),
                    "{pieces:?} {other:?}"
                );
            }
        }
    }
    // The challenge is for folds only: shares of the same openings in other pieces are the same.
    assert_eq!(verify(&few, Block::ZERO, &prove(&[125])), Ok(()));
    assert_eq!(verify(&many, Block::ZERO, &prove(&[126])), Err(Mismatch));
    assert_eq!(
        verify(&many, Block::ZERO, &open_each(&made.theirs[..126])),
        Err(Mismatch)
    );
    let shifted = open_each(&made.theirs[1..126]);
    assert_eq!(verify(&few, Block::ZERO, &shifted), Err(Mismatch));
}

#[test]
fn a_wrong_difference_makes_another_message() {
    let mut entropy = Entropy::for_tests(48);
    let pair = pair(&mut entropy);
    let mut made = pair.commit(0, 512);
    let difference = entropy.block();
    pair.receiver
        .adjust(&mut made.mine[..1], &[difference ^ Block([1, 0])]);
    made.messages[0] ^= difference;
    assert_eq!(pair.open(&made, &made.messages, 512), Err(Mismatch));
    made.messages[0] ^= Block([1, 0]);
    assert_eq!(pair.open(&made, &made.messages, 512), Ok(()));
    assert_eq!(as_bytes(&made.messages[..1]).len(), 16);
}

#[test]
#[should_panic(expected = "no whole units")]
fn batches_are_whole_units() {
    pair(&mut Entropy::for_tests(49)).begin(0, 100);
}

#[test]
#[should_panic(expected = "a share for each message")]
fn openings_have_a_share_for_each_message() {
    Opener::new(b"").open(&[Block::ZERO], &[]);
}

//! Wrong messages of a proof, and of who verifies it: each value, digest and word, wrong to one of the others.

use std::sync::{Arc, Mutex};

use cenote_net::Step;
use cenote_primitives::{Block, gf128};
use cenote_session::{Check, MESSAGE_FORM};
use cenote_three::{checks, steps};

use super::statements::wait_for;
use super::{
    ELEMENT, HASH, POINTS, STEPS, Trial, bit_of_element, editing, flipped, flipping, next, previous,
};
use crate::common::intercept::{Message, Spy};
use crate::common::session::in_parallel;

/// The values of all steps after the first message, and of the last.
const TAIL: usize = 8 * STEPS + 4;

/// In turn, so that each party is at fault in some.
fn party(index: usize) -> u8 {
    (index % 3) as u8
}

/// The left verifier makes another challenge of it than the others, so that nobody opens anything.
#[test]
fn each_point_of_the_grid_is_fixed_by_its_digest() {
    in_parallel(2 * POINTS, 4, |index| {
        let (corrupted, point) = (party(index), index / 2);
        let bit = bit_of_element(point, 127 * (index % 2));
        let spy = flipping(steps::PROOF_GRID, previous(corrupted), bit);
        let ended = Trial::small().run(corrupted, &spy);
        ended.caught(&format!("point {point}"), corrupted, checks::PROOF_TRANSCRIPT);
        assert_eq!(ended.sent(steps::PROOF_OPENING), 0, "point {point}");
    });
}

/// The left verifier comes to another value of its half than the prover told it: that verifier opens nothing.
#[test]
fn each_value_of_the_tail_is_fixed_by_its_digest() {
    // The last one is the value of the first half.
    in_parallel(TAIL + 1, 4, |index| {
        let corrupted = party(index);
        let receiver = previous(corrupted);
        let spy = flipping(steps::PROOF_TAIL, receiver, bit_of_element(index, 64));
        let ended = Trial::small().run(corrupted, &spy);
        let what = format!("value {index}");
        ended.caught(&what, corrupted, checks::PROOF_OPERANDS);
        for to in [corrupted, next(corrupted)] {
            assert_eq!(ended.seen(steps::PROOF_OPENING, receiver, to), 0, "{what}");
        }
    });
}

/// The same of the right verifier, which hears digests only.
#[test]
fn each_digest_is_that_of_what_was_sent() {
    in_parallel(3 * (STEPS + 2), 4, |index| {
        let (corrupted, digest) = (party(index), index / 3);
        let receiver = next(corrupted);
        // One for each step and the last, and then the value of the second half.
        let spy = flipping(steps::PROOF_DIGESTS, receiver, 8 * HASH * digest + 7);
        let ended = Trial::small().run(corrupted, &spy);
        let what = format!("digest {digest}");
        ended.caught(&what, corrupted, checks::PROOF_OPERANDS);
        for to in [corrupted, previous(corrupted)] {
            assert_eq!(ended.seen(steps::PROOF_OPENING, receiver, to), 0, "{what}");
        }
    });
    for corrupted in 0..3 {
        let spy = flipping(steps::PROOF_DIGEST, next(corrupted), 255);
        let ended = Trial::small().run(corrupted, &spy);
        ended.caught("the first digest", corrupted, checks::PROOF_TRANSCRIPT);
        assert_eq!(ended.sent(steps::PROOF_OPENING), 0);
    }
}

/// Who hears another word than its own opens nothing: under two challenges it would tell more than masks hide.
#[test]
fn a_wrong_word_on_the_challenge_opens_nothing_at_its_receiver() {
    for corrupted in 0..3 {
        for receiver in [next(corrupted), previous(corrupted)] {
            let spy = flipping(steps::PROOF_CHALLENGE, receiver, 100);
            let ended = Trial::small().run(corrupted, &spy);
            ended.caught("the word", corrupted, checks::PROOF_TRANSCRIPT);
            for to in (0..3).filter(|to| *to != receiver) {
                assert_eq!(ended.seen(steps::PROOF_OPENING, receiver, to), 0);
            }
        }
    }
}

/// A corrupted prover that tells its two verifiers of two proofs sees no opening at all: each of the others knows it from the words of all.
#[test]
fn a_word_that_suits_its_receiver_does_not_help() {
    for corrupted in 0..3 {
        // The left verifier is told another first message, and the word that it makes of it.
        let listeners = [(); 2].map(|()| Spy::listening());
        let of_previous = Arc::clone(&listeners[1]);
        let spy = Spy::corrupting(|_| None);
        let receiver = previous(corrupted);
        *spy.stall.lock().unwrap() = Some(Arc::new(move |message: &Message| {
            if message.wire.to != receiver {
                return None;
            }
            match message.step {
                steps::PROOF_GRID => Some(vec![(message.step, flipped(&message.body, 0))]),
                steps::PROOF_CHALLENGE => {
                    let word = wait_for(|| {
                        let mut sent = of_previous.sent().into_iter();
                        sent.find(|message| message.step == steps::PROOF_CHALLENGE)
                    });
                    Some(vec![(message.step, word.body)])
                }
                _ => None,
            }
        }));
        let ended = Trial::small().run_beside(corrupted, &spy, &listeners);
        ended.caught("two first messages", corrupted, checks::PROOF_TRANSCRIPT);
        assert_eq!(ended.sent(steps::PROOF_OPENING), 0);
    }
}

/// What a verifier opens: the value, its share of the product, and the digest of what it heard.
#[test]
fn a_verifier_that_lies_stops_the_other() {
    let fields = [
        (0, checks::PROOF),
        (8 * ELEMENT - 1, checks::PROOF),
        (8 * ELEMENT, checks::PROOF),
        (16 * ELEMENT - 1, checks::PROOF),
        (16 * ELEMENT, checks::PROOF_TRANSCRIPT),
        (16 * ELEMENT + 8 * HASH - 1, checks::PROOF_TRANSCRIPT),
    ];
    for corrupted in 0..3 {
        for receiver in [next(corrupted), previous(corrupted)] {
            for (bit, check) in fields {
                let spy = flipping(steps::PROOF_OPENING, receiver, bit);
                let ended = Trial::small().run(corrupted, &spy);
                ended.caught(&format!("bit {bit}"), corrupted, check);
                // The prover has no reason to stop, but no output is opened to it without the other verifier.
                assert!(matches!(
                    ended.results[usize::from(receiver)],
                    Err(cenote_session::Error::Aborted { .. })
                ));
                for step in [steps::OUTPUT, steps::OUTPUT_HASH] {
                    for to in (0..3).filter(|to| *to != receiver) {
                        assert_eq!(ended.seen(step, receiver, to), 0);
                    }
                }
            }
        }
    }
}

/// The elements of what a verifier opens.
fn opening(body: &[u8]) -> [Block; 2] {
    [0, 1].map(|at| Block::from_bytes(body[ELEMENT * at..][..ELEMENT].try_into().unwrap()))
}

/// A verifier that sees the other's half first may add to its own value, and to its share what makes up for it: what both found then fits, and what is
/// proved is right. With any other share it does not.
#[test]
fn a_lie_that_fits_changes_nothing() {
    for corrupted in 0..3 {
        for (receiver, fits) in [
            (next(corrupted), true),
            (previous(corrupted), true),
            (previous(corrupted), false),
        ] {
            let listeners = [(); 2].map(|()| Spy::listening());
            let (all, spy) = (listeners.clone(), Spy::corrupting(|_| None));
            *spy.stall.lock().unwrap() = Some(Arc::new(move |message: &Message| {
                if (message.step, message.wire.to) != (steps::PROOF_OPENING, receiver) {
                    return None;
                }
                let theirs = wait_for(|| {
                    let mut sent = all.iter().flat_map(|spy| spy.sent());
                    sent.find(|theirs| {
                        let way = (theirs.wire.from, theirs.wire.to);
                        (theirs.step, way) == (steps::PROOF_OPENING, (receiver, corrupted))
                    })
                });
                let [value, product] = opening(&message.body);
                let added = Block([0x1234_5678_9abc_def0, 7]);
                let makes_up = gf128::mul(added, opening(&theirs.body)[0]);
                let error = Block([u64::from(!fits), 0]);
                let lie = [value ^ added, product ^ makes_up ^ error].map(Block::to_bytes);
                let body = [lie.as_flattened(), &message.body[2 * ELEMENT..]].concat();
                Some(vec![(message.step, body)])
            }));
            let ended = Trial::small().run_beside(corrupted, &spy, &listeners);
            let what = format!("from {corrupted} to {receiver}");
            match fits {
                true => ended.succeeded(&what),
                false => ended.caught(&what, corrupted, checks::PROOF),
            }
        }
    }
}

/// Two shares of the coin that differ: whoever hears them tells nothing of its proof.
#[test]
fn a_wrong_share_of_the_coin_proves_nothing() {
    for corrupted in 0..3 {
        for receiver in [next(corrupted), previous(corrupted)] {
            let spy = flipping(steps::COIN, receiver, 127);
            let ended = Trial::small().run(corrupted, &spy);
            ended.caught("the coin", corrupted, checks::COIN_OPENING);
            for step in [steps::PROOF_GRID, steps::PROOF_DIGEST] {
                for to in (0..3).filter(|to| *to != receiver) {
                    assert_eq!(ended.seen(step, receiver, to), 0);
                }
            }
            assert_eq!(ended.sent(steps::PROOF_CHALLENGE), 0);
        }
    }
}

/// Words that all of a batch was received, which say the next batch, another size, or none.
#[test]
fn batches_are_counted() {
    for word in [1u64 << 32 | 2, 3, 0] {
        for corrupted in 0..3 {
            for receiver in [next(corrupted), previous(corrupted)] {
                let spy = editing(move |message| {
                    let hit = (message.step, message.occurrence, message.wire.to);
                    (hit == (steps::BARRIER, 0, receiver)).then(|| word.to_le_bytes().to_vec())
                });
                let ended = Trial::of_batches().run(corrupted, &spy);
                ended.caught("the word", corrupted, MESSAGE_FORM);
                assert_eq!(ended.seen(steps::COIN, receiver, corrupted), 0);
            }
        }
    }
}

/// Sends the message of the first batch again in the second, as if it were that one's: all messages of the `steps`, on all channels of the party.
fn replaying(steps: &'static [Step]) -> Arc<Spy> {
    let before: Mutex<Vec<Message>> = Mutex::default();
    editing(move |message| {
        if !steps.contains(&message.step) {
            return None;
        }
        let mut before = before.lock().unwrap();
        if message.occurrence == 0 {
            before.push(message.clone());
            return None;
        }
        let place = |message: &Message| (message.wire, message.step);
        let mut found = before.iter().filter(|earlier| place(earlier) == place(message));
        (message.occurrence == 1).then(|| found.next().unwrap().body.clone())
    })
}

#[test]
fn messages_of_another_batch_do_not_fit() {
    let cases: [(&'static [Step], Check); 10] = [
        (&[steps::BARRIER], MESSAGE_FORM),
        (&[steps::COIN], checks::COIN_OPENING),
        (&[steps::PROOF_GRID], checks::PROOF_TRANSCRIPT),
        (&[steps::PROOF_DIGEST], checks::PROOF_TRANSCRIPT),
        // Both fit each other, and no longer the coin.
        (
            &[steps::PROOF_GRID, steps::PROOF_DIGEST],
            checks::PROOF_TRANSCRIPT,
        ),
        (&[steps::PROOF_CHALLENGE], checks::PROOF_TRANSCRIPT),
        (&[steps::PROOF_TAIL], checks::PROOF_OPERANDS),
        (&[steps::PROOF_DIGESTS], checks::PROOF_OPERANDS),
        (&[steps::PROOF_OPENING], checks::PROOF_TRANSCRIPT),
        (&[steps::MULTIPLY_GATE], checks::PROOF),
    ];
    for corrupted in 0..3 {
        for (steps, check) in cases {
            let ended = Trial::of_batches().run(corrupted, &replaying(steps));
            ended.caught(&format!("{steps:?}"), corrupted, check);
        }
    }
}

/// The second batch is the first once more: with its words it is refused, and with the right ones its coin is.
#[test]
fn a_batch_is_not_proved_twice() {
    for corrupted in 0..3 {
        let ended = Trial::of_batches().run(
            corrupted,
            &replaying(&[
                steps::BARRIER,
                steps::COIN,
                steps::PROOF_GRID,
                steps::PROOF_DIGEST,
                steps::PROOF_CHALLENGE,
                steps::PROOF_TAIL,
                steps::PROOF_DIGESTS,
                steps::PROOF_OPENING,
            ]),
        );
        ended.caught("the first batch again", corrupted, MESSAGE_FORM);
        let ended = Trial::of_batches().run(
            corrupted,
            &replaying(&[
                steps::COIN,
                steps::PROOF_GRID,
                steps::PROOF_DIGEST,
                steps::PROOF_TAIL,
                steps::PROOF_DIGESTS,
            ]),
        );
        ended.caught("its coin and proof again", corrupted, checks::COIN_OPENING);
    }
}

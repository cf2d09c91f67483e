//! Sessions that prove their products: each check of a proof, tripped by a party that deviates.

use cenote_net::Step;
use cenote_session::{Check, Error};
use cenote_three::{ViewCheck, checks, steps};

use crate::common::intercept::{Message, Spy};
use crate::common::proofs;
use crate::common::session::{Outputs, Session, small_answer, small_input, small_program};

/// Which message of the corrupted party is changed, and how.
type Change = fn(&mut [u8]);

fn flip_first(body: &mut [u8]) {
    body[0] ^= 1;
}

fn flip_last(body: &mut [u8]) {
    let last = body.len() - 1;
    body[last] ^= 1;
}

/// Party 1 changes its message of this step and occurrence. Gives what the honest parties met.
fn deviate(step: Step, occurrence: usize, to: u8, change: Change) -> [Result<(), Error>; 2] {
    let spy = Spy::corrupting(move |message: &Message| {
        if (message.step, message.occurrence, message.wire.to) != (step, occurrence, to) {
            return None;
        }
        let mut body = message.body.clone();
        change(&mut body);
        Some(vec![(step, body)])
    });
    let outputs = Outputs::default();
    let inputs = [0, 1, 2].map(small_input);
    let session = Session::new(proofs(40, 1 << 10), ViewCheck::Mac, 5).with_spy(1, &spy);
    let [zero, _, two] = session.run(small_program(inputs.clone(), &outputs));
    for output in outputs.get().into_iter().flatten() {
        assert!(output == small_answer(&inputs), "nobody has a wrong output");
    }
    [zero, two]
}

#[track_caller]
fn trips(step: Step, occurrence: usize, to: u8, change: Change, allowed: &[Check]) {
    for (party, end) in [0, 2].into_iter().zip(deviate(step, occurrence, to, change)) {
        let error = end.expect_err("the deviation is noticed");
        let check = error.check();
        assert!(
            check.is_some_and(|check| allowed.contains(&check)),
            "{step}, party {party}: {error}"
        );
    }
}

#[test]
fn a_wrong_product_has_no_proof() {
    // Of the last layer, which no other gate uses.
    trips(steps::MULTIPLY_GATE, 1, 0, flip_first, &[checks::PROOF]);
    // The sender goes on with the right product, so that its proof is of other operands.
    trips(
        steps::MULTIPLY_GATE,
        0,
        0,
        flip_first,
        &[checks::PROOF, checks::PROOF_OPERANDS],
    );
}

#[test]
fn wrong_values_of_a_proof_are_noticed() {
    for change in [flip_first as Change, flip_last] {
        trips(steps::PROOF_GRID, 0, 0, change, &[checks::PROOF_TRANSCRIPT]);
    }
    // The last element is the value of a half.
    trips(
        steps::PROOF_TAIL,
        0,
        0,
        flip_first,
        &[checks::PROOF_TRANSCRIPT, checks::PROOF_OPERANDS],
    );
    trips(steps::PROOF_TAIL, 0, 0, flip_last, &[checks::PROOF_OPERANDS]);
}

#[test]
fn wrong_digests_and_challenges_are_noticed() {
    trips(steps::PROOF_DIGEST, 0, 2, flip_first, &[checks::PROOF_TRANSCRIPT]);
    for to in [0, 2] {
        trips(
            steps::PROOF_CHALLENGE,
            0,
            to,
            flip_last,
            &[checks::PROOF_TRANSCRIPT],
        );
    }
    trips(
        steps::PROOF_DIGESTS,
        0,
        2,
        flip_first,
        &[checks::PROOF_TRANSCRIPT, checks::PROOF_OPERANDS],
    );
    trips(steps::PROOF_DIGESTS, 0, 2, flip_last, &[checks::PROOF_OPERANDS]);
}

/// A verifier that says something wrong ends the session at the other verifier; the prover may have its right output.
#[test]
fn a_verifier_that_lies_is_noticed_by_the_other() {
    for (to, other) in [(0, 0), (2, 1)] {
        for (change, check) in [
            (flip_first as Change, checks::PROOF),
            (flip_last, checks::PROOF_TRANSCRIPT),
        ] {
            let ends = deviate(steps::PROOF_OPENING, 0, to, change);
            let error = ends[other].as_ref().expect_err("the other verifier notices");
            assert_eq!(error.check(), Some(check), "{error}");
        }
    }
}

//! What parties say before the job runs, changed on its way by one of them.

use cenote_net::{Label, Step};
use cenote_session::{Check, Error as SessionError, MESSAGE_FORM};
use cenote_testkit::{Adversary, Perturbation, Target};

use super::*;
use crate::Error;
use crate::checks::{ATTEMPTS, COIN};
use crate::steps::{COMMIT, ECHO, JOB, OPEN, STATE};

/// What comes of the world's job if party `from` has the adversary on its channels.
fn perturbed(world: &World, from: usize, adversary: &Adversary) -> Vec<Result<Done>> {
    let parties = world.folders.len() as u8;
    let connections = connections(parties)
        .into_iter()
        .enumerate()
        .map(|(me, connections)| {
            connections.map(|channel| match me == from {
                true => Box::new(adversary.wrap(Label::from("any"), channel)),
                false => channel,
            })
        });
    world.run_with(|_, ledger| ledger, connections.collect())
}

fn flipped(step: Step, to: u8, byte: usize) -> Adversary {
    Adversary::new(
        Target::step(step).to(PartyId(to)),
        Perturbation::FlipBit { byte, bit: 0 },
    )
}

/// The failed check at a party, and whom it names.
#[track_caller]
fn caught(result: &Result<Done>) -> (Check, Option<PartyId>) {
    match result {
        Err(Error::Session(SessionError::Aborted { check, peer, .. })) => (*check, *peer),
        other => panic!("{other:?}"),
    }
}

/// A world whose job has begun, and stopped at the merge.
fn begun(parties: u8) -> World {
    World::new(parties, job(3, 12)).interrupted(7)
}

#[test]
fn a_share_that_was_not_committed_to_is_caught() {
    for parties in [2, 3] {
        // Of the nonce, of the share.
        for byte in [0, 32] {
            let adversary = flipped(OPEN, 1, byte);
            let results = perturbed(&World::new(parties, job(2, 4)), 0, &adversary);
            assert_eq!(adversary.deviations(), 1);
            assert_eq!(caught(&results[1]), (COIN, Some(PartyId(0))));
            assert!(results.iter().all(|result| result.is_err()));
        }
    }
    let adversary = flipped(COMMIT, 0, 0);
    let results = perturbed(&World::new(2, job(2, 4)), 1, &adversary);
    assert_eq!(caught(&results[0]), (COIN, Some(PartyId(1))));
}

/// Before any share is opened, even where the commitment that differs is one to keys, which is never opened.
#[test]
fn different_commitments_to_two_peers_are_caught() {
    for byte in [0, 32, 63] {
        let adversary = flipped(COMMIT, 1, byte);
        let results = perturbed(&World::new(3, job(2, 4)), 2, &adversary);
        assert_eq!(adversary.deviations(), 1);
        // Party 2 says to party 1 itself what it has said to others.
        assert_eq!(caught(&results[1]), (COIN, Some(PartyId(2))));
        // Party 0 cannot tell which of the others it was.
        let Err(Error::Session(error)) = &results[0] else {
            panic!("{results:?}");
        };
        assert_eq!(error.check(), Some(COIN), "{error}");
    }
}

#[test]
fn a_wrong_echo_names_who_says_it() {
    // Party 1 says that it has heard something else of party 0 than that has said.
    let adversary = flipped(ECHO, 0, 5);
    let results = perturbed(&World::new(3, job(2, 4)), 1, &adversary);
    assert_eq!(caught(&results[0]), (ATTEMPTS, Some(PartyId(1))));
}

#[test]
fn different_words_on_what_was_begun_are_caught() {
    for step in [JOB, STATE] {
        // Nothing that is garbled by itself: the least significant byte of a name, and the last attempt at a shard.
        let adversary = flipped(step, 1, if step == JOB { 1 } else { 0 });
        let results = perturbed(&begun(3), 2, &adversary);
        assert_eq!(adversary.deviations(), 1);
        let Err(Error::Session(error)) = &results[1] else {
            panic!("{results:?}");
        };
        assert_eq!(error.check(), Some(ATTEMPTS), "{error}");
    }
}

#[test]
fn impossible_attempts_are_caught() {
    let state = |counts: [(u32, u32); 4]| {
        let words = counts.map(|(last, done)| [last.to_le_bytes(), done.to_le_bytes()].concat());
        Perturbation::Replace(words.concat())
    };
    let many = |last| state([(last, 0), (1, 1), (1, 1), (1, 0)]);
    for (perturbation, check) in [
        (many(10), ATTEMPTS),
        (many(u32::MAX), ATTEMPTS),
        (state([(2, 1), (1, 1), (1, 1), (1, 0)]), MESSAGE_FORM),
    ] {
        let adversary = Adversary::new(Target::step(STATE), perturbation);
        let results = perturbed(&begun(2), 0, &adversary);
        assert_eq!(caught(&results[1]), (check, Some(PartyId(0))));
    }
    // As many as there may be, by its word alone; together there are too many then, or just enough.
    let adversary = Adversary::new(Target::step(STATE), many(9));
    let results = perturbed(&begun(2), 0, &adversary);
    assert!(
        matches!(results[1], Err(Error::UsedUp { left: 0, .. })),
        "{results:?}"
    );
    let mut word = [0; 37];
    word[33..].copy_from_slice(&13_u32.to_le_bytes());
    let adversary = Adversary::new(Target::step(JOB), Perturbation::Replace(word.to_vec()));
    let results = perturbed(&begun(2), 0, &adversary);
    assert_eq!(caught(&results[1]), (ATTEMPTS, Some(PartyId(0))));
}

/// A party that says that a piece is not done which is done has it done again, by another attempt.
#[test]
fn what_is_not_done_everywhere_is_done_again() {
    let world = begun(3);
    let path = |party: usize| {
        let name = world.ledger(party).name().unwrap().to_string();
        world.folder(party).join(format!("attempts-{}", &name[..16]))
    };
    // Party 1's disk lost the lines after that the first shard was handed out.
    let text = std::fs::read_to_string(path(1)).unwrap();
    let first = text.split_inclusive('\n').next().unwrap();
    std::fs::write(path(1), first).unwrap();
    let done = all_done(world.run());
    assert_eq!(
        (done.shards.clone(), done.merge, done.handed_out),
        (vec![2; 3], 2, 8)
    );
    world.check_records();
}

#[test]
fn messages_of_other_lengths_are_refused() {
    for step in [JOB, STATE, COMMIT, OPEN, ECHO] {
        for perturbation in [Perturbation::Truncate(1), Perturbation::Extend(1)] {
            let world = if step == STATE {
                begun(3)
            } else {
                World::new(3, job(3, 12))
            };
            let adversary = Adversary::new(Target::step(step).to(PartyId(2)), perturbation);
            let results = perturbed(&world, 1, &adversary);
            assert_eq!(adversary.deviations(), 1);
            assert_eq!(caught(&results[2]), (MESSAGE_FORM, Some(PartyId(1))), "{step}");
        }
    }
}

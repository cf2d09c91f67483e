//! Any message of one party changed on its way: no other party panics, waits for ever, or is led to hand out what it may not.

use cenote_net::{Label, Step};
use cenote_testkit::{Adversary, Perturbation, Target};

use super::*;
use crate::Error;
use crate::steps::{self, ECHO, LENGTH, STATE, WORD};

/// How long parties wait for what is never said.
const SHORT: Duration = Duration::from_millis(700);

/// What comes of the job at party 1 - `from` of two, which have crews that know nothing of each other, if this is done to a message of `from`.
/// Gives whether the message was sent at all.
fn perturbed(from: u8, target: Target, perturbation: Perturbation) -> bool {
    let limits = Limits {
        silence: 2 * SHORT,
        listen: SHORT,
        end: SHORT,
        idle: SHORT,
    };
    let fates = |_, attempt: Attempt| {
        let is_lost = attempt == shard(0, 1);
        Some(if is_lost {
            Outcome::Lost("gone".into())
        } else {
            Outcome::Done
        })
    };
    let worlds = [(); 2].map(|()| World {
        limits,
        slots: 2,
        ..World::new(2, job(3, 6)).with_fates(fates)
    });
    let adversary = Adversary::new(target.clone(), perturbation.clone());
    let connections = Connections::in_memory(&topology(2), 2 * SHORT);
    let results: Vec<Result<Done>> = std::thread::scope(|scope| {
        let run = |(me, connections): (u8, Connections)| {
            let (world, adversary) = (&worlds[usize::from(me)], &adversary);
            scope.spawn(move || {
                let connections = connections.map(|channel| match me == from {
                    true => Box::new(adversary.wrap(Label::from("any"), channel)),
                    false => channel,
                });
                world.one(me, world.ledger(usize::from(me)), connections)
            })
        };
        let threads: Vec<_> = (0..).zip(connections).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let told = format!("{target:?} {perturbation:?} of party {from}: {results:?}");
    let honest = usize::from(1 - from);
    match &results[honest] {
        // Some changes mean nothing, such as one of how far a worker is.
        Ok(done) => {
            assert!(
                matches!(perturbation, Perturbation::FlipBit { .. }) || adversary.deviations() == 0,
                "{told}"
            );
            assert_eq!(done.shards.len(), 3, "{told}");
        }
        Err(Error::Idle { .. } | Error::UsedUp { .. }) => {}
        Err(error) => assert!(error.to_string().contains(&PartyId(from).to_string()), "{told}"),
    }
    // What was recorded can be read, so it follows the rules.
    let ledger = worlds[honest].ledger(honest);
    assert!(ledger.book().handed_out() <= 6, "{told}");
    adversary.deviations() > 0
}

/// Tries all perturbations of these messages of both parties, some at a time. Gives how many were sent.
fn all_perturbed(step: Step, occurrences: &[usize]) -> usize {
    let flips = (1..12).map(|byte| Perturbation::FlipBit { byte, bit: 0 });
    let perturbations: Vec<Perturbation> = Perturbation::all().into_iter().chain(flips).collect();
    let cases: Vec<(u8, usize, Perturbation)> = (0..2)
        .flat_map(|from| occurrences.iter().map(move |&occurrence| (from, occurrence)))
        .flat_map(|(from, at)| perturbations.iter().map(move |one| (from, at, one.clone())))
        .collect();
    let next = AtomicUsize::new(0);
    let sent = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some((from, at, perturbation)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let target = Target::step(step).occurrence(*at);
                    sent.fetch_add(
                        perturbed(*from, target, perturbation.clone()).into(),
                        Ordering::Relaxed,
                    );
                }
            });
        }
    });
    sent.into_inner()
}

#[test]
fn whatever_is_said_first_may_be_changed() {
    // Where two parties begin a job, nothing is echoed, and there is no state yet.
    for &step in steps::ALL
        .iter()
        .filter(|step| ![ECHO, STATE, LENGTH, WORD].contains(step))
    {
        assert_eq!(all_perturbed(step, &[0]), 2 * 18, "{step}");
    }
}

#[test]
fn whatever_is_said_later_may_be_changed() {
    let sent = all_perturbed(WORD, &[0, 1, 2, 3, 5, 8, 13]);
    assert!(sent > 6 * 2 * 18, "{sent}");
    assert!(all_perturbed(LENGTH, &[0, 4]) > 2 * 18);
}

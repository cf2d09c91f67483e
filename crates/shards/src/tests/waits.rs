//! Long waits that end well.

use super::lies::{Puppet, against};
use super::*;
use crate::message::{self, Word};
use crate::{Event, Progress};

/// Workers that take longer than a peer may be silent: the coordinators say in between that they are there.
#[test]
fn a_job_may_take_longer_than_a_peer_may_be_silent() {
    let silence = Duration::from_secs(2);
    let world = World::new(2, job(1, 2)).with_fates(|_, attempt| match attempt.piece {
        Piece::Shard(_) => None,
        Piece::Merge => Some(Outcome::Done),
    });
    let start = std::time::Instant::now();
    let results = std::thread::scope(|scope| {
        let run = |(me, connections): (u8, Connections)| {
            let world = &world;
            scope.spawn(move || {
                let party = Party {
                    limits: Limits { silence, ..limits() },
                    ..party(me)
                };
                let (events, inbox) = events();
                let mut crew = world.crew(me, events.clone());
                let mut steps = 0;
                let mut last = None;
                let mut progress = |progress: &Progress| {
                    steps += 1;
                    for running in progress.running.iter().filter(|one| one.attempt == shard(0, 1)) {
                        let (attempt, total) = (running.attempt, 1 << 20);
                        events.tell(Event::Progress {
                            attempt,
                            done: steps,
                            total,
                        });
                        // The peer's share of the work is seen here, as it says it.
                        last = progress
                            .peers
                            .first()
                            .map(|peer| peer.total)
                            .filter(|told| *told > 0)
                            .or(last);
                        if start.elapsed() > 2 * silence {
                            let outcome = Outcome::Done;
                            events.tell(Event::Ended { attempt, outcome });
                        }
                    }
                };
                let mut ledger = world.ledger(usize::from(me));
                let done = coordinate(&party, connections, &mut ledger, &mut crew, inbox, &mut progress);
                assert_eq!(last, Some(1 << 20), "how far the peer is");
                done
            })
        };
        let connections = Connections::in_memory(&topology(2), silence);
        let threads: Vec<_> = (0..).zip(connections).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(all_done(results).handed_out, 2);
    assert!(start.elapsed() > 2 * silence);
}

/// One of three parties has heard that all is done, and leaves, while another still waits for the third.
#[test]
fn a_peer_that_is_through_may_leave() {
    let mut world = World::new(3, job(1, 2));
    world.slots = 1;
    // Four beats in the time that a lost peer's reason is waited for.
    world.limits.silence = Duration::from_secs(1);
    let results = against(&world, 2, |puppet| {
        puppet.say(&Word::Free { free: 1, started: 0 });
        for (attempt, started) in [(shard(0, 1), 1), (merge(1), 2)] {
            puppet.hear_listens(attempt);
            puppet.listens(attempt);
            puppet.ended(attempt, Outcome::Done);
            let settled = Word::Settled { attempt, done: true };
            puppet.hear(&settled);
            puppet.say_to(PartyId(0), &settled);
            if attempt.piece != Piece::Merge {
                puppet.say_to(PartyId(1), &settled);
                puppet.say(&Word::Free { free: 1, started });
            }
        }
        until_gone(puppet);
        for _ in 0..8 {
            puppet.hear_from(PartyId(1), |word| matches!(word, Word::Alive { .. }));
        }
        let (attempt, done) = (merge(1), true);
        puppet.say_to(PartyId(1), &Word::Settled { attempt, done });
    });
    assert_eq!(all_done(results).handed_out, 2);
}

/// Waits until party 0 has left.
fn until_gone(puppet: &mut Puppet) {
    let pair = puppet
        .0
        .pairs
        .iter_mut()
        .find(|pair| pair.peer == PartyId(0))
        .unwrap();
    while message::receive(&mut *pair.into).is_ok() {}
}

//! Jobs of honest parties.

use super::*;
use crate::checks::SESSION;
use crate::{Crew, Error, Event, Place, Progress};
use cenote_session::Error as SessionError;

#[test]
fn all_pieces_are_done_once() {
    for parties in [2, 3] {
        let world = World::new(parties, job(16, 17));
        let done = all_done(world.run());
        assert_eq!(done.shards, [1; 16]);
        assert_eq!((done.merge, done.handed_out), (1, 17));
        world.check_records();
        let coins = all_done(world.run());
        assert_eq!(coins, done, "a job that is over stays so");
        let other = all_done(World::new(parties, job(16, 17)).run());
        assert_ne!((other.coin, other.name), (done.coin, done.name));
    }
}

#[test]
fn lost_pieces_are_tried_again() {
    for parties in [2, 3] {
        for seed in 0..6 {
            let fates = move |party, attempt: Attempt| {
                let is_lost = attempt.number < 5 && drawn(seed, party, attempt, 4) == 0;
                Some(if is_lost {
                    Outcome::Lost("the machine went away".into())
                } else {
                    Outcome::Done
                })
            };
            let world = World::new(parties, job(16, 120)).with_fates(fates);
            let done = all_done(world.run());
            assert!(done.handed_out > 17, "seed {seed}");
            world.check_records();
            let asked = world.shared.lock().unwrap().asked(PartyId(0));
            assert_eq!(asked as u32, done.handed_out);
        }
    }
}

/// A worker that never ends by itself is ended when another party has lost the attempt.
#[test]
fn nobody_waits_for_a_peer_that_was_lost() {
    let fates = |party: PartyId, attempt: Attempt| match attempt.number {
        1 if party == PartyId(1) => Some(Outcome::Lost("out of memory".into())),
        1 => None,
        _ => Some(Outcome::Done),
    };
    let world = World::new(3, job(4, 10)).with_fates(fates);
    let done = all_done(world.run());
    assert_eq!((done.shards, done.merge, done.handed_out), (vec![2; 4], 2, 10));
    world.check_records();
}

#[test]
fn a_job_without_attempts_left_ends() {
    let fates = |party: PartyId, attempt: Attempt| {
        let is_lost = party == PartyId(1) && attempt.piece == Piece::Shard(2);
        Some(if is_lost {
            Outcome::Lost("no route".into())
        } else {
            Outcome::Done
        })
    };
    let world = World::new(3, job(4, 8)).with_fates(fates);
    for result in world.run() {
        let error = result.unwrap_err();
        let Error::UsedUp {
            piece,
            times,
            last,
            attempts: 8,
            left,
            needed: 2,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!((*piece, *times, *left), (Piece::Shard(2), 4, 1));
        assert!(last.contains("no route"), "{error}");
    }
    // It stays so, whatever becomes of the workers.
    for result in world.run() {
        assert!(matches!(result, Err(Error::UsedUp { .. })), "{result:?}");
    }
}

#[test]
fn a_failed_check_ends_the_job_at_all() {
    for parties in [2, 3] {
        for who in 0..parties {
            let fates = move |party: PartyId, attempt: Attempt| match attempt == shard(5, 1) {
                true if party == PartyId(who) => Some(Outcome::Failed("view\ncomparison".into())),
                true => None,
                false => Some(Outcome::Done),
            };
            let world = World::new(parties, job(8, 16)).with_fates(fates);
            for (me, result) in (0..).map(PartyId).zip(world.run()) {
                let error = result.unwrap_err();
                let Error::Failed {
                    attempt,
                    party,
                    reason,
                } = &error
                else {
                    panic!("{me}: {error}");
                };
                let is_here = me == PartyId(who);
                assert_eq!((*attempt, *party), (shard(5, 1), PartyId(who)));
                assert_eq!(reason, "view comparison");
                assert_eq!(error.reason(me).check(), Some(SESSION), "{is_here}");
            }
        }
    }
}

#[test]
fn different_terms_are_named() {
    for (theirs, field) in [
        (job(5, 20), "shards"),
        (job(4, 21), "attempts"),
        (
            Job::new(vec![("query".into(), "SELECT 2".into())], 4, 20).unwrap(),
            "query",
        ),
    ] {
        let here = World::new(2, job(4, 20));
        let there = World::new(2, theirs);
        let [first, second] = <[_; 2]>::try_from(connections(2)).ok().unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| there.one(1, there.ledger(1), second));
            for result in [here.one(0, here.ledger(0), first), other.join().unwrap()] {
                let Err(Error::Session(SessionError::Net(cenote_net::Error::Mismatch {
                    field: named, ..
                }))) = result
                else {
                    panic!("{result:?}");
                };
                assert_eq!(named, field);
            }
        });
    }
}

/// A crew that calls back.
pub(super) struct Calling<F>(pub(super) Pretend, pub(super) F);

impl<F: FnMut(&str, Attempt)> Crew for Calling<F> {
    fn begin(&mut self, name: &crate::JobName, coin: &[u8; 32]) {
        self.0.begin(name, coin);
    }
    fn free(&self) -> u32 {
        self.0.free()
    }
    fn listen(&mut self, attempt: &Attempt) {
        (self.1)("listen", *attempt);
        self.0.listen(attempt);
    }
    fn meet(&mut self, attempt: &Attempt, name: &str, places: &[Place]) {
        (self.1)("meet", *attempt);
        self.0.meet(attempt, name, places);
    }
    fn end(&mut self, attempt: &Attempt) {
        (self.1)("end", *attempt);
        self.0.end(attempt);
    }
    fn keep(&mut self, attempt: &Attempt) {
        self.0.keep(attempt);
    }
}

#[test]
fn the_operator_stops_all_workers_of_all_parties() {
    let world = World::new(3, job(4, 10)).with_fates(|_, _| None);
    let ended = Mutex::new(Vec::new());
    let results: Vec<Result<Done>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(connections(3))
            .map(|(me, connections)| {
                let (world, ended) = (&world, &ended);
                scope.spawn(move || {
                    let (events, inbox) = events();
                    let mut begun = 0;
                    let operator = events.clone();
                    let calls = |call: &str, attempt: Attempt| match call {
                        "meet" => {
                            begun += 1;
                            if me == 2 && begun == 3 {
                                operator.tell(Event::Stop);
                            }
                        }
                        "end" => ended.lock().unwrap().push((me, attempt)),
                        _ => {}
                    };
                    let mut crew = Calling(world.crew(me, events), calls);
                    let mut ledger = world.ledger(usize::from(me));
                    coordinate(
                        &party(me),
                        connections,
                        &mut ledger,
                        &mut crew,
                        inbox,
                        &mut |_| {},
                    )
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(matches!(results[2], Err(Error::Stopped)), "{results:?}");
    for result in &results[..2] {
        let Err(Error::Session(SessionError::PeerStopped { peer, reason, .. })) = result else {
            panic!("{result:?}");
        };
        assert_eq!(*peer, PartyId(2));
        assert!(reason.to_string().contains("operator"), "{reason}");
    }
    let mut ended = ended.into_inner().unwrap();
    ended.sort_unstable();
    let all = (0..3).flat_map(|me| (0..3).map(move |index| (me, shard(index, 1))));
    assert_eq!(ended, all.collect::<Vec<_>>());
}

/// One of the parties whose workers never listen.
struct Deaf(Pretend);

impl Crew for Deaf {
    fn begin(&mut self, _: &crate::JobName, _: &[u8; 32]) {}
    fn free(&self) -> u32 {
        1
    }
    fn listen(&mut self, _: &Attempt) {}
    fn meet(&mut self, attempt: &Attempt, _: &str, _: &[Place]) {
        panic!("{attempt} has nobody to meet");
    }
    fn end(&mut self, attempt: &Attempt) {
        self.0.end(attempt);
    }
    fn keep(&mut self, _: &Attempt) {}
}

#[test]
fn an_attempt_for_which_nobody_listens_is_lost() {
    let world = World::new(2, job(1, 3));
    let [first, second] = <[_; 2]>::try_from(connections(2)).ok().unwrap();
    let short = Limits {
        listen: Duration::from_millis(20),
        ..limits()
    };
    let [here, there] = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let (events, inbox) = events();
            let mut crew = Deaf(world.crew(1, events));
            let party = Party {
                limits: short,
                ..party(1)
            };
            coordinate(
                &party,
                second,
                &mut world.ledger(1),
                &mut crew,
                inbox,
                &mut |_| {},
            )
        });
        [world.one(0, world.ledger(0), first), other.join().unwrap()]
    });
    for result in [here, there] {
        let Err(Error::UsedUp { times: 2, last, .. }) = &result else {
            panic!("{result:?}");
        };
        assert!(last.contains("no worker has listened within"), "{last}");
    }
}

/// Workers of one party come and go; the other waits, and says how long.
#[test]
fn pieces_start_only_while_all_have_free_workers() {
    let mut world = World::new(2, job(2, 3));
    world.slots = 0;
    let [first, second] = <[_; 2]>::try_from(connections(2)).ok().unwrap();
    let results = std::thread::scope(|scope| {
        let other = scope.spawn(|| world.one(1, world.ledger(1), second));
        let (events, inbox) = events();
        let mut crew = world.crew(0, events);
        let party = Party {
            limits: Limits {
                idle: Duration::from_millis(20),
                ..limits()
            },
            ..party(0)
        };
        let here = coordinate(&party, first, &mut world.ledger(0), &mut crew, inbox, &mut |_| {});
        [here, other.join().unwrap()]
    });
    let Err(Error::Idle { who, .. }) = &results[0] else {
        panic!("{results:?}");
    };
    assert_eq!(who, "no free worker at party 0 and party 1");
    assert!(results[1].is_err());
    assert_eq!(world.lines(0).len(), 0);
}

#[test]
fn progress_is_told() {
    let world = World::new(2, job(3, 4));
    let [first, second] = <[_; 2]>::try_from(connections(2)).ok().unwrap();
    let mut told: Vec<Progress> = Vec::new();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| world.one(1, world.ledger(1), second));
        let (events, inbox) = events();
        let mut crew = world.crew(0, events);
        let mut progress = |progress: &Progress| told.push(progress.clone());
        coordinate(
            &party(0),
            first,
            &mut world.ledger(0),
            &mut crew,
            inbox,
            &mut progress,
        )
        .unwrap();
        other.join().unwrap().unwrap();
    });
    let done: Vec<u32> = told.iter().map(|one| one.done).collect();
    assert!(done.is_sorted(), "{done:?}");
    let last = told.last().unwrap();
    assert_eq!((last.pieces, last.done, last.handed_out), (4, 4, 4));
    assert!(
        told.iter().any(|one| one.running.len() == 3),
        "three run side by side"
    );
}

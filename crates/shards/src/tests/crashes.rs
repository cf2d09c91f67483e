//! Coordinators that die, and go on where they stopped.

use super::*;
use crate::Error;

/// Whether the job of this world came to its end although a party's coordinator died at record `at`; first it has to begin again.
fn survives(parties: u8, victim: usize, at: usize, is_written: bool) -> bool {
    let fates = |party, attempt: Attempt| {
        let is_lost = attempt.number == 1 && drawn(7, party, attempt, 5) == 0;
        Some(if is_lost {
            Outcome::Lost("gone".into())
        } else {
            Outcome::Done
        })
    };
    let world = World::new(parties, job(4, 30)).with_fates(fates);
    let wrap = |party: usize, ledger: Ledger| {
        ledger.over(if party == victim {
            failing(at, is_written)
        } else {
            plain()
        })
    };
    let results = world.run_with(wrap, connections(parties));
    let died = results[victim].is_err();
    let done = all_done(world.run());
    assert_eq!(world.shared.lock().unwrap().jobs.len(), 1, "it is the same job");
    assert!(done.handed_out <= 30);
    world.check_records();
    if died {
        let error = results[victim].as_ref().unwrap_err();
        assert!(error.to_string().contains("the machine stops here"), "{error}");
    }
    died
}

#[test]
fn a_job_goes_on_after_a_crash_at_any_record() {
    for parties in [2, 3] {
        for victim in 0..usize::from(parties) {
            for is_written in [false, true] {
                let crashes = (0..100)
                    .take_while(|&at| survives(parties, victim, at, is_written))
                    .count();
                assert!(
                    (10..100).contains(&crashes),
                    "each piece has two records: {crashes}"
                );
            }
        }
    }
}

/// In each life a coordinator of some party dies at some record, until the job is done; workers are lost, too.
#[test]
fn a_job_of_many_lives_makes_no_attempt_twice() {
    for seed in 0..4 {
        let parties = 2 + (seed % 2) as u8;
        let fates = move |party, attempt: Attempt| {
            let is_lost = drawn(seed, party, attempt, 9) == 0;
            Some(if is_lost {
                Outcome::Lost("gone".into())
            } else {
                Outcome::Done
            })
        };
        let world = World::new(parties, job(16, 400)).with_fates(fates);
        let mut lives = 0;
        let done = loop {
            lives += 1;
            let draw = |what, below| drawn(seed, PartyId(what), shard(0, lives), below) as usize;
            let (victim, at) = (draw(100, u64::from(parties)), 2 + draw(101, 9));
            let is_written = draw(102, 2) == 0;
            let wrap = |party: usize, ledger: Ledger| match party == victim {
                true => ledger.over(failing(at, is_written)),
                false => ledger,
            };
            let results = world.run_with(wrap, connections(parties));
            if results.iter().all(|result| result.is_ok()) {
                break all_done(results);
            }
            assert!(lives < 60, "seed {seed}: {results:?}");
        };
        assert!(lives > 3 && done.handed_out > 17, "seed {seed}: {lives} lives");
        assert_eq!(world.shared.lock().unwrap().jobs.len(), 1);
        world.check_records();
    }
}

/// Whoever has lost its ledger begins a new job with the others, which forget the old one, but not how many attempts it had.
#[test]
fn a_lost_ledger_begins_the_job_anew() {
    let world = World::new(3, job(4, 14)).interrupted(9);
    let old = world.ledger(0).name().unwrap();
    std::fs::remove_dir_all(world.folder(1)).unwrap();
    let done = all_done(world.run());
    assert_ne!(done.name, old);
    assert_eq!(
        (done.shards.clone(), done.merge, done.handed_out),
        (vec![1; 4], 1, 10)
    );
    world.check_records();
    // Nobody gets more attempts by losing a ledger again.
    std::fs::remove_dir_all(world.folder(2)).unwrap();
    for result in world.run() {
        assert!(
            matches!(
                result,
                Err(Error::UsedUp {
                    left: 4,
                    needed: 5,
                    ..
                })
            ),
            "{result:?}"
        );
    }
}

#[test]
fn other_keys_do_not_go_on_with_a_job() {
    let world = World::new(2, job(2, 9)).interrupted(2);
    let [first, second] = <[_; 2]>::try_from(connections(2)).ok().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(world.one(1, world.ledger(1), second)));
        let (events, inbox) = events();
        let party = Party {
            keys: [9; 32],
            ..party(0)
        };
        let mut crew = world.crew(0, events);
        let error =
            coordinate(&party, first, &mut world.ledger(0), &mut crew, inbox, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("keys"), "{error}");
    });
}

/// Somebody must look at it first.
#[test]
fn a_job_in_which_a_check_failed_does_not_go_on() {
    let mut world = World::new(3, job(2, 9)).with_fates(|party, attempt| match attempt == shard(1, 1) {
        true if party == PartyId(2) => Some(Outcome::Failed("a check".into())),
        true => None,
        false => Some(Outcome::Done),
    });
    assert!(world.run().iter().all(|result| result.is_err()));
    world.fates = Arc::new(|_, _| Some(Outcome::Done));
    for result in world.run() {
        let text = result.unwrap_err().to_string();
        assert!(text.contains("a check failed in shard 1 (attempt 1)"), "{text}");
    }
}

//! How many jobs there are, of whom, and for how long.

use super::*;

suite![
    a_flood_of_proposals_is_refused,
    what_ended_can_be_forgotten,
    what_never_ran_counts_against_its_proposer,
    what_never_ran_is_kept_in_bounded_number,
];

fn a_flood_of_proposals_is_refused(world: World) {
    let mut settings = Settings::new(0);
    settings.open_per_proposer = 3;
    let jobs = Jobs::new(world.database(), settings);
    let by = |name: &str, number: u8| {
        let by = Actor::Person(name.into());
        jobs.propose(proposal(number), body(number), by, at(0))
    };
    for number in 1..=2 {
        propose(&jobs, number);
    }
    // One person leaves some for the others.
    let error = by("ada", 3).expect_err("too many of one");
    assert!(
        matches!(
            error,
            Error::TooManyOfOne {
                open: 2,
                ended: 0,
                limit: 2
            }
        ),
        "{error}"
    );
    by("bob", 3).expect("has room");
    let error = by("bob", 4).expect_err("too many");
    assert!(
        matches!(
            error,
            Error::TooMany {
                proposer: 0,
                open: 3,
                limit: 3
            }
        ),
        "{error}"
    );
    // Others have places of their own, and a job that ends makes room.
    let of_another = Proposal {
        id: JobId::of(2, [5; 15]),
        proposer: 2,
        ..proposal(5)
    };
    jobs.propose(of_another, body(5), Actor::Peer(2), at(0))
        .expect("has room");
    jobs.cancel(named(1), person(), at(1)).expect("cancelled");
    propose(&jobs, 4);
}

fn what_ended_can_be_forgotten(world: World) {
    let jobs = jobs(&world);
    let done = run(&jobs, 1);
    jobs.finish(done, Gains::default(), at(6)).expect("done");
    let open = propose(&jobs, 2);
    assert_eq!(jobs.prune(at(100_000)).expect("pruned"), 0);
    assert_eq!(jobs.prune(at(100_001)).expect("pruned"), 1);
    assert!(matches!(jobs.get(done), Err(Error::NoJob(id)) if id == done));
    jobs.get(open).expect("still there");
    let error = jobs
        .propose(proposal(1), body(1), person(), at(100_001))
        .expect_err("too late");
    assert!(matches!(error, Error::Proposal(_)), "{error}");
    // What was learnt stays counted.
    assert_eq!(
        jobs.disclosures(Digest::of(b"program"), "sales".into())
            .expect("read"),
        1
    );
}

/// A proposal of party 2.
fn of_a_peer(number: u8) -> Proposal {
    Proposal {
        id: JobId::of(2, [number; 15]),
        proposer: 2,
        ..proposal(number)
    }
}

fn what_never_ran_counts_against_its_proposer(world: World) {
    let settings = Settings {
        open_per_proposer: 3,
        ..Settings::new(0)
    };
    let jobs = Jobs::new(world.database(), settings);
    let propose = |number: u8, now| jobs.propose(of_a_peer(number), body(number), Actor::Peer(2), now);
    for number in 1..=3 {
        let id = propose(number, at(0)).expect("proposed").0.proposal.id;
        jobs.hear(id, 2, Remote::Cancel, at(10)).expect("taken back");
    }
    let lines = world.log().lines().count();
    let error = propose(4, at(3600)).expect_err("too many");
    assert!(
        matches!(
            error,
            Error::TooManyUnrun {
                proposer: 2,
                ended: 3,
                limit: 3
            }
        ),
        "{error}"
    );
    assert_eq!(world.log().lines().count(), lines);
    // This party's own people are not held up, but for one who takes back so many that its peers may lose patience; and what ran does not count.
    for number in 11..=12 {
        let id = super::propose(&jobs, number);
        jobs.cancel(id, person(), at(20)).expect("cancelled");
    }
    let by = |name: &str, now| {
        let by = Actor::Person(name.into());
        jobs.propose(proposal(13), body(13), by, now)
    };
    let error = by("ada", at(3600)).expect_err("too many");
    assert!(
        matches!(
            error,
            Error::TooManyOfOne {
                open: 0,
                ended: 2,
                limit: 2
            }
        ),
        "{error}"
    );
    let id = by("bob", at(3600)).expect("another's").0.proposal.id;
    jobs.cancel(id, person(), at(3600)).expect("cancelled");
    for number in 4..=8 {
        let id = propose(number, at(3611)).expect("an hour later").0.proposal.id;
        let digest = of_a_peer(number).digest();
        jobs.approve(id, binding(), String::new(), person(), at(3611))
            .expect("approved");
        for peer in [1, 2] {
            jobs.hear(id, peer, Remote::Approve { proposal: digest }, at(3611))
                .expect("heard");
        }
        jobs.queue(id, at(3611)).expect("queued");
        jobs.start(id, at(3611)).expect("runs");
        jobs.fail(id, FailKind::PeerLost, "gone".into(), at(3611))
            .expect("failed");
    }
}

fn what_never_ran_is_kept_in_bounded_number(world: World) {
    let settings = Settings {
        keep_unrun: 2,
        ..Settings::new(0)
    };
    let jobs = Jobs::new(world.database(), settings);
    let ran = run(&jobs, 9);
    jobs.fail(ran, FailKind::PeerLost, "gone".into(), at(6))
        .expect("failed");
    let ids: Vec<JobId> = (1..=4).map(|number| propose(&jobs, number)).collect();
    for (second, id) in (10..).zip(&ids) {
        jobs.cancel(*id, person(), at(second)).expect("cancelled");
    }
    let open = propose(&jobs, 5);
    assert_eq!(jobs.prune_unrun(at(3609)).expect("pruned"), 0);
    assert_eq!(jobs.prune_unrun(at(3700)).expect("pruned"), 2);
    assert_eq!(jobs.prune_unrun(at(3700)).expect("pruned"), 0);
    let gone = |id: JobId| matches!(jobs.get(id), Err(Error::NoJob(_)));
    assert!(ids[..2].iter().all(|id| gone(*id)));
    assert!(![ids[2], ids[3], ran, open].into_iter().any(gone));
}

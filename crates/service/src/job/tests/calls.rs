//! Jobs that stand: what their calls use up, and what is known of each.

use super::*;
use crate::Sealed;

suite![
    calls_use_up_what_was_charged_and_the_rest_is_given_back,
    no_call_begins_of_a_job_that_does_not_run,
    a_call_is_known_until_it_is_forgotten,
    a_busy_job_does_not_push_out_the_calls_of_others,
    a_call_that_had_begun_fails_with_a_restart,
    a_proposal_says_who_calls_and_how_often,
    sessions_that_break_off_count_however_often_it_goes_on,
];

fn standing(number: u8, calls: u64) -> Proposal {
    Proposal {
        standing: Some(Standing {
            calls,
            callers: vec![1],
            parameters: None,
        }),
        ..proposal(number)
    }
}

/// A job that stands and runs.
fn run_standing(jobs: &Jobs, number: u8, calls: u64) -> JobId {
    let proposal = standing(number, calls);
    let (id, digest) = (proposal.id, proposal.digest());
    jobs.propose(proposal, body(number), person(), at(0))
        .expect("proposed");
    jobs.approve(id, binding(), String::new(), person(), at(1))
        .expect("approved");
    for peer in [1, 2] {
        jobs.hear(id, peer, Remote::Approve { proposal: digest }, at(2))
            .expect("heard");
    }
    jobs.queue(id, at(3)).expect("queued");
    jobs.start(id, at(4)).expect("runs");
    id
}

fn own(name: &str, job: JobId) -> OwnCall {
    OwnCall {
        id: CallId::of(job, name),
        body: Digest::of(b"inputs"),
        submitter: "ada".into(),
    }
}

fn begin(jobs: &Jobs, job: JobId, reserved: u64, own: Vec<OwnCall>) -> crate::Result<()> {
    let beginning = Beginning {
        job,
        reserved,
        own,
        parameters: Default::default(),
    };
    jobs.begin_calls(beginning, at(5)).and_then(Pending::wait)
}

fn used(jobs: &Jobs) -> u64 {
    jobs.disclosures(Digest::of(b"program"), "sales".into())
        .expect("read")
}

fn calls_use_up_what_was_charged_and_the_rest_is_given_back(world: World) {
    let jobs = jobs(&world);
    let id = run_standing(&jobs, 1, 100);
    assert_eq!((used(&jobs), jobs.reserved_calls(id).expect("read")), (100, 0));
    begin(&jobs, id, 10, Vec::new()).expect("begun");
    begin(&jobs, id, 30, Vec::new()).expect("begun");
    // What is less is nothing new.
    begin(&jobs, id, 20, Vec::new()).expect("begun");
    assert_eq!(jobs.reserved_calls(id).expect("read"), 30);
    let error = begin(&jobs, id, 101, Vec::new()).expect_err("too many");
    assert!(matches!(error, Error::Calls { most: 100, .. }), "{error}");
    jobs.finish(id, Gains::default(), at(9)).expect("done");
    assert_eq!(used(&jobs), 30);
    let allowed = events(&world)
        .into_iter()
        .filter(|event| event == "calls-allowed");
    assert_eq!(allowed.count(), 2);
    world.database().verify_audit().expect("whole");
}

fn no_call_begins_of_a_job_that_does_not_run(world: World) {
    let jobs = jobs(&world);
    let id = run_standing(&jobs, 1, 100);
    jobs.cancel(id, person(), at(6)).expect("cancelled");
    let error = begin(&jobs, id, 10, vec![own("late", id)]).expect_err("it has ended");
    assert!(matches!(error, Error::NoTransition { .. }), "{error}");
    assert_eq!((used(&jobs), jobs.reserved_calls(id).expect("read")), (0, 0));
    assert!(jobs.call(id, CallId::of(id, "late")).expect("read").is_none());
    // One that is computed once has no calls.
    let once = run(&jobs, 2);
    assert!(begin(&jobs, once, 1, Vec::new()).is_err());
}

fn a_call_is_known_until_it_is_forgotten(world: World) {
    let jobs = jobs(&world);
    let id = run_standing(&jobs, 1, 100);
    begin(&jobs, id, 10, vec![own("one", id), own("two", id)]).expect("begun");
    assert!(
        begin(&jobs, id, 10, vec![own("one", id)]).is_err(),
        "it has begun before"
    );
    let known = |name: &str| jobs.call(id, CallId::of(id, name)).expect("read");
    assert!(known("one").expect("known").ended.is_none());
    let sealed = Sealed::from_bytes(vec![7; 50]);
    let ended = vec![
        (CallId::of(id, "one"), Ended::Done(Some(sealed.clone()))),
        (CallId::of(id, "two"), Ended::Failed("cut off".into())),
        (CallId::of(id, "of another"), Ended::Done(None)),
    ];
    let answered = Answered {
        calls: 2,
        digest: Digest::of(b"names"),
    };
    jobs.end_calls(id, ended, Some(answered), at(6)).expect("ended");
    let one = known("one").expect("known");
    assert_eq!(
        (one.body, one.submitter),
        (Some(Digest::of(b"inputs")), Some("ada".into()))
    );
    assert!(matches!(one.ended, Some(Ended::Done(Some(found))) if found == sealed));
    assert!(matches!(known("two").expect("known").ended, Some(Ended::Failed(reason)) if reason == "cut off"));
    let other = known("of another").expect("known");
    assert!(other.submitter.is_none() && matches!(other.ended, Some(Ended::Done(None))));
    assert_eq!(events(&world).iter().filter(|event| *event == "calls").count(), 1);
    assert_eq!(jobs.expire_calls(at(6), 100).expect("looked"), 0);
    assert_eq!(jobs.expire_calls(at(7), 100).expect("looked"), 3);
    assert!(known("one").is_none());
}

fn a_busy_job_does_not_push_out_the_calls_of_others(world: World) {
    let jobs = jobs(&world);
    let [quiet, busy] = [1, 2].map(|number| run_standing(&jobs, number, 100));
    let call = |id: JobId, name: &str, seconds: u64| {
        begin(&jobs, id, 10, vec![own(name, id)]).expect("begun");
        let ended = vec![(CallId::of(id, name), Ended::Done(None))];
        jobs.end_calls(id, ended, None, at(seconds)).expect("ended");
    };
    call(quiet, "first", 10);
    call(quiet, "second", 11);
    for number in 0..6 {
        call(busy, &number.to_string(), 20 + number);
    }
    begin(&jobs, busy, 10, vec![own("begun", busy)]).expect("begun");
    assert_eq!(jobs.expire_calls(at(6), 8).expect("looked"), 0);
    assert_eq!(jobs.expire_calls(at(6), 5).expect("looked"), 3);
    assert_eq!(jobs.expire_calls(at(6), 5).expect("looked"), 0);
    let known = |id: JobId, name: &str| jobs.call(id, CallId::of(id, name)).expect("read").is_some();
    assert!(known(quiet, "first") && known(quiet, "second") && known(busy, "begun"));
    let left: Vec<bool> = (0..6).map(|number| known(busy, &number.to_string())).collect();
    assert_eq!(left, [false, false, false, true, true, true]);
}

fn a_call_that_had_begun_fails_with_a_restart(mut world: World) {
    let before = jobs(&world);
    let id = run_standing(&before, 1, 100);
    begin(&before, id, 10, vec![own("one", id)]).expect("begun");
    drop(before);
    world.reopen();
    let jobs = jobs(&world);
    jobs.fail_calls(None, "restarted", at(8)).expect("written");
    jobs.restart(|job| job.proposal.standing.is_some(), at(8))
        .expect("read");
    assert_eq!(jobs.get(id).expect("there").state, State::Queued);
    let one = jobs
        .call(id, CallId::of(id, "one"))
        .expect("read")
        .expect("known");
    assert!(matches!(one.ended, Some(Ended::Failed(reason)) if reason == "restarted"));
    assert_eq!(jobs.reserved_calls(id).expect("read"), 10);
}

fn sessions_that_break_off_count_however_often_it_goes_on(world: World) {
    let jobs = jobs(&world);
    sessions_count(&jobs, run_standing(&jobs, 1, 100));
    jobs.cancel(named(1), person(), at(8)).expect("cancelled");
    for peer in [1, 2] {
        let all = jobs.unsettled().expect("read");
        let seen = all
            .into_iter()
            .find(|known| known.peer == peer)
            .expect("on record");
        jobs.settle(seen, person(), at(9)).expect("settled");
    }
    // A peer's, too, that a person here has approved.
    let theirs = Proposal {
        id: JobId::of(1, [2; 15]),
        proposer: 1,
        ..standing(2, 100)
    };
    let (id, digest) = (theirs.id, theirs.digest());
    jobs.propose(theirs, body(2), Actor::Peer(1), at(10))
        .expect("proposed");
    jobs.approve(id, binding(), String::new(), person(), at(11))
        .expect("approved");
    for peer in [1, 2] {
        jobs.hear(id, peer, Remote::Approve { proposal: digest }, at(12))
            .expect("heard");
    }
    jobs.queue(id, at(13)).expect("queued");
    jobs.start(id, at(14)).expect("runs");
    sessions_count(&jobs, id);
}

/// Sessions of a job that runs are cut off until no more begin.
fn sessions_count(jobs: &Jobs, id: JobId) {
    let policy = Policy::parse("policy.toml", "max_unsettled = 2\n", &[]).expect("a policy");
    for _ in 0..2 {
        jobs.break_off(id).expect("noted");
        jobs.interrupt(id, "lost".into(), at(6)).expect("interrupted");
        let again = jobs
            .begin_start(id, BTreeMap::new(), &policy, at(7))
            .and_then(Pending::wait);
        if let Err(error) = again {
            assert!(matches!(error, Error::Unsettled(_)), "{error}");
            // It waits, and is not lost.
            assert_eq!(jobs.get(id).expect("there").state, State::Queued);
            return;
        }
    }
    panic!("it began again and again");
}

fn a_proposal_says_who_calls_and_how_often(_: World) {
    let with = |calls, callers: &[u8]| {
        let proposal = Proposal {
            standing: Some(Standing {
                calls,
                callers: callers.to_vec(),
                parameters: None,
            }),
            ..proposal(1)
        };
        proposal.check()
    };
    with(1, &[0]).expect("a proposal");
    with(1 << 32, &[0, 1, 2]).expect("a proposal");
    for (calls, callers) in [
        (0, &[0][..]),
        ((1 << 32) + 1, &[0]),
        (1, &[]),
        (1, &[3]),
        (1, &[1, 0]),
        (1, &[1, 1]),
    ] {
        assert!(
            matches!(with(calls, callers), Err(Error::Proposal(_))),
            "{calls} {callers:?}"
        );
    }
    assert_ne!(standing(1, 5).digest(), proposal(1).digest());
    assert_ne!(standing(1, 5).digest(), standing(1, 6).digest());
    let keeps = Proposal {
        takes: vec![Take {
            input: "more".into(),
            name: "balances".into(),
            job: named(2),
        }],
        ..standing(1, 5)
    };
    assert!(keeps.check().is_err());
}

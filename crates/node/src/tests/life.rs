//! A job's life where nobody does anything wrong.

use std::time::Duration;

use cenote_service::audit::Actor;
use cenote_service::job::{FailKind, State, StateName};
use cenote_service::live::{Happened, Live};
use cenote_service::{Error, Timestamp};

use super::world::{ALL, NONE, PATIENCE, World, person, until, with_data, with_values};

#[test]
fn a_job_that_policies_approve_is_computed_and_fetched_once() {
    for parties in [3, 2] {
        let world = World::new(parties, ALL);
        let listener = world.node(1).listen();
        let id = world.submit(1, "first").proposal.id;
        world.wait_for(id, StateName::Done);
        for party in 0..parties {
            assert_eq!(world.learnt(party, id), ["0x2a"], "party {party} of {parties}");
            let again = world.node(party).fetch(id, "another key", person());
            assert!(matches!(again, Err(Error::NoResult { .. })));
        }
        use StateName::{Approved, Done, Proposed, Queued, Running};
        let state_in = |happened| match happened {
            Happened::Job { job, state } if job == id => Some(state),
            _ => None,
        };
        let mut states = Vec::new();
        while states.last() != Some(&Done) {
            states.extend(state_in(listener.next(PATIENCE).expect("there is more")));
        }
        until("nothing runs", || world.node(1).running().is_empty());
        let rest = std::iter::from_fn(|| listener.next(Duration::ZERO));
        states.extend(rest.filter_map(state_in));
        assert_eq!(states, [Proposed, Approved, Queued, Running, Done]);
        let counts = world.node(1).counts();
        assert_eq!(counts.jobs.get(&Done), Some(&1));
        assert_eq!(counts.ands, 7);
        assert!(world.node(1).alarms().is_empty());
        world.verify();
    }
}

#[test]
fn persons_approve_with_named_data_and_with_posted_values() {
    let world = World::new(3, NONE);
    let id = world.submit(2, "asked").proposal.id;
    world.wait_for(id, StateName::Proposed);
    let explained = world.node(0).explain(id).expect("known");
    assert!(explained.summary.contains("lib:add8"), "{}", explained.summary);
    assert_eq!(explained.outputs[0].to, [0, 1, 2]);

    std::fs::write(world.path(0).join("data/mine.csv"), "5\n").expect("written");
    let approve = |party: usize, approval| world.node(party as u8).approve(id, approval, person());
    let job = world.job(0, id);
    let names: Vec<&str> = job
        .proposal
        .inputs
        .iter()
        .map(|input| input.name.as_str())
        .collect();
    let refused =
        |result: cenote_service::Result<cenote_service::Job>| result.expect_err("refused").to_string();
    for name in ["../policy.toml", "nowhere", ".x", "a/b"] {
        let text = refused(approve(0, with_data(&[(names[0], name)])));
        assert!(
            text.starts_with("the approval is refused") && !text.contains("tmp"),
            "{text}"
        );
    }
    approve(0, with_data(&[(names[0], "mine.csv")])).expect("approved");
    assert!(refused(approve(1, with_values(&[(names[1], "999")]))).contains("line 1"));
    assert!(refused(approve(1, with_values(&[("other", "1")]))).contains("this party has no input"));
    approve(1, with_values(&[(names[1], "6\n")])).expect("approved");
    approve(2, with_data(&[])).expect("approved");
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(0, id), ["0x0b"]);
    let kept = std::fs::read_dir(world.path(1).join("service/posted"))
        .expect("there")
        .count();
    assert_eq!(kept, 0, "posted values are deleted");
    world.verify();
}

#[test]
fn data_that_a_person_approved_is_used_as_it_was_and_a_rules_as_it_is() {
    let world = World::new(3, ALL);
    for party in [1, 2] {
        std::fs::write(world.path(party).join("policy.toml"), NONE).expect("written");
        world.node(party).reload_policy().expect("read");
    }
    let begin = |key: &str| {
        let id = world.submit(2, key).proposal.id;
        until("a rule has approved", || {
            let job = world.node(0).jobs().get(id);
            job.is_ok_and(|job| job.decisions[0].is_some())
        });
        world.wait_for(id, StateName::Proposed);
        let binding = with_data(&[(&world.input(id, 1), "y")]);
        world.node(1).approve(id, binding, person()).expect("approved");
        id
    };
    let approve_last = |id| {
        world
            .node(2)
            .approve(id, with_data(&[]), person())
            .expect("approved")
    };

    // Party 0's rule approves whatever is there; what was used is on record.
    let id = begin("another file by a rule");
    std::fs::write(world.path(0).join("data/x"), "100\n").expect("written");
    approve_last(id);
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(0, id), ["0x7a"]);
    let used = |party: u8| world.job(party, id).binding[0].file.expect("on record").bytes;
    assert_eq!((used(0), used(1)), (4, 3));

    // The person at party 1 approved the file that was there.
    let id = begin("another file behind a person's back");
    std::fs::write(world.path(1).join("data/y"), "1000\n").expect("written");
    approve_last(id);
    world.wait_for(id, StateName::Failed);
    let State::Failed(failure) = world.job(1, id).state else {
        panic!("it has failed");
    };
    assert_eq!(failure.kind, FailKind::BadInput);
    for part in [
        "\"y\" has changed since it was approved",
        "it had 3 bytes",
        "has 5 bytes",
    ] {
        assert!(failure.reason.contains(part), "{}", failure.reason);
    }
    for other in [0, 2] {
        let State::Failed(failure) = world.job(other, id).state else {
            panic!("it has failed");
        };
        assert!(!failure.reason.contains("bytes"), "{}", failure.reason);
    }
    world.verify();
}

#[test]
fn the_same_submission_gives_the_same_job() {
    let world = World::new(3, NONE);
    let first = world.submit(0, "key");
    assert_eq!(world.submit(0, "key").proposal.id, first.proposal.id);
    let mut other = world.submission("sub8", "key");
    let result = world.node(0).submit(other.clone(), person());
    assert!(matches!(result, Err(Error::OtherBody { job }) if job == first.proposal.id));
    other.within = Some(0);
    other.idempotency_key = "other".into();
    assert!(matches!(
        world.node(0).submit(other, person()),
        Err(Error::Proposal(_))
    ));
}

#[test]
fn one_party_that_declines_ends_a_job_and_so_does_one_that_takes_it_back() {
    let world = World::new(3, NONE);
    let declined = world.submit(0, "declined").proposal.id;
    world.wait_for(declined, StateName::Proposed);
    world
        .node(2)
        .decline(declined, "not with us".into(), person())
        .expect("declined");
    let by_two = State::Declined {
        by: 2,
        reason: "not with us".into(),
    };
    world.wait(declined, "declined", |state| *state == by_two);

    let cancelled = world.submit(0, "cancelled").proposal.id;
    world.wait_for(cancelled, StateName::Proposed);
    world.node(1).cancel(cancelled, person()).expect("cancelled");
    world.wait(cancelled, "cancelled", |state| {
        *state == State::Cancelled { by: 1 }
    });
    world.verify();
}

#[test]
fn a_job_that_nobody_approves_ends_at_its_deadline() {
    let world = World::new(3, NONE);
    let id = world.submit_urgent(0, &world.submission("add8", "short"), |_| true);
    world.wait(id, "failed", |state| {
        matches!(state, State::Failed(failure) if failure.kind == cenote_service::job::FailKind::Deadline
            || failure.kind == cenote_service::job::FailKind::Peer)
    });
    assert!(world.job(0, id).proposal.deadline <= Timestamp::now());
}

#[test]
fn many_jobs_of_all_parties_run_side_by_side() {
    let world = World::new(3, ALL);
    let ids: Vec<_> = (0..30)
        .map(|number| world.submit(number % 3, &format!("job {number}")).proposal.id)
        .collect();
    for id in ids {
        world.wait_for(id, StateName::Done);
        assert_eq!(world.learnt(0, id), ["0x2a"]);
    }
    until("all are counted", || {
        world.node(2).counts().jobs.get(&StateName::Done) == Some(&30)
    });
    world.verify();
}

#[test]
fn each_submitter_has_idempotency_keys_of_its_own() {
    let world = World::new(3, NONE);
    let submit = |name: &str, circuit: &str| {
        let by = Actor::Person(name.into());
        let job = world.node(0).submit(world.submission(circuit, "1"), by);
        job.expect("submitted").proposal
    };
    let first = submit("ada", "add8");
    let (same, other) = (submit("bob", "add8"), submit("eve", "sha256"));
    assert_eq!(submit("ada", "add8").id, first.id);
    assert!(first.id != same.id && first.id != other.id);
    for proposal in [&first, &same, &other] {
        world.wait_for(proposal.id, StateName::Proposed);
        assert_ne!(proposal.idempotency_key, "1");
    }
    // The digest by which a repetition is known tells nothing to whoever has a copy of the record.
    let submission = world.submission("add8", "1");
    let body = |party: u8| world.node(party).core.proposals.body(&submission, 1);
    assert_eq!(body(0), body(0));
    assert_ne!(body(0), body(1));
}

#[test]
fn an_approval_that_is_refused_leaves_the_values_of_one_that_may_have_taken_effect() {
    let world = World::new(3, NONE);
    let id = world.submit(0, "twice").proposal.id;
    world.wait_for(id, StateName::Proposed);
    let core = &world.node(1).core;
    let of_before = [("x".to_owned(), "1".to_owned())].into();
    let digest = core.base.data.posted.put(id, &of_before).expect("kept");
    let mut wrong = with_values(&[("x", "2")]);
    wrong.binding.clear();
    core.decisions
        .take_part(id, wrong, person())
        .expect_err("no source for its input");
    let given = core
        .base
        .data
        .posted
        .take(id, Some(digest), false)
        .expect("there");
    assert_eq!(given["x"].as_str(), "1");
}

//! Jobs that wait: those that were put off, at their meetings, and behind others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cenote_service::Timestamp;
use cenote_service::job::{Digest, FailKind, JobId, Proposal, State, StateName};
use cenote_service::live::{Live, Submission};

use super::alarms::lose_recording;
use super::world::{ALL, NONE, World, person, stop_clocks, until};
use crate::compiled::Compiled;
use crate::compiled::tests::bundle;
use crate::message::Message;

/// Party 0 says again and again where its jobs stand, until all parties know these.
fn wait_known(world: &World, ids: &[JobId]) {
    until("all are known", || {
        world.node(0).core.clock.tell_again();
        std::thread::sleep(Duration::from_millis(100));
        let are_known = |party| {
            let jobs = world.node(party).jobs();
            ids.iter().all(|id| jobs.get(*id).is_ok())
        };
        (0..3).all(are_known)
    });
    for id in ids {
        world.wait_for(*id, StateName::Proposed);
    }
}

#[test]
fn jobs_whose_programs_are_too_many_at_once_come_later() {
    let world = World::new(3, NONE);
    let held = Arc::new(AtomicBool::new(true));
    let is_held = Arc::clone(&held);
    world.hub.meddle(Some(Arc::new(move |_, _, message| {
        let is_piece = matches!(Message::parse(&message), Ok(Message::Piece { .. }));
        match is_piece && is_held.load(Ordering::Relaxed) {
            true => Vec::new(),
            false => vec![message],
        }
    })));
    let submit = |lanes: usize| {
        let mut submission = world.submission("add8", &format!("program {lanes}"));
        submission.job = submission.job.replace("lanes = 1", &format!("lanes = {lanes}"));
        let job = world.node(0).submit(submission, person());
        job.expect("submitted").proposal.id
    };
    let ids: Vec<JobId> = (1..=12).map(submit).collect();
    until("some are put off", || {
        let left_out = |party: u8| world.node(party).counts().refused.get(&0).copied();
        left_out(1) >= Some(4) && left_out(2) >= Some(4)
    });
    held.store(false, Ordering::Relaxed);
    wait_known(&world, &ids);
}

#[test]
fn jobs_that_come_too_fast_come_later() {
    let world = World::with(3, NONE, |settings| settings.proposals_a_second = 1);
    let ids: Vec<JobId> = (0..8)
        .map(|number| world.submit(0, &format!("fast {number}")).proposal.id)
        .collect();
    wait_known(&world, &ids);
}

/// Three services that wait long for each other, where party 2 hears of no beginning.
fn without_a_meeting() -> World {
    let world = World::with(3, ALL, |settings| settings.timeout = Duration::from_secs(3600));
    world.hub.meddle(Some(Arc::new(|_, to, message| {
        match to == 2 && matches!(Message::parse(&message), Ok(Message::Start { .. })) {
            true => Vec::new(),
            false => vec![message],
        }
    })));
    world
}

#[test]
fn a_job_at_its_meeting_fails_when_a_link_is_lost() {
    let world = without_a_meeting();
    let submission = Submission {
        within: Some(300),
        ..world.submission("add8", "cut off")
    };
    let job = world.node(0).submit(submission, person()).expect("submitted");
    until("it is begun", || !world.node(0).running().is_empty());
    world.hub.cut(0, 2);
    until("it has failed", || {
        let state = world.job(0, job.proposal.id).state;
        matches!(state, State::Failed(failure) if failure.by == 0 && failure.kind == FailKind::PeerLost)
    });
}

#[test]
fn a_meeting_is_over_soon_after_the_deadline_of_its_job() {
    let world = without_a_meeting();
    let submission = world.submission("add8", "too late");
    let id = world.submit_urgent(0, &submission, |state| {
        matches!(state, State::Queued | State::Running)
    });
    world.wait_for(id, StateName::Failed);
    until("nothing runs", || {
        (0..3).all(|party| world.node(party).running().is_empty())
    });
}

/// What party 1 takes to run the long job of the tests.
fn memory_of_long() -> u64 {
    let compiled = Compiled::new(bundle("sha256", 3), Digest::of(b""), 1);
    compiled.expect("compiles").memory_at(1)
}

#[test]
fn a_job_waits_for_room_at_a_follower() {
    let memory = memory_of_long();
    let world = World::with(3, ALL, move |settings| {
        if settings.me == 1 {
            settings.memory = memory / 2 * 3;
        }
    });
    let first = world.submit_long(0, "first");
    world.wait_for(first, StateName::Running);
    let second = world.submit_long(0, "second");
    world.wait_for(second, StateName::Queued);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(world.job(0, second).state, State::Queued);
    world.node(0).cancel(first, person()).expect("taken back");
    world.wait_for(second, StateName::Running);
    world.node(0).cancel(second, person()).expect("taken back");
}

#[test]
fn a_job_that_never_fits_at_a_follower_is_declined_there() {
    let memory = memory_of_long();
    let world = World::with(3, ALL, move |settings| {
        if settings.me == 1 {
            settings.memory = memory - 1;
        }
    });
    let submission = world.submission("sha256", "too large");
    let job = world.node(0).submit(submission, person()).expect("submitted");
    until("party 1 has declined it", || {
        matches!(world.job(0, job.proposal.id).state, State::Declined { by: 1, .. })
    });
}

#[test]
fn what_waited_behind_a_job_that_is_taken_back_is_looked_at() {
    let world = World::new(3, NONE);
    let id = world.submit(0, "taken back").proposal.id;
    world.wait_for(id, StateName::Proposed);
    let core = stop_clocks(&world, 0);
    core.base.scheduler.wait_for_start(Duration::ZERO);
    core.transitions.cancel(id, person()).expect("taken back");
    assert!(core.base.scheduler.wait_for_start(Duration::ZERO));
}

#[test]
fn a_job_that_waits_already_is_not_lined_up_again() {
    let world = World::new(3, NONE);
    let known = world.submit(0, "known").proposal;
    world.wait_for(known.id, StateName::Proposed);
    let core = stop_clocks(&world, 0);
    let (early, id) = (
        Timestamp::now().before(Duration::from_secs(60)),
        JobId::of(0, [1; 15]),
    );
    let proposal = Proposal {
        id,
        idempotency_key: "late".into(),
        ..known
    };
    let (body, jobs) = (proposal.digest(), world.node(0).jobs());
    jobs.propose(proposal, body, person(), early).expect("recorded");
    world.record_queued(id, early);

    core.clock.look_at_record().expect("looked at");
    assert!(core.base.scheduler.queue().has(id) && core.base.scheduler.wait_for_start(Duration::ZERO));
    core.clock.look_at_record().expect("looked at");
    assert!(core.base.scheduler.queue().has(id) && !core.base.scheduler.wait_for_start(Duration::ZERO));
}

#[test]
fn a_job_that_has_ended_meanwhile_is_not_open_again() {
    let world = World::new(3, NONE);
    let id = world.submit(0, "ends").proposal.id;
    world.wait_for(id, StateName::Proposed);
    let (node, before) = (world.node(0), world.job(0, id));
    node.cancel(id, person()).expect("taken back");
    let counts = node.counts().jobs;
    node.core.base.open.remember(&before);
    assert!(!node.core.base.open.contains(id));
    assert_eq!(node.counts().jobs, counts);
}

#[test]
fn a_missed_deadline_names_the_party_that_was_waited_for_and_why() {
    let world = World::new(3, NONE);
    lose_recording(&world);
    world
        .hub
        .say(2, 0, Message::Recording { works: false }.to_bytes());
    until("it is not ready", || world.node(0).ready().is_err());
    let submission = world.submission("add8", "waits");
    let id = world.submit_urgent(0, &submission, |state| *state == State::Proposed);
    let seen = cenote_service::seen(world.job(0, id), &world.node(0).peers(), None);
    let waits_for = seen.waits_for.expect("it waits");
    for part in [
        "this party, which has not decided",
        "party 1 (party-1), which has not decided;",
        "party 2 (party-2), which has not decided: it can record nothing at present",
    ] {
        assert!(waits_for.contains(part), "{part}\n{waits_for}");
    }
    // Whichever party is the first to find that it has passed.
    until("it is over", || world.is_over(0, id));
    let State::Failed(failure) = world.job(0, id).state else {
        panic!("{:?}", world.job(0, id).state);
    };
    assert!(
        failure
            .reason
            .contains("it waited for this party, which has not decided")
            && failure
                .reason
                .contains("party 2 (party-2), which has not decided: it can record"),
        "{failure:?}"
    );
}

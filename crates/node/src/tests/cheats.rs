//! Cheating, from the message that is changed to what a service's operator is told, and what else it does.

use cenote_service::job::{State, StateName};
use cenote_service::live::{AlarmKind, Live, Submission};

use super::queries;
use super::unsettled::{
    How, VERIFYING, has_decided, is_alarmed, propose, spoil, spoil_by, wait_idle, wait_known,
};
use super::world::{ALL, World, person, until};
use crate::compiled::tests::bundle;

#[test]
fn a_query_with_a_cheater_gives_no_answer_and_is_held_against_it() {
    let world = World::new(3, ALL);
    queries::stock_tables(&world);
    let text = queries::text(3, "[0, 1, 2]");
    // "evaluate AND layer" of protocol three.
    let tries = spoil(&world, 0x30a, How::Flips(0));
    let id = queries::submit(&world, text.clone(), "cheated");
    queries::fails_without_answer(&world, id);
    wait_idle(&world);
    assert_eq!(tries.count(), 1);
    let catcher = (0..2)
        .find(|party| world.has_caught(*party, id))
        .expect("one has caught it");
    until("an operator is told", || is_alarmed(&world, catcher, "deviated"));
    let next = queries::submit(&world, text.clone(), "no second try");
    wait_known(&world, next);
    assert!(!has_decided(&world, catcher, next));
    assert_eq!(tries.count(), 1);
    world.hub.spoil(None);
    world.settle_all();
    let next = queries::submit(&world, text, "settled");
    world.wait_for(next, StateName::Done);
    world.verify();
}

/// Which of the two others ended a session of three by its silence cannot always be told: then both are held to account, among three.
#[test]
fn what_breaks_off_among_three_does_not_stop_jobs_of_two_others() {
    let world = World::new(3, ALL);
    let tries = spoil(&world, VERIFYING, How::HangsUp);
    for number in 0..3 {
        let id = propose(&world, &format!("try {number}"));
        world.wait_for(id, StateName::Failed);
        wait_idle(&world);
    }
    assert_eq!(tries.count(), 3);
    until("an operator is told", || is_alarmed(&world, 0, "party 2"));
    world.hub.spoil(None);
    let of_three = world.submit(1, "of three").proposal.id;
    wait_known(&world, of_three);
    let bundle = bundle("add8", 2);
    let submission = Submission {
        job: bundle.job,
        ..world.submission("add8", "of two")
    };
    let job = world.node(1).submit(submission, person()).expect("submitted");
    let of_two = job.proposal.id;
    for party in 0..2 {
        until("it is over", || world.is_over(party, of_two));
        assert_eq!(world.learnt(party, of_two), ["0x2a"]);
        assert!(!has_decided(&world, party, of_three));
    }
    world.verify();
}

/// One of a thousand gates is wrong, so cut-and-choose often misses it, and it is often used. Then the evaluator has the right answer, its operator is
/// told, and nothing that the garbler sees tells of it.
#[test]
fn a_wrong_gate_that_is_used_changes_no_answer_and_is_told_to_the_evaluator_alone() {
    let world = World::new(2, ALL);
    let mut bundle = bundle("mult32", 2);
    bundle.job = bundle.job.replace("authenticated", "lego");
    let run = |key: String| {
        let submission = Submission {
            job: bundle.job.clone(),
            ..world.submission("add8", &key)
        };
        let job = world.node(0).submit(submission, person()).expect("submitted");
        let id = job.proposal.id;
        for party in 0..2 {
            until("it is over", || world.is_over(party, id));
        }
        wait_idle(&world);
        id
    };
    let warned = |party: u8| {
        let alarms = world.node(party).alarms();
        alarms.iter().any(|alarm| alarm.kind == AlarmKind::Warning)
    };
    // "send gates" of protocol lego; there are tables of gates.
    let tries = spoil_by(&world, 0, 0x221, How::Flips(70));
    let used = (0..64).find_map(|number| {
        let id = run(format!("try {number}"));
        match world.job(1, id).state {
            State::Done => assert_eq!(world.learnt(1, id), ["0x000001b8"]),
            _ => assert!(world.has_caught(1, id)),
        }
        world.node(1).core.base.against.tell_warnings();
        world.settle_all();
        warned(1).then_some(id)
    });
    let used = used.expect("a wrong gate is used");
    assert!(tries.count() > 0 && !warned(0));
    for party in 0..2 {
        assert_eq!(world.job(party, used).state, State::Done);
    }
    // The line is written a moment after the alarm.
    until("the audit log tells it", || {
        let log = std::fs::read_to_string(world.node(1).database().audit_file()).expect("a log");
        log.contains("\"event\":\"warned\"")
    });
    world.hub.spoil(None);
    let next = run("as before".into());
    assert_eq!(world.job(0, next).state, State::Done);
    world.verify();
}

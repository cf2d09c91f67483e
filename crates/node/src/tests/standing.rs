//! Jobs that stand: calls, their allowance, and what ends them.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use cenote_service::job::{Beginning, CallId, Digest, Ended, JobId, OwnCall, State, StateName};
use cenote_service::live::{Call, Live, Running, Submission};
use cenote_service::{Error, Pending, Result, Timestamp};
use zeroize::Zeroizing;

use super::queries::failure;
use super::unsettled::{How, spoil_by};
use super::world::{NONE, PATIENCE, World, person, until, with_data};

/// Approves jobs that stand and allow up to 1000 calls.
pub(super) const CALLED: &str =
    "[[rule]]\nname = \"called\"\ndata = \"any\"\ncalls = 1000\nthen = \"approve\"\n";

/// A job over `add8` that stands: party 0 calls, and party 1's input, 22, stays.
fn standing(world: &World, calls: u64, callers: &str) -> Submission {
    let plain = world.submission("add8", &format!("standing {calls} {callers}"));
    let (head, rest) = plain.job.split_once("[[input]]").expect("inputs");
    Submission {
        job: format!("{head}[standing]\ncalls = {calls}\ncallers = {callers}\n[[input]]{rest}"),
        ..plain
    }
}

/// A world in which such a job runs.
fn with_standing(parties: u8, calls: u64, callers: &str) -> (World, JobId) {
    let world = World::with(parties, CALLED, |settings| {
        settings.pause = Duration::from_millis(50)
    });
    let job = world.node(0).submit(standing(&world, calls, callers), person());
    let id = job.expect("submitted").proposal.id;
    world.wait_for(id, StateName::Running);
    (world, id)
}

/// The same of three parties, where the session has broken off between two of them.
fn cut_off(callers: &str) -> (World, JobId) {
    let (world, id) = with_standing(3, 10, callers);
    world.hub.cut(0, 1);
    for party in [0, 1] {
        until("its session has broken off", || {
            world.job(party, id).state == State::Queued
        });
    }
    (world, id)
}

pub(super) type Answer = Result<Zeroizing<Vec<u8>>>;

/// A call with these inputs, under this name.
pub(super) fn begin_call(
    world: &World,
    party: u8,
    id: JobId,
    name: &str,
    inputs: &[(&str, &str)],
) -> Result<Receiver<Answer>> {
    let (sender, answer) = channel();
    let inputs = inputs
        .iter()
        .map(|(input, value)| ((*input).to_owned(), Zeroizing::new((*value).to_owned())))
        .collect::<BTreeMap<_, _>>();
    let call = Call {
        name: name.into(),
        inputs,
    };
    let reply = Box::new(move |answer| drop(sender.send(answer)));
    world.node(party).call(id, call, person(), reply)?;
    Ok(answer)
}

/// The values that a call gave.
fn values(answer: Answer) -> Vec<String> {
    let text = answer.expect("an answer");
    let value: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let outputs = value["outputs"].as_array().expect("a list").clone();
    outputs
        .iter()
        .flat_map(|output| output["values"].as_array().expect("values").clone())
        .map(|value| value.as_str().expect("text").to_owned())
        .collect()
}

fn call(world: &World, id: JobId, name: &str, value: &str) -> Answer {
    let input = world.input(id, 0);
    begin_call(world, 0, id, name, &[(&input, value)])?
        .recv_timeout(PATIENCE)
        .expect("it ends")
}

#[test]
fn a_job_that_stands_answers_calls_until_they_are_used_up() {
    for parties in [3, 2] {
        let (world, id) = with_standing(parties, 40, "[0]");
        assert_eq!(values(call(&world, id, "first", "20")), ["0x2a"]);
        // The same call again is not computed again.
        assert_eq!(values(call(&world, id, "first", "20")), ["0x2a"]);
        assert!(matches!(
            call(&world, id, "first", "21"),
            Err(Error::OtherCall { .. })
        ));
        let far = |running: &Running| (running.stands, running.done, running.total);
        let running: Vec<_> = world.node(0).running().iter().map(far).collect();
        assert_eq!(running, [(true, 1, 40)]);
        // Many at once share lanes.
        let input = world.input(id, 0);
        let answers: Vec<(u8, Receiver<Answer>)> = (0..39)
            .map(|value| {
                let text = format!("{value}");
                let name = format!("many {value}");
                (
                    value,
                    begin_call(&world, 0, id, &name, &[(&input, &text)]).expect("made"),
                )
            })
            .collect();
        for (value, answer) in answers {
            let answer = answer.recv_timeout(PATIENCE).expect("it ends");
            assert_eq!(values(answer), [format!("{:#04x}", value + 22)]);
        }
        world.wait_for(id, StateName::Done);
        let late = call(&world, id, "late", "1");
        assert!(
            matches!(late, Err(Error::NoTransition { .. } | Error::Call(_))),
            "{late:?}"
        );
        // All that party 1 gave is counted, and nothing more.
        let program = world.job(1, id).proposal.program.digest;
        let data = world.job(1, id).binding[0].clone();
        let cenote_service::job::Source::Data(name) = data.source else {
            panic!("no data");
        };
        assert_eq!(world.node(1).jobs().disclosures(program, name).expect("read"), 40);
        world.verify();
    }
}

#[test]
fn calls_of_several_callers_are_made_by_all_of_them() {
    let (world, id) = with_standing(3, 10, "[0, 1]");
    let (x, y) = (world.input(id, 0), world.input(id, 1));
    let ours = begin_call(&world, 0, id, "ours", &[(&x, "1")]).expect("made");
    assert!(
        ours.recv_timeout(Duration::from_millis(300)).is_err(),
        "the other has not called"
    );
    let theirs = begin_call(&world, 1, id, "ours", &[(&y, "2")]).expect("made");
    for answer in [ours, theirs] {
        assert_eq!(values(answer.recv_timeout(PATIENCE).expect("it ends")), ["0x03"]);
    }
    // Who learns an output of a call that others made has it on record.
    let name = CallId::of(id, "ours");
    until("party 2 has it", || {
        world
            .node(2)
            .jobs()
            .call(id, name)
            .is_ok_and(|known| known.is_some())
    });
    let learnt = begin_call(&world, 2, id, "ours", &[]).expect("it has learnt it");
    assert_eq!(values(learnt.recv_timeout(PATIENCE).expect("it ends")), ["0x03"]);
    for (name, inputs) in [("another", vec![]), ("ours", vec![(x.as_str(), "1")])] {
        let wrong = begin_call(&world, 2, id, name, &inputs).err();
        assert!(matches!(wrong, Some(Error::Call(_))), "{wrong:?}");
    }
}

#[test]
fn calls_that_are_wrong_are_refused() {
    let (world, id) = with_standing(3, 10, "[0]");
    let x = world.input(id, 0);
    for (name, inputs) in [
        ("", vec![(x.as_str(), "1")]),
        ("no input", vec![]),
        ("another input", vec![(x.as_str(), "1"), ("other", "1")]),
        ("not a number", vec![(x.as_str(), "one")]),
        ("too long", vec![(x.as_str(), "0x1ff")]),
        ("two lanes", vec![(x.as_str(), "1\n2")]),
    ] {
        let refused = begin_call(&world, 0, id, name, &inputs).err();
        assert!(matches!(refused, Some(Error::Call(_))), "{name:?}: {refused:?}");
    }
    // What is refused uses nothing up.
    for value in 0..10 {
        call(&world, id, &format!("{value}"), "1").expect("answered");
    }
    world.wait_for(id, StateName::Done);
}

#[test]
fn only_a_rule_that_says_so_approves_a_job_that_stands() {
    let policy = CALLED.replace("calls = 1000\n", "");
    let world = World::new(3, &policy);
    let job = world
        .node(0)
        .submit(standing(&world, 10, "[0]"), person())
        .expect("submitted");
    world.wait_for(job.proposal.id, StateName::Proposed);
    let more = World::new(3, CALLED);
    let job = more
        .node(0)
        .submit(standing(&more, 1001, "[0]"), person())
        .expect("submitted");
    more.wait_for(job.proposal.id, StateName::Proposed);
}

#[test]
fn a_job_that_stands_goes_on_after_a_restart_and_answers_no_call_twice() {
    let (mut world, id) = with_standing(3, 600, "[0]");
    assert_eq!(values(call(&world, id, "before", "20")), ["0x2a"]);
    for party in [2, 0] {
        world.kill(party);
        world.start(party);
        world.wait_ready();
        world.settle_all();
        assert_eq!(values(call(&world, id, "before", "20")), ["0x2a"]);
        assert_eq!(values(call(&world, id, &format!("after {party}"), "1")), ["0x17"]);
    }
    world.verify();
}

#[test]
fn a_call_whose_end_was_not_recorded_has_failed_by_the_next_session() {
    let (mut world, id) = with_standing(3, 600, "[0]");
    call(&world, id, "before", "20").expect("answered");
    let jobs = world.node(0).jobs().clone();
    let lost = CallId::of(id, "lost");
    let own = OwnCall {
        id: lost,
        body: Digest::of(b"inputs"),
        submitter: "ada".into(),
    };
    let beginning = Beginning {
        job: id,
        reserved: 256,
        own: vec![own],
        parameters: BTreeMap::new(),
    };
    jobs.begin_calls(beginning, Timestamp::now())
        .and_then(Pending::wait)
        .expect("recorded");
    // The session breaks off at a party that stays up.
    world.kill(2);
    world.start(2);
    world.wait_ready();
    world.settle_all();
    call(&world, id, "after", "1").expect("answered");
    let known = jobs.call(id, lost).expect("read").expect("known");
    let Some(Ended::Failed(reason)) = known.ended else {
        panic!("it has not failed")
    };
    assert!(reason.contains("could not be recorded"), "{reason}");
    let before = jobs.call(id, CallId::of(id, "before")).expect("read");
    assert!(matches!(before.expect("known").ended, Some(Ended::Done(_))));
}

#[test]
fn any_party_ends_a_job_that_stands_at_once() {
    for by in [0, 1, 2] {
        let (world, id) = with_standing(3, 1000, "[0]");
        call(&world, id, "before", "20").expect("answered");
        world.node(by).cancel(id, person()).expect("cancelled");
        world.wait(
            id,
            "over",
            |state| matches!(state, State::Cancelled { by: who } if *who == by),
        );
        let late = call(&world, id, "after", "20");
        assert!(
            matches!(late, Err(Error::NoTransition { .. } | Error::Call(_))),
            "{late:?}"
        );
        // Of 1000, the calls that were allowed for are used; the rest is given back.
        let program = world.job(1, id).proposal.program.digest;
        let used = world
            .node(1)
            .jobs()
            .disclosures(program, "y".into())
            .expect("read");
        assert!((1..=256).contains(&used), "{used}");
    }
}

#[test]
fn persons_approve_a_job_that_stands_with_the_data_that_stays() {
    let world = World::new(3, NONE);
    let id = world
        .node(0)
        .submit(standing(&world, 5, "[0]"), person())
        .expect("submitted")
        .proposal
        .id;
    world.wait_for(id, StateName::Proposed);
    let summary = world.node(1).explain(id).expect("known").summary;
    assert!(summary.contains("called up to 5 times"), "{summary}");
    let y = world.input(id, 1);
    let x = world.input(id, 0);
    let wrong = world.node(0).approve(id, with_data(&[(&x, "x")]), person());
    assert!(wrong.is_err(), "a caller's input comes with each call");
    world
        .node(0)
        .approve(id, with_data(&[]), person())
        .expect("approved");
    world
        .node(1)
        .approve(id, with_data(&[(&y, "y")]), person())
        .expect("approved");
    world
        .node(2)
        .approve(id, with_data(&[]), person())
        .expect("approved");
    world.wait_for(id, StateName::Running);
    assert_eq!(values(call(&world, id, "one", "20")), ["0x2a"]);
}

/// The check of what the leader says trips, and names it.
#[test]
fn a_leader_that_lies_about_calls_is_caught() {
    // What comes next; how many calls were answered.
    for (code, hundredths) in [(0x604, 50), (0x600, 90)] {
        let world = World::new(3, CALLED);
        let tries = spoil_by(&world, 0, code, How::Flips(hundredths));
        let job = world
            .node(0)
            .submit(standing(&world, 10, "[1]"), person())
            .expect("submitted");
        let id = job.proposal.id;
        for party in [1, 2] {
            until("it is over", || world.is_over(party, id));
        }
        let caught = [1, 2]
            .into_iter()
            .find(|party| world.has_caught(*party, id))
            .expect("one has caught it");
        assert!(tries.count() > 0);
        let State::Failed(failure) = world.job(caught, id).state else {
            panic!("it has not failed");
        };
        assert!(
            failure.reason.contains("calls of a job that stands"),
            "{}",
            failure.reason
        );
        assert!(failure.reason.contains("party 0"), "{}", failure.reason);
    }
}

/// The call waits when the session begins, so that the leader's first word begins it: under a name that nobody has made.
#[test]
fn a_leader_that_begins_what_nobody_calls_is_caught() {
    let (world, id) = cut_off("[1]");
    let tries = spoil_by(&world, 0, 0x604, How::Flips(80));
    let y = world.input(id, 1);
    let call = begin_call(&world, 1, id, "waits", &[(&y, "1")]).expect("made");
    world.hub.mend(0, 1);
    until("it is caught", || world.has_caught(1, id));
    assert!(tries.count() > 0);
    let State::Failed(failure) = world.job(1, id).state else {
        panic!("it has not failed");
    };
    assert!(
        failure.reason.contains("calls of a job that stands") && failure.reason.contains("party 0"),
        "{}",
        failure.reason
    );
    // Whoever waits hears of it, and nothing was computed.
    let ended = call.recv_timeout(PATIENCE).expect("it ends");
    assert!(
        matches!(ended, Err(Error::Call(_) | Error::CallFailed(_))),
        "{ended:?}"
    );
    world.verify();
}

/// The followers make no calls, so that only comparing shows it.
#[test]
fn a_leader_that_begins_other_calls_at_each_follower_is_noticed() {
    let (world, id) = cut_off("[0]");
    let tries = spoil_by(&world, 0, 0x604, How::Flips(80));
    let x = world.input(id, 0);
    let call = begin_call(&world, 0, id, "waits", &[(&x, "1")]).expect("made");
    world.hub.mend(0, 1);
    let noticed = || [1, 2].into_iter().find(|party| world.has_caught(*party, id));
    until("it is noticed", || noticed().is_some());
    assert!(tries.count() > 0);
    let (_, reason) = failure(&world, noticed().expect("one"), id);
    for part in ["calls of a job that stands", "the leader has begun other calls"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    let ended = call.recv_timeout(PATIENCE).expect("it ends");
    assert!(
        matches!(ended, Err(Error::Call(_) | Error::CallFailed(_))),
        "{ended:?}"
    );
}

#[test]
fn a_call_that_not_all_callers_make_does_not_hold_up_others() {
    let (world, id) = with_standing(3, 10, "[0, 1]");
    let (x, y) = (world.input(id, 0), world.input(id, 1));
    let alone = begin_call(&world, 0, id, "alone", &[(&x, "1")]).expect("made");
    for name in ["first", "second"] {
        let ours = begin_call(&world, 0, id, name, &[(&x, "1")]).expect("made");
        begin_call(&world, 1, id, name, &[(&y, "2")]).expect("made");
        assert_eq!(values(ours.recv_timeout(PATIENCE).expect("it ends")), ["0x03"]);
    }
    assert!(alone.try_recv().is_err());
    // It ends with the job.
    world.node(2).cancel(id, person()).expect("cancelled");
    let ended = alone.recv_timeout(PATIENCE).expect("it ends");
    assert!(matches!(ended, Err(Error::Call(_))), "{ended:?}");
}

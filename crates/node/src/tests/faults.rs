//! Services that are killed, cut off, stopped and started again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cenote::Protocol;
use cenote::runner::Connections;
use cenote_service::Timestamp;
use cenote_service::job::{FailKind, JobId, Proposal, State, StateName};
use cenote_service::live::{AlarmKind, Live};

use super::world::{ALL, NONE, PATIENCE, World, person, until, with_data};
use crate::failure;
use crate::message::Message;
use crate::peer::Greeting;
use crate::queue::Call;
use crate::results::JobResult;

/// Whether a failure is one of what may follow from a party that is gone.
fn lost(state: &State) -> bool {
    matches!(state, State::Failed(failure) if matches!(
        failure.kind,
        FailKind::Restarted | FailKind::PeerLost | FailKind::Peer | FailKind::Timeout
    ))
}

/// What a leader says of a beginning reaches nobody.
fn lose_beginnings(world: &World) {
    lose(world, |message| matches!(message, Message::Start { .. }));
}

/// Such messages reach nobody.
fn lose(world: &World, which: impl Fn(&Message) -> bool + Send + Sync + 'static) {
    world.hub.meddle(Some(Arc::new(move |_, _, message| {
        match Message::parse(&message).is_ok_and(|message| which(&message)) {
            true => Vec::new(),
            false => vec![message],
        }
    })));
}

#[test]
fn a_beginning_that_is_lost_is_told_again() {
    let world = World::new(3, ALL);
    let lost = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lost);
    lose(&world, move |message| {
        let begins = matches!(message, Message::Start { .. });
        count.fetch_add(usize::from(begins), Ordering::SeqCst);
        begins
    });
    let id = world.submit(1, "told again").proposal.id;
    until("it is lost", || lost.load(Ordering::SeqCst) >= 2);
    world.hub.meddle(None);
    until("it is done", || {
        let core = &world.node(0).core;
        core.statuses.tell_statuses(1);
        core.statuses.tell_statuses(2);
        world.job(0, id).state == State::Done
    });
    world.verify();
}

#[test]
fn what_was_proposed_and_queued_goes_on_after_a_restart() {
    let mut world = World::new(3, NONE);
    let id = world.submit(0, "goes on").proposal.id;
    world.wait_for(id, StateName::Proposed);
    world
        .node(1)
        .approve(id, with_data(&[(&world.input(id, 1), "y")]), person())
        .expect("approved");
    world.kill(1);
    world.kill(0);
    world.start(0);
    world.start(1);
    world.wait_ready();
    world
        .node(2)
        .approve(id, with_data(&[]), person())
        .expect("approved");
    world
        .node(0)
        .approve(id, with_data(&[(&world.input(id, 0), "x")]), person())
        .expect("approved");
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(2, id), ["0x2a"]);
    world.verify();
}

#[test]
fn decisions_that_were_lost_on_the_way_are_told_again() {
    let world = World::new(3, NONE);
    let id = world.submit(0, "lost words").proposal.id;
    world.wait_for(id, StateName::Proposed);
    // Nothing of party 1 reaches party 2 while it decides, and nothing of a second proposal reaches anybody.
    let silent = Arc::new(AtomicBool::new(true));
    let is_silent = Arc::clone(&silent);
    world.hub.meddle(Some(Arc::new(move |from, to, message| {
        let lost = is_silent.load(Ordering::Relaxed) && ((from, to) == (1, 2) || from == 0);
        if lost { Vec::new() } else { vec![message] }
    })));
    world
        .node(1)
        .approve(id, with_data(&[(&world.input(id, 1), "y")]), person())
        .expect("approved");
    let unheard = world.submit(0, "unheard").proposal.id;
    until("party 0 has heard it", || world.job(0, id).decisions[1].is_some());
    assert!(world.job(2, id).decisions[1].is_none() && world.node(2).jobs().get(unheard).is_err());
    silent.store(false, Ordering::Relaxed);
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        world.hub.cut(a, b);
        world.hub.mend(a, b);
    }
    until("party 2 has heard it", || world.job(2, id).decisions[1].is_some());
    world.wait_for(unheard, StateName::Proposed);
    world
        .node(0)
        .decline(unheard, String::new(), person())
        .expect("declined");
    world.wait_for(unheard, StateName::Declined);
}

#[test]
fn an_end_that_a_peer_did_not_hear_ends_the_job_there_too() {
    let world = World::new(3, NONE);
    let id = world.submit(0, "ends").proposal.id;
    world.wait_for(id, StateName::Proposed);
    world.hub.cut(0, 2);
    world.node(0).cancel(id, person()).expect("cancelled");
    until("party 1 has heard it", || {
        world.job(1, id).state == State::Cancelled { by: 0 }
    });
    assert_eq!(world.job(2, id).state, State::Proposed);
    world.hub.mend(0, 2);
    // Party 1 may be the first to say so: then it is its word for an end.
    world.wait(id, "ended", |state| !state.name().is_open());
    world.verify();
}

#[test]
fn a_job_that_runs_fails_everywhere_when_a_party_is_killed_and_later_ones_run() {
    for victim in 0..3 {
        let mut world = World::new(3, ALL);
        let id = world.submit_long(1, "killed");
        world.wait_for(id, StateName::Running);
        world.kill(victim);
        world.start(victim);
        world.wait_ready();
        world.wait(id, "failed", lost);
        assert_eq!(world.job(victim, id).state.name(), StateName::Failed);
        let next = world.submit(victim, "next").proposal.id;
        world.wait_for(next, StateName::Done);
        assert_eq!(world.learnt(victim, next), ["0x2a"]);
        world.verify();
    }
}

#[test]
fn a_lost_link_fails_what_runs_over_it() {
    let world = World::new(3, ALL);
    let id = world.submit_long(0, "cut");
    world.wait_for(id, StateName::Running);
    world.hub.cut(1, 2);
    world.wait(id, "failed", lost);
    world.hub.mend(1, 2);
    world.wait_ready();
    let next = world.submit(2, "next").proposal.id;
    world.wait_for(next, StateName::Done);
    assert!(
        world
            .node(0)
            .alarms()
            .iter()
            .all(|alarm| alarm.kind != AlarmKind::Cheating)
    );
}

/// Party 2 takes back a job that runs, and `tell` sees that the others hear of it. Where they hear of it later than they wait for a party's
/// word, another job is taken back.
fn take_back(world: &World, tell: impl Fn(JobId)) {
    for attempt in 0..5 {
        world.settle_all();
        let id = world.submit_long(0, &format!("taken back {attempt}"));
        world.wait_for(id, StateName::Running);
        until("it is seen to run", || {
            (0..3).all(|party| !world.node(party).running().is_empty())
        });
        world.node(2).cancel(id, person()).expect("cancelled");
        tell(id);
        let cancelled = State::Cancelled { by: 2 };
        world.wait(id, "cancelled", |state| *state == cancelled || lost(state));
        assert_eq!(world.job(2, id).state, cancelled);
        until("nothing runs", || {
            (0..3).all(|party| world.node(party).running().is_empty())
        });
        if [0, 1]
            .iter()
            .all(|party| world.job(*party, id).state == cancelled)
        {
            return;
        }
    }
    panic!("the word was not recorded");
}

#[test]
fn a_job_that_runs_ends_when_it_is_taken_back() {
    let world = World::new(3, ALL);
    take_back(&world, |_| ());
    world.verify();
}

#[test]
fn a_word_that_comes_after_its_sender_has_stopped_is_recorded() {
    let world = World::new(3, ALL);
    lose(&world, |message| matches!(message, Message::Cancel { .. }));
    take_back(&world, |id| {
        until("party 2 has stopped", || world.node(2).running().is_empty());
        // The others see that.
        std::thread::sleep(Duration::from_millis(100));
        for party in [0, 1] {
            world.hub.say(2, party, Message::Cancel { job: id }.to_bytes());
        }
    });
}

/// A party may be told alone that a job ends: the others then hear from it why it has stopped. Where they hear that later than they wait for
/// it, another job is ended so.
#[test]
fn a_party_that_ends_a_job_by_a_peers_word_says_so() {
    let world = World::new(3, ALL);
    for attempt in 0..5 {
        world.settle_all();
        let id = world.submit_long(0, &format!("ended at one party {attempt}"));
        world.wait_for(id, StateName::Running);
        until("it is seen to run", || {
            (0..3).all(|party| !world.node(party).running().is_empty())
        });
        let word = Message::Fail {
            job: id,
            failure: FailKind::Internal,
            reason: "nobody else hears this".into(),
        };
        world.hub.say(2, 0, word.to_bytes());
        world.wait_for(id, StateName::Failed);
        until("nothing runs", || {
            (0..3).all(|party| world.node(party).running().is_empty())
        });
        let State::Failed(failure) = world.job(1, id).state else {
            panic!("it has failed");
        };
        if failure.by == 0 {
            assert!(
                failure.reason.contains(failure::words(FailKind::Peer)),
                "{}",
                failure.reason
            );
            return;
        }
    }
    panic!("party 1 does not hear why party 0 has stopped");
}

#[test]
fn a_job_that_runs_ends_at_its_deadline() {
    let world = World::new(3, ALL);
    let submission = world.long_submission("too long");
    let id = world.submit_urgent(0, &submission, |state| *state == State::Running);
    // A party that hears late why another has stopped takes it for lost.
    world.wait(id, "failed", |state| {
        matches!(state, State::Failed(failure) if matches!(failure.kind, FailKind::Deadline | FailKind::Peer | FailKind::PeerLost))
    });
    for party in 0..3 {
        let job = world.job(party, id);
        assert!(job.changed_at >= job.proposal.deadline, "{:?}", job.state);
    }
    until("nothing runs", || {
        (0..3).all(|party| world.node(party).running().is_empty())
    });
}

#[test]
fn a_deadline_takes_no_outputs_away_that_were_learnt() {
    let world = World::new(3, ALL);
    // Party 1 hears neither of the beginning nor of the end at others: it begins by itself.
    lose(&world, |message| {
        matches!(message, Message::Start { .. } | Message::Fail { .. })
    });
    let core = &world.node(1).core;
    let begin = |within| {
        let mut submission = world.submission("add8", &format!("just in time {within}"));
        submission.within = Some(within);
        let job = world.node(1).submit(submission, person()).expect("submitted");
        let id = job.proposal.id;
        until("party 1 waits, or has given it up", || {
            let state = world.job(1, id).state;
            core.base.scheduler.queue().has(id) || !state.name().is_open()
        });
        let mut scheduler = core.base.scheduler.queue();
        assert!(scheduler.call(id, Call::default()));
        let (_, running) = scheduler.next_called(Instant::now(), |_| true)?;
        drop(scheduler);
        let topology = Protocol::default().topology();
        let connections = running.hold(Connections::in_memory(&topology, PATIENCE).remove(1));
        let job = core.base.jobs.start(id, Timestamp::now()).ok()?;
        Some((job, running, connections))
    };
    let (job, running, _connections) = [2, 10, 40].into_iter().find_map(begin).expect("begun in time");
    let id = job.proposal.id;
    core.transitions.changed(&job);
    until("it is stopped", || running.stopped().is_some());
    assert_eq!(running.stopped().expect("stopped").0, FailKind::Deadline);
    let compiled = core.base.programs.of_job(&job).expect("a program");
    let recorded = core
        .runs
        .results
        .record(&job, &compiled, JobResult::learnt(b"learnt"), &running);
    assert!(recorded.is_ok());
    assert_eq!(world.job(1, id).state, State::Done);
    let learnt = world.node(1).fetch(id, "key", person()).expect("a result");
    assert_eq!(learnt.as_slice(), b"learnt");
    world.verify();
}

#[test]
fn a_service_that_stops_in_order_says_so() {
    let mut world = World::new(3, ALL);
    let id = world.submit_long(0, "stopped");
    world.wait_for(id, StateName::Running);
    world.stop(1);
    world.wait(id, "failed", lost);
    let queued = world.submit(0, "waits").proposal.id;
    world.start(1);
    world.wait_ready();
    assert!(lost(&world.job(1, id).state));
    world.wait_for(queued, StateName::Done);
}

#[test]
fn a_leader_that_never_starts_holds_a_job_until_its_deadline_only() {
    let world = World::new(3, ALL);
    // Nobody hears of its end at others either.
    lose(&world, |message| {
        matches!(
            message,
            Message::Start { .. } | Message::Fail { .. } | Message::Statuses { .. }
        )
    });
    let id = world.submit_urgent(1, &world.submission("add8", "never"), |_| true);
    world.wait(
        id,
        "failed",
        |state| matches!(state, State::Failed(failure) if failure.kind == FailKind::Deadline),
    );
    for party in 1..3 {
        assert_eq!(world.job(party, id).binding.len(), usize::from(party == 1));
    }
}

#[test]
fn what_was_recorded_later_than_anybody_waited_for_it_goes_on() {
    let world = World::new(3, NONE);
    let known = world.submit(0, "known");
    world.wait_for(known.proposal.id, StateName::Proposed);
    let early = Timestamp::now().before(Duration::from_secs(60));
    let record = |number: u8| {
        let proposal = Proposal {
            id: JobId::of(0, [number; 15]),
            idempotency_key: format!("late {number}"),
            ..known.proposal.clone()
        };
        let (id, body) = (proposal.id, proposal.digest());
        world
            .node(0)
            .jobs()
            .propose(proposal, body, person(), early)
            .expect("recorded");
        id
    };
    let (waits, ran) = (record(1), record(2));
    let jobs = world.node(0).jobs();
    world.record_queued(ran, early);
    jobs.start(ran, early).expect("started");
    world.node(0).core.clock.tell_again();
    world.wait_for(waits, StateName::Proposed);
    let state = world.job(0, ran).state;
    assert!(
        matches!(&state, State::Failed(failure) if failure.kind == FailKind::Internal),
        "{state:?}"
    );
}

#[test]
fn a_program_that_was_lost_is_asked_for_until_it_comes() {
    let mut world = World::new(3, NONE);
    // Of a new proposal, the program is lost on its way twice.
    let lost = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lost);
    lose(&world, move |message| {
        matches!(message, Message::Piece { .. }) && count.fetch_add(1, Ordering::Relaxed) < 2
    });
    let id = world.submit(0, "lost programs").proposal.id;
    world.wait_for(id, StateName::Proposed);
    assert!(lost.load(Ordering::Relaxed) > 2);
    // Of an open job, it is lost at party 1.
    world.stop(1);
    std::fs::remove_dir_all(world.path(1).join("service/programs")).expect("removed");
    world.start(1);
    until("it is there again", || world.node(1).explain(id).is_ok());
    for (party, data) in [(0, vec!["x"]), (1, vec!["y"]), (2, vec![])] {
        let inputs: Vec<(String, &str)> = data.iter().map(|data| (world.input(id, party), *data)).collect();
        let inputs: Vec<(&str, &str)> = inputs
            .iter()
            .map(|(input, data)| (input.as_str(), *data))
            .collect();
        let approved = world.node(party).approve(id, with_data(&inputs), person());
        approved.expect("approved");
    }
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(1, id), ["0x2a"]);
}

#[test]
fn a_peer_that_was_not_greeted_is_greeted_later() {
    let world = World::new(3, ALL);
    let greeting = world.node(0).core.base.peers.get(1).expect("a peer");
    let heard = world.node(1).core.base.peers.get(0).expect("a peer");
    until("it is not greeted", || {
        // While this is held, party 0 does not see that it has to greet.
        let mut known = greeting.known();
        known.greeting = Greeting::Due;
        heard.known().hello = None;
        world.node(1).ready().is_err()
    });
    world.wait_ready();
    let id = world.submit(1, "goes on").proposal.id;
    world.wait_for(id, StateName::Done);
}

#[test]
fn a_link_that_is_up_before_the_service_can_tell_is_greeted_all_the_same() {
    let mut world = World::new(3, ALL);
    world.stop(1);
    for other in [0, 2] {
        world
            .node(other)
            .core
            .base
            .peers
            .get(1)
            .expect("a peer")
            .known()
            .hello = None;
    }
    world.start_slowly(1, Duration::from_millis(200));
    world.wait_ready();
}

#[test]
fn a_party_that_has_lost_its_record_of_a_job_ends_it() {
    let world = World::new(3, ALL);
    lose_beginnings(&world);
    let id = world.submit(1, "forgotten").proposal.id;
    until("party 1 waits", || world.job(1, id).state == State::Queued);
    world.hub.say(2, 1, Message::Ask { job: id }.to_bytes());
    world.wait(id, "failed", |state| matches!(state, State::Failed(_)));
}

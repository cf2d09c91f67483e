//! A party that cheats in a job from stock, or in the making.

use cenote_net::{Label, Step};
use cenote_service::job::FailKind;
use cenote_service::live::{Approval, Submission};
use cenote_testkit::{Adversary, Perturbation, Target as Position};

use super::pairs::pair;
use super::*;
use crate::message::LEADER;
use crate::tests::unsettled::{How, has_decided, is_alarmed, spoil_by, wait_idle};
use crate::tests::world::{person, with_data};

/// Flips a bit of a party's first message of this step in sessions whose names begin so.
fn cheat(world: &World, cheating: u8, session: &'static str, code: u16) -> (Adversary, Arc<AtomicU64>) {
    let step = Step { code, name: "some" };
    let adversary = Adversary::new(Position::step(step), Perturbation::FlipBit { byte: 0, bit: 0 });
    let (cheater, sessions) = (adversary.clone(), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&sessions);
    world.hub.spoil(Some(Arc::new(move |name, party, connections| {
        if !name.starts_with(session) || party != cheating {
            return connections;
        }
        count.fetch_add(1, Ordering::Relaxed);
        let cheater = cheater.clone();
        connections.map(move |channel| Box::new(cheater.wrap(Label::from("some"), channel)))
    })));
    (adversary, sessions)
}

fn alarmed(world: &World, party: u8) -> bool {
    let alarms = world.node(party).alarms();
    alarms
        .iter()
        .any(|alarm| alarm.kind == AlarmKind::Cheating && alarm.text.contains("party"))
}

/// The line of a party's audit log on such an event in a job, or in making stock.
fn noted(world: &World, party: u8, event: &str, job: Option<JobId>) -> Option<serde_json::Value> {
    let log = std::fs::read_to_string(world.node(party).database().audit_file()).expect("a log");
    // The last line may be half there.
    let mut lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
    let job = job.map(|job| serde_json::Value::from(job.to_string()));
    lines.find(|line: &serde_json::Value| line["event"] == event && line.get("job") == job.as_ref())
}

/// The check that a party's audit log says has failed in a job, or in making stock.
fn noted_check(world: &World, party: u8, job: Option<JobId>) -> Option<String> {
    noted(world, party, "check-failed", job)?["check"]
        .as_str()
        .map(str::to_owned)
}

#[test]
fn a_cheater_in_a_job_from_stock_is_caught_and_the_job_is_not_run_again() {
    let world = world(3, SHARE);
    wait_full(&world);
    make_no_more(&world);
    let before = left(&world, 0);
    // "evaluate AND layer" of protocol three.
    let (adversary, sessions) = cheat(&world, 2, "job ", 0x30a);
    let id = world.submit(0, "cheated").proposal.id;
    world.wait(id, "failed", |state| matches!(state, State::Failed(_)));
    wait_free(&world);
    assert_eq!((adversary.deviations(), sessions.load(Ordering::Relaxed)), (1, 1));
    let caught = |party: u8| world.has_caught(party, id);
    assert!((0..3).any(caught), "{:?}", world.job(0, id).state);
    until("there is an alarm", || (0..3).any(|party| alarmed(&world, party)));
    let noted = |party: u8| caught(party) && noted_check(&world, party, Some(id)).is_some();
    assert!((0..3).any(noted), "it is in the audit log");
    assert_eq!(from_stock(&world, 0), 1);
    for party in 0..2 {
        assert!(left(&world, party).1 < before.1, "what was used is gone");
    }
    world.hub.spoil(None);
    world.settle_all();
    run(&world, 1, "goes on");
    assert_eq!(sessions.load(Ordering::Relaxed), 1);
    world.verify();
}

#[test]
fn a_cheater_in_the_making_is_caught_and_has_no_second_try() {
    let mut world = world(3, SHARE);
    wait_full(&world);
    // "multiply triples" of protocol three.
    let (adversary, sessions) = cheat(&world, 2, "stock ", 0x305);
    lose(&world);
    until("there is an alarm", || (0..2).any(|party| alarmed(&world, party)));
    assert_eq!(adversary.deviations(), 1);
    let noted = |party: u8| alarmed(&world, party) && noted_check(&world, party, None).is_some();
    assert!((0..2).any(noted), "it is in the audit log");
    let caught = |world: &World, party: u8| world.node(party).core.base.against.caught_among(3).is_some();
    let catcher = (0..2)
        .find(|party| caught(&world, *party))
        .expect("one has caught it");
    // It agrees to nothing more, after a restart too, whatever the kind of stock; the leader asks for nothing, or in vain.
    world.kill(catcher);
    world.start(catcher);
    world.wait_ready();
    assert!(caught(&world, catcher));
    let refused = |world: &World| {
        let stock = &world.node(catcher).core.base.stock;
        let run = JobId::of(0, [7; 15]);
        stock.hear_make(0, run, stock.targets[0].digest, 0, 1);
        stock.state().making.is_none()
    };
    assert!(refused(&world));
    assert_eq!(sessions.load(Ordering::Relaxed), 1);
    assert!(left(&world, 0).0 < usize::from(SHELVES));
    world.hub.spoil(None);
    world.settle_all();
    wait_full(&world);
    run(&world, 0, "goes on");
}

/// Whoever leads asks for stock of each kind: none is made with it.
#[test]
fn a_caught_leader_gets_no_stock_of_another_kind() {
    let world = World::with(3, ALL, |settings| {
        wants(settings, "three", SHARE);
        let of_first = settings.stock.targets[0].clone();
        settings.stock.targets.push(StockTarget {
            kind: kind("three", 2 * JOB),
            ands: 2 * of_first.ands,
            ..of_first
        });
    });
    wait_full(&world);
    let (adversary, sessions) = cheat(&world, LEADER, "stock ", 0x305);
    lose(&world);
    let caught = |party: u8| world.node(party).core.base.against.caught_among(3).is_some();
    until("it is caught", || (1..3).any(caught));
    assert_eq!(adversary.deviations(), 1);
    let catcher = (1..3).find(|party| caught(*party)).expect("one has caught it");
    let stock = &world.node(catcher).core.base.stock;
    until("nothing is made", || stock.state().making.is_none());
    for (number, target) in (0..).zip(&stock.targets) {
        let shelf = (0..SHELVES).find(|shelf| stock.state().here[usize::from(*shelf)][number].bulk == 0);
        let run = JobId::of(LEADER, [number as u8; 15]);
        stock.hear_make(LEADER, run, target.digest, shelf.expect("an empty shelf"), 1);
        assert!(stock.state().making.is_none(), "kind {number}");
    }
    let begun = sessions.load(Ordering::Relaxed);
    world.hub.spoil(None);
    // Another party may find it out later than this one.
    until_within(3 * PATIENCE, "the stock is full", || {
        world.settle_all();
        is_full(&world)
    });
    assert_eq!(begun, 1, "the leader had one try");
}

/// A garbler whose gates are bad falls silent in the check that would find them. Each time it has had one try more, and a person who settles that with it
/// does not undo the try. Once all tries are worth more than the evaluator's policy allows, no rule of the evaluator's lets it have another.
#[test]
fn checks_that_are_cut_off_pass_the_bound_and_leave_jobs_to_persons() {
    let world = pair("jimu");
    wait_full(&world);
    make_no_more(&world);
    let submit = |proposer: u8, key: String, approval: Option<Approval>| {
        let mut submission = world.submission("add8", &key);
        submission.job = submission.job.replace("authenticated", "jimu");
        let submission = Submission {
            approval,
            ..submission
        };
        let job = world.node(proposer).submit(submission, person());
        job.expect("submitted").proposal.id
    };
    let is_told = |job: JobId| {
        let text = format!("Job {job}: the probability that a wrong output passed");
        let alarms = world.node(1).alarms();
        alarms
            .iter()
            .any(|alarm| alarm.kind == AlarmKind::Warning && alarm.text.contains(&text))
    };
    let mut tried = 0;
    let passed = (0..8).find_map(|cut| {
        // "open permutation bits" of protocol jimu.
        let tries = spoil_by(&world, 0, 0x423, How::HangsUp);
        let id = submit(0, format!("cut off {cut}"), None);
        (0..2).for_each(|party| until("it is over", || world.is_over(party, id)));
        wait_idle(&world);
        wait_free(&world);
        tried += tries.count();
        assert!(!world.has_caught(1, id), "no check has failed");
        world.hub.spoil(None);
        world.settle_all();
        let id = submit(0, format!("honest {cut}"), None);
        wait_done(&world, 1, id);
        is_told(id).then_some(id)
    });
    let passed = passed.expect("the bound is passed");
    // A pool's own bound leaves room for this.
    assert!(tried > 1, "one try more is within what is allowed");
    assert_eq!(
        noted(&world, 1, "bound-passed", Some(passed)).expect("a line")["least"],
        40
    );
    assert!(is_alarmed(&world, 1, "bound"));
    assert!(
        world.node(1).core.base.against.caught_among(2).is_some(),
        "no stock is made"
    );

    let next = submit(0, "left to a person".into(), None);
    until("it is known", || world.node(1).jobs().get(next).is_ok());
    let own = submit(1, "refused".into(), Some(with_data(&[("y", "y")])));
    until("it is over", || world.is_over(1, own));
    assert!(matches!(world.job(1, own).state, State::Failed(failure) if failure.kind == FailKind::Refused));
    until("its proposer has decided", || has_decided(&world, 0, next));
    assert!(!has_decided(&world, 1, next));
    world.settle_all();
    wait_done(&world, 1, submit(0, "settled".into(), None));
    world.verify();
}

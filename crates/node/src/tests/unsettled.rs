//! A peer that cheats, sees a moment before the others that it will be caught, and falls silent, again and again.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cenote_net::{Closer, Label, Step, step};
use cenote_service::job::{FailKind, JobId, State, StateName};
use cenote_service::live::{AlarmKind, Live};
use cenote_session::{Warning, WarningKind};
use cenote_testkit::{Adversary, Gate, Perturbation, Target as Position};

use crate::running_job::RunningJob;

use super::world::{ALL, PATIENCE, World, person, until, with_data};

/// "verify a proof" of protocol three: who is about to send this knows whether it will be caught.
pub(crate) const VERIFYING: u16 = 0x325;

/// What a cheating party has done, a session each.
#[derive(Clone, Default)]
pub(crate) struct Tries(pub(super) Arc<Mutex<Vec<Adversary>>>);

impl Tries {
    pub(crate) fn count(&self) -> usize {
        let all = self.0.lock().expect("no panic");
        all.iter().filter(|adversary| adversary.deviations() > 0).count()
    }
}

/// How a party spoils a message.
#[derive(Clone)]
pub(crate) enum How {
    /// A bit is wrong, so many hundredths of the message after its beginning.
    Flips(usize),
    /// It does not send it, and is gone.
    HangsUp,
    /// It does not send it until the others have given up.
    Withholds(Gate),
}

/// Party 2 spoils the first message of this step in each session of a job so.
pub(super) fn spoil(world: &World, code: u16, how: How) -> Tries {
    spoil_by(world, 2, code, how)
}

/// The same of any party.
pub(crate) fn spoil_by(world: &World, cheating: u8, code: u16, how: How) -> Tries {
    spoil_in(world, |name| name.starts_with("job "), (cheating, code), how)
}

/// The same in sessions whose names are such.
pub(super) fn spoil_in(
    world: &World,
    names: fn(&str) -> bool,
    (cheating, code): (u8, u16),
    how: How,
) -> Tries {
    let tries = Tries::default();
    let all = tries.clone();
    world
        .hub
        .spoil(Some(Arc::new(move |name, party, mut connections| {
            if !names(name) || party != cheating {
                return connections;
            }
            let gate = match &how {
                How::Withholds(gate) => gate.clone(),
                How::Flips(_) | How::HangsUp => Gate::new(),
            };
            let adversary = match how {
                How::Flips(hundredths) => flips(code, hundredths),
                How::HangsUp | How::Withholds(_) => {
                    let step = Step { code, name: "some" };
                    Adversary::new(Position::step(step), Perturbation::WithholdUntil(gate.clone()))
                }
            };
            all.0.lock().expect("no panic").push(adversary.clone());
            if matches!(how, How::HangsUp) {
                let closers: Vec<Closer> = connections.iter_mut().map(|channel| channel.closer()).collect();
                let seen = adversary.clone();
                std::thread::spawn(move || {
                    let start = Instant::now();
                    while seen.deviations() == 0 && start.elapsed() < PATIENCE {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    closers.iter().for_each(Closer::close);
                    gate.open();
                });
            }
            connections.map(move |channel| Box::new(adversary.wrap(Label::from("some"), channel)))
        })));
    tries
}

/// Flips a bit of the first message of this step.
fn flips(code: u16, hundredths: usize) -> Adversary {
    let mut done = false;
    Adversary::with(move |_, _, mut message| {
        if message.step.code == code && !std::mem::replace(&mut done, true) {
            let at = message.body.len() * hundredths / 100;
            message.body[at] ^= 1;
        }
        vec![message]
    })
}

/// Party 2 proposes a job and approves it, whatever it has on record itself.
pub(super) fn propose(world: &World, key: &str) -> JobId {
    world.settle(2);
    submit_approved(world, 2, key, &[])
}

/// A program submits a job at a party, and approves it with this data.
fn submit_approved(world: &World, party: u8, key: &str, data: &[(&str, &str)]) -> JobId {
    let mut submission = world.submission("add8", key);
    submission.approval = Some(with_data(data));
    let job = world.node(party).submit(submission, person());
    job.expect("submitted").proposal.id
}

/// Waits until a job that party 2 has proposed is known to the others, whose rules have decided by then or leave it to a person.
pub(crate) fn wait_known(world: &World, id: JobId) {
    for party in 0..2 {
        until("it is known", || world.node(party).jobs().get(id).is_ok());
    }
}

/// Whether a party has decided on a job.
pub(crate) fn has_decided(world: &World, party: u8, id: JobId) -> bool {
    world.job(party, id).decisions[usize::from(party)].is_some()
}

pub(crate) fn is_alarmed(world: &World, party: u8, of: &str) -> bool {
    let alarms = world.node(party).alarms();
    let mut unsettled = alarms.iter().filter(|alarm| alarm.kind == AlarmKind::Unsettled);
    unsettled.any(|alarm| alarm.text.contains(of))
}

pub(crate) fn wait_idle(world: &World) {
    until("nothing runs", || {
        world.nodes.iter().flatten().all(|node| node.running().is_empty())
    });
}

#[test]
fn a_peer_that_cheats_and_falls_silent_has_few_tries() {
    let mut world = World::new(3, ALL);
    let tries = spoil(&world, VERIFYING, How::HangsUp);
    for number in 0..3 {
        let id = propose(&world, &format!("try {number}"));
        world.wait_for(id, StateName::Failed);
        wait_idle(&world);
    }
    for party in 0..2 {
        until("an operator is told", || {
            is_alarmed(&world, party, "party 2 (party-2)")
        });
        let alarms = world.node(party).alarms();
        assert!(
            alarms.iter().all(|alarm| alarm.kind != AlarmKind::Cheating),
            "no check has failed"
        );
    }
    let fourth = propose(&world, "try 3");
    wait_known(&world, fourth);
    // It is on record, and not only in the process.
    world.kill(1);
    world.start(1);
    world.wait_ready();
    assert!(is_alarmed(&world, 1, "party 2 (party-2)"));
    let fifth = propose(&world, "try 4");
    wait_known(&world, fifth);
    for (party, id) in [(0, fourth), (1, fourth), (0, fifth), (1, fifth)] {
        assert!(
            !has_decided(&world, party, id),
            "a rule has approved it at party {party}"
        );
    }
    assert_eq!(tries.count(), 3);

    // A person can approve it all the same; what ends well makes good for nothing else.
    world.hub.spoil(None);
    for (party, data) in [(0, "x"), (1, "y")] {
        let approval = with_data(&[(&world.input(fourth, party), data)]);
        world
            .node(party)
            .approve(fourth, approval, person())
            .expect("approved");
    }
    world.wait_for(fourth, StateName::Done);
    let sixth = propose(&world, "no try");
    wait_known(&world, sixth);
    assert!(!has_decided(&world, 0, sixth) && !has_decided(&world, 1, sixth));
    world.settle_all();
    for party in 0..3 {
        assert!(!is_alarmed(&world, party, ""), "party {party}");
    }
    let seventh = propose(&world, "by rule");
    world.wait_for(seventh, StateName::Done);
    world.verify();
}

/// This party is patient: it goes on however often sessions break off.
fn make_patient(world: &World, party: u8) {
    let policy = world.path(party).join("policy.toml");
    std::fs::write(policy, format!("max_unsettled = 1000\n{ALL}")).expect("written");
    world.node(party).reload_policy().expect("a policy");
}

#[test]
fn a_peer_that_cheats_in_what_programs_submit_here_has_few_tries() {
    let world = World::new(3, ALL);
    // Nobody but party 0 is in the way.
    (1..3).for_each(|party| make_patient(&world, party));
    let tries = spoil(&world, VERIFYING, How::HangsUp);
    let submit = |key: &str| submit_approved(&world, 0, key, &[("x", "x")]);
    for number in 0..3 {
        world.wait_for(submit(&format!("try {number}")), StateName::Failed);
        wait_idle(&world);
    }
    for number in 3..6 {
        let id = submit(&format!("no try {number}"));
        world.wait_for(id, StateName::Failed);
        let State::Failed(failure) = world.job(0, id).state else {
            panic!("it has failed");
        };
        assert_eq!(failure.kind, FailKind::Refused);
        assert!(
            failure.reason.contains("`cenote peer settle"),
            "{}",
            failure.reason
        );
    }
    assert_eq!(tries.count(), 3);
    world.hub.spoil(None);
    world.settle(0);
    world.wait_for(submit("settled"), StateName::Done);
    world.verify();
}

#[test]
fn what_rules_have_approved_does_not_begin_after_a_few_tries() {
    let world = World::with(3, ALL, |settings| settings.jobs = 1);
    make_patient(&world, 2);
    let tries = spoil(&world, VERIFYING, How::HangsUp);
    let ids: Vec<JobId> = (0..8)
        .map(|number| propose(&world, &format!("try {number}")))
        .collect();
    for id in &ids {
        world.wait(*id, "ended", |state| !state.name().is_open());
    }
    assert_eq!(tries.count(), 3);
    let refused = |id: &&JobId| matches!(world.job(0, **id).state, State::Failed(failure) if failure.kind == FailKind::Refused);
    assert!(ids.iter().any(|id| refused(&id)), "the leader says so");
    world.verify();
}

#[test]
fn who_was_caught_has_no_second_try() {
    let mut world = World::new(3, ALL);
    let tries = spoil(&world, VERIFYING, How::Flips(0));
    let id = propose(&world, "caught");
    world.wait_for(id, StateName::Failed);
    wait_idle(&world);
    let catcher = (0..2)
        .find(|party| world.has_caught(*party, id))
        .expect("one has caught it");
    until("an operator is told", || is_alarmed(&world, catcher, "deviated"));
    world.kill(catcher);
    world.start(catcher);
    world.wait_ready();
    let next = propose(&world, "no second try");
    wait_known(&world, next);
    assert!(!has_decided(&world, catcher, next) && is_alarmed(&world, catcher, "deviated"));
    assert_eq!(tries.count(), 1);
    world.verify();
}

#[test]
fn a_party_whose_own_data_is_wrong_is_held_against_nobody() {
    let world = World::new(3, ALL);
    let file = world.path(1).join("data/y");
    for number in 0..4 {
        std::fs::write(&file, "no number\n").expect("written");
        let id = world.submit(0, &format!("wrong {number}")).proposal.id;
        world.wait_for(id, StateName::Failed);
        wait_idle(&world);
    }
    std::fs::write(&file, "22\n").expect("written");
    for party in 0..3 {
        assert_eq!(
            world.node(party).jobs().unsettled().expect("read"),
            [],
            "party {party}"
        );
    }
    let id = world.submit(0, "right").proposal.id;
    world.wait_for(id, StateName::Done);
    assert_eq!(world.learnt(0, id), ["0x2a"]);
}

#[test]
fn what_a_session_warns_of_reaches_the_operator() {
    let world = World::new(3, ALL);
    // "finish": party 2 is gone when all have their outputs.
    let tries = spoil(&world, 0x310, How::HangsUp);
    let id = propose(&world, "warned");
    wait_known(&world, id);
    for party in 0..2 {
        until("it is done", || world.is_over(party, id));
        assert_eq!(world.job(party, id).state, State::Done);
        assert_eq!(world.learnt(party, id), ["0x2a"]);
        let warned = || {
            let alarms = world.node(party).alarms();
            let mut warnings = alarms.iter().filter(|alarm| alarm.kind == AlarmKind::Warning);
            warnings.any(|alarm| alarm.text.contains("did not end in agreement"))
        };
        until("an operator is told", warned);
        let noted = || {
            let log = std::fs::read_to_string(world.node(party).database().audit_file()).expect("a log");
            let mut lines = log.lines().map(serde_json::from_str::<serde_json::Value>);
            // The last line may be half there.
            lines
                .any(|line| line.is_ok_and(|line| line["event"] == "warned" && line["job"] == id.to_string()))
        };
        until("it is in the audit log", noted);
        let all = world.node(party).jobs().unsettled().expect("read");
        assert!(
            all.iter()
                .any(|known| known.peer == 2 && known.times == 1 && !known.grave)
        );
    }
    assert_eq!(tries.count(), 1);
    world.verify();
}

/// A party who is gone while the parties compare what they are to do has tried nothing; one who is gone a message later may have.
#[test]
fn who_is_gone_before_all_have_agreed_has_had_no_try() {
    let world = World::new(3, ALL);
    let tries = spoil(&world, step::AGREE.code, How::HangsUp);
    let id = propose(&world, "early");
    for party in 0..2 {
        until("it has failed", || world.is_over(party, id));
    }
    wait_idle(&world);
    assert_eq!(tries.count(), 1);
    for party in 0..2 {
        assert_eq!(world.node(party).jobs().unsettled().expect("read"), []);
    }
    world.verify();
}

#[test]
fn a_warning_of_a_cheater_stands_beside_later_ones() {
    let world = World::new(2, ALL);
    let core = &world.node(0).core;
    let warned = |number: u8, warnings: &[(WarningKind, &str)]| {
        let running = RunningJob::new(JobId::of(0, [number; 15]), 2, None);
        let warnings = warnings.iter().map(|(kind, text)| Warning::new(*kind, *text));
        running.keep_warnings("jimu", warnings.collect());
        core.base.against.look_back(&running);
        core.base.against.tell_warnings();
    };
    let (cheated, unfinished) = (WarningKind::PeerCheated, WarningKind::NoAgreement);
    warned(1, &[(cheated, "party 1 cheated"), (unfinished, "no farewell")]);
    warned(2, &[(unfinished, "no farewell again")]);
    let texts: Vec<String> = core
        .base
        .monitor
        .alarms()
        .into_iter()
        .map(|alarm| alarm.text)
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("party 1 cheated")));
    assert!(texts.iter().any(|text| text.contains("no farewell again")));
    let log = std::fs::read_to_string(world.node(0).database().audit_file()).expect("a log");
    assert_eq!(log.matches("\"event\":\"warned\"").count(), 3);
}

#[test]
fn a_bound_that_is_passed_leaves_jobs_with_these_parties_to_persons() {
    let world = World::new(3, ALL);
    let id = world.submit(0, "passed").proposal.id;
    world.wait_for(id, StateName::Done);
    let (core, job) = (&world.node(1).core, world.job(1, id));
    core.base.against.check_bound(&job, -37.5);
    assert!(world.node(1).alarms().is_empty() && world.node(1).jobs().unsettled().expect("read").is_empty());
    core.base.against.check_bound(&job, -36.5);
    assert!(is_alarmed(&world, 1, "bound"));
    let alarms = world.node(1).alarms();
    let mut warnings = alarms.iter().filter(|alarm| alarm.kind == AlarmKind::Warning);
    assert!(warnings.any(|alarm| alarm.text.contains("2^-36") && alarm.text.contains(&id.to_string())));
    let log = std::fs::read_to_string(world.node(1).database().audit_file()).expect("a log");
    assert!(log.contains("\"event\":\"bound-passed\""));
    let next = propose(&world, "left to a person");
    wait_known(&world, next);
    assert!(has_decided(&world, 0, next) && !has_decided(&world, 1, next));
    // What a person has settled is held against them again only if it gets worse.
    world.settle_all();
    core.base.against.check_bound(&job, -36.5);
    let next = propose(&world, "the same bound");
    world.wait_for(next, StateName::Done);
    core.base.against.check_bound(&job, -35.5);
    let next = propose(&world, "a worse one");
    wait_known(&world, next);
    assert!(has_decided(&world, 0, next) && !has_decided(&world, 1, next));
    world.verify();
}

#[test]
fn who_withholds_an_opening_has_had_a_try() {
    let world = World::with(3, ALL, |settings| {
        settings.phase_timeout = Some(Duration::from_secs(2))
    });
    // "open output".
    let gate = Gate::new();
    let tries = spoil(&world, 0x30e, How::Withholds(gate.clone()));
    let id = propose(&world, "withheld");
    wait_known(&world, id);
    for party in 0..2 {
        until("it is given up", || world.is_over(party, id));
        assert_eq!(world.job(party, id).state.name(), StateName::Failed);
    }
    gate.open();
    wait_idle(&world);
    assert_eq!(tries.count(), 1);
    let against = |party: u8| {
        let all = world.node(party).jobs().unsettled().expect("read");
        all.iter()
            .any(|known| known.peer == 2 && known.times == 1 && !known.grave)
    };
    assert!(against(0) && against(1));
}

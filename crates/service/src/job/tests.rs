//! Jobs in a database.

pub(crate) mod bounds;
pub(crate) mod calls;
pub(crate) mod kept;
pub(crate) mod many;
pub(crate) mod results;
pub(crate) mod rulings;
mod transitions;
pub(crate) mod unsettled;

use super::*;
use std::collections::BTreeMap;

use crate::audit::{Actor, Event};
use crate::testing::{World, at, named, proposal, suite};
use crate::{Error, Pending, Policy, seen};

suite![
    a_job_goes_its_way,
    a_key_is_used_for_one_job,
    a_proposal_that_is_none_is_refused,
    what_was_running_has_failed_after_a_restart,
    a_job_that_is_interrupted_goes_on,
    a_job_ends_by_its_deadline,
    a_refused_step_changes_nothing,
    proposals_that_wait_for_this_party_are_counted,
    the_file_that_is_used_is_on_record,
    a_changed_row_is_no_job,
    what_was_taken_back_hides_no_job_of_a_proposer,
];

pub(super) fn jobs(world: &World) -> Jobs {
    Jobs::new(world.database(), Settings::new(0))
}

pub(super) fn person() -> Actor {
    Actor::Person("ada".into())
}

pub(super) fn binding() -> Vec<Binding> {
    vec![Binding::new("left", Source::Data("sales".into()))]
}

pub(super) fn body(number: u8) -> Digest {
    Digest::of(&[number])
}

pub(super) fn propose(jobs: &Jobs, number: u8) -> JobId {
    let (job, new) = jobs
        .propose(proposal(number), body(number), person(), at(0))
        .expect("proposed");
    assert!(new);
    job.proposal.id
}

pub(super) fn approval(number: u8) -> Remote {
    Remote::Approve {
        proposal: proposal(number).digest(),
    }
}

pub(super) fn hear_approvals(jobs: &Jobs, number: u8) -> Job {
    let id = named(number);
    jobs.hear(id, 1, approval(number), at(2)).expect("heard");
    jobs.hear(id, 2, approval(number), at(3)).expect("heard")
}

/// A job that runs, however often others broke off.
pub(super) fn run(jobs: &Jobs, number: u8) -> JobId {
    let id = propose(jobs, number);
    jobs.approve(id, binding(), String::new(), person(), at(1))
        .expect("approved");
    hear_approvals(jobs, number);
    jobs.queue(id, at(4)).expect("queued");
    let patient = Policy::parse("policy.toml", "max_unsettled = 1000\n", &[]).expect("a policy");
    jobs.begin_start(id, BTreeMap::new(), &patient, at(5))
        .and_then(Pending::wait)
        .expect("runs");
    id
}

pub(super) fn events(world: &World) -> Vec<String> {
    let event = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line["event"].as_str().expect("a name").to_owned()
    };
    world.log().lines().skip(1).map(event).collect()
}

fn a_job_goes_its_way(mut world: World) {
    let jobs = jobs(&world);
    let id = propose(&jobs, 1);
    assert_eq!(jobs.get(id).expect("there").state, State::Proposed);
    jobs.approve(id, binding(), String::new(), person(), at(1))
        .expect("approved");
    assert_eq!(hear_approvals(&jobs, 1).state, State::Approved);
    assert_eq!(jobs.queue(id, at(4)).expect("queued").state, State::Queued);
    assert_eq!(jobs.start(id, at(5)).expect("runs").state, State::Running);
    let done = jobs.finish(id, Gains::default(), at(6)).expect("done");
    assert_eq!(done.state, State::Done);
    assert_eq!((done.created_at, done.changed_at), (at(0), at(6)));
    assert_eq!(done.binding, binding());
    let expected = [
        "proposed", "decided", "decided", "decided", "queued", "running", "done",
    ];
    assert_eq!(events(&world), expected);
    drop(jobs);
    world.reopen();
    assert_eq!(self::jobs(&world).get(id).expect("there"), done);
    world.database().verify_audit().expect("whole");
}

fn proposals_that_wait_for_this_party_are_counted(world: World) {
    let jobs = jobs(&world);
    let undecided = || {
        let found = jobs.undecided().expect("read");
        (found.count, found.oldest)
    };
    assert_eq!(undecided(), (0, None));
    for number in 1..=3_u8 {
        jobs.propose(proposal(number), body(number), person(), at(u64::from(number)))
            .expect("proposed");
    }
    assert_eq!(undecided(), (3, Some(at(1))));
    jobs.approve(named(1), binding(), String::new(), person(), at(4))
        .expect("approved");
    // What a peer has decided does not count.
    jobs.hear(named(3), 1, approval(3), at(5)).expect("heard");
    assert_eq!(undecided(), (2, Some(at(2))));
    jobs.cancel(named(2), person(), at(6)).expect("cancelled");
    assert_eq!(undecided(), (1, Some(at(3))));
}

fn a_key_is_used_for_one_job(world: World) {
    let jobs = jobs(&world);
    let id = propose(&jobs, 1);
    let mut again = proposal(2);
    again.idempotency_key = proposal(1).idempotency_key;
    let (job, new) = jobs
        .propose(again.clone(), body(1), person(), at(9))
        .expect("the same");
    assert_eq!((job.proposal.id, new), (id, false));
    let error = jobs
        .propose(again.clone(), body(2), person(), at(9))
        .expect_err("another body");
    assert!(matches!(error, Error::OtherBody { job } if job == id), "{error}");
    // It can be looked up before anything is done for it.
    let key = again.idempotency_key.clone();
    let found = jobs.repeated(key.clone(), body(1)).expect("looked up");
    assert_eq!(found.map(|job| job.proposal.id), Some(id));
    let error = jobs.repeated(key, body(2)).expect_err("another body");
    assert!(matches!(error, Error::OtherBody { job } if job == id), "{error}");
    assert_eq!(jobs.repeated("unused".into(), body(1)).expect("looked up"), None);
    // Keys of two parties are two keys.
    (again.proposer, again.id) = (1, JobId::of(1, [2; 15]));
    let (_, new) = jobs
        .propose(again, body(2), Actor::Peer(1), at(9))
        .expect("another's");
    assert!(new);
    // The name of a job is used for one job too.
    let mut other = proposal(1);
    other.idempotency_key = "new".into();
    let error = jobs.propose(other, body(1), person(), at(9)).expect_err("known");
    assert!(matches!(error, Error::SameName { job } if job == id), "{error}");
    assert_eq!(events(&world), ["proposed", "proposed"]);
}

fn a_proposal_that_is_none_is_refused(world: World) {
    let jobs = jobs(&world);
    let mut number = 0;
    let mut refused = |by: Actor, change: &dyn Fn(&mut Proposal)| {
        number += 1;
        let mut changed = proposal(number);
        change(&mut changed);
        let error = jobs
            .propose(changed, body(number), by, at(0))
            .expect_err("refused");
        assert!(matches!(error, Error::Proposal(_)), "case {number}: {error}");
    };
    refused(Actor::Peer(1), &|_| {});
    refused(person(), &|proposal| proposal.proposer = 1);
    refused(person(), &|proposal| proposal.parties = 1);
    refused(person(), &|proposal| proposal.parties = 4);
    refused(Actor::Peer(3), &|proposal| proposal.proposer = 3);
    refused(person(), &|proposal| proposal.receivers.clear());
    refused(person(), &|proposal| proposal.receivers = vec![1, 0]);
    refused(person(), &|proposal| proposal.receivers = vec![1, 1]);
    refused(person(), &|proposal| proposal.receivers = vec![3]);
    refused(person(), &|proposal| proposal.inputs[0].owner = 3);
    refused(person(), &|proposal| proposal.inputs[0].name = "right".into());
    refused(person(), &|proposal| proposal.inputs[0].name.clear());
    refused(person(), &|proposal| proposal.inputs[0].kind = "u32\n".into());
    refused(person(), &|proposal| {
        proposal.inputs[0].name = "a\u{202e}b".into()
    });
    refused(person(), &|proposal| proposal.protocol = "a".repeat(129));
    refused(person(), &|proposal| proposal.idempotency_key.clear());
    refused(person(), &|proposal| {
        proposal.inputs = vec![proposal.inputs[0].clone(); 65]
    });
    refused(person(), &|proposal| proposal.deadline = at(0));
    assert_eq!(events(&world), [""; 0]);
    jobs.propose(proposal(99), body(99), person(), at(0))
        .expect("as it is, it is one");
}

fn what_was_running_has_failed_after_a_restart(mut world: World) {
    let before = jobs(&world);
    let (first, second) = (propose(&before, 1), propose(&before, 2));
    before
        .approve(second, binding(), String::new(), person(), at(1))
        .expect("approved");
    hear_approvals(&before, 2);
    before.queue(second, at(4)).expect("queued");
    let third = run(&before, 3);
    let fourth = run(&before, 4);
    before.finish(fourth, Gains::default(), at(6)).expect("done");
    drop(before);
    world.reopen();
    let jobs = jobs(&world);
    let (failed, open) = jobs.restart(|_| false, at(50)).expect("restarted");
    let ids = |jobs: &[Job]| jobs.iter().map(|job| job.proposal.id).collect::<Vec<JobId>>();
    assert_eq!(ids(&failed), [third]);
    assert_eq!(ids(&open), [first, second]);
    assert!(
        matches!(
            &failed[0].state,
            State::Failed(Failure {
                by: 0,
                kind: FailKind::Restarted,
                ..
            })
        ),
        "{:?}",
        failed[0].state
    );
    assert_eq!(jobs.get(fourth).expect("there").state, State::Done);
    jobs.start(second, at(51)).expect("goes on");
    // It has failed for good.
    let error = jobs.start(third, at(51)).expect_err("failed");
    assert!(matches!(error, Error::NoTransition { .. }), "{error}");
    assert_eq!(
        ids(&jobs.restart(|_| false, at(52)).expect("restarted").0),
        [second]
    );
}

fn a_job_that_is_interrupted_goes_on(mut world: World) {
    let before = jobs(&world);
    let id = run(&before, 1);
    let cut_off = before.interrupt(id, "a cable\nwas cut".into(), at(6));
    let cut_off = cut_off.expect("interrupted");
    assert_eq!(cut_off.interrupted.as_deref(), Some("a cable was cut"));
    assert_eq!(before.get(id).expect("there"), cut_off);
    let reason = seen(cut_off, &[], None).reason.expect("it waits");
    assert!(reason.contains("a cable was cut"), "{reason}");
    assert!(before.interrupt(id, "again".into(), at(6)).is_err(), "it waits");
    let restarted = |jobs: &Jobs| jobs.restart(|_| true, at(7)).expect("restarted");
    assert_eq!(restarted(&before).1[0].runs, 1);
    before.start(id, at(8)).expect("goes on");
    drop(before);
    world.reopen();
    let jobs = jobs(&world);
    let (failed, open) = restarted(&jobs);
    assert!(failed.is_empty() && open[0].is_interrupted());
    jobs.start(id, at(9)).expect("goes on");
    let done = jobs.finish(id, Gains::default(), at(10)).expect("done");
    assert_eq!((done.runs, jobs.get(id).expect("there")), (3, done));
    // Its data was disclosed once.
    let program = Digest::of(b"program");
    assert_eq!(jobs.disclosures(program, "sales".into()).expect("read"), 1);
    let way = [
        "queued",
        "running",
        "interrupted",
        "running",
        "interrupted",
        "running",
        "done",
    ];
    assert_eq!(events(&world)[4..], way);
    assert!(world.log().contains("\"reason\":\"a cable was cut\""));
    world.database().verify_audit().expect("whole");
}

fn a_job_ends_by_its_deadline(world: World) {
    let jobs = jobs(&world);
    let proposed = propose(&jobs, 1);
    let running = run(&jobs, 2);
    let done = run(&jobs, 3);
    jobs.finish(done, Gains::default(), at(6)).expect("done");
    assert_eq!(jobs.expire(at(99_999), |_| None).expect("looked"), []);
    let expired = jobs.expire(at(100_000), |_| None).expect("looked");
    let expired: Vec<JobId> = expired.iter().map(|job| job.proposal.id).collect();
    assert_eq!(expired, [proposed]);
    let state = jobs.get(proposed).expect("there").state;
    let kind = FailKind::Deadline;
    assert!(
        matches!(&state, State::Failed(failure) if failure.kind == kind),
        "{state:?}"
    );
    // What runs may have learnt its outputs.
    jobs.finish(running, Gains::default(), at(100_000)).expect("done");
    assert_eq!(jobs.expire(at(100_001), |_| None).expect("looked"), []);
}

fn a_refused_step_changes_nothing(world: World) {
    let jobs = jobs(&world);
    let id = propose(&jobs, 1);
    let before = (jobs.get(id).expect("there"), world.log());
    let errors = [
        jobs.start(id, at(1)),
        jobs.finish(id, Gains::default(), at(1)),
        jobs.hear(id, 0, Remote::Cancel, at(1)),
        jobs.hear(id, 3, Remote::Cancel, at(1)),
        jobs.hear(id, 1, approval(2), at(1)),
        jobs.approve(id, vec![], String::new(), person(), at(1)),
        jobs.approve(
            id,
            [binding(), binding()].concat(),
            String::new(),
            person(),
            at(1),
        ),
        jobs.hear(named(9), 1, approval(1), at(1)),
    ];
    let errors = errors.map(|outcome| outcome.expect_err("refused"));
    assert!(
        matches!(
            &errors[..],
            [
                Error::NoTransition { .. },
                Error::NoTransition { .. },
                Error::NoTransition { .. },
                Error::NoTransition { .. },
                Error::OtherProposal { .. },
                Error::Proposal(_),
                Error::Proposal(_),
                Error::NoJob(_),
            ]
        ),
        "{errors:?}"
    );
    assert_eq!(
        errors[0].to_string(),
        format!("job {id} is proposed, so that starting by this party is not possible")
    );
    assert_eq!((jobs.get(id).expect("there"), world.log()), before);
    assert_eq!(
        jobs.disclosures(Digest::of(b"program"), "sales".into())
            .expect("read"),
        0
    );
}

fn the_file_that_is_used_is_on_record(world: World) {
    let jobs = jobs(&world);
    let mark = |bytes| FileMark {
        bytes,
        changed: at(1),
    };
    let approved = |number: u8, file: Option<FileMark>| {
        let id = propose(&jobs, number);
        let binding = binding().into_iter().map(|bound| Binding { file, ..bound });
        jobs.approve(id, binding.collect(), String::new(), person(), at(1))
            .expect("approved");
        hear_approvals(&jobs, number);
        jobs.queue(id, at(4)).expect("queued");
        let found = BTreeMap::from([("sales".into(), mark(7)), ("other".into(), mark(8))]);
        let job = jobs
            .begin_start(id, found, &Policy::ask(), at(5))
            .and_then(Pending::wait);
        job.expect("runs").0.binding[0].file
    };
    // What was there when a person approved stays; else it is what is there at the beginning.
    assert_eq!(approved(1, Some(mark(5))), Some(mark(5)));
    assert_eq!(approved(2, None), Some(mark(7)));
    let used = |bytes: u64| format!("\"data\":[{{\"name\":\"sales\",\"bytes\":{bytes},\"changed\":\"");
    let log = world.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("\"running\"")).collect();
    assert!(
        lines[0].contains(&used(5)) && lines[1].contains(&used(7)),
        "{lines:?}"
    );
}

fn a_changed_row_is_no_job(world: World) {
    let jobs = jobs(&world);
    let id = propose(&jobs, 1);
    for sql in [
        "UPDATE job SET state = 'done', ending = '{\"Cancelled\":{\"by\":0}}'",
        "UPDATE job SET state = 'finished', ending = NULL",
        "UPDATE job SET state = 'proposed', decisions = '[1]'",
        "UPDATE job SET decisions = '[null,null,null]', proposal = '{}'",
    ] {
        world
            .database()
            .write(move |transaction| transaction.run(sql, &[]))
            .expect("changed");
        assert!(matches!(jobs.get(id), Err(Error::Corrupt(_))), "{sql}");
    }
    // It stands in no other's way.
    let other = propose(&jobs, 2);
    let names = |jobs: Vec<Job>| jobs.iter().map(|job| job.proposal.id).collect::<Vec<JobId>>();
    let (failed, open) = jobs.restart(|_| false, at(1)).expect("up again");
    assert_eq!((failed.len(), names(open)), (0, vec![other]));
    let page = |state, before| {
        let request = PageRequest {
            state,
            before,
            limit: 1,
        };
        jobs.list(request).expect("read")
    };
    let first = page(Some(StateName::Proposed), None);
    assert_eq!(names(first.jobs), [other]);
    let last = page(Some(StateName::Proposed), first.next);
    assert_eq!((last.jobs.len(), last.next), (0, None));
    assert_eq!(
        names(jobs.expire(at(1_000_000), |_| None).expect("expired")),
        [other]
    );
    let hurt = "UPDATE job SET proposal = '{}'";
    let hurt = world
        .database()
        .write(move |transaction| transaction.run(hurt, &[]));
    hurt.expect("changed");
    let first = page(None, None);
    let last = page(None, first.next);
    assert!(first.jobs.is_empty() && last.jobs.is_empty());
    assert_eq!((first.next.is_some(), last.next), (true, None));
}

fn what_was_taken_back_hides_no_job_of_a_proposer(world: World) {
    let jobs = jobs(&world);
    let ran = run(&jobs, 1);
    jobs.finish(ran, Gains::default(), at(6)).expect("done");
    let open = propose(&jobs, 2);
    for number in 3..6 {
        let id = propose(&jobs, number);
        jobs.cancel(id, person(), at(7)).expect("cancelled");
    }
    let page = |before, limit| {
        let page = jobs.of_proposer(0, before, limit).expect("read");
        let names: Vec<JobId> = page.jobs.iter().map(|job| job.proposal.id).collect();
        (names, page.next)
    };
    assert_eq!(page(u64::MAX, 2), (vec![open, ran], None));
    let (first, next) = page(u64::MAX, 1);
    assert_eq!(first, [open]);
    assert_eq!(page(next.expect("more"), 1), (vec![ran], None));
    assert_eq!(jobs.of_proposer(1, u64::MAX, 9).expect("read").jobs.len(), 0);
}

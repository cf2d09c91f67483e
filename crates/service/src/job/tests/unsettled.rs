//! Sessions that have begun with a peer and not ended in agreement.

use super::*;
use crate::job::{Tried, Unsettled};
use crate::policy::{Size, Verdict};

suite![
    a_session_is_on_record_until_it_has_ended_in_agreement,
    what_broke_off_together_counts_once,
    an_interrupted_job_goes_on_until_a_check_has_failed,
    an_interrupted_job_in_which_nothing_was_tried_waits_for_a_person,
    a_rule_asks_after_a_few_and_after_a_grave_one,
    only_what_a_person_has_approved_of_a_peers_begins_after_a_few,
    a_service_that_stops_in_order_holds_it_against_nobody,
    the_record_stays_bounded,
    a_grave_record_outlives_sessions_of_the_same_name,
    sessions_of_three_do_not_count_for_jobs_of_two,
    a_bound_is_held_again_only_if_it_gets_worse,
    a_person_settles_what_it_has_seen,
];

const SIZE: Size = Size { ands: 1, bytes: 1 };

fn policy() -> Policy {
    let parties = ["acme", "bank", "clinic"].map(String::from);
    let text = "[[rule]]\nname = \"all\"\ndata = \"any\"\nthen = \"approve\"\n";
    Policy::parse("policy.toml", text, &parties).expect("a policy")
}

fn fail(jobs: &Jobs, id: JobId) {
    jobs.fail(id, FailKind::PeerLost, "gone".into(), at(9))
        .expect("failed");
}

/// How often each peer's sessions broke off.
fn times(jobs: &Jobs) -> Vec<(u8, u64)> {
    let all = jobs.unsettled().expect("read");
    all.iter().map(|known| (known.peer, known.times)).collect()
}

fn unsettled(peer: u8, times: u64, grave: bool) -> Unsettled {
    Unsettled { peer, times, grave }
}

/// A check has failed, and names party 2 or nobody.
fn catch(jobs: &Jobs, tried: Tried, peer: Option<u8>) {
    let event = Event::CheckFailed {
        job: tried.job(),
        peer,
        check: "MACs".into(),
    };
    jobs.hold_against(tried, 3, peer, event, at(3)).expect("noted");
}

/// A person has looked into all of it.
fn settle_all(jobs: &Jobs) {
    for seen in jobs.unsettled().expect("read") {
        assert!(jobs.settle(seen, person(), at(9)).expect("settled"));
    }
}

fn a_session_is_on_record_until_it_has_ended_in_agreement(mut world: World) {
    let jobs = jobs(&world);
    let done = run(&jobs, 1);
    assert_eq!(times(&jobs), [], "it runs");
    jobs.finish(done, Gains::default(), at(6)).expect("done");
    assert_eq!(times(&jobs), []);
    fail(&jobs, run(&jobs, 2));
    assert_eq!(times(&jobs), [(1, 1), (2, 1)]);
    // A peer's word ends it as well, and so does a person here: who waits for nothing any more.
    let said = Remote::Fail {
        kind: FailKind::BadInput,
        reason: "so it says".into(),
        waited_for: None,
    };
    jobs.hear(run(&jobs, 3), 1, said, at(9)).expect("heard");
    jobs.cancel(run(&jobs, 4), person(), at(9)).expect("cancelled");
    assert_eq!(times(&jobs), [(1, 3), (2, 3)]);
    // What was killed while it ran counts, too.
    run(&jobs, 5);
    drop(jobs);
    world.reopen();
    let jobs = self::jobs(&world);
    jobs.restart(|_| false, at(10)).expect("up again");
    assert_eq!(times(&jobs), [(1, 4), (2, 4)]);
    // This party may have its outputs all the same.
    let id = run(&jobs, 6);
    let gains = Gains {
        broken_off: true,
        ..Gains::default()
    };
    jobs.finish(id, gains, at(11)).expect("done");
    assert_eq!(times(&jobs), [(1, 5), (2, 5)]);
    // What never ran, or in which nothing could be tried, does not count.
    let never = propose(&jobs, 7);
    jobs.cancel(never, person(), at(12)).expect("cancelled");
    let id = run(&jobs, 8);
    fail(&jobs, id);
    drop_last_run(&jobs, id);
    assert_eq!(times(&jobs), [(1, 5), (2, 5)]);
    let of_one = unsettled(1, 5, false);
    assert!(jobs.settle(of_one, person(), at(13)).expect("settled"));
    assert_eq!(times(&jobs), [(2, 5)]);
    assert!(!jobs.settle(of_one, person(), at(13)).expect("nothing to do"));
    assert_eq!(events(&world).last().map(String::as_str), Some("settled"));
    world.database().verify_audit().expect("whole");
}

/// Each interruption is on record. There are no more than the job has attempts, so they do not keep it from going on.
fn an_interrupted_job_goes_on_until_a_check_has_failed(world: World) {
    let jobs = jobs(&world);
    let id = run(&jobs, 1);
    for times_so_far in 1..=5 {
        jobs.interrupt(id, "cut off".into(), at(6)).expect("interrupted");
        assert_eq!(times(&jobs), [(1, times_so_far), (2, times_so_far)]);
        jobs.start(id, at(7)).expect("goes on");
    }
    jobs.interrupt(id, "cut off".into(), at(8)).expect("interrupted");
    catch(&jobs, Tried::Job(named(9)), Some(2));
    let error = jobs.start(id, at(9)).expect_err("party 2 was caught");
    assert!(matches!(error, Error::Unsettled(_)), "{error}");
    settle_all(&jobs);
    jobs.start(id, at(9)).expect("goes on");
}

/// A peer that cuts a first run off before it could be tried in has gained nothing by that.
fn an_interrupted_job_in_which_nothing_was_tried_waits_for_a_person(world: World) {
    let (jobs, policy) = (jobs(&world), policy());
    let (idle, tried) = (run(&jobs, 1), run(&jobs, 2));
    for id in [idle, tried] {
        if id == idle {
            drop_last_run(&jobs, id);
        }
        jobs.interrupt(id, "cut off".into(), at(6)).expect("interrupted");
    }
    (3..=5).for_each(|number| fail(&jobs, run(&jobs, number)));
    let start = |id| {
        let asked = jobs.begin_start(id, BTreeMap::new(), &policy, at(7));
        asked.and_then(Pending::wait)
    };
    let error = start(idle).expect_err("a person has to look into it");
    assert!(matches!(error, Error::Unsettled(_)), "{error}");
    start(tried).expect("it has its attempts");
    settle_all(&jobs);
    start(idle).expect("it is settled");
}

fn what_broke_off_together_counts_once(world: World) {
    let jobs = jobs(&world);
    let together: Vec<JobId> = (1..=5).map(|number| run(&jobs, number)).collect();
    together[..4].iter().for_each(|id| fail(&jobs, *id));
    assert_eq!(times(&jobs), [(1, 1), (2, 1)]);
    let next = run(&jobs, 6);
    fail(&jobs, together[4]);
    assert_eq!(times(&jobs), [(1, 1), (2, 1)], "it had begun before");
    fail(&jobs, next);
    assert_eq!(times(&jobs), [(1, 2), (2, 2)]);
}

fn a_rule_asks_after_a_few_and_after_a_grave_one(world: World) {
    let (jobs, policy) = (jobs(&world), policy());
    let rule = |number| {
        let id = propose(&jobs, number);
        let ruled = jobs.begin_rule(id, &policy, SIZE, binding(), at(1));
        ruled.and_then(Pending::wait).expect("ruled").0.verdict
    };
    for number in 1..=3 {
        assert_eq!(rule(10 + number), Verdict::Approve);
        fail(&jobs, run(&jobs, number));
    }
    assert_eq!(rule(20), Verdict::Ask);
    settle_all(&jobs);
    assert_eq!(rule(21), Verdict::Approve);
    let id = run(&jobs, 4);
    catch(&jobs, Tried::Job(id), Some(2));
    fail(&jobs, id);
    let caught = unsettled(2, 1, true);
    assert_eq!(jobs.unsettled().expect("read"), [caught], "party 1 has no blame");
    // That is nothing in which nothing can have been tried.
    drop_last_run(&jobs, id);
    assert_eq!(rule(22), Verdict::Ask);
    assert!(events(&world).contains(&"check-failed".to_owned()));
}

fn only_what_a_person_has_approved_of_a_peers_begins_after_a_few(world: World) {
    let (jobs, policy) = (jobs(&world), policy());
    let queue = |number| {
        hear_approvals(&jobs, number);
        jobs.queue(named(number), at(4)).expect("queued");
        named(number)
    };
    propose(&jobs, 1);
    jobs.begin_rule(named(1), &policy, SIZE, binding(), at(1))
        .and_then(Pending::wait)
        .expect("ruled");
    let ruled = queue(1);
    propose(&jobs, 2);
    jobs.approve(named(2), binding(), String::new(), person(), at(1))
        .expect("approved");
    let own = queue(2);
    let (decided, ruled_of_peer) = (
        queue_of_peer(&jobs, 6, None),
        queue_of_peer(&jobs, 7, Some(&policy)),
    );
    (3..=5).for_each(|number| fail(&jobs, run(&jobs, number)));
    let start = |id| {
        let asked = jobs.begin_start(id, BTreeMap::new(), &policy, at(5));
        asked.and_then(Pending::wait)
    };
    let refused = [ruled, own, ruled_of_peer];
    for id in refused {
        let error = start(id).expect_err("a person has to look into it");
        assert!(
            matches!(error, Error::Unsettled(_)) && error.to_string().contains("cenote peer settle 1"),
            "{error}"
        );
        assert_eq!(jobs.get(id).expect("there").state, State::Queued);
    }
    assert_eq!(start(decided).expect("a person has").0.state, State::Running);
    settle_all(&jobs);
    for id in refused {
        start(id).expect("it is settled");
    }
}

fn a_service_that_stops_in_order_holds_it_against_nobody(world: World) {
    let jobs = jobs(&world);
    let id = run(&jobs, 1);
    jobs.fail(id, FailKind::Restarted, "stopped".into(), at(9))
        .expect("failed");
    assert_eq!(times(&jobs), []);
}

/// So many sessions of three with party 1 that broke off: one after another, or all together.
const SEQUENCE: &str = "WITH RECURSIVE copy (n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM copy WHERE n < $1)
    INSERT INTO unsettled (peer, began, ended, session, fewest, grave) SELECT 1, 2 * n, 2 * n + 1, 'some', 3, 0 FROM copy";
const TOGETHER: &str = "WITH RECURSIVE copy (n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM copy WHERE n < $1)
    INSERT INTO unsettled (peer, began, ended, session, fewest, grave) SELECT 1, n, 20000 + n, 'some', 3, 0 FROM copy";

fn fill(world: &World, sql: &'static str, rows: i64) {
    let written = world.database().write(move |transaction| {
        transaction.run("DELETE FROM unsettled", &[])?;
        transaction.run("UPDATE unsettled_last SET number = 50000", &[])?;
        transaction.run(sql, &[rows.into()])
    });
    assert_eq!(written.expect("written"), rows as u64);
}

fn rows_of_one(world: &World) -> i64 {
    let count = "SELECT COUNT(*) FROM unsettled WHERE peer = 1";
    let row = world.database().read(|connection| connection.one(count, &[]));
    row.expect("read").expect("a row").integer(0).expect("a count")
}

fn the_record_stays_bounded(world: World) {
    let jobs = jobs(&world);
    let (one, two) = (run(&jobs, 1), run(&jobs, 2));
    fill(&world, TOGETHER, tries::KEPT - 1);
    assert_eq!(times(&jobs), [(1, 1)]);
    for number in 3..=6 {
        fail(&jobs, run_of_peer(&jobs, number));
        assert_eq!(rows_of_one(&world), tries::KEPT);
        // So many are too much for any policy, though they broke off together.
        assert_eq!(times(&jobs)[0], (1, 1000));
    }
    for id in [one, two] {
        catch(&jobs, Tried::Stock(id), None);
        assert_eq!(rows_of_one(&world), tries::KEPT);
        assert_eq!(jobs.unsettled().expect("read")[0], unsettled(1, 1000, true));
    }
    // No more is read than it takes to know that it is too much, but all peers are looked at.
    fill(&world, SEQUENCE, tries::KEPT);
    catch(&jobs, Tried::Stock(one), Some(1));
    catch(&jobs, Tried::Stock(one), Some(2));
    let before = world.database().work();
    let known = jobs.unsettled().expect("read");
    let after = world.database().work();
    assert_eq!(known, [unsettled(1, 1000, true), unsettled(2, 1, true)]);
    let (rows, steps) = (after.rows - before.rows, after.steps - before.steps);
    assert!(rows < 1010 && steps < 50_000, "{rows} rows, {steps} steps");
}

/// A job that a peer has proposed, a person here has approved, and that runs whatever is on record.
fn run_of_peer(jobs: &Jobs, number: u8) -> JobId {
    let id = queue_of_peer(jobs, number, None);
    jobs.start(id, at(5)).expect("runs");
    id
}

fn queue_of_peer(jobs: &Jobs, number: u8, by_rule: Option<&Policy>) -> JobId {
    let mut proposal = proposal(number);
    (proposal.proposer, proposal.id) = (1, JobId::of(1, [number; 15]));
    let (id, digest) = (proposal.id, proposal.digest());
    jobs.propose(proposal, body(number), Actor::Peer(1), at(0))
        .expect("proposed");
    if let Some(policy) = by_rule {
        let ruled = jobs.begin_rule(id, policy, SIZE, binding(), at(1));
        ruled.and_then(Pending::wait).expect("ruled");
    } else {
        jobs.approve(id, binding(), String::new(), person(), at(1))
            .expect("approved");
    }
    for peer in [1, 2] {
        let says = Remote::Approve { proposal: digest };
        jobs.hear(id, peer, says, at(2)).expect("heard");
    }
    jobs.queue(id, at(4)).expect("queued");
    id
}

fn a_grave_record_outlives_sessions_of_the_same_name(world: World) {
    let jobs = jobs(&world);
    let caught = [unsettled(2, 1, true)];
    // The leader names runs that make stock, and a proposer jobs: one may take the other's name.
    let id = JobId::of(1, [1; 15]);
    catch(&jobs, Tried::Stock(id), Some(2));
    assert_eq!(run_of_peer(&jobs, 1), id);
    jobs.finish(id, Gains::default(), at(6)).expect("done");
    assert_eq!(jobs.unsettled().expect("read"), caught);
    drop_last_run(&jobs, id);
    assert_eq!(jobs.unsettled().expect("read"), caught);
    settle_all(&jobs);
    let id = run_of_peer(&jobs, 2);
    catch(&jobs, Tried::Job(id), Some(2));
    fail(&jobs, id);
    catch(&jobs, Tried::Stock(id), Some(1));
    let both = [unsettled(1, 1, true), unsettled(2, 1, true)];
    assert_eq!(jobs.unsettled().expect("read"), both);
    // A job that was forgotten may be proposed again.
    let broken = run_of_peer(&jobs, 3);
    fail(&jobs, broken);
    let before = jobs.unsettled().expect("read");
    assert_eq!(before, [unsettled(1, 2, true), unsettled(2, 2, true)]);
    assert_eq!(jobs.prune(at(200_000)).expect("forgotten"), 3);
    for number in [2, 3] {
        let id = run_of_peer(&jobs, number);
        match number {
            2 => drop(jobs.finish(id, Gains::default(), at(6)).expect("done")),
            _ => {
                fail(&jobs, id);
                drop_last_run(&jobs, id);
            }
        }
        assert_eq!(jobs.unsettled().expect("read"), before);
    }
}

/// A proposal of party 0 and a peer alone.
fn rule_of_two(jobs: &Jobs, policy: &Policy, number: u8) -> Verdict {
    let mut proposal = proposal(number);
    proposal.parties = 2;
    proposal.inputs.pop();
    let id = proposal.id;
    jobs.propose(proposal, body(number), person(), at(0))
        .expect("proposed");
    let ruled = jobs.begin_rule(id, policy, SIZE, binding(), at(1));
    ruled.and_then(Pending::wait).expect("ruled").0.verdict
}

fn sessions_of_three_do_not_count_for_jobs_of_two(world: World) {
    let (jobs, policy) = (jobs(&world), policy());
    (1..=3).for_each(|number| fail(&jobs, run(&jobs, number)));
    catch(&jobs, Tried::Stock(named(4)), None);
    assert_eq!(
        jobs.unsettled().expect("read"),
        [unsettled(1, 4, true), unsettled(2, 4, true)]
    );
    assert_eq!(jobs.unsettled_among(2).expect("read"), []);
    assert_eq!(rule_of_two(&jobs, &policy, 20), Verdict::Approve);
    // What names the peer counts for all, and so do sessions of two.
    catch(&jobs, Tried::Stock(named(5)), Some(1));
    assert_eq!(rule_of_two(&jobs, &policy, 21), Verdict::Ask);
    settle_all(&jobs);
    let event = Event::CheckFailed {
        job: None,
        peer: None,
        check: "MACs".into(),
    };
    jobs.hold_against(Tried::Stock(named(6)), 2, None, event, at(3))
        .expect("noted");
    assert_eq!(rule_of_two(&jobs, &policy, 22), Verdict::Ask);
    let of_three = jobs.unsettled_among(3).expect("read");
    assert_eq!(of_three, [unsettled(1, 1, true)]);
}

fn drop_last_run(jobs: &Jobs, id: JobId) {
    let run = jobs
        .database
        .read(move |connection| tries::last_run(connection, Tried::Job(id)));
    if let Some(run) = run.expect("read") {
        jobs.drop_run(run).expect("noted");
    }
}

fn a_bound_is_held_again_only_if_it_gets_worse(mut world: World) {
    let jobs = jobs(&world);
    let pass_under = |jobs: &Jobs, floor: u16, number: u8, bits: u16, parties: u8| {
        let event = Event::BoundPassed {
            job: named(number),
            bits,
            least: floor,
        };
        jobs.hold_against(Tried::Bound { bits, floor }, parties, None, event, at(3))
            .expect("noted");
        jobs.unsettled().expect("read")
    };
    let pass = |jobs: &Jobs, number, bits, parties| pass_under(jobs, 40, number, bits, parties);
    let once = [unsettled(1, 1, true)];
    assert_eq!(pass(&jobs, 1, 36, 2), once);
    // The next job has the same bound, before a person has settled it and after that.
    assert_eq!(pass(&jobs, 2, 36, 2), once);
    settle_all(&jobs);
    drop(jobs);
    world.reopen();
    let jobs = self::jobs(&world);
    assert_eq!(pass(&jobs, 3, 36, 2), []);
    assert_eq!(pass(&jobs, 4, 37, 2), []);
    assert_eq!(rule_of_two(&jobs, &policy(), 5), Verdict::Approve);
    assert_eq!(pass(&jobs, 6, 35, 2), once);
    assert_eq!(rule_of_two(&jobs, &policy(), 7), Verdict::Ask);
    settle_all(&jobs);
    assert_eq!(pass(&jobs, 8, 35, 2), []);
    // What was settled of two parties says nothing of the third.
    assert_eq!(pass(&jobs, 9, 35, 3), [unsettled(2, 1, true)]);
    // Nor does it of a policy that demands more.
    assert_eq!(
        pass_under(&jobs, 60, 10, 50, 2),
        [unsettled(1, 1, true), unsettled(2, 1, true)]
    );
    let passed = events(&world).into_iter().filter(|event| event == "bound-passed");
    assert_eq!(passed.count(), 8, "each is in the audit log");
}

fn a_person_settles_what_it_has_seen(world: World) {
    let jobs = jobs(&world);
    let settle = |seen| jobs.settle(seen, person(), at(9));
    fail(&jobs, run(&jobs, 1));
    let seen = jobs.unsettled().expect("read")[1];
    assert_eq!(seen, unsettled(2, 1, false));
    catch(&jobs, Tried::Stock(named(2)), Some(2));
    let now = unsettled(2, 2, true);
    for wrong in [
        seen,
        unsettled(2, 2, false),
        unsettled(2, 1, true),
        unsettled(2, 3, true),
    ] {
        let error = settle(wrong).expect_err("it has seen something else");
        assert!(
            matches!(&error, Error::OtherUnsettled(known) if *known == now),
            "{error}"
        );
        assert!(error.to_string().contains("times: 2, grave: true"), "{error}");
    }
    assert_eq!(
        jobs.unsettled().expect("read"),
        [unsettled(1, 1, false), now],
        "nothing is settled"
    );
    assert!(settle(now).expect("settled"));
    assert_eq!(times(&jobs), [(1, 1)]);
    let log = world.log();
    let line = log.lines().last().expect("a line");
    assert!(
        line.contains("\"settled\"") && line.contains("\"peer\":2,\"times\":2,\"grave\":true"),
        "{line}"
    );
}

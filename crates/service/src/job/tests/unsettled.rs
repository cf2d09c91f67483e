//! Sessions that have begun with a peer and not ended in agreement.

use super::*;
use crate::job::Unsettled;
use crate::policy::{Policy, Size, Verdict};

suite![
    a_session_is_on_record_until_it_has_ended_in_agreement,
    what_broke_off_together_counts_once,
    a_rule_asks_after_a_few_and_after_a_grave_one,
    what_a_rule_has_approved_does_not_begin_any_more,
    a_service_that_stops_in_order_holds_it_against_nobody,
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
    };
    jobs.hear(run(&jobs, 3), 1, said, at(9)).expect("heard");
    jobs.cancel(run(&jobs, 4), person(), at(9)).expect("cancelled");
    assert_eq!(times(&jobs), [(1, 3), (2, 3)]);
    // What was killed while it ran counts, too.
    run(&jobs, 5);
    drop(jobs);
    world.reopen();
    let jobs = self::jobs(&world);
    jobs.restart(at(10)).expect("up again");
    assert_eq!(times(&jobs), [(1, 4), (2, 4)]);
    // This party may have its outputs all the same.
    let id = run(&jobs, 6);
    jobs.break_off(id).expect("noted");
    jobs.finish(id, Gains::default(), at(11)).expect("done");
    assert_eq!(times(&jobs), [(1, 5), (2, 5)]);
    // What never ran, or in which nothing could be tried, does not count.
    let never = propose(&jobs, 7);
    jobs.cancel(never, person(), at(12)).expect("cancelled");
    let id = run(&jobs, 8);
    fail(&jobs, id);
    jobs.drop_unsettled(id).expect("noted");
    assert_eq!(times(&jobs), [(1, 5), (2, 5)]);
    let settled = jobs.settle(1, person(), at(13)).expect("settled");
    let of_one = Unsettled {
        peer: 1,
        times: 5,
        grave: false,
    };
    assert_eq!(settled, Some(of_one));
    assert_eq!(times(&jobs), [(2, 5)]);
    assert_eq!(jobs.settle(1, person(), at(13)).expect("nothing to do"), None);
    assert_eq!(events(&world).last().map(String::as_str), Some("settled"));
    world.database().verify_audit().expect("whole");
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
    for peer in [1, 2] {
        jobs.settle(peer, person(), at(2)).expect("settled");
    }
    assert_eq!(rule(21), Verdict::Approve);
    let id = run(&jobs, 4);
    let event = Event::CheckFailed {
        job: Some(id),
        peer: Some(2),
        check: "MACs".into(),
    };
    jobs.hold_against(vec![2], id, event, at(3)).expect("noted");
    fail(&jobs, id);
    let caught = Unsettled {
        peer: 2,
        times: 1,
        grave: true,
    };
    assert_eq!(jobs.unsettled().expect("read"), [caught], "party 1 has no blame");
    // That is nothing in which nothing can have been tried.
    jobs.drop_unsettled(id).expect("noted");
    assert_eq!(rule(22), Verdict::Ask);
    assert!(events(&world).contains(&"check-failed".to_owned()));
}

fn what_a_rule_has_approved_does_not_begin_any_more(world: World) {
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
    let decided = queue(2);
    (3..=5).for_each(|number| fail(&jobs, run(&jobs, number)));
    let start = |id| {
        let asked = jobs.begin_start(id, BTreeMap::new(), &policy, at(5));
        asked.and_then(Pending::wait)
    };
    let error = start(ruled).expect_err("a person has to approve it");
    assert!(
        matches!(error, Error::Unsettled(_)) && error.to_string().contains("party 1"),
        "{error}"
    );
    assert_eq!(jobs.get(ruled).expect("there").state, State::Queued);
    assert_eq!(start(decided).expect("a person has").state, State::Running);
    for peer in [1, 2] {
        jobs.settle(peer, person(), at(6)).expect("settled");
    }
    start(ruled).expect("it is settled");
}

fn a_service_that_stops_in_order_holds_it_against_nobody(world: World) {
    let jobs = jobs(&world);
    let id = run(&jobs, 1);
    jobs.fail(id, FailKind::Restarted, "stopped".into(), at(9))
        .expect("failed");
    assert_eq!(times(&jobs), []);
}

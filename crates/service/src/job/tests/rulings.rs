//! Policies, with the counts that they depend on.

use super::*;
use crate::Pending;
use crate::policy::{Policy, Size, Verdict};

suite![
    disclosures_are_counted_and_given_back,
    limits_hold_for_approvals_at_once,
    a_rate_is_kept,
    a_person_is_asked_and_nothing_changes,
];

const SIZE: Size = Size {
    ands: 1000,
    bytes: 1000,
};

fn policy(limits: &str) -> Policy {
    let parties = ["acme", "bank", "clinic"].map(String::from);
    let text = format!(
        "[[rule]]\nname = \"figures\"\nprograms = [\"{}\"]\n{limits}\nthen = \"approve\"\n",
        Digest::of(b"program")
    );
    Policy::parse("policy.toml", &text, &parties).expect("a policy")
}

fn used(jobs: &Jobs) -> u64 {
    jobs.disclosures(Digest::of(b"program"), "sales".into())
        .expect("read")
}

fn disclosures_are_counted_and_given_back(world: World) {
    let jobs = jobs(&world);
    let policy = policy("disclosures = 2");
    let rule = |number: u8| {
        let id = propose(&jobs, number);
        jobs.begin_rule(id, &policy, SIZE, binding(), at(1))
            .and_then(Pending::wait)
            .expect("ruled")
            .0
            .verdict
    };
    assert_eq!(rule(1), Verdict::Approve);
    assert_eq!(rule(2), Verdict::Approve);
    assert_eq!(rule(3), Verdict::Ask);
    assert_eq!(used(&jobs), 2);
    // Never begun here, so that nothing can have been learnt: declined, cancelled, failed while it was queued.
    jobs.hear(
        named(1),
        1,
        Remote::Decline {
            proposal: proposal(1).digest(),
            reason: "no".into(),
        },
        at(2),
    )
    .expect("heard");
    assert_eq!(used(&jobs), 1);
    assert_eq!(rule(4), Verdict::Approve);
    jobs.cancel(named(4), person(), at(3)).expect("cancelled");
    assert_eq!(used(&jobs), 1);
    hear_approvals(&jobs, 2);
    jobs.queue(named(2), at(4)).expect("queued");
    jobs.fail(named(2), FailKind::PeerLost, "gone".into(), at(5))
        .expect("failed");
    assert_eq!(used(&jobs), 0);
    assert_eq!(
        events(&world).iter().filter(|event| *event == "refunded").count(),
        3
    );
    // Begun: counted for good, however it ends.
    assert_eq!(rule(5), Verdict::Approve);
    hear_approvals(&jobs, 5);
    jobs.queue(named(5), at(4)).expect("queued");
    jobs.start(named(5), at(5)).expect("runs");
    jobs.fail(named(5), FailKind::Cheating, "a check".into(), at(6))
        .expect("failed");
    assert_eq!(used(&jobs), 1);
    // A person may go beyond the limit, and is counted too.
    for number in [6, 7] {
        let id = propose(&jobs, number);
        jobs.approve(id, binding(), String::new(), person(), at(1))
            .expect("approved");
    }
    assert_eq!(used(&jobs), 3);
    assert_eq!(rule(8), Verdict::Ask);
    // Posted values are nobody's data.
    let id = propose(&jobs, 9);
    let posted = vec![Binding::new("left", Source::Posted)];
    let (ruling, job) = jobs
        .begin_rule(id, &policy, SIZE, posted.clone(), at(1))
        .and_then(Pending::wait)
        .expect("ruled");
    assert_eq!((ruling.verdict, job.binding), (Verdict::Approve, posted));
    assert_eq!(used(&jobs), 3);
}

fn limits_hold_for_approvals_at_once(world: World) {
    let jobs = jobs(&world);
    let policy = policy("disclosures = 3");
    let ids: Vec<JobId> = (1..=16).map(|number| propose(&jobs, number)).collect();
    let approved = std::thread::scope(|scope| {
        let threads: Vec<_> = ids
            .iter()
            .map(|id| {
                scope.spawn(|| {
                    jobs.begin_rule(*id, &policy, SIZE, binding(), at(1))
                        .and_then(Pending::wait)
                        .expect("ruled")
                        .0
                        .verdict
                })
            })
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .filter(|verdict| *verdict == Verdict::Approve)
            .count()
    });
    assert_eq!(approved, 3);
    assert_eq!(used(&jobs), 3);
    world.database().verify_audit().expect("whole");
}

fn a_rate_is_kept(world: World) {
    let jobs = jobs(&world);
    let policy = policy("max_jobs_an_hour = 2");
    let rule = |number: u8, seconds| {
        let id = propose(&jobs, number);
        jobs.begin_rule(id, &policy, SIZE, binding(), at(seconds))
            .and_then(Pending::wait)
            .expect("ruled")
            .0
    };
    assert_eq!(rule(1, 100).verdict, Verdict::Approve);
    assert_eq!(rule(2, 200).verdict, Verdict::Approve);
    let third = rule(3, 3699);
    assert_eq!(third.verdict, Verdict::Ask);
    assert!(
        third
            .reason
            .contains("rule \"figures\" (line 2) has approved 2 jobs"),
        "{}",
        third.reason
    );
    assert_eq!(rule(4, 3700).verdict, Verdict::Approve);
    assert_eq!(rule(5, 3701).verdict, Verdict::Ask);
    // The same can be foreseen, and nothing comes of that.
    let lines = world.log().lines().count();
    let foreseen = |seconds| {
        let rules = Rules {
            policy: policy.clone(),
            size: SIZE,
            binding: binding(),
        };
        let ruling = jobs.foresee(named(5), rules, at(seconds));
        ruling.expect("foreseen").verdict
    };
    assert_eq!((foreseen(3701), foreseen(8000)), (Verdict::Ask, Verdict::Approve));
    assert_eq!(world.log().lines().count(), lines);
}

fn a_person_is_asked_and_nothing_changes(world: World) {
    let jobs = jobs(&world);
    let id = propose(&jobs, 1);
    let before = (jobs.get(id).expect("there"), world.log());
    let (ruling, job) = jobs
        .begin_rule(id, &Policy::ask(), SIZE, binding(), at(1))
        .and_then(Pending::wait)
        .expect("ruled");
    assert_eq!((ruling.verdict, ruling.rule), (Verdict::Ask, None));
    assert_eq!((job, world.log()), before);
    // A rule cannot decide twice.
    jobs.begin_rule(id, &policy(""), SIZE, binding(), at(1))
        .and_then(Pending::wait)
        .expect("ruled");
    let error = jobs
        .begin_rule(id, &policy(""), SIZE, binding(), at(1))
        .and_then(Pending::wait)
        .expect_err("decided");
    assert!(matches!(error, Error::NoTransition { .. }), "{error}");
    assert_eq!(used(&jobs), 1);
}

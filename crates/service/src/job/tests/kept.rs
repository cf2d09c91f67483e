//! Kept values: stored with the end of the job that keeps them, counted as data, and not for ever.

use super::*;
use crate::Pending;
use crate::ResultKey;
use crate::policy::{Policy, Size, Verdict};
use crate::seal::Sealed;

suite![
    outputs_are_kept_with_the_end_of_their_job,
    one_share_for_each_kept_output_or_none_is_recorded,
    the_newest_of_a_name_is_found,
    kept_values_expire,
    a_kept_value_is_dropped_once,
    a_kept_value_is_data_of_this_party,
    a_job_stays_as_long_as_its_values,
];

const BAD_NAMES: [&str; 8] = [
    "",
    ".hidden",
    "a/b",
    "a b",
    "../balances",
    "kept:x",
    "sold\u{e9}",
    "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg",
];
const DAY: u64 = 24 * 3600;

fn keep(name: &str) -> Keep {
    Keep {
        output: "sum".into(),
        name: name.into(),
        kind: "u64".into(),
        days: 30,
    }
}

fn taken(input: &str, name: &str, number: u8) -> Take {
    Take {
        input: input.into(),
        name: name.into(),
        job: named(number),
    }
}

/// A proposal that keeps `sum` under each name, and that nobody learns anything from.
fn keeping(number: u8, names: &[&str]) -> Proposal {
    Proposal {
        receivers: vec![],
        keeps: names.iter().map(|name| keep(name)).collect(),
        ..proposal(number)
    }
}

fn approve_all(jobs: &Jobs, proposal: Proposal) -> JobId {
    let (id, says) = (proposal.id, proposal.digest());
    jobs.propose(proposal, body(id.0[0]), person(), at(0))
        .expect("proposed");
    jobs.approve(id, binding(), String::new(), person(), at(1))
        .expect("approved");
    for peer in [1, 2] {
        jobs.hear(id, peer, Remote::Approve { proposal: says }, at(2))
            .expect("heard");
    }
    id
}

/// A job that runs and keeps.
fn run_keeping(jobs: &Jobs, number: u8, names: &[&str]) -> JobId {
    let id = approve_all(jobs, keeping(number, names));
    jobs.queue(id, at(4)).expect("queued");
    jobs.start(id, at(5)).expect("runs");
    id
}

fn gains(kept: Vec<Sealed>) -> Gains {
    Gains {
        kept,
        ..Gains::default()
    }
}

/// A job that has kept one value of `number` bytes under `name`, `seconds` after the beginning.
fn kept(jobs: &Jobs, number: u8, name: &str, seconds: u64) -> JobId {
    let id = run_keeping(jobs, number, &[name]);
    jobs.finish(id, gains(vec![share(number)]), at(seconds))
        .expect("done");
    id
}

fn share(bytes: u8) -> Sealed {
    Sealed::from_bytes(vec![bytes; usize::from(bytes)])
}

/// The last line of the log.
fn last(world: &World) -> serde_json::Value {
    // What is flushed later is in the file then.
    world.database().audit_head().expect("a head");
    let log = world.log();
    serde_json::from_str(log.lines().last().expect("a line")).expect("JSON")
}

#[test]
fn a_proposal_without_kept_values_has_the_text_that_it_always_had() {
    let text = serde_json::to_string(&proposal(1)).expect("JSON");
    assert!(text.ends_with("\"idempotency_key\":\"key 1\"}"), "{text}");
    assert_eq!(
        serde_json::from_str::<Proposal>(&text).expect("reads"),
        proposal(1)
    );
    let mut both = keeping(1, &["balances"]);
    both.takes = vec![taken("old", "balances", 9)];
    let text = serde_json::to_string(&both).expect("JSON");
    assert_eq!(serde_json::from_str::<Proposal>(&text).expect("reads"), both);
    assert_ne!(both.digest(), keeping(1, &["balances"]).digest());
    let more = text.replace("\"days\"", "\"weeks\":1,\"days\"");
    serde_json::from_str::<Proposal>(&more).expect_err("an unknown field");
}

#[test]
fn names_of_kept_values_are_plain() {
    for name in ["a", "balances", "Balances_2024-11.v2", &"a".repeat(64)] {
        assert_eq!(check_kept_name(name), Ok(()), "{name}");
    }
    for name in BAD_NAMES {
        let why = check_kept_name(name).expect_err(name);
        assert!(why.contains("1 to 64 letters"), "{why}");
    }
}

#[test]
fn what_can_be_taken_and_kept_is_bounded() {
    let check = |change: &dyn Fn(&mut Proposal)| {
        let mut changed = proposal(1);
        change(&mut changed);
        changed.check()
    };
    let takes = |takes: Vec<Take>| check(&|proposal| proposal.takes = takes.clone());
    let keeps = |keeps: Vec<Keep>| check(&|proposal| proposal.keeps = keeps.clone());
    let input = |number| taken(&format!("input {number}"), "balances", 9);
    let output = |number| keep(&format!("value-{number}"));
    let days = |days| Keep {
        days,
        ..keep("balances")
    };
    // One value may be taken for two inputs.
    takes((0..64).map(input).collect()).expect("a proposal");
    keeps((0..64).map(output).collect()).expect("a proposal");
    keeps(vec![days(1)]).expect("a proposal");
    keeps(vec![days(366)]).expect("a proposal");

    let mut refused = vec![
        check(&|proposal| (proposal.receivers, proposal.keeps) = (vec![0, 0], vec![keep("balances")])),
        takes((0..65).map(input).collect()),
        takes(vec![taken("old", "a", 9), taken("old", "b", 9)]),
        // A party gives it already.
        takes(vec![taken("left", "balances", 9)]),
        takes(vec![taken("", "balances", 9)]),
        keeps((0..65).map(output).collect()),
        keeps(vec![keep("balances"), keep("balances")]),
        keeps(vec![days(0)]),
        keeps(vec![days(367)]),
        keeps(vec![Keep {
            output: "\n".into(),
            ..keep("balances")
        }]),
        keeps(vec![Keep {
            kind: String::new(),
            ..keep("balances")
        }]),
    ];
    for name in BAD_NAMES {
        refused.extend([takes(vec![taken("old", name, 9)]), keeps(vec![keep(name)])]);
    }
    for (number, outcome) in refused.into_iter().enumerate() {
        assert!(matches!(outcome, Err(Error::Proposal(_))), "case {number}");
    }
}

fn outputs_are_kept_with_the_end_of_their_job(mut world: World) {
    let before = jobs(&world);
    let key = ResultKey::open(world.database().folder()).expect("a key");
    let id = run_keeping(&before, 1, &["balances", "totals"]);
    assert_eq!(before.list_kept(at(9), 10).expect("listed"), []);
    let sealed = key.seal_kept(id, "balances", b"share").expect("sealed");
    let bytes = sealed.as_bytes().len() as u64;
    let done = before
        .finish(id, gains(vec![sealed, share(7)]), at(10))
        .expect("done");
    assert_eq!(done.state, State::Done);
    let line = last(&world);
    assert_eq!(
        (line["event"].as_str(), line["learnt"].to_string()),
        (Some("done"), "[]".into())
    );
    assert_eq!(line["kept"], serde_json::json!(["balances", "totals"]));
    drop((before, key));
    world.reopen();
    let jobs = jobs(&world);
    let of = |name: &str, bytes| Kept {
        name: name.into(),
        job: id,
        kind: "u64".into(),
        bytes,
        kept_at: at(10),
        expires_at: at(10 + 30 * DAY),
    };
    let listed = jobs.list_kept(at(11), 10).expect("listed");
    assert_eq!(listed, [of("balances", bytes), of("totals", 7)]);
    assert_eq!(jobs.list_kept(at(11), 1).expect("listed").len(), 1);
    assert_eq!(jobs.kept_in_all().expect("summed"), (2, bytes + 7));

    let key = ResultKey::open(world.database().folder()).expect("a key");
    let sealed = jobs.kept_share("balances", id, at(11)).expect("there");
    let opened = key.open_kept(id, "balances", &sealed);
    assert_eq!(opened.expect("opens").as_slice(), b"share");
    assert_eq!(jobs.kept_share("totals", id, at(11)).expect("there"), share(7));
    for (name, job) in [("sums", id), ("balances", named(2))] {
        let error = jobs.kept_share(name, job, at(11)).expect_err("never kept");
        assert!(
            matches!(&error, Error::NoKept { name: no, job: of } if no == name && *of == job),
            "{error}"
        );
    }
    // Nobody learnt anything.
    let error = jobs.fetch(id, "key", person(), at(11)).expect_err("nothing");
    assert!(matches!(error, Error::NoResult { .. }), "{error}");
    world.database().verify_audit().expect("whole");
}

fn one_share_for_each_kept_output_or_none_is_recorded(world: World) {
    let jobs = jobs(&world);
    let id = run_keeping(&jobs, 1, &["balances", "totals"]);
    let plain = run(&jobs, 2);
    let before = (jobs.get(id).expect("there"), world.log());
    for (id, keeps, given) in [(id, 2, 0), (id, 2, 1), (id, 2, 3), (plain, 0, 1)] {
        let gains = Gains {
            outputs: Some(share(9)),
            ..gains(vec![share(1); given])
        };
        let error = jobs.finish(id, gains, at(10)).expect_err("another number");
        assert!(
            matches!(error, Error::Keeps { job, keeps: k, given: g } if (job, k, g) == (id, keeps, given)),
            "{error}"
        );
    }
    assert_eq!((jobs.get(id).expect("there"), world.log()), before);
    assert_eq!(jobs.list_kept(at(11), 10).expect("listed"), []);
    // What fails keeps nothing.
    jobs.fail(id, FailKind::PeerLost, "gone".into(), at(11))
        .expect("failed");
    let error = jobs
        .finish(id, gains(vec![share(1); 2]), at(12))
        .expect_err("failed");
    assert!(matches!(error, Error::NoTransition { .. }), "{error}");
    assert_eq!(jobs.list_kept(at(11), 10).expect("listed"), []);
    let done = jobs.finish(plain, Gains::default(), at(12));
    done.expect("keeps nothing");
    assert!(last(&world)["kept"].is_null());
}

fn the_newest_of_a_name_is_found(world: World) {
    let jobs = jobs(&world);
    let found = |name: &str, job, seconds| {
        let found = jobs.find_kept(name, "u64", job, at(seconds)).expect("looked");
        found.map(|kept: Kept| kept.job)
    };
    assert_eq!(found("balances", None, 0), None);
    let (second, first) = (
        kept(&jobs, 2, "balances", 20),
        kept(&jobs, 3, "balances", 10 + DAY),
    );
    let other = kept(&jobs, 4, "totals", 30 + DAY);
    assert_eq!(found("balances", None, 40 + DAY), Some(first));
    assert_eq!(found("balances", Some(second), 40 + DAY), Some(second));
    assert_eq!(found("balances", Some(other), 40 + DAY), None);
    // Until it has expired.
    let end = 30 * DAY;
    assert_eq!(found("balances", Some(second), 19 + end), Some(second));
    assert_eq!(found("balances", Some(second), 20 + end), None);
    assert_eq!(found("balances", None, 20 + end), Some(first));
    assert_eq!(found("balances", None, 10 + DAY + end), None);
    let listed = jobs.list_kept(at(20 + end), 10).expect("listed");
    let listed: Vec<JobId> = listed.iter().map(|kept| kept.job).collect();
    assert_eq!(listed, [other, first]);
}

fn kept_values_expire(world: World) {
    let jobs = jobs(&world);
    let (first, second) = (kept(&jobs, 2, "balances", 10), kept(&jobs, 3, "totals", 20));
    let end = 30 * DAY;
    assert_eq!(jobs.kept_in_all().expect("summed").1, 5);
    assert_eq!(jobs.expire_kept(at(9 + end)).expect("looked"), 0);
    // It is over by its time, whether or not it was deleted.
    let error = jobs
        .kept_share("balances", first, at(10 + end))
        .expect_err("expired");
    assert!(matches!(error, Error::NoKept { .. }), "{error}");
    assert_eq!(jobs.expire_kept(at(10 + end)).expect("looked"), 1);
    assert_eq!(jobs.expire_kept(at(11 + end)).expect("looked"), 0);
    let line = last(&world);
    assert_eq!(
        (line["event"].as_str(), line["name"].as_str()),
        (Some("kept-expired"), Some("balances"))
    );
    assert_eq!(line["job"], first.to_string());
    assert_eq!(jobs.kept_in_all().expect("summed").1, 3);
    let there = jobs.kept_share("totals", second, at(11 + end));
    assert_eq!(there.expect("there"), share(3));
    assert_eq!(jobs.expire_kept(at(20 + end)).expect("looked"), 1);
    assert_eq!(jobs.kept_in_all().expect("summed").1, 0);
}

fn a_kept_value_is_dropped_once(world: World) {
    let jobs = jobs(&world);
    let (first, second) = (kept(&jobs, 2, "balances", 10), kept(&jobs, 3, "balances", 20));
    jobs.drop_kept("balances", second, person(), at(30))
        .expect("dropped");
    let line = last(&world);
    assert_eq!(
        (line["event"].as_str(), line["by"]["person"].as_str()),
        (Some("kept-dropped"), Some("ada"))
    );
    assert_eq!(
        (line["name"].as_str(), line["job"].as_str()),
        (Some("balances"), Some(second.to_string().as_str()))
    );
    let log = world.log();
    for (name, job) in [("balances", second), ("totals", first), ("balances", named(9))] {
        let error = jobs
            .drop_kept(name, job, person(), at(31))
            .expect_err("not there");
        assert!(matches!(error, Error::NoKept { .. }), "{error}");
    }
    assert_eq!(world.log(), log);
    let left = jobs.find_kept("balances", "u64", None, at(31)).expect("looked");
    assert_eq!(left.map(|kept| kept.job), Some(first));
    assert_eq!(jobs.kept_in_all().expect("summed").1, 2);
}

/// Names of data are the same for a rule, for the counts of disclosures and in the log.
fn a_kept_value_is_data_of_this_party(world: World) {
    let jobs = jobs(&world);
    let size = Size {
        ands: 1000,
        bytes: 1000,
    };
    let verdict = |number: u8, data: &str, binding: Vec<Binding>| {
        let id = named(number);
        let mut proposal = proposal(number);
        proposal.takes = vec![taken("old", "balances", 9), taken("older", "balances", 8)];
        jobs.propose(proposal, body(number), person(), at(0))
            .expect("proposed");
        let text = format!(
            "[[rule]]\nname = \"figures\"\nprograms = [\"{}\"]\ndata = {data}\ndisclosures = 2\nthen = \"approve\"\n",
            Digest::of(b"program")
        );
        let parties = ["acme", "bank", "clinic"].map(String::from);
        let policy = Policy::parse("policy.toml", &text, &parties).expect("a policy");
        jobs.begin_rule(id, &policy, size, binding, at(1))
            .and_then(Pending::wait)
            .expect("ruled")
            .0
            .verdict
    };
    let used = |name: &str| {
        jobs.disclosures(Digest::of(b"program"), name.into())
            .expect("read")
    };
    let posted = || vec![Binding::new("left", Source::Posted)];
    assert_eq!(verdict(1, "[\"sales\"]", binding()), Verdict::Ask);
    assert_eq!(verdict(2, "[\"sales\", \"balances\"]", binding()), Verdict::Ask);
    assert_eq!(verdict(3, "[]", posted()), Verdict::Ask);
    assert_eq!(
        verdict(4, "[\"sales\", \"kept:balances\"]", binding()),
        Verdict::Approve
    );
    let data = serde_json::json!(["kept:balances", "sales"]);
    assert_eq!(last(&world)["data"], data);
    assert_eq!((used("kept:balances"), used("sales")), (1, 1));
    assert_eq!(verdict(5, "[\"kept:balances\"]", posted()), Verdict::Approve);
    assert_eq!((used("kept:balances"), used("sales")), (2, 1));
    // It has been disclosed as often as it may be, whatever else a job uses.
    assert_eq!(verdict(6, "\"any\"", posted()), Verdict::Ask);
    jobs.cancel(named(4), person(), at(2)).expect("cancelled");
    assert_eq!(last(&world)["data"], data);
    assert_eq!((used("kept:balances"), used("sales")), (1, 0));
    assert_eq!(verdict(7, "\"any\"", posted()), Verdict::Approve);
    assert_eq!(used("kept:balances"), 2);
    // Who declines uses nothing.
    jobs.decline(named(6), "no".into(), person(), at(3))
        .expect("declined");
    assert!(last(&world)["data"].is_null());
}

fn a_job_stays_as_long_as_its_values(world: World) {
    let jobs = jobs(&world);
    let id = kept(&jobs, 2, "balances", 10);
    assert_eq!(jobs.prune(at(100_001)).expect("pruned"), 0);
    jobs.drop_kept("balances", id, person(), at(100_001))
        .expect("dropped");
    assert_eq!(jobs.prune(at(100_001)).expect("pruned"), 1);
}

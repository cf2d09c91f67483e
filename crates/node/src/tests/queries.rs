//! Jobs that are queries over tables of several parties.

use std::collections::BTreeMap;
use std::sync::Arc;

use cenote_service::job::{FailKind, JobId, State, StateName};
use cenote_service::live::{Live, Submission};
use cenote_service::{Error, Job};
use serde_json::{Value, json};

use super::world::{ALL, NONE, World, person, until, with_data, with_values};
use crate::message::Message;

/// The sum of what customers of both banks owe, for these parties, of the tables of parties 0 and 1.
pub(super) fn text(parties: u8, to: &str) -> String {
    let protocol = if parties == 2 { "authenticated" } else { "three" };
    let table = |party: u8| {
        format!(
            "[[table]]\nname = \"bank_{party}\"\nparty = {party}\ncolumns = {{ id = \"u64 not null\", owed = \"u32 not null\" }}\n\
             max_rows = 4\nunique = [\"id\"]\n"
        )
    };
    format!(
        "protocol = \"{protocol}\"\nquery = \"SELECT COUNT(*) AS customers, SUM(a.owed + b.owed) AS joint FROM bank_0 a JOIN bank_1 b USING (id)\"\n\
         {}{}[answer]\nto = {to}\nmax_rows = 1\n",
        table(0),
        table(1)
    )
}

pub(super) fn submission(job: String, key: &str) -> Submission {
    Submission {
        job,
        files: BTreeMap::new(),
        within: None,
        idempotency_key: key.into(),
        approval: None,
    }
}

/// Gives both banks their tables.
pub(super) fn stock_tables(world: &World) {
    for (party, rows) in [(0, "1,100\n2,30\n5,7\n"), (1, "5,1000\n1,4\n6,9\n")] {
        let path = world.path(party).join(format!("data/bank_{party}.csv"));
        std::fs::write(path, format!("id,owed\n{rows}")).expect("written");
    }
}

pub(super) fn submit(world: &World, job: String, key: &str) -> JobId {
    let job = world.node(0).submit(submission(job, key), person());
    job.expect("submitted").proposal.id
}

pub(super) fn answer(world: &World, party: u8, id: JobId) -> Value {
    let text = world.node(party).fetch(id, "key", person()).expect("an answer");
    serde_json::from_slice(&text).expect("JSON")
}

fn refused(result: cenote_service::Result<Job>) -> String {
    result.map(drop).expect_err("refused").to_string()
}

/// Waits until a job has failed at all parties, and sees that none has an answer.
pub(super) fn fails_without_answer(world: &World, id: JobId) {
    for party in 0..world.nodes.len() as u8 {
        until("it is over", || world.is_over(party, id));
        failure(world, party, id);
        let answer = world.node(party).fetch(id, "key", person());
        answer.expect_err("no answer");
    }
}

/// Why a job failed at a party.
pub(super) fn failure(world: &World, party: u8, id: JobId) -> (FailKind, String) {
    match world.job(party, id).state {
        State::Failed(failure) => (failure.kind, failure.reason),
        state => panic!("it has not failed: {state:?}"),
    }
}

#[test]
fn a_query_is_answered_to_those_to_whom_it_goes() {
    let world = World::new(3, ALL);
    stock_tables(&world);
    let id = submit(&world, text(3, "[2]"), "query");
    world.wait_for(id, StateName::Done);
    let explained = world.node(2).explain(id).expect("known");
    assert_eq!(explained.program.kind, "query");
    for part in [
        "SELECT COUNT(*)",
        "party 2 learns the answer",
        "party 1 learns nothing of the answer",
    ] {
        assert!(explained.summary.contains(part), "{part}: {}", explained.summary);
    }
    let columns: Vec<(&str, u64)> = explained
        .outputs
        .iter()
        .map(|output| (output.name.as_str(), output.values))
        .collect();
    assert_eq!(columns, [("customers", 1), ("joint", 1)]);
    let learnt = answer(&world, 2, id);
    assert_eq!(learnt["answer"]["columns"], json!(["customers", "joint"]));
    assert_eq!(learnt["answer"]["rows"], json!([["2", "1111"]]));
    for party in [0, 1] {
        let nothing = world.node(party).fetch(id, "key", person());
        assert!(matches!(nothing, Err(Error::NoResult { .. })), "party {party}");
    }
    world.verify();
}

#[test]
fn two_parties_give_tables_that_are_posted_or_named() {
    let world = World::new(2, NONE);
    stock_tables(&world);
    let id = submit(&world, text(2, "[0, 1]"), "posted");
    world.wait_for(id, StateName::Proposed);
    let approve = |party: u8, approval| world.node(party).approve(id, approval, person());
    let secret = "id,owed\n1,notanumber\n";
    let complaint = refused(approve(1, with_values(&[("bank_1", secret)])));
    assert!(
        complaint.contains("bank_1: row 1") && !complaint.contains("notanumber"),
        "{complaint}"
    );
    let complaint = refused(approve(1, with_values(&[("bank_0", "id,owed\n1,2\n")])));
    assert!(
        complaint.contains("no input \"bank_0\"; it has \"bank_1\""),
        "{complaint}"
    );
    approve(1, with_values(&[("bank_1", "id,owed\n2,70\n")])).expect("approved");
    approve(0, with_data(&[("bank_0", "bank_0.csv")])).expect("approved");
    world.wait_for(id, StateName::Done);
    for party in [0, 1] {
        assert_eq!(answer(&world, party, id)["answer"]["rows"], json!([["1", "100"]]));
    }
}

/// Why a party has declined a job, as its own record says. The others know that it has, from itself or from one another, and no more.
pub(super) fn declined_by(world: &World, party: u8, id: JobId) -> String {
    let mut states = world.wait_declined(id);
    let own = states[usize::from(party)].take();
    for state in states.into_iter().flatten() {
        let (by, told) = match state {
            State::Declined { by, reason } => (by, reason),
            State::Failed(failure) => (party, failure.reason),
            state => panic!("it is declined: {state:?}"),
        };
        let from_another = told.ends_with(&format!("party {party} has declined it"));
        assert!(
            by == party && (told == "it does not take part" || from_another),
            "{told}"
        );
    }
    match own {
        Some(State::Declined { by, reason }) if by == party => reason,
        state => panic!("party {party} declines it: {state:?}"),
    }
}

/// What a party's file says of its tables holds for persons and for policies, and before anything is read.
#[test]
fn what_may_not_be_asked_of_a_table_is_not_answered() {
    let world = World::with(3, ALL, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock_tables(&world);
    let rules = |party: u8, text: &str| {
        std::fs::write(world.path(party).join("tables.toml"), text).expect("written");
    };
    let bank = |party: u8, more: &str| format!("[[table]]\nname = \"bank_{party}\"\n{more}");
    // Its tables are looked at for jobs that others decline, too.
    rules(0, &bank(0, "answers_per_day = 2\n"));
    rules(1, &bank(1, "min_group = 10\n"));
    rules(2, "");
    let id = submit(&world, text(3, "[2]"), "few");
    let reason = declined_by(&world, 1, id);
    assert!(reason.contains("`min_group` must be at least 10"), "{reason}");

    rules(1, &bank(1, ""));
    let id = submit(&world, text(3, "[2]"), "once");
    world.wait_for(id, StateName::Done);
    let id = submit(&world, text(3, "[2]"), "twice");
    let reason = declined_by(&world, 0, id);
    assert!(reason.contains("2 may be"), "{reason}");
}

#[test]
fn persons_cannot_approve_what_may_not_be_asked() {
    let world = World::with(3, NONE, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock_tables(&world);
    for (party, more) in [(0, "aggregates_only = true\n"), (1, ""), (2, "")] {
        let rules = format!("[[table]]\nname = \"bank_{party}\"\n{more}");
        std::fs::write(world.path(party).join("tables.toml"), rules).expect("written");
    }
    let rows = text(3, "[2]").replace(
        "COUNT(*) AS customers, SUM(a.owed + b.owed) AS joint",
        "a.id, b.owed",
    );
    // Its own rules hold for the proposer too.
    let own = Submission {
        approval: Some(with_data(&[("bank_0", "bank_0.csv")])),
        ..submission(rows.clone(), "own")
    };
    let complaint = refused(world.node(0).submit(own, person()));
    assert!(
        complaint.contains("does not let this be asked of table bank_0"),
        "{complaint}"
    );
    let job = world
        .node(2)
        .submit(submission(rows, "rows"), person())
        .expect("submitted");
    let id = job.proposal.id;
    let states = world.wait_declined(id);
    assert!(
        matches!(states[0], Some(State::Declined { by: 0, .. })),
        "{states:?}"
    );
    let approval = with_data(&[("bank_0", "bank_0.csv")]);
    refused(world.node(0).approve(id, approval, person()));
}

/// Rules may become stricter, and data worse, after an approval.
#[test]
fn rules_and_tables_are_looked_at_again_when_a_job_runs() {
    let world = World::with(3, NONE, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    let rules = |text: &str| {
        std::fs::write(world.path(1).join("tables.toml"), text).expect("written");
    };
    for party in [0, 2] {
        let text = "[[table]]\nname = \"bank_0\"\n";
        std::fs::write(world.path(party).join("tables.toml"), text).expect("written");
    }
    let fine = "[[table]]\nname = \"bank_1\"\nanswers_per_day = 3\n";
    let run = |key: &str, change: &dyn Fn()| {
        stock_tables(&world);
        rules(fine);
        let id = submit(&world, text(3, "[2]"), key);
        world.wait_for(id, StateName::Proposed);
        let approve = |party: u8, data: &[(&str, &str)]| {
            let approved = world.node(party).approve(id, with_data(data), person());
            approved.expect("approved");
        };
        approve(1, &[("bank_1", "bank_1.csv")]);
        change();
        approve(2, &[]);
        approve(0, &[("bank_0", "bank_0.csv")]);
        world.wait(id, "failed", |state| matches!(state, State::Failed(_)));
        (failure(&world, 1, id), failure(&world, 0, id).1)
    };
    let ((kind, reason), told) = run("stricter", &|| {
        rules("[[table]]\nname = \"bank_1\"\nmin_group = 10\n")
    });
    assert_eq!(kind, FailKind::Refused);
    assert!(reason.contains("`min_group` must be at least 10"), "{reason}");
    assert!(!told.contains("min_group"), "{told}");

    let ((_, reason), _) = run("other data", &|| {
        rules("[[table]]\nname = \"bank_1\"\ndata = [\"other.csv\"]\n")
    });
    assert!(reason.contains("not for the data \"bank_1.csv\""), "{reason}");

    // The list has one query of today for each approval, and no more for the runs.
    let list = std::fs::read_to_string(world.path(1).join("tables.toml.answers")).expect("a list");
    assert_eq!(list.lines().count(), 2, "{list}");
    let ((kind, reason), told) = run("other rows", &|| {
        std::fs::write(world.path(1).join("data/bank_1.csv"), "id,owed\n1,2\n1,3\n").expect("written");
    });
    assert_eq!(kind, FailKind::BadInput);
    assert!(reason.contains("bank_1"), "{reason}");
    let words = "party 1 says bad-input: it could not take part with its data, or there is no answer; its operator sees why";
    // Party 0 may see the channel closed, or hear from party 2 that it has, before it hears the word.
    let heard = told.starts_with("lost party 1") || told.starts_with("party 2 says peer");
    assert!(told == words || heard, "{told}");
}

#[test]
fn an_approver_cannot_bind_a_table_to_data_that_its_rule_is_not_for() {
    let world = World::with(3, NONE, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock_tables(&world);
    let rules = |more: &str| {
        let text = format!("[[table]]\nname = \"bank_1\"\n{more}");
        std::fs::write(world.path(1).join("tables.toml"), text).expect("written");
    };
    rules("");
    for party in [0, 2] {
        let text = "[[table]]\nname = \"bank_0\"\n";
        std::fs::write(world.path(party).join("tables.toml"), text).expect("written");
    }
    let folder = world.path(1).join("data");
    std::fs::copy(folder.join("bank_1.csv"), folder.join("salaries.csv")).expect("copied");
    let id = submit(&world, text(3, "[2]"), "bound");
    world.wait_for(id, StateName::Proposed);
    let approve = |approval| world.node(1).approve(id, approval, person());
    let complaint = refused(approve(with_data(&[("bank_1", "salaries.csv")])));
    assert!(
        complaint.contains("its rule is not for the data \"salaries.csv\""),
        "{complaint}"
    );
    rules("data = [\"salaries.csv\"]\n");
    let complaint = refused(approve(with_values(&[("bank_1", "id,owed\n1,2\n")])));
    assert!(complaint.contains("not for what is posted"), "{complaint}");
    approve(with_data(&[("bank_1", "salaries.csv")])).expect("approved");
}

/// A proposer who declares what a table may not keep learns that this party declines, which counts among the answers of a day.
#[test]
fn a_table_that_is_not_what_was_declared_is_declined_and_only_its_owner_hears_why() {
    let world = World::with(3, ALL, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock_tables(&world);
    for (party, rules) in [
        (0, "[[table]]\nname = \"bank_0\"\n"),
        (1, "[[table]]\nname = \"bank_1\"\nanswers_per_day = 2\n"),
        (2, ""),
    ] {
        std::fs::write(world.path(party).join("tables.toml"), rules).expect("written");
    }
    let job = text(3, "[2]");
    let (before, table) = job
        .split_once("name = \"bank_1\"")
        .expect("there is such a table");
    let guess = |key: &str, rows: u8| {
        let table = table.replacen("max_rows = 4", &format!("max_rows = {rows}"), 1);
        submit(&world, format!("{before}name = \"bank_1\"{table}"), key)
    };
    let reason = declined_by(&world, 1, guess("two", 2));
    assert!(reason.contains("bank_1"), "{reason}");
    world.wait_for(guess("three", 3), StateName::Done);
    let reason = declined_by(&world, 1, guess("one", 1));
    assert!(reason.contains("2 queries within a day"), "{reason}");
}

/// Has each party keep its tables by a file of rules, which lets this many queries be asked of a day.
fn with_tables(policy: &str, answers: u32) -> World {
    let world = World::with(3, policy, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock_tables(&world);
    for party in 0..2 {
        let rules = format!("[[table]]\nname = \"bank_{party}\"\nanswers_per_day = {answers}\n");
        std::fs::write(world.path(party).join("tables.toml"), rules).expect("written");
    }
    std::fs::write(world.path(2).join("tables.toml"), "").expect("written");
    world
}

/// How many queries a party has counted.
fn counted(world: &World, party: u8) -> usize {
    let list = std::fs::read_to_string(world.path(party).join("tables.toml.answers"));
    list.map_or(0, |list| list.lines().count())
}

#[test]
fn tables_are_looked_at_only_for_what_a_rule_would_still_approve() {
    let rate = "[[rule]]\nname = \"one\"\ndata = \"any\"\nmax_jobs_an_hour = 1\nthen = \"approve\"\n";
    let world = with_tables(rate, 9);
    world.wait_for(submit(&world, text(3, "[2]"), "first"), StateName::Done);
    let second = world
        .node(1)
        .submit(submission(text(3, "[2]"), "second"), person())
        .expect("submitted");
    assert_eq!((second.state, counted(&world, 1)), (State::Proposed, 1));
}

#[test]
fn a_policy_that_comes_while_tables_are_looked_at_decides() {
    let world = with_tables(ALL, 9);
    let core = &world.node(1).core;
    std::thread::scope(|scope| {
        let turn = core.base.data.hold_tables();
        let submitted = scope.spawn(|| {
            let submission = submission(text(3, "[2]"), "meanwhile");
            world.node(1).submit(submission, person())
        });
        until("the policy of before would approve", || counted(&world, 1) == 1);
        std::fs::write(world.path(1).join("policy.toml"), NONE).expect("written");
        world.node(1).reload_policy().expect("read");
        drop(turn);
        let job = submitted.join().expect("no panic").expect("submitted");
        assert_eq!((job.state, &job.decisions[1]), (State::Proposed, &None));
    });
}

#[test]
fn a_submission_that_is_repeated_is_counted_once() {
    let world = with_tables(NONE, 1);
    let submit = || {
        let again = Submission {
            approval: Some(with_data(&[("bank_0", "bank_0.csv")])),
            ..submission(text(3, "[2]"), "again")
        };
        let job = world.node(0).submit(again, person());
        job.expect("the same").proposal.id
    };
    let id = submit();
    for _ in 0..3 {
        assert_eq!((submit(), counted(&world, 0)), (id, 1));
    }
}

/// What is declared and not asked for would be bound, read and checked all the same.
#[test]
fn a_table_that_the_query_does_not_ask_for_is_not_proposed() {
    let world = World::new(3, ALL);
    let job = format!(
        "{}[[table]]\nname = \"salaries\"\nparty = 1\ncolumns = {{ id = \"u64 not null\" }}\nmax_rows = 4\n",
        text(3, "[2]")
    );
    let complaint = refused(world.node(0).submit(submission(job, "more"), person()));
    assert!(
        complaint.contains("does not ask for table salaries"),
        "{complaint}"
    );
}

#[test]
fn queries_that_name_files_or_take_too_much_are_not_proposed() {
    let world = World::new(3, ALL);
    let job = text(3, "[2]");
    for (from, to, part) in [
        (
            "party = 0",
            "party = 0\nfile = \"/etc/passwd\"",
            "names no files of tables",
        ),
        (
            "max_rows = 1\n",
            "max_rows = 1\nfile = \"answer.csv\"",
            "is fetched",
        ),
        ("SELECT", "SELEKT", "SELEKT"),
        (
            "max_rows = 4",
            "max_rows = 200000000",
            "lower `max_rows` of the tables",
        ),
        (
            "max_rows = 4",
            "max_rows = 1000000",
            "exchanges, more than the limit of 134217728 for a proposed job",
        ),
        (
            "protocol = \"three\"",
            "protocol = \"three\"\nworkers = 60",
            "workers",
        ),
    ] {
        let wrong = job.replacen(from, to, 2);
        assert_ne!(wrong, job, "{from}");
        let complaint = refused(world.node(0).submit(submission(wrong, to), person()));
        assert!(complaint.contains(part), "{to}: {complaint}");
    }
    let with_file = Submission {
        files: BTreeMap::from([("x.csv".into(), "id\n1\n".into())]),
        ..submission(job, "file")
    };
    let complaint = refused(world.node(0).submit(with_file, person()));
    assert!(complaint.contains("does not name the file"), "{complaint}");
}

/// Own tables are looked at after the peers have heard of the job: it may be over by then.
#[test]
fn who_submits_a_job_that_a_peer_declines_at_once_learns_that() {
    for approval in [None, Some(with_data(&[("bank_0", "bank_0.csv")]))] {
        let world = with_tables(ALL, 1);
        let (hub, core) = (world.hub.clone(), Arc::downgrade(&world.node(0).core));
        world.hub.meddle(Some(Arc::new(move |from, to, message| {
            if let (0, 1, Ok(Message::Propose { proposal })) = (from, to, Message::parse(&message)) {
                let (job, core) = (proposal.id, core.upgrade().expect("it is up"));
                let decline = Message::Decline {
                    job,
                    proposal: proposal.digest(),
                    reason: "not on our data".into(),
                };
                hub.say(1, 0, decline.to_bytes());
                until("it is declined", || {
                    core.base
                        .jobs
                        .get(job)
                        .is_ok_and(|job| !job.state.name().is_open())
                });
            }
            vec![message]
        })));
        let asked = Submission {
            approval,
            ..submission(text(3, "[2]"), "declined")
        };
        let job = world.node(0).submit(asked, person()).expect("submitted");
        assert!(matches!(job.state, State::Declined { .. }), "{:?}", job.state);
    }
}

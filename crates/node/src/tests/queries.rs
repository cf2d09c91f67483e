//! Jobs that are queries over tables of several parties.

use std::collections::BTreeMap;

use cenote_service::job::{FailKind, JobId, State, StateName};
use cenote_service::live::{Live, Submission};
use cenote_service::{Error, Job};
use serde_json::{Value, json};

use super::world::{ALL, NONE, World, person, with_data, with_values};

/// The sum of what customers of both banks owe, for these parties, of the tables of parties 0 and 1.
fn text(parties: u8, to: &str) -> String {
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

fn submission(job: String, key: &str) -> Submission {
    Submission {
        job,
        files: BTreeMap::new(),
        within: None,
        idempotency_key: key.into(),
        approval: None,
    }
}

/// Gives both banks their tables.
fn stock_tables(world: &World) {
    for (party, rows) in [(0, "1,100\n2,30\n5,7\n"), (1, "5,1000\n1,4\n6,9\n")] {
        let path = world.path(party).join(format!("data/bank_{party}.csv"));
        std::fs::write(path, format!("id,owed\n{rows}")).expect("written");
    }
}

fn submit(world: &World, job: String, key: &str) -> JobId {
    let job = world.node(0).submit(submission(job, key), person());
    job.expect("submitted").proposal.id
}

fn answer(world: &World, party: u8, id: JobId) -> Value {
    let text = world.node(party).fetch(id, "key", person()).expect("an answer");
    serde_json::from_slice(&text).expect("JSON")
}

fn refused(result: cenote_service::Result<Job>) -> String {
    result.map(drop).expect_err("refused").to_string()
}

/// Why a job failed at a party.
fn failure(world: &World, party: u8, id: JobId) -> (FailKind, String) {
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
    rules(0, &bank(0, "answers_per_day = 1\n"));
    rules(1, &bank(1, "min_group = 10\n"));
    rules(2, "");
    let id = submit(&world, text(3, "[2]"), "few");
    world.wait_for(id, StateName::Declined);
    let State::Declined { by: 1, reason } = world.job(1, id).state else {
        panic!("party 1 declines it");
    };
    assert!(reason.contains("`min_group` must be at least 10"), "{reason}");
    let State::Declined { by: 1, reason } = world.job(0, id).state else {
        panic!("party 1 declines it");
    };
    assert_eq!(reason, "it does not take part");

    rules(1, &bank(1, ""));
    let id = submit(&world, text(3, "[2]"), "once");
    world.wait_for(id, StateName::Done);
    let id = submit(&world, text(3, "[2]"), "twice");
    world.wait(id, "failed", |state| matches!(state, State::Failed(_)));
    let (kind, reason) = failure(&world, 0, id);
    assert_eq!(kind, FailKind::Refused);
    assert!(reason.contains("1 may be"), "{reason}");
    let (_, reason) = failure(&world, 1, id);
    assert!(!reason.contains("1 may be"), "{reason}");
}

#[test]
fn persons_cannot_approve_what_may_not_be_asked() {
    let world = World::with(3, NONE, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock_tables(&world);
    for party in 0..3 {
        let rules = format!("[[table]]\nname = \"bank_{party}\"\naggregates_only = true\n");
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
    world.wait_for(id, StateName::Declined);
    let approval = with_data(&[("bank_0", "bank_0.csv")]);
    refused(world.node(0).approve(id, approval, person()));
}

#[test]
fn a_table_that_is_not_what_was_declared_fails_the_job_and_only_its_owner_hears_why() {
    let world = World::new(3, ALL);
    stock_tables(&world);
    std::fs::write(world.path(1).join("data/bank_1.csv"), "id,owed\n1,2\n1,3\n").expect("written");
    let id = submit(&world, text(3, "[2]"), "twice the same");
    world.wait(id, "failed", |state| matches!(state, State::Failed(_)));
    let (kind, reason) = failure(&world, 1, id);
    assert_eq!(kind, FailKind::BadInput);
    assert!(reason.contains("bank_1"), "{reason}");
    let (_, told) = failure(&world, 0, id);
    assert_ne!(told, reason);
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
            "make `max_rows` of the tables smaller",
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

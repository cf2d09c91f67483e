//! Queries that stand: each call gives the values of their parameters.

use std::time::Duration;

use cenote_service::Error;
use cenote_service::job::{JobId, State, StateName};
use cenote_service::live::Live;
use serde_json::{Value, json};

use super::queries::{declined_by, failure, stock_tables, submission, submit, text};
use super::standing::{Answer, CALLED, begin_call};
use super::unsettled::{How, Tries, spoil_by};
use super::world::{PATIENCE, World, person, until};

/// The sum of what customers of both banks owe who owe no less than `:least` together.
fn asked(parties: u8, to: &str, calls: u64, caller: u8) -> String {
    let plain = text(parties, to).replace("USING (id)\"", "USING (id) WHERE a.owed + b.owed >= :least\"");
    let (head, rest) = plain.split_once("[[table]]").expect("tables");
    format!(
        "{head}[parameters]\nleast = \"u32\"\n[standing]\ncalls = {calls}\ncallers = [{caller}]\n[[table]]{rest}"
    )
}

/// A world in which such a job runs.
fn world(parties: u8, to: &str, calls: u64, caller: u8) -> (World, JobId) {
    let world = World::with(parties, CALLED, |settings| {
        settings.pause = Duration::from_millis(50);
    });
    stock_tables(&world);
    let id = submit(&world, asked(parties, to, calls, caller), "standing");
    world.wait_for(id, StateName::Running);
    (world, id)
}

fn call(world: &World, party: u8, id: JobId, name: &str, least: &str) -> Answer {
    begin_call(world, party, id, name, &[("least", least)])?
        .recv_timeout(PATIENCE)
        .expect("it ends")
}

fn value(answer: Answer) -> Value {
    serde_json::from_slice(&answer.expect("an answer")).expect("JSON")
}

fn rows(answer: Answer) -> Value {
    value(answer)["answer"]["rows"].clone()
}

/// What the audit log of a party says of values that were given.
fn values_on_record(world: &World, party: u8) -> Vec<String> {
    let path = world.path(party).join("service/audit.jsonl");
    let text = std::fs::read_to_string(path).expect("a log");
    let values = text.lines().filter_map(|line| {
        let (_, after) = line.split_once("\"parameters\":{\"least\":\"")?;
        after.split_once('"').map(|(value, _)| value.to_owned())
    });
    values.collect()
}

#[test]
fn each_call_is_answered_for_its_values() {
    for (parties, caller) in [(3, 0), (3, 1), (3, 2), (2, 1)] {
        let (world, id) = world(parties, "[0, 1]", 4, caller);
        let summary = world.node(1).explain(id).expect("known").summary;
        for part in [
            "asked up to 4 times",
            ":least (u32)",
            &format!("party {caller} gives the values"),
        ] {
            assert!(summary.contains(part), "{part}: {summary}");
        }
        let expected = [("0", json!([["2", "1111"]])), ("500", json!([["1", "1007"]]))];
        for (least, expected) in expected {
            let answer = value(call(&world, caller, id, least, least));
            match caller {
                0 | 1 => assert_eq!(answer["answer"]["rows"], expected),
                // Who calls and is no receiver learns nothing.
                _ => assert_eq!((&answer["outputs"], answer.get("answer")), (&json!([]), None)),
            }
            // A receiver that does not call finds it under its name.
            let other = u8::from(caller == 0);
            until("the other has it", || {
                let learnt = begin_call(&world, other, id, least, &[]);
                learnt.is_ok_and(|learnt| rows(learnt.recv_timeout(PATIENCE).expect("it ends")) == expected)
            });
        }
        // The same call again is not asked again, and has no other values.
        call(&world, caller, id, "500", "500").expect("the same");
        let other = call(&world, caller, id, "500", "501");
        assert!(matches!(other, Err(Error::OtherCall { .. })), "{other:?}");
        call(&world, caller, id, "none", "4294967295").expect("an answer");
        call(&world, caller, id, "last", "1007").expect("an answer");
        world.wait_for(id, StateName::Done);
        for party in 0..parties {
            assert_eq!(
                values_on_record(&world, party),
                ["0", "500", "4294967295", "1007"]
            );
        }
        // Each is a disclosure of the tables of both.
        for party in [0, 1] {
            let job = world.job(party, id);
            let data = format!("bank_{party}.csv");
            let digest = job.proposal.program.digest;
            assert_eq!(
                world.node(party).jobs().disclosures(digest, data).expect("read"),
                4
            );
        }
        world.verify();
    }
}

#[test]
fn values_that_are_wrong_are_refused_and_use_nothing_up() {
    let (world, id) = world(3, "[0]", 1, 0);
    for values in [
        vec![],
        vec![("most", "1")],
        vec![("least", "1"), ("most", "1")],
        vec![("least", "-1")],
        vec![("least", "4294967296")],
        vec![("least", "1 or true")],
        vec![("least", "")],
    ] {
        let refused = begin_call(&world, 0, id, "wrong", &values).err();
        assert!(matches!(refused, Some(Error::Call(_))), "{values:?}: {refused:?}");
    }
    let others = begin_call(&world, 1, id, "not the caller", &[("least", "1")]).err();
    assert!(matches!(others, Some(Error::Call(_))), "{others:?}");
    assert_eq!(rows(call(&world, 0, id, "right", "500")), json!([["1", "1007"]]));
    world.wait_for(id, StateName::Done);
}

#[test]
fn jobs_that_cannot_stand_so_are_refused() {
    let world = World::new(3, CALLED);
    stock_tables(&world);
    let fine = asked(3, "[0]", 5, 0);
    for (from, to, part) in [
        ("[standing]\ncalls = 5\ncallers = [0]\n", "", "add [standing]"),
        ("callers = [0]", "callers = [0, 1]", "one caller"),
        (
            "callers = [0]\n",
            "callers = [3]\n",
            "`callers` are numbers of parties",
        ),
        ("protocol", "shards = 2\nprotocol", "not cut into shards"),
        ("least = \"u32\"", "least = \"u31\"", "is not a type"),
        (
            "least = \"u32\"",
            "least = \"u32\"\nmore = \"u8\"",
            "no parameter :more",
        ),
        ("least = \"u32\"\n", "", "[parameters]"),
        (
            "max_rows = 1\n",
            "max_rows = 100000\n",
            "lower `max_rows` of [answer]",
        ),
        (
            "SELECT COUNT(*) AS customers, SUM(a.owed + b.owed) AS joint",
            "SELECT :least AS x, id",
            "max_rows",
        ),
    ] {
        let mut job = fine.replace(from, to);
        assert_ne!(job, fine, "{from}");
        if part == "max_rows" {
            job = job.replace("WHERE a.owed + b.owed >= :least", "");
            let fits = world.node(0).submit(submission(job, "rows"), person());
            fits.expect("a parameter may be selected");
            continue;
        }
        if part.starts_with("lower") {
            job = job.replace(
                "SELECT COUNT(*) AS customers, SUM(a.owed + b.owed) AS joint",
                "SELECT id, a.owed AS o",
            );
            job = job.replace("max_rows = 4", "max_rows = 100000");
        }
        let refused = world.node(0).submit(submission(job, part), person());
        let what = refused.map(drop).expect_err(part).to_string();
        assert!(what.contains(part), "{part}: {what}");
    }
}

#[test]
fn a_query_that_stands_goes_on_after_a_restart() {
    let (mut world, id) = world(3, "[0]", 100, 0);
    assert_eq!(rows(call(&world, 0, id, "before", "500")), json!([["1", "1007"]]));
    for party in [1, 0] {
        world.kill(party);
        world.start(party);
        world.wait_ready();
        world.settle_all();
        assert_eq!(rows(call(&world, 0, id, "before", "500")), json!([["1", "1007"]]));
        assert_eq!(
            rows(call(&world, 0, id, &format!("after {party}"), "0")),
            json!([["2", "1111"]])
        );
    }
    world.verify();
}

#[test]
fn any_party_ends_a_query_that_stands_at_once() {
    let (world, id) = world(3, "[0]", 100, 0);
    call(&world, 0, id, "before", "500").expect("answered");
    world.node(2).cancel(id, person()).expect("cancelled");
    world.wait(id, "over", |state| {
        matches!(state, State::Cancelled { by: 2, .. })
    });
    let late = call(&world, 0, id, "after", "500");
    assert!(
        matches!(late, Err(Error::NoTransition { .. } | Error::Call(_))),
        "{late:?}"
    );
}

#[test]
fn a_party_answers_no_more_calls_than_its_rules_allow() {
    let world = World::with(3, CALLED, |settings| {
        settings.pause = Duration::from_millis(50);
        if settings.me == 1 {
            let path = settings.folder.with_file_name("tables.toml");
            let rules = "[[table]]\nname = \"bank_1\"\ndata = [\"bank_1.csv\"]\nanswers_per_day = 3\n";
            std::fs::write(&path, rules).expect("written");
            settings.tables = Some(path);
        }
    });
    stock_tables(&world);
    let id = submit(&world, asked(3, "[0]", 100, 0), "standing");
    world.wait_for(id, StateName::Running);
    let mut answered = 0;
    let refused = (0..4).find_map(|number| match call(&world, 0, id, &format!("{number}"), "500") {
        Ok(_) => {
            answered += 1;
            None
        }
        Err(error) => Some(error),
    });
    let Some(Error::CallFailed(reason)) = refused else {
        panic!("it has answered {answered}: {refused:?}");
    };
    // That its tables were looked at before it approved counts, too, if they were.
    assert!((2..=3).contains(&answered), "{answered}");
    assert!(reason.contains("party 1 cannot answer it"), "{reason}");
    // The session goes on, and the call stays as it ended.
    assert_eq!(world.job(0, id).state.name(), StateName::Running);
    assert_eq!(rows(call(&world, 0, id, "0", "500")), json!([["1", "1007"]]));
    let again = call(&world, 0, id, &format!("{answered}"), "500");
    assert!(matches!(again, Err(Error::CallFailed(_))), "{again:?}");
}

/// A rule looks at what a query can tell for any values.
#[test]
fn a_query_that_tells_what_is_hidden_for_some_values_is_declined() {
    let world = World::with(2, CALLED, |settings| {
        if settings.me == 1 {
            let path = settings.folder.with_file_name("tables.toml");
            let rules =
                "[[table]]\nname = \"bank_1\"\ndata = [\"bank_1.csv\"]\nhidden = [\"owed\"]\nmin_group = 2\n";
            std::fs::write(&path, rules).expect("written");
            settings.tables = Some(path);
        }
    });
    stock_tables(&world);
    let hidden =
        "SELECT CASE WHEN :least = 5 THEN b.owed ELSE 0 END AS o, COUNT(*) AS n FROM bank_1 b GROUP BY o";
    let job = asked(2, "[0]", 100, 0).replace("max_rows = 1\n", "max_rows = 4\nmin_group = 2\n");
    let (head, rest) = job.split_once("query = \"").expect("a query");
    let (_, rest) = rest.split_once("\"\n").expect("its end");
    let first = rest.split("[[table]]").nth(1).expect("a table");
    let rest = rest.replace(&format!("[[table]]{first}"), "");
    let job = format!("{head}query = \"{hidden}\"\n{rest}");
    let id = submit(&world, job, "hidden");
    let reason = declined_by(&world, 1, id);
    assert!(reason.contains("owed is hidden"), "{reason}");
}

/// A world in which such a job has begun, called by party 1, while a party spoils this step.
fn spoiled(cheating: u8, code: u16, hundredths: usize) -> (World, JobId, Tries) {
    let world = World::with(3, CALLED, |settings| {
        settings.pause = Duration::from_millis(50);
        settings.timeout = Duration::from_secs(2);
    });
    stock_tables(&world);
    let tries = spoil_by(&world, cheating, code, How::Flips(hundredths));
    let id = submit(&world, asked(3, "[0]", 10, 1), "standing");
    world.wait_for(id, StateName::Running);
    (world, id, tries)
}

/// A bit of what it gives is wrong, so many hundredths after its beginning.
fn caller_is_caught(hundredths: usize) {
    let (world, id, tries) = spoiled(1, 0x606, hundredths);
    let _call = begin_call(&world, 1, id, "call", &[("least", "500")]).expect("made");
    let caught = || [0, 2].into_iter().find(|party| world.has_caught(*party, id));
    until("it is caught", || caught().is_some());
    assert!(tries.count() > 0);
    let (_, reason) = failure(&world, caught().expect("one"), id);
    for part in ["calls of a job that stands", "party 1"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
}

#[test]
fn a_caller_that_gives_what_are_no_values_is_caught() {
    caller_is_caught(50);
}

#[test]
fn a_caller_that_gives_values_of_other_parameters_is_caught() {
    caller_is_caught(20);
}

/// It takes part for one party and not for another: who goes on alone gives up in time, and nobody learns anything.
#[test]
fn a_party_that_is_of_two_minds_about_a_call_holds_nobody_up() {
    let (world, id, tries) = spoiled(2, 0x607, 50);
    let call = begin_call(&world, 1, id, "call", &[("least", "500")]).expect("made");
    let ended = call.recv_timeout(PATIENCE).expect("it ends");
    assert!(matches!(ended, Err(Error::CallFailed(_))), "{ended:?}");
    assert!(tries.count() > 0);
    let learnt = begin_call(&world, 0, id, "call", &[]).map(|learnt| learnt.recv_timeout(PATIENCE));
    assert!(learnt.is_err(), "{learnt:?}");
}

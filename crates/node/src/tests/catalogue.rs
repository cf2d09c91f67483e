//! Catalogues between services: who sees what of whom, and what is done with it.

use std::time::Duration;

use cenote_service::Error;
use cenote_service::job::{State, StateName};
use cenote_service::live::{Catalogue, CatalogueParty, Compose, Happened, Live};
use serde_json::json;

use super::queries::{answer, stock_tables, submission, submit};
use super::world::{NONE, World, person, until, with_data};

/// A catalogue with the tables of the banks, as far as `to` publishes them.
pub(super) fn bank(party: u8, rows: u64, to: &str) -> String {
    format!(
        "[[table]]\nname = \"bank_{party}\"\ncolumns = {{ id = \"u64 not null\", owed = \"u32 not null\" }}\nmax_rows = {rows}\nunique = [\"id\"]\n\
         data = \"bank_{party}.csv\"\n{to}\n"
    )
}

pub(super) fn publish(world: &World, party: u8, text: &str) {
    std::fs::write(world.path(party).join("catalogue.toml"), text).expect("written");
    world.node(party).reload_catalogue().expect("published");
}

/// What party `at` knows of party `of`.
pub(super) fn known(world: &World, at: u8, of: u8) -> CatalogueParty {
    let Catalogue { parties } = world.node(at).catalogue();
    parties.into_iter().nth(usize::from(of)).expect("a party")
}

fn tables(world: &World, at: u8, of: u8) -> Vec<String> {
    let known = known(world, at, of);
    known.tables.into_iter().map(|table| table.name).collect()
}

pub(super) fn sees(world: &World, at: u8, of: u8, wanted: &[&str]) {
    until(&format!("{at} sees {wanted:?} of {of}"), || {
        tables(world, at, of) == wanted
    });
}

/// Lines of a party's audit log on this event.
pub(super) fn lines(world: &World, party: u8, event: &str) -> Vec<serde_json::Value> {
    let log = std::fs::read_to_string(world.node(party).database().audit_file()).expect("a log");
    let lines = log.lines().filter(|line| line.contains(&format!("\"{event}\"")));
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn each_party_sees_what_is_published_to_it() {
    let mut world = World::new(3, NONE);
    let listener = world.node(1).listen();
    let two = format!(
        "{}{}",
        bank(0, 4, "to = [\"party-1\"]"),
        bank(0, 9, "").replace("bank_0", "open")
    );
    publish(&world, 0, &two);
    sees(&world, 0, 0, &["bank_0", "open"]);
    sees(&world, 1, 0, &["bank_0", "open"]);
    sees(&world, 2, 0, &["open"]);
    let (own, theirs) = (known(&world, 0, 0), known(&world, 1, 0));
    assert_eq!(
        (own.tables[0].data.as_deref(), &own.tables[0].to[..]),
        (Some("bank_0.csv"), &["party-1".to_owned()][..])
    );
    assert_eq!(
        (theirs.tables[0].data.as_deref(), theirs.tables[0].to.len()),
        (None, 0)
    );
    assert_eq!((theirs.version, theirs.connected, theirs.own), (1, true, false));
    assert!(
        theirs.tables[0].declaration.contains("unique = [\"id\"]"),
        "{}",
        theirs.tables[0].declaration
    );
    let told = || {
        std::iter::from_fn(|| listener.next(Duration::ZERO))
            .any(|event| event == Happened::Catalogue { party: 0 })
    };
    until("it is told", told);
    // Only what has changed has another version, and each line has the digest of what that peer was told.
    publish(&world, 0, &two.replace("max_rows = 4", "max_rows = 5"));
    until("the new version is there", || known(&world, 1, 0).version == 2);
    assert_eq!(known(&world, 2, 0).version, 1);
    let published = lines(&world, 0, "catalogue-published");
    let versions: Vec<(u64, u64)> = published
        .iter()
        .map(|line| {
            (
                line["to"].as_u64().unwrap_or(9),
                line["version"].as_u64().unwrap_or(9),
            )
        })
        .collect();
    assert_eq!(versions, [(1, 1), (2, 1), (1, 2)]);
    assert_eq!(published[2]["digest"], known(&world, 1, 0).digest);
    assert_eq!(
        lines(&world, 1, "catalogue-heard")[1]["digest"],
        published[2]["digest"]
    );
    // While a party is away, its catalogue is shown as it was, also after a restart.
    world.kill(0);
    until("it is away", || !known(&world, 1, 0).connected);
    world.stop(1);
    world.start(1);
    assert_eq!(
        (known(&world, 1, 0).version, tables(&world, 1, 0)),
        (2, vec!["bank_0".into(), "open".into()])
    );
    world.start(0);
    world.wait_ready();
    assert_eq!(known(&world, 0, 0).version, 2, "a restart changes nothing");
    publish(&world, 0, "");
    sees(&world, 1, 0, &[]);
    assert_eq!(known(&world, 1, 0).version, 3);
    sees(&world, 2, 0, &[]);
    world.verify();
}

#[test]
fn rules_follow_the_file_of_rules() {
    let world = World::with(2, NONE, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    let rules =
        |party: u8, text: &str| std::fs::write(world.path(party).join("tables.toml"), text).expect("written");
    rules(
        0,
        "[[table]]\nname = \"bank_0\"\nmin_group = 10\nanswers_per_day = 5\n",
    );
    publish(&world, 0, &bank(0, 4, ""));
    let seen = |part: &str| {
        let known = known(&world, 1, 0);
        known
            .tables
            .iter()
            .any(|table| table.rules.join("; ").contains(part))
    };
    until("the rule is told", || {
        seen("fewer than 10 rows") && seen("5 times a day")
    });
    rules(0, "[[table]]\nname = \"bank_0\"\nmin_group = 20\n");
    world.node(0).core.base.catalogues.look();
    until("the new rule is told", || seen("fewer than 20 rows"));
    // What cannot be read changes nothing.
    rules(0, "[[table]]\nnames = 5\n");
    world.node(0).core.base.catalogues.look();
    assert!(world.node(0).reload_catalogue().is_err() && seen("fewer than 20 rows"));
}

#[test]
fn a_fault_refuses_the_start_and_changes_nothing_later() {
    let mut world = World::new(2, NONE);
    publish(&world, 0, &bank(0, 4, ""));
    sees(&world, 1, 0, &["bank_0"]);
    let path = world.path(0).join("catalogue.toml");
    std::fs::write(&path, bank(0, 4, "to = [\"nobody\"]")).expect("written");
    let told = world
        .node(0)
        .reload_catalogue()
        .expect_err("it is wrong")
        .to_string();
    assert!(
        told.contains("catalogue.toml, line 7") && told.contains("\"nobody\""),
        "{told}"
    );
    assert_eq!(
        (tables(&world, 0, 0), known(&world, 1, 0).version),
        (vec!["bank_0".into()], 1)
    );
    world.stop(0);
    let hub = world.hub.clone();
    let settings = world.settings(0);
    let refused = crate::Node::start(settings, |_| Ok(hub.wires(0)))
        .map(drop)
        .expect_err("refused")
        .to_string();
    assert!(refused.contains("catalogue.toml, line 7"), "{refused}");
    std::fs::write(&path, bank(0, 4, "")).expect("written");
    world.start(0);
    world.wait_ready();
}

/// A query is composed, proposed, and approved by persons who name no data.
#[test]
fn published_tables_need_no_data_with_an_approval() {
    let world = World::new(2, NONE);
    stock_tables(&world);
    publish(&world, 0, &bank(0, 4, ""));
    publish(
        &world,
        1,
        &bank(1, 4, "to = \"all\"").replace("\"bank_1\"", "\"bank_0\""),
    );
    sees(&world, 0, 1, &["bank_0"]);
    sees(&world, 1, 0, &["bank_0"]);
    let compose = |sql: &str| {
        world.node(0).compose(Compose {
            sql: sql.into(),
            receivers: vec!["party-0".into()],
            ..Compose::default()
        })
    };
    let from =
        |a: &str, b: &str| format!("SELECT SUM(a.owed + b.owed) AS joint FROM {a} a JOIN {b} b USING (id)");
    let Err(Error::Query {
        place: Some(place),
        what,
    }) = compose(&from("bank_0", "\"party-1\".bank_0"))
    else {
        panic!("two parties publish it");
    };
    assert!(
        place.column == 43 && what.contains("\"party-0\".bank_0 or \"party-1\".bank_0"),
        "{place:?}: {what}"
    );
    let made = compose(&from("\"party-0\".bank_0", "\"party-1\".bank_0")).expect("made");
    assert_eq!(
        made.data.into_iter().collect::<Vec<_>>(),
        [("party-0.bank_0".into(), "bank_0.csv".into())]
    );
    let id = submit(&world, made.job.clone(), "composed");
    world.wait_for(id, StateName::Proposed);
    let explained = world.node(1).explain(id).expect("known");
    assert_eq!(
        explained.data.get("party-1.bank_0").map(String::as_str),
        Some("bank_1.csv")
    );
    for party in [0, 1] {
        world
            .node(party)
            .approve(id, with_data(&[]), person())
            .expect("approved");
    }
    world.wait_for(id, StateName::Done);
    assert_eq!(answer(&world, 0, id)["answer"]["rows"], json!([["1111"]]));
    let binding = &world.job(1, id).binding[0];
    assert_eq!(binding.input, "party-1.bank_0");
    // A job that declares anything else is not given the data.
    let other = made.job.replacen("max_rows = 4", "max_rows = 3", 1);
    let id = submit(&world, other, "other");
    world.wait_for(id, StateName::Proposed);
    assert!(world.node(0).explain(id).expect("known").data.is_empty());
    let refused = world.node(0).approve(id, with_data(&[]), person()).map(drop);
    let refused = refused.expect_err("no data").to_string();
    assert!(refused.contains("party-0.bank_0"), "{refused}");
}

/// The data that the catalogue names is what rules approve with, too, whatever else lies beside it.
#[test]
fn rules_approve_with_the_data_of_the_catalogue() {
    let policy = "[[rule]]\nname = \"all\"\ndata = \"any\"\nthen = \"approve\"\n";
    let world = World::new(2, policy);
    stock_tables(&world);
    let data = world.path(1).join("data");
    std::fs::copy(data.join("bank_1.csv"), data.join("bank_1-2026.csv")).expect("copied");
    std::fs::write(data.join("bank_1.csv"), "id,owed\n1,1\n").expect("written");
    publish(&world, 0, &bank(0, 4, ""));
    publish(
        &world,
        1,
        &bank(1, 4, "").replace("\"bank_1.csv\"", "\"bank_1-2026.csv\""),
    );
    sees(&world, 0, 1, &["bank_1"]);
    let made = world.node(0).compose(Compose {
        sql: "SELECT SUM(a.owed + b.owed) AS joint FROM bank_0 a JOIN bank_1 b USING (id)".into(),
        receivers: vec!["party-0".into()],
        ..Compose::default()
    });
    let id = submit(&world, made.expect("made").job, "by rule");
    world.wait_for(id, StateName::Done);
    assert_eq!(answer(&world, 0, id)["answer"]["rows"], json!([["1111"]]));
    assert_eq!(
        world.job(1, id).binding[0].source,
        cenote_service::job::Source::Data("bank_1-2026.csv".into())
    );
}

/// A job that puts the name of another party before a table is not approved, and what stands before a name opens no other file.
#[test]
fn a_table_behind_the_name_of_another_party_is_refused() {
    let world = World::with(2, NONE, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock_tables(&world);
    for party in [0, 1] {
        let rules = format!("[[table]]\nname = \"bank_{party}\"\n");
        std::fs::write(world.path(party).join("tables.toml"), rules).expect("written");
        publish(&world, party, &bank(party, 4, ""));
    }
    let data = world.path(1).join("data");
    std::fs::copy(data.join("bank_1.csv"), data.join("2019.bank_1.csv")).expect("copied");
    sees(&world, 0, 1, &["bank_1"]);
    let made = world.node(0).compose(Compose {
        sql: "SELECT SUM(owed) AS s FROM \"party-1\".bank_1".into(),
        receivers: vec!["party-0".into()],
        ..Compose::default()
    });
    let job = made.expect("made").job;
    let other = job.replace("party-1", "party-0");
    let refused = world
        .node(0)
        .submit(submission(other, "other"), person())
        .map(drop);
    assert!(refused.is_err_and(|error| error.to_string().contains("another party")));
    let id = submit(&world, job.replace("party-1", "2019"), "2019");
    world.wait_for(id, StateName::Proposed);
    let with = |data: &str| with_data(&[("2019.bank_1", data)]);
    let refused = world
        .node(1)
        .approve(id, with("2019.bank_1.csv"), person())
        .map(drop);
    assert!(refused.is_err_and(|error| error.to_string().contains("not for the data")));
    world
        .node(1)
        .approve(id, with("bank_1.csv"), person())
        .expect("the data of the rule");
}

/// The rules of tables hold however a job calls a table.
#[test]
fn a_table_behind_the_name_of_its_party_has_its_rule() {
    let world = World::with(2, NONE, |settings| {
        settings.tables = Some(settings.data.with_file_name("tables.toml"));
    });
    stock_tables(&world);
    std::fs::write(
        world.path(1).join("tables.toml"),
        "[[table]]\nname = \"bank_1\"\naggregates_only = true\nanswers_per_day = 1\n",
    )
    .expect("written");
    std::fs::write(
        world.path(0).join("tables.toml"),
        "[[table]]\nname = \"bank_0\"\n",
    )
    .expect("written");
    publish(&world, 1, &bank(1, 4, ""));
    sees(&world, 0, 1, &["bank_1"]);
    let propose = |sql: &str, key: &str| {
        let wanted = Compose {
            sql: sql.into(),
            receivers: vec!["party-0".into()],
            ..Compose::default()
        };
        let made = world.node(0).compose(wanted).expect("made");
        submit(&world, made.job, key)
    };
    let rows = propose("SELECT owed FROM \"party-1\".bank_1", "rows");
    let declined = world.wait_declined(rows);
    assert!(format!("{declined:?}").contains("Declined"), "{declined:?}");
    for (key, is_asked) in [("first", true), ("second", false)] {
        let id = propose("SELECT SUM(owed) AS s FROM \"party-1\".bank_1", key);
        world.wait_for(id, StateName::Proposed);
        let approved = world.node(1).approve(id, with_data(&[]), person());
        assert_eq!(approved.is_ok(), is_asked, "{approved:?}");
    }
}

/// A catalogue that says other things than the data: its owner's data is looked at before anything is computed.
#[test]
fn a_catalogue_that_lies_gives_no_answer() {
    let world = World::new(2, NONE);
    stock_tables(&world);
    let lies = [
        ("owed = \"u32 not null\"", "owed = \"bool not null\"", "bool"),
        ("max_rows = 4", "max_rows = 2", "more than 2 rows"),
        (
            "unique = [\"id\"]",
            "unique = [\"id\"]\nbelow = { owed = 9 }",
            "below",
        ),
        (
            "id = \"u64 not null\"",
            "id = \"u64 not null\", name = \"char(3)\"",
            "name",
        ),
    ];
    publish(&world, 1, &bank(1, 4, ""));
    for (version, (key, (from, to, part))) in (2..).zip(["a", "b", "c", "d"].into_iter().zip(lies)) {
        publish(&world, 0, &bank(0, 4, "").replace(from, to));
        until("it is there", || known(&world, 1, 0).version >= version - 1);
        sees(&world, 0, 1, &["bank_1"]);
        let wanted = Compose {
            sql: "SELECT COUNT(*) AS n FROM bank_0 a JOIN bank_1 b USING (id)".into(),
            receivers: vec!["party-1".into()],
            ..Compose::default()
        };
        let made = world.node(1).compose(wanted).expect("made");
        let job = world
            .node(1)
            .submit(submission(made.job, key), person())
            .expect("submitted");
        let id = job.proposal.id;
        world.wait_for(id, StateName::Proposed);
        world
            .node(1)
            .approve(id, with_data(&[]), person())
            .expect("approved");
        let refused = world.node(0).approve(id, with_data(&[]), person()).map(drop);
        let refused = refused.expect_err("its data does not fit").to_string();
        assert!(refused.contains(part), "{refused}");
        assert!(matches!(world.job(1, id).state, State::Proposed));
    }
}

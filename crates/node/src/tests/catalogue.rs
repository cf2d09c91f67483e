//! Catalogues between services: who sees what of whom, what is kept, and what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cenote::catalogue::{Check, MAX_BYTES, Published};
use cenote_service::job::{Digest, State, StateName};
use cenote_service::live::{AlarmKind, Catalogue, CatalogueParty, Compose, Happened, Live};
use cenote_service::{Catalogues, Error};
use serde_json::json;

use super::queries::{answer, stock_tables, submission, submit};
use super::world::{NONE, World, person, until, with_data};
use crate::message::Message;

/// A catalogue with the tables of the banks, as far as `to` publishes them.
fn bank(party: u8, rows: u64, to: &str) -> String {
    format!(
        "[[table]]\nname = \"bank_{party}\"\ncolumns = {{ id = \"u64 not null\", owed = \"u32 not null\" }}\nmax_rows = {rows}\nunique = [\"id\"]\n\
         data = \"bank_{party}.csv\"\n{to}\n"
    )
}

fn publish(world: &World, party: u8, text: &str) {
    std::fs::write(world.path(party).join("catalogue.toml"), text).expect("written");
    world.node(party).reload_catalogue().expect("published");
}

/// What party `at` knows of party `of`.
fn known(world: &World, at: u8, of: u8) -> CatalogueParty {
    let Catalogue { parties } = world.node(at).catalogue();
    parties.into_iter().nth(usize::from(of)).expect("a party")
}

fn tables(world: &World, at: u8, of: u8) -> Vec<String> {
    let known = known(world, at, of);
    known.tables.into_iter().map(|table| table.name).collect()
}

fn sees(world: &World, at: u8, of: u8, wanted: &[&str]) {
    until(&format!("{at} sees {wanted:?} of {of}"), || {
        tables(world, at, of) == wanted
    });
}

/// Lines of a party's audit log on this event.
fn lines(world: &World, party: u8, event: &str) -> Vec<serde_json::Value> {
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
        place.column == 39 && what.contains("\"party-0\".bank_0 or \"party-1\".bank_0"),
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

fn refused(world: &World, check: Check) -> usize {
    let lines = lines(world, 0, "catalogue-refused");
    lines.iter().filter(|line| line["check"] == check.name()).count()
}

/// Party 1 offers, and sends as soon as it is asked, whatever it likes.
fn attack(world: &World, version: u64, text: &str) {
    let digest = Digest::of(text.as_bytes());
    let answer = text.to_owned();
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, hub) = (Arc::clone(&asked), world.hub.clone());
    world.hub.meddle(Some(Arc::new(move |from, to, message| {
        if (from, to) == (0, 1) && matches!(Message::parse(&message), Ok(Message::ShowCatalogue { .. })) {
            let text = answer.clone();
            hub.say(1, 0, Message::CatalogueText { version, text }.to_bytes());
            count.fetch_add(1, Ordering::SeqCst);
            return Vec::new();
        }
        vec![message]
    })));
    world
        .hub
        .say(1, 0, Message::Catalogue { version, digest }.to_bytes());
    until("it is asked", || asked.load(Ordering::SeqCst) == 1);
}

#[test]
fn what_no_catalogue_says_is_refused_by_name() {
    let world = World::new(2, NONE);
    publish(&world, 1, &bank(1, 4, ""));
    sees(&world, 0, 1, &["bank_1"]);
    let honest = Published::parse(&json_of(&world), 1).expect("a catalogue");
    let change = |from: &str, to: &str| honest.text().replacen(from, to, 1);
    let attacks = [
        (" ".repeat(MAX_BYTES + 1), Check::Length),
        (change("{", "{ "), Check::Form),
        (
            change("\"max_rows\":4", "\"max_rows\":4,\"rows\":[[1,2]]"),
            Check::Form,
        ),
        (
            serde_json::to_string(&Published {
                tables: vec![honest.tables[0].clone(); 257],
            })
            .expect("JSON"),
            Check::Size,
        ),
        (
            change("\"bank_1\"", "\"<img src=x onerror=alert(1)>\""),
            Check::Names,
        ),
        (change("\"owed\"", "\"ow\u{202e}ed\""), Check::Names),
        (
            change("\"bank_1\"", &format!("\"{}\"", "x".repeat(10_000))),
            Check::Names,
        ),
        (change("u32", "u33"), Check::Declarations),
    ];
    for (version, (text, check)) in (100..).zip(&attacks) {
        let before = refused(&world, *check);
        attack(&world, version, text);
        until(check.name(), || refused(&world, *check) == before + 1);
        let alarms = world.node(0).alarms();
        let alarm = alarms
            .iter()
            .find(|alarm| alarm.kind == AlarmKind::Warning)
            .expect("an alarm");
        assert!(
            alarm.text.contains("party 1") && alarm.text.contains(check.name()),
            "{}",
            alarm.text
        );
        assert!(
            !alarm.text.contains('<') && !alarm.text.contains('\u{202e}'),
            "{}",
            alarm.text
        );
        let known = known(&world, 0, 1);
        assert_eq!(
            (known.version, known.tables.len()),
            (1, 1),
            "nothing of it is kept"
        );
    }
    // Versions that go back, or stay with other content, or cannot be.
    world.hub.meddle(None);
    let offer = |version| {
        let digest = Digest::of(b"other");
        world
            .hub
            .say(1, 0, Message::Catalogue { version, digest }.to_bytes());
    };
    for (count, version) in (1..).zip([1, 0, u64::MAX]) {
        offer(version);
        until("the version is refused", || {
            refused(&world, Check::Version) == count
        });
    }
    // What was refused is refused once; and what was not asked for is not looked at.
    offer(u64::MAX);
    let counts = || world.node(0).counts().refused.get(&1).copied().unwrap_or(0);
    let before = counts();
    world.hub.say(
        1,
        0,
        Message::CatalogueText {
            version: 7,
            text: honest.text(),
        }
        .to_bytes(),
    );
    until("it is counted", || counts() == before + 1);
    assert_eq!(refused(&world, Check::Version), 3);
    // An honest one that follows is kept, and ends the alarm.
    let next = honest.text().replacen("\"max_rows\":4", "\"max_rows\":9", 1);
    attack(&world, 500, &next);
    until("it is kept", || known(&world, 0, 1).version == 500);
    until("the alarm has ended", || world.node(0).alarms().is_empty());
    // One that is not what was offered.
    let digest = Digest::of(b"something else");
    let text = honest.text();
    let hub = world.hub.clone();
    world.hub.meddle(Some(Arc::new(move |from, to, message| {
        if (from, to) == (0, 1) && matches!(Message::parse(&message), Ok(Message::ShowCatalogue { .. })) {
            let text = text.clone();
            hub.say(1, 0, Message::CatalogueText { version: 600, text }.to_bytes());
        }
        vec![message]
    })));
    let before = refused(&world, Check::Form);
    world
        .hub
        .say(1, 0, Message::Catalogue { version: 600, digest }.to_bytes());
    until("it is refused", || refused(&world, Check::Form) == before + 1);
    world.verify();
}

/// The text of what party 1 has published, as party 0 has it on record.
fn json_of(world: &World) -> String {
    let record = Catalogues::new(world.node(0).database().clone());
    record
        .heard()
        .expect("read")
        .remove(&1)
        .expect("a catalogue")
        .text
}

/// Asking for it again and again is no way to make this party send without end.
#[test]
fn a_catalogue_is_shown_as_it_is_asked_for() {
    let world = World::new(3, NONE);
    publish(&world, 0, &bank(0, 4, "to = [\"party-1\"]"));
    sees(&world, 1, 0, &["bank_0"]);
    let shown = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&shown);
    world.hub.meddle(Some(Arc::new(move |from, to, message| {
        if from == 0 && to == 2 && matches!(Message::parse(&message), Ok(Message::CatalogueText { .. })) {
            count.fetch_add(1, Ordering::SeqCst);
        }
        vec![message]
    })));
    // Party 2 was published nothing: it is shown nothing, whatever it asks for.
    for version in [0, 1, 2, u64::MAX] {
        world.hub.say(2, 0, Message::ShowCatalogue { version }.to_bytes());
    }
    // What comes after it on the same thread has been done.
    let before = world.node(0).counts().refused.get(&2).copied().unwrap_or(0);
    world.hub.say(
        2,
        0,
        Message::CatalogueText {
            version: 1,
            text: String::new(),
        }
        .to_bytes(),
    );
    until("all was heard", || {
        world.node(0).counts().refused.get(&2).copied().unwrap_or(0) > before
    });
    assert_eq!(shown.load(Ordering::SeqCst), 0);
}

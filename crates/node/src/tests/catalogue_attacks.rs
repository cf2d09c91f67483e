//! Peers whose catalogues are none, go back, or were not asked for: each is refused by the name of the check, and nothing of it is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cenote::catalogue::{Check, MAX_BYTES, Published};
use cenote_service::Catalogues;
use cenote_service::job::Digest;
use cenote_service::live::{AlarmKind, Live};

use super::catalogue::{bank, known, lines, publish, sees};
use super::world::{NONE, World, until};
use crate::message::Message;

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
    let (world, honest) = honest_world();
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
    // An honest one that follows is kept, and ends the alarm.
    let next = honest.text().replacen("\"max_rows\":4", "\"max_rows\":9", 1);
    attack(&world, 500, &next);
    until("it is kept", || known(&world, 0, 1).version == 500);
    until("the alarm has ended", || world.node(0).alarms().is_empty());
    world.verify();
}

/// Versions that go back, or stay with other content, or cannot be; and what was not asked for, or is not what was offered.
#[test]
fn a_version_that_goes_back_is_refused_once() {
    let (world, honest) = honest_world();
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

/// Two parties, and what party 1 has published to party 0.
fn honest_world() -> (World, Published) {
    let world = World::new(2, NONE);
    publish(&world, 1, &bank(1, 4, ""));
    sees(&world, 0, 1, &["bank_1"]);
    let honest = Published::parse(&json_of(&world), 1).expect("a catalogue");
    (world, honest)
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

/// A peer that offers without end fills neither the audit log nor this party's time.
#[test]
fn a_flood_of_offers_is_told_and_asked_for_seldom() {
    let (world, honest) = honest_world();
    let offer = |version: u64, content: &[u8]| {
        let digest = Digest::of(content);
        world
            .hub
            .say(1, 0, Message::Catalogue { version, digest }.to_bytes());
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    world.hub.meddle(Some(Arc::new(move |from, to, message| {
        if (from, to) == (0, 1) && matches!(Message::parse(&message), Ok(Message::ShowCatalogue { .. })) {
            count.fetch_add(1, Ordering::SeqCst);
            return Vec::new();
        }
        vec![message]
    })));
    let counts = || world.node(0).counts().refused.get(&1).copied().unwrap_or(0);
    let before = counts();
    for number in 0..100_u64 {
        offer(0, &[number as u8 % 2]);
        offer(1000 + number, &number.to_le_bytes());
    }
    // Of the second kind some are asked for, and all others are counted.
    until("all were heard", || {
        counts() - before + asked.load(Ordering::SeqCst) as u64 == 200
    });
    let (told, asked) = (refused(&world, Check::Version), asked.load(Ordering::SeqCst));
    assert!(
        (1..=21).contains(&told) && (1..=21).contains(&asked),
        "{told}, {asked}"
    );
    assert_eq!(known(&world, 0, 1).version, 1);
    assert!(!honest.tables.is_empty());
    world.verify();
}

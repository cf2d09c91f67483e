//! A party whose folder is put back to an earlier state, and peers that claim so.

use std::sync::Arc;
use std::time::Duration;

use cenote_service::job::{JobId, StateName};
use cenote_service::live::{AlarmKind, Live};
use tempfile::TempDir;

use super::catalogue::{bank, known, publish};
use super::world::{ALL, World, copy_all, person, until};
use crate::message::Message;

fn is_alarmed(world: &World, party: u8, kind: AlarmKind, of: &str) -> bool {
    let alarms = world.node(party).alarms();
    alarms
        .iter()
        .any(|alarm| alarm.kind == kind && alarm.text.contains(of))
}

fn is_put_back(world: &World, party: u8) -> bool {
    is_alarmed(world, party, AlarmKind::PutBack, "")
}

fn lines(world: &World, party: u8) -> u64 {
    world.node(party).database().audit_head().expect("a head").number
}

/// Waits until all others remember a party's log as it is.
fn wait_remembered(world: &World, party: u8) {
    let others = || (0..world.nodes.len() as u8).filter(|other| *other != party);
    until("all remember it", || {
        let now = Some(lines(world, party));
        others().all(|other| world.node(other).core.base.witness.line_of(party) == now)
    });
}

fn run(world: &World, party: u8, key: &str) -> JobId {
    let id = world.submit(party, key).proposal.id;
    world.wait_for(id, StateName::Done);
    id
}

/// Stops a party, and gives a copy of its folder.
fn copy(world: &mut World, party: u8) -> TempDir {
    world.stop(party);
    let copy = tempfile::tempdir().expect("a folder");
    copy_all(&world.path(party).join("service"), copy.path());
    world.start(party);
    world.wait_ready();
    copy
}

/// Stops a party, puts its folder back, and starts it again.
fn put_back(world: &mut World, party: u8, copy: &TempDir) {
    world.stop(party);
    let folder = world.path(party).join("service");
    std::fs::remove_dir_all(&folder).expect("removed");
    copy_all(copy.path(), &folder);
    world.start(party);
}

fn acknowledge(world: &World, at: u8, party: u8) {
    let node = world.node(at);
    let known = node.put_back(party).expect("read").expect("on record");
    let other = node.acknowledge((party, known.lines + 1), person());
    other.expect_err("something else is on record");
    assert!(
        node.acknowledge((party, known.lines), person())
            .expect("recorded")
    );
}

fn events(world: &World, party: u8, event: &str) -> usize {
    let log = std::fs::read_to_string(world.node(party).database().audit_file()).expect("a log");
    log.matches(&format!("\"event\":\"{event}\"")).count()
}

/// Time in which a job would have begun.
fn pause() {
    std::thread::sleep(Duration::from_millis(800));
}

#[test]
fn a_folder_that_was_put_back_runs_nothing_until_persons_have_seen_it() {
    let mut world = World::new(3, ALL);
    run(&world, 0, "before");
    let copy = copy(&mut world, 1);
    let lost = run(&world, 0, "lost");
    wait_remembered(&world, 1);
    let before = lines(&world, 1);
    put_back(&mut world, 1, &copy);
    until("all are alarmed", || {
        (0..3).all(|party| is_put_back(&world, party))
    });
    assert!(world.node(1).jobs().get(lost).is_err(), "it is forgotten");
    for party in 0..3 {
        assert!(is_alarmed(
            &world,
            party,
            AlarmKind::PutBack,
            &format!("had {before} lines")
        ));
        assert!(
            world
                .node(party)
                .ready()
                .expect_err("not ready")
                .contains("put back")
        );
        assert!(
            world.node(party).core.base.against.caught_among(3).is_some(),
            "no stock is made"
        );
    }
    assert_eq!(events(&world, 0, "put-back"), 1);

    // It is on record, and not only in the processes.
    for party in [1, 0] {
        world.stop(party);
        world.start(party);
        assert!(is_put_back(&world, party));
    }
    let both = || {
        world
            .node(1)
            .put_back(1)
            .expect("read")
            .is_some_and(|known| known.told_by == [0, 2])
    };
    until("both have told it", both);
    assert_eq!(events(&world, 1, "put-back"), 2, "once of each");
    let own = world.submit(1, "own").proposal.id;
    let theirs = world.submit(0, "theirs").proposal.id;
    let by_rule = |party: u8, id| {
        let job = world.node(party).jobs().get(id);
        job.is_ok_and(|job| job.decisions[usize::from(party)].is_some())
    };
    pause();
    for (party, id) in [
        (0, own),
        (1, own),
        (2, own),
        (0, theirs),
        (1, theirs),
        (2, theirs),
    ] {
        assert!(!by_rule(party, id), "a rule has approved it at party {party}");
    }

    go_on(&mut world);
}

/// A person at each party acknowledges that party 1 was put back.
fn go_on(world: &mut World) {
    // Each party's operator decides for that party.
    acknowledge(world, 1, 1);
    assert!(!is_put_back(world, 1));
    let next = world.submit(0, "next").proposal.id;
    pause();
    assert!(
        world.job(0, next).state.name().is_open(),
        "others have not acknowledged it"
    );
    acknowledge(world, 0, 1);
    acknowledge(world, 2, 1);
    world.wait_ready();
    run(world, 2, "after");
    assert!((0..3).all(|party| !is_put_back(world, party)));

    // What is told from then on is remembered, also after a restart.
    wait_remembered(world, 1);
    world.stop(1);
    world.start(1);
    world.wait_ready();
    run(world, 1, "later");
    assert!((0..3).all(|party| !is_put_back(world, party)));
    assert_eq!(events(world, 1, "put-back-acknowledged"), 1);
    world.verify();
}

#[test]
fn who_was_put_back_again_is_noticed_again() {
    let mut world = World::new(2, ALL);
    run(&world, 0, "before");
    let copy = copy(&mut world, 0);
    for round in 0..2 {
        run(&world, 1, &format!("lost {round}"));
        wait_remembered(&world, 0);
        put_back(&mut world, 0, &copy);
        until("both are alarmed", || {
            is_put_back(&world, 0) && is_put_back(&world, 1)
        });
        acknowledge(&world, 0, 0);
        acknowledge(&world, 1, 0);
        world.wait_ready();
    }
    run(&world, 1, "after");
    world.verify();
}

#[test]
fn who_begins_anew_under_its_identity_is_noticed() {
    let mut world = World::new(2, ALL);
    run(&world, 0, "before");
    wait_remembered(&world, 1);
    let nothing = tempfile::tempdir().expect("a folder");
    put_back(&mut world, 1, &nothing);
    until("both are alarmed", || {
        is_put_back(&world, 0) && is_put_back(&world, 1)
    });
}

#[test]
fn a_peer_cannot_stop_a_party_by_a_false_claim() {
    let mut world = World::new(2, ALL);
    run(&world, 0, "before");
    wait_remembered(&world, 1);
    world.stop(1);
    // Party 0 claims more than it was told, and says otherwise what is expected of it.
    let claims = |message: &[u8]| match Message::parse(message) {
        Ok(Message::Remembers { told: Some(mut told) }) => {
            told.number += 1000;
            Some(Message::Remembers { told: Some(told) })
        }
        _ => None,
    };
    let hears = |message: &[u8]| match Message::parse(message) {
        Ok(Message::Recalls { number, .. }) => Some(Message::Recalls {
            number: number - 1000,
            there: true,
        }),
        _ => None,
    };
    world.hub.meddle(Some(Arc::new(move |from, _, message| {
        let other = if from == 0 {
            claims(&message)
        } else {
            hears(&message)
        };
        vec![other.map_or(message, |other| other.to_bytes())]
    })));
    world.start(1);
    until("its operator is told", || {
        is_alarmed(&world, 1, AlarmKind::Warning, "Party 0 (party-0) claims")
    });
    world.wait_ready();
    run(&world, 0, "after");
    assert!(!is_put_back(&world, 1));
    for again in 0..3 {
        world.hub.cut(0, 1);
        world.hub.mend(0, 1);
        until("they meet again", || {
            world.node(1).ready().is_ok() && world.node(0).ready().is_ok()
        });
        run(&world, 1, &format!("again {again}"));
    }
    assert_eq!(events(&world, 1, "claim-refused"), 1);
    assert_eq!(events(&world, 1, "put-back"), 0);
    world.verify();
}

#[test]
fn nothing_is_done_with_a_peer_that_does_not_say_what_it_remembers() {
    let world = World::new(2, ALL);
    world.hub.meddle(Some(Arc::new(|from, _, message| {
        let is_it = matches!(Message::parse(&message), Ok(Message::Remembers { .. }));
        if from == 0 && is_it {
            Vec::new()
        } else {
            vec![message]
        }
    })));
    world.hub.cut(0, 1);
    world.hub.mend(0, 1);
    until("that is what is missing", || {
        let ready = world.node(1).ready();
        ready.is_err_and(|why| why.contains("have not compared yet"))
    });
    // Nothing else that it says is heard.
    world
        .hub
        .say(0, 1, Message::Recording { works: false }.to_bytes());
    pause();
    let peer = world.node(1).core.base.peers.get(0).expect("a peer");
    assert!(!peer.known().stuck);
    assert!(world.node(1).ready().is_err());
    world.hub.meddle(None);
    world.hub.cut(0, 1);
    world.hub.mend(0, 1);
    world.wait_ready();
    run(&world, 0, "after");
}

/// Peers keep the last version of a catalogue until a person knows that its party has begun anew.
#[test]
fn versions_of_a_catalogue_begin_anew_once_persons_have_seen_why() {
    let mut world = World::new(2, ALL);
    let copy = copy(&mut world, 1);
    for rows in [4, 5] {
        publish(&world, 1, &bank(1, rows, ""));
    }
    until("it is there", || known(&world, 0, 1).version == 2);
    wait_remembered(&world, 1);
    put_back(&mut world, 1, &copy);
    until("both are alarmed", || {
        (0..2).all(|party| is_put_back(&world, party))
    });
    let before = known(&world, 0, 1);
    assert_eq!((before.version, before.connected), (2, false));
    for at in [0, 1] {
        acknowledge(&world, at, 1);
    }
    until("it comes again", || known(&world, 0, 1).version == 1);
    assert_eq!(known(&world, 0, 1).tables[0].max_rows, 5);
}

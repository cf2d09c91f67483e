//! Alarms that a peer would like silenced, and a peer that greets too often.

use std::time::{Duration, Instant};

use cenote_service::live::{AlarmKind, Happened, Live};

use super::world::{ALL, PATIENCE, World, until};
use crate::message::{Message, VERSION};
use crate::peer::Greeting;

fn hello(program: &str, version: u32) -> Vec<u8> {
    let hello = Message::Hello {
        version,
        program: program.into(),
        jobs: 8,
        per_proposer: 8,
        memory: 1 << 30,
        names: (0..3).map(|party| format!("party-{party}")).collect(),
    };
    hello.to_bytes()
}

#[test]
fn each_cheating_is_told_of() {
    let world = World::new(3, ALL);
    let node = world.node(0);
    let listener = node.listen();
    for text in ["the first", "the second"] {
        let core = &node.core;
        core.base
            .monitor
            .alarm(AlarmKind::Cheating, "party 1", text.into(), "see to it");
        let told = std::iter::from_fn(|| listener.next(PATIENCE));
        assert!(
            told.into_iter().any(|told| matches!(told, Happened::Alarm)),
            "{text}"
        );
        let alarms = node.alarms();
        let texts: Vec<&str> = alarms.iter().map(|alarm| alarm.text.as_str()).collect();
        assert_eq!(texts, [text]);
    }
}

#[test]
fn a_peer_that_connects_and_does_not_greet_is_lost_all_the_same() {
    let world = World::new(3, ALL);
    let peer = world.node(0).core.base.peers.get(1).expect("a peer");
    let is_lost = || {
        let alarms = world.node(0).alarms();
        alarms.iter().any(|alarm| alarm.kind == AlarmKind::PeerLost)
    };
    world.hub.meddle(Some(std::sync::Arc::new(|from, _, message| {
        match from == 1 && matches!(Message::parse(&message), Ok(Message::Hello { .. })) {
            true => Vec::new(),
            false => vec![message],
        }
    })));
    world.hub.cut(0, 1);
    until("it is away", || !peer.known().up);
    peer.known().lost = Instant::now().checked_sub(Duration::from_secs(120));
    until("there is an alarm", is_lost);
    world.hub.mend(0, 1);
    // By then what a new connection changes is done.
    until("it is greeted", || peer.known().greeting == Greeting::Done);
    world.hub.say(1, 0, hello("99", VERSION + 1));
    until("it is heard", || {
        peer.known()
            .hello
            .as_ref()
            .is_some_and(|hello| hello.program == "99")
    });
    assert!(is_lost());
    world.hub.say(1, 0, hello("1", VERSION));
    until("it is back", || !is_lost());
}

#[test]
fn a_flood_of_the_same_greeting_is_told_of_once() {
    let world = World::new(3, ALL);
    let node = world.node(0);
    let say_noise = |heard: u64| {
        world.hub.say(1, 0, b"noise".to_vec());
        until("it is heard", || node.counts().refused.get(&1) == Some(&heard));
    };
    // What comes before it is told of by then.
    say_noise(1);
    let listener = node.listen();
    for _ in 0..100 {
        world.hub.say(1, 0, hello("1", VERSION));
    }
    say_noise(2);
    let told = std::iter::from_fn(|| listener.next(Duration::ZERO));
    let of_peer = told.filter(|told| matches!(told, Happened::Peer { party: 1 }));
    assert_eq!(of_peer.count(), 1);
}

#[test]
fn little_room_on_a_disk_is_told_before_it_is_full() {
    let world = World::with(3, ALL, |settings| {
        settings.room = if settings.me == 1 { u64::MAX } else { 0 };
    });
    let of_disk = |party: u8| {
        let alarms = world.node(party).alarms();
        alarms.into_iter().find(|alarm| alarm.kind == AlarmKind::Disk)
    };
    until("there is an alarm", || of_disk(1).is_some());
    let folder = world.path(1).join("service").display().to_string();
    let alarm = of_disk(1).expect("an alarm");
    assert!(
        alarm.text.contains(&folder) && alarm.advice.contains("Make room"),
        "{alarm:?}"
    );
    assert!(of_disk(0).is_none() && world.node(1).ready().is_ok());
}

/// What services themselves say of their records reaches nobody.
pub(super) fn lose_recording(world: &World) {
    world.hub.meddle(Some(std::sync::Arc::new(|_, _, message| {
        match matches!(Message::parse(&message), Ok(Message::Recording { .. })) {
            true => Vec::new(),
            false => vec![message],
        }
    })));
}

#[test]
fn a_peer_that_can_record_nothing_is_named_until_it_can() {
    let world = World::new(3, ALL);
    lose_recording(&world);
    let recording = |works| Message::Recording { works }.to_bytes();
    world.hub.say(1, 0, recording(false));
    until("it is not ready", || world.node(0).ready().is_err());
    let reason = world.node(0).ready().expect_err("not ready");
    assert!(
        reason.contains("party 1 (party-1): it can record nothing at present"),
        "{reason}"
    );
    world.hub.say(1, 0, recording(true));
    world.wait_ready();
    // Over a new connection it can, unless it says otherwise again.
    world.hub.say(1, 0, recording(false));
    until("it is not ready", || world.node(0).ready().is_err());
    world.hub.cut(0, 1);
    world.hub.mend(0, 1);
    world.wait_ready();
}

/// A word may be lost, or come after a newer one: how a peer stands is told again and again.
#[test]
fn a_peer_is_not_taken_for_stuck_for_long_when_it_is_not() {
    let world = World::new(3, ALL);
    let stuck = Message::Recording { works: false }.to_bytes();
    world.hub.say(1, 0, stuck.clone());
    until("it is taken for stuck", || world.node(0).ready().is_err());
    world.wait_ready();
    // With where its jobs stand it says so at once.
    world.hub.say(1, 0, stuck);
    until("it is taken for stuck", || world.node(0).ready().is_err());
    world.node(1).core.statuses.tell_statuses(0);
    let start = Instant::now();
    world.wait_ready();
    assert!(start.elapsed() < Duration::from_secs(8));
}

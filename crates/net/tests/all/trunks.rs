//! Connections that are kept up: who is there, what they tell each other, and which sessions come about.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crate::common::trunks::{PATIENCE, Party, World, join_all, start, trunks};
use crate::common::{Boxed, STEP, assert_late, brief, bytes, labels};
use cenote_net::{
    CHANNELS, Channel, ChannelOptions, Error, Identity, LABELS, Listen, Mesh, PartyId, ROLL_CALL,
    TrunkLimits, TrunkState, Trunks, step,
};

fn all(parties: &[Party]) -> Vec<&Trunks> {
    parties.iter().map(|party| &party.trunks).collect()
}

/// Waits until something is so. Says whether it is.
fn comes_about(condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while !condition() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    condition()
}

#[test]
fn three_parties_join_and_exchange() {
    let parties = trunks(3, &TrunkLimits::default());
    let names = labels(&["b", "a", ROLL_CALL]);
    let options = brief(10_000);
    let meshes = join_all(&all(&parties), "session", &names, [&options; 3]);
    std::thread::scope(|scope| {
        for (me, mesh) in meshes.into_iter().enumerate() {
            let mut mesh = mesh.unwrap();
            assert_eq!(mesh.remaining().count(), 4, "the roll call is not handed out");
            scope.spawn(move || {
                for label in &labels(&["a", "b"]) {
                    let others = (0..3).filter(|other| *other != me);
                    let mut channels: Vec<_> = others
                        .map(|other| mesh.take(PartyId(other as u8), label).unwrap())
                        .collect();
                    let word = |me: usize| format!("{me} {label}").into_bytes();
                    for channel in &mut channels {
                        channel.send(STEP, &word(me)).unwrap();
                    }
                    for channel in &mut channels {
                        let mut body = [0; 3];
                        channel.recv(STEP, &mut body).unwrap();
                        assert_eq!(body.to_vec(), word(channel.peer().index()));
                    }
                }
            });
        }
    });
}

#[test]
fn messages_arrive_in_order_and_are_bounded() {
    let limits = TrunkLimits {
        message: 100_000,
        queued_messages: 1 << 20,
        ..TrunkLimits::default()
    };
    let parties = trunks(2, &limits);
    parties[0].ear.up(1, 1);
    parties[1].ear.up(0, 1);
    let sizes = [0, 1, 100_000, 32_756, 32_757, 5];
    for (index, &size) in sizes.iter().enumerate() {
        (parties[0].trunks)
            .tell(PartyId(1), bytes(index as u64, size))
            .unwrap();
    }
    let heard = parties[1].ear.messages(sizes.len());
    for (index, (peer, message)) in heard.into_iter().enumerate() {
        assert_eq!(peer, PartyId(0));
        assert!(message == bytes(index as u64, sizes[index]), "message {index}");
    }
    let error = parties[0].trunks.tell(PartyId(1), vec![0; 100_001]).unwrap_err();
    assert!(error.to_string().contains("100001 bytes"), "{error}");
    let error = parties[0].trunks.tell(PartyId(0), vec![]).unwrap_err();
    assert!(error.to_string().contains("it is no peer"), "{error}");
}

#[test]
fn who_waits_no_longer_does_not_join() {
    let parties = trunks(2, &TrunkLimits::default());
    let names = labels(&["main"]);
    let options = brief(60_000);
    let patience = options.patience.clone();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            patience.end();
        });
        let outcome = parties[0].trunks.join("session", 2, &names, options, PATIENCE);
        assert!(matches!(outcome, Err(Error::Timeout { .. })), "{outcome:?}");
    });
    assert!(start.elapsed() < PATIENCE / 2);
}

#[test]
fn who_does_not_join_is_named() {
    let parties = trunks(3, &TrunkLimits::default());
    let names = labels(&["main"]);
    let limit = Duration::from_secs(3);
    parties[0].ear.up(2, 1);
    parties[2].ear.up(0, 1);
    // Who is late by more than the grace is told that the other has given up.
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        for me in [0, 2] {
            let (party, names, both) = (&parties[me], &names, &both);
            scope.spawn(move || {
                both.wait();
                let outcome = party.trunks.join("session", 3, names, brief(5000), limit);
                match outcome {
                    Err(Error::Timeout {
                        peer: PartyId(1),
                        step: step::CONNECT,
                        waited,
                    }) => assert!(waited >= limit),
                    other => panic!("{other:?}"),
                }
            });
        }
    });
}

/// The channels of two parties that join a session, with the party named first in each.
fn pair([a, b]: [&Party; 2], session: &str, options: &ChannelOptions) -> (Boxed, Boxed) {
    let mut meshes = join_all(&[&a.trunks, &b.trunks], session, &labels(&["main"]), [options; 2]).into_iter();
    let mut next = |peer: &Party| take(meshes.next().unwrap().unwrap(), peer.trunks.me());
    let first = next(b);
    (first, next(a))
}

fn take(mut mesh: Mesh, peer: PartyId) -> Boxed {
    mesh.take(peer, &"main".into()).unwrap()
}

fn exchange(a: &mut Boxed, b: &mut Boxed, word: &[u8]) {
    let mut body = vec![0; word.len()];
    a.send(STEP, word).and_then(|()| a.flush()).unwrap();
    b.recv(STEP, &mut body).unwrap();
    b.send(STEP, &body).and_then(|()| b.flush()).unwrap();
    a.recv(STEP, &mut body).unwrap();
    assert!(body == word);
}

#[test]
fn many_sessions_run_side_by_side() {
    let parties = trunks(2, &TrunkLimits::default());
    let options = brief(20_000);
    std::thread::scope(|scope| {
        for session in 0..64u64 {
            for (me, party) in parties.iter().enumerate() {
                let (trunks, options) = (&party.trunks, options.clone());
                scope.spawn(move || {
                    let name = format!("session {session}");
                    let mesh = trunks
                        .join(&name, 2, &labels(&["main"]), options, PATIENCE)
                        .unwrap();
                    let mut channel = take(mesh, PartyId(1 - me as u8));
                    for round in 0..20 {
                        // Some large, some small; each session's own.
                        let length = if round % 7 == 3 { 300_000 } else { 100 };
                        let word = |me: usize| bytes(1000 * session + 10 * round + me as u64, length);
                        channel.send(STEP, &word(me)).unwrap();
                        let mut body = vec![0; length];
                        channel.recv(STEP, &mut body).unwrap();
                        assert!(body == word(1 - me), "session {session}, round {round}");
                    }
                    channel.close().unwrap();
                });
            }
        }
    });
    for (me, party) in parties.iter().enumerate() {
        let facts = || party.trunks.facts(PartyId(1 - me as u8));
        assert!(comes_about(|| facts().channels == 0));
        let facts = facts();
        assert_eq!(facts.state, TrunkState::Up);
        assert!(facts.bytes_sent > 64 * 900_000 && facts.bytes_received > 64 * 900_000);
    }
}

/// Who joins second is ready for the other's first message before the other hears of that.
#[test]
fn sessions_that_begin_at_once_carry_their_first_messages() {
    let parties = trunks(2, &TrunkLimits::default());
    let options = brief(20_000);
    std::thread::scope(|scope| {
        for line in 0..8 {
            for (me, party) in parties.iter().enumerate() {
                let (trunks, options) = (&party.trunks, options.clone());
                scope.spawn(move || {
                    for session in 0..150 {
                        let name = format!("session {line} {session}");
                        let mesh = trunks
                            .join(&name, 2, &labels(&["main"]), options.clone(), PATIENCE)
                            .unwrap();
                        let mut channel = take(mesh, PartyId(1 - me as u8));
                        channel
                            .send(STEP, b"at once")
                            .and_then(|()| channel.flush())
                            .unwrap();
                        channel.recv(STEP, &mut [0; 7]).unwrap();
                        channel.close().unwrap();
                    }
                });
            }
        }
    });
    for (me, party) in parties.iter().enumerate() {
        assert_eq!(party.ear.states(), [(PartyId(1 - me as u8), TrunkState::Up)]);
    }
}

#[test]
fn who_never_receives_holds_up_nobody_else() {
    let parties = trunks(2, &TrunkLimits::default());
    let both = [&parties[0], &parties[1]];
    let options = ChannelOptions {
        queue_bytes: 4 << 20,
        least_rate: u64::MAX,
        linger: Duration::ZERO,
        ..brief(1000)
    };
    let (mut stuck, _deaf) = pair(both, "stuck", &options);
    let (mut a, mut b) = pair(both, "other", &brief(20_000));
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let body = vec![7; 1 << 20];
            (0..100).find_map(|_| stuck.send(STEP, &body).err())
        });
        while !sender.is_finished() {
            exchange(&mut a, &mut b, &[1; 100_000]);
        }
        let error = sender.join().unwrap();
        assert_late(&error.unwrap());
    });
    exchange(&mut b, &mut a, &[2; 1 << 20]);
}

fn hasty() -> TrunkLimits {
    TrunkLimits {
        first_pause: Duration::from_millis(20),
        longest_pause: Duration::from_millis(200),
        refused_pause: Duration::from_millis(200),
        ..TrunkLimits::default()
    }
}

#[test]
fn a_peer_that_was_restarted_is_connected_again() {
    let (world, mut listeners) = World::new(3, &hasty());
    let mut listen = || Some(Listen::Bound(listeners.remove(0)));
    let (zero, one) = (world.start(0, listen()), world.start(1, listen()));
    let two = world.start(2, None);
    zero.ear.up(2, 1);
    one.ear.up(2, 1);
    two.ear.up(1, 1);
    one.ear.up(0, 1);
    let all = [&zero, &one, &two].map(|party| &party.trunks);
    let names = labels(&["main"]);
    let mut meshes: Vec<Mesh> = join_all(&all, "lost", &names, [&brief(20_000); 3])
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let mut channel = |of: usize, to: u8| meshes[of].take(PartyId(to), &names[0]).unwrap();
    let mut lost = [channel(0, 1), channel(2, 1)];
    let (mut a, mut b) = (channel(0, 2), channel(2, 0));

    let ear = one.ear.clone();
    one.trunks.shut_down(Duration::ZERO);
    drop((one, meshes));
    assert_eq!(ear.down(0), "this party has closed it");
    for channel in &mut lost {
        let error = channel.recv(STEP, &mut [0]).unwrap_err();
        let reason = "it ended the connection: it has shut down";
        assert!(
            matches!(&error, Error::PeerLost { peer: PartyId(1), reason: got, .. } if got == reason),
            "{error:?}"
        );
    }
    for party in [&zero, &two] {
        assert_eq!(party.ear.down(1), "it ended the connection: it has shut down");
    }
    // The channels between the others go on.
    exchange(&mut a, &mut b, &[1; 100_000]);
    let error = zero.trunks.tell(PartyId(1), vec![1]).unwrap_err();
    assert!(
        matches!(error, Error::PeerLost { peer: PartyId(1), .. }),
        "{error:?}"
    );
    let again = two
        .ear
        .state(1, 1, |state| matches!(state, TrunkState::Down { .. }));
    assert!(
        matches!(again, TrunkState::Down { again: Some(pause), .. } if pause <= Duration::from_millis(200)),
        "{again:?}"
    );

    // A session may be joined before the peer is there again.
    std::thread::scope(|scope| {
        let joined = scope.spawn(|| {
            let names = labels(&["main"]);
            zero.trunks.join("again", 2, &names, brief(20_000), PATIENCE)
        });
        let one = world.restart(1);
        let names = labels(&["main"]);
        let mesh = one
            .trunks
            .join("again", 2, &names, brief(20_000), PATIENCE)
            .unwrap();
        let (mut a, mut b) = (
            take(joined.join().unwrap().unwrap(), PartyId(1)),
            take(mesh, PartyId(0)),
        );
        exchange(&mut a, &mut b, b"again");
        zero.ear.up(1, 2);
        two.ear.up(1, 2);
    });
}

#[test]
fn a_wrong_key_is_refused() {
    let (mut world, mut listeners) = World::new(2, &hasty());
    let zero = world.start(0, Some(Listen::Bound(listeners.remove(0))));
    // Party 1 has another key than the one pinned for it.
    let pinned = world.identities[1].fingerprint();
    world.identities[1] = Arc::new(Identity::generate().unwrap());
    world.parties[1].fingerprint = Some(world.identities[1].fingerprint());
    let one = world.start(1, None);
    let reason = one.ear.refused(0);
    assert!(reason.contains("it refused this party's key"), "{reason}");
    let names = labels(&["main"]);
    let error = one
        .trunks
        .join("session", 2, &names, brief(1000), PATIENCE)
        .unwrap_err();
    assert!(
        matches!(error, Error::PeerLost { peer: PartyId(0), .. }),
        "{error:?}"
    );
    // The other side cannot know whose key it was, and says so when the peer is missing.
    let wait = Duration::from_millis(500);
    match zero.trunks.join("session", 2, &names, brief(1000), wait) {
        Err(Error::Identity {
            peer: PartyId(1),
            expected,
            got,
        }) => {
            assert_eq!(
                (expected, got),
                (pinned.to_string(), world.identities[1].fingerprint().to_string())
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(zero.ear.states().is_empty(), "{:?}", zero.ear.states());
    drop(one);

    // Party 1 expects another key of party 0.
    let (mut world, mut listeners) = World::new(2, &hasty());
    let _zero = world.start(0, Some(Listen::Bound(listeners.remove(0))));
    world.parties[0].fingerprint = Some(Identity::generate().unwrap().fingerprint());
    let one = world.start(1, None);
    let reason = one.ear.refused(0);
    assert!(reason.contains("party 0 has the wrong identity"), "{reason}");
    assert!(matches!(
        one.trunks.join("session", 2, &names, brief(1000), PATIENCE),
        Err(Error::Identity { peer: PartyId(0), .. })
    ));
}

/// What was refused is tried again.
#[test]
fn another_version_is_refused_until_it_is_the_same() {
    let (world, mut listeners) = World::new(2, &hasty());
    let listener = listeners.remove(0);
    let mut old = world.config(0, Some(Listen::Bound(listener)));
    old.version = "0.9".into();
    let zero = start(old);
    let one = world.start(1, None);
    assert_eq!(
        one.ear.refused(0),
        "party 0 disagrees on the version: here 1.0, there 0.9"
    );
    assert_eq!(
        zero.ear.refused(1),
        "party 1 disagrees on the version: here 0.9, there 1.0"
    );
    zero.trunks.shut_down(Duration::ZERO);
    drop(zero);
    let zero = world.restart(0);
    zero.ear.up(1, 1);
    one.ear.up(0, 1);
    assert_eq!(one.trunks.facts(PartyId(0)).version.as_deref(), Some("1.0"));
}

#[test]
fn parties_that_want_different_channels_are_told() {
    let parties = trunks(2, &TrunkLimits::default());
    let digest = |error: &str| error.contains("those with digest ");
    for (ours, theirs, field) in [
        (&["a", "b"][..], &["a"][..], CHANNELS),
        (&["a", "b"], &["a", "c"], LABELS),
        (&[], &["a"], CHANNELS),
    ] {
        let outcomes = std::thread::scope(|scope| {
            let join = |me: usize, names: &'static [&'static str]| {
                let trunks = &parties[me].trunks;
                scope.spawn(move || trunks.join("session", 2, &labels(names), brief(1000), PATIENCE))
            };
            [join(0, ours), join(1, theirs)].map(|thread| thread.join().unwrap())
        });
        for outcome in outcomes {
            match outcome {
                Err(Error::Mismatch {
                    field: got,
                    ours,
                    theirs,
                    ..
                }) => {
                    assert_eq!(got, field);
                    assert!(ours != theirs && (field == CHANNELS || digest(&ours)));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    // The order of the labels does not matter, and there may be none.
    for (ours, theirs) in [(&["a", "b"][..], &["b", "a"][..]), (&[], &[])] {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                parties[1]
                    .trunks
                    .join("session", 2, &labels(theirs), brief(1000), PATIENCE)
            });
            let mesh = parties[0]
                .trunks
                .join("session", 2, &labels(ours), brief(1000), PATIENCE);
            assert_eq!(mesh.unwrap().remaining().count(), ours.len());
            other.join().unwrap().unwrap();
        });
    }
}

/// One party of three gives up; the others hear why.
#[test]
fn who_gives_up_tells_the_others() {
    let parties = trunks(3, &TrunkLimits::default());
    let names = labels(&["main"]);
    std::thread::scope(|scope| {
        let two = scope.spawn(|| {
            let mesh = parties[2]
                .trunks
                .join("session", 3, &names, brief(20_000), PATIENCE);
            mesh.unwrap_err()
        });
        let zero = scope.spawn(|| {
            parties[0]
                .trunks
                .join("session", 3, &names, brief(20_000), PATIENCE)
        });
        for (me, peer) in [(0, 2), (2, 0)] {
            let channels = || parties[me].trunks.facts(PartyId(peer)).channels;
            assert!(comes_about(|| channels() > 0));
        }
        // Party 1 wants only two parties.
        let one = parties[1]
            .trunks
            .join("session", 2, &names, brief(1000), PATIENCE);
        let expected = |error: &Error, peer| {
            matches!(error, Error::Mismatch { peer: got, field, .. }
                if *got == PartyId(peer) && field == "the number of parties")
        };
        assert!(expected(&zero.join().unwrap().unwrap_err(), 1));
        assert!(expected(&one.unwrap_err(), 0));
        // It has met party 0, which tells it, and will not meet party 1.
        match two.join().unwrap() {
            Error::PeerLost {
                peer: PartyId(0),
                reason,
                ..
            } => assert!(reason.contains("disagrees on the number of parties"), "{reason}"),
            other => panic!("{other:?}"),
        }
    });
}

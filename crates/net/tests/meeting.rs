//! How parties find each other, who is kept out, and what they compare.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_net::{
    Channel, Error, Identity, Label, Listen, Mesh, MeshConfig, PartyId, Transport, agree, connect,
    memory_pair, step,
};
use common::{STEP, brief, configs, connect_all};

fn labels(names: &[&str]) -> Vec<Label> {
    names.iter().copied().map(Label::from).collect()
}

/// Every pair talks over every label, and only to itself.
fn talk(meshes: Vec<Mesh>, labels: &[Label]) {
    std::thread::scope(|scope| {
        let parties = meshes.len() as u8;
        for (me, mut mesh) in (0..parties).zip(meshes) {
            scope.spawn(move || {
                assert_eq!(mesh.remaining().count(), labels.len() * usize::from(parties - 1));
                for (index, label) in (0..).zip(labels) {
                    for peer in (0..parties).filter(|peer| *peer != me) {
                        let mut channel = mesh.take(PartyId(peer), label).unwrap();
                        assert_eq!(channel.peer(), PartyId(peer));
                        channel.send(STEP, &[me, index]).unwrap();
                        let mut body = [0; 2];
                        channel.recv(STEP, &mut body).unwrap();
                        assert_eq!(body, [peer, index]);
                        assert_eq!(channel.meter().messages_sent, 1, "the hello is not counted");
                        channel.close().unwrap();
                        assert!(matches!(
                            mesh.take(PartyId(peer), label),
                            Err(Error::Local { .. })
                        ));
                    }
                }
            });
        }
    });
}

#[test]
fn parties_meet() {
    let labels = labels(&["main", "refill", "worker 0"]);
    for tls in [false, true] {
        for parties in [1, 2, 3] {
            let meshes = connect_all(configs(parties, tls, &brief(5000)), &labels);
            talk(meshes.into_iter().map(Result::unwrap).collect(), &labels);
        }
    }
}

/// The lower-numbered party may start later.
#[test]
fn a_late_party_is_waited_for() {
    let labels = labels(&["main"]);
    let mut configs = configs(2, true, &brief(5000));
    let address: SocketAddr = configs[0].parties[0].address.parse().unwrap();
    configs[0].listen = Listen::Address(address);
    let second = configs.pop().unwrap();
    let first = configs.pop().unwrap();
    std::thread::scope(|scope| {
        let dialer = scope.spawn(|| connect(second, &labels));
        std::thread::sleep(Duration::from_millis(200));
        let meshes = vec![connect(first, &labels).unwrap(), dialer.join().unwrap().unwrap()];
        talk(meshes, &labels);
    });
}

#[test]
fn a_missing_party_is_named() {
    for tls in [false, true] {
        for missing in [0usize, 2] {
            let mut configs = configs(3, tls, &brief(5000));
            configs.remove(missing);
            for config in &mut configs {
                config.connect_timeout = Duration::from_millis(500);
            }
            let start = Instant::now();
            for outcome in connect_all(configs, &labels(&["main"])) {
                match outcome {
                    Err(Error::Timeout {
                        peer,
                        step: step::CONNECT,
                        waited,
                    }) => {
                        assert_eq!(peer.index(), missing);
                        assert!(waited >= Duration::from_millis(500));
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert!(start.elapsed() < Duration::from_secs(4));
        }
    }
}

fn address(config: &MeshConfig, party: usize) -> String {
    config.parties[party].address.clone()
}

/// Strangers who are silent, talk garbage, or hang up hold up nobody.
#[test]
fn strangers_hold_up_nobody() {
    for tls in [false, true] {
        let configs = configs(3, tls, &brief(5000));
        let target = address(&configs[0], 0);
        let mut strangers: Vec<_> = (0..20).map(|_| TcpStream::connect(&target).unwrap()).collect();
        strangers[0].write_all(&[0x41; 5000]).unwrap();
        strangers[1]
            .write_all(b"GET / HTTP/1.1\r\nHost: party\r\n\r\n")
            .unwrap();
        // The start of a frame with a hello's size, and nothing more.
        strangers[2]
            .write_all(&[0xCE, 1, 0x01, 0xFF, 112, 0, 0, 0, 0xCE])
            .unwrap();
        // An oversized hello.
        strangers[3]
            .write_all(&[0xCE, 1, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
            .unwrap();
        strangers[4]
            .write_all(&[&[0xCE, 1, 0x01, 0xFF, 112, 0, 0, 0][..], &[0; 112]].concat())
            .unwrap();
        drop(strangers.swap_remove(5));
        let start = Instant::now();
        let meshes: Vec<_> = connect_all(configs, &labels(&["main"]))
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert!(
            start.elapsed() < Duration::from_secs(3),
            "strangers cost {:?}",
            start.elapsed()
        );
        talk(meshes, &labels(&["main"]));
        for mut stranger in strangers {
            stranger.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let ended = stranger.read_to_end(&mut Vec::new());
            let kept = matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
            assert!(!kept, "a stranger's connection was kept: {ended:?}");
        }
    }
}

/// A second connection with a name that is taken is dropped, the first one stays.
#[test]
fn duplicates_are_dropped() {
    let mut configs = configs(3, false, &brief(2000));
    let second = configs.remove(1);
    let first = configs.remove(0);
    let twin = MeshConfig {
        me: PartyId(1),
        parties: second.parties.clone(),
        listen: Listen::Bound(TcpListener::bind("127.0.0.1:0").unwrap()),
        transport: Transport::Plain,
        session: second.session.clone(),
        connect_timeout: Duration::from_secs(2),
        options: brief(2000),
    };
    let third = configs.remove(0);
    let labels = labels(&["main"]);
    std::thread::scope(|scope| {
        let zero = scope.spawn(|| connect(first, &labels));
        let one = scope.spawn(|| connect(second, &labels));
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        match connect(twin, &labels) {
            Err(Error::Mismatch {
                peer: PartyId(0),
                field,
                ..
            }) => assert_eq!(field, "channels"),
            other => panic!("{other:?}"),
        }
        assert!(start.elapsed() < Duration::from_secs(1));
        let two = connect(third, &labels).unwrap();
        talk(
            vec![zero.join().unwrap().unwrap(), one.join().unwrap().unwrap(), two],
            &labels,
        );
    });
}

/// Both sides of a wrong key learn of it, whichever side has the wrong key.
#[test]
fn a_wrong_key_is_told_on_both_sides() {
    for wrong in [0usize, 1] {
        let mut configs = configs(2, true, &brief(2000));
        let impostor = Arc::new(Identity::generate().unwrap());
        let pinned = configs[0].parties[wrong].fingerprint.unwrap();
        for config in &mut configs {
            config.connect_timeout = Duration::from_millis(800);
        }
        configs[wrong].transport = Transport::Tls(impostor.clone());
        configs[wrong].parties[wrong].fingerprint = Some(impostor.fingerprint());
        let outcomes = connect_all(configs, &labels(&["main"]));
        match &outcomes[1 - wrong] {
            Err(Error::Identity { peer, expected, got }) => {
                assert_eq!(peer.index(), wrong);
                assert_eq!(
                    (expected, got),
                    (&pinned.to_string(), &impostor.fingerprint().to_string())
                );
            }
            other => panic!("{other:?}"),
        }
        match (wrong, &outcomes[wrong]) {
            // The dialer is told that its key was refused.
            (
                1,
                Err(Error::PeerLost {
                    peer: PartyId(0),
                    reason,
                    ..
                }),
            ) => {
                assert!(reason.contains("refused this party's key"), "{reason}");
            }
            // The acceptor's key was refused: whoever that was may have been a stranger.
            (0, Err(Error::Timeout { peer: PartyId(1), .. })) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A stranger with a key of its own does not disturb parties that meet meanwhile.
#[test]
fn an_unknown_key_is_kept_out() {
    let configs = configs(2, true, &brief(2000));
    let stranger = MeshConfig {
        me: PartyId(1),
        parties: configs[1]
            .parties
            .iter()
            .map(|party| cenote_net::PeerAddress { ..party.clone() })
            .collect(),
        listen: Listen::Bound(TcpListener::bind("127.0.0.1:0").unwrap()),
        transport: Transport::Tls(Arc::new(Identity::generate().unwrap())),
        session: "test".into(),
        connect_timeout: Duration::from_secs(1),
        options: brief(1000),
    };
    // It must not even get as far as to ask: its own fingerprint is not the one listed.
    assert!(matches!(
        connect(stranger, &labels(&["main"])),
        Err(Error::Local { .. })
    ));

    let mut parties = configs[1].parties.clone();
    let key = Arc::new(Identity::generate().unwrap());
    parties[1].fingerprint = Some(key.fingerprint());
    let stranger = MeshConfig {
        me: PartyId(1),
        parties,
        listen: Listen::Bound(TcpListener::bind("127.0.0.1:0").unwrap()),
        transport: Transport::Tls(key),
        session: "test".into(),
        connect_timeout: Duration::from_secs(1),
        options: brief(1000),
    };
    std::thread::scope(|scope| {
        let mut configs = configs.into_iter();
        let (first, second) = (configs.next().unwrap(), configs.next().unwrap());
        let zero = scope.spawn(|| connect(first, &labels(&["main"])));
        let refused = connect(stranger, &labels(&["main"])).unwrap_err();
        assert!(matches!(refused, Error::PeerLost { .. }), "{refused:?}");
        let one = connect(second, &labels(&["main"])).unwrap();
        talk(vec![zero.join().unwrap().unwrap(), one], &labels(&["main"]));
    });
}

#[test]
fn another_session_is_told_on_both_sides() {
    for tls in [false, true] {
        let mut configs = configs(2, tls, &brief(2000));
        configs[1].session = "another".into();
        configs[0].connect_timeout = Duration::from_millis(500);
        for outcome in connect_all(configs, &labels(&["main"])) {
            match outcome {
                Err(Error::Mismatch {
                    field, ours, theirs, ..
                }) => {
                    assert_eq!(field, "the session");
                    assert_ne!(ours, theirs);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Parties that want different numbers of channels are told so, whichever wants more.
#[test]
fn another_number_of_channels_is_told_on_both_sides() {
    for more in [0usize, 1] {
        let mut configs = configs(2, true, &brief(2000));
        configs[0].connect_timeout = Duration::from_millis(500);
        let outcomes = std::thread::scope(|scope| {
            let threads: Vec<_> = configs
                .into_iter()
                .enumerate()
                .map(|(index, config)| {
                    let names: &[&str] = if index == more {
                        &["main", "other"]
                    } else {
                        &["main"]
                    };
                    scope.spawn(move || connect(config, &labels(names)))
                })
                .collect();
            let join =
                |thread: std::thread::ScopedJoinHandle<'_, cenote_net::Result<_>>| thread.join().unwrap();
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        for (index, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Err(Error::Mismatch {
                    field, ours, theirs, ..
                }) => {
                    assert_eq!(field, cenote_net::CHANNELS);
                    let expected = if index == more { ("2", "1") } else { ("1", "2") };
                    assert_eq!((ours.as_str(), theirs.as_str()), expected);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The odd one of three tells both others, even one that comes late, and nobody waits for the time to be over.
#[test]
fn the_odd_one_out_is_told_to_all() {
    for odd in 0..3usize {
        for late in (0..3).filter(|&late| late != odd) {
            let start = Instant::now();
            let outcomes = std::thread::scope(|scope| {
                let threads: Vec<_> = configs(3, true, &brief(2000))
                    .into_iter()
                    .enumerate()
                    .map(|(index, mut config)| {
                        // What is not up yet does not listen either.
                        if index == late
                            && let Listen::Bound(listener) = &config.listen
                        {
                            config.listen = Listen::Address(listener.local_addr().unwrap());
                        }
                        let names: &[&str] = if index == odd {
                            &["main", "other"]
                        } else {
                            &["main"]
                        };
                        scope.spawn(move || {
                            if index == late {
                                std::thread::sleep(Duration::from_millis(300));
                            }
                            connect(config, &labels(names)).map(drop)
                        })
                    })
                    .collect();
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap();
                threads.into_iter().map(join).collect::<Vec<_>>()
            });
            for (index, outcome) in outcomes.into_iter().enumerate() {
                match outcome {
                    Err(Error::Mismatch { peer, field, .. }) => {
                        assert_eq!(field, cenote_net::CHANNELS);
                        assert_eq!(
                            peer == PartyId(odd as u8),
                            index != odd,
                            "party {index} names {peer}"
                        );
                    }
                    other => panic!("odd {odd}, late {late}, party {index}: {other:?}"),
                }
            }
            assert!(
                start.elapsed() < Duration::from_secs(5),
                "the time would be over after 10"
            );
        }
    }
}

/// One side speaks TLS, the other does not: an error at both, in time.
#[test]
fn plain_and_tls_do_not_mix() {
    for plain in [0usize, 1] {
        let mut configs = configs(2, true, &brief(1000));
        configs[plain].transport = Transport::Plain;
        for config in &mut configs {
            config.connect_timeout = Duration::from_millis(500);
        }
        let start = Instant::now();
        for outcome in connect_all(configs, &labels(&["main"])) {
            assert!(
                matches!(outcome, Err(Error::Timeout { .. } | Error::Violation { .. })),
                "{outcome:?}"
            );
        }
        assert!(start.elapsed() < Duration::from_secs(4));
    }
}

#[test]
fn bad_configurations_are_refused_before_anything_is_sent() {
    let main = labels(&["main"]);
    let bad = |change: &dyn Fn(&mut MeshConfig), labels: &[Label], what: &str| {
        let mut config = configs(3, true, &brief(1000)).swap_remove(1);
        change(&mut config);
        match connect(config, labels) {
            Err(Error::Local { reason, .. }) => assert!(reason.contains(what), "{reason}"),
            other => panic!("{what}: {other:?}"),
        }
    };
    bad(&|config| config.me = PartyId(3), &main, "party 3 of 3");
    bad(
        &|config| config.parties[0].fingerprint = None,
        &main,
        "needs the fingerprint of party 0",
    );
    bad(
        &|config| config.parties[0].fingerprint = config.parties[2].fingerprint,
        &main,
        "same fingerprint",
    );
    bad(
        &|config| config.transport = Transport::Tls(Arc::new(Identity::generate().unwrap())),
        &main,
        "is not that of its key",
    );
    bad(&|_| (), &labels(&["main", "main"]), "twice");
    bad(&|_| (), &[Label::new("x".repeat(65))], "longer than 64");
}

/// A port in use is told as such.
#[test]
fn a_port_in_use_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = configs(2, false, &brief(1000)).swap_remove(0);
    config.listen = Listen::Address(taken.local_addr().unwrap());
    match connect(config, &labels(&["main"])) {
        Err(Error::Local { what, .. }) => assert!(what.contains("listening at 127.0.0.1"), "{what}"),
        other => panic!("{other:?}"),
    }
}

/// Runs `agree` at both ends of a channel.
fn both_agree(ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> [cenote_net::Result<()>; 2] {
    let (a, b) = memory_pair(PartyId(0), PartyId(1), brief(2000));
    let run = |mut channel: cenote_net::MemoryChannel, fields: &[(&str, &str)]| {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        agree(&mut channel, &fields)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(b, theirs));
        [run(a, ours), other.join().unwrap()]
    })
}

#[test]
fn differences_are_told_on_both_sides() {
    let same = [("version", "1"), ("protocol", "three"), ("", "")];
    assert_eq!(both_agree(&same, &same), [Ok(()), Ok(())]);
    assert_eq!(
        both_agree(&same, &[same[2], same[1], same[0]]),
        [Ok(()), Ok(())],
        "order does not matter"
    );
    assert_eq!(both_agree(&[], &[]), [Ok(()), Ok(())]);

    let mismatch = |peer, field: &str, ours: &str, theirs: &str| {
        Err(Error::Mismatch {
            peer: PartyId(peer),
            field: field.into(),
            ours: ours.into(),
            theirs: theirs.into(),
        })
    };
    for (theirs, field, a, b) in [
        (
            vec![("version", "1"), ("protocol", "lego")],
            "protocol",
            "three",
            "lego",
        ),
        (
            vec![("version", "2\u{7}"), ("protocol", "three")],
            "version",
            "1",
            "2\\u{7}",
        ),
        (vec![("version", "1")], "protocol", "three", "(missing)"),
        (
            vec![("version", "1"), ("protocol", "three"), ("circuit", "x")],
            "circuit",
            "(missing)",
            "x",
        ),
    ] {
        assert_eq!(
            both_agree(&same[..2], &theirs),
            [mismatch(1, field, a, b), mismatch(0, field, b, a)]
        );
    }
}

#[test]
fn fields_are_bounded() {
    let (mut a, mut b) = memory_pair(PartyId(0), PartyId(1), brief(500));
    b.send(step::AGREE, &u32::MAX.to_le_bytes())
        .and_then(|()| b.flush())
        .unwrap();
    assert!(matches!(
        agree(&mut a, &[]),
        Err(Error::Violation {
            step: step::AGREE,
            ..
        })
    ));
    let (mut a, mut b) = memory_pair(PartyId(0), PartyId(1), brief(500));
    b.send(step::AGREE, &3u32.to_le_bytes())
        .and_then(|()| b.send(step::AGREE, &[9; 3]))
        .unwrap();
    b.flush().unwrap();
    assert!(matches!(
        agree(&mut a, &[]),
        Err(Error::Violation {
            step: step::AGREE,
            ..
        })
    ));
}

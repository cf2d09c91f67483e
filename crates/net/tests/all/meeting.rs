//! How parties find each other, and who is kept out.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::common::trunks::PATIENCE;
use crate::common::{STEP, brief, configs, connect_all, labels};
use cenote_net::{
    Channel, Error, Identity, Label, Listen, Mesh, MeshConfig, PartyId, Transport, connect, step,
};

/// Every pair talks over every label, and only to itself.
pub(crate) fn talk(meshes: Vec<Mesh>, labels: &[Label]) {
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
                        match mesh.take(PartyId(peer), label) {
                            Err(Error::Local { reason, .. }) => {
                                assert_eq!(reason, "there is none, or it was taken before");
                            }
                            _ => panic!("it was taken twice"),
                        }
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
    let limit = Duration::from_secs(5);
    let is_named = |tls, missing: usize| {
        let mut configs = configs(3, tls, &brief(5000));
        configs.remove(missing);
        for config in &mut configs {
            config.connect_timeout = limit;
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
                    assert!(waited >= limit);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(start.elapsed() < limit + Duration::from_secs(15));
    };
    std::thread::scope(|scope| {
        for (tls, missing) in [(false, 0), (false, 2), (true, 0), (true, 2)] {
            scope.spawn(move || is_named(tls, missing));
        }
    });
}

fn address(config: &MeshConfig, party: usize) -> String {
    config.parties[party].address.clone()
}

/// Strangers who are silent, talk garbage, or hang up hold up nobody.
#[test]
fn strangers_hold_up_nobody() {
    for tls in [false, true] {
        // A busy machine may need several attempts.
        assert!((0..10).any(|_| meet_among_strangers(tls) < Duration::from_secs(3)));
    }
}

/// How long parties take that meet among strangers, whose connections end.
fn meet_among_strangers(tls: bool) -> Duration {
    let mut configs = configs(3, tls, &brief(20_000));
    for config in &mut configs {
        config.connect_timeout = PATIENCE;
    }
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
    let took = start.elapsed();
    talk(meshes, &labels(&["main"]));
    for mut stranger in strangers {
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        let ended = stranger.read_to_end(&mut Vec::new());
        let kept = matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!kept, "a stranger's connection was kept: {ended:?}");
    }
    took
}

/// An address that passes one connection on to `target`, and what tells that the first bytes have come back.
fn relay(target: String) -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (tell, answered) = channel();
    std::thread::spawn(move || {
        let (mut dialer, _) = listener.accept().unwrap();
        let mut acceptor = TcpStream::connect(target).unwrap();
        let (mut from, mut to) = (dialer.try_clone().unwrap(), acceptor.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let mut first = [0];
        if acceptor.read_exact(&mut first).is_ok() {
            let _ = dialer.write_all(&first);
            let _ = tell.send(());
        }
        let _ = std::io::copy(&mut acceptor, &mut dialer);
        let _ = dialer.shutdown(Shutdown::Write);
    });
    (address, answered)
}

/// Whoever gives up waits no longer for peers that have not come, whether they are dialled or dial, and its address is free again.
#[test]
fn patience_ends() {
    for me in 0..3 {
        let mut config = configs(3, false, &brief(20_000)).swap_remove(me);
        config.connect_timeout = 10 * PATIENCE;
        let listen: SocketAddr = config.parties[me].address.parse().unwrap();
        let patience = config.options.patience.clone();
        let start = Instant::now();
        std::thread::scope(|scope| {
            let party = scope.spawn(|| connect(config, &labels(&["main"])));
            std::thread::sleep(Duration::from_millis(100));
            assert!(!party.is_finished());
            patience.end();
            assert!(matches!(party.join().unwrap(), Err(Error::Closed { .. })));
        });
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        TcpListener::bind(listen).unwrap();
    }
}

/// A second connection with a name that is taken is dropped, the first one stays.
#[test]
fn duplicates_are_dropped() {
    let mut configs = configs(3, false, &brief(20_000));
    for config in &mut configs {
        config.connect_timeout = PATIENCE;
    }
    let mut second = configs.remove(1);
    let first = configs.remove(0);
    let twin = MeshConfig {
        me: PartyId(1),
        parties: second.parties.clone(),
        listen: Listen::Bound(TcpListener::bind("127.0.0.1:0").unwrap()),
        transport: Transport::Plain,
        session: second.session.clone(),
        connect_timeout: PATIENCE,
        options: brief(20_000),
    };
    let (address, welcomed) = relay(second.parties[0].address.clone());
    second.parties[0].address = address;
    let third = configs.remove(0);
    let labels = labels(&["main"]);
    std::thread::scope(|scope| {
        let zero = scope.spawn(|| connect(first, &labels));
        let one = scope.spawn(|| connect(second, &labels));
        welcomed.recv_timeout(PATIENCE).unwrap();
        let start = Instant::now();
        match connect(twin, &labels) {
            Err(Error::Mismatch {
                peer: PartyId(0),
                field,
                ..
            }) => assert_eq!(field, "channels"),
            other => panic!("{other:?}"),
        }
        assert!(start.elapsed() < PATIENCE / 2);
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
    let is_told = |wrong: usize| {
        let mut configs = configs(2, true, &brief(5000));
        let impostor = Arc::new(Identity::generate().unwrap());
        let pinned = configs[0].parties[wrong].fingerprint.unwrap();
        for config in &mut configs {
            config.connect_timeout = Duration::from_secs(5);
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
    };
    std::thread::scope(|scope| {
        for wrong in [0, 1] {
            scope.spawn(move || is_told(wrong));
        }
    });
}

/// A stranger with a key of its own does not disturb parties that meet meanwhile.
#[test]
fn an_unknown_key_is_kept_out() {
    let configs = configs(2, true, &brief(20_000));
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
    match connect(stranger, &labels(&["main"])) {
        Err(Error::Local { reason, .. }) => assert!(reason.contains("is not that of its key"), "{reason}"),
        other => panic!("{other:?}"),
    }

    let mut parties = configs[1].parties.clone();
    let key = Arc::new(Identity::generate().unwrap());
    parties[1].fingerprint = Some(key.fingerprint());
    let stranger = MeshConfig {
        me: PartyId(1),
        parties,
        listen: Listen::Bound(TcpListener::bind("127.0.0.1:0").unwrap()),
        transport: Transport::Tls(key),
        session: "test".into(),
        connect_timeout: PATIENCE,
        options: brief(1000),
    };
    std::thread::scope(|scope| {
        let mut configs = configs.into_iter();
        let (first, second) = (configs.next().unwrap(), configs.next().unwrap());
        let zero = scope.spawn(|| connect(first, &labels(&["main"])));
        let refused = connect(stranger, &labels(&["main"])).unwrap_err();
        match refused {
            Error::PeerLost {
                peer: PartyId(0),
                reason,
                ..
            } => assert!(reason.contains("refused this party's key"), "{reason}"),
            other => panic!("{other:?}"),
        }
        let one = connect(second, &labels(&["main"])).unwrap();
        talk(vec![zero.join().unwrap().unwrap(), one], &labels(&["main"]));
    });
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
        let outcomes = connect_all(configs, &labels(&["main"]));
        for (me, outcome) in outcomes.iter().enumerate() {
            let other = PartyId(1 - me as u8);
            // Whoever does not speak as expected is a stranger, and one that hangs up is not up yet.
            match outcome {
                Err(Error::Timeout { peer, step, .. }) => assert_eq!((*peer, *step), (other, step::CONNECT)),
                other => panic!("{other:?}"),
            }
        }
        assert!(start.elapsed() < Duration::from_secs(15));
    }
}

/// Something else answers at the peer's address, or on the way to it. It has proved no key, so the peer is not accused.
#[test]
fn what_answers_without_a_key_does_not_accuse_the_peer() {
    // A hello of TLS that does not end; and no TLS.
    let endless = [22, 3, 3, 0, 1, 0].repeat(1 << 16);
    for answer in [b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), endless] {
        let mut config = configs(2, true, &brief(2000)).pop().unwrap();
        let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
        config.parties[0].address = stranger.local_addr().unwrap().to_string();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = stranger.accept().unwrap();
                let _ = stream.write_all(&answer);
                let _ = stream.read_to_end(&mut Vec::new());
            });
            connect(config, &labels(&["main"]))
        });
        match outcome {
            Err(Error::PeerLost { peer, step, reason }) => {
                assert_eq!((peer, step), (PartyId(0), step::CONNECT));
                assert!(reason.starts_with("TLS: "), "{reason}");
            }
            other => panic!("{other:?}"),
        }
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

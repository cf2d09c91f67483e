//! Peers that say too little, too slowly, or take nothing; and those that come twice.

use std::io::{Read, Write};

use super::*;

fn quick() -> TrunkLimits {
    TrunkLimits {
        heartbeat: Duration::from_millis(50),
        silence: Duration::from_millis(300),
        ..TrunkLimits::default()
    }
}

/// The same for peers that are not silent, on however busy a machine.
fn forgiving() -> TrunkLimits {
    TrunkLimits {
        silence: Duration::from_millis(1500),
        ..quick()
    }
}

const SILENT: &str = "nothing has come from it for ";

/// Why `attempt` has lost its connection. An attacker that was held up, and so was silent, tries again.
fn not_silent(attempt: impl Fn() -> String) -> String {
    let mut reasons = (0..5).map(|_| attempt());
    let reason = reasons.find(|reason| !reason.starts_with(SILENT));
    reason.expect("an attacker that is not silent")
}

#[test]
fn a_silent_peer_is_found_by_its_missing_heartbeat() {
    let victim = Victim::new(quick());
    let _attacker = victim.attacker(1);
    let reason = victim.down(1);
    assert!(reason.starts_with(SILENT), "{reason}");
}

/// Signs of life that are no answer do not count for ever.
#[test]
fn who_never_answers_is_given_up() {
    let reason = not_silent(|| {
        let victim = Victim::new(forgiving());
        let mut attacker = victim.attacker(1);
        let mut nonce = 0;
        while attacker.frame(FrameKind::Ping, nonce, &[]) && nonce < 1000 {
            nonce += 1;
            std::thread::sleep(Duration::from_millis(20));
        }
        victim.down(1)
    });
    assert!(reason.starts_with("it has not answered for "), "{reason}");
}

/// Bytes that never become a record are no sign of life.
#[test]
fn a_drip_is_silence() {
    let victim = Victim::new(quick());
    let mut attacker = victim.attacker(1);
    let (tcp, mut state) = attacker.link.into_parts().unwrap();
    let mut bytes = Vec::new();
    put(&mut bytes, FrameKind::Message, 0, &[7; 10_000]);
    state.seal(crate::tls::Seal::Bytes(&bytes)).unwrap();
    let sealed = state.sealed().clone();
    let mut socket = tcp.socket();
    for byte in sealed {
        if socket.write_all(&[byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let reason = victim.down(1);
    assert!(reason.starts_with(SILENT), "{reason}");
    attacker = victim.attacker(1);
    drop(attacker);
}

/// A peer that takes nothing, while it sends, cannot keep its connection.
#[test]
fn who_takes_nothing_is_given_up() {
    let limits = TrunkLimits {
        queued_messages: 64 << 20,
        ..forgiving()
    };
    let reason = not_silent(|| {
        let victim = Victim::new(limits.clone());
        let mut attacker = victim.attacker(1);
        // More than the sockets' buffers hold.
        let refused = std::iter::repeat_with(|| victim.trunks.tell(PartyId(1), vec![7; 1 << 20]))
            .find_map(Result::err)
            .unwrap();
        let down = matches!(refused, Error::PeerLost { .. });
        assert!(
            down || refused.to_string().contains("too many messages"),
            "{refused}"
        );
        for nonce in 0..1000 {
            if !attacker.frame(FrameKind::Ping, nonce, &[]) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        victim.down(1)
    });
    assert!(reason.starts_with("it has taken nothing for "), "{reason}");
}

/// Who connects anew, since its process was restarted or its network has forgotten the connection, takes its own place.
#[test]
fn a_second_connection_takes_the_place_of_the_first() {
    let victim = Victim::new(calm());
    let mut first = victim.attacker(1);
    std::thread::scope(|scope| {
        let (_, mut channel) = victim.met(scope, &mut first);

        // Somebody who has the port, but not the key, changes nothing.
        let stranger = Identity::generate().unwrap();
        let pinned = (PartyId(0), victim.parties[0].fingerprint.unwrap());
        let dialled = TlsLink::dial(victim.socket(), 1 << 20, &stranger, pinned, deadline());
        let hello = Hello::new(3, (PartyId(1), PartyId(0)), &victim.limits, "1.0");
        if let Ok(mut link) = dialled {
            assert!(hello.exchange(&mut link, deadline()).is_err());
        }
        // Neither does a peer that has not said its hello.
        let _mute = victim.link(1);
        assert_eq!(victim.trunks.facts(PartyId(1)).state, TrunkState::Up);

        let mut link = victim.link(1);
        hello.exchange(&mut link, deadline()).unwrap();
        assert_eq!(victim.down(1), "it has connected anew");
        victim.up(1);
        let error = channel.recv(STEP, &mut [0]).unwrap_err();
        assert!(
            matches!(&error, Error::PeerLost { reason, .. } if reason == "it has connected anew"),
            "{error:?}"
        );
        let mut second = Attacker { link };
        second.frame(FrameKind::Message, 0, b"there");
        assert_eq!(victim.messages.recv_timeout(PATIENCE).unwrap(), b"there");
    });
}

/// Who connects again and again has one connection that waits, even if the one before cannot end.
#[test]
fn of_many_connections_the_newest_counts() {
    let victim = Victim::new(calm());
    let mut first = victim.attacker(1);
    let gate = victim.gate.lock().unwrap();
    first.frame(FrameKind::Message, 0, b"stay");
    victim.messages.recv_timeout(PATIENCE).unwrap();
    let hello = Hello::new(3, (PartyId(1), PartyId(0)), &victim.limits, "1.0");
    let mut last: Option<Attacker> = None;
    let made = || victim.trunks.slot(PartyId(1)).unwrap().made();
    for _ in 0..20 {
        let before = made();
        let mut link = victim.link(1);
        hello.exchange(&mut link, deadline()).unwrap();
        // The victim counts in the order in which its threads come to know the connections.
        let end = deadline();
        while made() == before && end.remaining().is_some() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(made(), before + 1);
        if let Some(mut before) = last.replace(Attacker { link }) {
            // It is given up as soon as the next one is there.
            assert!(before.next().is_none());
        }
    }
    drop(gate);
    assert_eq!(victim.down(1), "it has connected anew");
    victim.up(1);
    last.unwrap().frame(FrameKind::Message, 0, b"last");
    assert_eq!(victim.messages.recv_timeout(PATIENCE).unwrap(), b"last");
}

/// A hello that does not come, or is none, keeps nobody waiting.
#[test]
fn hellos_come_in_time() {
    let victim = Victim::new(TrunkLimits {
        handshake: Duration::from_secs(3),
        ..quick()
    });
    let mut stranger = victim.socket();
    for bytes in [
        &b""[..],
        b"GET / HTTP/1.1 and so on, until there are enough of them",
    ] {
        let mut attacker = Attacker { link: victim.link(1) };
        attacker.send(bytes);
        // This party's hello, then the end.
        while attacker.read(&mut [0]) {}
    }
    stranger.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut all = Vec::new();
    let _ = stranger.read_to_end(&mut all);
    assert!(all.is_empty(), "who has not begun TLS hears nothing");
    drop(victim.attacker(1));
}

#[test]
fn another_version_is_refused_on_both_sides() {
    let victim = Victim::new(calm());
    let mut link = victim.link(1);
    let hello = Hello::new(3, (PartyId(1), PartyId(0)), &victim.limits, "0.9\n");
    let theirs = hello.exchange(&mut link, deadline()).unwrap();
    assert!(matches!(
        hello.compare(PartyId(0), &theirs),
        Err(Error::Mismatch { .. })
    ));
    let reason = "party 1 disagrees on the version: here 1.0, there 0.9?".to_owned();
    assert_eq!(victim.state(), (PartyId(1), TrunkState::Refused { reason }));
    assert_eq!(victim.trunks.facts(PartyId(1)).version.as_deref(), Some("0.9?"));
    let options = ChannelOptions::with_timeout(PATIENCE);
    let joined = victim
        .trunks
        .join("session", 2, &[MAIN.into()], options, PATIENCE);
    assert!(matches!(joined, Err(Error::Mismatch { field, .. }) if field == "the version"));
    assert!(matches!(
        victim.trunks.tell(PartyId(1), Vec::new()),
        Err(Error::Mismatch { .. })
    ));
}

//! Floods, garbage, and frames that do not belong where they come.

use super::super::inflow::FIRST_WINDOW;
use super::super::wire::MAX_BODY;
use super::*;

/// Has an attacker send, and says how the connection ended. Attacker 2 is up before, and must be up afterwards.
fn reason_after(attack: impl FnOnce(&Victim, &mut Attacker)) -> String {
    let limits = TrunkLimits {
        unjoined: 10,
        message: 100_000,
        ..calm()
    };
    let victim = Victim::new(limits);
    let _other = victim.attacker(2);
    let mut attacker = victim.attacker(1);
    attack(&victim, &mut attacker);
    let reason = victim.down(1);
    assert_eq!(victim.trunks.facts(PartyId(2)).state, TrunkState::Up);
    // The attacker is told.
    while let Some((kind, _, body)) = attacker.next() {
        if kind == FrameKind::Bye {
            let told = String::from_utf8(body).unwrap();
            let what = told.strip_prefix("it received ").unwrap().to_owned();
            assert!(reason.ends_with(&what), "{reason} / {told}");
        }
    }
    reason
}

fn violation(what: &str) -> String {
    format!("it violated the rules of the connection: {what}")
}

#[test]
fn what_is_no_frame_ends_the_connection() {
    for garbage in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0; 100],
        // A frame of data, a credit, a ping, a join and a message of impossible lengths.
        [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0].to_vec(),
        [1, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0, 0, 0, 0].to_vec(),
        [2, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0].to_vec(),
        [9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0].to_vec(),
        [5, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0].to_vec(),
        [8, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0].to_vec(),
    ] {
        let reason = reason_after(|_, attacker| {
            attacker.send(&garbage);
        });
        let expected = violation("something that is no frame");
        assert!(reason.starts_with(&expected), "{reason}");
    }
}

#[test]
fn joins_that_nobody_answers_are_bounded() {
    let reason = reason_after(|victim, attacker| {
        for index in 0..2 * victim.limits.unjoined {
            attacker.join(u64::from(index) + 1, join_of(&format!("session {index}")));
        }
        // So many are borne.
        attacker.frame(FrameKind::Message, 0, b"there");
        assert_eq!(victim.messages.recv_timeout(PATIENCE).unwrap(), b"there");
        attacker.join(1000, join_of("one more"));
    });
    assert_eq!(
        reason,
        violation("joins of too many sessions that nobody else has joined")
    );
}

#[test]
fn joins_have_fresh_ids_and_sessions() {
    let reason = reason_after(|_, attacker| {
        let channels = 5;
        attacker.join(
            1,
            Join {
                channels,
                ..join_of("a")
            },
        );
        attacker.join(5, join_of("b"));
    });
    assert_eq!(reason, violation("a join with ids that were used before"));
    for first in [0, u64::MAX] {
        let reason = reason_after(|_, attacker| {
            attacker.join(first, join_of("a"));
        });
        assert_eq!(reason, violation("a join with ids that were used before"));
    }
    let reason = reason_after(|_, attacker| {
        attacker.join(1, join_of("a"));
        attacker.join(2, join_of("a"));
    });
    assert_eq!(reason, violation("a second join of one session"));
}

/// Who leaves and joins without end is given no memory for it.
#[test]
fn sessions_that_are_left_make_room() {
    let limits = TrunkLimits {
        unjoined: 10,
        ..calm()
    };
    let victim = Victim::new(limits);
    let mut attacker = victim.attacker(1);
    for first in 1..1000 {
        assert!(attacker.join(first, join_of("session")));
        assert!(attacker.frame(FrameKind::Leave, first, b""));
    }
    attacker.frame(FrameKind::Message, 0, b"there");
    assert_eq!(victim.messages.recv_timeout(PATIENCE).unwrap(), b"there");
}

#[test]
fn frames_are_for_streams_that_exist() {
    for (kind, body) in [
        (FrameKind::Data, &[1][..]),
        (FrameKind::Credit, &[1; 4]),
        (FrameKind::End, &[]),
        (FrameKind::Stop, &[]),
    ] {
        for id in [0, 1, u64::MAX] {
            let reason = reason_after(|_, attacker| {
                attacker.frame(kind, id, body);
            });
            assert_eq!(reason, violation("a frame for a stream that does not exist"));
        }
    }
}

#[test]
fn data_comes_after_the_join() {
    let victim = Victim::new(calm());
    let mut attacker = victim.attacker(1);
    std::thread::scope(|scope| {
        let joined = victim.join(scope, "session");
        let (id, _) = attacker.expect(FrameKind::Join);
        attacker.frame(FrameKind::Data, id, &[1]);
        assert_eq!(
            victim.down(1),
            violation("data of a session that it has not joined")
        );
        // The session still waits: the peer may come back, and join.
        let mut attacker = victim.attacker(1);
        attacker.expect(FrameKind::Join);
        attacker.join(1, join_of("session"));
        joined.join().unwrap().unwrap();
    });
}

#[test]
fn nobody_sends_beyond_a_window() {
    for (window, pieces) in [
        (FIRST_WINDOW, vec![FIRST_WINDOW, 1]),
        (100, vec![100, 1]),
        (100, vec![99, 2]),
        // Refused by its header: not a byte of it is needed.
        (100, vec![MAX_BODY]),
    ] {
        let victim = Victim::new(TrunkLimits { window, ..calm() });
        let mut attacker = victim.attacker(1);
        std::thread::scope(|scope| {
            let (id, mut channel) = victim.met(scope, &mut attacker);
            for length in pieces {
                for piece in vec![7; length].chunks(MAX_BODY) {
                    attacker.frame(FrameKind::Data, id, piece);
                }
            }
            let what = violation("more data than its window allows");
            assert_eq!(victim.down(1), what);
            // What came before is no message.
            let error = channel
                .send(STEP, &[1])
                .and_then(|()| channel.flush())
                .unwrap_err();
            assert!(
                matches!(&error, Error::PeerLost { peer: PartyId(1), reason, .. } if *reason == what),
                "{error:?}"
            );
        });
    }
}

#[test]
fn nothing_follows_an_end() {
    let victim = Victim::new(calm());
    let mut attacker = victim.attacker(1);
    std::thread::scope(|scope| {
        let (id, mut channel) = victim.met(scope, &mut attacker);
        attacker.frame(FrameKind::End, id, &[]);
        let error = channel.recv(STEP, &mut [0]).unwrap_err();
        assert!(
            matches!(&error, Error::PeerLost { reason, .. } if reason.contains("without a goodbye")),
            "{error:?}"
        );
        attacker.frame(FrameKind::Data, id, &[1]);
        assert_eq!(victim.down(1), violation("data of a stream that it has ended"));
    });
}

/// What comes for a channel that was dropped is nobody's, however much it is.
#[test]
fn dropped_channels_cost_nothing() {
    let victim = Victim::new(calm());
    let mut attacker = victim.attacker(1);
    std::thread::scope(|scope| {
        let (id, channel) = victim.met(scope, &mut attacker);
        drop(channel);
        // Its goodbye, and that it neither sends nor takes anything more.
        attacker.expect(FrameKind::Data);
        let notices = [attacker.next().unwrap().0, attacker.next().unwrap().0];
        assert!(
            notices.contains(&FrameKind::End) && notices.contains(&FrameKind::Stop),
            "{notices:?}"
        );
        assert_eq!(victim.trunks.facts(PartyId(1)).channels, 0);
        for _ in 0..100 {
            attacker.frame(FrameKind::Data, id, &[7; MAX_BODY]);
        }
        attacker.frame(FrameKind::Message, 0, b"there");
        assert_eq!(victim.messages.recv_timeout(PATIENCE).unwrap(), b"there");
    });
}

#[test]
fn messages_are_short() {
    let reason = reason_after(|_, attacker| {
        attacker.frame(FrameKind::Message, 100_000, &[1]);
    });
    assert_eq!(reason, violation("a message that is too long"));
    let reason = reason_after(|_, attacker| {
        // Each part says that little follows: together ten times what a message may have.
        for _ in 0..100 {
            attacker.frame(FrameKind::Message, 1, &[1; 10_000]);
        }
    });
    assert_eq!(reason, violation("a message that is too long"));
    let reason = reason_after(|_, attacker| {
        attacker.frame(FrameKind::Message, 1, &[]);
    });
    assert_eq!(reason, violation("an empty part of a message"));
}

#[test]
fn pings_are_few() {
    let reason = reason_after(|_, attacker| {
        for nonce in 0..1001 {
            attacker.frame(FrameKind::Ping, nonce, &[]);
        }
    });
    assert_eq!(reason, violation("too many pings"));
}

#[test]
fn a_reason_is_shown_without_its_tricks() {
    let reason = reason_after(|_, attacker| {
        attacker.frame(FrameKind::Bye, 0, b"bye\x1b[2J\n");
    });
    assert_eq!(reason, "it ended the connection: bye?[2J?");
}

/// A peer that answers a join which was taken back, or leaves again and again, changes nothing.
#[test]
fn late_answers_are_ignored() {
    let victim = Victim::new(calm());
    let mut attacker = victim.attacker(1);
    let options = ChannelOptions::with_timeout(PATIENCE);
    let brief = Duration::from_millis(50);
    let error = victim.trunks.join("session", 2, &[MAIN.into()], options, brief);
    assert!(
        matches!(error, Err(Error::Timeout { peer: PartyId(1), .. })),
        "{error:?}"
    );
    let (stale, _) = attacker.expect(FrameKind::Join);
    let (left, reason) = attacker.expect(FrameKind::Leave);
    assert_eq!(left, stale);
    assert!(String::from_utf8(reason).unwrap().contains("timed out"));
    attacker.join(
        1,
        Join {
            answers: stale,
            ..join_of("session")
        },
    );
    std::thread::scope(|scope| {
        let joined = victim.join(scope, "session");
        let (fresh, body) = attacker.expect(FrameKind::Join);
        assert_eq!(
            Join::decode(&body).unwrap().answers,
            0,
            "the stale answer is no join"
        );
        attacker.join(
            2,
            Join {
                answers: fresh,
                ..join_of("session")
            },
        );
        let mut channel = channel_of(joined.join().unwrap());
        for _ in 0..100 {
            attacker.frame(FrameKind::Leave, 2, b"enough");
        }
        let error = channel.recv(STEP, &mut [0]).unwrap_err();
        assert!(
            matches!(&error, Error::PeerLost { reason, .. } if reason == "it has left the session: enough"),
            "{error:?}"
        );
        attacker.frame(FrameKind::Message, 0, b"there");
        victim.messages.recv_timeout(PATIENCE).unwrap();
        victim.trunks.tell(PartyId(1), b"end".to_vec()).unwrap();
        // One answer to all of these.
        assert_eq!(attacker.expect(FrameKind::Leave).0, fresh);
        assert_eq!(attacker.expect(FrameKind::Message).1, b"end");
    });
}

#[test]
fn a_refused_session_fails_with_the_reason() {
    let victim = Victim::new(calm());
    let mut attacker = victim.attacker(1);
    std::thread::scope(|scope| {
        let joined = victim.join(scope, "session");
        let (id, _) = attacker.expect(FrameKind::Join);
        attacker.frame(FrameKind::Refuse, id + 1, b"another");
        attacker.frame(FrameKind::Refuse, id, b"no");
        let error = joined.join().unwrap().unwrap_err();
        assert!(
            matches!(&error, Error::PeerLost { reason, .. } if reason == "it refused the session: no"),
            "{error:?}"
        );
    });
}

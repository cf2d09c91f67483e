//! Floods of every type of record after the handshake.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::*;
use crate::frame::Frame;
use crate::{Channel, ChannelOptions, Error, Step};

const STEP: Step = Step {
    code: 7,
    name: "test",
};
/// A message that tiny records do not complete in that time.
const LONG: usize = 64 << 20;
/// More than the sockets' buffers and what the victim reads before it complains.
const BOUND: usize = 32 << 20;

/// A flood: its name, what is sent over and over, what the victim says if the attacker has accepted the connection, and
/// if it has dialled.
type Flood = (&'static str, fn(&mut Attacker), Ends, Ends);

/// How a wait ends.
#[derive(Clone, Copy)]
enum Ends {
    Violation(&'static str),
    Lost(&'static str),
    Timeout,
}

const IDLE_FLOOD: Ends = Ends::Violation(NOTHING);
const NOT_ALLOWED: Ends = Ends::Lost("TLS: it sent what TLS does not allow there");
const NOT_TLS: Ends = Ends::Lost("TLS: what it sent is not TLS");
const ENDLESS: Ends = Ends::Violation("a TLS message that does not end");

const FLOODS: &[Flood] = &[
    ("tickets", |it| it.ticket(), IDLE_FLOOD, NOT_ALLOWED),
    ("key updates", |it| it.key_update(0), IDLE_FLOOD, IDLE_FLOOD),
    (
        "key updates to be answered",
        |it| it.key_update(1),
        IDLE_FLOOD,
        IDLE_FLOOD,
    ),
    ("empty data", |it| it.data(&[]), IDLE_FLOOD, IDLE_FLOOD),
    (
        "empty data and key updates",
        |it| {
            it.data(&[]);
            it.key_update(1);
        },
        IDLE_FLOOD,
        IDLE_FLOOD,
    ),
    (
        "padding",
        |it| {
            // The type of the content, then zeros, of which the last one is put there as the type.
            let mut padded = vec![0; 16 << 10];
            padded[0] = 23;
            it.record(0, &padded);
        },
        IDLE_FLOOD,
        IDLE_FLOOD,
    ),
    (
        "user_canceled",
        |it| it.record(21, &[1, 90]),
        IDLE_FLOOD,
        IDLE_FLOOD,
    ),
    (
        "another warning",
        |it| it.record(21, &[1, 100]),
        Ends::Lost("TLS: it ended TLS with the alert \"no renegotiation\""),
        Ends::Lost("TLS: it ended TLS with the alert \"no renegotiation\""),
    ),
    (
        "fatal alerts",
        |it| it.record(21, &[2, 40]),
        Ends::Lost("TLS: it ended TLS with the alert \"handshake failure\""),
        Ends::Lost("TLS: it ended TLS with the alert \"handshake failure\""),
    ),
    (
        "goodbyes",
        |it| it.record(21, &[1, 0]),
        Ends::Lost("the connection ended without a goodbye: has its process ended?"),
        Ends::Lost("the connection ended without a goodbye: has its process ended?"),
    ),
    (
        "change_cipher_spec",
        |it| it.sent.extend([20, 3, 3, 0, 1, 1]),
        NOT_ALLOWED,
        NOT_ALLOWED,
    ),
    (
        "sealed change_cipher_spec",
        |it| it.record(20, &[1]),
        NOT_ALLOWED,
        NOT_ALLOWED,
    ),
    (
        "empty handshake records",
        |it| it.record(22, &[]),
        IDLE_FLOOD,
        IDLE_FLOOD,
    ),
    (
        "a handshake message without end",
        |it| {
            let start: &[u8] = if it.sequence == 0 {
                &[4, 0, 0xFF, 0xFF]
            } else {
                &[]
            };
            it.record(22, &[start, &[0]].concat());
        },
        ENDLESS,
        ENDLESS,
    ),
    (
        "requests for a certificate",
        |it| it.handshake(13, &[0, 0, 0]),
        NOT_ALLOWED,
        NOT_ALLOWED,
    ),
    (
        "finished",
        |it| it.handshake(20, &[7; 32]),
        NOT_ALLOWED,
        NOT_ALLOWED,
    ),
    ("heartbeats", |it| it.record(24, &[1, 0, 0]), NOT_TLS, NOT_TLS),
    (
        "bytes, each in its record",
        |it| it.data(&[0]),
        Ends::Timeout,
        Ends::Timeout,
    ),
    (
        "bytes between key updates",
        |it| {
            it.key_update(1);
            it.data(&[0]);
        },
        Ends::Timeout,
        Ends::Timeout,
    ),
    (
        "bytes between tickets",
        |it| {
            (0..20).for_each(|_| it.ticket());
            it.data(&[0]);
        },
        Ends::Timeout,
        NOT_ALLOWED,
    ),
];

impl Ends {
    /// How long the victim's channel waits.
    fn timeout(self) -> Duration {
        match self {
            Self::Timeout => TIMEOUT,
            Self::Violation(_) | Self::Lost(_) => PATIENCE,
        }
    }
}

/// The victim's channel, whose wait is to end like this.
fn channel(link: TlsLink, ends: Ends) -> TlsChannel {
    let options = ChannelOptions {
        timeout: ends.timeout(),
        least_rate: u64::MAX,
        queue_bytes: 1 << 20,
        linger: Duration::ZERO,
        ..ChannelOptions::default()
    };
    Framed::new(ATTACKER, link, options)
}

/// Runs `victim` and drops its channel while its peer floods; says how it ended, how long both took, and how much the peer
/// had sent by the victim's end.
fn flooded(
    flood: fn(&mut Attacker),
    attacker: Attacker,
    mut channel: TlsChannel,
    victim: impl FnOnce(&mut TlsChannel) -> Error,
) -> (Error, Duration, usize) {
    let (sent, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (sent, over, mut attacker) = (&sent, &over, attacker);
        scope.spawn(move || {
            let mut socket = attacker.tcp.socket().try_clone().unwrap();
            socket.set_nonblocking(false).unwrap();
            socket.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
            while !over.load(Ordering::Relaxed) {
                while attacker.sent.len() < 64 << 10 {
                    flood(&mut attacker);
                }
                match socket.write(&attacker.sent) {
                    Ok(count) => {
                        attacker.sent.drain(..count);
                        sent.fetch_add(count, Ordering::Relaxed);
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        });
        let start = Instant::now();
        let outcome = victim(&mut channel);
        // Who has dropped a connection still reads from it for a while.
        let sent = sent.load(Ordering::Relaxed);
        drop(channel);
        let took = start.elapsed();
        over.store(true, Ordering::Relaxed);
        (outcome, took, sent)
    })
}

fn check(name: &str, ends: Ends, error: &Error) {
    match (ends, error) {
        (
            Ends::Violation(expected),
            Error::Violation {
                peer: ATTACKER,
                step: STEP,
                what,
            },
        ) => assert_eq!(what, expected, "{name}"),
        (
            Ends::Lost(expected),
            Error::PeerLost {
                peer: ATTACKER,
                step: STEP,
                reason,
            },
        ) => assert_eq!(reason, expected, "{name}"),
        (
            Ends::Timeout,
            Error::Timeout {
                peer: ATTACKER,
                step: STEP,
                waited,
            },
        ) => assert!(*waited >= TIMEOUT, "{name}: {waited:?}"),
        (_, other) => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_flood_ends_a_receive() {
    for &(name, flood, accepts, dials) in FLOODS {
        for (attacker_accepts, ends) in [(true, accepts), (false, dials)] {
            let (link, mut attacker) = pair(attacker_accepts);
            let channel = channel(link, ends);
            if matches!(ends, Ends::Timeout) {
                let header = Frame::data(STEP, LONG).encode();
                attacker.data(&header);
            }
            let mut body = vec![0; LONG];
            let (error, took, sent) = flooded(flood, attacker, channel, |channel| {
                channel.recv(STEP, &mut body).unwrap_err()
            });
            check(name, ends, &error);
            assert!(took < ends.timeout() + DELAY, "{name}: {took:?}");
            if !matches!(ends, Ends::Timeout) {
                assert!(sent < BOUND, "{name}: {sent} bytes");
            }
        }
    }
}

/// A peer that takes nothing and floods does not keep a blocked send beyond its deadline.
#[test]
fn a_flood_ends_a_send() {
    for (name, ends) in [
        ("tickets", IDLE_FLOOD),
        ("bytes, each in its record", Ends::Timeout),
    ] {
        let flood = FLOODS.iter().find(|flood| flood.0 == name).unwrap().1;
        let (link, mut attacker) = pair(true);
        let channel = channel(link, ends);
        attacker.data(&Frame::data(STEP, LONG).encode());
        let body = vec![0; LONG];
        let (error, took, _) = flooded(flood, attacker, channel, |channel| {
            channel.send(STEP, &body).unwrap_err()
        });
        check(name, ends, &error);
        assert!(took < ends.timeout() + DELAY, "{name}: {took:?}");
    }
}

/// Between two looks of the caller at its deadline no more is read than the buffer holds.
#[test]
fn a_pull_reads_once() {
    let (mut link, mut attacker) = pair(true);
    attacker.data(&[1]);
    while attacker.sent.len() < 1 << 20 {
        attacker.ticket();
    }
    let mut socket = attacker.tcp.socket();
    let mut written = 0;
    while let Ok(count @ 1..) = socket.write(&attacker.sent[written..]) {
        written += count;
    }
    assert!(written > 2 * INCOMING, "the sockets hold more than one read");
    link.wait_data(TIMEOUT);
    let mut byte = [0];
    assert_eq!(link.pull(&mut byte, &mut []), Ok(Some(1)));
    link.state.most_idle = usize::MAX;
    link.state.idle = 0;
    while link.state.idle == 0 {
        assert_eq!(link.pull(&mut byte, &mut []), Ok(None));
    }
    assert!(link.state.idle <= 2 * INCOMING, "{} bytes", link.state.idle);
}

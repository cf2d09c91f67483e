//! What every kind of channel must do alike.

mod common;

use std::time::{Duration, Instant};

use cenote_net::{Error, PartyId};
use common::{Kind, OTHER, REASON, STEP, brief, bytes, everyone, pair};

/// Messages of all sizes arrive whole, in order, however they are cut into parts.
fn messages_arrive(kind: Kind) {
    let (mut a, mut b) = pair(kind, &brief(5000));
    assert_eq!((a.peer(), b.peer()), (PartyId(1), PartyId(0)));
    let sizes = [
        0,
        1,
        7,
        8,
        100,
        4095,
        4096,
        32_767,
        32_768,
        70_000,
        300_000,
        3,
        0,
        1 << 20,
        5,
    ];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (index, size) in sizes.into_iter().enumerate() {
                let body = bytes(index as u64, size);
                let (front, back) = body.split_at(size / 3);
                a.send_parts(STEP, &[front, &[], back]).unwrap();
            }
            a.flush().unwrap();
        });
        for (index, size) in sizes.into_iter().enumerate() {
            let mut body = vec![0; size];
            let (front, back) = body.split_at_mut(size / 2);
            b.recv_parts(STEP, &mut [front, &mut [], back]).unwrap();
            assert_eq!(body, bytes(index as u64, size), "message {index}");
        }
    });
}

/// Many small messages, collected on the way, of more bytes than any buffer holds.
fn small_messages_arrive(kind: Kind) {
    let (mut a, mut b) = pair(kind, &brief(5000));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for index in 0..20_000u32 {
                a.send(STEP, &index.to_le_bytes()).unwrap();
            }
            a.flush().unwrap();
        });
        for index in 0..20_000u32 {
            let mut body = [0; 4];
            b.recv(STEP, &mut body).unwrap();
            assert_eq!(u32::from_le_bytes(body), index);
        }
    });
}

/// Both send megabytes before either receives.
fn both_send_first(kind: Kind) {
    const SIZE: usize = 24 << 20;
    let (a, b) = pair(kind, &brief(20_000));
    std::thread::scope(|scope| {
        for mut channel in [a, b] {
            scope.spawn(move || {
                let me = u64::from(1 - channel.peer().0);
                for round in 0..2 {
                    channel.send(STEP, &bytes(me + round, SIZE)).unwrap();
                    channel.flush().unwrap();
                    let mut body = vec![0; SIZE];
                    channel.recv(STEP, &mut body).unwrap();
                    assert!(body == bytes(1 - me + round, SIZE), "{:?}", channel.peer());
                }
            });
        }
    });
}

/// Each of three sends megabytes to the one before, then receives from the one after.
fn a_ring_sends_first(kind: Kind) {
    const SIZE: usize = 16 << 20;
    std::thread::scope(|scope| {
        for (me, mut channels) in everyone(kind, 3, &brief(20_000)).into_iter().enumerate() {
            scope.spawn(move || {
                let place = |party: usize| if party > me { party - 1 } else { party };
                let (previous, next) = ((me + 2) % 3, (me + 1) % 3);
                channels[place(previous)]
                    .send(STEP, &bytes(me as u64, SIZE))
                    .unwrap();
                channels[place(previous)].flush().unwrap();
                let mut body = vec![0; SIZE];
                channels[place(next)].recv(STEP, &mut body).unwrap();
                assert!(body == bytes(next as u64, SIZE));
            });
        }
    });
}

fn violation(error: Error) -> String {
    match error {
        Error::Violation {
            peer: PartyId(0),
            step: STEP,
            what,
        } => what,
        other => panic!("{other:?}"),
    }
}

fn another_step_or_length_is_refused(kind: Kind) {
    for (step, length, what) in [
        (
            OTHER,
            17,
            "expected 16 bytes of step code 7, got 17 of step code 9",
        ),
        (
            OTHER,
            16,
            "expected 16 bytes of step code 7, got 16 of step code 9",
        ),
        (STEP, 15, "expected 16 bytes, got 15"),
        (STEP, 100_000, "expected 16 bytes, got 100000"),
    ] {
        // A shaped channel's messages are 8 bytes longer, for the time stamp.
        if kind == Kind::Shaped {
            continue;
        }
        let (mut a, mut b) = pair(kind, &brief(5000));
        a.send(step, &vec![1; length]).unwrap();
        a.flush().unwrap();
        let mut body = [0; 16];
        let error = b.recv(STEP, &mut body).unwrap_err();
        assert_eq!(violation(error.clone()), what);
        assert_eq!(body, [0; 16], "nothing may be delivered");
        assert_eq!(b.recv(STEP, &mut body), Err(error.clone()), "an error is final");
        assert_eq!(b.send(STEP, &body), Err(error));
    }
}

fn silence_times_out(kind: Kind) {
    let (mut a, mut b) = pair(kind, &brief(150));
    let start = Instant::now();
    match b.recv(STEP, &mut [0; 4]) {
        Err(Error::Timeout {
            peer: PartyId(0),
            step: STEP,
            waited,
        }) => assert!(waited >= Duration::from_millis(150)),
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() < Duration::from_secs(2));
    // Nothing had come, so nothing is broken.
    a.send(STEP, &[1, 2, 3, 4]).unwrap();
    a.flush().unwrap();
    let mut body = [0; 4];
    b.recv(STEP, &mut body).unwrap();
    assert_eq!(body, [1, 2, 3, 4]);
}

/// A peer that receives nothing is waited for as long as allowed, and costs bounded memory.
fn a_full_queue_times_out(kind: Kind) {
    let mut options = brief(200);
    options.queue_bytes = 1 << 20;
    options.least_rate = u64::MAX;
    options.linger = Duration::from_millis(50);
    let (mut a, _b) = pair(kind, &options);
    let body = vec![0; 1 << 20];
    let error = (0..100)
        .find_map(|_| a.send(STEP, &body).err())
        .expect("the queue is bounded");
    assert!(
        matches!(
            error,
            Error::Timeout {
                peer: PartyId(1),
                step: STEP,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(a.send(STEP, &[]), Err(error), "part of a message is out: final");
}

fn a_dropped_peer_is_lost(kind: Kind) {
    let (a, mut b) = pair(kind, &brief(5000));
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(a);
        });
        let error = b.recv(STEP, &mut [0; 4]).unwrap_err();
        assert!(
            matches!(
                error,
                Error::PeerLost {
                    peer: PartyId(0),
                    step: STEP,
                    ..
                }
            ),
            "{error:?}"
        );
    });
    assert!(start.elapsed() < Duration::from_secs(1));
    let body = vec![0; 1 << 20];
    let error = (0..200).find_map(|_| b.send(STEP, &body).err());
    assert!(matches!(error, Some(Error::PeerLost { .. })), "{error:?}");
}

/// What was flushed before the channel was dropped arrives, even if it is much and the receiver is slow.
fn dropping_loses_nothing(kind: Kind) {
    const SIZE: usize = 12 << 20;
    let (mut a, mut b) = pair(kind, &brief(5000));
    // The peer has sent something that is never received, which would reset a connection closed carelessly.
    b.send(STEP, &[0; 100]).unwrap();
    b.flush().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            a.send(STEP, &bytes(1, SIZE)).unwrap();
            a.send(STEP, b"last").unwrap();
            a.flush().unwrap();
        });
        std::thread::sleep(Duration::from_millis(100));
        let (mut body, mut last) = (vec![0; SIZE], [0; 4]);
        b.recv(STEP, &mut body).unwrap();
        b.recv(STEP, &mut last).unwrap();
        assert!(body == bytes(1, SIZE) && &last == b"last");
    });
}

fn closing_waits_for_the_peer(kind: Kind) {
    let (mut a, mut b) = pair(kind, &brief(5000));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            a.send(STEP, &[1; 1000]).unwrap();
            a.close().unwrap();
            assert!(a.send(STEP, &[]).is_err() && a.recv(STEP, &mut []).is_err());
        });
        b.recv(STEP, &mut [0; 1000]).unwrap();
        b.close().unwrap();
    });
    // A message that nobody received is noticed.
    let (mut a, mut b) = pair(kind, &brief(5000));
    a.send(STEP, &[1; 10]).unwrap();
    a.flush().unwrap();
    assert!(matches!(b.close(), Err(Error::Violation { .. })));
}

fn an_abort_ends_a_receive(kind: Kind) {
    let (mut a, mut b) = pair(kind, &brief(5000));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // What was sent before is still received.
            a.send(STEP, &[5]).unwrap();
            a.abort(REASON.into());
            assert_eq!(a.send(STEP, &[5]), Err(Error::Closed { peer: PartyId(1) }));
        });
        let mut body = [0];
        b.recv(STEP, &mut body).unwrap();
        assert_eq!(body, [5]);
        assert_eq!(
            b.recv(STEP, &mut body),
            Err(Error::PeerAborted {
                peer: PartyId(0),
                step: STEP,
                reason: REASON.into()
            })
        );
    });
}

/// A sender learns of an abort although it never receives: before it sends, or while its send waits.
fn an_abort_ends_a_send(kind: Kind) {
    let expected = Error::PeerAborted {
        peer: PartyId(0),
        step: STEP,
        reason: REASON.into(),
    };
    let (mut a, mut b) = pair(kind, &brief(5000));
    a.send(STEP, &[5; 3000]).unwrap();
    a.abort(REASON.into());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(b.send(STEP, &[1]), Err(expected.clone()));

    let options = cenote_net::ChannelOptions {
        queue_bytes: 1 << 20,
        ..brief(20_000)
    };
    let (mut a, mut b) = pair(kind, &options);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            a.send(STEP, &[5; 500_000]).unwrap();
            a.abort(REASON.into());
        });
        let body = vec![0; 1 << 20];
        let error = (0..100).find_map(|_| b.send(STEP, &body).err());
        assert_eq!(error, Some(expected.clone()));
    });
    assert!(start.elapsed() < Duration::from_secs(5));

    // The peer aborts and is gone before this side sends.
    let (mut a, mut b) = pair(kind, &brief(5000));
    a.abort(REASON.into());
    drop(a);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(b.send(STEP, &[1]).and_then(|()| b.flush()), Err(expected));
}

/// A party that stops is not held up by a peer that receives nothing; a peer that does receive still gets everything.
fn a_stopped_side_does_not_linger(kind: Kind) {
    const SIZE: usize = 24 << 20;
    let options = cenote_net::ChannelOptions {
        linger: Duration::from_secs(5),
        ..brief(20_000)
    };
    let (mut a, mut b) = pair(kind, &options);
    a.send(STEP, &bytes(1, SIZE)).and_then(|()| a.flush()).unwrap();
    a.abort(REASON.into());
    let start = Instant::now();
    drop(a);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let mut body = vec![0; SIZE];
    b.recv(STEP, &mut body).unwrap();
    assert!(body == bytes(1, SIZE));
    assert_eq!(
        b.recv(STEP, &mut body),
        Err(Error::PeerAborted {
            peer: PartyId(0),
            step: STEP,
            reason: REASON.into()
        })
    );

    // After a failure.
    let options = cenote_net::ChannelOptions {
        timeout: Duration::from_millis(200),
        queue_bytes: 1 << 20,
        least_rate: u64::MAX,
        ..options
    };
    let (mut a, _b) = pair(kind, &options);
    let body = vec![0; 1 << 20];
    assert!((0..100).any(|_| a.send(STEP, &body).is_err()));
    let start = Instant::now();
    drop(a);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

fn a_closer_ends_waits(kind: Kind) {
    let closed = Error::Closed { peer: PartyId(1) };
    let (mut a, mut b) = pair(kind, &brief(20_000));
    let closer = a.closer();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            closer.close();
            closer.close();
        });
        assert_eq!(a.recv(STEP, &mut [0; 4]), Err(closed.clone()));
    });
    assert!(matches!(b.recv(STEP, &mut [0; 4]), Err(Error::PeerLost { .. })));

    let options = cenote_net::ChannelOptions {
        queue_bytes: 1 << 20,
        ..brief(20_000)
    };
    let (mut a, _b) = pair(kind, &options);
    let closer = a.closer();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            closer.close();
        });
        let body = vec![0; 1 << 20];
        assert_eq!((0..100).find_map(|_| a.send(STEP, &body).err()), Some(closed));
    });
    assert!(start.elapsed() < Duration::from_secs(5));
    let late = a.closer();
    drop(a);
    late.close();
}

fn an_interrupted_side_has_a_last_word(kind: Kind) {
    let closed = Error::Closed { peer: PartyId(1) };
    let (mut a, mut b) = pair(kind, &brief(20_000));
    let interrupter = a.interrupter();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            interrupter.close();
            interrupter.close();
        });
        assert_eq!(a.recv(STEP, &mut [0; 4]), Err(closed.clone()));
    });
    assert_eq!(a.send(STEP, &[1]).and_then(|()| a.flush()), Err(closed.clone()));
    a.abort(REASON.into());
    let told = Error::PeerAborted {
        peer: PartyId(0),
        step: STEP,
        reason: REASON.into(),
    };
    assert_eq!(b.recv(STEP, &mut [0; 4]), Err(told));

    // Behind what was sent before, and out of a blocked send.
    let options = cenote_net::ChannelOptions {
        queue_bytes: 1 << 20,
        ..brief(20_000)
    };
    let (mut a, mut b) = pair(kind, &options);
    b.send(STEP, &[2]).and_then(|()| b.flush()).unwrap();
    let interrupter = a.interrupter();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            interrupter.close();
        });
        let body = vec![0; 1 << 20];
        assert_eq!(
            (0..100).find_map(|_| a.send(STEP, &body).err()),
            Some(closed.clone())
        );
    });
    assert_eq!(a.recv(STEP, &mut [0]), Err(closed));
    assert!(start.elapsed() < Duration::from_secs(5));
    let late = a.interrupter();
    drop(a);
    late.close();
}

fn meters_count(kind: Kind) {
    let (mut a, mut b) = pair(kind, &brief(5000));
    for _ in 0..3 {
        a.send(STEP, &[0; 10]).unwrap();
        a.send_parts(STEP, &[&[0; 50_000], &[0; 5]]).unwrap();
        a.flush().unwrap();
        b.recv(STEP, &mut [0; 10]).unwrap();
        b.recv(STEP, &mut [0; 50_005]).unwrap();
        b.send(STEP, &[0; 1]).unwrap();
        b.flush().unwrap();
        a.recv(STEP, &mut [0; 1]).unwrap();
    }
    let (ma, mb) = (a.meter(), b.meter());
    assert_eq!(
        (ma.payload_sent, ma.messages_sent, ma.bytes_sent),
        (3 * 50_015, 6, 3 * 50_015 + 6 * 8)
    );
    assert_eq!(
        (ma.payload_received, ma.messages_received, ma.bytes_received),
        (3, 3, 3 + 3 * 8)
    );
    assert_eq!(
        (mb.payload_received, mb.messages_received, mb.bytes_received),
        (3 * 50_015, 6, ma.bytes_sent)
    );
    assert_eq!(
        (mb.payload_sent, mb.messages_sent, mb.bytes_sent),
        (3, 3, ma.bytes_received)
    );
    assert_eq!((ma.rounds, mb.rounds), (3, 2), "a receive after a send");
}

/// Messages wait for a flush or a receive.
fn a_flush_is_needed(kind: Kind) {
    let (mut a, mut b) = pair(kind, &brief(100));
    a.send(STEP, &[1]).unwrap();
    assert!(matches!(b.recv(STEP, &mut [0]), Err(Error::Timeout { .. })));
    assert!(matches!(a.recv(STEP, &mut [0]), Err(Error::Timeout { .. })));
    b.recv(STEP, &mut [0]).unwrap();
}

macro_rules! conformance {
    ($($name:ident: $kind:expr;)*) => { $(
        mod $name {
            use super::*;
            conformance!(@tests $kind,
                messages_arrive, small_messages_arrive, both_send_first, a_ring_sends_first,
                another_step_or_length_is_refused, silence_times_out, a_full_queue_times_out, a_dropped_peer_is_lost,
                dropping_loses_nothing, closing_waits_for_the_peer, an_abort_ends_a_receive, an_abort_ends_a_send,
                a_stopped_side_does_not_linger, a_closer_ends_waits, an_interrupted_side_has_a_last_word, meters_count, a_flush_is_needed);
        }
    )* };
    (@tests $kind:expr, $($test:ident),*) => { $(
        #[test]
        fn $test() {
            super::$test($kind);
        }
    )* };
}

conformance! {
    memory: Kind::Memory;
    shaped: Kind::Shaped;
    tcp: Kind::Tcp;
    tls: Kind::Tls;
}

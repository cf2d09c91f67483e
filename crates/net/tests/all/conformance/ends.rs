//! How channels end: closed, dropped, aborted, interrupted.

use std::time::{Duration, Instant};

use cenote_net::{ChannelOptions, Error, PartyId, step};

use crate::common::{
    ChannelKind, REASON, STEP, assert_late, assert_lost, brief, bytes, failure, pair, with_later,
};

const GOODBYE: &str = "it has closed the channel";
/// Well before what limits a wait otherwise.
const SOON: Duration = Duration::from_secs(15);
/// How long the last bytes of an aborted channel are kept for a peer that takes them.
const FAREWELL: Duration = Duration::from_secs(2);

pub(super) fn a_dropped_peer_is_lost(kind: ChannelKind) {
    let (a, mut b) = pair(kind, &brief(60_000));
    let start = Instant::now();
    let error = with_later(|| drop(a), || b.recv(STEP, &mut [0; 4]).unwrap_err());
    assert_lost(&error, PartyId(0), "");
    assert!(start.elapsed() < SOON);
    let body = vec![0; 1 << 20];
    let error = (0..200).find_map(|_| b.send(STEP, &body).err());
    assert_lost(&error.unwrap(), PartyId(0), "");
}

/// What was flushed before the channel was dropped arrives, even if it is much and the receiver is slow.
pub(super) fn dropping_loses_nothing(kind: ChannelKind) {
    const SIZE: usize = 12 << 20;
    let options = ChannelOptions {
        linger: Duration::from_secs(60),
        ..brief(60_000)
    };
    let (mut a, mut b) = pair(kind, &options);
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

pub(super) fn closing_waits_for_the_peer(kind: ChannelKind) {
    let (mut a, mut b) = pair(kind, &brief(30_000));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            a.send(STEP, &[1; 1000]).unwrap();
            a.close().unwrap();
            // The peer's goodbye is what every later call meets.
            let closed = Error::PeerLost {
                peer: PartyId(1),
                step: step::CLOSE,
                reason: GOODBYE.into(),
            };
            assert_eq!(a.send(STEP, &[]), Err(closed.clone()));
            assert_eq!(a.recv(STEP, &mut []), Err(closed));
        });
        b.recv(STEP, &mut [0; 1000]).unwrap();
        b.close().unwrap();
    });
    // A message that nobody received is noticed.
    let (mut a, mut b) = pair(kind, &brief(30_000));
    a.send(STEP, &[1; 10]).unwrap();
    a.flush().unwrap();
    match b.close() {
        Err(Error::Violation {
            peer: PartyId(0),
            step: step::CLOSE,
            what,
        }) => assert!(what.contains("of step code 7"), "{what}"),
        other => panic!("{other:?}"),
    }
}

pub(super) fn an_abort_ends_a_receive(kind: ChannelKind) {
    let (mut a, mut b) = pair(kind, &brief(30_000));
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
pub(super) fn an_abort_ends_a_send(kind: ChannelKind) {
    let expected = Error::PeerAborted {
        peer: PartyId(0),
        step: STEP,
        reason: REASON.into(),
    };
    let (mut a, mut b) = pair(kind, &brief(30_000));
    a.send(STEP, &[5; 3000]).unwrap();
    a.abort(REASON.into());
    assert_eq!(failure(|| b.send(STEP, &[1])), expected);

    let options = ChannelOptions {
        queue_bytes: 1 << 20,
        ..brief(60_000)
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
    assert!(start.elapsed() < SOON);

    // The peer aborts and is gone before this side sends.
    let (mut a, mut b) = pair(kind, &brief(30_000));
    a.abort(REASON.into());
    drop(a);
    assert_eq!(failure(|| b.send(STEP, &[1]).and_then(|()| b.flush())), expected);
}

/// Whether a peer that receives gets all that was sent before an abort. It may lose it only if it is too late.
fn receives_all_before_an_abort(kind: ChannelKind, options: &ChannelOptions) -> bool {
    const SIZE: usize = 24 << 20;
    let (mut a, mut b) = pair(kind, options);
    let sent = bytes(1, SIZE);
    let mut body = vec![0; SIZE];
    a.send(STEP, &sent).and_then(|()| a.flush()).unwrap();
    let start = Instant::now();
    a.abort(REASON.into());
    drop(a);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let outcome = b.recv(STEP, &mut body).and_then(|()| {
        assert!(body == sent);
        b.recv(STEP, &mut body)
    });
    let aborted = Err(Error::PeerAborted {
        peer: PartyId(0),
        step: STEP,
        reason: REASON.into(),
    });
    let late = start.elapsed() >= FAREWELL;
    assert!(outcome == aborted || late, "{outcome:?}");
    outcome == aborted
}

/// A party that stops is not held up by a peer that receives nothing; a peer that does receive still gets everything.
pub(super) fn a_stopped_side_does_not_linger(kind: ChannelKind) {
    let options = ChannelOptions {
        linger: Duration::from_secs(60),
        ..brief(60_000)
    };
    assert!((0..10).any(|_| receives_all_before_an_abort(kind, &options)));

    // After a failure.
    let options = ChannelOptions {
        timeout: Duration::from_millis(200),
        queue_bytes: 1 << 20,
        least_rate: u64::MAX,
        ..options
    };
    let (mut a, _b) = pair(kind, &options);
    let body = vec![0; 1 << 20];
    let error = (0..100).find_map(|_| a.send(STEP, &body).err());
    assert_late(&error.unwrap());
    let start = Instant::now();
    drop(a);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

pub(super) fn a_closer_ends_waits(kind: ChannelKind) {
    let closed = Error::Closed { peer: PartyId(1) };
    let (mut a, mut b) = pair(kind, &brief(60_000));
    let closer = a.closer();
    let start = Instant::now();
    let twice = || {
        closer.close();
        closer.close();
    };
    let ended = with_later(twice, || a.recv(STEP, &mut [0; 4]));
    assert_eq!(ended, Err(closed.clone()));
    assert_lost(&b.recv(STEP, &mut [0; 4]).unwrap_err(), PartyId(0), "");

    let options = ChannelOptions {
        queue_bytes: 1 << 20,
        ..brief(60_000)
    };
    let (mut a, _b) = pair(kind, &options);
    let (closer, body) = (a.closer(), vec![0; 1 << 20]);
    let ended = with_later(
        || closer.close(),
        || (0..100).find_map(|_| a.send(STEP, &body).err()),
    );
    assert_eq!(ended, Some(closed));
    assert!(start.elapsed() < SOON);
    let late = a.closer();
    drop(a);
    late.close();
}

pub(super) fn an_interrupted_side_has_a_last_word(kind: ChannelKind) {
    let closed = Error::Closed { peer: PartyId(1) };
    let (mut a, mut b) = pair(kind, &brief(60_000));
    let interrupter = a.interrupter();
    let start = Instant::now();
    let twice = || {
        interrupter.close();
        interrupter.close();
    };
    let ended = with_later(twice, || a.recv(STEP, &mut [0; 4]));
    assert_eq!(ended, Err(closed.clone()));
    assert_eq!(a.send(STEP, &[1]).and_then(|()| a.flush()), Err(closed.clone()));
    a.abort(REASON.into());
    let told = Error::PeerAborted {
        peer: PartyId(0),
        step: STEP,
        reason: REASON.into(),
    };
    assert_eq!(b.recv(STEP, &mut [0; 4]), Err(told));

    // Behind what was sent before, and out of a blocked send.
    let options = ChannelOptions {
        queue_bytes: 1 << 20,
        ..brief(60_000)
    };
    let (mut a, mut b) = pair(kind, &options);
    b.send(STEP, &[2]).and_then(|()| b.flush()).unwrap();
    let (interrupter, body) = (a.interrupter(), vec![0; 1 << 20]);
    let ended = with_later(
        || interrupter.close(),
        || (0..100).find_map(|_| a.send(STEP, &body).err()),
    );
    assert_eq!(ended, Some(closed.clone()));
    assert_eq!(a.recv(STEP, &mut [0]), Err(closed));
    assert!(start.elapsed() < SOON);
    let late = a.interrupter();
    drop(a);
    late.close();
}

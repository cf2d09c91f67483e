//! A shaped network is as slow as it says (lower bounds only: machines may be slower).

use std::time::{Duration, Instant};

use crate::common::{STEP, brief, with_later};
use cenote_net::{Channel, Error, Line, PartyId, Shape, Shaped, memory_pair};

fn shaped(shape: Shape) -> [Shaped<cenote_net::MemoryChannel>; 2] {
    let (a, b) = memory_pair(PartyId(0), PartyId(1), brief(60_000));
    [Shaped::new(a, shape), Shaped::new(b, shape)]
}

#[test]
fn latency_delays_each_round_but_not_each_message() {
    let [mut a, mut b] = shaped(Shape::new(Duration::from_millis(20), None));
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..3 {
                for _ in 0..1000 {
                    b.recv(STEP, &mut [0; 10]).unwrap();
                }
                b.send(STEP, &[1]).and_then(|()| b.flush()).unwrap();
            }
        });
        for _ in 0..3 {
            for _ in 0..1000 {
                a.send(STEP, &[0; 10]).unwrap();
            }
            a.recv(STEP, &mut [0]).unwrap();
        }
    });
    // Three round trips of 40 ms; were each message to wait for the one before, it would be a minute.
    assert!(
        start.elapsed() >= Duration::from_millis(120),
        "{:?}",
        start.elapsed()
    );
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn bandwidth_delays_bytes() {
    let [mut a, mut b] = shaped(Shape::new(Duration::ZERO, Some(10_000_000)));
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..20 {
                a.send(STEP, &[0; 100_000]).unwrap();
            }
            a.flush().unwrap();
            a.recv(STEP, &mut []).unwrap();
        });
        for index in 1..=20 {
            b.recv(STEP, &mut [0; 100_000]).unwrap();
            assert!(
                start.elapsed() >= Duration::from_millis(10 * index),
                "message {index}"
            );
        }
        b.send(STEP, &[]).and_then(|()| b.flush()).unwrap();
    });
}

/// Two channels on a line take turns, whichever sends.
#[test]
fn channels_share_a_line() {
    let shape = Shape::new(Duration::ZERO, Some(10_000_000));
    let line = Line::default();
    let pair = |line: &Line| {
        let (a, b) = memory_pair(PartyId(0), PartyId(1), brief(60_000));
        (Shaped::on(line.clone(), a, shape), Shaped::new(b, shape))
    };
    let (mut a1, mut b1) = pair(&line);
    let (mut a2, mut b2) = pair(&line);
    let start = Instant::now();
    for a in [&mut a1, &mut a2] {
        a.send(STEP, &[0; 1_000_000]).and_then(|()| a.flush()).unwrap();
    }
    b1.recv(STEP, &mut [0; 1_000_000]).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(100));
    b2.recv(STEP, &mut [0; 1_000_000]).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn a_sender_need_not_wait_for_the_line() {
    let [mut a, b] = shaped(Shape::new(Duration::ZERO, Some(10_000)));
    let start = Instant::now();
    for _ in 0..20 {
        a.send(STEP, &[0; 100_000]).unwrap();
    }
    a.flush().unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "the line takes 200 s: {:?}",
        start.elapsed()
    );
    drop(b);
}

#[test]
fn a_bounded_queue_makes_the_sender_wait() {
    let shape = Shape {
        queue_bytes: 100_000,
        ..Shape::new(Duration::ZERO, Some(1_000_000))
    };
    let [mut a, _b] = shaped(shape);
    let start = Instant::now();
    for _ in 0..3 {
        a.send(STEP, &[0; 100_000]).unwrap();
    }
    assert!(
        start.elapsed() >= Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_closer_ends_the_delay() {
    let [mut a, mut b] = shaped(Shape::new(Duration::from_secs(30), None));
    a.send(STEP, &[1]).and_then(|()| a.flush()).unwrap();
    let closer = b.closer();
    let ended = with_later(|| closer.close(), || b.recv(STEP, &mut [0]));
    assert_eq!(ended, Err(Error::Closed { peer: PartyId(0) }));
}

#[test]
fn a_message_from_the_far_future_is_refused() {
    let (mut a, b) = memory_pair(PartyId(0), PartyId(1), brief(5000));
    let mut b = Shaped::new(b, Shape::new(Duration::ZERO, None));
    a.send_parts(STEP, &[&u64::MAX.to_le_bytes(), &[1]])
        .and_then(|()| a.flush())
        .unwrap();
    match b.recv(STEP, &mut [0]) {
        Err(Error::Violation {
            peer: PartyId(0),
            what,
            ..
        }) => assert!(what.contains("later than the shaped network allows"), "{what}"),
        other => panic!("{other:?}"),
    }
}

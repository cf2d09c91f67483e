//! Waits end in time.

use std::time::{Duration, Instant};

use cenote_net::{Error, PartyId};

use crate::common::{ChannelKind, STEP, assert_late, brief, pair, recv_patiently};

pub(super) fn silence_times_out(kind: ChannelKind) {
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
    assert!(start.elapsed() < Duration::from_secs(15));
    // Nothing had come, so nothing is broken.
    a.send(STEP, &[1, 2, 3, 4]).unwrap();
    a.flush().unwrap();
    let mut body = [0; 4];
    recv_patiently(&mut b, &mut body);
    assert_eq!(body, [1, 2, 3, 4]);
}

/// A peer that receives nothing is waited for as long as allowed, and costs bounded memory.
pub(super) fn a_full_queue_times_out(kind: ChannelKind) {
    let mut options = brief(200);
    options.queue_bytes = 1 << 20;
    options.least_rate = u64::MAX;
    options.linger = Duration::from_millis(50);
    let (mut a, _b) = pair(kind, &options);
    let body = vec![0; 1 << 20];
    let error = (0..100)
        .find_map(|_| a.send(STEP, &body).err())
        .expect("the queue is bounded");
    assert_late(&error);
    assert_eq!(a.send(STEP, &[]), Err(error), "part of a message is out: final");
}
/// Messages wait for a flush or a receive.
pub(super) fn a_flush_is_needed(kind: ChannelKind) {
    let (mut a, mut b) = pair(kind, &brief(100));
    a.send(STEP, &[1]).unwrap();
    for (channel, silent) in [(&mut b, PartyId(0)), (&mut a, PartyId(1))] {
        match channel.recv(STEP, &mut [0]) {
            Err(Error::Timeout { peer, step: STEP, .. }) => assert_eq!(peer, silent),
            other => panic!("{other:?}"),
        }
    }
    recv_patiently(&mut b, &mut [0]);
}

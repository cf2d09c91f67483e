//! Messages arrive whole and in order, or are refused.

use cenote_net::{Error, PartyId};

use crate::common::{ChannelKind, OTHER, STEP, brief, bytes, everyone, pair};

/// Messages of all sizes arrive whole, in order, however they are cut into parts.
pub(super) fn messages_arrive(kind: ChannelKind) {
    let (mut a, mut b) = pair(kind, &brief(30_000));
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
pub(super) fn small_messages_arrive(kind: ChannelKind) {
    let (mut a, mut b) = pair(kind, &brief(30_000));
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
pub(super) fn both_send_first(kind: ChannelKind) {
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
pub(super) fn a_ring_sends_first(kind: ChannelKind) {
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

pub(super) fn another_step_or_length_is_refused(kind: ChannelKind) {
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
        if kind == ChannelKind::Shaped {
            continue;
        }
        let (mut a, mut b) = pair(kind, &brief(30_000));
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

pub(super) fn meters_count(kind: ChannelKind) {
    let (mut a, mut b) = pair(kind, &brief(30_000));
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

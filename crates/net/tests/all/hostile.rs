//! Peers that do not speak the protocol, over bare sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{STEP, assert_late, assert_lost, brief, raw_pair};
use cenote_net::{Channel, ChannelOptions, Error, PartyId};

/// A well-formed header: tag, kind, word, length.
fn header(kind: u8, word: u16, length: u32) -> Vec<u8> {
    let mut bytes = vec![0xCE, kind];
    bytes.extend(word.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes
}

#[test]
fn garbage_is_a_violation() {
    for garbage in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        header(0, STEP.code, 4),
        header(4, STEP.code, 4),
        header(2, 256, 0),
        header(2, 1, 0),
        header(2, 0, 16),
        header(3, 0, 4),
        vec![0; 8],
    ] {
        let (mut channel, mut raw) = raw_pair(&brief(2000));
        raw.write_all(&garbage).unwrap();
        match channel.recv(STEP, &mut [0; 4]) {
            Err(Error::Violation {
                peer: PartyId(1),
                step: STEP,
                what,
            }) => assert!(what.contains("no message"), "{what}"),
            other => panic!("{garbage:?}: {other:?}"),
        }
    }
}

#[test]
fn an_announced_giant_is_refused_without_being_read() {
    let (mut channel, mut raw) = raw_pair(&brief(2000));
    raw.write_all(&header(1, STEP.code, u32::MAX)).unwrap();
    match channel.recv(STEP, &mut [0; 4]) {
        Err(Error::Violation { what, .. }) => assert_eq!(what, format!("expected 4 bytes, got {}", u32::MAX)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dripping_peer_is_not_waited_for() {
    let options = ChannelOptions {
        least_rate: 1_000_000,
        ..brief(300)
    };
    let (mut channel, mut raw) = raw_pair(&options);
    raw.write_all(&header(1, STEP.code, 100_000)).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // One byte at a time, each well before a silent peer would be given up.
            while raw.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let error = channel.recv(STEP, &mut vec![0; 100_000]).unwrap_err();
        assert_late(&error);
        // 300 ms, and 100 ms for the bytes.
        assert!((Duration::from_millis(400)..Duration::from_secs(20)).contains(&start.elapsed()));
        assert_eq!(
            channel.recv(STEP, &mut []),
            Err(error),
            "part of the message was taken: final"
        );
        drop(channel);
    });
}

#[test]
fn a_dripping_header_is_not_waited_for() {
    let (mut channel, mut raw) = raw_pair(&brief(200));
    raw.write_all(&header(1, STEP.code, 4)[..5]).unwrap();
    assert_late(&channel.recv(STEP, &mut [0; 4]).unwrap_err());
    // The rest may still come.
    raw.write_all(&header(1, STEP.code, 4)[5..]).unwrap();
    raw.write_all(&[1, 2, 3, 4]).unwrap();
    let mut body = [0; 4];
    channel.recv(STEP, &mut body).unwrap();
    assert_eq!(body, [1, 2, 3, 4]);
}

/// The reason of an abort comes whole or not at all, whatever this side is doing.
#[test]
fn a_reason_may_arrive_in_pieces() {
    let (mut channel, mut raw) = raw_pair(&brief(200));
    raw.write_all(&header(2, 0, 3)).unwrap();
    raw.write_all(&[1]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    channel.send(STEP, &[5]).unwrap();
    assert_late(&channel.recv(STEP, &mut [0; 4]).unwrap_err());
    raw.write_all(&[2, 3]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let aborted = Error::PeerAborted {
        peer: PartyId(1),
        step: STEP,
        reason: [1, 2, 3].into(),
    };
    assert_eq!(channel.send(STEP, &[5]), Err(aborted.clone()));
    assert_eq!(channel.recv(STEP, &mut [0; 4]), Err(aborted));

    let (mut channel, mut raw) = raw_pair(&brief(5000));
    raw.write_all(&header(2, 0, 3)).unwrap();
    raw.write_all(&[1]).unwrap();
    drop(raw);
    let error = channel.recv(STEP, &mut [0; 4]).unwrap_err();
    assert_lost(&error, PartyId(1), "goodbye");
}

#[test]
fn a_connection_cut_within_a_message_is_lost() {
    let (mut channel, mut raw) = raw_pair(&brief(5000));
    raw.write_all(&header(1, STEP.code, 4)).unwrap();
    raw.write_all(&[1, 2]).unwrap();
    drop(raw);
    let error = channel.recv(STEP, &mut [0; 4]).unwrap_err();
    assert_lost(&error, PartyId(1), "goodbye");
}

/// Whatever comes, the receiver ends with an error or a message, in time.
#[test]
fn random_bytes_end_in_an_error() {
    for seed in 0..200 {
        let (mut channel, mut raw) = raw_pair(&brief(500));
        let mut wire = crate::common::bytes(seed, 400);
        // Half of them begin well: with a message of the right length, or with a last word.
        let (kind, length) = (1 + (seed / 2 % 3) as u8, seed % 64);
        if seed % 2 == 0 {
            let word = if kind == 1 { STEP.code } else { 0 };
            wire.splice(0..8, header(kind, word, length as u32));
        }
        raw.write_all(&wire).unwrap();
        drop(raw);
        let mut delivered = 0;
        let error = loop {
            match channel.recv(STEP, &mut vec![0; length as usize]) {
                Ok(()) => delivered += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(delivered, u8::from(seed % 2 == 0 && kind == 1), "seed {seed}");
        let goodbye = "it has closed the channel";
        match (seed % 2, kind, length, &error) {
            (0, 2, ..=15, Error::PeerAborted { reason, .. }) => {
                assert_eq!(reason.as_bytes(), &wire[8..8 + length as usize]);
            }
            (0, 3, 0, Error::PeerLost { reason, .. }) => assert_eq!(reason, goodbye),
            (0, 2, ..=15, other) | (0, 3, 0, other) => panic!("seed {seed}: {other:?}"),
            (_, _, _, Error::Violation { what, .. }) => assert!(what.contains("no message"), "{what}"),
            (_, _, _, other) => panic!("seed {seed}: {other:?}"),
        }
        assert_eq!(channel.send(STEP, &[0; 100_000]), Err(error), "it is final");
    }
}

/// Frames behind one another in every possible cut.
#[test]
fn frames_may_arrive_in_pieces() {
    let mut wire = Vec::new();
    for length in [0u32, 3, 40_000] {
        wire.extend(header(1, STEP.code, length));
        wire.extend((0..length).map(|index| index as u8));
    }
    for cut in [1, 7, 8, 9, 16, 18, 19, 20, 27, 28, 5000, 36_900] {
        let (mut channel, mut raw) = raw_pair(&brief(5000));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                raw.write_all(&wire[..cut]).unwrap();
                std::thread::sleep(Duration::from_millis(10));
                raw.write_all(&wire[cut..]).unwrap();
            });
            for length in [0usize, 3, 40_000] {
                let mut body = vec![0; length];
                channel.recv(STEP, &mut body).unwrap();
                assert!(
                    body.iter().enumerate().all(|(index, byte)| *byte == index as u8),
                    "cut at {cut}"
                );
            }
        });
    }
}

/// The bytes on the wire are part of the contract.
#[test]
fn the_wire_format_is_this() {
    let (mut channel, mut raw) = raw_pair(&brief(2000));
    channel.send(STEP, b"ab").unwrap();
    channel.send_parts(STEP, &[b"c", b"d"]).unwrap();
    channel.abort(3.into());
    drop(channel);
    let mut wire = Vec::new();
    raw.read_to_end(&mut wire).unwrap();
    let expected = [
        header(1, 7, 2),
        b"ab".to_vec(),
        header(1, 7, 2),
        b"cd".to_vec(),
        header(2, 0, 1),
        vec![3],
    ];
    assert_eq!(wire, expected.concat());
}

#[test]
fn a_killed_process_is_lost_at_once() {
    if let Ok(address) = std::env::var("CENOTE_TEST_CHILD") {
        // The child: connects, sends a message, and waits to be killed.
        let mut raw = TcpStream::connect(address).unwrap();
        raw.write_all(&header(1, STEP.code, 1)).unwrap();
        raw.write_all(&[1]).unwrap();
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "hostile::a_killed_process_is_lost_at_once",
            "--nocapture",
        ])
        .env("CENOTE_TEST_CHILD", listener.local_addr().unwrap().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut channel = cenote_net::TcpChannel::over(PartyId(1), stream, brief(60_000)).unwrap();
    channel.recv(STEP, &mut [0]).unwrap();
    let killed = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        child.kill().unwrap();
        child.wait().unwrap();
        Instant::now()
    });
    let error = channel.recv(STEP, &mut [0]).unwrap_err();
    let noticed = Instant::now();
    assert_lost(&error, PartyId(1), "");
    assert!(noticed.saturating_duration_since(killed.join().unwrap()) < Duration::from_secs(15));
}

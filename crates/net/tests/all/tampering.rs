//! What TLS keeps from a network that reads along and changes bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Boxed, STEP, assert_lost, brief, configs, connect_all};
use cenote_net::{Channel, Error, Label, MeshConfig, PartyId, step};

/// Something that passes bytes on, and may change those from the dialer.
#[derive(Default)]
struct Tap {
    seen: Mutex<Vec<u8>>,
    /// Flips a bit of the next bytes.
    flip: Mutex<bool>,
    /// Flips a bit of the byte at this place of the stream.
    flip_at: Option<usize>,
    /// Ends the connection instead of passing on the next bytes.
    cut: Mutex<bool>,
    /// Kept to the end: a port that is let go may be given to another test's tap, which this test's dialer would reach.
    _listener: Option<TcpListener>,
}

/// Parties 0 and 1, joined through a tap.
fn tapped(tls: bool) -> (Boxed, Boxed, Arc<Tap>) {
    let (configs, tap) = through(Tap::default(), tls);
    let label = Label::from("main");
    let mut meshes = connect_all(configs, std::slice::from_ref(&label))
        .into_iter()
        .map(Result::unwrap);
    let (mut a, mut b) = (meshes.next().unwrap(), meshes.next().unwrap());
    (
        a.take(PartyId(1), &label).unwrap(),
        b.take(PartyId(0), &label).unwrap(),
        tap,
    )
}

/// The configurations of two parties, of which the second reaches the first through `tap`.
fn through(mut tap: Tap, tls: bool) -> (Vec<MeshConfig>, Arc<Tap>) {
    let mut configs = configs(2, tls, &brief(20_000));
    let target = configs[0].parties[0].address.clone();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    configs[1].parties[0].address = proxy.local_addr().unwrap().to_string();
    tap._listener = Some(proxy.try_clone().unwrap());
    let tap = Arc::new(tap);
    let watched = tap.clone();
    std::thread::spawn(move || {
        let (dialer, _) = proxy.accept().unwrap();
        let acceptor = TcpStream::connect(target).unwrap();
        let (mut back_from, mut back_to) = (acceptor.try_clone().unwrap(), dialer.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut back_from, &mut back_to);
            let _ = back_to.shutdown(Shutdown::Write);
        });
        let (mut from, mut to) = (dialer, acceptor);
        let mut buffer = [0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let bytes = &mut buffer[..count];
            if std::mem::take(&mut *watched.flip.lock().unwrap()) {
                bytes[count / 2] ^= 0x10;
            }
            let place = watched
                .flip_at
                .and_then(|at| at.checked_sub(watched.seen.lock().unwrap().len()));
            if let Some(byte) = place.and_then(|place| bytes.get_mut(place)) {
                *byte ^= 0x10;
            }
            if *watched.cut.lock().unwrap() {
                break;
            }
            watched.seen.lock().unwrap().extend_from_slice(bytes);
            if to.write_all(bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    (configs, tap)
}

const SECRET: &[u8] = b"a secret that the network must not see";

#[test]
fn the_network_sees_no_plaintext() {
    for tls in [false, true] {
        let (mut a, mut b, tap) = tapped(tls);
        b.send(STEP, SECRET).and_then(|()| b.flush()).unwrap();
        let mut body = vec![0; SECRET.len()];
        a.recv(STEP, &mut body).unwrap();
        assert_eq!(body, SECRET);
        let seen = tap.seen.lock().unwrap();
        // The plain connection shows that the tap would see it.
        assert_eq!(seen.windows(SECRET.len()).any(|window| window == SECRET), !tls);
    }
}

#[test]
fn a_changed_byte_ends_the_connection() {
    let (mut a, mut b, tap) = tapped(true);
    *tap.flip.lock().unwrap() = true;
    b.send(STEP, SECRET).and_then(|()| b.flush()).unwrap();
    let mut body = vec![0; SECRET.len()];
    assert_lost(&a.recv(STEP, &mut body).unwrap_err(), PartyId(1), "TLS");
    assert_eq!(body, vec![0; SECRET.len()], "nothing may be delivered");
    assert_lost(&b.recv(STEP, &mut body).unwrap_err(), PartyId(0), "");
}

/// A cut connection is not taken for an end.
#[test]
fn a_cut_connection_is_no_goodbye() {
    let (mut a, mut b, tap) = tapped(true);
    b.send(STEP, SECRET).and_then(|()| b.flush()).unwrap();
    a.recv(STEP, &mut vec![0; SECRET.len()]).unwrap();
    *tap.cut.lock().unwrap() = true;
    drop(b);
    assert_lost(&a.recv(STEP, &mut [0]).unwrap_err(), PartyId(1), "cut");
}

/// Whether the byte `at` of a TLS stream is the version of a record's header, which means nothing (RFC 8446, section 5.1). All
/// headers before it are as they were sent.
fn is_ignored(stream: &[u8], at: usize) -> bool {
    let mut start = 0;
    while let Some(&[_, _, _, high, low]) = stream[start..].first_chunk() {
        let end = start + 5 + usize::from(u16::from_be_bytes([high, low]));
        if at < end {
            return (start + 1..start + 3).contains(&at);
        }
        start = end;
    }
    false
}

/// A byte changed anywhere in the handshake ends in an error, and nothing worse.
#[test]
fn a_changed_handshake_ends_in_an_error() {
    let changed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for at in (0..900).step_by(30) {
            let changed = &changed;
            scope.spawn(move || {
                let (mut configs, tap) = through(
                    Tap {
                        flip_at: Some(at),
                        ..Tap::default()
                    },
                    true,
                );
                for config in &mut configs {
                    // Long enough for a busy machine to send the hello.
                    config.connect_timeout = Duration::from_secs(5);
                }
                let outcomes = connect_all(configs, &[Label::from("main")]);
                // The last places may lie behind the end of the hello, whose distance varies by a few bytes.
                let seen = tap.seen.lock().unwrap();
                if seen.len() > at && !is_ignored(&seen, at) {
                    changed.fetch_add(1, Ordering::Relaxed);
                    // To the acceptor it is a stranger's connection.
                    match &outcomes[0] {
                        Err(Error::Timeout { peer, step, .. }) => {
                            assert_eq!((*peer, *step), (PartyId(1), step::CONNECT));
                        }
                        other => panic!("byte {at}: {other:?}"),
                    }
                }
            });
        }
    });
    assert!(changed.into_inner() > 24, "the handshake is longer than that");
}

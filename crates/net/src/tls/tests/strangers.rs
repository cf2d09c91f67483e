//! Floods before and in the handshake.

use std::io::Write;
use std::time::Instant;

use super::*;

/// Strangers that flood before they have shown a key, at either side.
#[test]
fn a_flood_ends_a_handshake() {
    const ENDLESS: &str = "a TLS message that does not end";
    let hello = |fragment: &[u8]| [&[22, 3, 1, 0, fragment.len() as u8], fragment].concat();
    let start = hello(&[1, 0, 0xFF, 0xFF, 3, 3]);
    let floods = [
        (
            "change_cipher_spec",
            vec![],
            vec![20, 3, 3, 0, 1, 1],
            ["it sent what TLS does not allow there"; 2],
        ),
        (
            "warnings",
            vec![],
            vec![21, 3, 3, 0, 2, 1, 90],
            ["it sent what TLS does not allow there"; 2],
        ),
        ("a hello without end", start, hello(&[0]), [ENDLESS; 2]),
        (
            "empty records",
            vec![],
            hello(&[]),
            ["what it sent is not TLS"; 2],
        ),
        ("noise", vec![], vec![0x41; 100], ["what it sent is not TLS"; 2]),
    ];
    let [me, other] = [(); 2].map(|()| Identity::generate().unwrap());
    for (name, start, flood, expected) in floods {
        for (accepts, expected) in [true, false].into_iter().zip(expected) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut stranger = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            stranger.set_nonblocking(true).unwrap();
            let _ = stranger.write(&[&start[..], &flood.repeat((1 << 20) / flood.len())].concat());
            let deadline = Deadline::new(PATIENCE);
            let peer = (ATTACKER, other.fingerprint());
            let begun = Instant::now();
            let fault = if accepts {
                TlsLink::accept(stream, 1 << 20, &me, vec![peer], deadline).err()
            } else {
                TlsLink::dial(stream, 1 << 20, &me, peer, deadline).err()
            };
            match fault {
                Some(HandshakeFault::Protocol(what) | HandshakeFault::Fault(Fault::Violation(what))) => {
                    assert_eq!(what, expected, "{name}, {accepts}");
                }
                other => panic!("{name}: {other:?}"),
            }
            assert!(begun.elapsed() < PATIENCE + DELAY, "{name}");
        }
    }
}

/// A handshake that goes on for ever, a byte at a time, is over at its deadline.
#[test]
fn a_drip_ends_a_handshake() {
    let me = Identity::generate().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stranger = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            stranger
                .write_all(&[22, 3, 1, 0x40, 0, 1, 0, 0x3F, 0xFC, 3, 3])
                .unwrap();
            while begun.elapsed() < TIMEOUT + 2 * DELAY && stranger.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let fault = TlsLink::accept(stream, 1 << 20, &me, Vec::new(), Deadline::new(TIMEOUT)).err();
        assert!(matches!(fault, Some(HandshakeFault::Timeout)), "{fault:?}");
        assert!(begun.elapsed() < TIMEOUT + DELAY);
    });
}

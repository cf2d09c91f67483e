//! Machines that peers reach through another one.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::common::{brief, configs, connect_all, labels, listeners};
use crate::meeting::talk;
use cenote_net::{Error, Fingerprint, Identity, Listen, MeshConfig, Relay, Relayed, Result, Ticket};

use sha2::{Digest as _, Sha256};

/// Longer than a relay waits for anybody.
const LONG: Duration = Duration::from_secs(30);

fn relay() -> (Relay, String) {
    let listener = listeners(1).remove(0);
    let address = listener.local_addr().unwrap().to_string();
    (Relay::start(listener).unwrap(), address)
}

fn listens_at(config: &MeshConfig) -> SocketAddr {
    match &config.listen {
        Listen::Bound(listener) => listener.local_addr().unwrap(),
        Listen::Address(address) => *address,
    }
}

/// All parties reach the first one by the relay at `address`.
fn through(configs: &mut [MeshConfig], address: &str) {
    for config in configs {
        config.parties[0].address = address.to_owned();
        config.parties[0].relayed = true;
    }
}

#[test]
fn parties_meet_through_a_relay_and_know_each_other_by_their_keys() {
    let labels = labels(&["main", "refill", "worker 0", "worker 1", "worker 2"]);
    let (relay, address) = relay();
    let mut configs = configs(3, true, &brief(5000));
    through(&mut configs, &address);
    let fingerprint = configs[0].parties[0].fingerprint.unwrap();
    let ticket = relay.expect(fingerprint).unwrap();
    let relayed = Relayed::start(address, ticket, listens_at(&configs[0])).unwrap();
    let meshes = connect_all(configs, &labels);
    let meshes = meshes.into_iter().map(Result::unwrap).collect();
    // Five channels of two peers.
    assert_eq!(relay.served(), 10);
    // What is joined goes on without them.
    drop((relay, relayed));
    talk(meshes, &labels);
}

#[test]
fn a_relay_in_between_that_sends_peers_elsewhere_is_noticed() {
    let labels = labels(&["main"]);
    let (relay, address) = relay();
    let mut all = configs(2, true, &brief(3000));
    through(&mut all, &address);
    let fingerprint = all[0].parties[0].fingerprint.unwrap();
    // Whoever is at the other end has another key.
    let mut others = configs(2, true, &brief(3000));
    let stranger = others.remove(0);
    let ticket = relay.expect(fingerprint).unwrap();
    let _relayed = Relayed::start(address, ticket, listens_at(&stranger)).unwrap();
    let second = all.remove(1);
    let ended = connect_all(vec![stranger, second], &labels);
    assert!(matches!(ended[1], Err(Error::Identity { .. })), "{:?}", ended[1]);
}

/// What the relay answers to these bytes, until it hangs up.
fn say(address: &str, bytes: &[u8]) -> (Vec<u8>, Duration) {
    let start = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // A connection may also be reset.
    let _ = stream.read_to_end(&mut answer);
    (answer, start.elapsed())
}

#[test]
fn who_is_not_expected_is_hung_up_on() {
    let (relay, address) = relay();
    let own = Identity::generate().unwrap().fingerprint();
    let ticket = relay.expect(own).unwrap();
    let bytes = |kind: u8, of: [u8; 32]| [b"cenote-r".as_slice(), &[kind], &of].concat();
    let other = ticket.map(|byte| byte ^ 1);
    for strange in [
        bytes(1, other),
        bytes(2, other),
        bytes(3, ticket),
        vec![b'G'; 41],
        vec![0; 4000],
    ] {
        let (answer, took) = say(&address, &strange);
        assert!(answer.is_empty() && took < Duration::from_secs(4), "{took:?}");
    }
    // Who says nothing has a few seconds.
    let (answer, took) = say(&address, b"cenote");
    assert!(answer.is_empty() && took < Duration::from_secs(20), "{took:?}");
    assert_eq!(relay.served(), 0);
}

/// Has somebody reached through a relay: gives their key's fingerprint, their ticket, and where connections to them go.
fn inside(relay: &Relay, address: &str) -> (Fingerprint, Ticket, TcpListener, Relayed) {
    let own = Identity::generate().unwrap().fingerprint();
    let target = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let ticket = relay.expect(own).unwrap();
    let relayed = Relayed::start(address.to_owned(), ticket, target.local_addr().unwrap()).unwrap();
    (own, ticket, target, relayed)
}

#[test]
fn what_is_forgotten_is_not_joined() {
    let (relay, address) = relay();
    let (own, ticket, _target, _relayed) = inside(&relay, &address);
    relay.forget(own);
    let (answer, took) = say(&address, &from_outside(own));
    assert!(answer.is_empty() && took < LONG, "{took:?}");
    assert_eq!(relay.served(), 0);
    // Expected anew, it is reached with the new ticket only.
    relay.expect(own).unwrap();
    let (answer, _) = say(&address, &[b"cenote-r".as_slice(), &[1], &ticket].concat());
    assert!(answer.is_empty());
}

/// What a peer says to a relay before it speaks to who has this key.
fn from_outside(fingerprint: Fingerprint) -> Vec<u8> {
    let place = Sha256::new_with_prefix("cenote place behind a relay");
    let place = place.chain_update(hex(&fingerprint.to_string())).finalize();
    [b"cenote-r".as_slice(), &[2], place.as_slice()].concat()
}

/// Who has said all holds nothing open for ever.
#[test]
fn what_is_half_open_ends() {
    let (relay, address) = relay();
    let (own, _, target, _relayed) = inside(&relay, &address);
    let mut outside = TcpStream::connect(&address).unwrap();
    outside.write_all(&from_outside(own)).unwrap();
    outside.write_all(b"hello").unwrap();
    let (mut inside, _) = target.accept().unwrap();
    let mut word = [0; 5];
    inside.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"hello");
    // The one inside has said all, and the other says nothing more, and does not end.
    inside.shutdown(Shutdown::Write).unwrap();
    assert_eq!(outside.read(&mut word).unwrap(), 0);
    inside.set_read_timeout(Some(LONG)).unwrap();
    let start = Instant::now();
    assert!(!matches!(inside.read(&mut word), Ok(1..)));
    assert!(start.elapsed() < LONG, "it is ended");
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// More strangers than there is room for, who say nothing, push out one another.
#[test]
fn silent_strangers_keep_nobody_out() {
    let (relay, address) = relay();
    let strangers: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let labels = labels(&["main"]);
    let mut configs = configs(2, true, &brief(15_000));
    configs
        .iter_mut()
        .for_each(|config| config.connect_timeout = LONG);
    through(&mut configs, &address);
    let ticket = relay.expect(configs[0].parties[0].fingerprint.unwrap()).unwrap();
    let _relayed = Relayed::start(address, ticket, listens_at(&configs[0])).unwrap();
    let meshes = connect_all(configs, &labels);
    talk(meshes.into_iter().map(Result::unwrap).collect(), &labels);
    drop(strangers);
}

/// Whether the relay turns this away, and does not let it wait.
fn is_turned_away(address: &str, of: Fingerprint) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    stream.write_all(&from_outside(of)).unwrap();
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        // A connection may also be reset.
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Sees that what is said outside is heard inside.
fn is_joined(address: &str, of: Fingerprint, target: &TcpListener) {
    let mut outside = TcpStream::connect(address).unwrap();
    outside.write_all(&from_outside(of)).unwrap();
    outside.write_all(b"hello").unwrap();
    let mut word = [0; 5];
    target.accept().unwrap().0.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"hello");
}

#[test]
fn who_waits_for_one_place_in_a_crowd_keeps_nobody_from_another() {
    let (relay, address) = relay();
    let nobody = Identity::generate().unwrap().fingerprint();
    relay.expect(nobody).unwrap();
    let wait = || {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(&from_outside(nobody)).unwrap();
        stream
    };
    let waiting: Vec<TcpStream> = (0..128).map(|_| wait()).collect();
    // The last of them may not have been heard yet.
    assert!((0..8).any(|_| is_turned_away(&address, nobody)));
    let (own, _, target, _relayed) = inside(&relay, &address);
    is_joined(&address, own, &target);
    drop(waiting);
}

#[test]
fn one_place_is_joined_so_often_and_no_more() {
    let (relay, address) = relay();
    let (own, _, target, _relayed) = inside(&relay, &address);
    (0..512).for_each(|_| is_joined(&address, own, &target));
    assert!(is_turned_away(&address, own));
    assert_eq!(relay.served(), 512);
    let (other, _, target, _relayed) = inside(&relay, &address);
    is_joined(&address, other, &target);
}

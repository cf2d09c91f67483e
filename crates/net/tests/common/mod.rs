//! Parties of one process, joined by each kind of channel.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of this")]

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cenote_net::{
    AbortReason, Budget, Channel, ChannelOptions, Error, Identity, Label, Listen, Mesh, MeshConfig, PartyId,
    PeerAddress, Shape, Shaped, Step, TcpChannel, Transport, TrunkLimits, Trunks, connect, memory_pair,
};
use trunks::{PATIENCE, join_all, trunks};

pub mod trunks;

pub const STEP: Step = Step {
    code: 7,
    name: "test",
};
pub const OTHER: Step = Step {
    code: 9,
    name: "other",
};

/// As long as a reason can be.
pub const REASON: [u8; AbortReason::MAX] = *b"a test's reason";

pub type Boxed = Box<dyn Channel>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    Memory,
    Shaped,
    Tcp,
    Tls,
    Trunk,
}

pub fn labels(names: &[&str]) -> Vec<Label> {
    names.iter().copied().map(Label::from).collect()
}

/// Options with short waits.
pub fn brief(timeout_ms: u64) -> ChannelOptions {
    ChannelOptions {
        timeout: Duration::from_millis(timeout_ms),
        linger: Duration::from_secs(2),
        ..ChannelOptions::default()
    }
}

/// A mebibyte.
pub const MIB: usize = 1 << 20;

/// Channels that share a budget where there are many.
pub const PIPES: usize = 12;

/// Options with a budget of their own: waits are as long for many bytes as for few, and a channel that is dropped does not linger.
pub fn with_budget(timeout_ms: u64, budget: usize) -> ChannelOptions {
    ChannelOptions {
        budget: Budget::new(budget),
        linger: Duration::ZERO,
        least_rate: u64::MAX,
        ..brief(timeout_ms)
    }
}

/// Sees that party 1 was waited for at [`STEP`] for as long as it may be.
#[track_caller]
pub fn assert_late(error: &Error) {
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
}

/// Sees that `from` was lost at [`STEP`], for a reason with these words.
#[track_caller]
pub fn assert_lost(error: &Error, from: PartyId, words: &str) {
    match error {
        Error::PeerLost {
            peer,
            step: STEP,
            reason,
        } if *peer == from => assert!(reason.contains(words), "{reason}"),
        other => panic!("{other:?}"),
    }
}

/// What `wait` gives while another thread calls `act`, a moment later.
pub fn with_later<T>(act: impl FnOnce() + Send, wait: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            act();
        });
        wait()
    })
}

/// An address of this machine that no other test uses, as far as there are such addresses: a port that is released there
/// stays free.
fn own_address() -> Ipv4Addr {
    if !cfg!(target_os = "linux") {
        return Ipv4Addr::LOCALHOST;
    }
    static USED: AtomicU32 = AtomicU32::new(0);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let last = 2 + USED.fetch_add(1, Ordering::Relaxed) % 250;
    Ipv4Addr::new(127, high, low, last as u8)
}

/// So many listening sockets, at an address of their own.
pub fn listeners(count: usize) -> Vec<TcpListener> {
    let address = own_address();
    (0..count)
        .map(|_| TcpListener::bind((address, 0)).unwrap())
        .collect()
}

/// The configurations of parties that can reach each other on this machine.
pub fn configs(parties: usize, tls: bool, options: &ChannelOptions) -> Vec<MeshConfig> {
    let listeners = listeners(parties);
    let identities: Vec<_> = (0..parties)
        .map(|_| Arc::new(Identity::generate().unwrap()))
        .collect();
    let addresses: Vec<_> = listeners
        .iter()
        .zip(&identities)
        .map(|(listener, identity)| PeerAddress {
            address: listener.local_addr().unwrap().to_string(),
            fingerprint: tls.then(|| identity.fingerprint()),
            relayed: false,
        })
        .collect();
    listeners
        .into_iter()
        .zip(identities)
        .enumerate()
        .map(|(index, (listener, identity))| MeshConfig {
            me: PartyId(index as u8),
            parties: addresses.clone(),
            listen: Listen::Bound(listener),
            transport: if tls {
                Transport::Tls(identity)
            } else {
                Transport::Plain
            },
            session: "test".into(),
            connect_timeout: Duration::from_secs(10),
            options: options.clone(),
        })
        .collect()
}

/// Runs `connect` for all at once.
pub fn connect_all(configs: Vec<MeshConfig>, labels: &[Label]) -> Vec<cenote_net::Result<Mesh>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = configs
            .into_iter()
            .map(|config| scope.spawn(move || connect(config, labels)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// For each of `parties` parties its channels to the others, in the order of the parties (its own place is left out).
pub fn everyone(kind: ChannelKind, parties: usize, options: &ChannelOptions) -> Vec<Vec<Boxed>> {
    let label = Label::from("main");
    let mut meshes: Vec<Mesh> = match kind {
        ChannelKind::Tcp | ChannelKind::Tls => connect_all(
            configs(parties, kind == ChannelKind::Tls, options),
            std::slice::from_ref(&label),
        )
        .into_iter()
        .map(Result::unwrap)
        .collect(),
        ChannelKind::Trunk => {
            let all = trunks(parties, &TrunkLimits::default());
            let trunks: Vec<&Trunks> = all.iter().map(|party| &party.trunks).collect();
            join_all(&trunks, "test", std::slice::from_ref(&label), [options; 3])
                .into_iter()
                .map(Result::unwrap)
                .collect()
        }
        ChannelKind::Memory | ChannelKind::Shaped => {
            let mut channels: Vec<Vec<(Label, Boxed)>> = (0..parties).map(|_| Vec::new()).collect();
            for a in 0..parties {
                for b in a + 1..parties {
                    let (for_a, for_b) = memory_pair(PartyId(a as u8), PartyId(b as u8), options.clone());
                    let wrap = |channel| -> Boxed {
                        match kind {
                            ChannelKind::Shaped => Box::new(Shaped::new(
                                channel,
                                Shape::new(Duration::from_micros(50), Some(1 << 33)),
                            )),
                            _ => Box::new(channel),
                        }
                    };
                    channels[a].push((label.clone(), wrap(for_a)));
                    channels[b].push((label.clone(), wrap(for_b)));
                }
            }
            channels.into_iter().map(Mesh::from_channels).collect()
        }
    };
    (0..parties)
        .map(|me| {
            let others = (0..parties).filter(|other| *other != me);
            others
                .map(|other| meshes[me].take(PartyId(other as u8), &label).unwrap())
                .collect()
        })
        .collect()
}

/// Two joined channels: of party 0 and of party 1.
pub fn pair(kind: ChannelKind, options: &ChannelOptions) -> (Boxed, Boxed) {
    let mut both = everyone(kind, 2, options);
    let second = both[1].remove(0);
    (both[0].remove(0), second)
}

/// As [`pair`] over sockets, each party with its own options.
pub fn pair_with(kind: ChannelKind, options: [&ChannelOptions; 2]) -> (Boxed, Boxed) {
    assert_ne!(kind, ChannelKind::Trunk);
    let label = Label::from("main");
    let mut configs = configs(2, kind == ChannelKind::Tls, options[0]);
    configs[1].options = options[1].clone();
    let mut meshes = connect_all(configs, std::slice::from_ref(&label))
        .into_iter()
        .map(Result::unwrap);
    let mut channel = |peer| meshes.next().unwrap().take(PartyId(peer), &label).unwrap();
    (channel(1), channel(0))
}

/// A channel to party 1, and the bare socket at its other end.
pub fn raw_pair(options: &ChannelOptions) -> (TcpChannel, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let raw = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    (
        TcpChannel::over(PartyId(1), stream, options.clone()).unwrap(),
        raw,
    )
}

/// Calls `attempt` until it fails.
pub fn failure(mut attempt: impl FnMut() -> cenote_net::Result<()>) -> Error {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Err(error) = attempt() {
            return error;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it does not fail");
}

/// Receives what is on its way, however short the channel's own wait is.
pub fn recv_patiently(channel: &mut Boxed, body: &mut [u8]) {
    let start = Instant::now();
    loop {
        match channel.recv(STEP, body) {
            Err(Error::Timeout { .. }) if start.elapsed() < PATIENCE => {}
            outcome => return outcome.unwrap(),
        }
    }
}

/// Bytes that differ from each other and from other seeds'.
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect()
}

//! Throughput and round trip of each kind of channel between two threads of this machine.
//!
//! `cargo run --release -p cenote-net --example channel_speed [kind..] [-- spin]`, kinds `memory`, `tcp`, `tls`, `trunk`; or
//! with `ratio`, to compare a channel over a trunk with one that has a TLS connection of its own, in turn, so that what else
//! the machine does is felt by both.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_net::{
    Channel, ChannelOptions, Heard, Identity, Label, Listen, Mesh, MeshConfig, PartyId, PeerAddress, Step,
    Transport, TrunkConfig, TrunkLimits, TrunkState, Trunks, connect, memory_pair,
};

const STEP: Step = Step {
    code: 1,
    name: "measure",
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let spin = if arguments.iter().any(|word| word == "spin") {
        Duration::from_micros(50)
    } else {
        Duration::ZERO
    };
    if arguments.iter().any(|word| word == "ratio") {
        return ratios(spin);
    }
    println!(
        "{:8} {:>10} {:>16} {:>16}",
        "kind", "message", "one way", "both ways"
    );
    for kind in ["memory", "tcp", "tls", "trunk"] {
        if arguments.iter().any(|word| word != "spin") && !arguments.iter().any(|word| word == kind) {
            continue;
        }
        for size in [1 << 10, 64 << 10, 256 << 10, 4 << 20] {
            let total = if size < 4096 { 256 << 20 } else { 2usize << 30 };
            let count = total / size;
            let one = one_way(kind, spin, size, count);
            let both = both_ways(kind, spin, size, count / 2);
            println!("{kind:8} {size:>10} {one:>11.2} GB/s {both:>11.2} GB/s");
        }
        if kind == "tcp" {
            println!(
                "{:8} {:>10} {:>11.2} GB/s",
                "(bare)",
                256 << 10,
                bare(256 << 10, 8192)
            );
        }
        let (median, mean) = round_trip(kind, spin, 20_000);
        println!(
            "{kind:8} {:>10} {median:>10.1} us median {mean:>6.1} us mean, there and back",
            16
        );
    }
}

/// Medians over turns of both kinds.
fn ratios(spin: Duration) {
    const TURNS: usize = 15;
    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }
    println!(
        "{:>10} {:>14} {:>14}   trunk / tls",
        "message", "one way", "both ways"
    );
    for size in [1 << 10, 64 << 10, 256 << 10, 4 << 20] {
        let count = (if size < 4096 { 32 << 20 } else { 256usize << 20 }) / size;
        let ratio = |speed: fn(&str, Duration, usize, usize) -> f64| {
            let turn = |_| speed("trunk", spin, size, count) / speed("tls", spin, size, count);
            median((0..TURNS).map(turn).collect())
        };
        println!("{size:>10} {:>14.2} {:>14.2}", ratio(one_way), ratio(both_ways));
    }
    for kind in ["tls", "trunk"] {
        let trips = (0..TURNS).map(|_| round_trip(kind, spin, 2000).0).collect();
        println!("{kind:>10} {:>11.1} us there and back, median", median(trips));
    }
    println!(
        "{:.0} sessions of 16 channels a second over a trunk",
        sessions(1000)
    );
}

fn pair(kind: &str, spin: Duration) -> (Box<dyn Channel>, Box<dyn Channel>) {
    let options = ChannelOptions {
        spin,
        ..ChannelOptions::default()
    };
    if kind == "memory" {
        let (a, b) = memory_pair(PartyId(0), PartyId(1), options);
        return (Box::new(a), Box::new(b));
    }
    let label = Label::from("speed");
    let [a, b] = configs(kind, &options).map(|config| {
        let (label, peer, trunk) = (label.clone(), PartyId(1 - config.me.0), kind == "trunk");
        std::thread::spawn(move || {
            let labels = std::slice::from_ref(&label);
            let mesh = if trunk {
                start(config).and_then(|(trunks, options)| join(&trunks, "speed", labels, options))
            } else {
                connect(config, labels)
            };
            mesh.and_then(|mut mesh| mesh.take(peer, &label))
                .expect("connected")
        })
    });
    let [a, b] = [a, b].map(|thread| thread.join().expect("no panic"));
    (a, b)
}

/// Two parties that can reach each other.
fn configs(kind: &str, options: &ChannelOptions) -> [MeshConfig; 2] {
    let identities = [(); 2].map(|()| Arc::new(Identity::generate().expect("identity")));
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let parties: Vec<_> = (0..2)
        .map(|index| PeerAddress {
            address: listeners[index].local_addr().expect("address").to_string(),
            fingerprint: Some(identities[index].fingerprint()),
            relayed: false,
        })
        .collect();
    let mut index = 0;
    listeners.map(|listener| {
        let me = PartyId(index);
        index += 1;
        MeshConfig {
            me,
            parties: parties.clone(),
            listen: Listen::Bound(listener),
            transport: match kind {
                "tls" | "trunk" => Transport::Tls(identities[me.index()].clone()),
                _ => Transport::Plain,
            },
            session: "speed".into(),
            connect_timeout: Duration::from_secs(5),
            options: options.clone(),
        }
    })
}

struct Deaf;

impl Heard for Deaf {
    fn link(&self, _: PartyId, _: &TrunkState) {}
    fn message(&self, _: PartyId, _: Vec<u8>) {}
}

fn start(config: MeshConfig) -> cenote_net::Result<(Trunks, ChannelOptions)> {
    let Transport::Tls(identity) = config.transport else {
        unreachable!("trunks use TLS");
    };
    let trunks = TrunkConfig {
        me: config.me,
        parties: config.parties,
        listen: Some(config.listen),
        identity,
        version: String::new(),
        limits: TrunkLimits::default(),
    };
    Ok((Trunks::start(trunks, Arc::new(Deaf))?, config.options))
}

fn join(trunks: &Trunks, name: &str, labels: &[Label], options: ChannelOptions) -> cenote_net::Result<Mesh> {
    trunks.join(name, 2, labels, options, Duration::from_secs(5))
}

/// Sessions a second, one after the other: each joins with 16 channels, sends a message on each and ends.
fn sessions(count: usize) -> f64 {
    let labels: Vec<Label> = (0..16)
        .map(|index| Label::new(format!("channel {index}")))
        .collect();
    let parties = configs("trunk", &ChannelOptions::default()).map(|config| start(config).expect("started"));
    // Until the connection is there.
    let [a, b] = &parties;
    std::thread::scope(|scope| {
        scope.spawn(|| join(&a.0, "first", &labels, a.1.clone()).expect("joined"));
        join(&b.0, "first", &labels, b.1.clone()).expect("joined");
    });
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for (trunks, options) in &parties {
            let labels = &labels;
            scope.spawn(move || {
                for index in 0..count {
                    let mesh = join(trunks, &format!("session {index}"), labels, options.clone());
                    let channels = mesh.expect("joined").into_channels();
                    let mut channels: Vec<_> = channels.map(|(_, channel)| channel).collect();
                    for channel in &mut channels {
                        channel.send(STEP, &[7; 16]).expect("sent");
                    }
                    for channel in &mut channels {
                        channel.recv(STEP, &mut [0; 16]).expect("received");
                    }
                }
            });
        }
    });
    count as f64 / begun.elapsed().as_secs_f64()
}

/// What blocking sockets do without a channel, for comparison.
fn bare(size: usize, count: usize) -> f64 {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut sender =
        std::net::TcpStream::connect(listener.local_addr().expect("address")).expect("connected");
    let (mut receiver, _) = listener.accept().expect("accepted");
    let start = Instant::now();
    let thread = std::thread::spawn(move || {
        let body = vec![7; size];
        for _ in 0..count {
            sender.write_all(&body).expect("sent");
        }
    });
    let mut body = vec![0; size];
    for _ in 0..count {
        receiver.read_exact(&mut body).expect("received");
    }
    thread.join().expect("no panic");
    (size * count) as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn one_way(kind: &str, spin: Duration, size: usize, count: usize) -> f64 {
    let (mut a, mut b) = pair(kind, spin);
    let start = Instant::now();
    let sender = std::thread::spawn(move || {
        let body = vec![7; size];
        for _ in 0..count {
            a.send(STEP, &body).expect("sent");
        }
        a.flush().expect("flushed");
        a.recv(STEP, &mut []).expect("acknowledged");
    });
    let mut body = vec![0; size];
    for _ in 0..count {
        b.recv(STEP, &mut body).expect("received");
    }
    let seconds = start.elapsed().as_secs_f64();
    b.send(STEP, &[]).and_then(|()| b.flush()).expect("sent");
    sender.join().expect("no panic");
    (size * count) as f64 / seconds / 1e9
}

/// Each side sends a message, then receives one. The sum of both directions.
fn both_ways(kind: &str, spin: Duration, size: usize, count: usize) -> f64 {
    let (a, b) = pair(kind, spin);
    let start = Instant::now();
    let threads = [a, b].map(|mut channel| {
        std::thread::spawn(move || {
            let (out, mut into) = (vec![7; size], vec![0; size]);
            for _ in 0..count {
                channel.send(STEP, &out).expect("sent");
                channel.recv(STEP, &mut into).expect("received");
            }
        })
    });
    for thread in threads {
        thread.join().expect("no panic");
    }
    2.0 * (size * count) as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn round_trip(kind: &str, spin: Duration, count: usize) -> (f64, f64) {
    let (mut a, mut b) = pair(kind, spin);
    let echo = std::thread::spawn(move || {
        let mut body = [0; 16];
        for _ in 0..count {
            b.recv(STEP, &mut body).expect("received");
            b.send(STEP, &body).and_then(|()| b.flush()).expect("sent");
        }
    });
    let mut body = [0; 16];
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            let start = Instant::now();
            a.send(STEP, &body).expect("sent");
            a.recv(STEP, &mut body).expect("received");
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    echo.join().expect("no panic");
    times.sort_by(f64::total_cmp);
    (times[count / 2], times.iter().sum::<f64>() / count as f64)
}

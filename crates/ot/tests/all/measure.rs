//! Measurements, for people: `cargo test --release -p cenote-ot --test all -- --ignored --nocapture`.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use cenote_net::{
    Channel, ChannelOptions, Label, Listen, MeshConfig, PartyId, PeerAddress, Result, Step, Transport,
    connect,
};
use cenote_ot::bits::{BitReceiver, BitSender};
use cenote_ot::{DeltaReceiver, DeltaSender};
use cenote_primitives::Entropy;

const STRINGS: usize = 1_000_000;
const REPEATS: u32 = 5;
const PHASES: [&str; 5] = [
    "set-up",
    "correlated",
    "random",
    "authenticated bits",
    "openings of bits",
];

/// Both ends of a TCP connection over the loopback interface.
fn loopback() -> [Box<dyn Channel>; 2] {
    let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let parties = listeners.each_ref().map(|listener| PeerAddress {
        address: listener.local_addr().unwrap().to_string(),
        fingerprint: None,
        relayed: false,
    });
    let label = Label::from("main");
    let mut me = 0;
    let threads = listeners.map(|listener| {
        let config = MeshConfig {
            me: PartyId(me),
            parties: parties.to_vec(),
            listen: Listen::Bound(listener),
            transport: Transport::Plain,
            session: "measure".into(),
            connect_timeout: Duration::from_secs(10),
            options: ChannelOptions::default(),
        };
        me += 1;
        let label = label.clone();
        std::thread::spawn(move || {
            let peer = PartyId(1 - config.me.0);
            connect(config, std::slice::from_ref(&label))
                .and_then(|mut mesh| mesh.take(peer, &label))
                .unwrap()
        })
    });
    threads.map(|thread| thread.join().unwrap())
}

/// Waits for the peer to come as far.
fn meet(channel: &mut dyn Channel) -> Result<()> {
    let step = Step {
        code: 1,
        name: "meet",
    };
    channel.send(step, &[]).and_then(|()| channel.recv(step, &mut []))
}

/// Bits are opened in this step.
const OPEN: Step = Step {
    code: 2,
    name: "open bits",
};

/// The processor time of this thread, where the system tells.
fn busy() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let time = times.split(' ').next().and_then(|time| time.parse().ok());
    Duration::from_nanos(time.unwrap_or(0))
}

/// The shortest wall and processor time of each phase.
#[derive(Default)]
struct Clock([Option<(Duration, Duration)>; PHASES.len()]);

impl Clock {
    fn time<T>(
        &mut self,
        channel: &mut dyn Channel,
        phase: usize,
        work: impl FnOnce(&mut dyn Channel) -> T,
    ) -> T {
        meet(channel).unwrap();
        let (start, used) = (Instant::now(), busy());
        let result = work(channel);
        let used = busy() - used;
        meet(channel).unwrap();
        let (wall, before) = (
            start.elapsed(),
            self.0[phase].unwrap_or((Duration::MAX, Duration::MAX)),
        );
        self.0[phase] = Some((wall.min(before.0), used.min(before.1)));
        result
    }

    fn print(&self, who: &str) {
        for (phase, times) in PHASES.iter().zip(self.0) {
            let (wall, busy) = times.unwrap();
            let each = |time: Duration| time.as_secs_f64() * 1e9 / STRINGS as f64;
            match *phase {
                "set-up" => println!("{who}: {phase} {:.1} ms", wall.as_secs_f64() * 1e3),
                _ => println!(
                    "{who}: {phase}, of {STRINGS} {:.1} ns each, of which its thread is busy {:.1} ns",
                    each(wall),
                    each(busy)
                ),
            }
        }
    }
}

#[test]
#[ignore = "measures, and takes all cores"]
fn speed_over_loopback() {
    let [mut to_receiver, mut to_sender] = loopback();
    let sender = std::thread::spawn(move || {
        let (channel, mut entropy, mut clock) = (&mut *to_receiver, Entropy::os(), Clock::default());
        for _ in 0..REPEATS {
            let new = |channel: &mut dyn Channel| DeltaSender::new(channel, &mut entropy, b"measure");
            let mut sender = clock.time(channel, 0, new).unwrap();
            clock
                .time(channel, 1, |channel| sender.correlated(channel, STRINGS))
                .unwrap();
            clock
                .time(channel, 2, |channel| sender.random(channel, STRINGS))
                .unwrap();
            let mut sender = BitSender::<1>::new(channel, &mut entropy, b"measure").unwrap();
            let keys = clock
                .time(channel, 3, |channel| sender.keys(channel, STRINGS))
                .unwrap();
            let mut verifier = sender.verifier(0);
            clock
                .time(channel, 4, |channel| verifier.receive(channel, OPEN, &keys))
                .unwrap();
        }
        clock.print("Δ-sender");
    });
    let (channel, mut entropy, mut clock) = (&mut *to_sender, Entropy::os(), Clock::default());
    for _ in 0..REPEATS {
        let new = |channel: &mut dyn Channel| DeltaReceiver::new(channel, &mut entropy, b"measure");
        let mut receiver = clock.time(channel, 0, new).unwrap();
        clock
            .time(channel, 1, |channel| {
                receiver.correlated(channel, &mut entropy, STRINGS)
            })
            .unwrap();
        clock
            .time(channel, 2, |channel| {
                receiver.random(channel, &mut entropy, STRINGS)
            })
            .unwrap();
        let mut receiver = BitReceiver::<1>::new(channel, &mut entropy, b"measure").unwrap();
        let bits = clock
            .time(channel, 3, |channel| {
                receiver.bits(channel, &mut entropy, STRINGS)
            })
            .unwrap();
        let mut opener = receiver.opener(0);
        clock
            .time(channel, 4, |channel| {
                opener.open(channel, OPEN, &bits.bits, &bits.macs)
            })
            .unwrap();
    }
    sender.join().unwrap();
    clock.print("Δ-receiver");
}

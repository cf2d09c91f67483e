//! What the channels carry when nothing is computed: the limit that the wire sets.
//!
//! The parties open the channels of a session and pass bytes round the ring on all of them at once. Number, buffers and messages of
//! the channels are the protocol's, and so is how far a party sends ahead of what it receives.

use std::sync::Barrier;
use std::time::Instant;

use cenote_net::{PartyId, Step};
use cenote_three::{Links, Ring};
use serde::{Deserialize, Serialize};

use crate::measure::{Measurement, Place, no_report};
use crate::usage::{Cpu, Machine, Stopwatch};
use cenote::{Error, PARTIES, Protocol, Result, Three, Transport};
use cenote_session::{Connections, Topology};

const BYTES: Step = Step {
    code: 0x3f0,
    name: "pass bytes",
};
const AMOUNT: Step = Step {
    code: 0x3f1,
    name: "how many bytes to pass",
};

/// Messages that a party is ahead of what it receives, as in the protocol.
const LAG: u64 = 4;

/// Bytes passed on every channel before anything is timed.
const WARM_UP_BYTES: u64 = 32 << 20;

/// Most bytes that a channel passes.
const MOST_BYTES: u64 = 1 << 40;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RingBench {
    /// Workers of each party, each with two threads and their channels.
    pub workers: u8,
    /// Bytes in a message: the protocol's are of 32 to 64 KiB.
    pub message_bytes: usize,
    /// About how long it takes.
    pub seconds: f64,
}

impl Default for RingBench {
    /// One worker, 64 KiB, 2 s.
    fn default() -> Self {
        Self {
            workers: 1,
            message_bytes: 64 << 10,
            seconds: 2.0,
        }
    }
}

/// What one party has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RingParty {
    /// Bytes sent, without frames.
    pub bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Processor seconds of this party's process.
    pub cpu_seconds: f64,
}

impl Measurement for RingBench {
    const NAME: &'static str = "ring";

    type Party = RingParty;

    fn topology(&self) -> Topology {
        Protocol::from(Three {
            workers: self.workers,
            ..Three::default()
        })
        .topology()
    }

    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        _progress: &mut dyn FnMut(u64, u64),
    ) -> Result<RingParty> {
        let links = Links::of(me, connections);
        let rings: Vec<Ring> = links
            .into_iter()
            .flat_map(|links| [links.generator, links.evaluator])
            .collect();
        let barrier = Barrier::new(rings.len() + 1);
        let size = self.message_bytes;
        let seconds = self.seconds;
        std::thread::scope(|scope| {
            let threads: Vec<_> = rings
                .into_iter()
                .map(|mut ring| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        let ready = prepare(me, &mut ring, size, seconds);
                        // All reach the barrier, whatever happened.
                        barrier.wait();
                        let messages = ready?;
                        pass(&mut ring, size, messages)?;
                        Ok::<u64, Error>(messages * size as u64)
                    })
                })
                .collect();
            barrier.wait();
            let watch = Stopwatch::start();
            let mut bytes = 0;
            let mut failure = Ok(());
            for thread in threads {
                let panicked = || Error::local("passing bytes", std::io::Error::other("a thread panicked"));
                match thread.join().unwrap_or_else(|_| Err(panicked())) {
                    Ok(passed) => bytes += passed,
                    Err(error) => failure = failure.and(Err(error)),
                }
            }
            failure?;
            let (seconds, cpu_seconds) = watch.read();
            Ok(RingParty {
                bytes,
                seconds,
                cpu_seconds,
            })
        })
    }
}

/// Warms the channel up, and gives the number of messages to pass, which party 0 chooses.
fn prepare(me: PartyId, ring: &mut Ring, size: usize, seconds: f64) -> Result<u64> {
    let few = WARM_UP_BYTES.div_ceil(size as u64);
    let start = Instant::now();
    pass(ring, size, few)?;
    let rate = few as f64 / start.elapsed().as_secs_f64().max(1e-6);
    let mut amount = [0; 8];
    if me == PartyId(0) {
        amount = ((rate * seconds) as u64).to_le_bytes();
        for channel in [&mut ring.previous, &mut ring.next] {
            channel.send(AMOUNT, &amount)?;
            channel.flush()?;
        }
    } else if me == PartyId(1) {
        ring.previous.recv(AMOUNT, &mut amount)?;
    } else {
        ring.next.recv(AMOUNT, &mut amount)?;
    }
    Ok(u64::from_le_bytes(amount).clamp(1, MOST_BYTES / size as u64))
}

/// Passes `messages` messages of `size` bytes to the previous party while as many come from the next.
fn pass(ring: &mut Ring, size: usize, messages: u64) -> cenote_net::Result<()> {
    let mut bytes = vec![0x5a; size];
    for number in 0..messages + LAG {
        if number < messages {
            ring.previous.send(BYTES, &bytes)?;
            ring.previous.flush()?;
        }
        if number >= LAG {
            ring.next.recv(BYTES, &mut bytes)?;
        }
    }
    Ok(())
}

/// What the channels carried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RingReport {
    /// How the parties were joined.
    pub transport: Transport,
    /// Channels that a party sent on at once.
    pub channels: u64,
    pub message_bytes: usize,
    /// Bytes that each party sent.
    pub bytes: u64,
    /// Seconds that it took, the longest of any party.
    pub seconds: f64,
    /// Gigabits that each party sent, and received, per second.
    pub gbit_per_second: f64,
    /// Processor time; its `ns_per_gate` is nanoseconds per party and byte.
    pub cpu: Cpu,
    pub machine: Machine,
}

/// Measures, in `place`.
///
/// # Errors
/// [`Error::Usage`] for a message of no bytes or of more than 16 MiB, or no workers; [`Error::Parties`] or
/// [`Error::Protocol`] if a party fails.
pub fn run_ring(ring: &RingBench, place: &mut Place<'_>) -> Result<RingReport> {
    if !(1..=16 << 20).contains(&ring.message_bytes) || ring.workers == 0 {
        return Err(Error::Usage(
            "messages have 1 byte to 16 MiB, and there is at least one worker".into(),
        ));
    }
    let machine = Machine::now();
    let parties = place.measure(ring)?;
    let bytes = parties.first().map_or(0, |party| party.bytes);
    if parties.len() != usize::from(PARTIES) || parties.iter().any(|party| party.bytes != bytes) {
        return Err(no_report());
    }
    let seconds = parties.iter().map(|party| party.seconds).fold(1e-9, f64::max);
    let processes = match place.transport() {
        Transport::Memory => &parties[..1],
        _ => &parties[..],
    };
    let cpu = processes.iter().map(|party| party.cpu_seconds).collect();
    Ok(RingReport {
        transport: place.transport(),
        channels: 2 * u64::from(ring.workers),
        message_bytes: ring.message_bytes,
        bytes,
        seconds,
        gbit_per_second: 8e-9 * bytes as f64 / seconds,
        cpu: Cpu::new(cpu, seconds, bytes, &machine),
        machine,
    })
}

impl RingReport {
    /// As a line for people.
    pub fn line(&self) -> String {
        format!(
            "{:.2} Gbit/s sent and received by each party over {}: {} channels, messages of {} KiB, {:.1} GB in {:.1} s, \
             {:.0}% of {} cores",
            self.gbit_per_second,
            self.transport,
            self.channels,
            self.message_bytes as f64 / 1024.0,
            self.bytes as f64 / 1e9,
            self.seconds,
            self.cpu.percent,
            self.machine.cores
        )
    }
}

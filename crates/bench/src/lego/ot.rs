//! What oblivious transfers cost: base OTs, correlated and random strings.

use std::time::Instant;

use cenote_net::{Channel, Meter, PartyId};
use cenote_ot::{DeltaReceiver, DeltaSender};
use cenote_primitives::Entropy;
use serde::{Deserialize, Serialize};

use super::{failed, topology};
use crate::measure::{Measurement, Place, no_report};
use crate::meeting::Meeting;
use crate::usage::{Machine, median};
use cenote::text::{Table, s};
use cenote::{Error, Link, Result, Transport};
use cenote_session::{Connections, Topology};

/// The session name that the keys of a measurement are bound to.
const SESSION: &[u8] = b"cenote bench ot";

/// Most strings at once: both sides keep them all.
pub const MOST_STRINGS: u64 = 1 << 28;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtBench {
    /// Strings of each kind.
    pub strings: u64,
    /// Runs; medians are reported.
    pub repeat: u32,
    /// What slows the link down.
    pub link: Link,
}

/// What one party has measured of one kind, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtTimes {
    seconds: Vec<f64>,
    bytes_sent: u64,
}

/// What one party has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtParty {
    setup: OtTimes,
    correlated: OtTimes,
    random: OtTimes,
}

/// One side of the OTs.
enum Side {
    Sender(DeltaSender),
    Receiver(DeltaReceiver),
}

impl Side {
    fn new(me: PartyId, channel: &mut dyn Channel, entropy: &mut Entropy) -> Result<Self> {
        Ok(match me {
            PartyId(0) => Side::Sender(DeltaSender::new(channel, entropy, SESSION).map_err(failed)?),
            _ => Side::Receiver(DeltaReceiver::new(channel, entropy, SESSION).map_err(failed)?),
        })
    }

    fn correlated(&mut self, channel: &mut dyn Channel, entropy: &mut Entropy, count: usize) -> Result<()> {
        match self {
            Side::Sender(sender) => sender.correlated(channel, count).map(drop).map_err(failed),
            Side::Receiver(receiver) => {
                let strings = receiver.correlated(channel, entropy, count);
                strings.map(drop).map_err(failed)
            }
        }
    }

    fn random(&mut self, channel: &mut dyn Channel, entropy: &mut Entropy, count: usize) -> Result<()> {
        match self {
            Side::Sender(sender) => sender.random(channel, count).map(drop).map_err(failed),
            Side::Receiver(receiver) => {
                let strings = receiver.random(channel, entropy, count);
                strings.map(drop).map_err(failed)
            }
        }
    }
}

impl Measurement for OtBench {
    const NAME: &'static str = "ot";

    type Party = OtParty;

    fn topology(&self) -> Topology {
        topology("bench ot", 1)
    }

    /// Party 0 is the sender, which holds the difference.
    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        _progress: &mut dyn FnMut(u64, u64),
    ) -> Result<OtParty> {
        let (connections, mut meeting) = Meeting::take(connections)?;
        let mut channel = self.link.shape(connections).one()?;
        let mut entropy = Entropy::os();
        let count = usize::try_from(self.strings).unwrap_or(usize::MAX);
        let mut party = OtParty {
            setup: OtTimes::none(),
            correlated: OtTimes::none(),
            random: OtTimes::none(),
        };
        for _ in 0..self.repeat {
            let channel = channel.as_mut();
            let entropy = &mut entropy;
            let mut side = party
                .setup
                .time(&mut meeting, channel, |channel| Side::new(me, channel, entropy))?;
            party.correlated.time(&mut meeting, channel, |channel| {
                side.correlated(channel, entropy, count)
            })?;
            party.random.time(&mut meeting, channel, |channel| {
                side.random(channel, entropy, count)
            })?;
        }
        meeting.wait()?;
        Ok(party)
    }
}

impl OtTimes {
    fn none() -> Self {
        Self {
            seconds: Vec::new(),
            bytes_sent: 0,
        }
    }

    fn time<T>(
        &mut self,
        meeting: &mut Meeting,
        channel: &mut dyn Channel,
        run: impl FnOnce(&mut dyn Channel) -> Result<T>,
    ) -> Result<T> {
        let before: Meter = channel.meter();
        meeting.wait()?;
        let start = Instant::now();
        let result = run(channel)?;
        channel.flush()?;
        self.seconds.push(start.elapsed().as_secs_f64());
        self.bytes_sent = channel.meter().bytes_sent - before.bytes_sent;
        Ok(result)
    }
}

/// What one kind of OT costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtRow {
    /// `base OTs`, `correlated` or `random`.
    pub kind: String,
    /// How many are made at once; the base OTs of a set-up count as one.
    pub strings: u64,
    /// Seconds: the median, of the sender and of the receiver.
    pub seconds: [f64; 2],
    /// Nanoseconds for each, of the slower side.
    pub ns_each: f64,
    /// Bytes with frames: sent by the sender, by the receiver.
    pub bytes_sent: [u64; 2],
    /// The same for each.
    pub bytes_each: [f64; 2],
}

/// What OTs cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtReport {
    /// How the parties were joined.
    pub transport: Transport,
    /// What slowed the link down.
    pub link: Link,
    /// Runs behind each median.
    pub repeat: u32,
    /// The kinds.
    pub rows: Vec<OtRow>,
    pub machine: Machine,
}

/// Measures, in `place`.
///
/// # Errors
/// [`Error::Usage`] if nothing is to be run, or more than [`MOST_STRINGS`] at once; [`Error::Parties`] or
/// [`Error::Protocol`] if a party fails.
pub fn run_ot(bench: &OtBench, place: &mut Place<'_>) -> Result<OtReport> {
    if bench.repeat == 0 || !(1..=MOST_STRINGS).contains(&bench.strings) {
        return Err(Error::Usage(format!(
            "1 to {MOST_STRINGS} strings are made at once, at least one time"
        )));
    }
    let machine = Machine::now();
    let parties = place.measure(bench)?;
    let [sender, receiver] = parties.as_slice() else {
        return Err(no_report());
    };
    let row = |kind: &str, strings: u64, of: fn(&OtParty) -> &OtTimes| {
        let sides = [of(sender), of(receiver)];
        let seconds = sides.map(|times| median(&times.seconds));
        let bytes_sent = sides.map(|times| times.bytes_sent);
        OtRow {
            kind: kind.into(),
            strings,
            seconds,
            ns_each: 1e9 * seconds[0].max(seconds[1]) / strings as f64,
            bytes_sent,
            bytes_each: bytes_sent.map(|bytes| bytes as f64 / strings as f64),
        }
    };
    Ok(OtReport {
        transport: place.transport(),
        link: bench.link,
        repeat: bench.repeat,
        rows: vec![
            row("base OTs", 1, |party| &party.setup),
            row("correlated", bench.strings, |party| &party.correlated),
            row("random", bench.strings, |party| &party.random),
        ],
        machine,
    })
}

impl OtReport {
    /// As a short table.
    pub fn table(&self) -> String {
        let mut table = Table::new("lr");
        table.row(&[
            &"",
            &"strings",
            &"ms, sender",
            &"ms, receiver",
            &"ns each",
            &"B from sender",
            &"B to sender",
        ]);
        for row in &self.rows {
            table.row(&[
                &row.kind,
                &row.strings,
                &format_args!("{:.3}", 1e3 * row.seconds[0]),
                &format_args!("{:.3}", 1e3 * row.seconds[1]),
                &format_args!("{:.1}", row.ns_each),
                &format_args!("{:.2}", row.bytes_each[0]),
                &format_args!("{:.2}", row.bytes_each[1]),
            ]);
        }
        format!(
            "{}\nover {}, {}; median of {} run{}\n\n{table}\n\
             B: bytes with frames for each string, and for the whole set-up of base OTs\n",
            self.machine.line(),
            self.transport,
            self.link,
            self.repeat,
            s(self.repeat),
        )
    }
}

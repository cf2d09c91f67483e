//! Sessions over pools of some size, with both parties on this machine: what is run in them, how a phase is measured, and medians over sessions.

use std::fmt;
use std::str::FromStr;

use cenote::{Error, Result, Transport, circuits};
use cenote_circuit::{BitOrder, Builder, Circuit, Plan};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Engine, Parties, WireVector};
use serde::{Deserialize, Serialize};

use crate::measure::{Measurement, Place, no_report};
use crate::sample;
use crate::usage::{Stopwatch, median, thread_seconds};

/// A circuit, and how many instances of it run side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// A circuit file, `lib:NAME`, or `muxN` for a multiplexer of N bits.
    pub circuit: String,
    /// Instances.
    pub lanes: usize,
}

impl Load {
    pub(crate) fn new(circuit: impl Into<String>, lanes: usize) -> Self {
        Self {
            circuit: circuit.into(),
            lanes,
        }
    }

    fn open(&self) -> Result<Circuit> {
        let width = self
            .circuit
            .strip_prefix("mux")
            .and_then(|width| width.parse().ok());
        match width {
            Some(width @ 1..=4096) => Ok(mux(width)),
            _ => circuits::open(&self.circuit),
        }
    }
}

/// One of two values.
fn mux(width: u32) -> Circuit {
    let mut b = Builder::new();
    let x = b.input("x", width, BitOrder::Lsb);
    let y = b.input("y", width, BitOrder::Lsb);
    let choice = b.input("choice", 1, BitOrder::Lsb)[0];
    let mut chosen = Vec::new();
    for (&x, &y) in x.iter().zip(&y) {
        let differ = b.xor(x, y);
        let change = b.and(differ, choice);
        chosen.push(b.xor(change, y));
    }
    b.output("chosen", &chosen, BitOrder::Lsb);
    b.finish()
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}={}", self.circuit, self.lanes))
    }
}

impl FromStr for Load {
    type Err = String;

    /// `CIRCUIT=LANES`, or `CIRCUIT` for one lane.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (circuit, lanes) = text.rsplit_once('=').unwrap_or((text, "1"));
        let lanes = lanes.parse().ok().filter(|lanes| (1..=1 << 20).contains(lanes));
        Ok(Load {
            circuit: circuit.into(),
            lanes: lanes.ok_or("instances of a circuit are a number from 1 to 2^20")?,
        })
    }
}

/// A phase at one party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Phase {
    pub(crate) seconds: f64,
    /// Processor seconds of the thread that calls the engine.
    pub(crate) busy_seconds: f64,
    /// Processor seconds of all threads of the process.
    pub(crate) cpu_seconds: f64,
    pub(crate) bytes_sent: u64,
    pub(crate) and_gates: u64,
}

impl Phase {
    /// What a session has counted so far.
    fn counted(engine: &impl Engine) -> Self {
        let costs = engine.costs();
        Phase {
            bytes_sent: costs.traffic.bytes_sent,
            and_gates: costs.and_gates,
            ..Phase::default()
        }
    }

    /// The AND gates that costs are stated for, at least one.
    pub(crate) fn gates(&self) -> f64 {
        self.and_gates.max(1) as f64
    }

    pub(crate) fn add(&mut self, other: Phase) {
        self.seconds += other.seconds;
        self.busy_seconds += other.busy_seconds;
        self.cpu_seconds += other.cpu_seconds;
        self.bytes_sent += other.bytes_sent;
        self.and_gates += other.and_gates;
    }
}

/// Measures a phase.
pub(crate) struct Clock {
    watch: Stopwatch,
    busy_seconds: f64,
    before: Phase,
}

impl Clock {
    /// Of the beginning of a session.
    pub(crate) fn of_setup() -> Self {
        Self::after(Phase::default())
    }

    /// Of a session that has begun.
    pub(crate) fn start(engine: &impl Engine) -> Self {
        Self::after(Phase::counted(engine))
    }

    fn after(before: Phase) -> Self {
        Self {
            before,
            busy_seconds: thread_seconds(),
            watch: Stopwatch::start(),
        }
    }

    pub(crate) fn stop(self, engine: &impl Engine) -> Phase {
        let (seconds, cpu_seconds) = self.watch.read();
        let (after, before) = (Phase::counted(engine), self.before);
        Phase {
            seconds,
            busy_seconds: thread_seconds() - self.busy_seconds,
            cpu_seconds,
            bytes_sent: after.bytes_sent - before.bytes_sent,
            and_gates: after.and_gates - before.and_gates,
        }
    }
}

/// A circuit with made-up inputs, and the outputs that they must give.
pub(crate) struct Work {
    plan: Plan,
    /// Input wires of each value.
    widths: Vec<usize>,
    inputs: BitMatrix,
    expected: BitMatrix,
}

impl Work {
    pub(crate) fn open(load: &Load) -> Result<Self> {
        let circuit = load.open()?;
        let plan = Plan::new(&circuit);
        if plan.and_count() == 0 {
            let what = format!("{} has no AND gates; there is nothing to measure", load.circuit);
            return Err(Error::Usage(what));
        }
        let inputs = sample::bits(1, plan.input_wires(), load.lanes);
        let expected = plan.evaluate(&inputs).expect("one row for each input wire");
        Ok(Work {
            widths: circuit
                .inputs()
                .iter()
                .map(|value| value.width as usize)
                .collect(),
            plan,
            inputs,
            expected,
        })
    }

    pub(crate) fn and_gates(&self) -> u64 {
        (self.plan.and_count() * self.inputs.lanes()) as u64
    }

    /// Secret inputs: the parties own the values in turn.
    pub(crate) fn inputs<E: Engine>(&self, engine: &mut E) -> Result<E::Wires> {
        let mut values = Vec::new();
        let mut first = 0;
        for (index, &width) in self.widths.iter().enumerate() {
            let owner = PartyId((index % 2) as u8);
            let own = (owner == engine.me()).then(|| sample::rows(&self.inputs, first..first + width));
            values.push(engine.input(owner, width, self.inputs.lanes(), own.as_ref())?);
            first += width;
        }
        Ok(E::Wires::concat(&values.iter().collect::<Vec<_>>()))
    }

    /// From inputs to outputs, which the evaluator gets and compares.
    pub(crate) fn run<E: Engine>(&self, engine: &mut E, inputs: &E::Wires) -> Result<()> {
        let outputs = engine.run(&self.plan, inputs)?;
        match engine.reveal(&outputs, Parties::one(PartyId(1)))? {
            Some(opened) if opened != self.expected => {
                let bug = std::io::Error::other("they differ from plain evaluation");
                Err(Error::local("checking the outputs", bug))
            }
            _ => Ok(()),
        }
    }
}

/// Runs `repeat` sessions, and gives what both parties of each have measured, which is `whole`.
pub(crate) fn sessions<M: Measurement>(
    bench: &M,
    repeat: u32,
    place: &mut Place<'_>,
    whole: impl Fn(&M::Party) -> bool,
) -> Result<Vec<[M::Party; 2]>> {
    let session = |_| {
        let parties = <[M::Party; 2]>::try_from(place.measure(bench)?).ok();
        parties
            .filter(|parties| parties.iter().all(&whole))
            .ok_or_else(no_report)
    };
    (0..repeat).map(session).collect()
}

/// The medians of both parties.
pub(crate) fn medians<P>(sessions: &[[P; 2]], of: impl Fn(&P) -> f64) -> [f64; 2] {
    [0, 1].map(|party| {
        let values: Vec<f64> = sessions.iter().map(|parties| of(&parties[party])).collect();
        median(&values)
    })
}

pub(crate) fn larger([a, b]: [f64; 2]) -> f64 {
    a.max(b)
}

/// The most memory that each process has had. Parties joined by memory are one process, whose memory each of them reports.
pub(crate) fn peaks<P>(
    place: &Place<'_>,
    sessions: &[[P; 2]],
    of: fn(&P) -> Option<u64>,
) -> Vec<Option<u64>> {
    let processes = match place.transport() {
        Transport::Memory => 1,
        _ => 2,
    };
    let peak = |party: usize| sessions.iter().map(|parties| of(&parties[party])).max().flatten();
    (0..processes).map(peak).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_they_are_written() {
        for load in ["lib:aes128=64", "lib:sha256=1"].map(|load| load.parse::<Load>().unwrap()) {
            assert_eq!(load.to_string().parse(), Ok(load));
        }
        assert_eq!("x/a=b.txt=3".parse::<Load>().unwrap().circuit, "x/a=b.txt");
        assert_eq!("lib:add64".parse::<Load>().unwrap().lanes, 1);
        for wrong in ["lib:add64=", "lib:add64=0", "lib:add64=x"] {
            assert!(
                wrong.parse::<Load>().unwrap_err().contains("1 to 2^20"),
                "{wrong}"
            );
        }
    }
}

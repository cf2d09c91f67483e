//! The pool of garbled gates, with both parties on this machine, beside the figures of Zhu, Huang and Cassel (CCS 2017).
//!
//! A session fills a pool of some size (Table 3), and then runs circuits over the full pool again and again (Figure 5): a wide one, many
//! instances of AES-128 side by side, whose gates come in large groups; and a narrow one, a single SHA-256, most of whose gates wait for
//! the one before.

mod report;
mod text;

use std::fmt;
use std::str::FromStr;

use cenote::{Error, Link, Result, circuits};
use cenote_circuit::{BitOrder, Builder, Circuit, Plan};
use cenote_jimu::{Config, JimuEngine, JimuWires, MAX_POOL, MIN_POOL, MUX_WIDTH, Sizes};
use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_session::{Connections, Engine, Parties, Topology, WireVector, memory};
use serde::{Deserialize, Serialize};

pub use report::{Filled, JimuReport, JimuRow, MuxPool, MuxRow, RateRow, StoredRow, run_jimu};

use crate::measure::Measurement;
use crate::meeting::Meeting;
use crate::sample;
use crate::usage::{Stopwatch, thread_seconds};

/// A circuit, and how many instances of it run side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// A circuit file, `lib:NAME`, or `muxN` for a multiplexer of N bits.
    pub circuit: String,
    /// Instances.
    pub lanes: usize,
}

impl Load {
    /// A wide circuit and a narrow one.
    pub fn usual() -> Vec<Load> {
        let load = |circuit: &str, lanes| Load {
            circuit: circuit.into(),
            lanes,
        };
        vec![load("lib:aes128", 64), load("lib:sha256", 1)]
    }

    /// Multiplexers, as many side by side as come to some number of AND gates.
    fn muxes() -> Vec<Load> {
        let load = |width: usize| Load {
            circuit: format!("mux{width}"),
            lanes: MUX_GATES / width,
        };
        MUXES.map(load).into()
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

/// Bits of the multiplexers that are compared with and without gadgets for them.
const MUXES: [usize; 4] = [8, 16, 32, 64];

/// AND gates of those that run side by side.
const MUX_GATES: usize = 1 << 14;

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

/// What to measure of pools of several sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pools {
    /// AND gates of each pool.
    pub pools: Vec<u64>,
    /// Statistical security in bits.
    pub security: u32,
    /// Gates made at once.
    pub buffer: u32,
    /// What is run over the full pools.
    pub loads: Vec<Load>,
    /// Whether there is also a pool of as many gadgets for multiplexers, and these are run with and without it.
    pub mux: bool,
    /// About how long each circuit is run; 0 to fill pools only.
    pub seconds: f64,
    /// Sessions for each pool; medians are reported.
    pub repeat: u32,
    /// What slows the link down.
    pub link: Link,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JimuBench {
    pool: u32,
    security: u32,
    buffer: u32,
    mux: bool,
    loads: Vec<Load>,
    seconds: f64,
    link: Link,
}

impl Pools {
    /// The session for a pool of `pool` AND gates, without gadgets for multiplexers.
    fn session(&self, pool: u64) -> Result<JimuBench> {
        let sizes = u64::from(MIN_POOL)..=u64::from(MAX_POOL);
        let pool = u32::try_from(pool)
            .ok()
            .filter(|pool| sizes.contains(&(*pool).into()));
        let muxes = if self.mux { Load::muxes() } else { Vec::new() };
        let loads = self.loads.iter().cloned().chain(muxes).collect();
        let bench = JimuBench {
            pool: pool.ok_or_else(|| Error::Usage(format!("a pool has {MIN_POOL} to {MAX_POOL} gates")))?,
            security: self.security,
            buffer: self.buffer,
            mux: false,
            loads: if self.seconds > 0.0 { loads } else { Vec::new() },
            seconds: self.seconds,
            link: self.link,
        };
        let checked = bench.config().check();
        checked.map_err(|error| Error::Usage(error.to_string()))?;
        Ok(bench)
    }
}

impl JimuBench {
    fn config(&self) -> Config {
        let mut config = Config::new("cenote bench jimu");
        config.security = self.security;
        config.pool = self.pool;
        config.buffer = self.buffer;
        config.mux_buffer = (self.buffer / MUX_WIDTH as u32).next_multiple_of(64);
        config
    }

    fn sizes(&self) -> Result<Sizes> {
        let mux = self.mux.then_some(self.pool);
        Sizes::search(self.security, self.pool, mux).map_err(Error::Usage)
    }

    /// The same with gadgets for multiplexers, and nothing but these.
    fn with_mux(&self) -> Self {
        Self {
            mux: true,
            loads: if self.loads.is_empty() {
                Vec::new()
            } else {
                Load::muxes()
            },
            ..self.clone()
        }
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
    /// Gadgets drawn from the pool.
    pub(crate) drawn: u64,
}

/// What one party has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JimuParty {
    pub(crate) setup: Phase,
    pub(crate) fill: Phase,
    /// Of the pool of gadgets for multiplexers.
    pub(crate) fill_mux: Phase,
    /// By load.
    pub(crate) rates: Vec<Phase>,
    /// The most bytes that the pool has held.
    pub(crate) pool_bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) error_log2: f64,
}

impl Measurement for JimuBench {
    type Party = JimuParty;

    fn topology(&self) -> Topology {
        Topology {
            name: "bench jimu".into(),
            parties: 2,
            workers: 1,
            purposes: &["protocol", "pool"],
            shared: &["meeting"],
        }
    }

    /// Party 0 garbles.
    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<JimuParty> {
        let (connections, mut meeting) = Meeting::take(connections)?;
        let channels = self.link.shape(connections, 2).channels().try_into();
        let channels = channels.map_err(|_| Error::Usage("a session over a pool has two channels".into()))?;
        let works = self.loads.iter().map(Work::open).collect::<Result<Vec<_>>>()?;
        let sizes = self.sizes()?;
        meeting.wait()?;
        let clock = Clock::start(None);
        let mut engine = JimuEngine::start(me, channels, self.config(), sizes)?;
        let setup = clock.stop(&engine);
        meeting.wait()?;
        let clock = Clock::start(Some(&engine));
        engine.fill_gates()?;
        let fill = clock.stop(&engine);
        let mut fill_mux = Phase::default();
        if self.mux {
            meeting.wait()?;
            let clock = Clock::start(Some(&engine));
            engine.fill()?;
            fill_mux = clock.stop(&engine);
        }
        let mut rates = Vec::new();
        for work in &works {
            let inputs = work.inputs(&mut engine)?;
            // The first run brings the circuit and the caches, the second tells how long one takes.
            work.run(&mut engine, &inputs)?;
            let clock = Clock::start(Some(&engine));
            work.run(&mut engine, &inputs)?;
            let each = clock.stop(&engine).seconds.max(1e-6);
            let times = meeting.agree(me, (self.seconds / each).ceil() as u64)?;
            meeting.wait()?;
            let clock = Clock::start(Some(&engine));
            for done in 0..times {
                work.run(&mut engine, &inputs)?;
                progress((done + 1) * work.and_gates(), times * work.and_gates());
            }
            // The garbler is ahead until the evaluator has all outputs.
            meeting.wait()?;
            rates.push(clock.stop(&engine));
        }
        let error_log2 = engine.error_bound();
        let pool_bytes = engine.costs().memory_bytes;
        engine.finish()?;
        Ok(JimuParty {
            setup,
            fill,
            fill_mux,
            rates,
            pool_bytes,
            peak_memory_bytes: memory::peak(),
            error_log2,
        })
    }
}

/// Measures a phase.
struct Clock {
    watch: Stopwatch,
    busy_seconds: f64,
    before: Phase,
}

impl Clock {
    /// Of a session that has begun, unless the phase is its beginning.
    fn start(engine: Option<&JimuEngine>) -> Self {
        Self {
            before: engine.map(counted).unwrap_or_default(),
            busy_seconds: thread_seconds(),
            watch: Stopwatch::start(),
        }
    }

    fn stop(self, engine: &JimuEngine) -> Phase {
        let (seconds, cpu_seconds) = self.watch.read();
        let (after, before) = (counted(engine), self.before);
        Phase {
            seconds,
            busy_seconds: thread_seconds() - self.busy_seconds,
            cpu_seconds,
            bytes_sent: after.bytes_sent - before.bytes_sent,
            and_gates: after.and_gates - before.and_gates,
            drawn: after.drawn - before.drawn,
        }
    }
}

/// What a session has counted so far.
fn counted(engine: &JimuEngine) -> Phase {
    let costs = engine.costs();
    Phase {
        bytes_sent: costs.traffic.bytes_sent,
        and_gates: costs.and_gates,
        drawn: engine.drawn(),
        ..Phase::default()
    }
}

/// A circuit with made-up inputs, and the outputs that they must give.
struct Work {
    plan: Plan,
    /// Input wires of each value.
    widths: Vec<usize>,
    inputs: BitMatrix,
    expected: BitMatrix,
}

impl Work {
    fn open(load: &Load) -> Result<Self> {
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

    fn and_gates(&self) -> u64 {
        (self.plan.and_count() * self.inputs.lanes()) as u64
    }

    /// Secret inputs: the parties own the values in turn.
    fn inputs(&self, engine: &mut JimuEngine) -> Result<JimuWires> {
        let mut values = Vec::new();
        let mut first = 0;
        for (index, &width) in self.widths.iter().enumerate() {
            let owner = PartyId((index % 2) as u8);
            let own = (owner == engine.me()).then(|| sample::rows(&self.inputs, first..first + width));
            values.push(engine.input(owner, width, self.inputs.lanes(), own.as_ref())?);
            first += width;
        }
        Ok(JimuWires::concat(&values.iter().collect::<Vec<_>>()))
    }

    /// From inputs to outputs, which the evaluator gets and compares.
    fn run(&self, engine: &mut JimuEngine, inputs: &JimuWires) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_they_are_written() {
        for load in Load::usual() {
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

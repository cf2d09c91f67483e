//! The pool of garbled gates, with both parties on this machine, beside the figures of Zhu, Huang and Cassel (CCS 2017).
//!
//! A session fills a pool of some size (Table 3), and then runs circuits over the full pool again and again (Figure 5): a wide one, many
//! instances of AES-128 side by side, whose gates come in large groups; and a narrow one, a single SHA-256, most of whose gates wait for
//! the one before.

mod report;
mod text;

use cenote::{Error, Link, Result};
use cenote_jimu::{Config, JimuEngine, MAX_POOL, MIN_POOL, MUX_WIDTH, Sizes};
use cenote_net::PartyId;
use cenote_session::{Connections, Engine, Topology, memory};
use serde::{Deserialize, Serialize};

pub use report::{Filled, JimuReport, JimuRow, MuxPool, MuxRow, RateRow, StoredRow, run_jimu};

use crate::measure::Measurement;
use crate::meeting::Meeting;
use crate::pools::{Clock, Load, Phase, Work};

/// Bits of the multiplexers that are compared with and without gadgets for them.
const MUXES: [usize; 4] = [8, 16, 32, 64];

/// AND gates of those that run side by side.
const MUX_GATES: usize = 1 << 14;

/// A wide circuit and a narrow one.
pub fn usual() -> Vec<Load> {
    vec![Load::new("lib:aes128", 64), Load::new("lib:sha256", 1)]
}

/// Multiplexers, as many side by side as come to some number of AND gates.
fn muxes() -> Vec<Load> {
    MUXES
        .map(|width| Load::new(format!("mux{width}"), MUX_GATES / width))
        .into()
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
        let muxes = if self.mux { muxes() } else { Vec::new() };
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
                muxes()
            },
            ..self.clone()
        }
    }
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
    /// Gadgets drawn from the pool, by load.
    pub(crate) drawn: Vec<u64>,
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
        let clock = Clock::of_setup();
        let mut engine = JimuEngine::start(me, channels, self.config(), sizes)?;
        let setup = clock.stop(&engine);
        meeting.wait()?;
        let clock = Clock::start(&engine);
        engine.fill_gates()?;
        let fill = clock.stop(&engine);
        let mut fill_mux = Phase::default();
        if self.mux {
            meeting.wait()?;
            let clock = Clock::start(&engine);
            engine.fill()?;
            fill_mux = clock.stop(&engine);
        }
        let (mut rates, mut drawn) = (Vec::new(), Vec::new());
        for work in &works {
            let inputs = work.inputs(&mut engine)?;
            // The first run brings the circuit and the caches, the second tells how long one takes.
            work.run(&mut engine, &inputs)?;
            let clock = Clock::start(&engine);
            work.run(&mut engine, &inputs)?;
            let each = clock.stop(&engine).seconds.max(1e-6);
            let times = meeting.agree(me, (self.seconds / each).ceil() as u64)?;
            meeting.wait()?;
            let before = engine.drawn();
            let clock = Clock::start(&engine);
            for done in 0..times {
                work.run(&mut engine, &inputs)?;
                progress((done + 1) * work.and_gates(), times * work.and_gates());
            }
            // The garbler is ahead until the evaluator has all outputs.
            meeting.wait()?;
            rates.push(clock.stop(&engine));
            drawn.push(engine.drawn() - before);
        }
        let error_log2 = engine.error_bound();
        let pool_bytes = engine.costs().memory_bytes;
        engine.finish()?;
        Ok(JimuParty {
            setup,
            fill,
            fill_mux,
            rates,
            drawn,
            pool_bytes,
            peak_memory_bytes: memory::peak(),
            error_log2,
        })
    }
}

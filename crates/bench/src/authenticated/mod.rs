//! Authenticated garbling over a pool of leaky ANDs, with both parties on this machine.
//!
//! A session fills a pool of some size, and then runs circuits again and again: over the full pool, with all leaky ANDs made before the clock
//! starts; and all in, with leaky ANDs made as they are drawn.

mod report;
mod text;

use cenote::{Error, Link, Result};
pub use cenote_authenticated::Cot;
use cenote_authenticated::{AuthenticatedEngine, Config, MAX_POOL, Sizes};
use cenote_net::PartyId;
use cenote_params::lpn;
use cenote_session::{Connections, Engine, Topology, memory};
use serde::{Deserialize, Serialize};

pub use report::{AuthenticatedReport, AuthenticatedRow, RateRow, TableRow, run_authenticated};

use crate::measure::Measurement;
use crate::meeting::Meeting;
use crate::pools::{Clock, Load, Phase, Work};

/// A wide circuit and a single one.
pub fn usual() -> Vec<Load> {
    [64, 1].map(|lanes| Load::new("lib:aes128", lanes)).into()
}

/// What to measure of pools of several sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pools {
    /// Leaky ANDs of each pool.
    pub pools: Vec<u64>,
    /// Statistical security in bits.
    pub security: u32,
    /// Leaky ANDs made at once.
    pub lot: u32,
    /// Gates garbled at once.
    pub segment: u32,
    /// Symbols of the difference in the OTs.
    pub symbols: u32,
    /// Where authenticated bits come from.
    pub cot: Cot,
    /// What is run.
    pub loads: Vec<Load>,
    /// About how long each circuit is run in each way, all in until two lots have been made at least; 0 to fill pools only.
    pub seconds: f64,
    /// Sessions for each pool; medians are reported.
    pub repeat: u32,
    /// What slows the link down.
    pub link: Link,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AuthenticatedBench {
    pool: u32,
    security: u32,
    lot: u32,
    segment: u32,
    symbols: u32,
    cot: Cot,
    loads: Vec<Load>,
    seconds: f64,
    link: Link,
}

impl Pools {
    fn session(&self, pool: u64) -> Result<AuthenticatedBench> {
        let pool = u32::try_from(pool)
            .ok()
            .filter(|pool| (1..=MAX_POOL).contains(pool));
        let bench = AuthenticatedBench {
            pool: pool.ok_or_else(|| Error::Usage(format!("a pool has up to {MAX_POOL} leaky ANDs")))?,
            security: self.security,
            lot: self.lot,
            segment: self.segment,
            symbols: self.symbols,
            cot: self.cot,
            loads: if self.seconds > 0.0 {
                self.loads.clone()
            } else {
                Vec::new()
            },
            seconds: self.seconds,
            link: self.link,
        };
        let checked = bench.config().check();
        checked.map_err(|error| Error::Usage(error.to_string()))?;
        bench.sizes()?;
        Ok(bench)
    }
}

impl AuthenticatedBench {
    fn config(&self) -> Config {
        let mut config = Config::new("cenote bench authenticated");
        config.lot = self.lot;
        config.segment = self.segment;
        config.symbols = self.symbols;
        config.generator = match self.cot {
            Cot::SoftSpoken => None,
            // What runs again and again.
            Cot::Pcg => Some(lpn::LARGE),
        };
        config
    }

    fn sizes(&self) -> Result<Sizes> {
        Sizes::search(self.security, self.pool).map_err(Error::Usage)
    }
}

/// A load at one party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rate {
    /// Leaky ANDs are made as they are drawn.
    pub(crate) all_in: Phase,
    /// They were made before.
    pub(crate) full: Phase,
    /// How often the load was run over the full pool.
    pub(crate) times: u64,
}

/// What one party has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AuthenticatedParty {
    pub(crate) setup: Phase,
    pub(crate) fill: Phase,
    /// By load.
    pub(crate) rates: Vec<Rate>,
    /// The most bytes that the protocol may hold.
    pub(crate) memory_bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) error_log2: f64,
}

impl Measurement for AuthenticatedBench {
    type Party = AuthenticatedParty;

    fn topology(&self) -> Topology {
        Topology {
            name: "bench authenticated".into(),
            parties: 2,
            workers: 1,
            purposes: &["protocol"],
            shared: &["meeting"],
        }
    }

    /// Party 0 garbles.
    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<AuthenticatedParty> {
        let (connections, mut meeting) = Meeting::take(connections)?;
        let channel = self.link.shape(connections, 1).one()?;
        let works = self.loads.iter().map(Work::open).collect::<Result<Vec<_>>>()?;
        let sizes = self.sizes()?;
        let bucket = u64::from(sizes.pool.bucket);
        meeting.wait()?;
        let clock = Clock::of_setup();
        let mut engine = AuthenticatedEngine::start(me, channel, self.config(), sizes)?;
        let setup = clock.stop(&engine);
        meeting.wait()?;
        let clock = Clock::start(&engine);
        engine.fill()?;
        let fill = clock.stop(&engine);
        let mut rates = Vec::new();
        for work in &works {
            let inputs = work.inputs(&mut engine)?;
            // The first run brings the circuit and the caches, the second tells how long one takes.
            work.run(&mut engine, &inputs)?;
            let clock = Clock::start(&engine);
            work.run(&mut engine, &inputs)?;
            let each = clock.stop(&engine).seconds.max(1e-6);
            let times = meeting.agree(me, (self.seconds / each).ceil() as u64)?;
            // All in, lots are made meanwhile.
            let all_in_times = times.max(2 * u64::from(self.lot) / (work.and_gates() * bucket) + 1);
            let total = (all_in_times + times) * work.and_gates();
            meeting.wait()?;
            let clock = Clock::start(&engine);
            for done in 0..all_in_times {
                work.run(&mut engine, &inputs)?;
                progress((done + 1) * work.and_gates(), total);
            }
            // The garbler is ahead until the evaluator has all outputs.
            meeting.wait()?;
            let all_in = clock.stop(&engine);
            let mut full = Phase::default();
            for done in 0..times {
                engine.ready(work.and_gates() as usize)?;
                meeting.wait()?;
                let clock = Clock::start(&engine);
                work.run(&mut engine, &inputs)?;
                full.add(clock.stop(&engine));
                progress((all_in_times + done + 1) * work.and_gates(), total);
            }
            rates.push(Rate { all_in, full, times });
        }
        let error_log2 = engine.error_bound();
        let memory_bytes = engine.costs().memory_bytes;
        engine.finish()?;
        Ok(AuthenticatedParty {
            setup,
            fill,
            rates,
            memory_bytes,
            peak_memory_bytes: memory::peak(),
            error_log2,
        })
    }
}

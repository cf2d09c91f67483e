//! Authenticated garbling over a pool of leaky ANDs, with both parties on this machine, beside the figures of Zhu, Huang and Cassel (CCS 2017).

mod text;

use cenote::{Error, Result};
use cenote_authenticated::{AuthenticatedEngine, Config, MAX_POOL, Sizes};
pub use cenote_authenticated::{Cot, USUAL_LOTS};
use cenote_net::PartyId;
use cenote_params::lpn;
use cenote_params::pool::smallest_pool;
use cenote_session::Connections;
use serde::{Deserialize, Serialize};

use crate::pools::{Load, Measured, PoolSession, Pooled, Reported};

/// Table 6 of Zhu, Huang and Cassel (CCS 2017) for 40 bits: buckets, the fewest leaky ANDs of circuits without a pool, and of pools.
const PAPER: [(u32, u64, u64); 3] = [(3, 840_000, 479_000), (4, 12_400, 7673), (5, 1600, 1073)];

/// A wide circuit and a single one.
pub fn usual() -> Vec<Load> {
    [64, 1].map(|lanes| Load::new("lib:aes128", lanes)).into()
}

/// The settings that are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Authenticated {
    /// Leaky ANDs made at once, at first.
    pub lot: u32,
    /// At most.
    pub largest_lot: u32,
    /// Gates garbled at once.
    pub segment: u32,
    /// Symbols of the difference in the OTs.
    pub symbols: u32,
    /// Where authenticated bits come from.
    pub cot: Cot,
}

impl Authenticated {
    fn config(&self) -> Config {
        let mut config = Config::new("cenote bench authenticated");
        (config.lot, config.largest_lot) = (self.lot, Some(self.largest_lot));
        config.segment = self.segment;
        config.symbols = self.symbols;
        config.generator = match self.cot {
            Cot::SoftSpoken => None,
            // What runs again and again.
            Cot::Pcg => Some(lpn::LARGE),
        };
        config
    }
}

impl Pooled for Authenticated {
    const NAME: &'static str = "authenticated";
    const PURPOSES: &'static [&'static str] = &["protocol"];
    const MAKES_READY: bool = true;
    type Engine = AuthenticatedEngine;
    type Sizes = Sizes;

    fn sizes(session: &PoolSession<Self>) -> Result<Sizes> {
        if !(1..=MAX_POOL).contains(&session.pool) {
            return Err(Error::Usage(format!("a pool has up to {MAX_POOL} leaky ANDs")));
        }
        let checked = session.protocol.config().check();
        checked.map_err(|error| Error::Usage(error.to_string()))?;
        Sizes::search(session.security, session.pool).map_err(Error::Usage)
    }

    fn start(
        session: &PoolSession<Self>,
        sizes: Sizes,
        me: PartyId,
        connections: Connections,
    ) -> Result<AuthenticatedEngine> {
        let (channel, config) = (connections.one()?, session.protocol.config());
        Ok(AuthenticatedEngine::start(me, channel, config, sizes)?)
    }

    fn fill(engine: &mut AuthenticatedEngine, _pool: usize) -> Result<()> {
        Ok(engine.fill()?)
    }

    fn drawn(engine: &AuthenticatedEngine) -> u64 {
        engine.drawn()
    }

    /// Two lots are made at least.
    fn least_gates(&self, sizes: &Sizes) -> u64 {
        2 * u64::from(self.largest_lot) / u64::from(sizes.pool.bucket)
    }

    fn make_ready(engine: &mut AuthenticatedEngine, gates: usize) -> Result<()> {
        Ok(engine.ready(gates)?)
    }
}

/// What a pool costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Leaky ANDs of a triple.
    pub bucket: u32,
    /// Seconds of filling the pool: the median, at the slower party.
    pub fill_seconds: f64,
    /// Bytes of filling the pool: from the garbler, from the evaluator.
    pub fill_bytes: [u64; 2],
}

/// How fast a circuit is run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// AND gates in a second, with their leaky ANDs made as they are drawn: by the median at the slower party.
    pub all_in_per_second: f64,
    /// The same with leaky ANDs made before.
    pub full_pool_per_second: f64,
    /// Milliseconds from inputs to outputs over the full pool.
    pub full_pool_ms: f64,
    /// Bytes with frames for each gate, all in: from the garbler, from the evaluator.
    pub all_in_bytes: [f64; 2],
    /// The same with leaky ANDs made before.
    pub full_pool_bytes: [f64; 2],
    /// Processor nanoseconds for each gate, all in, of the thread that calls the engine: garbler, evaluator.
    pub all_in_busy_ns: [f64; 2],
    /// The same with leaky ANDs made before.
    pub full_pool_busy_ns: [f64; 2],
}

/// Table 6.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Buckets {
    /// By size.
    pub table: Vec<TableRow>,
}

/// The smallest pool for a size of buckets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableRow {
    /// Leaky ANDs of a triple.
    pub bucket: u32,
    /// By the search of Figure 8, for 40 bits.
    pub pool: u64,
    /// The paper's.
    pub paper_pool: u64,
    /// The fewest leaky ANDs of a circuit that WRK needs, without a pool, according to the paper.
    pub paper_without: u64,
}

impl Reported for Authenticated {
    const ELEMENTS: &'static str = "leaky ANDs";
    type Row = Row;
    type Rate = Rate;
    type Paper = Buckets;

    fn row(_session: &PoolSession<Self>, sizes: &Sizes, measured: &Measured) -> Row {
        Row {
            bucket: sizes.pool.bucket,
            fill_seconds: measured.slower(|party| party.fills[0].seconds),
            fill_bytes: measured.both(|party| party.fills[0].bytes_sent),
        }
    }

    fn rate(measured: &Measured, at: usize, _sizes: &Sizes) -> Rate {
        let all_in = measured.speed(at, |rate| &rate.all_in);
        let full = measured.speed(at, |rate| &rate.full);
        let [gates, _] = measured.both(|party| party.rates[at].and_gates);
        Rate {
            all_in_per_second: all_in.per_second,
            full_pool_per_second: full.per_second,
            full_pool_ms: 1e3 * gates as f64 / full.per_second,
            all_in_bytes: all_in.bytes,
            full_pool_bytes: full.bytes,
            all_in_busy_ns: all_in.busy_ns,
            full_pool_busy_ns: full.busy_ns,
        }
    }

    fn paper(_sessions: &[PoolSession<Self>]) -> Result<Buckets> {
        let table = PAPER.iter().filter_map(|&(bucket, paper_without, paper_pool)| {
            Some(TableRow {
                bucket,
                pool: smallest_pool(40, bucket).ok()?.pool_size,
                paper_pool,
                paper_without,
            })
        });
        Ok(Buckets {
            table: table.collect(),
        })
    }
}

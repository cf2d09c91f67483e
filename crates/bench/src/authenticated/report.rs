//! What authenticated garbling costs, by the size of the pool.

use cenote::text::grouped;
use cenote::{Error, Link, Result, Transport};
use cenote_authenticated::Cot;
use cenote_params::pool::smallest_pool;
use serde::Serialize;

use super::{AuthenticatedBench, AuthenticatedParty, Pools, Rate};
use crate::measure::{Place, no_report};
use crate::pools::{self, Load, Phase, larger, medians, peaks};
use crate::usage::Machine;

/// Table 6 of Zhu, Huang and Cassel (CCS 2017) for 40 bits: buckets, the fewest leaky ANDs of circuits without a pool, and of pools.
const PAPER: [(u32, u64, u64); 3] = [(3, 840_000, 479_000), (4, 12_400, 7673), (5, 1600, 1073)];

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

/// A circuit run again and again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateRow {
    /// The circuit, and how many instances of it run side by side.
    #[serde(flatten)]
    pub load: Load,
    /// AND gates of a section.
    pub and_gates: u64,
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

/// What one pool costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuthenticatedRow {
    /// Leaky ANDs in the pool.
    pub pool: u64,
    /// Leaky ANDs of a triple.
    pub bucket: u32,
    /// The base-2 logarithm of the probability that a cheater ever gets through.
    pub error_log2: f64,
    /// Seconds of the set-up: the median, at the slower party.
    pub setup_seconds: f64,
    /// Bytes of the set-up: from the garbler, from the evaluator.
    pub setup_bytes: [u64; 2],
    /// Seconds of filling the pool: the median, at the slower party.
    pub fill_seconds: f64,
    /// Bytes of filling the pool.
    pub fill_bytes: [u64; 2],
    /// The most bytes that the protocol may hold: garbler, evaluator.
    pub memory_bytes: [u64; 2],
    /// The most memory that each process has had; `null` where the system does not tell.
    pub peak_memory_bytes: Vec<Option<u64>>,
    /// By circuit.
    pub rates: Vec<RateRow>,
}

/// What authenticated garbling costs, by the size of the pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuthenticatedReport {
    /// How the parties were joined.
    pub transport: Transport,
    /// What slowed the link down.
    pub link: Link,
    /// Statistical security in bits.
    pub security: u32,
    /// Leaky ANDs made at once.
    pub lot: u32,
    /// Gates garbled at once.
    pub segment: u32,
    /// Symbols of the difference in the OTs.
    pub symbols: u32,
    /// Where authenticated bits came from.
    pub cot: Cot,
    /// Sessions behind each median.
    pub repeat: u32,
    /// Table 6.
    pub table: Vec<TableRow>,
    /// By pool.
    pub rows: Vec<AuthenticatedRow>,
    /// The machine.
    pub machine: Machine,
}

/// Measures, in `place`; `about` is told what comes next.
///
/// # Errors
/// [`Error::Usage`] for numbers that make no sense; those of [`cenote::circuits::open`]; [`Error::Parties`] or [`Error::Protocol`] if a
/// party fails.
pub fn run_authenticated(
    pools: &Pools,
    place: &mut Place<'_>,
    about: &mut dyn FnMut(&str),
) -> Result<AuthenticatedReport> {
    if pools.repeat == 0 || pools.pools.is_empty() {
        return Err(Error::Usage(
            "at least one pool is filled, at least one time".into(),
        ));
    }
    let sessions = pools.pools.iter().map(|&pool| pools.session(pool));
    let sessions = sessions.collect::<Result<Vec<_>>>()?;
    let machine = Machine::now();
    let mut rows = Vec::new();
    for session in &sessions {
        about(&format!("a pool of {} leaky ANDs", grouped(session.pool.into())));
        rows.push(row(session, pools.repeat, place)?);
    }
    let table = PAPER.iter().filter_map(|&(bucket, paper_without, paper_pool)| {
        Some(TableRow {
            bucket,
            pool: smallest_pool(40, bucket).ok()?.pool_size,
            paper_pool,
            paper_without,
        })
    });
    Ok(AuthenticatedReport {
        transport: place.transport(),
        link: pools.link,
        security: pools.security,
        lot: pools.lot,
        segment: pools.segment,
        symbols: pools.symbols,
        cot: pools.cot,
        repeat: pools.repeat,
        table: table.collect(),
        rows,
        machine,
    })
}

type Sessions = [[AuthenticatedParty; 2]];

fn rate(sessions: &Sessions, at: usize, load: &Load) -> RateRow {
    let each = |of: fn(&Rate) -> &Phase, what: fn(&Phase) -> f64| {
        medians(sessions, |party| {
            let phase = of(&party.rates[at]);
            what(phase) / phase.gates()
        })
    };
    let [all_in, full]: [fn(&Rate) -> &Phase; 2] = [|rate| &rate.all_in, |rate| &rate.full];
    let per_second = |of| 1.0 / larger(each(of, |phase| phase.seconds)).max(1e-12);
    let gates = sessions
        .last()
        .map_or(0, |parties| parties[0].rates[at].all_in.and_gates);
    let times = |party: &AuthenticatedParty| party.rates[at].times.max(1) as f64;
    RateRow {
        load: load.clone(),
        and_gates: gates,
        all_in_per_second: per_second(all_in),
        full_pool_per_second: per_second(full),
        full_pool_ms: 1e3
            * larger(medians(sessions, |party| {
                party.rates[at].full.seconds / times(party)
            })),
        all_in_bytes: each(all_in, |phase| phase.bytes_sent as f64),
        full_pool_bytes: each(full, |phase| phase.bytes_sent as f64),
        all_in_busy_ns: each(all_in, |phase| 1e9 * phase.busy_seconds),
        full_pool_busy_ns: each(full, |phase| 1e9 * phase.busy_seconds),
    }
}

fn row(bench: &AuthenticatedBench, repeat: u32, place: &mut Place<'_>) -> Result<AuthenticatedRow> {
    let loads = bench.loads.len();
    let sessions = pools::sessions(bench, repeat, place, |party| party.rates.len() == loads)?;
    let last = sessions.last().ok_or_else(no_report)?;
    let both = |of: fn(&AuthenticatedParty) -> u64| [of(&last[0]), of(&last[1])];
    Ok(AuthenticatedRow {
        pool: bench.pool.into(),
        bucket: bench.sizes()?.pool.bucket,
        error_log2: last[0].error_log2,
        setup_seconds: larger(medians(&sessions, |party| party.setup.seconds)),
        setup_bytes: both(|party| party.setup.bytes_sent),
        fill_seconds: larger(medians(&sessions, |party| party.fill.seconds)),
        fill_bytes: both(|party| party.fill.bytes_sent),
        memory_bytes: both(|party| party.memory_bytes),
        peak_memory_bytes: peaks(place, &sessions, |party| party.peak_memory_bytes),
        rates: (bench.loads.iter().enumerate())
            .map(|(at, load)| rate(&sessions, at, load))
            .collect(),
    })
}

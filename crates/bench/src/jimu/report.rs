//! What pools of several sizes cost.

use cenote::text::grouped;
use cenote::{Error, Link, Result, Transport};
use cenote_jimu::Sizes;
use cenote_params::pool::Parameters;
use serde::Serialize;

use super::{JimuBench, JimuParty, Pools};
use crate::measure::{Place, no_report};
use crate::pools::{self, Load, Phase, larger, medians, peaks};
use crate::usage::Machine;

/// Seconds in which the paper's prototype fills pools of so many AND gates, and of MUXCOREs of 8: Table 3.
const PAPER_FILL: [(u64, [f64; 2]); 4] = [
    (10_000, [0.34, 1.92]),
    (100_000, [2.94, 18.82]),
    (1_000_000, [29.5, 188.53]),
    (10_000_000, [411.4, 2374.3]),
];

/// Bytes that the paper's garbler and evaluator keep of gadgets of so many AND gates: Table 4.
const PAPER_STORED: [(usize, [usize; 2]); 2] = [(1, [288, 240]), (8, [1856, 1584])];

/// What a gadget takes in the pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredRow {
    /// AND gates of the gadget.
    pub width: usize,
    /// Bytes at the garbler and at the evaluator.
    pub bytes: [usize; 2],
    /// The paper's, for 40 bits of security.
    pub paper: [usize; 2],
}

/// A circuit run again and again over a full pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateRow {
    /// The circuit, and how many instances of it run side by side.
    #[serde(flatten)]
    pub load: Load,
    /// AND gates of a section.
    pub and_gates: u64,
    /// Seconds of a section: the median, at the slower party.
    pub seconds: f64,
    /// AND gates of the circuits in a second.
    pub and_gates_per_second: f64,
    /// Bytes with frames for each of them: from the garbler, from the evaluator.
    pub bytes_per_and: [f64; 2],
    /// Gadgets made for each of them, those that are checked included: what is drawn, over the share that is not checked.
    pub gadgets_per_and: f64,
    /// Processor nanoseconds for each of them, of the thread that calls the engine: garbler, evaluator.
    pub busy_ns_per_and: [f64; 2],
    /// The same of all threads of the process; both parties' together if memory joins them.
    pub cpu_ns_per_and: [f64; 2],
}

/// A pool is filled: Table 3.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Filled {
    /// Gadgets in a bucket.
    pub bucket: u32,
    /// The share of gadgets that is checked.
    pub check_rate: f64,
    /// Seconds: the median, at the slower party.
    pub seconds: f64,
    /// The paper's.
    pub paper_seconds: Option<f64>,
    /// Processor seconds of the thread that calls the engine: garbler, evaluator.
    pub busy_seconds: [f64; 2],
    /// Bytes with frames: from the garbler, from the evaluator.
    pub bytes: [u64; 2],
}

impl Filled {
    fn new(
        parameters: &Parameters,
        paper_seconds: Option<f64>,
        sessions: &[[JimuParty; 2]],
        of: fn(&JimuParty) -> &Phase,
    ) -> Self {
        let last = sessions.last();
        Self {
            bucket: parameters.bucket(),
            check_rate: parameters.check_rate(),
            seconds: larger(medians(sessions, |party| of(party).seconds)),
            paper_seconds,
            busy_seconds: medians(sessions, |party| of(party).busy_seconds),
            bytes: [0, 1].map(|party: usize| last.map_or(0, |parties| of(&parties[party]).bytes_sent)),
        }
    }
}

/// Multiplexers with and without gadgets for them: Figure 7.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MuxRow {
    /// Their AND gates run side by side, as the rates have them.
    #[serde(flatten)]
    pub load: Load,
    /// Nanoseconds for each AND gate with AND gates only, and with MUXCOREs.
    pub ns_per_and: [f64; 2],
    /// Processor nanoseconds of the same, of the busier of the threads that call the engine.
    pub busy_ns_per_and: [f64; 2],
    /// Bytes from the garbler for each AND gate.
    pub bytes_per_and: [f64; 2],
    /// The first time over the second.
    pub gain: f64,
}

/// A pool of gadgets for multiplexers beside the pool of AND gates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MuxPool {
    /// How it is filled.
    pub fill: Filled,
    /// The base-2 logarithm of the probability that a cheater ever gets through, in a session with both pools.
    pub error_log2: f64,
    /// By width.
    pub rows: Vec<MuxRow>,
}

/// What one pool costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JimuRow {
    /// AND gates in the pool.
    pub pool: u64,
    /// How it is filled.
    pub fill: Filled,
    /// Gates made for each gate of a circuit, by theory: B/(1 - r_c).
    pub gates_per_and: f64,
    /// Bytes of a label.
    pub label_bytes: usize,
    /// The base-2 logarithm of the probability that a cheater ever gets through.
    pub error_log2: f64,
    /// Seconds of the set-up: the median, at the slower party.
    pub setup_seconds: f64,
    /// Bytes of the set-up: from the garbler, from the evaluator.
    pub setup_bytes: [u64; 2],
    /// The most bytes that pool and buffer have held: garbler, evaluator.
    pub pool_bytes: [u64; 2],
    /// The most memory that each process has had; `null` where the system does not tell.
    pub peak_memory_bytes: Vec<Option<u64>>,
    /// By circuit.
    pub rates: Vec<RateRow>,
    /// If it was asked for.
    pub mux: Option<MuxPool>,
}

/// What pools of several sizes cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JimuReport {
    /// How the parties were joined.
    pub transport: Transport,
    /// What slowed the link down.
    pub link: Link,
    /// Statistical security in bits.
    pub security: u32,
    /// Gates made at once.
    pub buffer: u32,
    /// Sessions behind each median.
    pub repeat: u32,
    /// Table 4, with the labels of the largest pool.
    pub stored: Vec<StoredRow>,
    /// Table 3 and Figure 5, by pool.
    pub rows: Vec<JimuRow>,
    /// The machine.
    pub machine: Machine,
}

/// Measures, in `place`; `about` is told what comes next.
///
/// # Errors
/// [`Error::Usage`] for numbers that make no sense; those of [`cenote::circuits::open`]; [`Error::Parties`] or [`Error::Protocol`] if a
/// party fails.
pub fn run_jimu(pools: &Pools, place: &mut Place<'_>, about: &mut dyn FnMut(&str)) -> Result<JimuReport> {
    if pools.repeat == 0 || pools.pools.is_empty() {
        return Err(Error::Usage(
            "at least one pool is filled, at least one time".into(),
        ));
    }
    let sessions = pools
        .pools
        .iter()
        .map(|&pool| pools.session(pool))
        .collect::<Result<Vec<_>>>()?;
    let machine = Machine::now();
    let mut rows = Vec::new();
    for session in &sessions {
        about(&format!("a pool of {} gates", grouped(session.pool.into())));
        let mut row = row(session, pools.repeat, place)?;
        if pools.mux {
            about(&format!("a pool of {} MUXCOREs", grouped(session.pool.into())));
            row.with_mux(&session.with_mux(), pools.repeat, place)?;
        }
        rows.push(row);
    }
    let largest = sessions
        .iter()
        .max_by_key(|session| session.pool)
        .ok_or_else(no_report)?;
    let sizes = largest.sizes()?;
    Ok(JimuReport {
        transport: place.transport(),
        link: pools.link,
        security: pools.security,
        buffer: pools.buffer,
        repeat: pools.repeat,
        stored: stored(&sizes),
        rows,
        machine,
    })
}

fn stored(sizes: &Sizes) -> Vec<StoredRow> {
    let row = |(width, paper)| StoredRow {
        width,
        bytes: sizes.stored_bytes(width),
        paper,
    };
    PAPER_STORED.map(row).into()
}

/// Runs sessions, and gives what both parties of each have measured.
fn sessions(bench: &JimuBench, repeat: u32, place: &mut Place<'_>) -> Result<Vec<[JimuParty; 2]>> {
    let loads = bench.loads.len();
    pools::sessions(bench, repeat, place, |party| {
        (party.rates.len(), party.drawn.len()) == (loads, loads)
    })
}

/// How fast the load number `at` was run, if `passed` is the share of gates that is not checked.
fn rate(sessions: &[[JimuParty; 2]], at: usize, load: &Load, passed: f64) -> RateRow {
    let of = |of: fn(&Phase) -> f64| medians(sessions, |party| of(&party.rates[at]));
    // Sections of different sessions are not equally long.
    let ns = |seconds: fn(&Phase) -> f64| {
        medians(sessions, |party| {
            1e9 * seconds(&party.rates[at]) / party.rates[at].gates()
        })
    };
    RateRow {
        load: load.clone(),
        and_gates: sessions
            .last()
            .map_or(0, |parties| parties[0].rates[at].and_gates),
        seconds: larger(of(|phase| phase.seconds)),
        and_gates_per_second: 1e9 / larger(ns(|phase| phase.seconds)).max(1e-9),
        bytes_per_and: of(|phase| phase.bytes_sent as f64 / phase.gates()),
        gadgets_per_and: medians(sessions, |party| party.drawn[at] as f64 / party.rates[at].gates())[0]
            / passed,
        busy_ns_per_and: ns(|phase| phase.busy_seconds),
        cpu_ns_per_and: ns(|phase| phase.cpu_seconds),
    }
}

fn paper_fill(pool: u64, of: usize) -> Option<f64> {
    let known = PAPER_FILL.iter().find(|known| known.0 == pool);
    known.map(|known| known.1[of])
}

fn row(bench: &JimuBench, repeat: u32, place: &mut Place<'_>) -> Result<JimuRow> {
    let sessions = sessions(bench, repeat, place)?;
    let sizes = bench.sizes()?;
    let last = sessions.last().ok_or_else(no_report)?;
    let passed = 1.0 - sizes.pool.check_rate();
    let slower = |of: fn(&JimuParty) -> f64| larger(medians(&sessions, of));
    let both = |of: fn(&JimuParty) -> u64| [of(&last[0]), of(&last[1])];
    let pool = u64::from(bench.pool);
    Ok(JimuRow {
        pool,
        fill: Filled::new(&sizes.pool, paper_fill(pool, 0), &sessions, |party| &party.fill),
        gates_per_and: sizes.pool.gates_per_and(),
        label_bytes: 16 * sizes.blocks(),
        error_log2: last[0].error_log2,
        setup_seconds: slower(|party| party.setup.seconds),
        setup_bytes: both(|party| party.setup.bytes_sent),
        pool_bytes: both(|party| party.pool_bytes),
        peak_memory_bytes: peaks(place, &sessions, |party| party.peak_memory_bytes),
        rates: (bench.loads.iter().enumerate())
            .map(|(at, load)| rate(&sessions, at, load, passed))
            .collect(),
        mux: None,
    })
}

impl JimuRow {
    /// Measures the same with a pool of gadgets for multiplexers. Rates of multiplexers without are taken out of the rates.
    fn with_mux(&mut self, bench: &JimuBench, repeat: u32, place: &mut Place<'_>) -> Result<()> {
        let sessions = sessions(bench, repeat, place)?;
        let sizes = bench.sizes()?;
        let parameters = sizes.mux.as_ref().ok_or_else(no_report)?;
        let last = sessions.last().ok_or_else(no_report)?;
        let without = self
            .rates
            .split_off(self.rates.len().saturating_sub(bench.loads.len()));
        let row = |((at, load), without): ((usize, &Load), RateRow)| {
            let with = rate(&sessions, at, load, 1.0);
            let both = |of: &dyn Fn(&RateRow) -> f64| [of(&without), of(&with)];
            let ns_per_and = both(&|row| 1e9 / row.and_gates_per_second);
            MuxRow {
                load: load.clone(),
                ns_per_and,
                busy_ns_per_and: both(&|row| larger(row.busy_ns_per_and)),
                bytes_per_and: both(&|row| row.bytes_per_and[0]),
                gain: ns_per_and[0] / ns_per_and[1].max(1e-9),
            }
        };
        self.mux = Some(MuxPool {
            fill: Filled::new(parameters, paper_fill(self.pool, 1), &sessions, |party| {
                &party.fill_mux
            }),
            error_log2: last[0].error_log2,
            rows: bench.loads.iter().enumerate().zip(without).map(row).collect(),
        });
        Ok(())
    }
}

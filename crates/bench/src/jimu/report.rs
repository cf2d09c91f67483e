//! What pools of garbled gates cost, beside the paper's figures.

use cenote::Result;
use cenote_jimu::Sizes;
use cenote_params::pool::Parameters;
use serde::Serialize;

use super::{Jimu, muxes};
use crate::measure::no_report;
use crate::pools::{Load, Measured, PoolRow, PoolSession, Pooled as _, RateRow, Reported, Speed, larger};

/// Seconds in which the paper's prototype fills pools of so many AND gates, and of MUXCOREs of 8: Table 3.
const PAPER_FILL: [(u64, [f64; 2]); 4] = [
    (10_000, [0.34, 1.92]),
    (100_000, [2.94, 18.82]),
    (1_000_000, [29.5, 188.53]),
    (10_000_000, [411.4, 2374.3]),
];

/// Bytes that the paper's garbler and evaluator keep of gadgets of so many AND gates: Table 4.
const PAPER_STORED: [(usize, [usize; 2]); 2] = [(1, [288, 240]), (8, [1856, 1584])];

/// Table 4.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stored {
    /// By gadget, with the labels of the largest pool.
    pub stored: Vec<StoredRow>,
}

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

/// How fast a circuit is run over a full pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// AND gates of the circuits in a second: by the median at the slower party.
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
    pub fill: Filled,
    /// The base-2 logarithm of the probability that a cheater ever gets through, in a session with both pools.
    pub error_log2: f64,
    /// By width.
    pub rows: Vec<MuxRow>,
}

/// What one pool costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub fill: Filled,
    /// Gates made for each gate of a circuit, by theory: B/(1 - r_c).
    pub gates_per_and: f64,
    pub label_bytes: usize,
    /// If it was asked for.
    pub mux: Option<MuxPool>,
}

impl Filled {
    /// Of the pool number `pool` of the session.
    fn new(parameters: &Parameters, pool: usize, gadgets: u64, measured: &Measured) -> Self {
        let known = PAPER_FILL.iter().find(|known| known.0 == gadgets);
        Self {
            bucket: parameters.bucket(),
            check_rate: parameters.check_rate(),
            seconds: measured.slower(|party| party.fills[pool].seconds),
            paper_seconds: known.map(|known| known.1[pool]),
            busy_seconds: measured.medians(|party| party.fills[pool].busy_seconds),
            bytes: measured.both(|party| party.fills[pool].bytes_sent),
        }
    }
}

impl MuxRow {
    fn new(load: &Load, without: &Rate, with: &Speed) -> Self {
        let ns_per_and = [without.and_gates_per_second, with.per_second].map(|rate| 1e9 / rate);
        Self {
            load: load.clone(),
            ns_per_and,
            busy_ns_per_and: [without.busy_ns_per_and, with.busy_ns].map(larger),
            bytes_per_and: [without.bytes_per_and[0], with.bytes[0]],
            gain: ns_per_and[0] / ns_per_and[1].max(1e-9),
        }
    }
}

impl Reported for Jimu {
    const ELEMENTS: &'static str = "AND gates";
    type Row = Row;
    type Rate = Rate;
    type Paper = Stored;

    fn loads(&self, loads: &[Load]) -> Vec<Load> {
        let muxes = if self.mux { muxes() } else { Vec::new() };
        loads.iter().cloned().chain(muxes).collect()
    }

    fn row(session: &PoolSession<Self>, sizes: &Sizes, measured: &Measured) -> Row {
        Row {
            fill: Filled::new(&sizes.pool, 0, session.pool.into(), measured),
            gates_per_and: sizes.pool.gates_per_and(),
            label_bytes: 16 * sizes.blocks(),
            mux: None,
        }
    }

    fn rate(measured: &Measured, at: usize, sizes: &Sizes) -> Rate {
        let speed = measured.speed(at, |rate| &rate.all_in);
        let passed = 1.0 - sizes.pool.check_rate();
        let drawn = measured.medians(|party| party.rates[at].drawn as f64 / party.rates[at].all_in.gates());
        Rate {
            and_gates_per_second: speed.per_second,
            bytes_per_and: speed.bytes,
            gadgets_per_and: drawn[0] / passed,
            busy_ns_per_and: speed.busy_ns,
            cpu_ns_per_and: speed.cpu_ns,
        }
    }

    /// A session with a pool of gadgets for multiplexers, which runs nothing but these. Rates of multiplexers without are taken out of the rates.
    fn add(
        row: &mut PoolRow<Self>,
        session: &PoolSession<Self>,
        measure: &mut dyn FnMut(&PoolSession<Self>, &str) -> Result<Measured>,
    ) -> Result<()> {
        if !session.protocol.mux {
            return Ok(());
        }
        let mut session = session.clone();
        session.protocol.with_mux = true;
        if !session.loads.is_empty() {
            session.loads = muxes();
        }
        let measured = measure(&session, "MUXCOREs")?;
        let sizes = Jimu::sizes(&session)?;
        let parameters = sizes.mux.as_ref().ok_or_else(no_report)?;
        let first = row.rates.len().saturating_sub(session.loads.len());
        let without: Vec<RateRow<Rate>> = row.rates.split_off(first);
        let rows = without.iter().enumerate().map(|(at, without)| {
            let with = measured.speed(at, |rate| &rate.all_in);
            MuxRow::new(&without.load, &without.speed, &with)
        });
        row.own.mux = Some(MuxPool {
            fill: Filled::new(parameters, 1, row.pool, &measured),
            error_log2: measured.both(|party| party.error_log2)[0],
            rows: rows.collect(),
        });
        Ok(())
    }

    fn paper(sessions: &[PoolSession<Self>]) -> Result<Stored> {
        let largest = sessions.iter().max_by_key(|session| session.pool);
        let sizes = Jimu::sizes(largest.ok_or_else(no_report)?)?;
        let row = |(width, paper)| StoredRow {
            width,
            bytes: sizes.stored_bytes(width),
            paper,
        };
        Ok(Stored {
            stored: PAPER_STORED.map(row).into(),
        })
    }
}

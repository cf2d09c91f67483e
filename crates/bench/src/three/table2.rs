//! Table II of Araki et al. (S&P 2017), row by row, beside the paper's figures.
//!
//! The paper ran three servers of twenty cores each, joined by 10 Gbit/s. Here all three parties share the cores of one machine,
//! so rates are compared per core. Processor use is the share of all cores, as in the paper; bandwidth is what a party sends;
//! latency is the time from the inputs of the instances that are opened together to their outputs, while the pipeline is
//! under full load (the paper's, of its own batches).

use cenote_params::three::Variant;
use cenote_three::ViewCheck;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::ring::{RingBench, RingReport, run_ring};
use super::steady::{Length, Mode, Steady, SteadyReport, run_steady};
use crate::measure::Place;
use crate::usage::{Machine, median};
use cenote::{Error, Link, Result, Three, Transport};

/// Cores of the paper's three servers together.
pub const PAPER_CORES: f64 = 60.0;

/// What the paper reports of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paper {
    pub and_gates_per_second: f64,
    /// Share of the cores in use, in percent.
    pub cpu_percent: f64,
    /// Gigabits per second.
    pub gbit_per_second: f64,
    /// Milliseconds.
    pub latency_ms: f64,
}

/// A row of the table: what is run, and what the paper reports of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The row's name.
    pub name: &'static str,
    pub variant: Variant,
    /// How views are compared.
    #[serde(serialize_with = "text")]
    pub view_check: ViewCheck,
    /// What is timed.
    pub mode: Mode,
    /// The paper's figures.
    pub paper: Paper,
}

fn text<S: serde::Serializer>(check: &ViewCheck, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(check)
}

const fn row(
    name: &'static str,
    variant: Variant,
    view_check: ViewCheck,
    mode: Mode,
    paper: [f64; 4],
) -> Row {
    let [and_gates_per_second, cpu_percent, gbit_per_second, latency_ms] = paper;
    Row {
        name,
        variant,
        view_check,
        mode,
        paper: Paper {
            and_gates_per_second,
            cpu_percent,
            gbit_per_second,
            latency_ms,
        },
    }
}

/// The rows, in the paper's order. Its figures are the measurements printed in its Table II.
pub const ROWS: [Row; 6] = {
    use Mode::{Full, Online};
    use Variant::{Baseline, CacheEfficient, OnDemand};
    use ViewCheck::{Mac, Sha256};
    [
        row(
            "baseline, SHA",
            Baseline,
            Sha256,
            Full,
            [503_766_615.0, 71.7, 4.55, 680.0],
        ),
        row(
            "cache-efficient, SHA",
            CacheEfficient,
            Sha256,
            Full,
            [765_448_459.0, 64.84, 7.28, 623.0],
        ),
        row(
            "on-demand, SHA",
            OnDemand,
            Sha256,
            Full,
            [988_216_830.0, 65.8, 6.84, 812.0],
        ),
        row(
            "on-demand, MAC",
            OnDemand,
            Mac,
            Full,
            [1_152_751_967.0, 71.28, 7.89, 726.0],
        ),
        row(
            "online: on-demand, MAC",
            OnDemand,
            Mac,
            Online,
            [1_726_737_312.0, 45.1, 5.11, 456.4],
        ),
        row(
            "online: cache-eff., MAC",
            CacheEfficient,
            Mac,
            Online,
            [2_132_197_567.0, 41.6, 6.93, 367.5],
        ),
    ]
};

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Table2 {
    /// A circuit file, or `lib:NAME`.
    pub circuit: String,
    /// Security, workers, memory and batch size. Variant and view check come from the rows.
    pub settings: Settings,
    /// How long each section is.
    pub length: Length,
    /// Runs of each row; the rows take turns.
    pub repeat: u32,
    /// About how many seconds each measurement of the ring takes; 0 leaves it out.
    pub ring_seconds: f64,
}

/// What a row gave: medians of its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowResult {
    #[serde(flatten)]
    pub row: Row,
    pub and_gates_per_second: f64,
    /// Share of the machine's cores in use, in percent.
    pub cpu_percent: f64,
    /// Gigabits that a party sent per second.
    pub gbit_per_second: f64,
    /// Milliseconds from inputs to opened outputs under full load.
    pub latency_ms: f64,
    /// Bits sent per AND gate and party.
    pub bits_per_and: f64,
    /// Nanoseconds of a core per AND gate and party.
    pub ns_per_and: f64,
    /// AND gates per second and core here, over the paper's rate per core.
    pub per_core_over_paper: f64,
    /// The share of what the ring carried, if that was measured.
    pub ring_share: Option<f64>,
    /// The runs, in order.
    pub runs: Vec<SteadyReport>,
}

/// One row's rate over another's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The row above the line.
    pub of: String,
    /// The row below it.
    pub over: String,
    /// The ratio of the medians.
    pub measured: f64,
    /// The ratio of the gates per second of processor time, which other work on the machine disturbs less.
    pub by_processor_time: f64,
    /// The paper's.
    pub paper: f64,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table2Report {
    pub rows: Vec<RowResult>,
    /// How rows compare, here and in the paper.
    pub ratios: Vec<Ratio>,
    /// What the channels carried when nothing was computed: the median run.
    pub ring: Option<RingReport>,
    /// How the parties were joined.
    pub transport: Transport,
    pub circuit: String,
    /// Runs of every row.
    pub repeat: u32,
    /// The machine, before the first run.
    pub machine: Machine,
    /// Cores of the paper's servers together.
    pub paper_cores: f64,
}

/// Measures every row in turn, `repeat` times over, in `place`. Calls `begins` before each run.
///
/// # Errors
/// Those of [`run_steady`]; [`Error::Usage`] if nothing is to be run.
pub fn run_table2(
    table: &Table2,
    place: &mut Place<'_>,
    begins: &mut dyn FnMut(&str),
) -> Result<Table2Report> {
    if table.repeat == 0 {
        return Err(Error::Usage("every row is run at least once".into()));
    }
    let machine = Machine::now();
    let mut runs: [Vec<SteadyReport>; ROWS.len()] = Default::default();
    let mut rings = Vec::new();
    for turn in 1..=table.repeat {
        for (row, runs) in ROWS.iter().zip(&mut runs) {
            begins(&format!("{} ({turn} of {})", row.name, table.repeat));
            runs.push(run_steady(&table.steady(row), None, place)?);
        }
        if table.ring_seconds > 0.0 {
            begins(&format!("the wire ({turn} of {})", table.repeat));
            let ring = RingBench {
                workers: table.settings.protocol.workers,
                seconds: table.ring_seconds,
                ..RingBench::default()
            };
            rings.push(run_ring(&ring, place)?);
        }
    }
    rings.sort_by(|a, b| a.gbit_per_second.total_cmp(&b.gbit_per_second));
    let ring = (!rings.is_empty()).then(|| rings.swap_remove(rings.len() / 2));
    let rows: Vec<RowResult> = ROWS
        .into_iter()
        .zip(runs)
        .map(|(row, runs)| summary(row, runs, ring.as_ref(), &machine))
        .collect();
    Ok(Table2Report {
        ratios: ratios(&rows),
        rows,
        ring,
        transport: place.transport(),
        circuit: table.circuit.clone(),
        repeat: table.repeat,
        machine,
        paper_cores: PAPER_CORES,
    })
}

impl Table2 {
    fn steady(&self, row: &Row) -> Steady {
        Steady {
            circuit: self.circuit.clone(),
            settings: Settings {
                protocol: Three {
                    variant: Some(row.variant.into()),
                    view_check: row.view_check,
                    ..self.settings.protocol
                },
                ..self.settings
            },
            mode: row.mode,
            length: self.length,
            link: Link::default(),
        }
    }
}

fn summary(row: Row, runs: Vec<SteadyReport>, ring: Option<&RingReport>, machine: &Machine) -> RowResult {
    let middle = |of: &dyn Fn(&SteadyReport) -> f64| median(&runs.iter().map(of).collect::<Vec<_>>());
    let and_gates_per_second = middle(&|run| run.and_gates_per_second.unwrap_or(0.0));
    let bits_per_and = middle(&|run| run.bits_per_and);
    RowResult {
        row,
        and_gates_per_second,
        cpu_percent: middle(&|run| run.cpu.percent),
        gbit_per_second: middle(&|run| run.gbit_per_second),
        latency_ms: middle(&|run| run.latency_ms.unwrap_or(0.0)),
        bits_per_and,
        ns_per_and: middle(&|run| run.cpu.ns_per_gate),
        per_core_over_paper: and_gates_per_second
            / machine.cores as f64
            / (row.paper.and_gates_per_second / PAPER_CORES),
        ring_share: ring.map(|ring| 1e-9 * bits_per_and * and_gates_per_second / ring.gbit_per_second),
        runs,
    }
}

/// The paper's comparisons: each improvement over what it improves, all of them together, and online over full.
fn ratios(rows: &[RowResult]) -> Vec<Ratio> {
    [(1, 0), (2, 1), (3, 2), (3, 0), (4, 3), (5, 3), (5, 4)]
        .into_iter()
        .map(|(of, over)| Ratio {
            of: rows[of].row.name.into(),
            over: rows[over].row.name.into(),
            measured: rows[of].and_gates_per_second / rows[over].and_gates_per_second.max(1e-9),
            by_processor_time: rows[over].ns_per_and / rows[of].ns_per_and.max(1e-9),
            paper: rows[of].row.paper.and_gates_per_second / rows[over].row.paper.and_gates_per_second,
        })
        .collect()
}

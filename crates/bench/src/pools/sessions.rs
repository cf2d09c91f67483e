//! What several sessions over a pool have measured, and medians over them.

use cenote::{Result, Transport};

use super::phase::Phase;
use super::session::{PoolParty, PoolSession, Pooled, Rate};
use crate::measure::{Place, no_report};
use crate::usage::median;

/// What both parties of each session have measured, of at least one.
pub struct Measured {
    sessions: Vec<[PoolParty; 2]>,
    last: [PoolParty; 2],
    /// One for each party, or a single one for both.
    processes: usize,
}

/// How fast a load was run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// AND gates in a second: by the median at the slower party.
    pub per_second: f64,
    /// Bytes with frames for each gate: from the garbler, from the evaluator.
    pub bytes: [f64; 2],
    /// Processor nanoseconds for each gate, of the thread that calls the engine: garbler, evaluator.
    pub busy_ns: [f64; 2],
    /// The same of all threads of the process; both parties' together if memory joins them.
    pub cpu_ns: [f64; 2],
}

impl Measured {
    /// Runs `repeat` sessions.
    pub(super) fn run<P: Pooled>(
        session: &PoolSession<P>,
        repeat: u32,
        place: &mut Place<'_>,
    ) -> Result<Self> {
        let whole = |party: &PoolParty| {
            let sizes = (party.fills.len(), party.rates.len());
            sizes == (session.protocol.pools(), session.loads.len())
        };
        let mut sessions = Vec::new();
        for _ in 0..repeat {
            let parties = <[PoolParty; 2]>::try_from(place.measure(session)?).ok();
            let parties = parties.filter(|parties| parties.iter().all(whole));
            sessions.push(parties.ok_or_else(no_report)?);
        }
        Ok(Self {
            last: sessions.last().cloned().ok_or_else(no_report)?,
            sessions,
            processes: match place.transport() {
                Transport::Memory => 1,
                _ => 2,
            },
        })
    }

    /// The last session's, at both parties.
    pub(crate) fn both<T>(&self, of: impl Fn(&PoolParty) -> T) -> [T; 2] {
        self.last.each_ref().map(of)
    }

    /// The medians of both parties.
    pub(crate) fn medians(&self, of: impl Fn(&PoolParty) -> f64) -> [f64; 2] {
        [0, 1].map(|party| {
            let values: Vec<f64> = self.sessions.iter().map(|parties| of(&parties[party])).collect();
            median(&values)
        })
    }

    /// The larger of them.
    pub(crate) fn slower(&self, of: impl Fn(&PoolParty) -> f64) -> f64 {
        larger(self.medians(of))
    }

    /// The most memory that each process has had. Parties joined by memory are one process, whose memory each of them reports.
    pub(super) fn peaks(&self) -> Vec<Option<u64>> {
        let peak = |party: usize| {
            let peaks = self
                .sessions
                .iter()
                .map(|parties| parties[party].peak_memory_bytes);
            peaks.max().flatten()
        };
        (0..self.processes).map(peak).collect()
    }

    /// How fast the load number `at` was run in one way. Sections of different sessions are not equally long.
    pub(crate) fn speed(&self, at: usize, way: fn(&Rate) -> &Phase) -> Speed {
        let each = |what: fn(&Phase) -> f64| {
            self.medians(|party| {
                let phase = way(&party.rates[at]);
                what(phase) / phase.gates()
            })
        };
        Speed {
            per_second: 1.0 / larger(each(|phase| phase.seconds)).max(1e-12),
            bytes: each(|phase| phase.bytes_sent as f64),
            busy_ns: each(|phase| 1e9 * phase.busy_seconds),
            cpu_ns: each(|phase| 1e9 * phase.cpu_seconds),
        }
    }
}

pub(crate) fn larger([a, b]: [f64; 2]) -> f64 {
    a.max(b)
}

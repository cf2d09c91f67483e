//! What pools of several sizes cost.

use cenote::text::grouped;
use cenote::{Error, Link, Result, Transport};
use serde::Serialize;

use super::load::Load;
use super::session::{PoolSession, Pooled};
use super::sessions::Measured;
use crate::measure::Place;
use crate::usage::Machine;

/// What to measure of pools of several sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pools<P> {
    /// Elements of each pool.
    pub pools: Vec<u64>,
    /// Statistical security in bits.
    pub security: u32,
    /// What is run.
    pub loads: Vec<Load>,
    /// About how long each circuit is run in each way; 0 to fill pools only.
    pub seconds: f64,
    /// Sessions for each pool; medians are reported.
    pub repeat: u32,
    /// What slows the link down.
    pub link: Link,
    pub protocol: P,
}

/// What is a protocol's own in the report.
pub trait Reported: Pooled {
    /// What lies in a pool, in the plural.
    const ELEMENTS: &'static str;

    /// What one pool costs, besides what every protocol's pool costs.
    type Row: Serialize;

    /// How fast a circuit is run.
    type Rate: Serialize;

    /// What stands beside figures of a paper.
    type Paper: Serialize;

    /// What is run, if `loads` are asked for.
    fn loads(&self, loads: &[Load]) -> Vec<Load> {
        loads.to_vec()
    }

    /// What the pool of `session` costs.
    fn row(session: &PoolSession<Self>, sizes: &Self::Sizes, measured: &Measured) -> Self::Row;

    /// How fast the load number `at` is run.
    fn rate(measured: &Measured, at: usize, sizes: &Self::Sizes) -> Self::Rate;

    /// Adds to `row` what other sessions with a pool of the same size tell, which `measure` runs.
    ///
    /// # Errors
    /// Those of `measure`.
    fn add(
        _row: &mut PoolRow<Self>,
        _session: &PoolSession<Self>,
        _measure: &mut dyn FnMut(&PoolSession<Self>, &str) -> Result<Measured>,
    ) -> Result<()> {
        Ok(())
    }

    /// The paper's figures beside `sessions`.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that no session may have.
    fn paper(sessions: &[PoolSession<Self>]) -> Result<Self::Paper>;
}

/// What pools of several sizes cost.
#[derive(Serialize)]
pub struct PoolReport<P: Reported> {
    /// How the parties were joined.
    pub transport: Transport,
    /// What slowed the link down.
    pub link: Link,
    /// Statistical security in bits.
    pub security: u32,
    /// The protocol's settings.
    #[serde(flatten)]
    pub protocol: P,
    /// Sessions behind each median.
    pub repeat: u32,
    /// Beside the paper's figures.
    #[serde(flatten)]
    pub paper: P::Paper,
    /// By pool.
    pub rows: Vec<PoolRow<P>>,
    pub machine: Machine,
}

/// What one pool costs.
#[derive(Serialize)]
pub struct PoolRow<P: Reported> {
    /// Elements in the pool.
    pub pool: u64,
    /// The base-2 logarithm of the probability that a cheater ever gets through.
    pub error_log2: f64,
    /// Seconds of the set-up: the median, at the slower party.
    pub setup_seconds: f64,
    /// Bytes of the set-up: from the garbler, from the evaluator.
    pub setup_bytes: [u64; 2],
    /// The most bytes that the protocol may hold: garbler, evaluator.
    pub memory_bytes: [u64; 2],
    /// The most memory that each process has had; `null` where the system does not tell.
    pub peak_memory_bytes: Vec<Option<u64>>,
    /// What is the protocol's own.
    #[serde(flatten)]
    pub own: P::Row,
    /// By circuit.
    pub rates: Vec<RateRow<P::Rate>>,
}

/// A circuit run again and again.
#[derive(Serialize)]
pub struct RateRow<R> {
    /// The circuit, and how many instances of it run side by side.
    #[serde(flatten)]
    pub load: Load,
    /// AND gates of a section.
    pub and_gates: u64,
    /// How fast.
    #[serde(flatten)]
    pub speed: R,
}

impl<P: Reported> Pools<P> {
    /// The session for a pool of some size.
    fn session(&self, pool: u64) -> Result<PoolSession<P>> {
        let loads = match self.seconds > 0.0 {
            true => self.protocol.loads(&self.loads),
            false => Vec::new(),
        };
        let session = PoolSession {
            // What is too large is refused with what there may be.
            pool: u32::try_from(pool).unwrap_or(u32::MAX),
            security: self.security,
            loads,
            seconds: self.seconds,
            link: self.link,
            protocol: self.protocol.clone(),
        };
        P::sizes(&session)?;
        Ok(session)
    }
}

/// Measures, in `place`; `about` is told what comes next.
///
/// # Errors
/// [`Error::Usage`] for numbers that make no sense; those of [`cenote::circuits::open`]; [`Error::Parties`] or [`Error::Protocol`] if a
/// party fails.
pub fn run_pools<P: Reported>(
    pools: &Pools<P>,
    place: &mut Place<'_>,
    about: &mut dyn FnMut(&str),
) -> Result<PoolReport<P>> {
    if pools.repeat == 0 || pools.pools.is_empty() {
        return Err(Error::Usage(
            "at least one pool is filled, at least one time".into(),
        ));
    }
    let sessions = pools.pools.iter().map(|&pool| pools.session(pool));
    let sessions = sessions.collect::<Result<Vec<_>>>()?;
    let machine = Machine::now();
    let mut measure = |session: &PoolSession<P>, elements: &str| {
        about(&format!("a pool of {} {elements}", grouped(session.pool.into())));
        Measured::run(session, pools.repeat, place)
    };
    let mut rows = Vec::new();
    for session in &sessions {
        let measured = measure(session, P::ELEMENTS)?;
        let mut row = PoolRow::new(session, &measured)?;
        P::add(&mut row, session, &mut measure)?;
        rows.push(row);
    }
    Ok(PoolReport {
        transport: place.transport(),
        link: pools.link,
        security: pools.security,
        protocol: pools.protocol.clone(),
        repeat: pools.repeat,
        paper: P::paper(&sessions)?,
        rows,
        machine,
    })
}

impl<P: Reported> PoolRow<P> {
    fn new(session: &PoolSession<P>, measured: &Measured) -> Result<Self> {
        let sizes = P::sizes(session)?;
        let rate = |(at, load): (usize, &Load)| RateRow {
            load: load.clone(),
            and_gates: measured.both(|party| party.rates[at].all_in.and_gates)[0],
            speed: P::rate(measured, at, &sizes),
        };
        Ok(Self {
            pool: session.pool.into(),
            error_log2: measured.both(|party| party.error_log2)[0],
            setup_seconds: measured.slower(|party| party.setup.seconds),
            setup_bytes: measured.both(|party| party.setup.bytes_sent),
            memory_bytes: measured.both(|party| party.memory_bytes),
            peak_memory_bytes: measured.peaks(),
            own: P::row(session, &sizes, measured),
            rates: session.loads.iter().enumerate().map(rate).collect(),
        })
    }
}

//! One session over a pool.

use cenote::{Link, Result};
use cenote_net::PartyId;
use cenote_session::{Connections, Engine, Topology, memory};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::load::{Load, Work};
use super::phase::{Clock, Phase};
use crate::measure::Measurement;
use crate::meeting::Meeting;

/// A protocol of two parties over a pool, with those of its settings that a measurement chooses.
pub trait Pooled: Clone + Serialize + DeserializeOwned + Sync {
    const NAME: &'static str;

    /// Its channels, by purpose.
    const PURPOSES: &'static [&'static str];

    /// A session of it.
    type Engine: Engine;

    /// The sizes of a session's pools.
    type Sizes;

    /// The sizes for a session.
    ///
    /// # Errors
    /// [`cenote::Error::Usage`] for settings that no session may have.
    fn sizes(session: &PoolSession<Self>) -> Result<Self::Sizes>;

    /// Begins a session, in which party 0 garbles.
    ///
    /// # Errors
    /// Those of the protocol.
    fn start(
        session: &PoolSession<Self>,
        sizes: Self::Sizes,
        me: PartyId,
        connections: Connections,
    ) -> Result<Self::Engine>;

    /// How many pools a session has.
    fn pools(&self) -> usize {
        1
    }

    /// Fills one of them.
    ///
    /// # Errors
    /// Those of the protocol.
    fn fill(engine: &mut Self::Engine, pool: usize) -> Result<()>;

    /// Elements that were drawn from the pools.
    fn drawn(engine: &Self::Engine) -> u64;

    /// How many gates are run at least while what they draw is replaced.
    fn least_gates(&self, _sizes: &Self::Sizes) -> u64 {
        0
    }

    /// Whether what gates draw can be made before they are run.
    const MAKES_READY: bool = false;

    /// Makes it.
    ///
    /// # Errors
    /// Those of the protocol.
    fn make_ready(_engine: &mut Self::Engine, _gates: usize) -> Result<()> {
        Ok(())
    }
}

/// What one session is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolSession<P> {
    pub(crate) pool: u32,
    pub(crate) security: u32,
    pub(crate) loads: Vec<Load>,
    pub(crate) seconds: f64,
    pub(crate) link: Link,
    pub(crate) protocol: P,
}

/// A load at one party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rate {
    /// AND gates of one run.
    pub(crate) and_gates: u64,
    /// What is drawn is replaced meanwhile.
    pub(crate) all_in: Phase,
    /// Elements drawn in this.
    pub(crate) drawn: u64,
    /// What is drawn was made before.
    pub(crate) full: Phase,
}

/// What one party has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PoolParty {
    pub(crate) setup: Phase,
    /// By pool.
    pub(crate) fills: Vec<Phase>,
    /// By load.
    pub(crate) rates: Vec<Rate>,
    /// The most bytes that the protocol may hold.
    pub(crate) memory_bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) error_log2: f64,
}

impl<P: Pooled> Measurement for PoolSession<P> {
    const NAME: &'static str = P::NAME;

    type Party = PoolParty;

    fn topology(&self) -> Topology {
        Topology {
            name: format!("bench {}", P::NAME),
            parties: 2,
            workers: 1,
            purposes: P::PURPOSES,
            shared: &["meeting"],
        }
    }

    fn run(
        &self,
        me: PartyId,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<PoolParty> {
        let (connections, mut meeting) = Meeting::take(connections)?;
        let connections = self.link.shape(connections);
        let works = self.loads.iter().map(Work::open).collect::<Result<Vec<_>>>()?;
        let sizes = P::sizes(self)?;
        let least_gates = self.protocol.least_gates(&sizes);
        meeting.wait()?;
        let clock = Clock::of_setup();
        let mut engine = P::start(self, sizes, me, connections)?;
        let setup = clock.stop(&engine);
        let mut fills = Vec::new();
        for pool in 0..self.protocol.pools() {
            meeting.wait()?;
            let clock = Clock::start(&engine);
            P::fill(&mut engine, pool)?;
            fills.push(clock.stop(&engine));
        }
        let mut party = Runs::<P> {
            me,
            engine: &mut engine,
            meeting: &mut meeting,
            seconds: self.seconds,
            least_gates,
        };
        let rates = works.iter().map(|work| party.rate(work, progress));
        let rates = rates.collect::<Result<Vec<_>>>()?;
        let error_log2 = engine.error_bound();
        let memory_bytes = engine.costs().memory_bytes;
        engine.finish()?;
        Ok(PoolParty {
            setup,
            fills,
            rates,
            memory_bytes,
            peak_memory_bytes: memory::peak(),
            error_log2,
        })
    }
}

/// A party that runs loads over a pool that was filled.
struct Runs<'a, P: Pooled> {
    me: PartyId,
    engine: &'a mut P::Engine,
    meeting: &'a mut Meeting,
    /// About how long each load is run in each way.
    seconds: f64,
    least_gates: u64,
}

impl<P: Pooled> Runs<'_, P> {
    fn rate(&mut self, work: &Work, progress: &mut dyn FnMut(u64, u64)) -> Result<Rate> {
        let gates = work.and_gates();
        let inputs = work.inputs(self.engine)?;
        // The first run brings the circuit and the caches, the second tells how long one takes.
        work.run(self.engine, &inputs)?;
        let clock = Clock::start(self.engine);
        work.run(self.engine, &inputs)?;
        let each = clock.stop(self.engine).seconds.max(1e-6);
        let times = self.meeting.agree(self.me, (self.seconds / each).ceil() as u64)?;
        let full_times = if P::MAKES_READY { times } else { 0 };
        let all_in_times = times.max(self.least_gates / gates + 1);
        let total = (all_in_times + full_times) * gates;
        self.meeting.wait()?;
        let before = P::drawn(self.engine);
        let clock = Clock::start(self.engine);
        for done in 0..all_in_times {
            work.run(self.engine, &inputs)?;
            progress((done + 1) * gates, total);
        }
        // The garbler is ahead until the evaluator has all outputs.
        self.meeting.wait()?;
        let all_in = clock.stop(self.engine);
        let drawn = P::drawn(self.engine) - before;
        let mut full = Phase::default();
        for done in 0..full_times {
            P::make_ready(self.engine, gates as usize)?;
            self.meeting.wait()?;
            let clock = Clock::start(self.engine);
            work.run(self.engine, &inputs)?;
            full.add(clock.stop(self.engine));
            progress((all_in_times + done + 1) * gates, total);
        }
        Ok(Rate {
            and_gates: gates,
            all_in,
            drawn,
            full,
        })
    }
}

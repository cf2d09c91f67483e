//! The protocol to those who choose it by name: its settings, and how a session with them starts.

mod prepared;

use std::time::Instant;

use cenote_net::{Channel, PartyId};
use cenote_params::pool::Work;
use cenote_pool::Role;
use cenote_pool::kept::Identity;
use cenote_protocol::{Amount, Facts, Made, MaterialSource, Order, Protocol, Setting, two};
use cenote_session::{Check, Connections, Demand, Engine, Error, Result, Run, Terms, Topology};
use cenote_store::{Store, Stored};
use serde::{Deserialize, Serialize};

use crate::kept;
use crate::memory::Memory;
use crate::online::circuit::shared_gadgets;
use crate::online::{INPUTS_AT_ONCE, INPUTS_OF_LOT};
use prepared::LARGEST_CHOSEN;

pub use prepared::Prepared;

use crate::{Config, JimuEngine, MAX_POOL, MAX_SECURITY, MIN_POOL, MUX_WIDTH, Sizes, checks};

/// Settings of the two-party protocol over a pool of garbled gates, the same at both parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jimu {
    /// Each bound on a wrong output is at most 2 to the minus this, for all that is ever computed over the pool; from 1 to [`MAX_SECURITY`].
    pub security: u32,
    /// AND gates in the pool, from [`MIN_POOL`] to [`MAX_POOL`]; without it, as many as make the job cheapest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<u32>,
    /// The party that garbles, 0 or 1; the other one evaluates.
    pub garbler: u8,
}

impl Default for Jimu {
    /// 40, a pool for the job, party 0 garbles.
    fn default() -> Self {
        Jimu {
            security: 40,
            pool: None,
            garbler: 0,
        }
    }
}

/// Permutation bits in a message of the OTs, after each of which the other party's challenge is waited for.
const BITS_AT_ONCE: f64 = 130_000.0;

/// Bytes of setting a session up, about.
const BYTES_OF_SETUP: u64 = 100_000;

/// Messages that wait for one another while wires for the evaluator's inputs are transferred, many at a time.
const ROUNDS_OF_INPUTS: u64 = 4;

impl Jimu {
    /// What an engine is started with.
    pub fn config(&self, session: &str, prepared: &Prepared) -> Config {
        let mut config = Config::new(session);
        config.security = self.security;
        config.pool = prepared.sizes.pool.pool_size() as u32;
        [config.buffer, config.mux_buffer] = prepared.buffers;
        config.ahead = prepared.ahead;
        config.garbler = self.roles()[0];
        config
    }

    /// The garbler and the evaluator.
    pub fn roles(&self) -> [PartyId; 2] {
        two::roles(self.garbler)
    }

    /// For this `work`, `shared` gadgets of which can be of [`MUX_WIDTH`] gates; whether that is all is `known`.
    fn prepared(&self, work: Work, shared: u64, known: bool) -> std::result::Result<Prepared, String> {
        let pools = self.pool.map_or(MIN_POOL..=LARGEST_CHOSEN, |pool| pool..=pool);
        let sizes = Sizes::cheapest(self.security, &work, shared, pools)?;
        Ok(Prepared::new(sizes, &work, shared, known))
    }

    /// Gadgets of [`MUX_WIDTH`] gates that the circuits of `demand` can use.
    pub fn shared(demand: &Demand<'_>) -> u64 {
        let of_run = |run: &Run<'_>| {
            let gadgets = shared_gadgets(run.plan, MUX_WIDTH);
            let times = (run.lanes as u64).saturating_mul(run.times as u64);
            gadgets.saturating_mul(times)
        };
        demand.runs().iter().map(of_run).fold(0, u64::saturating_add)
    }

    /// What `demand` draws from the pool, if there is one only.
    pub fn work(&self, demand: &Demand<'_>) -> Work {
        let [garbler, _] = self.roles();
        let returned = demand.outputs().iter().filter(|(to, _)| to.contains(garbler));
        let returned = returned.map(|(_, bits)| *bits).fold(0, u64::saturating_add);
        Work {
            buckets: demand.likely_ands(),
            anchors: demand.input_bits_of(garbler).saturating_add(returned),
        }
    }
}

impl Protocol for Jimu {
    const NAME: &'static str = "jimu";
    const SETTINGS: &'static [&'static str] = &["security", "pool", "garbler"];
    const CHECKS: &'static [Check] = checks::ALL;
    type Prepared = Prepared;
    type Engine = JimuEngine;
    type Material = Prepared;
    const ITEM: Option<&'static str> = Some("pool");
    const REPLENISHES: bool = true;

    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        match name {
            "security" => self.security = two::security(Self::NAME, MAX_SECURITY, "", value)?,
            "pool" => {
                let what = format!(
                    "pool is how many AND gates are kept ready, from {MIN_POOL} to {MAX_POOL}; leave it out to have as many as suit the job"
                );
                self.pool = Some(value.number(MIN_POOL..=MAX_POOL, &what)?);
            }
            "garbler" => self.garbler = two::garbler(value)?,
            _ => return Err(two::no_setting(name)),
        }
        Ok(())
    }

    fn topology(&self) -> Topology {
        two::topology(Self::NAME, 1, &["protocol", "pool"])
    }

    fn security(&self) -> u32 {
        self.security
    }

    fn variety(&self) -> String {
        two::variety(self.garbler)
    }

    fn prepare(&self, demand: &Demand<'_>) -> std::result::Result<Prepared, String> {
        self.prepared(self.work(demand), Self::shared(demand), demand.is_known())
    }

    fn memory_bytes(&self, prepared: &Prepared, demand: &Demand<'_>, party: PartyId) -> u64 {
        let role = Role::of(party, self.roles()[0]);
        let memory = Memory::of(&prepared.sizes, role);
        memory.session(prepared.buffers, prepared.ahead, &self.work(demand), demand)
    }

    fn traffic_bytes(&self, prepared: &Prepared, demand: &Demand<'_>) -> u64 {
        let sizes = &prepared.sizes;
        let [n, k] = [sizes.labels.length(), sizes.labels.message()].map(f64::from);
        let [garbler, evaluator] = self.roles();
        let gadgets = prepared.kinds().zip(prepared.buffers);
        let gadgets = gadgets.map(|((pool, width, work, buffers), buffer)| {
            buffers * f64::from(buffer) * sizes.made_bytes(pool, width)
                + sizes.soldered_bytes(work, pool, width)
        });
        // A label, and an OT with two of them for each that is transferred, some more than are used.
        let of_garbler = demand.input_bits_of(garbler) as f64 * (n + 8.0);
        let more = 1.0 + f64::from(self.security) / INPUTS_OF_LOT as f64;
        let of_evaluator = demand.input_bits_of(evaluator) as f64 * more * (n + k + 100.0);
        let bytes = gadgets.sum::<f64>() + of_garbler + of_evaluator;
        BYTES_OF_SETUP.saturating_add(bytes as u64)
    }

    /// Those of buffers after the first, and of the evaluator's inputs.
    fn rounds(&self, demand: &Demand<'_>) -> u64 {
        let Ok(prepared) = self.prepare(demand) else {
            return 0;
        };
        let kinds = prepared.kinds().zip(prepared.buffers);
        let buffers: f64 = kinds
            .map(|((_, width, _, buffers), buffer)| {
                let bits = (2 * width + 1) as f64 * f64::from(buffer);
                let of_buffer = 2.0 + 2.0 * (bits / BITS_AT_ONCE).ceil();
                (buffers - 1.0).max(0.0) * of_buffer
            })
            .sum();
        let inputs = demand.input_bits_of(self.roles()[1]);
        let transfers = inputs.div_ceil(INPUTS_AT_ONCE as u64);
        (buffers as u64).saturating_add(transfers.saturating_mul(ROUNDS_OF_INPUTS))
    }

    fn terms(&self, prepared: &Prepared) -> Terms {
        let mut terms = self.config("", prepared).terms();
        terms.extend(prepared.sizes.terms());
        terms
    }

    /// A pool that is kept may have others.
    fn parameters(&self, prepared: &Prepared, source: &MaterialSource<'_>) -> serde_json::Value {
        two::parameters(source, || prepared.to_json())
    }

    fn made(&self, prepared: &Prepared) -> Option<String> {
        let pools = prepared.sizes.pools().map(|(pool, width)| {
            let (size, bucket) = (pool.pool_size(), pool.bucket());
            let what = match width {
                1 => "AND gates".to_owned(),
                _ => format!("gadgets of {width} AND gates that have an operand in common"),
            };
            format!("a pool of {size} {what}, {bucket} in a bucket")
        });
        Some(pools.collect::<Vec<_>>().join("; "))
    }

    fn start(
        &self,
        prepared: Prepared,
        me: PartyId,
        connections: Connections,
        session: &str,
        source: MaterialSource<'_>,
    ) -> Result<JimuEngine> {
        let mut config = self.config(session, &prepared);
        config.compared = true;
        let channels = two(connections)?;
        match source {
            MaterialSource::Live => JimuEngine::start(me, channels, config, prepared.sizes),
            MaterialSource::Stored(store) => {
                JimuEngine::start_kept(me, channels, config, prepared.sizes, store)
            }
        }
    }

    /// A pool, which serves any number of jobs; one that suits the amount.
    fn order_stock(
        &self,
        demand: &Demand<'_>,
        amount: Amount,
    ) -> std::result::Result<Order<Prepared>, String> {
        let (of_job, shared) = (self.work(demand), Self::shared(demand));
        let runs = amount.runs(Self::NAME, of_job.buckets)?;
        let work = Work {
            buckets: of_job.buckets.saturating_mul(runs),
            anchors: of_job.anchors.saturating_mul(runs),
        };
        let prepared = self.prepared(work, shared.saturating_mul(runs), false)?;
        let sizes = &prepared.sizes;
        let made = sizes
            .pools()
            .map(|(pool, width)| pool.pool_size() as f64 * sizes.made_bytes(pool, width as usize));
        Ok(Order {
            terms: self.terms(&prepared),
            traffic_bytes: BYTES_OF_SETUP.saturating_add(made.sum::<f64>() as u64),
            material: prepared,
        })
    }

    /// A pool serves any number.
    fn serves(&self, _: &Prepared, _: &Demand<'_>, stored: &Stored) -> Option<u64> {
        let of = (self.security, PartyId(self.garbler));
        Identity::serves(stored, Self::NAME, of, |numbers| numbers.len() == 2)
    }

    /// Fills the pool that both parties keep, or a new one.
    fn make_stock(
        &self,
        prepared: Prepared,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made> {
        let start = Instant::now();
        let mut config = self.config(session, &prepared);
        (config.compared, config.ahead) = (true, [0; 2]);
        let mut engine = JimuEngine::start_kept(me, two(connections)?, config, prepared.sizes, store)?;
        engine.fill_with(progress)?;
        let item = engine.kept_as();
        let [gates, muxes] = engine.pool_sizes();
        engine.finish()?;
        Ok(Made {
            item: item.ok_or_else(|| Error::Internal("the pool is kept".into()))?,
            material: vec![("gates", gates), ("multiplexers", muxes)],
            time: start.elapsed(),
            traffic: engine.costs().traffic,
        })
    }

    fn describe(stored: &Stored) -> Facts {
        kept::facts(&stored.item)
    }
}

/// The channel to compute over, and that of the pool.
fn two(connections: Connections) -> Result<[Box<dyn Channel>; 2]> {
    let channels = connections.channels().try_into();
    channels.map_err(|_| Error::BadInput("a session over a pool has two channels".into()))
}

#[cfg(test)]
mod tests;

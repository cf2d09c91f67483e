//! The protocol to those who choose it by name: its settings, and how a session with them starts.

mod prepared;

use std::time::Instant;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_params::cot::SoftSpoken;
use cenote_params::lpn::Lpn;
use cenote_params::short;
use cenote_pool::kept::{Identity, MOST_PREPARED};
use cenote_protocol::{Amount, Facts, Made, MaterialSource, Order, Protocol, Setting, two};
use cenote_session::{Check, Connections, Demand, Engine, Error, Result, Terms, Topology};
use cenote_store::{Store, Stored};
use serde::{Deserialize, Serialize};

pub use prepared::Prepared;

use crate::kept;
use crate::memory::{Memory, most_lanes};
use crate::online::ready::MOST_GATES;
use crate::settings::{MAX_LOT, MIN_LOT, SYMBOLS};
use crate::{AuthenticatedEngine, Config, Cot, MAX_POOL, MAX_SECURITY, Sizes, checks};

/// Settings of the two-party protocol of authenticated garbling, the same at both parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authenticated {
    /// What a cheater gets through by leaky ANDs that are known, and what it gets through by OTs, has at most the probability 2 to the minus this, for
    /// all that is ever computed over the pool; what it gets through by guessing the sums of leaky ANDs a 64th of that. From 1 to [`MAX_SECURITY`], and
    /// less the more gates there are beyond some ten thousand.
    pub security: u32,
    /// Leaky ANDs in the pool, up to [`MAX_POOL`]; without it, as many as make the job cheapest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<u32>,
    /// Leaky ANDs made at once, from 64 to 2^22. Each lot is tested once, which takes about 0.1 ms. Without it, as many as stay in a core's own cache,
    /// or up to eight times as many where messages take long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lot: Option<u32>,
    /// Symbols of Δ, from 16 to 128: the fewer, the fewer bytes and the more work.
    pub symbols: u32,
    /// Where authenticated bits come from.
    #[serde(default)]
    pub cot: Cot,
    /// The party that garbles, 0 or 1; the other one evaluates.
    pub garbler: u8,
}

impl Default for Authenticated {
    /// 40, a pool for the job, 24 symbols, SoftSpoken, party 0 garbles.
    fn default() -> Self {
        Authenticated {
            security: 40,
            pool: None,
            lot: None,
            symbols: 24,
            cot: Cot::SoftSpoken,
            garbler: 0,
        }
    }
}

/// What is made for stock: a pool, and circuits.
#[derive(Debug)]
pub struct Material {
    prepared: Prepared,
    /// Circuits, their lanes, and how often each is run: one after the other, all of it so many times.
    circuits: Vec<(Plan, usize, usize)>,
    times: u64,
}

/// The largest pool that is chosen where none is stated: 100 MB at each party.
const LARGEST_CHOSEN: u32 = 1 << 20;

/// Bytes of setting a session up, about.
const BYTES_OF_SETUP: u64 = 40_000;

impl Authenticated {
    /// For so many AND gates and bits of inputs; whether that is all is `known`.
    fn prepared(&self, ands: u64, inputs: u64, known: bool) -> std::result::Result<Prepared, String> {
        let sizes = match self.pool {
            Some(pool) => Sizes::search(self.security, pool)?,
            None => Sizes::cheapest(self.security, ands, LARGEST_CHOSEN)?,
        };
        let softspoken = SoftSpoken::new(self.symbols).map_err(|refusal| refusal.to_string())?;
        let prepared = Prepared::new(sizes, ands, known, self.lot).with_bits(inputs, self.cot, &softspoken);
        let session = prepared.sizes.session(
            [ands, inputs],
            [prepared.lot, prepared.largest_lot],
            prepared.generator,
        );
        prepared.sizes.within(&session)?;
        Ok(prepared)
    }

    /// The bytes of so many authenticated bits of each party, both ways.
    fn bytes_of_bits(&self, generator: &Option<Lpn>, bits: u64) -> f64 {
        let Ok(softspoken) = SoftSpoken::new(self.symbols) else {
            return f64::INFINITY;
        };
        2.0 * match generator {
            None => bits as f64 * f64::from(softspoken.sent_bits()) / 8.0,
            Some(sizes) => sizes.bytes(bits, &softspoken),
        }
    }

    /// The bytes of so many leaky ANDs, both ways, besides their three authenticated bits: a short block and a bit each way.
    fn bytes_of_leaky(sizes: &Sizes, count: f64) -> f64 {
        count * 2.0 * f64::from(sizes.leaky_bits + 1) / 8.0
    }

    /// What an engine is started with.
    pub fn config(&self, session: &str, prepared: &Prepared) -> Config {
        let mut config = Config::new(session);
        (config.lot, config.largest_lot) = (prepared.lot, Some(prepared.largest_lot));
        config.segment = prepared.segment;
        config.symbols = self.symbols;
        config.generator = prepared.generator;
        config.demand = [prepared.ands, prepared.inputs];
        config.garbler = PartyId(self.garbler);
        config
    }
}

impl Protocol for Authenticated {
    const NAME: &'static str = "authenticated";
    const SETTINGS: &'static [&'static str] = &["security", "pool", "lot", "symbols", "cot", "garbler"];
    const CHECKS: &'static [Check] = checks::ALL;
    type Prepared = Prepared;
    type Engine = AuthenticatedEngine;
    type Material = Material;
    const ITEM: Option<&'static str> = Some("pool");
    const REPLENISHES: bool = true;

    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        match name {
            "security" => self.security = two::security(Self::NAME, MAX_SECURITY, "", value)?,
            "pool" => {
                let what = format!(
                    "pool is how many leaky ANDs are kept ready, up to {MAX_POOL}; leave it out to have as many as suit the job"
                );
                self.pool = Some(value.number(1..=MAX_POOL, &what)?);
            }
            "lot" => {
                let what = "lot is how many leaky ANDs are made at once, from 64 to 4194304: more of them suit links with long delays";
                self.lot = Some(value.number(MIN_LOT..=MAX_LOT, what)?);
            }
            "symbols" => {
                let what = format!(
                    "symbols is a number from {} to {}: the fewer, the fewer bytes and the more work",
                    SYMBOLS.start(),
                    SYMBOLS.end()
                );
                self.symbols = value.number(SYMBOLS, &what)?;
            }
            "cot" => {
                let what =
                    "cot is where authenticated bits come from: softspoken, or pcg, which suits slow links";
                self.cot = value.named(|name| name.parse().ok(), what)?;
            }
            "garbler" => self.garbler = two::garbler(value)?,
            _ => return Err(two::no_setting(name)),
        }
        Ok(())
    }

    fn topology(&self) -> Topology {
        two::topology(Self::NAME, 1, &["protocol"])
    }

    fn security(&self) -> u32 {
        self.security
    }

    fn variety(&self) -> String {
        two::variety(self.garbler)
    }

    fn prepare(&self, demand: &Demand<'_>) -> std::result::Result<Prepared, String> {
        self.prepared(demand.likely_ands(), demand.input_bits(), demand.is_known())
    }

    fn memory_bytes(&self, prepared: &Prepared, demand: &Demand<'_>, _: PartyId) -> u64 {
        let memory = Memory {
            sizes: &prepared.sizes,
            lot: prepared.largest_lot.into(),
            segment: prepared.segment.into(),
            generator: prepared.generator,
        };
        memory.session(demand)
    }

    fn traffic_bytes(&self, prepared: &Prepared, demand: &Demand<'_>) -> u64 {
        let bucket = f64::from(prepared.sizes.pool.bucket);
        let leaky = prepared.lots() as f64 * f64::from(prepared.lot);
        let ands = prepared.ands as f64;
        // Both ways: authenticated bits and blocks of leaky ANDs; what is opened, the table, and the check of a gate.
        let blocks = Self::bytes_of_leaky(&prepared.sizes, leaky);
        let made = self.bytes_of_bits(&prepared.generator, prepared.bits) + blocks;
        let garbled = ands * (2.0 * (bucket + 1.0) / 8.0 + 32.0 + 3.0 / 8.0);
        let values = demand.input_bits() as f64 * 17.0 + demand.output_bits() as f64 / 4.0;
        BYTES_OF_SETUP.saturating_add((made + garbled + values) as u64)
    }

    fn rounds(&self, demand: &Demand<'_>) -> u64 {
        let Ok(prepared) = self.prepare(demand) else {
            return 0;
        };
        // A lot takes three messages for its bits, one for its blocks, one to correct them, two to compare them, and the coin.
        let lots = prepared.lots().saturating_sub(1);
        let lots = match &prepared.generator {
            None => lots.saturating_mul(10),
            Some(sizes) => lots
                .saturating_mul(7)
                .saturating_add(3 * sizes.iterations(prepared.bits)),
        };
        let segments = demand.ands() / u64::from(prepared.segment);
        lots.saturating_add(segments)
    }

    fn terms(&self, prepared: &Prepared) -> Terms {
        let mut terms = prepared.sizes.terms();
        terms.extend(self.config("", prepared).terms());
        terms
    }

    /// A pool that is kept may have others.
    fn parameters(&self, prepared: &Prepared, source: &MaterialSource<'_>) -> serde_json::Value {
        two::parameters(source, || prepared.to_json())
    }

    fn start(
        &self,
        prepared: Prepared,
        me: PartyId,
        connections: Connections,
        session: &str,
        source: MaterialSource<'_>,
    ) -> Result<AuthenticatedEngine> {
        let mut config = self.config(session, &prepared);
        config.compared = true;
        let channel = connections.one()?;
        match source {
            MaterialSource::Live => AuthenticatedEngine::start(me, channel, config, prepared.sizes),
            MaterialSource::Stored(store) => {
                AuthenticatedEngine::start_kept(me, channel, config, prepared.sizes, store)
            }
        }
    }

    fn made(&self, prepared: &Prepared) -> Option<String> {
        let pool = &prepared.sizes.pool;
        let (size, bucket) = (pool.pool_size, pool.bucket);
        Some(format!(
            "a pool of {size} leaky ANDs, {bucket} of them for a triple"
        ))
    }

    /// A pool, which serves any number of jobs; one that suits the amount. With it the job's circuits, if they are asked for.
    fn order_stock(
        &self,
        demand: &Demand<'_>,
        amount: Amount,
    ) -> std::result::Result<Order<Material>, String> {
        let of_job = demand.likely_ands();
        let (circuits, runs) = match amount {
            Amount::Circuits(times) => (circuits(demand)?, times),
            amount => (Vec::new(), amount.runs(Self::NAME, of_job)?),
        };
        let prepared = self.prepared(of_job.saturating_mul(runs), 0, false)?;
        let size = prepared.sizes.pool.pool_size;
        let bits = self.bytes_of_bits(&prepared.generator, size.saturating_mul(3));
        let made = bits + Self::bytes_of_leaky(&prepared.sizes, size as f64);
        let mut traffic_bytes = BYTES_OF_SETUP.saturating_add(made as u64);
        let mut terms = self.terms(&prepared);
        if !circuits.is_empty() {
            let of_run = self.traffic_bytes(&prepared, demand);
            traffic_bytes = traffic_bytes.saturating_add(of_run.saturating_mul(runs));
            terms.push(("circuits".into(), runs.to_string()));
        }
        Ok(Order {
            terms,
            traffic_bytes,
            material: Material {
                prepared,
                circuits,
                times: runs,
            },
        })
    }

    /// A pool serves any number, unless its leaky ANDs have other bits.
    fn serves(&self, _: &Prepared, _: &Demand<'_>, stored: &Stored) -> Option<u64> {
        let (of, bits) = ((self.security, PartyId(self.garbler)), short::bits(self.security));
        Identity::serves(
            stored,
            Self::NAME,
            of,
            |numbers| matches!(numbers, [_, own] if *own == bits),
        )
    }

    /// Fills the pool that both parties keep, or a new one.
    fn make_stock(
        &self,
        material: Material,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made> {
        let start = Instant::now();
        let Material {
            prepared,
            circuits,
            times,
        } = material;
        let mut config = self.config(session, &prepared);
        config.compared = true;
        let channel = connections.one()?;
        let mut engine = AuthenticatedEngine::start_kept(me, channel, config, prepared.sizes, store)?;
        engine.fill_with(progress)?;
        let (item, size) = (engine.kept_as(), engine.pool_size());
        let mut made = vec![("leaky ANDs", size)];
        if !circuits.is_empty() {
            for time in 0..times {
                for (plan, lanes, runs) in &circuits {
                    (0..*runs).try_for_each(|_| engine.make_ready(plan, *lanes))?;
                }
                progress(time + 1, times);
            }
            made.push(("circuits", times));
        }
        engine.finish()?;
        Ok(Made {
            item: item.ok_or_else(|| Error::Internal("the pool is kept".into()))?,
            material: made,
            time: start.elapsed(),
            traffic: engine.costs().traffic,
        })
    }

    fn describe(stored: &Stored) -> Facts {
        kept::facts(stored)
    }
}

/// The circuits of a job, with their lanes, as often as it runs them.
fn circuits(demand: &Demand<'_>) -> std::result::Result<Vec<(Plan, usize, usize)>, String> {
    let mut circuits = Vec::new();
    for run in demand.runs() {
        let gates = (run.plan.and_count() as u64).saturating_mul(run.lanes as u64);
        if gates > MOST_GATES || run.lanes > most_lanes(run.plan) || run.times > MOST_PREPARED {
            return Err(format!(
                "{gates} AND gates on {} lanes, {} times: up to {MOST_GATES} gates are garbled ahead together, up to {MOST_PREPARED} times",
                run.lanes, run.times
            ));
        }
        if gates > 0 {
            circuits.push((run.plan.clone(), run.lanes, run.times));
        }
    }
    match circuits.is_empty() {
        true => Err("the job has no circuit with AND gates to garble ahead".into()),
        false => Ok(circuits),
    }
}

#[cfg(test)]
mod tests;

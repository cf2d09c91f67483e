//! The protocol to those who choose it by name: its settings, and how a session with them starts.

use std::time::Instant;

use cenote_net::{Channel, PartyId};
use cenote_params::pool::{Parameters, Work};
use cenote_pool::Role;
use cenote_pool::kept::Shown;
use cenote_protocol::{Amount, Facts, Made, Order, Protocol, Setting, Source};
use cenote_session::{Check, Connections, Demand, Engine, Error, Result, Run, Terms, Topology};
use cenote_store::{Store, Stored};
use serde::{Deserialize, Serialize};

use crate::kept;
use crate::memory::Memory;
use crate::online::circuit::shared_gadgets;
use crate::online::{INPUTS_AT_ONCE, INPUTS_OF_LOT};
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

/// What a demand takes.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Pool, buckets and code.
    pub sizes: Sizes,
    /// Gadgets of each kind that are made at once: AND gates, and gadgets of [`MUX_WIDTH`].
    pub buffers: [u32; 2],
    /// Buffers of each kind that are made before they are needed.
    pub ahead: [u64; 2],
    /// What is drawn of each kind.
    works: [Work; 2],
}

/// The largest pool that is chosen where none is stated: half a gigabyte at the evaluator. One eight times as large saves 2% of the
/// gates.
const LARGEST_CHOSEN: u32 = 1 << 21;

/// Most gadgets made at once: 60 MB at both parties together.
const LARGEST_BUFFER: f64 = 131_072.0;

/// The fewest.
const SMALLEST_BUFFER: f64 = 1024.0;

/// Buffers that the gadgets of a program come in of which nobody knows how many it takes.
const GUESSED_BUFFERS: f64 = 16.0;

/// Standard deviations by which fewer gadgets may be left than on average without another buffer.
const DEVIATIONS: f64 = 5.0;

impl Prepared {
    /// `shared` gadgets of [`MUX_WIDTH`] can do a part of the `work`.
    fn new(sizes: Sizes, work: &Work, shared: u64, known: bool) -> Self {
        let works = sizes.works(work, shared);
        let of = |kind: usize, pool: Option<&Parameters>, width: usize| {
            let made = pool.map_or(0.0, |pool| {
                let rate = pool.check_rate();
                let made = works[kind].made(pool, &sizes.anchor) + f64::from(pool.bucket());
                made + DEVIATIONS * (made * rate / (1.0 - rate)).sqrt()
            });
            let [least, most] = [SMALLEST_BUFFER, LARGEST_BUFFER].map(|gates| gates / width as f64);
            let buffers = (made / most).ceil().max(1.0);
            let buffers = if known {
                buffers
            } else {
                buffers.max(GUESSED_BUFFERS)
            };
            let buffer = (made / buffers).clamp(least, most).ceil() as u32;
            let ahead = if known { buffers as u64 - 1 } else { u64::MAX };
            (buffer.next_multiple_of(64), ahead)
        };
        let kinds = [of(0, Some(&sizes.pool), 1), of(1, sizes.mux.as_ref(), MUX_WIDTH)];
        Self {
            buffers: kinds.map(|(buffer, _)| buffer),
            ahead: kinds.map(|(_, ahead)| ahead),
            sizes,
            works,
        }
    }

    /// Of each kind that there is, its pool, the gates of a gadget, what is drawn, and how many buffers are made, about.
    fn kinds(&self) -> impl Iterator<Item = (&Parameters, usize, &Work, f64)> {
        let kinds = self.sizes.pools().zip(&self.works).zip(self.buffers);
        kinds.map(|(((pool, width), work), buffer)| {
            let made = work.made(pool, &self.sizes.anchor);
            let buffers = (made / f64::from(buffer)).ceil();
            (pool, width as usize, work, buffers)
        })
    }

    /// What the report of a session says of its parameters.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(&self.sizes).expect("parameters are numbers");
        if let Some(fields) = value.as_object_mut() {
            fields.remove("security");
            fields.insert("buffer".into(), self.buffers[0].into());
            if self.sizes.mux.is_some() {
                fields.insert("mux_buffer".into(), self.buffers[1].into());
            }
        }
        value
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
        [PartyId(self.garbler), PartyId(1 - self.garbler.min(1))]
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
            "security" => {
                let what =
                    format!("with protocol \"jimu\", security is a number of bits from 1 to {MAX_SECURITY}");
                self.security = value.number(1..=MAX_SECURITY, &what)?;
            }
            "pool" => {
                let what = format!(
                    "pool is how many AND gates are kept ready, from {MIN_POOL} to {MAX_POOL}; leave it out to have as many as suit the job"
                );
                self.pool = Some(value.number(MIN_POOL..=MAX_POOL, &what)?);
            }
            "garbler" => {
                let what = "the garbler is party 0 or 1; the other one evaluates";
                self.garbler = value.number(0..=1, what)?;
            }
            _ => return Err(format!("there is no setting {name}")),
        }
        Ok(())
    }

    fn topology(&self) -> Topology {
        Topology {
            name: Self::NAME.into(),
            parties: 2,
            workers: 1,
            purposes: &["protocol", "pool"],
            shared: &[],
        }
    }

    fn security(&self) -> u32 {
        self.security
    }

    fn variety(&self) -> String {
        format!("party {} garbles", self.garbler)
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
    fn parameters(&self, prepared: &Prepared, source: &Source<'_>) -> serde_json::Value {
        match source {
            Source::Live => prepared.to_json(),
            Source::Stored(_) => serde_json::Value::Null,
        }
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
        source: Source<'_>,
    ) -> Result<JimuEngine> {
        let mut config = self.config(session, &prepared);
        config.compared = true;
        let channels = two(connections)?;
        match source {
            Source::Live => JimuEngine::start(me, channels, config, prepared.sizes),
            Source::Stored(store) => JimuEngine::start_kept(me, channels, config, prepared.sizes, store),
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
        Shown::serves(stored, Self::NAME, self.security, PartyId(self.garbler))
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
mod tests {
    use cenote_circuit::{Plan, library};
    use cenote_session::Parties;

    use super::*;

    fn plan(circuit: &str) -> Plan {
        Plan::new(&library::by_name(circuit).unwrap())
    }

    #[test]
    fn a_small_job_makes_little_more_than_it_draws() {
        let plan = plan("add64");
        for (lanes, pool, buffers) in [(1, 1000, 1.0), (16, 2000, 1.0), (1 << 12, 128_000, 14.0)] {
            let demand = Demand::new()
                .and_run(&plan, lanes, 1)
                .and_input(PartyId(1), 128 * lanes as u64)
                .and_output(Parties::one(PartyId(1)), 64 * lanes as u64);
            let prepared = Jimu::default().prepare(&demand).unwrap();
            let Prepared { sizes, works, .. } = &prepared;
            assert_eq!((works[0].buckets, &sizes.mux), (demand.ands(), &None));
            assert!(sizes.pool.pool_size() <= pool, "{sizes:?}");
            let kinds: Vec<_> = prepared.kinds().collect();
            let [(_, 1, work, made)] = kinds[..] else {
                panic!("one pool");
            };
            assert!(made <= buffers, "{made}");
            assert!(prepared.ahead[0] < made.max(1.0) as u64);
            let made = made * f64::from(prepared.buffers[0]);
            let needed = work.made(&sizes.pool, &sizes.anchor);
            assert!(made < 1.15 * needed + 1024.0, "{made} {needed}");
            assert!(made >= needed);
        }
    }

    /// A permutation is multiplexers only: with enough of them, gadgets for these save bytes, and get a pool.
    #[test]
    fn jobs_with_many_multiplexers_have_a_pool_for_them() {
        let settings = Jimu::default();
        let permute = plan("permute64x32");
        let demand = |lanes| Demand::new().and_run(&permute, lanes, 1);
        let prepared = |demand: &Demand<'_>| settings.prepare(demand).unwrap();
        assert!(
            prepared(&demand(1)).sizes.mux.is_none(),
            "too few to fill a pool for"
        );
        let many = demand(1024);
        let two = prepared(&many);
        let mux = two.sizes.mux.as_ref().expect("a pool for multiplexers");
        let gadgets = Jimu::shared(&many);
        assert_eq!(two.works[1].buckets, gadgets);
        assert_eq!(two.works[0].buckets + 8 * gadgets, many.ands());
        assert_eq!(8 * gadgets, many.ands());
        // It is what the rule says: a twentieth is saved at least.
        let one = Sizes::cheapest(40, &settings.work(&many), 0, MIN_POOL..=LARGEST_CHOSEN).unwrap();
        let one = Prepared::new(one, &settings.work(&many), gadgets, true);
        let traffic = |prepared| settings.traffic_bytes(prepared, &many) as f64;
        assert!(
            traffic(&two) < 0.96 * traffic(&one),
            "{} {}",
            traffic(&two),
            traffic(&one)
        );
        // Memory, buffers and terms know of it.
        let memory = |prepared| settings.memory_bytes(prepared, &many, PartyId(1));
        let stored = two.sizes.stored_bytes(MUX_WIDTH)[1] as u64 * mux.pool_size();
        let of_ands = two.sizes.stored_bytes(1)[1] as u64 * two.sizes.pool.pool_size();
        assert!(memory(&two) > stored + of_ands, "{mux:?}");
        let needed = two.works[1].made(mux, &two.sizes.anchor);
        let made = two.kinds().last().unwrap().3 * f64::from(two.buffers[1]);
        assert!((needed..1.3 * needed + 1024.0).contains(&made), "{made} {needed}");
        assert!(
            settings
                .terms(&two)
                .iter()
                .any(|(name, _)| name == "gates with a common operand")
        );
        assert!(settings.made(&two).unwrap().contains("gadgets of 8 AND gates"));
        // A pool of AND gates that is stated is no obstacle.
        let stated = Jimu {
            pool: Some(50_000),
            ..settings
        };
        let prepared = stated.prepare(&many).unwrap();
        assert!(prepared.sizes.mux.is_some() && prepared.sizes.pool.pool_size() == 50_000);
    }

    #[test]
    fn inputs_and_outputs_of_the_garbler_are_anchored() {
        let demand = Demand::new()
            .and_gates(10)
            .and_input(PartyId(0), 3)
            .and_input(PartyId(1), 40)
            .and_output(Parties::all(2), 5)
            .and_output(Parties::one(PartyId(1)), 600);
        let work = |garbler| {
            let settings = Jimu {
                garbler,
                ..Jimu::default()
            };
            settings.work(&demand)
        };
        assert_eq!((work(0).buckets, work(0).anchors), (10, 8));
        assert_eq!(work(1).anchors, 645);
        assert_eq!(Jimu::default().work(&Demand::new()).buckets, 1 << 15);
    }

    #[test]
    fn a_pool_that_is_stated_is_taken() {
        let stated = Jimu {
            pool: Some(5000),
            ..Jimu::default()
        };
        let demand = Demand::new().and_gates(1 << 40);
        let prepared = stated.prepare(&demand).unwrap();
        assert_eq!(prepared.sizes.pool.pool_size(), 5000);
        let chosen = Jimu::default().prepare(&demand).unwrap();
        assert!(chosen.sizes.pool.pool_size() > u64::from(LARGEST_CHOSEN / 2));
        assert_ne!(stated.terms(&prepared), Jimu::default().terms(&chosen));
        let memory = |party| Jimu::default().memory_bytes(&chosen, &Demand::new(), PartyId(party));
        assert!((250 << 20..600 << 20).contains(&memory(0)), "{}", memory(0));
        assert!((300 << 20..700 << 20).contains(&memory(1)), "{}", memory(1));
    }

    #[test]
    fn levels_do_not_wait_for_one_another() {
        let plan = plan("add64");
        assert_eq!(Jimu::default().rounds(&Demand::new().and_run(&plan, 1, 1)), 0);
        assert!(Jimu::default().rounds(&Demand::new().and_run(&plan, 1 << 20, 1)) > 1000);
    }
}

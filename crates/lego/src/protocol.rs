//! The protocol to those who choose it by name: its settings, and how a session with them starts.

use cenote_net::PartyId;
use cenote_protocol::{Amount, Facts, Made, MaterialSource, Order as Ordered, Protocol, Setting, two};
use cenote_session::{Check, Connections, Demand, Result, Terms, Topology};
use cenote_store::Stored;
use serde::{Deserialize, Serialize};

use crate::store::{Store, StoredLot};
use crate::{Config, Forecast, KINDS, LegoEngine, MAX_SECURITY, Order, checks, estimate, make_lot};

/// Settings of the two-party protocol with LEGO buckets, the same at both parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lego {
    /// Each bound on a wrong output is at most 2 to the minus this; from 1 to [`MAX_SECURITY`].
    pub security: u32,
    /// Workers of each party, side by side: each generates over a connection of its own, and is a thread of the
    /// evaluator online.
    pub workers: u8,
    /// The party that garbles, 0 or 1; the other one evaluates.
    pub garbler: u8,
}

impl Default for Lego {
    /// 40, one worker, party 0 garbles.
    fn default() -> Self {
        Lego {
            security: 40,
            workers: 1,
            garbler: 0,
        }
    }
}

/// What a demand takes: the material, how it is made, and memory.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The material.
    pub order: Order,
    /// What it takes to make it.
    pub forecast: Forecast,
}

impl Prepared {
    /// The base-2 logarithm of the probability that a cheater gets through, at most: the sum of all bounds.
    pub fn error_log2(&self) -> f64 {
        self.forecast.soundness().largest().log2()
    }

    /// The parameters of the first epoch, which all others equal or nearly so, and the number of epochs, about.
    pub fn to_json(&self) -> serde_json::Value {
        let Forecast {
            epochs,
            times,
            opening,
            groups,
            ..
        } = &self.forecast;
        let first = epochs.iter().find_map(|epoch| epoch.parameters.as_ref());
        let mut value = serde_json::to_value(first).expect("parameters are numbers");
        if let Some(fields) = value.as_object_mut() {
            let epochs = (epochs.len() as u64).saturating_mul(*times);
            let opening = (opening.len() as u64).saturating_mul(*groups);
            fields.insert("epochs".into(), epochs.saturating_add(opening).into());
        }
        value
    }

    /// Bytes that both parties' sessions together hold, at most.
    pub fn memory_bytes(&self) -> u64 {
        let Forecast {
            garbler_bytes,
            evaluator_bytes,
            ..
        } = self.forecast;
        garbler_bytes.saturating_add(evaluator_bytes)
    }
}

/// Bytes that solderings, labels and openings of an item take when it is used, at the most.
const BYTES_OF_USE: u64 = 256;

/// Bytes of a wire that a program keeps: its label, and what it comes from.
const BYTES_OF_WIRE: u64 = 72;

impl Lego {
    /// What an engine is started with.
    pub fn config(&self, session: &str) -> Config {
        let mut config = Config::new(session);
        config.security = self.security;
        config.garbler = self.roles()[0];
        config
    }

    /// The garbler and the evaluator.
    pub fn roles(&self) -> [PartyId; 2] {
        two::roles(self.garbler)
    }

    /// As [`Protocol::prepare`], for a session that makes all material of `demand` at once ([`LegoEngine::generate`]).
    ///
    /// # Errors
    /// Why there are no parameters.
    pub fn prepare_at_once(&self, demand: &Demand<'_>) -> std::result::Result<Prepared, String> {
        self.prepare_with(demand, u64::MAX)
    }

    fn prepare_with(&self, demand: &Demand<'_>, ahead: u64) -> std::result::Result<Prepared, String> {
        let config = Config {
            ahead,
            ..self.config("")
        };
        let forecast = Forecast::new(demand, self.workers.into(), &config);
        Ok(Prepared {
            order: self.order(demand),
            forecast: forecast.map_err(|error| error.to_string())?,
        })
    }

    /// The material that `demand` takes if its circuits are prepared.
    pub fn order(&self, demand: &Demand<'_>) -> Order {
        Order::of(demand, self.roles()[0])
    }
}

impl Protocol for Lego {
    const NAME: &'static str = "lego";
    const SETTINGS: &'static [&'static str] = &["security", "workers", "garbler"];
    const CHECKS: &'static [Check] = checks::ALL;
    type Prepared = Prepared;
    type Engine = LegoEngine;
    type Material = Order;
    const ITEM: Option<&'static str> = Some("lot");

    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        match name {
            "security" => {
                let why = ": its codes give no more";
                self.security = two::security(Self::NAME, MAX_SECURITY, why, value)?;
            }
            "workers" => self.workers = value.number(1..=64, "workers is a number from 1 to 64")?,
            "garbler" => self.garbler = two::garbler(value)?,
            _ => return Err(two::no_setting(name)),
        }
        Ok(())
    }

    fn topology(&self) -> Topology {
        two::topology(Self::NAME, self.workers, &["protocol"])
    }

    fn security(&self) -> u32 {
        self.security
    }

    fn variety(&self) -> String {
        two::variety(self.garbler)
    }

    fn prepare(&self, demand: &Demand<'_>) -> std::result::Result<Prepared, String> {
        self.prepare_with(demand, self.config("").ahead)
    }

    fn memory_bytes(&self, prepared: &Prepared, demand: &Demand<'_>, party: PartyId) -> u64 {
        let forecast = if party == self.roles()[0] {
            prepared.forecast.garbler_bytes
        } else {
            prepared.forecast.evaluator_bytes
        };
        forecast.saturating_add(demand.unknown_wires().saturating_mul(BYTES_OF_WIRE))
    }

    fn traffic_bytes(&self, prepared: &Prepared, _: &Demand<'_>) -> u64 {
        let made = prepared.forecast.traffic();
        let used = prepared.order.counts().into_iter().fold(0, u64::saturating_add);
        made.saturating_add(used.saturating_mul(BYTES_OF_USE))
    }

    fn terms(&self, _: &Prepared) -> Terms {
        self.config("").terms(self.workers.into())
    }

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
    ) -> Result<LegoEngine> {
        let (mut config, channels) = (self.config(session), connections.channels());
        config.compared = true;
        let mut engine = match source {
            MaterialSource::Live => LegoEngine::start(me, channels, config)?,
            MaterialSource::Stored(folder) => {
                LegoEngine::start_stored(me, channels, config, folder, &prepared.order)?
            }
        };
        engine.set_threads(self.workers.into());
        Ok(engine)
    }

    /// Gates, with inputs and outputs in the job's proportion.
    fn order_stock(
        &self,
        demand: &Demand<'_>,
        amount: Amount,
    ) -> std::result::Result<Ordered<Order>, String> {
        let run = self.order(demand);
        let material = match amount.counted(Self::NAME)? {
            Amount::Runs(count) | Amount::Batches(count) | Amount::Circuits(count) => run.times(count),
            Amount::AndGates(gates) => {
                let what = "the job has no AND gates: say how many runs of it to make stock for";
                let runs = gates.checked_div(run.ands).ok_or(what)?;
                Order {
                    ands: gates,
                    ..run.times(runs + u64::from(!gates.is_multiple_of(run.ands)))
                }
            }
        };
        if material.is_empty() {
            return Err("the job needs no material: it needs no stock".into());
        }
        let config = self.config("");
        let epochs = estimate(&material, &config).map_err(|error| error.to_string())?;
        let traffic_bytes = epochs
            .iter()
            .map(|epoch| epoch.traffic)
            .fold(0, u64::saturating_add);
        let mut terms = config.terms(self.workers.into());
        terms.push(("stock".into(), material.to_string()));
        Ok(Ordered {
            material,
            terms,
            traffic_bytes,
        })
    }

    fn serves(&self, prepared: &Prepared, _: &Demand<'_>, stored: &Stored) -> Option<u64> {
        let garbles = stored.item.party == self.roles()[0];
        let ours = |lot: &StoredLot| lot.security == self.security && lot.garbler == garbles;
        let lot = StoredLot::of(stored).filter(ours)?;
        let kinds = lot.left.counts().into_iter().zip(prepared.order.counts());
        let sessions = kinds.filter_map(|(left, taken)| left.checked_div(taken)).min();
        Some(sessions.unwrap_or(u64::MAX))
    }

    fn make_stock(
        &self,
        material: Order,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made> {
        let (mut config, channels) = (self.config(session), connections.channels());
        config.compared = true;
        let mut progress = |done: Order| progress(done.ands.min(material.ands), material.ands);
        let lot = make_lot(me, channels, config, store, &material, &mut progress)?;
        let counts = KINDS.into_iter().zip(material.counts());
        Ok(Made {
            item: lot.id,
            material: counts.filter(|(_, count)| *count > 0).collect(),
            time: lot.time,
            traffic: lot.traffic,
        })
    }

    fn describe(stored: &Stored) -> Facts {
        let of = |lot: StoredLot| {
            let role = if lot.garbler { "garbler" } else { "evaluator" };
            let mut facts: Facts = vec![("role", role.into()), ("security", lot.security.into())];
            let counts = KINDS.into_iter().zip(lot.left.counts());
            facts.extend(counts.map(|(kind, count)| (kind, count.into())));
            facts
        };
        StoredLot::of(stored).map(of).unwrap_or_default()
    }
}

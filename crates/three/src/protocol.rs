//! The protocol to those who choose it by name: its settings, and how a session with them starts.

#[cfg(test)]
mod tests;

use std::fmt;

use cenote_circuit::Plan;
use cenote_net::PartyId;
use cenote_params::three::{Parameters, Proofs, Variant, Workload, search};
use cenote_primitives::BLOCK_BITS;
use cenote_protocol::{Amount, Facts, Made, MaterialSource, Order, Protocol, Setting};
use cenote_session::{Check, Connections, Demand, Moves, Result, Run, Terms, Topology};
use cenote_store::Stored;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::online::evaluator::largest_layer;
use crate::online::shuffle::MOST_PENDING;
use crate::settings::{Method, Verification, worker_bytes};
use crate::store::{MAX_BATCHES, OfflineReport, Store, StoredEpoch, fill, settings};
use crate::triple_check::WINDOW;
use crate::wires::spare;
use crate::{Config, Lag, Links, ThreeEngine, ViewCheck, batches_needed, checks};

/// Settings of the three-party protocol, the same at all parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Three {
    /// How AND gates are verified: by proofs, or with triples in one of four ways. If nothing is said: by proofs; where more security is asked for than they
    /// have, with triples on demand, or of the baseline if a job is so small that less is sent for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Verification>,
    /// By what two parties compare what each has sent and received: a MAC or a hash.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub view_check: ViewCheck,
    /// A wrong output passes with probability at most 2 to the minus this.
    pub security: u32,
    /// Workers of each party: pairs of threads, side by side, each with connections of its own.
    pub workers: u8,
}

impl Default for Three {
    /// The usual variant, `mac`, 40, one worker.
    fn default() -> Self {
        Three {
            variant: None,
            view_check: ViewCheck::Mac,
            security: 40,
            workers: 1,
        }
    }
}

impl Three {
    /// The variant called `name`.
    ///
    /// # Errors
    /// The names there are.
    pub fn variant(name: &str) -> std::result::Result<Verification, String> {
        name.parse()
    }

    /// Whether AND gates are verified by proofs.
    pub fn proves(&self) -> bool {
        match self.variant {
            None => self.security <= Proofs::MOST_SECURITY,
            Some(variant) => variant == Verification::Proofs,
        }
    }

    /// Blocks of AND gates: a level of a circuit fills whole words, words are packed into blocks. The engine may take a few
    /// more.
    pub fn and_blocks(demand: &Demand<'_>) -> u64 {
        demand.and_words().div_ceil(BLOCK_BITS as u64 / 64).max(1)
    }

    /// Batches of triples with these parameters that a session takes to do what `demand` says.
    pub fn batches_needed(&self, parameters: &Parameters, demand: &Demand<'_>) -> u64 {
        fn each<'a>(run: &Run<'a>) -> impl Iterator<Item = (&'a Plan, usize)> {
            std::iter::repeat_n((run.plan, run.lanes), run.times)
        }
        let runs = demand.runs().iter().flat_map(each);
        batches_needed(parameters, runs, self.workers.into())
    }

    /// The same where it is not known what circuits there are: every worker's last batch may be partly used, and on demand each draws
    /// from one more.
    fn batches_for(&self, parameters: &Parameters, demand: &Demand<'_>) -> u64 {
        match demand.unknown_ands() {
            0 => self.batches_needed(parameters, demand),
            _ => self.batches_with_margin(parameters, Self::and_blocks(demand).div_ceil(parameters.n())),
        }
    }

    fn batches_with_margin(&self, parameters: &Parameters, batches: u64) -> u64 {
        let workers = u64::from(self.workers);
        let more = match parameters.variant() {
            Variant::OnDemand => workers,
            _ => 0,
        };
        batches.saturating_add(workers - 1 + more)
    }

    /// With buckets of two sizes where they are cheaper.
    ///
    /// On demand, every worker draws from a batch that the gates do not use up, and batches cannot be small: a job of few gates
    /// needs less of the baseline. What is not known to be small is done on demand. Buckets of two save up to 30 % of what is
    /// sent, but take 830 MB at the usual security, so they are for sessions of many gates.
    fn triples(&self, demand: &Demand<'_>) -> std::result::Result<Parameters, String> {
        let blocks = Self::and_blocks(demand);
        let workload = Workload {
            security: self.security,
            blocks: Some(blocks),
            block_bits: BLOCK_BITS as u32,
            mixed: true,
            ..Workload::default()
        };
        let limited = Workload {
            memory_limit: Some(MEMORY.max(blocks.saturating_mul(MEMORY_OF_BLOCK))),
            ..workload.clone()
        };
        let search = |variant| {
            search(variant, &limited)
                .or_else(|_| search(variant, &workload))
                .map_err(|refusal| refusal.to_string())
        };
        if let Some(Verification::Triples(variant)) = self.variant {
            return search(variant);
        }
        let on_demand = search(Variant::OnDemand)?;
        if demand.unknown_ands() > 0 || demand.runs().is_empty() {
            return Ok(on_demand);
        }
        let of_worker = blocks.div_ceil(self.workers.into());
        let sent = |parameters: &Parameters| parameters.job_cost(of_worker).blocks_sent;
        let baseline = search(Variant::Baseline)?;
        Ok(if sent(&baseline) < sent(&on_demand) {
            baseline
        } else {
            on_demand
        })
    }

    /// What an engine is started with.
    pub fn config(&self, method: impl Into<Method>, session: &str) -> Config {
        let mut config = Config::new(method, session);
        let is_large = match &config.method {
            Method::Triples(parameters) => parameters.blocks_per_batch() > (Lag::LEAST * WINDOW) as u64,
            Method::Proofs(_) => false,
        };
        config.view_check = self.view_check;
        (config.shuffles, config.digests) = (self.shuffles(), self.digests());
        // All messages of a small batch are in flight in any case.
        if is_large {
            config.lag = Lag::Measured;
        }
        config
    }
}

/// The most bits of security with which rows are moved and compared by sums over GF(2^64): each passes a wrong row with some `2^-64`, and a session has
/// hundreds at most.
const FIELD_SECURITY: u32 = 50;

/// What a worker may take for triples, if parameters can be found that take no more: so many bytes, or half a bit for each gate of a session of many.
const MEMORY: u64 = 64 << 20;
const MEMORY_OF_BLOCK: u64 = BLOCK_BITS as u64 / 16;

impl Protocol for Three {
    const NAME: &'static str = "three";
    const SETTINGS: &'static [&'static str] = &["variant", "view_check", "security", "workers"];
    const KEPT_ROWS: usize = 2;
    const CHECKS: &'static [Check] = checks::ALL;
    type Prepared = Method;
    type Engine = ThreeEngine;
    /// With how many batches of triples.
    type Material = (Parameters, u64);
    const ITEM: Option<&'static str> = Some("epoch");

    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        match name {
            "variant" => self.variant = Some(value.named(|name| name.parse().ok(), &Verification::names())?),
            "view_check" => {
                let what = "the view check is one of mac, sha256";
                self.view_check = value.named(|name| name.parse().ok(), what)?;
            }
            "security" => {
                let what = "security is a number of bits from 1 to 128, with proofs to 120; 40 is usual";
                self.security = value.number(1..=128, what)?;
            }
            "workers" => self.workers = value.number(1..=64, "workers is a number from 1 to 64")?,
            _ => return Err(format!("there is no setting {name}")),
        }
        Ok(())
    }

    /// A worker makes triples, or proves gates, on one thread and evaluates on another; each has its own channels.
    fn topology(&self) -> Topology {
        Topology {
            name: Self::NAME.into(),
            parties: 3,
            workers: self.workers,
            purposes: &["generator", "evaluator"],
            shared: &[],
        }
    }

    fn security(&self) -> u32 {
        self.security
    }

    /// Not where each check takes a whole batch, since sorts check after each step.
    fn shuffles(&self) -> bool {
        self.security <= FIELD_SECURITY && self.variant != Some(Variant::Reshuffle.into())
    }

    fn digests(&self) -> bool {
        self.security <= FIELD_SECURITY
    }

    fn variety(&self) -> String {
        match self.variant {
            _ if self.proves() => "proofs".into(),
            Some(variant) => format!("{variant}, views by {}", self.view_check),
            None => format!("triples, views by {}", self.view_check),
        }
    }

    fn rivals(&self) -> Vec<(&'static str, Self)> {
        let with = |variant: Verification| Three {
            variant: Some(variant),
            ..*self
        };
        if self.proves() {
            vec![("triples", with(Variant::OnDemand.into()))]
        } else if self.security <= Proofs::MOST_SECURITY {
            vec![("proofs", with(Verification::Proofs))]
        } else {
            Vec::new()
        }
    }

    fn prepare(&self, demand: &Demand<'_>) -> std::result::Result<Method, String> {
        if self.proves() {
            let of_worker = Self::and_blocks(demand).div_ceil(self.workers.into());
            let proofs = Proofs::for_job(self.security, of_worker).map_err(|refusal| refusal.to_string())?;
            return Ok(proofs.into());
        }
        self.triples(demand).map(Method::Triples)
    }

    /// The buffers of each worker, with as many messages in flight as peers can have it measure; and as wires two components of
    /// each bit: all outputs, and of the largest run everything.
    fn memory_bytes(&self, method: &Method, demand: &Demand<'_>, _: PartyId) -> u64 {
        let slots = |run: &Run<'_>| {
            let slots = run.plan.slots() + run.plan.input_wires() + run.plan.output_wires();
            (slots as u64).saturating_mul(run.lanes as u64)
        };
        let of_run = demand
            .runs()
            .iter()
            .map(slots)
            .max()
            .unwrap_or(0)
            .max(demand.unknown_wires());
        let wires = of_run.saturating_add(demand.output_bits());
        let of_worker = match method {
            Method::Triples(_) => worker_bytes(method, 1, Lag::MOST),
            Method::Proofs(proofs) => {
                let layers = demand.runs().iter().map(|run| largest_layer(run.plan, run.lanes));
                proofs.memory_bytes_for(layers.max().unwrap_or(0))
            }
        };
        of_worker
            .saturating_mul(self.workers.into())
            .saturating_add(wires / 4)
            .saturating_add(moving_bytes(demand.moves()))
            .saturating_add((wires / 4).min(8 * spare::MOST as u64))
    }

    fn traffic_bytes(&self, method: &Method, demand: &Demand<'_>) -> u64 {
        // Every worker begins with batches of its own.
        let started = method.bytes_sent(1).saturating_mul(self.workers.into());
        let moves = demand.moves();
        // Two messages with the rows and their tags, and one with products of tags.
        let moved = moves
            .words
            .saturating_mul(32)
            .saturating_add(moves.rows.saturating_mul(48));
        let gates = method.bytes_sent(Self::and_blocks(demand));
        gates
            .saturating_add(started)
            .saturating_mul(2)
            .saturating_add(moved)
    }

    /// One for each level of a circuit.
    fn rounds(&self, demand: &Demand<'_>) -> u64 {
        let levels = |run: &Run<'_>| (run.plan.and_depth() as u64).saturating_mul(run.times as u64);
        demand.runs().iter().map(levels).fold(0, u64::saturating_add)
    }

    fn terms(&self, method: &Method) -> Terms {
        // What people choose tells more than what follows from it.
        let mut terms = vec![("security".into(), self.security.to_string())];
        let of_engine = self.config(method.clone(), "").terms(self.workers.into());
        terms.extend(of_engine);
        terms
    }

    fn parameters(&self, method: &Method, _: &MaterialSource<'_>) -> serde_json::Value {
        serde_json::to_value(method).expect("parameters are numbers and names")
    }

    fn start(
        &self,
        method: Method,
        me: PartyId,
        connections: Connections,
        session: &str,
        source: MaterialSource<'_>,
    ) -> Result<ThreeEngine> {
        let (mut config, links) = (self.config(method, session), Links::of(me, connections));
        config.compared = true;
        match source {
            MaterialSource::Live => ThreeEngine::start(me, links, config),
            MaterialSource::Stored(folder) => ThreeEngine::start_online(me, links, config, folder),
        }
    }

    fn item(&self) -> std::result::Result<&'static str, String> {
        if self.proves() {
            return Err(
                "protocol \"three\" takes nothing from stock: its parties prove their AND gates while a job runs. To make triples ahead, \
                 choose a variant that uses them, such as variant = \"on-demand\""
                    .into(),
            );
        }
        Ok("epoch")
    }

    /// Batches for the parameters of the job; they serve every job with the same.
    fn order_stock(
        &self,
        demand: &Demand<'_>,
        amount: Amount,
    ) -> std::result::Result<Order<Self::Material>, String> {
        Protocol::item(self)?;
        let parameters = self.triples(demand)?;
        let batches = match amount {
            Amount::Batches(batches) => batches,
            Amount::Circuits(_) => amount.counted(Self::NAME).map(|_| 0)?,
            Amount::Runs(runs) => self.batches_for(&parameters, demand).saturating_mul(runs),
            Amount::AndGates(gates) => {
                self.batches_with_margin(&parameters, gates.div_ceil(gates_of_batch(&parameters)))
            }
        };
        if batches == 0 {
            return Err("the job has no AND gates: it needs no stock".into());
        }
        if batches > MAX_BATCHES {
            return Err(format!(
                "that takes {batches} batches of {} AND gates, and at most {MAX_BATCHES} are made at once: make stock for a larger job, or less of it",
                gates_of_batch(&parameters)
            ));
        }
        let mut terms = self.terms(&parameters.clone().into());
        terms.push(("batches".into(), batches.to_string()));
        let traffic_bytes = both_ways(parameters.blocks_sent_per_batch().saturating_mul(batches));
        Ok(Order {
            material: (parameters, batches),
            terms,
            traffic_bytes,
        })
    }

    /// Epochs serve sessions with their own parameters.
    fn prepare_stored(&self, _: &Demand<'_>, stocked: &Demand<'_>) -> std::result::Result<Method, String> {
        self.prepare(stocked)
    }

    fn serves(&self, method: &Method, demand: &Demand<'_>, stored: &Stored) -> Option<u64> {
        let Method::Triples(parameters) = method else {
            return None;
        };
        let ours = |epoch: &StoredEpoch| epoch.settings == settings(parameters, self.view_check);
        let epoch = StoredEpoch::of(stored).filter(ours)?;
        let sessions = (epoch.batches.len() as u64).checked_div(self.batches_for(parameters, demand));
        Some(sessions.unwrap_or(u64::MAX))
    }

    fn make_stock(
        &self,
        (parameters, batches): Self::Material,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made> {
        let gates = gates_of_batch(&parameters);
        let (mut config, links) = (self.config(parameters, session), Links::of(me, connections));
        config.compared = true;
        let mut progress =
            |done: u64, total: u64| progress(done.saturating_mul(gates), total.saturating_mul(gates));
        let OfflineReport {
            epoch,
            batches,
            gates,
            traffic,
            time,
        } = fill(me, links, config, store, batches, &mut progress)?;
        Ok(Made {
            item: epoch,
            material: vec![("batches", batches), ("AND gates", gates)],
            time,
            traffic,
        })
    }

    fn describe(stored: &Stored) -> Facts {
        let of = |epoch: StoredEpoch| {
            let batches = epoch.batches.len() as u64;
            vec![
                ("batches", batches.into()),
                ("AND gates", epoch.gates_per_batch.saturating_mul(batches).into()),
                ("parameters", epoch.settings.into()),
            ]
        };
        StoredEpoch::of(stored).map(of).unwrap_or_default()
    }
}

/// Bytes of rows that are moved: both components of those that come and go and of what is between, and of two states of those that wait for their check.
fn moving_bytes(moves: Moves) -> u64 {
    let with_tags = |words: u64, rows: u64| words.saturating_add(rows).saturating_mul(16);
    let moving = with_tags(moves.most.1, moves.most.0);
    let waiting = with_tags(moves.words, moves.rows).min(MOST_PENDING as u64 / 2);
    moving.saturating_mul(4).saturating_add(waiting.saturating_mul(2))
}

/// Bytes sent and received of so many blocks sent.
fn both_ways(blocks: u64) -> u64 {
    blocks.saturating_mul(2 * BLOCK_BITS as u64 / 8)
}

/// AND gates that a batch serves.
fn gates_of_batch(parameters: &Parameters) -> u64 {
    parameters.n().saturating_mul(BLOCK_BITS as u64)
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn from_text<'de, T, D>(deserializer: D) -> std::result::Result<T, D::Error>
where
    T: std::str::FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}

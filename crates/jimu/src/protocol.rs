//! The protocol to those who choose it by name: its settings, and how a session with them starts.

use cenote_net::PartyId;
use cenote_params::pool::Work;
use cenote_protocol::{Protocol, Setting, Source};
use cenote_session::{Check, Connections, Demand, Error, Result, Terms, Topology};
use serde::{Deserialize, Serialize};

use crate::memory::Memory;
use crate::online::{INPUTS_AT_ONCE, INPUTS_OF_LOT, Role};
use crate::{Config, JimuEngine, MAX_POOL, MAX_SECURITY, MIN_POOL, Sizes, checks};

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
    /// Gadgets made at once.
    pub buffer: u32,
    /// Buffers that are made before they are needed.
    pub ahead: u64,
    work: Work,
}

/// The largest pool that is chosen where none is stated: half a gigabyte at the evaluator. One eight times as large saves 2% of the
/// gates.
const LARGEST_CHOSEN: u32 = 1 << 21;

/// AND gates that a program is taken to have which says nothing of it.
const ASSUMED: u64 = 1 << 15;

/// Most gadgets made at once: 60 MB at both parties together.
const LARGEST_BUFFER: f64 = 131_072.0;

/// The fewest.
const SMALLEST_BUFFER: f64 = 1024.0;

/// Buffers that the gadgets of a program come in of which nobody knows how many it takes.
const GUESSED_BUFFERS: f64 = 16.0;

/// Standard deviations by which fewer gadgets may be left than on average without another buffer.
const DEVIATIONS: f64 = 5.0;

impl Prepared {
    fn new(sizes: Sizes, work: Work, known: bool) -> Self {
        let rate = sizes.pool.check_rate();
        let made = work.made(&sizes.pool, &sizes.anchor) + 1.0;
        let made = made + DEVIATIONS * (made * rate / (1.0 - rate)).sqrt();
        let buffers = (made / LARGEST_BUFFER).ceil().max(1.0);
        let buffers = if known {
            buffers
        } else {
            buffers.max(GUESSED_BUFFERS)
        };
        let buffer = (made / buffers).clamp(SMALLEST_BUFFER, LARGEST_BUFFER);
        Self {
            ahead: match known {
                true => buffers as u64 - 1,
                false => u64::MAX,
            },
            buffer: (buffer.ceil() as u32).next_multiple_of(64),
            sizes,
            work,
        }
    }

    /// How many buffers are made, about.
    fn buffers(&self) -> f64 {
        let made = self.work.made(&self.sizes.pool, &self.sizes.anchor);
        (made / f64::from(self.buffer)).ceil()
    }

    /// What the report of a session says of its parameters.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(&self.sizes).expect("parameters are numbers");
        if let Some(fields) = value.as_object_mut() {
            fields.remove("security");
            fields.insert("buffer".into(), self.buffer.into());
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
        config.buffer = prepared.buffer;
        config.ahead = prepared.ahead;
        config.garbler = self.roles()[0];
        config
    }

    /// The garbler and the evaluator.
    pub fn roles(&self) -> [PartyId; 2] {
        [PartyId(self.garbler), PartyId(1 - self.garbler.min(1))]
    }

    /// Bits of inputs of `owner`'s.
    fn inputs(&self, demand: &Demand<'_>, owner: PartyId) -> u64 {
        let inputs = demand.inputs().iter().filter(|(of, _)| *of == owner);
        inputs.map(|(_, bits)| *bits).fold(0, u64::saturating_add)
    }

    /// What `demand` draws from the pool.
    pub fn work(&self, demand: &Demand<'_>) -> Work {
        let [garbler, _] = self.roles();
        let returned = demand.outputs().iter().filter(|(to, _)| to.contains(garbler));
        let returned = returned.map(|(_, bits)| *bits).fold(0, u64::saturating_add);
        Work {
            buckets: match demand.ands() {
                0 if says_nothing(demand) => ASSUMED,
                ands => ands,
            },
            anchors: self.inputs(demand, garbler).saturating_add(returned),
        }
    }
}

/// Whether a program has told nothing of what it will do.
fn says_nothing(demand: &Demand<'_>) -> bool {
    demand.runs().is_empty() && demand.inputs().is_empty() && demand.outputs().is_empty()
}

impl Protocol for Jimu {
    const NAME: &'static str = "jimu";
    const SETTINGS: &'static [&'static str] = &["security", "pool", "garbler"];
    const CHECKS: &'static [Check] = checks::ALL;
    type Prepared = Prepared;
    type Engine = JimuEngine;
    type Material = ();

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
        let work = self.work(demand);
        let sizes = match self.pool {
            Some(pool) => Sizes::search(self.security, pool, None)?,
            None => Sizes::cheapest(self.security, &work, MIN_POOL..=LARGEST_CHOSEN)?,
        };
        let known = demand.unknown_ands() == 0 && !says_nothing(demand);
        Ok(Prepared::new(sizes, work, known))
    }

    fn memory_bytes(&self, prepared: &Prepared, demand: &Demand<'_>, party: PartyId) -> u64 {
        let role = Role::of(party, self.roles()[0]);
        Memory::of(&prepared.sizes, role).session(prepared.buffer.into(), demand)
    }

    fn traffic_bytes(&self, prepared: &Prepared, demand: &Demand<'_>) -> u64 {
        let Prepared { sizes, work, .. } = prepared;
        let [n, k] = [sizes.labels.length(), sizes.labels.message()].map(f64::from);
        let [garbler, evaluator] = self.roles();
        // Two random labels, a chosen one, two rows of a table, three authenticated bits; of those checked, two labels.
        let made = 2.0 * (n - k) + n + 2.0 * k + 3.0 * 8.0 + sizes.pool.check_rate() * 2.0 * k;
        let soldered = work.buckets as f64 * f64::from(3 * sizes.pool.bucket() - 1)
            + work.anchors as f64 * f64::from(2 * sizes.anchor.bucket);
        // A label, and an OT with two of them for each that is transferred, some more than are used.
        let of_garbler = self.inputs(demand, garbler) as f64 * (n + 8.0);
        let more = 1.0 + f64::from(self.security) / INPUTS_OF_LOT as f64;
        let of_evaluator = self.inputs(demand, evaluator) as f64 * more * (n + k + 100.0);
        let gadgets = prepared.buffers() * f64::from(prepared.buffer);
        let bytes = gadgets * made + soldered * k + of_garbler + of_evaluator;
        BYTES_OF_SETUP.saturating_add(bytes as u64)
    }

    /// Those of buffers after the first, and of the evaluator's inputs.
    fn rounds(&self, demand: &Demand<'_>) -> u64 {
        let Ok(prepared) = self.prepare(demand) else {
            return 0;
        };
        let of_buffer = 2.0 + 2.0 * (3.0 * f64::from(prepared.buffer) / BITS_AT_ONCE).ceil();
        let buffers = (prepared.buffers() - 1.0).max(0.0) * of_buffer;
        let inputs = self.inputs(demand, self.roles()[1]);
        let transfers = inputs.div_ceil(INPUTS_AT_ONCE as u64);
        (buffers as u64).saturating_add(transfers.saturating_mul(ROUNDS_OF_INPUTS))
    }

    fn terms(&self, prepared: &Prepared) -> Terms {
        let mut terms = self.config("", prepared).terms();
        terms.extend(prepared.sizes.terms());
        terms
    }

    fn parameters(&self, prepared: &Prepared, _: &Source<'_>) -> serde_json::Value {
        prepared.to_json()
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
        if let Source::Stored(_) = source {
            let reason = "protocol \"jimu\" has no stock: its pool is filled in the session";
            return Err(Error::BadInput(reason.into()));
        }
        let channels = connections.channels().try_into();
        let channels =
            channels.map_err(|_| Error::BadInput("a session over a pool has two channels".into()))?;
        JimuEngine::start(me, channels, config, prepared.sizes)
    }
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
            let Prepared {
                sizes, buffer, work, ..
            } = &prepared;
            assert_eq!(work.buckets, demand.ands());
            assert!(sizes.pool.pool_size() <= pool, "{sizes:?}");
            assert!(prepared.buffers() <= buffers, "{}", prepared.buffers());
            assert!(prepared.ahead < prepared.buffers().max(1.0) as u64);
            let made = prepared.buffers() * f64::from(*buffer);
            let needed = work.made(&sizes.pool, &sizes.anchor);
            assert!(made < 1.15 * needed + 1024.0, "{made} {needed}");
            assert!(made >= needed);
        }
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
        assert_eq!(Jimu::default().work(&Demand::new()).buckets, ASSUMED);
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

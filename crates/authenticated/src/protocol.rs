//! The protocol to those who choose it by name: its settings, and how a session with them starts.

use cenote_net::PartyId;
use cenote_params::cot::SoftSpoken;
use cenote_protocol::{Protocol, Setting, Source};
use cenote_session::{Check, Connections, Demand, Error, Result, Terms, Topology};
use serde::{Deserialize, Serialize};

use crate::memory::Memory;
use crate::settings::MAX_SYMBOL;
use crate::{AuthenticatedEngine, Config, MAX_POOL, MAX_SECURITY, Sizes, checks};

/// Settings of the two-party protocol of authenticated garbling, the same at both parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authenticated {
    /// The probability of a wrong output is at most 2 to the minus this, for all that is ever computed over the pool; from 1 to
    /// [`MAX_SECURITY`].
    pub security: u32,
    /// Leaky ANDs in the pool, up to [`MAX_POOL`]; without it, as many as make the job cheapest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<u32>,
    /// Bits of a symbol of Δ, from 1 to 8: the longer, the fewer bytes and the more work.
    pub symbol: u32,
    /// The party that garbles, 0 or 1; the other one evaluates.
    pub garbler: u8,
}

impl Default for Authenticated {
    /// 40, a pool for the job, symbols of 4 bits, party 0 garbles.
    fn default() -> Self {
        Authenticated {
            security: 40,
            pool: None,
            symbol: 4,
            garbler: 0,
        }
    }
}

/// What a demand takes.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Pool and buckets.
    pub sizes: Sizes,
    /// Leaky ANDs made at once.
    pub lot: u32,
    /// Gates garbled at once.
    pub segment: u32,
    ands: u64,
}

/// The largest pool that is chosen where none is stated: 100 MB at each party.
const LARGEST_CHOSEN: u32 = 1 << 20;

/// AND gates that a program is taken to have which says nothing of it.
const ASSUMED: u64 = 1 << 15;

/// Most leaky ANDs made at once.
const LARGEST_LOT: u64 = 1 << 17;

/// The fewest.
const SMALLEST_LOT: u64 = 1024;

/// Lots that the leaky ANDs of a program come in of which nobody knows how many it takes.
const GUESSED_LOTS: u64 = 16;

/// Bytes of setting a session up, about.
const BYTES_OF_SETUP: u64 = 40_000;

impl Prepared {
    fn new(sizes: Sizes, ands: u64, known: bool) -> Self {
        let made = made(&sizes, ands);
        let lots = made
            .div_ceil(LARGEST_LOT)
            .max(if known { 1 } else { GUESSED_LOTS });
        let lot = made.div_ceil(lots).clamp(SMALLEST_LOT, LARGEST_LOT);
        Self {
            lot: lot.next_multiple_of(64) as u32,
            segment: Config::new("").segment,
            sizes,
            ands,
        }
    }

    /// How many lots are made.
    fn lots(&self) -> u64 {
        match self.ands {
            0 => 0,
            ands => made(&self.sizes, ands).div_ceil(self.lot.into()),
        }
    }

    /// What the report of a session says of its parameters.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(&self.sizes).expect("parameters are numbers");
        if let Some(fields) = value.as_object_mut() {
            fields.remove("security");
            fields.insert("lot".into(), self.lot.into());
        }
        value
    }
}

/// Leaky ANDs that so many gates take.
fn made(sizes: &Sizes, ands: u64) -> u64 {
    let drawn = ands.saturating_mul(sizes.pool.bucket.into());
    sizes.pool.pool_size.saturating_add(drawn)
}

/// AND gates of a demand.
fn ands(demand: &Demand<'_>) -> u64 {
    match demand.ands() {
        0 if says_nothing(demand) => ASSUMED,
        ands => ands,
    }
}

/// Whether a program has told nothing of what it will do.
fn says_nothing(demand: &Demand<'_>) -> bool {
    demand.runs().is_empty() && demand.inputs().is_empty() && demand.outputs().is_empty()
}

/// The sum of the bits of `values`.
fn bits<T: Copy>(values: &[(T, u64)]) -> u64 {
    values.iter().map(|(_, bits)| *bits).fold(0, u64::saturating_add)
}

impl Authenticated {
    /// What an engine is started with.
    pub fn config(&self, session: &str, prepared: &Prepared) -> Config {
        let mut config = Config::new(session);
        config.lot = prepared.lot;
        config.segment = prepared.segment;
        config.symbol = self.symbol;
        config.garbler = PartyId(self.garbler);
        config
    }
}

impl Protocol for Authenticated {
    const NAME: &'static str = "authenticated";
    const SETTINGS: &'static [&'static str] = &["security", "pool", "symbol", "garbler"];
    const CHECKS: &'static [Check] = checks::ALL;
    type Prepared = Prepared;
    type Engine = AuthenticatedEngine;
    type Material = ();

    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        match name {
            "security" => {
                let what = format!(
                    "with protocol \"authenticated\", security is a number of bits from 1 to {MAX_SECURITY}"
                );
                self.security = value.number(1..=MAX_SECURITY, &what)?;
            }
            "pool" => {
                let what = format!(
                    "pool is how many leaky ANDs are kept ready, up to {MAX_POOL}; leave it out to have as many as suit the job"
                );
                self.pool = Some(value.number(1..=MAX_POOL, &what)?);
            }
            "symbol" => {
                let what = format!(
                    "symbol is a number of bits from 1 to {MAX_SYMBOL}: the longer, the fewer bytes and the more work"
                );
                self.symbol = value.number(1..=MAX_SYMBOL, &what)?;
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
            purposes: &["protocol"],
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
        let ands = ands(demand);
        let sizes = match self.pool {
            Some(pool) => Sizes::search(self.security, pool)?,
            None => Sizes::cheapest(self.security, ands, LARGEST_CHOSEN)?,
        };
        let known = demand.unknown_ands() == 0 && !says_nothing(demand);
        Ok(Prepared::new(sizes, ands, known))
    }

    fn memory_bytes(&self, prepared: &Prepared, demand: &Demand<'_>, _: PartyId) -> u64 {
        let memory = Memory {
            sizes: &prepared.sizes,
            lot: prepared.lot.into(),
            segment: prepared.segment.into(),
        };
        memory.session(demand)
    }

    fn traffic_bytes(&self, prepared: &Prepared, demand: &Demand<'_>) -> u64 {
        let bit = SoftSpoken::new(self.symbol).map_or(16.0, |cot| f64::from(cot.sent_bits()) / 8.0);
        let bucket = f64::from(prepared.sizes.pool.bucket);
        let leaky = prepared.lots() as f64 * f64::from(prepared.lot);
        let ands = prepared.ands as f64;
        // Both ways: three bits and a block of a leaky AND; what is opened, the table, and the check of a gate.
        let made = leaky * 2.0 * (3.0 * bit + 16.0 + 1.0 / 8.0);
        let garbled = ands * (2.0 * bit + 2.0 * (bucket + 1.0) / 8.0 + 32.0 + 3.0 / 8.0);
        let values = bits(demand.inputs()) as f64 * (2.0 * bit + 17.0) + bits(demand.outputs()) as f64 / 4.0;
        BYTES_OF_SETUP.saturating_add((made + garbled + values) as u64)
    }

    fn rounds(&self, demand: &Demand<'_>) -> u64 {
        let Ok(prepared) = self.prepare(demand) else {
            return 0;
        };
        // A lot takes three messages for its bits, one for its blocks, one to correct them, two to compare them, and the coin.
        let lots = prepared.lots().saturating_sub(1).saturating_mul(10);
        let segments = demand.ands() / u64::from(prepared.segment);
        lots.saturating_add(segments)
    }

    fn terms(&self, prepared: &Prepared) -> Terms {
        let mut terms = prepared.sizes.terms();
        terms.extend(self.config("", prepared).terms());
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
    ) -> Result<AuthenticatedEngine> {
        let mut config = self.config(session, &prepared);
        config.compared = true;
        if let Source::Stored(_) = source {
            let reason = "protocol \"authenticated\" has no stock: its pool is filled in the session";
            return Err(Error::BadInput(reason.into()));
        }
        let mut channels = connections.channels();
        match (channels.pop(), channels.pop()) {
            (Some(channel), None) => AuthenticatedEngine::start(me, channel, config, prepared.sizes),
            _ => Err(Error::BadInput("a session over a pool has one channel".into())),
        }
    }
}

//! The protocols, by name. This is the only place that lists them.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use cenote_authenticated::Authenticated;
use cenote_jimu::Jimu;
use cenote_lego::Lego;
use cenote_net::PartyId;
use cenote_program::Abilities;
use cenote_protocol::{
    Amount, AnyOrder, AnyPrepared, AnyProtocol, Facts, Made, MaterialSource, NAME_FIELD,
    Protocol as TypedProtocol, Setting,
};
use cenote_session::{AnyEngine, Connections, Demand, Phases, Terms, Topology};
use cenote_store::{Store, Stored};
use cenote_three::Three;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// The protocols there are, the default one first.
const PROTOCOLS: &[Entry] = &[
    Entry::of::<Three>(),
    Entry::of::<Lego>(),
    Entry::of::<Jimu>(),
    Entry::of::<Authenticated>(),
    #[cfg(test)]
    Entry::of::<cenote_testkit::example::Example>(),
];

/// A protocol before it has settings.
struct Entry {
    name: &'static str,
    settings: &'static [&'static str],
    item: Option<&'static str>,
    replenishes: bool,
    kept_rows: usize,
    describe: fn(&Stored) -> Facts,
    chosen: fn() -> Protocol,
    read: fn(Value) -> serde_json::Result<Protocol>,
}

impl Entry {
    const fn of<P: TypedProtocol>() -> Self {
        Entry {
            name: P::NAME,
            settings: P::SETTINGS,
            item: P::ITEM,
            replenishes: P::REPLENISHES,
            kept_rows: P::KEPT_ROWS,
            describe: P::describe,
            chosen: || P::default().into(),
            read: |settings| serde_json::from_value::<P>(settings).map(Protocol::from),
        }
    }

    fn named(name: &str) -> Option<&'static Entry> {
        PROTOCOLS.iter().find(|entry| entry.name == name)
    }
}

/// What the protocols that have stock call its items: several may call them the same.
pub fn items() -> impl Iterator<Item = &'static str> {
    let mut names = Vec::new();
    for item in PROTOCOLS.iter().filter_map(|entry| entry.item) {
        if !names.contains(&item) {
            names.push(item);
        }
    }
    names.into_iter()
}

/// What `stored` is called, and what people should know of it; nothing if no protocol knows it.
pub fn describe(stored: &Stored) -> Option<(&'static str, Facts)> {
    let entry = Entry::named(&stored.item.protocol)?;
    let facts = (entry.describe)(stored);
    entry.item.filter(|_| !facts.is_empty()).map(|item| (item, facts))
}

/// A protocol with its settings, the same at all parties. In JSON its name is the field `protocol`.
pub struct Protocol(Box<dyn AnyProtocol>);

impl Protocol {
    /// All of them, with their default settings, the default one first.
    pub fn all() -> impl Iterator<Item = Protocol> {
        PROTOCOLS.iter().map(|entry| (entry.chosen)())
    }

    /// The names there are.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROTOCOLS.iter().map(|entry| entry.name)
    }

    /// The protocol called `name`, with its default settings.
    pub fn named(name: &str) -> Option<Self> {
        Entry::named(name).map(|entry| (entry.chosen)())
    }

    /// Whether sessions of the protocol called `name` take anything from stock, whatever their settings.
    pub(crate) fn has_stock(name: &str) -> bool {
        Entry::named(name).is_some_and(|entry| entry.item.is_some())
    }

    /// The protocol that suits most jobs of so many parties, with its default settings.
    pub fn usual(parties: u8) -> Self {
        match parties {
            2 => Authenticated::default().into(),
            _ => Three::default().into(),
        }
    }

    /// The names of the protocols with a setting called `key`.
    pub(crate) fn with_setting(key: &str) -> Vec<&'static str> {
        let has = |entry: &&Entry| entry.settings.contains(&key);
        PROTOCOLS.iter().filter(has).map(|entry| entry.name).collect()
    }

    /// What the list says of it.
    fn entry(&self) -> Option<&'static Entry> {
        Entry::named(self.name())
    }

    /// Gives one of its settings a value.
    ///
    /// # Errors
    /// What values there are, or that there is no such setting.
    pub(crate) fn set(&mut self, key: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        self.0.set(key, value)
    }

    /// Its name in jobs and reports.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// What it calls the items of its stock.
    ///
    /// # Errors
    /// [`Error::Usage`] if sessions with its settings take nothing from stock.
    pub fn item(&self) -> Result<&'static str> {
        self.0.item().map_err(Error::Usage)
    }

    /// Whether a session with stock makes by itself what is missing there.
    pub fn replenishes(&self) -> bool {
        self.entry().is_some_and(|entry| entry.replenishes)
    }

    /// Its name, and what sets it apart from others of that name, for people.
    pub fn describe(&self) -> String {
        format!("{}, {}", self.name(), self.0.variety())
    }

    /// What joins its parties.
    pub fn topology(&self) -> Topology {
        self.0.topology()
    }

    /// Number of parties.
    pub fn parties(&self) -> u8 {
        self.topology().parties
    }

    /// Workers of each party, as the protocol understands them.
    pub fn workers(&self) -> u8 {
        self.topology().workers
    }

    /// A wrong output passes with probability at most 2 to the minus this.
    pub fn security(&self) -> u32 {
        self.0.security()
    }

    /// How many rows of a party's share it has for each wire of a value that is kept; nothing if the circuit must see to it.
    pub(crate) fn kept_rows(&self) -> Option<usize> {
        self.entry().map(|entry| entry.kept_rows).filter(|&rows| rows > 0)
    }

    /// The protocol with other settings that people would compare with its own, and what sets them apart.
    pub(crate) fn rivals(&self) -> impl Iterator<Item = (&'static str, Protocol)> {
        let rivals = self.0.rivals().into_iter();
        rivals.map(|(what, rival)| (what, Protocol(rival)))
    }

    /// Its settings, if it is the protocol `P`.
    pub fn settings<P: TypedProtocol>(&self) -> Option<&P> {
        let settings: &dyn Any = &*self.0;
        settings.downcast_ref()
    }

    /// Finds the parameters for `demand`: the one search of a job.
    ///
    /// # Errors
    /// [`Error::Usage`] if no parameters reach the security level.
    pub fn prepare(&self, demand: &Demand<'_>) -> Result<Prepared> {
        self.0.prepare(demand).map(Prepared).map_err(Error::Usage)
    }

    /// The same for a session with stock that was ordered for jobs that do what `stocked` says.
    pub(crate) fn prepare_stored(&self, demand: &Demand<'_>, stocked: &Demand<'_>) -> Result<Prepared> {
        let prepared = self.0.prepare_stored(demand, stocked);
        prepared.map(Prepared).map_err(Error::Usage)
    }

    /// How many messages of a session that does what `demand` says wait for one another, about, besides a number that is the same for all.
    pub(crate) fn rounds(&self, demand: &Demand<'_>) -> u64 {
        self.0.rounds(demand)
    }

    /// Whether levels of ANDs wait for one another.
    pub(crate) fn levels_take_rounds(&self) -> bool {
        let mut b = cenote_circuit::Builder::new();
        let x = b.input("x", 2, cenote_circuit::BitOrder::Lsb);
        let both = b.and(x[0], x[1]);
        b.output("both", &[both], cenote_circuit::BitOrder::Lsb);
        let plan = cenote_circuit::Plan::new(&b.finish());
        self.rounds(&Demand::new().and_run(&plan, 1, 1)) > 0
    }

    /// What it can do, as far as it decides how a program is computed.
    pub(crate) fn abilities(&self) -> Abilities {
        Abilities {
            levels_take_rounds: self.levels_take_rounds(),
            shuffles: self.0.shuffles(),
            digests: self.0.digests(),
            keeps: self.kept_rows().is_some(),
        }
    }

    /// The material that `amount` comes to, for a job that does what `demand` says.
    pub(crate) fn order_stock(&self, demand: &Demand<'_>, amount: Amount) -> Result<Ordered> {
        self.item()?;
        let ordered = self.0.order_stock(demand, amount);
        ordered.map(Ordered).map_err(Error::Usage)
    }
}

impl<P: TypedProtocol> From<P> for Protocol {
    fn from(settings: P) -> Self {
        Protocol(Box::new(settings))
    }
}

impl Default for Protocol {
    /// Three parties.
    fn default() -> Self {
        (PROTOCOLS[0].chosen)()
    }
}

impl Clone for Protocol {
    fn clone(&self) -> Self {
        Protocol(self.0.copy())
    }
}

impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        let name = fields.get(NAME_FIELD).and_then(Value::as_str).unwrap_or_default();
        let entry = Entry::named(name).ok_or_else(|| D::Error::custom(format!("no protocol \"{name}\"")))?;
        (entry.read)(Value::Object(fields)).map_err(D::Error::custom)
    }
}

/// A protocol with the parameters for a program. A session takes one; what was found once serves many, by copies.
pub struct Prepared(Box<dyn AnyPrepared>);

impl Clone for Prepared {
    fn clone(&self) -> Self {
        Prepared(self.0.copy())
    }
}

impl Prepared {
    /// What the parties compare: the version, the protocol with its parameters, and whether its material is `stored`.
    pub fn terms(&self, stored: bool) -> Terms {
        whole(
            self.0.terms(),
            if stored {
                "from stock"
            } else {
                "made in the session"
            },
        )
    }

    /// What joins the parties.
    pub(crate) fn topology(&self) -> Topology {
        self.0.topology()
    }

    /// The most bytes of memory that the session of `party` holds that does what `demand` says, as far as it is known ahead.
    pub(crate) fn session_bytes(&self, demand: &Demand<'_>, party: PartyId) -> u64 {
        self.0.memory_bytes(demand, party)
    }

    /// Roughly how many bytes a party exchanges in a session with this demand.
    pub fn traffic_bytes(&self, demand: &Demand<'_>) -> u64 {
        self.0.traffic_bytes(demand)
    }

    /// How many sessions that do what `demand` says an item of stock serves, one after the other; nothing if it is for other sessions.
    pub(crate) fn serves(&self, demand: &Demand<'_>, stored: &Stored) -> Option<u64> {
        self.0.serves(demand, stored)
    }

    /// The parameters of a session with material from `stock`, or that makes its own, for the report.
    pub(crate) fn parameters(&self, stock: Option<&Store>) -> Value {
        self.0.parameters(&source(stock))
    }

    /// In a few words for people, what a session makes before it computes.
    pub(crate) fn made(&self) -> Option<String> {
        self.0.made()
    }

    /// How long each phase of a session that does what `demand` says may take, unless it is set.
    pub(crate) fn phase_limit(&self, demand: &Demand<'_>) -> Duration {
        Phases::limit(self.traffic_bytes(demand))
    }

    /// Starts party `me` of the session that the handshake has named, with what is in `stock` instead of what is made in the session if given.
    ///
    /// # Errors
    /// [`Error::Protocol`], of which the peers are told.
    pub fn start(
        self,
        me: PartyId,
        connections: Connections,
        session: &str,
        stock: Option<&Store>,
    ) -> Result<AnyEngine> {
        Ok(self.0.start(me, connections, session, source(stock))?)
    }
}

fn source(stock: Option<&Store>) -> MaterialSource<'_> {
    stock.map_or(MaterialSource::Live, MaterialSource::Stored)
}

/// The version of this program, which parties compare before all else.
pub(crate) fn version() -> (String, String) {
    ("version".into(), env!("CARGO_PKG_VERSION").into())
}

/// What the parties compare of a protocol: its `terms`, after the version, and where its material comes from or goes.
fn whole(terms: Terms, material: &str) -> Terms {
    let material = ("material".into(), material.into());
    std::iter::once(version())
        .chain(terms)
        .chain([material])
        .collect()
}

/// Material that a protocol is to make for stock.
pub(crate) struct Ordered(AnyOrder);

impl Ordered {
    /// What the parties compare before they make it: the version, and the protocol with what it makes.
    pub(crate) fn terms(&self) -> Terms {
        whole(self.0.terms.clone(), "to be made for stock")
    }

    /// The bytes that it takes to make it, about.
    pub(crate) fn traffic_bytes(&self) -> u64 {
        self.0.traffic_bytes
    }

    /// Makes it as party `me`, and puts this party's part in `store`.
    pub(crate) fn make(
        self,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made> {
        let material = self.0.material;
        Ok(material.make(me, connections, session, store, progress)?)
    }
}

#[cfg(test)]
mod tests;

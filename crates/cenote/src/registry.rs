//! The protocols, by name. This is the only place that lists them.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use cenote_authenticated::Authenticated;
use cenote_jimu::Jimu;
use cenote_lego::Lego;
use cenote_net::PartyId;
use cenote_protocol::{Amount, Facts, Made, Order, Protocol as AnyProtocol, Setting, Source};
use cenote_session::{Connections, Costs, Demand, Engine, Error as EngineError, Phases, Terms, Topology};
use cenote_store::{Store, Stored};
use cenote_three::Three;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::program::Executed;
use crate::soak::{Note, Soak, drive};
use crate::{Error, Program, Result};

/// The protocols there are, the default one first.
const PROTOCOLS: &[Entry] = &[
    Entry::of::<Three>(),
    Entry::of::<Lego>(),
    Entry::of::<Jimu>(),
    Entry::of::<Authenticated>(),
    #[cfg(test)]
    Entry::of::<cenote_testkit::example::Example>(),
];

/// The field that has a protocol's name in JSON.
const NAME: &str = "protocol";

/// What is told as the error of a session that made nothing that could be wrong: JSON has no infinity.
pub(crate) const NO_ERROR_LOG2: f64 = -1024.0;

/// A protocol before it has settings.
struct Entry {
    name: &'static str,
    settings: &'static [&'static str],
    item: Option<&'static str>,
    replenishes: bool,
    describe: fn(&Stored) -> Facts,
    chosen: fn() -> Protocol,
    read: fn(Value) -> serde_json::Result<Protocol>,
}

impl Entry {
    const fn of<P: AnyProtocol<Prepared: Clone + Sync>>() -> Self {
        Entry {
            name: P::NAME,
            settings: P::SETTINGS,
            item: P::ITEM,
            replenishes: P::REPLENISHES,
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
pub struct Protocol(Box<dyn Chosen>);

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
    /// [`Error::Usage`] if it has none.
    pub fn item(&self) -> Result<&'static str> {
        let none = || Error::Usage(format!("protocol \"{}\" has no stock", self.name()));
        self.0.item().ok_or_else(none)
    }

    /// Whether a session with stock makes by itself what is missing there.
    pub fn replenishes(&self) -> bool {
        Entry::named(self.name()).is_some_and(|entry| entry.replenishes)
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
        Some(self.0.kept_rows()).filter(|&rows| rows > 0)
    }

    /// Its settings, if it is the protocol `P`.
    pub fn settings<P: AnyProtocol>(&self) -> Option<&P> {
        self.0.as_any().downcast_ref()
    }

    /// Finds the parameters for `demand`: the one search of a job.
    ///
    /// # Errors
    /// [`Error::Usage`] if no parameters reach the security level.
    pub fn prepare(&self, demand: &Demand<'_>) -> Result<Prepared> {
        self.0.prepare(demand).map(Prepared)
    }

    /// The same for a session with stock that was ordered for jobs that do what `stocked` says.
    pub(crate) fn prepare_stored(&self, demand: &Demand<'_>, stocked: &Demand<'_>) -> Result<Prepared> {
        self.0.prepare_stored(demand, stocked).map(Prepared)
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

    /// The material that `amount` comes to, for a job that does what `demand` says.
    pub(crate) fn order_stock(&self, demand: &Demand<'_>, amount: Amount) -> Result<Ordered> {
        self.0.order_stock(demand, amount).map(Ordered)
    }
}

impl<P: AnyProtocol<Prepared: Clone + Sync>> From<P> for Protocol {
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
        self.0.copy()
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
        let mut fields = Map::from_iter([(NAME.to_owned(), self.name().into())]);
        fields.extend(self.0.to_json());
        fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        let name = fields.get(NAME).and_then(Value::as_str).unwrap_or_default();
        let entry = Entry::named(name).ok_or_else(|| D::Error::custom(format!("no protocol \"{name}\"")))?;
        (entry.read)(Value::Object(fields)).map_err(D::Error::custom)
    }
}

/// A protocol with the parameters for a program. A session takes one; what was found once serves many, by copies.
pub struct Prepared(Box<dyn Ready>);

impl Clone for Prepared {
    fn clone(&self) -> Self {
        Prepared(self.0.copy())
    }
}

impl Prepared {
    /// What the parties compare of the protocol, its name first, and whether its material is `stored`.
    pub(crate) fn terms(&self, stored: bool) -> Terms {
        with_material(
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

    /// The bytes that a party of a session sends and receives that does what `demand` says, about.
    pub fn traffic_bytes(&self, demand: &Demand<'_>) -> u64 {
        self.0.traffic_bytes(demand)
    }

    /// How many sessions that do what `demand` says an item of stock serves, one after the other; nothing if it is for other sessions.
    pub(crate) fn serves(&self, demand: &Demand<'_>, stored: &Stored) -> Option<u64> {
        self.0.serves(demand, stored)
    }

    /// The cut-and-choose parameters of a session that makes its own material, for the report.
    pub(crate) fn parameters(&self) -> Value {
        self.0.parameters()
    }

    /// In a few words for people, what a session makes before it computes.
    pub(crate) fn made(&self) -> Option<String> {
        self.0.made()
    }

    /// How long each phase of a session that does what `demand` says may take, unless it is set.
    pub(crate) fn phase_limit(&self, demand: &Demand<'_>) -> Duration {
        Phases::limit(self.traffic_bytes(demand))
    }

    /// Runs `task` over `connections`, with what is in `stock` instead of what is made in the session if given.
    pub(crate) fn run(
        self,
        task: Task<'_>,
        connections: Connections,
        stock: Option<&Store>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished> {
        self.0.run(task, connections, stock, progress)
    }

    /// Computes the stream `soak` as party `me`, and tells of it.
    pub(crate) fn soak(
        self,
        me: PartyId,
        connections: Connections,
        session: &str,
        soak: &Soak,
        stock: Option<&Store>,
        told: &mut dyn FnMut(&Note),
    ) -> Result<Note> {
        self.0.soak(me, connections, session, soak, stock, told)
    }

    /// Starts a session called `name` over `connections`, for a program that does about what `demand` says.
    pub(crate) fn session(
        self,
        me: PartyId,
        connections: Connections,
        name: &str,
        demand: &Demand<'_>,
    ) -> Result<cenote_program::Session> {
        self.0.session(me, connections, name, demand)
    }
}

/// `terms` of a protocol, its name first, and where its material comes from or goes.
fn with_material(mut terms: Terms, material: &str) -> Terms {
    terms.push(("material".into(), material.into()));
    terms
}

/// Material that a protocol is to make for stock.
pub(crate) struct Ordered(Box<dyn ToMake>);

impl Ordered {
    /// What the parties compare before they make it.
    pub(crate) fn terms(&self) -> Terms {
        with_material(self.0.terms(), "to be made for stock")
    }

    /// The bytes that it takes to make it, about.
    pub(crate) fn traffic_bytes(&self) -> u64 {
        self.0.traffic_bytes()
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
        self.0.make(me, connections, session, store, progress)
    }
}

/// What one party runs.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) me: PartyId,
    /// The session's name, by the handshake.
    pub(crate) session: &'a str,
    pub(crate) program: &'a Program,
    pub(crate) inputs: &'a [Option<cenote_primitives::BitMatrix>],
    pub(crate) phases: &'a Phases,
}

/// What a session gave one party.
pub(crate) struct Finished {
    pub(crate) executed: Executed,
    pub(crate) costs: Costs,
    /// The cut-and-choose parameters, for the report.
    pub(crate) parameters: Value,
    /// The base-2 logarithm of the probability that a wrong output passes.
    pub(crate) error_log2: f64,
    /// The base-2 logarithm of the work that breaks the weakest primitive, if it rests on any.
    pub(crate) computational_bits: Option<f64>,
    /// What the party should know besides.
    pub(crate) warnings: Vec<String>,
}

/// [`AnyProtocol`] for a [`Box`].
trait Chosen: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn item(&self) -> Option<&'static str>;
    fn as_any(&self) -> &dyn Any;
    fn copy(&self) -> Protocol;
    fn equals(&self, other: &dyn Chosen) -> bool;
    fn to_json(&self) -> Map<String, Value>;
    fn set(&mut self, key: &str, value: Setting<'_>) -> std::result::Result<(), String>;
    fn variety(&self) -> String;
    fn topology(&self) -> Topology;
    fn security(&self) -> u32;
    fn kept_rows(&self) -> usize;
    fn prepare(&self, demand: &Demand<'_>) -> Result<Box<dyn Ready>>;
    fn prepare_stored(&self, demand: &Demand<'_>, stocked: &Demand<'_>) -> Result<Box<dyn Ready>>;
    fn rounds(&self, demand: &Demand<'_>) -> u64;
    fn order_stock(&self, demand: &Demand<'_>, amount: Amount) -> Result<Box<dyn ToMake>>;
}

impl<P: AnyProtocol<Prepared: Clone + Sync>> Chosen for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn item(&self) -> Option<&'static str> {
        P::ITEM
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn copy(&self) -> Protocol {
        self.clone().into()
    }

    fn equals(&self, other: &dyn Chosen) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    fn set(&mut self, key: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        AnyProtocol::set(self, key, value)
    }

    fn variety(&self) -> String {
        AnyProtocol::variety(self)
    }

    fn topology(&self) -> Topology {
        AnyProtocol::topology(self)
    }

    fn security(&self) -> u32 {
        AnyProtocol::security(self)
    }

    fn kept_rows(&self) -> usize {
        P::KEPT_ROWS
    }

    fn prepare(&self, demand: &Demand<'_>) -> Result<Box<dyn Ready>> {
        let prepared = AnyProtocol::prepare(self, demand).map_err(Error::Usage)?;
        Ok(Box::new((self.clone(), prepared)))
    }

    fn prepare_stored(&self, demand: &Demand<'_>, stocked: &Demand<'_>) -> Result<Box<dyn Ready>> {
        let prepared = AnyProtocol::prepare_stored(self, demand, stocked).map_err(Error::Usage)?;
        Ok(Box::new((self.clone(), prepared)))
    }

    fn rounds(&self, demand: &Demand<'_>) -> u64 {
        AnyProtocol::rounds(self, demand)
    }

    fn order_stock(&self, demand: &Demand<'_>, amount: Amount) -> Result<Box<dyn ToMake>> {
        let order = AnyProtocol::order_stock(self, demand, amount).map_err(Error::Usage)?;
        Ok(Box::new((self.clone(), order)))
    }
}

/// Settings with what is to be made, for a [`Box`].
trait ToMake {
    fn terms(&self) -> Terms;
    fn traffic_bytes(&self) -> u64;
    fn make(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made>;
}

impl<P: AnyProtocol> ToMake for (P, Order<P::Material>) {
    fn terms(&self) -> Terms {
        named::<P>(&self.1.terms)
    }

    fn traffic_bytes(&self) -> u64 {
        self.1.traffic_bytes
    }

    fn make(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made> {
        let (settings, Order { material, .. }) = *self;
        settings
            .make_stock(material, me, connections, session, store, progress)
            .map_err(|error| error.with_checks(P::CHECKS).into())
    }
}

/// `terms` after the protocol's name.
fn named<P: AnyProtocol>(terms: &[(String, String)]) -> Terms {
    let name = (NAME.to_owned(), P::NAME.to_owned());
    std::iter::once(name).chain(terms.iter().cloned()).collect()
}

/// Settings with their parameters, for a [`Box`].
trait Ready: Send + Sync {
    fn copy(&self) -> Box<dyn Ready>;
    fn topology(&self) -> Topology;
    fn terms(&self) -> Terms;
    fn parameters(&self) -> Value;
    fn made(&self) -> Option<String>;
    fn memory_bytes(&self, demand: &Demand<'_>, party: PartyId) -> u64;
    fn traffic_bytes(&self, demand: &Demand<'_>) -> u64;
    fn serves(&self, demand: &Demand<'_>, stored: &Stored) -> Option<u64>;
    fn run(
        self: Box<Self>,
        task: Task<'_>,
        connections: Connections,
        stock: Option<&Store>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished>;
    fn soak(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        session: &str,
        soak: &Soak,
        stock: Option<&Store>,
        told: &mut dyn FnMut(&Note),
    ) -> Result<Note>;
    fn session(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        name: &str,
        demand: &Demand<'_>,
    ) -> Result<cenote_program::Session>;
}

impl<P: AnyProtocol<Prepared: Clone + Sync>> Ready for (P, P::Prepared) {
    fn copy(&self) -> Box<dyn Ready> {
        Box::new(self.clone())
    }

    fn topology(&self) -> Topology {
        self.0.topology()
    }

    fn parameters(&self) -> Value {
        self.0.parameters(&self.1, &Source::Live)
    }

    fn made(&self) -> Option<String> {
        self.0.made(&self.1)
    }

    fn memory_bytes(&self, demand: &Demand<'_>, party: PartyId) -> u64 {
        self.0.memory_bytes(&self.1, demand, party)
    }

    fn traffic_bytes(&self, demand: &Demand<'_>) -> u64 {
        self.0.traffic_bytes(&self.1, demand)
    }

    fn serves(&self, demand: &Demand<'_>, stored: &Stored) -> Option<u64> {
        self.0.serves(&self.1, demand, stored)
    }

    fn terms(&self) -> Terms {
        named::<P>(&self.0.terms(&self.1))
    }

    fn run(
        self: Box<Self>,
        task: Task<'_>,
        connections: Connections,
        stock: Option<&Store>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished> {
        let (settings, prepared) = *self;
        let source = stock.map_or(Source::Live, Source::Stored);
        let parameters = settings.parameters(&prepared, &source);
        let named = |error: EngineError| Error::from(error.with_checks(P::CHECKS));
        task.phases.begin("the set-up");
        let mut engine = settings
            .start(prepared, task.me, connections, task.session, source)
            .map_err(named)?;
        tracing::info!(me = %task.me, protocol = P::NAME, "session started");
        let executed = task
            .program
            .execute_within(task.phases, &mut engine, task.inputs, progress)?;
        Ok(Finished {
            executed,
            costs: engine.costs(),
            parameters,
            error_log2: engine.error_bound().max(NO_ERROR_LOG2),
            computational_bits: Some(engine.computational_bits()).filter(|bits| bits.is_finite()),
            warnings: engine.warnings(),
        })
    }

    fn soak(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        session: &str,
        soak: &Soak,
        stock: Option<&Store>,
        told: &mut dyn FnMut(&Note),
    ) -> Result<Note> {
        let (settings, prepared) = *self;
        let source = stock.map_or(Source::Live, Source::Stored);
        let named = |error: EngineError| Error::from(error.with_checks(P::CHECKS));
        let mut engine = settings
            .start(prepared, me, connections, session, source)
            .map_err(named)?;
        drive(&mut engine, soak, told).map_err(named)
    }

    fn session(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        name: &str,
        demand: &Demand<'_>,
    ) -> Result<cenote_program::Session> {
        let (settings, prepared) = *self;
        let named = |error: EngineError| Error::from(error.with_checks(P::CHECKS));
        let mut engine = settings
            .start(prepared, me, connections, name, Source::Live)
            .map_err(named)?;
        demand.announce(&mut engine).map_err(named)?;
        Ok(cenote_program::Session::new(engine))
    }
}

#[cfg(test)]
mod tests;

//! The protocols, by name. This is the only place that lists them.

use std::any::Any;
use std::fmt;

use cenote_lego::Lego;
use cenote_net::PartyId;
use cenote_session::{
    Connections, Costs, Demand, Engine, Error as EngineError, Protocol as AnyProtocol, Setting, Source,
    Terms, Topology,
};
use cenote_three::Three;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::program::Executed;
use crate::{Error, Program, Result};

/// The protocols there are, the default one first.
const PROTOCOLS: &[Entry] = &[
    Entry::of::<Three>(),
    Entry::of::<Lego>(),
    #[cfg(test)]
    Entry::of::<cenote_testkit::example::Example>(),
];

/// The field that has a protocol's name in JSON.
const NAME: &str = "protocol";

/// What is told as the error of a session that made nothing that could be wrong: JSON has no infinity.
const NO_ERROR_LOG2: f64 = -1024.0;

/// A protocol before it has settings.
struct Entry {
    name: &'static str,
    settings: &'static [&'static str],
    chosen: fn() -> Protocol,
    read: fn(Value) -> serde_json::Result<Protocol>,
}

impl Entry {
    const fn of<P: AnyProtocol>() -> Self {
        Entry {
            name: P::NAME,
            settings: P::SETTINGS,
            chosen: || P::default().into(),
            read: |settings| serde_json::from_value::<P>(settings).map(Protocol::from),
        }
    }

    fn named(name: &str) -> Option<&'static Entry> {
        PROTOCOLS.iter().find(|entry| entry.name == name)
    }
}

/// A protocol with its settings, the same at all parties. In JSON its name is the field `protocol`.
pub struct Protocol(Box<dyn Chosen>);

impl Protocol {
    /// The names there are.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROTOCOLS.iter().map(|entry| entry.name)
    }

    /// The protocol called `name`, with its default settings.
    pub fn named(name: &str) -> Option<Self> {
        Entry::named(name).map(|entry| (entry.chosen)())
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
}

impl<P: AnyProtocol> From<P> for Protocol {
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

/// A protocol with the parameters for a program.
pub struct Prepared(Box<dyn Ready>);

impl Prepared {
    /// What the parties compare of the protocol, its name first, and whether its material is `stored`.
    pub(crate) fn terms(&self, stored: bool) -> Terms {
        let mut terms = self.0.terms();
        let source = if stored {
            "from stock"
        } else {
            "made in the session"
        };
        terms.push(("material".into(), source.into()));
        terms
    }

    /// The most bytes of memory that the session of `party` holds.
    pub(crate) fn session_bytes(&self, program: &Program, party: PartyId) -> u64 {
        self.0.memory_bytes(&program.demand(), party)
    }

    /// Runs `task` over `connections`, with what is in `stock`, the protocol's store, instead of what is made in the session if
    /// given.
    pub(crate) fn run(
        self,
        task: Task<'_>,
        connections: Connections,
        stock: Option<&dyn Any>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished> {
        self.0.run(task, connections, stock, progress)
    }
}

/// What one party runs.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) me: PartyId,
    pub(crate) program: &'a Program,
    pub(crate) inputs: &'a [Option<cenote_primitives::BitMatrix>],
}

/// What a session gave one party.
pub(crate) struct Finished {
    pub(crate) executed: Executed,
    pub(crate) costs: Costs,
    /// The cut-and-choose parameters, for the report.
    pub(crate) parameters: Value,
    /// The base-2 logarithm of the probability that a wrong output passes.
    pub(crate) error_log2: f64,
    /// What the party should know besides.
    pub(crate) warnings: Vec<String>,
}

/// [`AnyProtocol`] for a [`Box`].
trait Chosen: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn as_any(&self) -> &dyn Any;
    fn copy(&self) -> Protocol;
    fn equals(&self, other: &dyn Chosen) -> bool;
    fn to_json(&self) -> Map<String, Value>;
    fn set(&mut self, key: &str, value: Setting<'_>) -> std::result::Result<(), String>;
    fn variety(&self) -> String;
    fn topology(&self) -> Topology;
    fn security(&self) -> u32;
    fn prepare(&self, demand: &Demand<'_>) -> Result<Box<dyn Ready>>;
}

impl<P: AnyProtocol> Chosen for P {
    fn name(&self) -> &'static str {
        P::NAME
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

    fn prepare(&self, demand: &Demand<'_>) -> Result<Box<dyn Ready>> {
        let prepared = AnyProtocol::prepare(self, demand).map_err(Error::Usage)?;
        Ok(Box::new((self.clone(), prepared)))
    }
}

/// Settings with their parameters, for a [`Box`].
trait Ready: Send {
    fn terms(&self) -> Terms;
    fn memory_bytes(&self, demand: &Demand<'_>, party: PartyId) -> u64;
    fn run(
        self: Box<Self>,
        task: Task<'_>,
        connections: Connections,
        stock: Option<&dyn Any>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished>;
}

impl<P: AnyProtocol> Ready for (P, P::Prepared) {
    fn memory_bytes(&self, demand: &Demand<'_>, party: PartyId) -> u64 {
        self.0.memory_bytes(&self.1, demand, party)
    }

    fn terms(&self) -> Terms {
        let mut terms = vec![(NAME.to_owned(), P::NAME.to_owned())];
        terms.extend(self.0.terms(&self.1));
        terms
    }

    fn run(
        self: Box<Self>,
        task: Task<'_>,
        connections: Connections,
        stock: Option<&dyn Any>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Finished> {
        let (settings, prepared) = *self;
        let source = match stock {
            None => Source::Live,
            Some(stock) => Source::Stored(stock.downcast_ref::<P::Store>().ok_or_else(foreign_stock::<P>)?),
        };
        let parameters = settings.parameters(&prepared, &source);
        let named = |error: EngineError| Error::from(error.with_checks(P::CHECKS));
        let session = task.program.digest();
        let mut engine = settings
            .start(prepared, task.me, connections, &session, source)
            .map_err(named)?;
        tracing::info!(me = %task.me, protocol = P::NAME, "session started");
        let total = task.program.and_gates();
        let executed = task
            .program
            .execute(&mut engine, task.inputs, |done| progress(done, total))?;
        Ok(Finished {
            executed,
            costs: engine.costs(),
            parameters,
            error_log2: engine.error_bound().max(NO_ERROR_LOG2),
            warnings: engine.warnings(),
        })
    }
}

fn foreign_stock<P: AnyProtocol>() -> Error {
    Error::Usage(format!(
        "the stock given is not of protocol \"{}\", which the job has",
        P::NAME
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runner::Outcome;
    use crate::{Job, Party, Transport};

    #[test]
    fn every_protocol_survives_json_and_copies() {
        for name in Protocol::names() {
            let mut protocol = Protocol::named(name).unwrap();
            assert_eq!(protocol.name(), name);
            let key = if name == "example" { "password" } else { "security" };
            protocol.set(key, Setting::Number(33)).unwrap();
            assert_ne!(protocol, Protocol::named(name).unwrap());
            let json = serde_json::to_value(&protocol).unwrap();
            assert_eq!((&json["protocol"], &json[key]), (&name.into(), &33.into()));
            assert_eq!(serde_json::from_value::<Protocol>(json).unwrap(), protocol);
            assert_eq!(protocol.clone(), protocol);
        }
        assert_ne!(Protocol::from(Three::default()), Protocol::from(Lego::default()));
        let unknown = serde_json::from_str::<Protocol>("{\"protocol\":\"four\"}");
        assert!(unknown.unwrap_err().to_string().contains("no protocol \"four\""));
    }

    #[test]
    fn every_setting_can_be_set_and_no_other() {
        for name in Protocol::names() {
            let mut protocol = Protocol::named(name).unwrap();
            let missing = protocol.set("nonsense", Setting::Number(1)).unwrap_err();
            assert!(missing.contains("no setting"), "{missing}");
            for key in [
                "variant",
                "view_check",
                "security",
                "workers",
                "garbler",
                "password",
            ] {
                let known = Protocol::with_setting(key).contains(&name);
                let refused = protocol.set(key, Setting::Other).unwrap_err();
                assert_eq!(!refused.contains("no setting"), known, "{name}: {key}: {refused}");
            }
        }
    }

    const JOB: &str = r#"protocol = "example"
password = 7
circuit = "lib:add8"
lanes = 3
[[input]]
party = 0
hex = "0x05"
[[input]]
party = 1
hex = "0x06"
[[output]]
to = [1]
"#;

    /// Runs the job at both parties; the password of `odd` is another.
    fn run(job: &Job, odd: Option<u8>) -> Vec<Result<Outcome>> {
        let program = job.program(3).unwrap();
        let topology = job.protocol().topology();
        let all = Connections::in_memory(&topology, Duration::from_secs(20));
        std::thread::scope(|scope| {
            let party = |(me, connections): (u8, Connections)| {
                let program = &program;
                scope.spawn(move || {
                    let mut protocol = job.protocol().clone();
                    if odd == Some(me) {
                        protocol.set("password", Setting::Number(8)).unwrap();
                    }
                    let party = Party {
                        me: PartyId(me),
                        protocol: &protocol,
                        program,
                        inputs: &job.read_inputs(PartyId(me), 3).unwrap(),
                        also_agree: &(),
                        transport: Transport::Memory,
                    };
                    party.run(|| Ok(connections), &mut |_, _| ())
                })
            };
            let threads: Vec<_> = (0..).zip(all).map(party).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// A protocol is in jobs, runs, reports and errors once it is on the list.
    #[test]
    fn a_protocol_takes_one_line_here() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.toml");
        std::fs::write(&path, JOB).unwrap();
        let job = Job::load(&path).unwrap();
        let outcomes = run(&job, None);
        let values = |party: usize| outcomes[party].as_ref().unwrap().report.outputs[0].values.clone();
        assert_eq!(values(1), Some(vec!["0x0b".to_owned(); 3]));
        assert_eq!(values(0), None);
        let report = &outcomes[1].as_ref().unwrap().report;
        let json = serde_json::to_value(&report.description).unwrap();
        assert_eq!(
            (&json["protocol"], &json["password"]),
            (&"example".into(), &7.into())
        );
        assert_eq!(report.description.protocol.describe(), "example, in the clear");

        for outcome in run(&job, Some(1)) {
            let error = outcome.unwrap_err();
            assert!(
                error.to_string().contains("the check \"password\" failed"),
                "{error}"
            );
            assert_eq!(error.kind(), crate::Kind::Cheating);
        }
        std::fs::write(&path, JOB.replace("= 7", "= 256")).unwrap();
        let error = Job::load(&path).unwrap_err().to_string();
        assert!(
            error.contains("line 2") && error.contains("from 0 to 255"),
            "{error}"
        );
    }
}

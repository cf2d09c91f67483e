//! Protocols behind one type each for what is chosen, prepared and ordered, for those who learn the name of a protocol while they run.
//!
//! Whatever implements [`Protocol`] is an [`AnyProtocol`]. Errors of a start have the names of the protocol's checks, and terms begin
//! with its name.

use std::any::Any;
use std::fmt::Debug;

use cenote_net::PartyId;
use cenote_session::{AnyEngine, Connections, Demand, Result, Terms, Topology, erased};
use cenote_store::{Store, Stored};
use serde_json::{Map, Value};

use crate::{Amount, Made, MaterialSource, Order, Protocol, Setting};

/// The field that has a protocol's name in JSON and in terms.
pub const NAME_FIELD: &str = "protocol";

/// A protocol with its settings, whichever it is.
pub trait AnyProtocol: Debug + Send + Sync + Any {
    /// [`Protocol::NAME`].
    fn name(&self) -> &'static str;
    /// The same settings.
    fn copy(&self) -> Box<dyn AnyProtocol>;
    /// Whether the other is the same protocol with the same settings.
    fn equals(&self, other: &dyn AnyProtocol) -> bool;
    /// Its name and its settings.
    fn to_json(&self) -> Map<String, Value>;
    /// As [`Protocol::set`].
    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String>;
    /// As [`Protocol::variety`].
    fn variety(&self) -> String;
    /// As [`Protocol::rivals`].
    fn rivals(&self) -> Vec<(&'static str, Box<dyn AnyProtocol>)>;
    /// As [`Protocol::topology`].
    fn topology(&self) -> Topology;
    /// As [`Protocol::security`].
    fn security(&self) -> u32;
    /// As [`Protocol::shuffles`].
    fn shuffles(&self) -> bool;
    /// As [`Protocol::digests`].
    fn digests(&self) -> bool;
    /// As [`Protocol::rounds`].
    fn rounds(&self, demand: &Demand<'_>) -> u64;
    /// As [`Protocol::prepare`].
    fn prepare(&self, demand: &Demand<'_>) -> std::result::Result<Box<dyn AnyPrepared>, String>;
    /// As [`Protocol::prepare_stored`].
    fn prepare_stored(
        &self,
        demand: &Demand<'_>,
        stocked: &Demand<'_>,
    ) -> std::result::Result<Box<dyn AnyPrepared>, String>;
    /// As [`Protocol::item`].
    fn item(&self) -> std::result::Result<&'static str, String>;
    /// As [`Protocol::order_stock`].
    fn order_stock(&self, demand: &Demand<'_>, amount: Amount) -> std::result::Result<AnyOrder, String>;
}

/// A protocol with the parameters that it has found for a demand.
pub trait AnyPrepared: Send + Sync {
    /// The same parameters.
    fn copy(&self) -> Box<dyn AnyPrepared>;
    /// As [`Protocol::topology`].
    fn topology(&self) -> Topology;
    /// As [`Protocol::terms`], after the protocol's name.
    fn terms(&self) -> Terms;
    /// As [`Protocol::parameters`].
    fn parameters(&self, source: &MaterialSource<'_>) -> Value;
    /// As [`Protocol::made`].
    fn made(&self) -> Option<String>;
    /// As [`Protocol::memory_bytes`].
    fn memory_bytes(&self, demand: &Demand<'_>, party: PartyId) -> u64;
    /// As [`Protocol::traffic_bytes`].
    fn traffic_bytes(&self, demand: &Demand<'_>) -> u64;
    /// As [`Protocol::serves`].
    fn serves(&self, demand: &Demand<'_>, stored: &Stored) -> Option<u64>;
    /// As [`Protocol::start`].
    fn start(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        session: &str,
        source: MaterialSource<'_>,
    ) -> Result<AnyEngine>;
}

/// An order of stock, whichever protocol makes it. Its terms begin with the protocol's name.
pub type AnyOrder = Order<Box<dyn AnyMaterial>>;

/// What a protocol is to make for stock.
pub trait AnyMaterial {
    /// As [`Protocol::make_stock`].
    fn make(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made>;
}

impl<P: Protocol> AnyProtocol for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn copy(&self) -> Box<dyn AnyProtocol> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn AnyProtocol) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }

    fn to_json(&self) -> Map<String, Value> {
        let mut fields = Map::from_iter([(NAME_FIELD.to_owned(), P::NAME.into())]);
        if let Ok(Value::Object(settings)) = serde_json::to_value(self) {
            fields.extend(settings);
        }
        fields
    }

    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String> {
        Protocol::set(self, name, value)
    }

    fn variety(&self) -> String {
        Protocol::variety(self)
    }

    fn topology(&self) -> Topology {
        Protocol::topology(self)
    }

    fn security(&self) -> u32 {
        Protocol::security(self)
    }

    fn shuffles(&self) -> bool {
        Protocol::shuffles(self)
    }

    fn digests(&self) -> bool {
        Protocol::digests(self)
    }

    fn rounds(&self, demand: &Demand<'_>) -> u64 {
        Protocol::rounds(self, demand)
    }

    fn prepare(&self, demand: &Demand<'_>) -> std::result::Result<Box<dyn AnyPrepared>, String> {
        let prepared = Protocol::prepare(self, demand)?;
        Ok(Box::new((self.clone(), prepared)))
    }

    fn prepare_stored(
        &self,
        demand: &Demand<'_>,
        stocked: &Demand<'_>,
    ) -> std::result::Result<Box<dyn AnyPrepared>, String> {
        let prepared = Protocol::prepare_stored(self, demand, stocked)?;
        Ok(Box::new((self.clone(), prepared)))
    }

    fn rivals(&self) -> Vec<(&'static str, Box<dyn AnyProtocol>)> {
        let boxed = |(what, rival): (_, P)| (what, Box::new(rival) as Box<dyn AnyProtocol>);
        Protocol::rivals(self).into_iter().map(boxed).collect()
    }

    fn item(&self) -> std::result::Result<&'static str, String> {
        Protocol::item(self)
    }

    fn order_stock(&self, demand: &Demand<'_>, amount: Amount) -> std::result::Result<AnyOrder, String> {
        let order = Protocol::order_stock(self, demand, amount)?;
        Ok(Order {
            material: Box::new(Ordered {
                protocol: self.clone(),
                material: order.material,
            }),
            terms: named::<P>(order.terms),
            traffic_bytes: order.traffic_bytes,
        })
    }
}

impl<P: Protocol> AnyPrepared for (P, P::Prepared) {
    fn copy(&self) -> Box<dyn AnyPrepared> {
        Box::new(self.clone())
    }

    fn topology(&self) -> Topology {
        Protocol::topology(&self.0)
    }

    fn terms(&self) -> Terms {
        named::<P>(self.0.terms(&self.1))
    }

    fn parameters(&self, source: &MaterialSource<'_>) -> Value {
        self.0.parameters(&self.1, source)
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

    fn start(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        session: &str,
        source: MaterialSource<'_>,
    ) -> Result<AnyEngine> {
        let (protocol, prepared) = *self;
        let started = protocol.start(prepared, me, connections, session, source);
        started.map(erased).map_err(|error| error.with_checks(P::CHECKS))
    }
}

/// What is to be made, and by which protocol.
struct Ordered<P: Protocol> {
    protocol: P,
    material: P::Material,
}

impl<P: Protocol> AnyMaterial for Ordered<P> {
    fn make(
        self: Box<Self>,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made> {
        let Ordered { protocol, material } = *self;
        let made = protocol.make_stock(material, me, connections, session, store, progress);
        made.map_err(|error| error.with_checks(P::CHECKS))
    }
}

/// `terms` after the protocol's name.
fn named<P: Protocol>(terms: Terms) -> Terms {
    let name = (NAME_FIELD.to_owned(), P::NAME.to_owned());
    std::iter::once(name).chain(terms).collect()
}

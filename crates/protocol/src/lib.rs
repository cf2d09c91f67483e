//! What a protocol is to those who choose one: settings, the one search for parameters, how a session starts, and what it
//! keeps in stock.
#![forbid(unsafe_code)]

mod erased;
mod setting;
mod stock;
pub mod two;

use std::fmt::Debug;

use cenote_net::PartyId;
use cenote_session::{Check, Connections, Demand, Engine, Error, Result, Terms, Topology};
use cenote_store::{Store, Stored};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use erased::{AnyMaterial, AnyOrder, AnyPrepared, AnyProtocol, NAME_FIELD};
pub use setting::Setting;
pub use stock::{Amount, Facts, Made, Order};

/// Where the material of a session comes from.
#[derive(Debug)]
pub enum MaterialSource<'a> {
    /// It is made in the session.
    Live,
    /// It was made before.
    Stored(&'a Store),
}

/// A protocol. A value of the type is its settings, the same at all parties.
pub trait Protocol:
    Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Its name in jobs and reports.
    const NAME: &'static str;
    /// The settings that a job may state.
    const SETTINGS: &'static [&'static str];
    /// Every check that a session may fail, by which errors name it.
    const CHECKS: &'static [Check];
    /// What the one search for parameters has found for a demand.
    type Prepared: Clone + Send + Sync;
    /// One party of a session.
    type Engine: Engine + 'static;
    /// Material that can be made ahead of a session: what [`Protocol::order_stock`] orders.
    type Material: Send;
    /// What it calls the material of one run of making, if it has stock.
    const ITEM: Option<&'static str> = None;

    /// Whether a session with a store makes by itself what is missing there.
    const REPLENISHES: bool = false;

    /// How many rows a share has for each wire that [`Engine::keep`] keeps; 0 if shares end with their session.
    const KEPT_ROWS: usize = 0;
    /// Gives the setting `name`, one of [`Protocol::SETTINGS`], a value.
    ///
    /// # Errors
    /// What values there are.
    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String>;

    /// What joins its parties.
    fn topology(&self) -> Topology;

    /// A wrong output passes with probability at most 2 to the minus this.
    fn security(&self) -> u32;

    /// Whether its engine moves lanes in secret orders ([`Engine::shuffles`]).
    fn shuffles(&self) -> bool {
        false
    }

    /// Whether its engine compares tables by digests ([`Engine::digests`]).
    fn digests(&self) -> bool {
        false
    }

    /// In a few words for people, what sets it apart from others of its name.
    fn variety(&self) -> String;

    /// Other settings that people would compare with these, and what they are in a word or two.
    fn rivals(&self) -> Vec<(&'static str, Self)> {
        Vec::new()
    }

    /// Finds the cheapest parameters for `demand`.
    ///
    /// # Errors
    /// Why there are none.
    fn prepare(&self, demand: &Demand<'_>) -> std::result::Result<Self::Prepared, String>;

    /// The most bytes of memory that a session of `party`'s holds that does what `demand` says, as far as it is known ahead.
    fn memory_bytes(&self, prepared: &Self::Prepared, demand: &Demand<'_>, party: PartyId) -> u64 {
        let _ = (prepared, demand, party);
        0
    }

    /// Roughly how many bytes a party exchanges in a session with this demand: how long its phases may take
    /// follows from them.
    fn traffic_bytes(&self, prepared: &Self::Prepared, demand: &Demand<'_>) -> u64 {
        let _ = (prepared, demand);
        0
    }

    /// How many messages of a session that does what `demand` says wait for one another, about, besides a number that is the same for all.
    fn rounds(&self, demand: &Demand<'_>) -> u64 {
        let _ = demand;
        0
    }

    /// What the parties compare of it.
    fn terms(&self, prepared: &Self::Prepared) -> Terms;

    /// The parameters, for the report of a session with material from `source`; nothing if the material has its own.
    fn parameters(&self, prepared: &Self::Prepared, source: &MaterialSource<'_>) -> serde_json::Value;

    /// In a few words for people, what a session makes before it computes.
    fn made(&self, prepared: &Self::Prepared) -> Option<String> {
        let _ = prepared;
        None
    }

    /// Starts party `me` of a session called `session`.
    ///
    /// # Errors
    /// What failed, of which the peers are told.
    fn start(
        &self,
        prepared: Self::Prepared,
        me: PartyId,
        connections: Connections,
        session: &str,
        source: MaterialSource<'_>,
    ) -> Result<Self::Engine>;

    /// [`Protocol::ITEM`], if sessions with these settings take anything from stock.
    ///
    /// # Errors
    /// Why they do not.
    fn item(&self) -> std::result::Result<&'static str, String> {
        Self::ITEM.ok_or_else(|| format!("protocol \"{}\" has no stock", Self::NAME))
    }

    /// The material that `amount` comes to, for a job that does what `demand` says.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn order_stock(
        &self,
        demand: &Demand<'_>,
        amount: Amount,
    ) -> std::result::Result<Order<Self::Material>, String> {
        let _ = (demand, amount);
        Err(format!("protocol \"{}\" has no stock", Self::NAME))
    }

    /// As [`Protocol::prepare`], for a session with stock that was ordered for jobs that do what `stocked` says.
    ///
    /// # Errors
    /// Why there are no parameters.
    fn prepare_stored(
        &self,
        demand: &Demand<'_>,
        stocked: &Demand<'_>,
    ) -> std::result::Result<Self::Prepared, String> {
        let _ = stocked;
        self.prepare(demand)
    }

    /// How many sessions that are prepared so and do what `demand` says can be run, one after the other, from what is left of an item of stock;
    /// `u64::MAX` if any number, and nothing if it is for sessions with other settings.
    fn serves(&self, prepared: &Self::Prepared, demand: &Demand<'_>, stored: &Stored) -> Option<u64> {
        let _ = (prepared, demand, stored);
        None
    }

    /// Makes what was ordered as party `me`, and puts this party's part of it in `store`. The parties have compared the terms of the
    /// order; `session` is part of the name of what is made. `progress` is told the AND gates that what was made so far will
    /// serve, of how many.
    ///
    /// # Errors
    /// What failed, of which the peers are told.
    fn make_stock(
        &self,
        material: Self::Material,
        me: PartyId,
        connections: Connections,
        session: &str,
        store: &Store,
        progress: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Made> {
        let _ = (material, me, connections, session, store, progress);
        Err(Error::BadInput(format!(
            "protocol \"{}\" has no stock",
            Self::NAME
        )))
    }

    /// What people should know of an item of its stock; nothing if it cannot tell.
    fn describe(stored: &Stored) -> Facts {
        let _ = stored;
        Facts::new()
    }
}

//! What an item of a protocol that keeps pools is.

use cenote_net::PartyId;
use cenote_session::Terms;
use cenote_store::{Item, Stored};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::keep::Keep;

/// A pool's parameters, and what else a session must have in common with it to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The statistical security.
    pub security: u32,
    /// The party that garbles: 0 or 1.
    garbler: u8,
    /// See [`Keep::numbers`].
    pub numbers: Vec<u32>,
    /// See [`Keep::terms`].
    terms: Terms,
}

impl Identity {
    /// A pool of these sizes, for sessions such as this one.
    pub(super) fn new<K: Keep>(keep: &K, sizes: &K::Sizes) -> Self {
        Self {
            security: keep.security(),
            garbler: keep.garbler().0,
            numbers: K::numbers(sizes),
            terms: K::terms(sizes),
        }
    }

    /// Of an item, if it is a pool that can be used.
    pub fn of(item: &Item) -> Option<Self> {
        match Held::of(item)? {
            Held::Pool(identity) => Some(identity),
            Held::Retired(_) | Held::Setup => None,
        }
    }

    /// How many sessions of a protocol with this security and garbler, and with numbers that are `known`, can use an item: any number, or none.
    pub fn serves(
        stored: &Stored,
        protocol: &str,
        (security, garbler): (u32, PartyId),
        known: impl Fn(&[u32]) -> bool,
    ) -> Option<u64> {
        let ours = stored.living && stored.item.protocol == protocol;
        let identity = Self::of(&stored.item).filter(|_| ours)?;
        (identity.is_for(security, garbler) && known(&identity.numbers)).then_some(u64::MAX)
    }

    /// What people should know of an item: nothing unless it is a pool that can be used, whose numbers have these names.
    pub fn facts(item: &Item, names: &[&'static str]) -> Vec<(&'static str, Value)> {
        match Self::of(item) {
            Some(Self {
                security, numbers, ..
            }) if numbers.len() == names.len() => {
                let numbers = names.iter().copied().zip(numbers.into_iter().map(Value::from));
                let facts = [("role", item.role.clone().into()), ("security", security.into())];
                facts.into_iter().chain(numbers).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether it is for sessions with this security and garbler.
    pub(super) fn is_for(&self, security: u32, garbler: PartyId) -> bool {
        (self.security, self.garbler) == (security, garbler.0)
    }

    /// Its sizes, if this version of the analysis sees them as the one did that made it.
    pub(super) fn sizes<K: Keep>(&self, keep: &K) -> Option<K::Sizes> {
        let sizes = keep.sizes(&self.numbers)?;
        (Self::new(keep, &sizes) == *self).then_some(sizes)
    }
}

/// What an item is: its settings, as JSON.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Held {
    Pool(Identity),
    /// What is left of a pool that must not be used again: its journal.
    Retired(Identity),
    /// A note that a pool is being set up, which has no keys or gadgets: its journal tells of the check that has begun.
    Setup,
}

impl Held {
    pub(super) fn of(item: &Item) -> Option<Self> {
        Self::parse(&item.settings)
    }

    fn parse(settings: &str) -> Option<Self> {
        serde_json::from_str(settings).ok()
    }

    pub(super) fn settings(&self) -> String {
        serde_json::to_string(self).expect("numbers and words are JSON")
    }

    /// The settings of a pool, once it is retired.
    pub(super) fn retired(settings: &str) -> String {
        match Self::parse(settings) {
            Some(Held::Pool(identity)) => Held::Retired(identity).settings(),
            _ => settings.into(),
        }
    }
}

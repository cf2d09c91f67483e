//! What a protocol is to those who choose one: settings, the one search for parameters, and how a session starts.

use std::fmt::Debug;

use cenote_net::PartyId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Check, Connections, Demand, Engine, Result, Topology};

/// What parties compare by name before they compute, in order: the most telling differences first. Never a secret.
pub type Terms = Vec<(String, String)>;

/// A setting as a job states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting<'a> {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(&'a str),
    /// Anything else.
    Other,
}

impl Setting<'_> {
    /// The number, if it is one in `range`; `what` if not.
    ///
    /// # Errors
    /// `what`.
    pub fn number<T: TryFrom<i64> + PartialOrd>(
        self,
        range: std::ops::RangeInclusive<T>,
        what: &str,
    ) -> std::result::Result<T, String> {
        match self {
            Setting::Number(number) => T::try_from(number).ok().filter(|number| range.contains(number)),
            _ => None,
        }
        .ok_or_else(|| what.to_owned())
    }

    /// What the text is the name of; `what` if it is no text or names nothing.
    ///
    /// # Errors
    /// `what`.
    pub fn named<T>(
        self,
        find: impl FnOnce(&str) -> Option<T>,
        what: &str,
    ) -> std::result::Result<T, String> {
        match self {
            Setting::Text(text) => find(text),
            _ => None,
        }
        .ok_or_else(|| what.to_owned())
    }
}

/// Where the material of a session comes from.
#[derive(Debug)]
pub enum Source<'a, S> {
    /// It is made in the session.
    Live,
    /// It was made before.
    Stored(&'a S),
}

/// A protocol. A value of the type is its settings, the same at all parties.
pub trait Protocol:
    Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Its name in jobs and reports.
    const NAME: &'static str;
    /// The settings that a job may state.
    const SETTINGS: &'static [&'static str];
    /// Its checks.
    const CHECKS: &'static [Check];
    /// What the one search for parameters has found for a demand.
    type Prepared: Send;
    /// One party of a session.
    type Engine: Engine;
    /// Material that was made before.
    type Store: Send + Sync + 'static;

    /// Gives the setting `name`, one of [`Protocol::SETTINGS`], a value.
    ///
    /// # Errors
    /// What values there are.
    fn set(&mut self, name: &str, value: Setting<'_>) -> std::result::Result<(), String>;

    /// What joins its parties.
    fn topology(&self) -> Topology;

    /// A wrong output passes with probability at most 2 to the minus this.
    fn security(&self) -> u32;

    /// In a few words for people, what sets it apart from others of its name.
    fn variety(&self) -> String;

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

    /// What the parties compare of it.
    fn terms(&self, prepared: &Self::Prepared) -> Terms;

    /// The parameters, for the report of a session with material from `source`; nothing if the material has its own.
    fn parameters(&self, prepared: &Self::Prepared, source: &Source<'_, Self::Store>) -> serde_json::Value;

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
        source: Source<'_, Self::Store>,
    ) -> Result<Self::Engine>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_within_their_range() {
        let small = |setting: Setting<'_>| setting.number(1u8..=64, "1 to 64");
        assert_eq!(small(Setting::Number(64)), Ok(64));
        for wrong in [
            Setting::Number(0),
            Setting::Number(65),
            Setting::Number(257),
            Setting::Number(-1),
            Setting::Text("1"),
            Setting::Other,
        ] {
            assert_eq!(small(wrong), Err("1 to 64".into()), "{wrong:?}");
        }
        let yes = |setting: Setting<'_>| setting.named(|text| (text == "yes").then_some(()), "yes");
        assert_eq!(yes(Setting::Text("yes")), Ok(()));
        assert!(yes(Setting::Text("no")).is_err() && yes(Setting::Number(1)).is_err());
    }
}

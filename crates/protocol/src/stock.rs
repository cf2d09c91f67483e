//! Material that is made ahead of sessions, in the terms that all protocols share.

use std::time::Duration;

use cenote_net::Meter;
use cenote_session::Terms;
use cenote_store::ItemId;
use serde_json::Value;

/// How much stock to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// For so many runs of the job.
    Runs(u64),
    /// For one session with so many AND gates, all in full layers.
    AndGates(u64),
    /// So many batches, where a protocol makes these.
    Batches(u64),
    /// The circuits of a job, so many times, where a protocol prepares circuits that are named ahead.
    Circuits(u64),
}

impl Amount {
    /// What is said by a protocol called `name` whose stock has not such things, if it names any: batches, or circuits.
    ///
    /// # Errors
    /// That.
    pub fn counted(self, name: &str) -> Result<Self, String> {
        let what = match self {
            Amount::Runs(_) | Amount::AndGates(_) => return Ok(self),
            Amount::Batches(_) => "has no batches",
            Amount::Circuits(_) => "is for any circuit",
        };
        Err(format!(
            "stock of protocol \"{name}\" {what}: use --runs or --and-gates"
        ))
    }

    /// The runs of a job with `ands` AND gates that it comes to, of protocol `name`, whose stock has neither batches nor circuits.
    ///
    /// # Errors
    /// That it has none.
    pub fn runs(self, name: &str, ands: u64) -> Result<u64, String> {
        match self.counted(name)? {
            Amount::Runs(count) | Amount::Batches(count) | Amount::Circuits(count) => Ok(count),
            Amount::AndGates(gates) => Ok(gates.div_ceil(ands.max(1))),
        }
    }
}

/// Material to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order<M> {
    /// How much of what, in the protocol's own units.
    pub material: M,
    /// What the parties compare before they make it.
    pub terms: Terms,
    /// The bytes that a party sends and receives to make it, about.
    pub traffic_bytes: u64,
}

/// What people should know of an item of stock, by name, in the order in which they are shown. The most words come last. Names are
/// unique, and those of machines have lower case and underscores instead of spaces.
pub type Facts = Vec<(&'static str, Value)>;

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its name in stock.
    pub item: ItemId,
    /// How much of what.
    pub material: Vec<(&'static str, u64)>,
    /// From the first message to the last.
    pub time: Duration,
    /// What this party sent and received for it, over all channels to all peers.
    pub traffic: Meter,
}

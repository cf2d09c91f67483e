//! What protocols of two parties have in common, of which one garbles and the other evaluates.

use cenote_net::PartyId;
use cenote_session::Topology;
use serde_json::Value;

use crate::{MaterialSource, Setting};

/// The garbler and the evaluator, if party `garbler`, 0 or 1, garbles.
pub fn roles(garbler: u8) -> [PartyId; 2] {
    [PartyId(garbler), PartyId(1 - garbler.min(1))]
}

/// In a few words for people, who garbles.
pub fn variety(garbler: u8) -> String {
    format!("party {garbler} garbles")
}

/// What joins the parties of the protocol called `name`: so many workers, each with a channel for every one of these `purposes`.
pub fn topology(name: &str, workers: u8, purposes: &'static [&'static str]) -> Topology {
    Topology {
        name: name.into(),
        parties: 2,
        workers,
        purposes,
        shared: &[],
    }
}

/// The setting "garbler".
///
/// # Errors
/// What values there are.
pub fn garbler(value: Setting<'_>) -> Result<u8, String> {
    value.number(0..=1, "the garbler is party 0 or 1; the other one evaluates")
}

/// The setting "security" of the protocol called `name`, which gives up to `most` bits; `why` no more, if that is said.
///
/// # Errors
/// What values there are.
pub fn security(name: &str, most: u32, why: &str, value: Setting<'_>) -> Result<u32, String> {
    let what = format!("with protocol \"{name}\", security is a number of bits from 1 to {most}{why}");
    value.number(1..=most, &what)
}

/// What is said of a setting that is none of the protocol's.
pub fn no_setting(name: &str) -> String {
    format!("there is no setting {name}")
}

/// The parameters of a session for its report, where stored material has its own.
pub fn parameters(source: &MaterialSource<'_>, live: impl FnOnce() -> Value) -> Value {
    match source {
        MaterialSource::Live => live(),
        MaterialSource::Stored(_) => Value::Null,
    }
}

//! What the standing service of a party remembers and decides: jobs and their states, the policy that approves them, the audit log, and
//! tokens. It knows no protocol, no program and no value of anybody's; it opens no connection to other parties.
//!
//! - [`Database`]: the folder of a service, its database and its audit log, which survive a kill and a power loss.
//! - [`Jobs`]: proposals, decisions, states, sealed results.
//! - [`Policy`]: rules that approve, decline, or leave a proposal to a person.
//! - [`audit`]: the log that only grows.
//! - [`Heads`]: what parties remember of each other's logs.
//! - [`Catalogues`]: what parties have published to each other of their tables.
//! - [`Tokens`]: who may do what over a service's interfaces.
//! - [`Live`]: what can be asked of a service that is up, which this crate only describes.
#![forbid(unsafe_code)]

pub mod audit;
mod catalogues;
mod database;
mod error;
mod folder;
mod heads;
pub mod job;
pub mod live;
pub mod policy;
mod results_key;
mod seal;
#[cfg(test)]
mod testing;
pub mod token;
mod view;

pub use catalogues::{Catalogues, Edition, Heard};
pub use cenote_api::{Timestamp, words};
pub use database::{Address, Database, Examined, Pending, Work, examine};
pub use error::{Error, Result};
pub use folder::{Folder, write_whole};
pub use heads::{Claim, Heads, PutBack, Told};
pub use job::{Job, Jobs};
pub use live::Live;
pub use policy::Policy;
pub use results_key::SealedValues;
pub use seal::{ResultKey, Sealed};
pub use token::Tokens;
pub use view::{seen, waits_for};

/// Random bytes of the operating system.
///
/// # Errors
/// Where it gives none.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Database(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes)
}

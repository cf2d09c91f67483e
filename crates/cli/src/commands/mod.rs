//! One module for each command: arguments in, text or JSON out.

pub(crate) mod call;
pub(crate) mod catalogue;
mod circuit;
mod demo;
mod identity;
pub(crate) mod job;
pub(crate) mod kept;
pub(crate) mod params;
mod party;
pub(crate) mod peer;
mod plan;
mod query;
mod run;
pub(crate) mod shard;
mod stock;
pub(crate) mod token;

//! One module for each command: arguments in, text or JSON out.

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod circuit;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod identity;
pub(crate) mod job;
pub(crate) mod kept;
pub(crate) mod params;
pub(crate) mod party;
pub(crate) mod peer;
pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod soak;
pub(crate) mod stock;
pub(crate) mod token;

//! The process of a standing service: it keeps the record of [`cenote_service`], speaks with its peers, holds programs and data, and runs
//! jobs that all parties have approved.
//!
//! - [`Settings`]: what a service is told.
//! - [`Node`]: a service that is up; it is [`cenote_service::Live`].
//! - [`wires`]: what joins services, over connections or in memory.
//!
//! Everything that a peer says is bounded before it is kept, and is taken for that peer's word only. A value, a secret or the path of data
//! is in no message to a peer and in no log.
#![forbid(unsafe_code)]

mod base;
mod catalogue;
mod clock;
mod compiled;
mod compute;
mod core;
mod counts;
mod data;
mod decisions;
mod dispatch;
mod error;
mod failure;
pub mod founding;
mod interface;
mod kept;
pub mod local;
mod locks;
pub mod meeting;
mod message;
mod monitor;
mod names;
mod node;
mod open_jobs;
mod own_data;
mod pace;
mod peer;
mod peers;
mod policy;
mod programs;
mod proposals;
mod queue;
mod results;
mod room;
mod run;
mod running_job;
mod scheduler;
mod settings;
mod shard_folders;
mod standing;
mod statuses;
mod stock;
mod titles;
mod transitions;
mod unsettled;
mod weighing;
pub mod wires;
mod witness;

pub use error::Error;
pub use node::Node;
pub use settings::{ROOM, Settings, StockSettings};

#[cfg(test)]
mod tests;

//! The three-party protocol: all tests but those that depend on how busy their process is (`lag`).

mod attacked_workers;
mod attacks;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod cost;
mod digest;
mod endurance;
mod failures;
mod game;
mod golden;
mod inputs;
mod kept;
mod late_batches;
mod proofs;
mod secrecy;
mod shuffle;
mod store;
mod tickets;
mod variants;

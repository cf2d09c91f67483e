//! The three-party protocol: all tests but those that depend on how busy their process is, or on its memory.

mod attacks;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod cost;
mod endurance;
mod game;
mod golden;
mod inputs;
mod kept;
mod late_batches;
mod secrecy;
mod tickets;
mod variants;

//! Benchmarks, with all parties on this machine.
//!
//! | module | what |
//! |---|---|
//! | [`job`] | one job, with parameters for exactly its gates |
//! | [`steady`] | a service that runs for ever: all of it, only its offline phase, only its online phase |
//! | [`lego`] | the two-party protocol and its parts, beside the figures of its paper |
//! | [`latency`] | from a single instance's inputs to its outputs, over links as slow as wanted |
//! | [`ring`] | what the channels carry when nothing is computed |
//! | [`table2`] | the rows of Table II of Araki et al. (S&P 2017) beside the paper's figures |
//!
//! All outputs are compared with plain evaluation. Inputs are made up; nothing secret hangs on them.

mod chart;
mod driver;
pub mod job;
pub mod latency;
pub mod lego;
mod measure;
pub mod ring;
mod settings;
pub mod steady;
mod steady_report;
mod steady_table;
pub mod table2;
mod table2_text;
mod usage;

pub use job::Bench;
pub use measure::Place;
pub(crate) use measure::{Measure, Measured};
pub use settings::Settings;
pub use usage::{Cpu, Machine};

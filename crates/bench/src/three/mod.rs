//! Benchmarks of the three-party protocol, with all parties on this machine.
//!
//! | module | what |
//! |---|---|
//! | [`job`] | one job, with parameters for exactly its gates |
//! | [`steady`] | a service that never ends: all of it, only its offline phase, only its online phase |
//! | [`latency`] | from a single instance's inputs to its outputs, over links as slow as wanted |
//! | [`ring`] | what the channels carry when nothing is computed |
//! | [`table2`] | the rows of Table II of Araki et al. (S&P 2017) beside the paper's figures |

mod driver;
pub mod job;
pub mod latency;
pub mod ring;
mod settings;
pub mod steady;
mod steady_report;
mod steady_table;
pub mod table2;
mod table2_text;

pub use settings::Settings;

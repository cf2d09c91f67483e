//! Secure computation on demand: jobs, parties and reports over the protocols of Cenote.
//!
//! A [`Job`] says what is computed, from whose inputs, for whom. It is run by [`local::run_job`], with all parties as processes
//! of one machine, or by [`remote::run_party`], as one party whose peers are elsewhere. Either gives a [`Report`].
//!
//! ```no_run
//! use std::path::Path;
//! # fn main() -> cenote::Result<()> {
//! let job = cenote::Job::load(Path::new("job.toml"))?;
//! let party = cenote::PartyConfig::load(Path::new("party.toml"))?;
//! let outcome = cenote::remote::run_party(&party, &job, &mut |_, _| ())?;
//! println!("{:?}", outcome.outputs);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Program`] may also be built in Rust. [`Party::run`] runs it over any channels, [`runner::run_in_memory`] as three threads:
//!
//! ```
//! use std::time::Duration;
//!
//! use cenote::circuits::{BitOrder, Builder};
//! use cenote::{BitMatrix, Parties, PartyId, Program, Protocol, runner};
//!
//! # fn main() -> cenote::Result<()> {
//! // Do both agree? Only party 2 learns it, and nothing else.
//! let mut b = Builder::new();
//! let x = b.input("x", 1, BitOrder::Lsb);
//! let y = b.input("y", 1, BitOrder::Lsb);
//! let both = b.and(x[0], y[0]);
//! b.output("both", &[both], BitOrder::Lsb);
//! let (owners, receivers) = (vec![PartyId(0), PartyId(1)], vec![Parties::one(PartyId(2))]);
//! let program = Program::new("both agree", b.finish(), owners, receivers, 1)?;
//!
//! let yes = BitMatrix::from_fn(1, 1, |_, _| true);
//! let inputs = [yes.clone(), yes];
//! let timeout = Duration::from_secs(30);
//! let outcomes = runner::run_in_memory(&Protocol::default(), &program, &inputs, timeout, &mut |_, _| ())?;
//! assert!(outcomes[2].outputs[0].as_ref().is_some_and(|both| both.get(0, 0)));
//! assert!(outcomes[0].outputs[0].is_none());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod admission;
mod bundle;
pub mod catalogue;
pub mod circuits;
pub mod data;
pub mod demo;
mod error;
mod fields;
mod files;
mod job;
pub mod keeping;
mod link;
pub mod local;
mod meeting;
mod outputs;
mod party_config;
pub mod plan;
pub mod processes;
mod program;
pub mod programs;
pub mod query;
mod registry;
pub mod remote;
mod report;
pub mod runner;
mod service_config;
mod settings_file;
pub mod shards;
pub mod standing;
pub mod stock;
pub mod stop;
pub mod tables;
pub mod text;

pub use admission::process_bytes;
pub use bundle::{Bundle, Stated};
pub use cenote_authenticated::Authenticated;
pub use cenote_jimu::Jimu;
pub use cenote_lego::Lego;
pub use cenote_net::{Fingerprint, Identity, OnWait, PartyId, Patience, wait_for_farewells};
pub use cenote_params::three::Variant;
pub use cenote_primitives::BitMatrix;
pub use cenote_session::Parties;
pub use cenote_session::memory::{
    avoid_huge_pages, count_with as count_memory_with, set_limit as set_memory_limit,
};
pub use cenote_three::{Method, Three, Verification, ViewCheck};
pub use error::{Error, Failure, Failures, Kind, Result};
pub use job::Job;
pub use link::Link;
pub use meeting::{is_near, resolve};
pub use party_config::{PartyConfig, Peer};
pub use program::{Executed, MAX_ANDS, Program, check_size, columns};
pub use registry::{Prepared, Protocol};
pub use report::{
    CircuitDescription, Description, NO_ERROR_LOG2, Output, PartyCosts, PartyReport, Report, Seconds,
};
pub use runner::{Party, Transport};
pub use service_config::{DatabaseAddress, ServiceConfig, StockTarget, wrong_party_name};

/// Parties of the three-party protocol.
pub const PARTIES: u8 = 3;

/// The code of the documents for users is tested with the rest.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/tutorial.md")]
    mod tutorial {}
    #[doc = include_str!("../../../docs/cookbook.md")]
    mod cookbook {}
}

// The example of the README is tested with the rest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

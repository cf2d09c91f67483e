//! What the programs of Cenote share on the command line: how a command starts and ends, what it prints, how it is stopped, how a
//! program finds its siblings, and how a standing service is called.
//!
//! | program | does |
//! |---|---|
//! | `cenote` | computes, and calls services |
//! | `cenote-serve` | is a party's standing service |
//! | `cenote-bench` | measures, and draws |
//!
//! Each is built by itself. `cenote` hands the commands of the other two to them ([`Sibling`]).
#![forbid(unsafe_code)]

pub mod args;
mod command;
mod drawing;
mod output;
pub mod service;
mod sibling;
pub mod signals;

pub use command::{Command, EXIT_CODES, run, run_child};
pub use drawing::{Drawing, Drawn, PoolCurve, ThreeCurve, plot_file};
pub use output::{Log, Progress, child, print, print_json, started_by, warn, write_file};
pub use sibling::{Forwarded, Sibling, StartedBy};

use cap::Cap;
use mimalloc::MiMalloc;

/// Memory that a party's threads free for one another is used again, and what is in use is counted.
#[global_allocator]
static ALLOCATOR: Cap<MiMalloc> = Cap::new(MiMalloc, usize::MAX);

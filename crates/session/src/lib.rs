//! What a program may ask of a protocol: the [`Engine`] contract, what it [`Costs`], and how it fails.
//!
//! A program is the same sequence of calls at every party. Wires are opaque and hold *lanes*, one bit per instance, so
//! that one call serves one instance or a million. What [`Engine::reveal`] returns has been verified first.
#![forbid(unsafe_code)]

mod bundles;
mod check;
mod clear;
pub mod conformance;
mod connections;
mod contract;
mod costs;
mod demand;
mod erased;
mod error;
mod fate;
mod flips;
mod handshake;
mod ledger;
pub mod memory;
mod phases;
mod recent;
pub mod room;
mod same_run;
mod traced;
mod warning;

pub use bundles::{Bundle, Bundles, Part};
pub use check::{Check, MESSAGE_FORM};
pub use clear::{ClearEngine, ClearWires, check_arrange, check_digest, check_input, check_owner, check_run};
pub use connections::{Connections, Limits, Link, Topology};
pub use contract::{Engine, Parties, Piece, WireVector, selected};
pub use costs::Costs;
pub use demand::{Demand, Moves, Run};
pub use erased::{AnyEngine, AnyWires, erased};
pub use error::{Cause, Error, Reason, Result};
pub use fate::{Fate, is_interrupted};
pub use flips::Flips;
pub use handshake::{AlsoAgree, Terms, handshake};
pub use ledger::{Guarded, Ledger, cheated_warning, compare_digests, farewell};
pub use phases::Phases;
pub use recent::Recent;
pub use traced::{Traced, drop_sources};
pub use warning::{Warning, WarningKind};

//! LEGO: two parties, either of which may be malicious; constant rounds, preprocessing that knows nothing of the function
//! (Nielsen, Schneider, Trifiletti 2017).
#![forbid(unsafe_code)]

mod build;
mod challenge;
pub mod checks;
mod config;
mod counters;
mod engine;
mod eval;
mod failure;
mod generate;
mod leak;
mod material;
mod memory;
mod opening;
mod order;
mod protocol;
mod provenance;
mod recover;
mod room;
mod session;
mod setup;
mod solder;
pub mod steps;
pub mod store;
mod tiles;
mod wires;

pub use config::{Config, MAX_SECURITY};
pub use engine::{LegoEngine, MadeLot, make_lot};
pub use generate::{Estimate, estimate};
pub use material::{
    AnchorWires, Anchors, AndBuckets, Authenticators, Commitments, EvaluatorEpoch, EvaluatorInputs,
    EvaluatorStock, GarblerAnds, GarblerEpoch, GarblerInputs, GarblerStock, GarblerStrings, Masks, Run,
};
pub use memory::Forecast;
pub use order::{KINDS, Order, Short};
pub use protocol::{Lego, Prepared};
pub use setup::{EvaluatorKeys, GarblerKeys};
pub use wires::LegoWires;

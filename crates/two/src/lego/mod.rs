//! LEGO: constant rounds, preprocessing that knows nothing of the function (Nielsen, Schneider, Trifiletti 2017).

mod build;
pub(crate) mod challenge;
mod config;
mod eval;
mod failure;
pub(crate) mod generate;
mod leak;
mod material;
mod opening;
mod order;
mod provenance;
mod recover;
pub(crate) mod session;
mod setup;
mod solder;
pub mod steps;
pub mod store;
mod tiles;
pub(crate) mod wires;

pub use config::{Config, MAX_SECURITY};
pub use generate::{Estimate, estimate};
pub use material::{
    AnchorWires, Anchors, AndBuckets, Authenticators, Commitments, EvaluatorEpoch, EvaluatorInputs,
    EvaluatorStock, GarblerAnds, GarblerEpoch, GarblerInputs, GarblerStock, GarblerStrings, Masks, Run,
};
pub use order::{KINDS, Order, Short};
pub use setup::{EvaluatorKeys, GarblerKeys};
pub use wires::LegoWires;

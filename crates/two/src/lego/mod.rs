//! LEGO: constant rounds, preprocessing that knows nothing of the function (Nielsen, Schneider, Trifiletti 2017).

mod challenge;
mod config;
mod failure;
mod generate;
mod leak;
mod material;
mod order;
mod setup;
mod solder;
pub mod steps;

pub use config::Config;
pub use material::{
    AnchorWires, Anchors, AndBuckets, Authenticators, Commitments, EvaluatorEpoch, EvaluatorInputs, EvaluatorStock,
    GarblerAnds, GarblerEpoch, GarblerInputs, GarblerStock, GarblerStrings, Masks, Run,
};
pub use order::{KINDS, Order, Short};
pub use setup::{EvaluatorKeys, GarblerKeys};

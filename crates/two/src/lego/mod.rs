//! LEGO: constant rounds, preprocessing that knows nothing of the function (Nielsen, Schneider, Trifiletti 2017).

mod config;
mod material;
mod order;
pub mod steps;

pub use config::Config;
pub use material::{
    AnchorWires, Anchors, AndBuckets, Authenticators, Commitments, EvaluatorEpoch, EvaluatorInputs, EvaluatorStock,
    GarblerAnds, GarblerEpoch, GarblerInputs, GarblerStock, GarblerStrings, Masks, Run,
};
pub use order::{KINDS, Order, Short};

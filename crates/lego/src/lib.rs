//! LEGO: two parties, either of which may be malicious; constant rounds, preprocessing that knows nothing of the function
//! (Nielsen, Schneider, Trifiletti 2017).
#![forbid(unsafe_code)]

pub mod checks;
mod counters;
mod engine;
mod failure;
mod leak;
mod material;
mod memory;
mod offline;
mod online;
mod order;
mod party;
mod protocol;
mod room;
mod settings;
mod setup;
pub mod steps;
pub mod store;
mod wires;

pub use engine::{LegoEngine, MadeLot, make_lot};
pub use material::{
    AnchorWires, Anchors, AndBuckets, Authenticators, Commitments, Epoch, EvaluatorEpoch, EvaluatorInputs,
    EvaluatorStock, Gadgets, GarblerAnds, GarblerEpoch, GarblerInputs, GarblerStock, GarblerStrings, Holder,
    Masks, Run, Stock,
};
pub use memory::Forecast;
pub use offline::{Estimate, estimate};
pub use order::{KINDS, Order, Short};
pub use protocol::{Lego, Prepared};
pub use settings::{Config, MAX_SECURITY};
pub use setup::{EvaluatorKeys, GarblerKeys};
pub use wires::LegoWires;

//! Two parties, one of which may be malicious.
#![forbid(unsafe_code)]

pub mod commit;
mod engine;
pub mod garble;
pub mod lego;

pub use engine::{LegoEngine, MadeLot, make_lot};

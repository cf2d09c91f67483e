//! Boolean circuits over XOR, AND, NOT, constants and copies: the compact [`Circuit`] form, a [`Builder`] with constant
//! folding and sharing of common subexpressions, circuit files ([`mod@format`]), integers and text on the wires of a
//! [`Value`], and the [`Plan`]: a circuit scheduled for execution.
#![forbid(unsafe_code)]

mod builder;
mod digest;
mod eval;
pub mod format;
mod ir;
pub mod library;
mod plan;
mod stats;
mod value;

pub use builder::{Bit, Builder};
pub use eval::InputShape;
pub use ir::{BitOrder, Circuit, Gate, Value, WireId};
pub use plan::{AndOp, Level, LocalOp, Pieces, Plan};
pub use stats::Statistics;
pub use value::ValueError;

//! Boolean circuits over XOR, AND, NOT, constants and copies: the compact [`Circuit`] form, a [`Builder`] with constant
//! folding and sharing of common subexpressions.
#![forbid(unsafe_code)]

mod builder;
mod ir;

pub use builder::{Bit, Builder};
pub use ir::{BitOrder, Circuit, Gate, Value, WireId};

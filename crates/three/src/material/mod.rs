//! Checked triples: their shape, how many are needed, how they reach an evaluator, and which checks which gate.

pub(crate) mod batch;
mod settlement;
pub(crate) mod shape;
pub(crate) mod stock;
pub(crate) mod supply;
pub(crate) mod tally;

//! Computing: wires are made, buckets drawn and soldered, gates evaluated as they come, and outputs opened.
//!
//! The garbler never waits for the evaluator but when the evaluator has an input, the pool is refilled, or it gets an output: it
//! draws the same gadgets as the evaluator, and streams solderings. A soldering of two wires is the sum of their 0-labels; which of
//! the two possible sums it is, with Δ or without, the evaluator sees by the wires' i-hashes, and that this is the sum of their
//! permutation bits it learns from the MACs, which come in one hash for many of them.

mod bucket;
pub(crate) mod circuit;
mod evaluator;
mod garbler;
mod group;
mod history;
mod inputs;
mod run;
mod side;
mod solderings;
mod supply;
mod transfers;
mod work;

pub(crate) use evaluator::Evaluator;
pub(crate) use garbler::Garbler;
pub(crate) use history::History;
pub(crate) use side::Side;
pub(crate) use supply::{Common, Supplied};

/// The evaluator's inputs that are transferred together, at most.
pub(crate) const INPUTS_AT_ONCE: usize = INPUTS_OF_LOT * transfers::LOTS;

/// The evaluator's inputs that are sums of the same transferred labels.
pub(crate) const INPUTS_OF_LOT: usize = transfers::UNIT;

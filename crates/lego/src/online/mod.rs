//! Build and Eval at one party, its calls as the engine makes them: inputs are put in, circuits built and attached, and all of
//! Figure 2's Eval happens when something is revealed.
//!
//! Nothing waits for the peer before it must, so that a whole job costs the two messages of Eval: the evaluator's masked
//! inputs leave with the first thing that it waits for; solderings, which need no answer, are on their way as soon as the
//! garbler knows them, and are received when the evaluator needs them or something after them.

mod accept;
mod bits;
mod build;
mod circuits;
mod eval;
mod evaluator;
mod garbler;
mod opening;
pub(crate) mod provenance;
mod reaper;
mod recover;
pub(crate) mod roles;
mod shares;
mod side;
mod supply;
pub(crate) mod tiles;

pub(crate) use evaluator::Evaluator;
pub(crate) use garbler::Garbler;
pub(crate) use roles::{GARBLER, Roles};
pub(crate) use side::Side;

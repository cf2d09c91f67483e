//! Evaluating circuits on shared values, and opening what was verified.

pub(crate) mod checker;
pub(crate) mod digest;
pub(crate) mod evaluator;
pub(crate) mod gate_log;
pub(crate) mod input;
pub(crate) mod kept;
pub(crate) mod output;
pub(crate) mod shuffle;
pub(crate) mod verify;
pub(crate) mod worker;

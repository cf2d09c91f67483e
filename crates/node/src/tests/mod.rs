//! Services of one process, from submission to result.

mod attacks;
mod faults;
mod life;
mod queries;
mod trunks;
pub(crate) mod world;

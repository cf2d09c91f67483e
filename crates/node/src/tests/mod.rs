//! Services of one process, from submission to result.

mod attacks;
mod faults;
mod life;
mod trunks;
mod world;

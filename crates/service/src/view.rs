//! What callers of the interface get, where it is told otherwise than this crate knows it.

mod fleet;
mod job;

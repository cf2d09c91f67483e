//! `cenote params`, from outside: its answers are the library's, its refusals say what would do, its plots can be read.

mod answers;
mod common;
mod plots;
#[path = "../programs/mod.rs"]
mod programs;
mod refusals;

//! What is measured, drawn and simulated for those who compare protocols: nothing here takes part in a computation.
//!
//! | module | what |
//! |---|---|
//! | [`three`] | the three-party protocol: one job, a service that never ends, latencies, the bare channels, its paper's Table II |
//! | [`lego`] | the two-party protocol and its parts, beside the figures of its paper |
//! | [`authenticated`] | two parties with authenticated garbling over a pool of leaky ANDs |
//! | [`jimu`] | two parties over a pool of garbled gates, beside the figures of its paper |
//! | [`pools`] | what is run over pools of some size |
//! | [`apps`] | programs over secret values on every engine, beside the figures of POOL's paper |
//! | [`queries`], [`tpch`] | queries over made-up tables, and those of TPC-H beside what SQLite says |
//! | [`scale`] | jobs in shards on parties of many machines: measured here, and simulated |
//! | [`plan`] | what a plan says beside what is measured |
//! | [`soak`] | an endless stream of computations, all outputs of which are compared |
//! | [`kill`] | the same, while parties are killed and begin again with what they have on disk |
//! | [`curves`], [`plot`] | the papers' figures on parameters, as data and as drawings |
//! | [`simulate`] | Monte-Carlo simulations of the games that the parameters rest on |
//!
//! A benchmark runs all parties on this machine, and compares all outputs with plain evaluation. Inputs are made up; nothing
//! secret hangs on them.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "only the programs and tests of this crate use it")]

pub mod apps;
pub mod authenticated;
mod children;
mod columns;
mod commands;
pub mod curves;
pub mod jimu;
pub mod kill;
pub mod lego;
mod measure;
mod meeting;
pub mod plan;
pub mod plot;
pub mod pools;
pub mod queries;
mod sample;
pub mod scale;
pub mod simulate;
pub mod soak;
pub mod three;
pub mod tpch;
mod usage;

pub use children::child_main;
pub use commands::main;
pub use measure::Place;
pub use usage::{Cpu, Machine};

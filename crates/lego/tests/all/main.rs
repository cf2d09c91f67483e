//! The two-party protocol: all tests but those that depend on how busy their process is, or on its memory.

#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod demand;
mod eval;
mod reactive;
mod reserved;
mod rounds;
mod soundness;
mod stored;
mod streaming;

//! Channels: all tests but those that are about the whole process, which have it to themselves: what farewells it waits for
//! (`farewell`), how much memory it takes (`memory_peak`), and what its log says (`refusals`).

#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod differences;
mod hostile;
mod meeting;
mod memory;
mod relay;
mod returns;
mod shaping;
mod tampering;
mod trunks;
mod waits;

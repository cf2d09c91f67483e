//! Channels: all tests but those that depend on how busy their process is, or on its memory.

#[path = "../common/mod.rs"]
mod common;
mod differences;
mod farewell;
mod hostile;
mod meeting;
mod memory;
mod refusals;
mod shaping;
mod tampering;
mod waits;

//! The `cenote` command.
#![forbid(unsafe_code)]

fn main() {}

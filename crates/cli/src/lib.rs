//! The `cenote` command, for its program and for the Python package.
#![forbid(unsafe_code)]

mod args;
mod commands;

use std::ffi::OsString;

use clap::Parser;

use crate::args::{Args, Program};

/// Runs the command with these arguments, the first of which is the program's name, and gives the exit code of the process. Help and misuse end the process at
/// once.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = Args::parse_from(args);
    match &args.program {
        Program::Child => cenote_console::run_child(cenote::local::child_main, args.verbose),
        program => cenote_console::run(program, args.verbose),
    }
}

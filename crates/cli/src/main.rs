//! The `cenote` command.
#![forbid(unsafe_code)]

mod args;
mod commands;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Program};

fn main() -> ExitCode {
    let args = Args::parse();
    match &args.program {
        Program::Child => cenote_console::run_child(cenote::local::child_main, args.verbose),
        program => cenote_console::run(program, args.verbose),
    }
}

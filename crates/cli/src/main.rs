//! The `cenote` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cenote_cli::run(std::env::args_os()))
}

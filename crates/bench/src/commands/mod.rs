//! The program `cenote-bench`: one module for each command, arguments in, text or JSON out.

mod bench;
mod draw;
mod game;
mod soak;

use std::process::ExitCode;

use cenote::Result;
use cenote_console::{Command, EXIT_CODES, Sibling, StartedBy};
use clap::{Parser, Subcommand};

/// Measure protocols and their parts, run random computations, and draw plots.
#[derive(Debug, Parser)]
#[command(name = "cenote-bench", version, after_help = EXIT_CODES)]
struct Args {
    /// Say more on standard error: -v for steps, -vv for connections (the variable RUST_LOG overrides this)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(flatten)]
    started_by: StartedBy,
    #[command(subcommand)]
    program: Program,
}

#[derive(Debug, Subcommand)]
enum Program {
    #[command(flatten)]
    Bench(bench::Bench),
    /// Run random computations, with all parties on this machine, and check every output
    Soak(soak::Soak),
    /// Play a cut-and-choose game many times, and compare with the exact probability
    #[command(subcommand)]
    Game(game::Game),
    /// Draw what standard input describes
    #[command(hide = true)]
    Draw(draw::Draw),
    /// A party's process, told what to do by its parent
    #[command(hide = true)]
    Child,
}

impl Args {
    fn command(&self) -> Option<&dyn Command> {
        match &self.program {
            Program::Bench(command) => Some(command),
            Program::Soak(command) => Some(command),
            Program::Game(command) => Some(command),
            Program::Draw(command) => Some(command),
            Program::Child => None,
        }
    }
}

impl Command for Args {
    fn run(&self, verbose: u8) -> Result<()> {
        self.started_by.check(Sibling::Bench)?;
        self.command().map_or(Ok(()), |command| command.run(verbose))
    }

    fn json(&self) -> bool {
        self.command().is_some_and(Command::json)
    }

    fn memory(&self) -> Option<u64> {
        self.command().and_then(Command::memory)
    }

    fn meets_peers(&self) -> bool {
        self.command().is_some_and(Command::meets_peers)
    }
}

/// Runs the program with the command line of this process.
pub fn main() -> ExitCode {
    let args = Args::parse();
    ExitCode::from(match args.program {
        Program::Child => cenote_console::run_child(crate::child_main, args.verbose),
        _ => cenote_console::run(&args, args.verbose),
    })
}

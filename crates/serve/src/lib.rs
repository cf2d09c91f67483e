//! A party's standing service as a program: `cenote-serve` keeps it up, founds it, and looks after it.
//!
//! It is found beside `cenote`, which hands it the commands `serve`, `init`, `invite`, `join`, `audit` and `doctor`.
#![forbid(unsafe_code)]

mod audit;
mod doctor;
mod serve;

use std::process::ExitCode;

use cenote::Result;
use cenote_console::{Command, EXIT_CODES, Log, Sibling, StartedBy};
use clap::{Parser, Subcommand};

/// Start a party's service, which runs the jobs that all parties have approved, and shows them on a web page.
#[derive(Debug, Parser)]
#[command(name = "cenote-serve", version, after_help = EXIT_CODES, args_conflicts_with_subcommands = true)]
struct Args {
    /// Say more on standard error: -v for steps, -vv for connections (the variable RUST_LOG overrides this)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(flatten)]
    started_by: StartedBy,
    #[command(flatten)]
    serve: serve::Serve,
    #[command(subcommand)]
    other: Option<Other>,
}

/// What is done for a service besides keeping it up.
#[derive(Debug, Subcommand)]
enum Other {
    /// Make a new party: a folder with its key, its data and its policy
    Init(serve::Init),
    /// Invite the other parties, and wait for them to join
    Invite(serve::Invite),
    /// Join the parties that have invited this one
    Join(serve::Join),
    /// Check that nobody has changed the audit log of a party's service
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Examine a party's service, and say what to do about each fault
    Doctor(doctor::Doctor),
}

impl Args {
    fn command(&self) -> &dyn Command {
        match &self.other {
            None => &self.serve,
            Some(Other::Init(command)) => command,
            Some(Other::Invite(command)) => command,
            Some(Other::Join(command)) => command,
            Some(Other::Audit(command)) => command,
            Some(Other::Doctor(command)) => command,
        }
    }
}

impl Command for Args {
    fn run(&self, verbose: u8) -> Result<()> {
        self.started_by.check(Sibling::Serve)?;
        self.command().run(verbose)
    }

    fn json(&self) -> bool {
        self.command().json()
    }

    fn log(&self) -> Log {
        self.command().log()
    }
}

/// Runs the program with the command line of this process.
pub fn main() -> ExitCode {
    let args = Args::parse();
    ExitCode::from(cenote_console::run(&args, args.verbose))
}

//! How a command starts and ends.

use std::time::Duration;

use cenote::{Error, Kind, Result};

use crate::output::{self, Log};
use crate::signals::{self, Told};

/// How long the end of a failed command waits for peers to take its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The exit codes, as `--help` explains them.
pub const EXIT_CODES: &str = "Exit codes:
  0  done
  1  this machine or program failed
  2  misuse: the command line, a job file or a party file is wrong, or the parties were given different jobs
  3  network: a peer is missing, silent, lost or not the one expected
  4  cheating: a check failed here
  5  bad input: a data, circuit or stock file is missing or wrong
  6  reported: a peer says that a check failed there
  7  stopped by its operator, or declined or cancelled by a party
  8  late: a job of a service was not done by its deadline";

/// A command with its options.
pub trait Command {
    /// Does it. `verbose` is how often `-v` was given, for processes that it starts.
    ///
    /// # Errors
    /// Whatever ends the command; the exit code follows from it.
    fn run(&self, verbose: u8) -> Result<()>;

    /// Whether standard output has to be one JSON object, after a failure too.
    fn json(&self) -> bool {
        false
    }

    /// The most bytes of memory that it may take, where the user says so.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Whether it runs parties, which a signal ends in order.
    fn meets_peers(&self) -> bool {
        false
    }

    /// What it tells unasked on standard error.
    fn log(&self) -> Log {
        Log::Nothing
    }
}

/// Runs a command from its start to the exit code of the process.
pub fn run(command: &dyn Command, verbose: u8) -> u8 {
    output::start_log(verbose, command.log());
    cenote::count_memory_with(|| crate::ALLOCATOR.allocated() as u64);
    if let Some(bytes) = command.memory() {
        cenote::set_memory_limit(bytes);
    }
    let json = command.json();
    if command.meets_peers() {
        signals::watch(if json { Told::Json } else { Told::Words });
    }
    match command.run(verbose) {
        Ok(()) => 0,
        Err(error) => {
            if matches!(error, Error::Stopped { .. }) {
                signals::tell();
            }
            output::fail(&error, json);
            // The peers are told too, before the end of this process cuts that off.
            cenote::wait_for_farewells(LAST_WORDS);
            error.kind().exit_code()
        }
    }
}

/// Runs a party in a process of its own, whose parent tells it what to do and hears how it ended.
pub fn run_child(party: impl FnOnce() -> std::result::Result<(), Kind>, verbose: u8) -> u8 {
    output::start_log(verbose, Log::Nothing);
    cenote::count_memory_with(|| crate::ALLOCATOR.allocated() as u64);
    signals::watch(Told::Nothing);
    party().map_or_else(Kind::exit_code, |()| 0)
}

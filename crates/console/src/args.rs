//! Options that commands of several programs have.

use std::time::Duration;

use cenote::local::Setting;
use cenote::{Result, Transport};
use clap::Args;
use serde::Serialize;

use crate::output::{print, print_json};

/// How a command answers.
#[derive(Debug, Clone, Copy, Args)]
pub struct Form {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

impl Form {
    /// Prints the answer: as the one object that `--json` promises, or as text.
    ///
    /// # Errors
    /// Standard output takes no more.
    pub fn print(self, answer: &impl Serialize, text: impl FnOnce() -> String) -> Result<()> {
        if self.json {
            print_json(answer)
        } else {
            print(&text())
        }
    }
}

/// How parties on this machine are joined.
#[derive(Debug, Args)]
pub struct Local {
    /// How the parties are connected: tls, or tcp, which protects nothing and is for measurements only
    #[arg(long, value_parser = |text: &str| processes(text), default_value = "tls")]
    pub transport: Transport,
    /// Seconds to wait for a party that sends nothing
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30")]
    pub timeout: Duration,
    /// Seconds that each phase of a run may take, for example its set-up [default: 600, plus 100 times what the run's traffic takes at 1 MB/s]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub phase_timeout: Option<Duration>,
}

impl Local {
    /// What they say of a session.
    pub fn setting(&self) -> Setting {
        Setting {
            transport: self.transport,
            timeout: self.timeout,
            phase_timeout: self.phase_timeout,
        }
    }
}

fn processes(text: &str) -> std::result::Result<Transport, String> {
    match text.parse() {
        Ok(Transport::Memory) | Err(_) => Err("processes are joined by tls or tcp".into()),
        Ok(transport) => Ok(transport),
    }
}

/// A timeout, in seconds.
///
/// # Errors
/// In words, which there are.
pub fn seconds(text: &str) -> std::result::Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=1e6).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a timeout is a number of seconds from 0.001 to 1000000".into()),
    }
}

/// Megabytes, in bytes.
///
/// # Errors
/// In words, what they are.
pub fn megabytes(text: &str) -> std::result::Result<u64, String> {
    match text.parse::<u64>() {
        Ok(megabytes) => Ok(megabytes.saturating_mul(1_000_000)),
        Err(_) => Err("this is a whole number of megabytes".into()),
    }
}

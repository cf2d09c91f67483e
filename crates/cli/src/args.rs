//! The command line.

use std::path::PathBuf;

use cenote::circuits::Format;
use cenote::text::count;
use cenote::{Link, Result};
use cenote_console::args::{Form, Local, megabytes};
use cenote_console::{Command, EXIT_CODES, Forwarded, Log, Sibling};
use clap::{Parser, Subcommand, ValueEnum};

/// Compute results from data that two or three parties do not show each other.
#[derive(Debug, Parser)]
#[command(name = "cenote", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Say more on standard error: once for steps, twice for connections (RUST_LOG overrides)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) program: Program,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Program {
    /// Three banks find the customers who owe more than a million to all three together
    Demo(Demo),
    /// Run all parties of a job on this machine
    Run(Run),
    /// Ask a query of a job's tables, with all parties on this machine
    Query(Query),
    /// Estimate what a job will take with each protocol, without running it
    Plan(Plan),
    /// Run one party of a job; the other parties run elsewhere
    Party(Party),
    /// Make, show or drop stock: cryptographic material for later jobs
    #[command(subcommand)]
    Stock(Stock),
    /// Make this party's key, or show the fingerprint by which peers know it
    #[command(subcommand)]
    Identity(Identity),
    /// Count, convert or write circuits
    #[command(subcommand)]
    Circuit(Circuit),
    /// Find and check security parameters
    #[command(subcommand)]
    Params(crate::commands::params::Params),
    /// Propose, approve, watch and fetch jobs of a standing service
    #[command(subcommand)]
    Job(crate::commands::job::Job),
    /// List or drop values that jobs of a standing service have kept
    #[command(subcommand)]
    Kept(crate::commands::kept::Kept),
    /// Say that what was on record against a party of a standing service is settled
    #[command(subcommand)]
    Peer(crate::commands::peer::Peer),
    /// Make, list or revoke tokens of a standing service
    #[command(subcommand)]
    Token(crate::commands::token::Token),
    /// Keep a party's service up: it runs the jobs that all parties have approved (by cenote-serve)
    #[command(disable_help_flag = true)]
    Serve(Forwarded),
    /// Make a new party: a folder with its key, its data and its policy (by cenote-serve)
    #[command(disable_help_flag = true)]
    Init(Forwarded),
    /// Invite the other parties, and wait for them to join (by cenote-serve)
    #[command(disable_help_flag = true)]
    Invite(Forwarded),
    /// Join the parties of an invitation (by cenote-serve)
    #[command(disable_help_flag = true)]
    Join(Forwarded),
    /// Check the log of a standing service (by cenote-serve)
    #[command(disable_help_flag = true)]
    Audit(Forwarded),
    /// Look at a standing service, and say what to do about each fault (by cenote-serve)
    #[command(disable_help_flag = true)]
    Doctor(Forwarded),
    /// Measure protocols and their parts (by cenote-bench)
    #[command(disable_help_flag = true)]
    Bench(Forwarded),
    /// Run random computations and check every output (by cenote-bench)
    #[command(disable_help_flag = true)]
    Soak(Forwarded),
    /// A party's process, told what to do by its parent
    #[command(hide = true)]
    Child,
}

impl Program {
    /// The command, if this program does it.
    fn here(&self) -> Option<&dyn Command> {
        Some(match self {
            Program::Demo(command) => command,
            Program::Run(command) => command,
            Program::Query(command) => command,
            Program::Plan(command) => command,
            Program::Party(command) => command,
            Program::Stock(command) => command,
            Program::Identity(command) => command,
            Program::Circuit(command) => command,
            Program::Params(command) => command,
            Program::Job(command) => command,
            Program::Kept(command) => command,
            Program::Peer(command) => command,
            Program::Token(command) => command,
            _ => return None,
        })
    }
}

impl Command for Program {
    fn run(&self, verbose: u8) -> Result<()> {
        let (sibling, command, rest) = match self {
            Program::Serve(rest) => (Sibling::Serve, None, rest),
            Program::Init(rest) => (Sibling::Serve, Some("init"), rest),
            Program::Invite(rest) => (Sibling::Serve, Some("invite"), rest),
            Program::Join(rest) => (Sibling::Serve, Some("join"), rest),
            Program::Audit(rest) => (Sibling::Serve, Some("audit"), rest),
            Program::Doctor(rest) => (Sibling::Serve, Some("doctor"), rest),
            Program::Bench(rest) => (Sibling::Bench, None, rest),
            Program::Soak(rest) => (Sibling::Bench, Some("soak"), rest),
            here => return here.here().map_or(Ok(()), |command| command.run(verbose)),
        };
        sibling.become_it(command, rest, verbose)
    }

    fn json(&self) -> bool {
        self.here().is_some_and(Command::json)
    }

    fn memory(&self) -> Option<u64> {
        self.here().and_then(Command::memory)
    }

    fn meets_peers(&self) -> bool {
        self.here().is_some_and(Command::meets_peers)
    }

    fn log(&self) -> Log {
        self.here().map_or(Log::Nothing, Command::log)
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// The folder with the query (job.toml) and the banks' files; missing files are written as samples
    #[arg(long, default_value = "cenote-demo")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The job file
    pub(crate) job: PathBuf,
    /// The most memory that all parties together may take, in megabytes [default: what the machine has left]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Query {
    /// The query, for example "SELECT region, SUM(owed) FROM loans GROUP BY region"
    pub(crate) query: String,
    /// A job file that declares the tables; its own query is not asked
    #[arg(long, value_name = "FILE")]
    pub(crate) tables: PathBuf,
    /// The protocol [default: the file's]
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Option<String>,
    /// The most memory that all parties together may take, in megabytes [default: what the machine has left]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// The job file; no input values are read
    pub(crate) job: PathBuf,
    /// The link to estimate for: none, lan (0.16 ms, 9.52 Gbit/s), wan (81 ms, 3 Gbit/s), or RTT,RATE in ms and Gbit/s
    #[arg(long, default_value = "none")]
    pub(crate) link: Link,
    /// The most memory that a party may take, in megabytes [default: what the machine has left]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Party {
    /// The party file: who this party and its peers are
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The job file
    pub(crate) job: PathBuf,
    /// The most memory that the job may take, in megabytes [default: `memory` of the party file, or what the machine has left]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
    /// Only check files, identity and inputs; do not meet the peers
    #[arg(long)]
    pub(crate) check: bool,
    /// Use material from stock; all parties must do the same
    #[arg(long)]
    pub(crate) online: bool,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Stock {
    /// Make stock for a job, together with the peers, who run the same command
    Make {
        /// The party file, which names the stock folder and its key
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The job that the stock is made for
        job: PathBuf,
        #[command(flatten)]
        amount: Amount,
        #[command(flatten)]
        form: Form,
    },
    /// List the stock
    Show {
        /// The party file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        #[command(flatten)]
        form: Form,
    },
    /// Remove items from stock for good
    Drop {
        /// The party file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        #[command(flatten)]
        which: Which,
        /// With --orphans: do not ask about items that only one peer says it lacks
        #[arg(long, requires = "orphans")]
        yes: bool,
        #[command(flatten)]
        form: Form,
    },
}

/// Which stock to remove.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// Items, by the beginnings of their names: at least 8 digits
    pub(crate) epochs: Vec<String>,
    /// Unusable stock: unreadable here, or missing at a peer. If only one peer has said so, the command asks first
    #[arg(long)]
    pub(crate) orphans: bool,
    /// Everything
    #[arg(long)]
    pub(crate) all: bool,
}

/// How much stock to make.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct Amount {
    /// Enough for this many runs of the job [default: 1]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) runs: Option<u64>,
    /// Enough for one session with this many AND gates
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) and_gates: Option<u64>,
    /// With protocol three: this many batches
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) batches: Option<u64>,
    /// With protocol authenticated: garble the job's circuit ahead, this many times
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) circuits: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Identity {
    /// Make a new private key, and with --party a party file to fill in
    New {
        /// The file to write the private key to; it must not exist
        #[arg(long, default_value = "identity.pem")]
        file: PathBuf,
        /// Write a party file for this party
        #[arg(long, value_parser = clap::value_parser!(u8).range(0..3))]
        party: Option<u8>,
        /// How many parties there will be: 3, or 2 for jobs of two parties only
        #[arg(long, value_parser = clap::value_parser!(u8).range(2..=3), default_value_t = 3, requires = "party")]
        parties: u8,
        /// The party file to write; it must not exist
        #[arg(long, value_name = "FILE", default_value = "party.toml", requires = "party")]
        config: PathBuf,
    },
    /// Print the fingerprint by which peers know this party
    Show {
        /// The identity file
        #[arg(long, default_value = "identity.pem")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Circuit {
    /// Print the gates and the depth of a circuit
    Stats {
        /// A circuit file, or lib:NAME
        circuit: String,
        #[command(flatten)]
        form: Form,
    },
    /// Convert a circuit file
    Convert {
        /// A circuit file, or lib:NAME
        circuit: String,
        /// The file to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// The format to write
        #[arg(long, value_enum, default_value_t = FormatName::Fashion)]
        format: FormatName,
    },
    /// Write a circuit of the library, or list their names
    Gen {
        /// The circuit's name; without it, all names are listed
        #[arg(requires = "output")]
        name: Option<String>,
        /// The file to write
        #[arg(short, long, value_name = "FILE", requires = "name")]
        output: Option<PathBuf>,
        /// The format to write
        #[arg(long, value_enum, default_value_t = FormatName::Fashion)]
        format: FormatName,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatName {
    /// Bristol Fashion
    Fashion,
    /// The older Bristol format
    Bristol,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Format {
        match name {
            FormatName::Fashion => Format::Fashion,
            FormatName::Bristol => Format::Bristol,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}

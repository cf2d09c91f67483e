//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use cenote::circuits::Format;
use cenote::query::Instead;
use cenote::text::count;
use cenote::{Error, Link, Result};
use cenote_console::args::{Form, Local, megabytes};
use cenote_console::{Command, EXIT_CODES, Forwarded, Log, Sibling, plot_file};
use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::shard::ANYWHERE;

/// Compute results from data that two or three parties do not show each other.
#[derive(Debug, Parser)]
#[command(name = "cenote", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Say more on standard error: -v for steps, -vv for connections (the variable RUST_LOG overrides this)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) program: Program,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Program {
    /// Run an example: three banks find the customers who owe more than a million to all three together
    Demo(Demo),
    /// Run all parties of a job on this machine
    Run(Run),
    /// Run an SQL query over the tables of a job file, with all parties on this machine
    Query(Query),
    /// Estimate the time, memory and traffic of a job, without running it
    Plan(Plan),
    /// Run this party of a job, together with the other parties on their machines
    Party(Party),
    /// Compute shards of a query for this party, as its coordinator hands them out
    Shard(Shard),
    /// Make, list or remove stock: cryptographic material, made ahead, with which later jobs are faster
    #[command(subcommand)]
    Stock(Stock),
    /// Make this party's key, or print the fingerprint by which the other parties know it
    #[command(subcommand)]
    Identity(Identity),
    /// Count the gates of a circuit, convert it, or write one of the library
    #[command(subcommand)]
    Circuit(Circuit),
    /// Find and check security parameters
    #[command(subcommand)]
    Params(crate::commands::params::Params),
    /// Propose, approve and watch jobs of a party's service, and fetch their results
    #[command(subcommand)]
    Job(crate::commands::job::Job),
    /// Show what may be asked of which data, as the parties publish it, and make a job of a query
    Catalogue(crate::commands::catalogue::Catalogue),
    /// Call a job that stands: one that all parties have approved for many calls, each with other inputs
    Call(crate::commands::call::Call),
    /// List or drop outputs that a party's service keeps for later jobs
    #[command(subcommand)]
    Kept(crate::commands::kept::Kept),
    /// Let the rules of a party's service approve jobs with another party again, after runs with it broke off
    #[command(subcommand)]
    Peer(crate::commands::peer::Peer),
    /// Make, list or revoke the tokens with which programs and people use a party's service
    #[command(subcommand)]
    Token(crate::commands::token::Token),
    /// Start a party's service, which runs the jobs that all parties have approved (by cenote-serve)
    #[command(disable_help_flag = true)]
    Serve(Forwarded),
    /// Make a new party: a folder with its key, its data and its policy (by cenote-serve)
    #[command(disable_help_flag = true)]
    Init(Forwarded),
    /// Invite the other parties, and wait for them to join (by cenote-serve)
    #[command(disable_help_flag = true)]
    Invite(Forwarded),
    /// Join the parties that have invited this one (by cenote-serve)
    #[command(disable_help_flag = true)]
    Join(Forwarded),
    /// Check that nobody has changed the audit log of a party's service (by cenote-serve)
    #[command(disable_help_flag = true)]
    Audit(Forwarded),
    /// Examine a party's service, and say what to do about each fault (by cenote-serve)
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
            Program::Shard(command) => command,
            Program::Stock(command) => command,
            Program::Identity(command) => command,
            Program::Circuit(command) => command,
            Program::Params(command) => command,
            Program::Job(command) => command,
            Program::Catalogue(command) => command,
            Program::Call(command) => command,
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
    /// The folder for the query (job.toml) and the banks' files; files that are missing are made, with sample data
    #[arg(long, default_value = "cenote-demo")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// The values of a query's parameters.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Parameters {
    /// The value of the parameter NAME of the query
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameters: Vec<(String, String)>,
}

impl Parameters {
    /// They are for queries only.
    pub(crate) fn refuse(&self) -> Result<()> {
        match self.parameters.is_empty() {
            true => Ok(()),
            false => Err(Error::Usage(
                "--parameter is for queries, and this job is a circuit".into(),
            )),
        }
    }

    /// What is said instead of the job file.
    pub(crate) fn instead(&self) -> Instead {
        Instead {
            parameters: self.parameters.iter().cloned().collect(),
            ..Instead::default()
        }
    }
}

/// A name and a value, which may be empty.
pub(crate) fn parameter(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("give NAME=VALUE".into()),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The job file
    pub(crate) job: PathBuf,
    #[command(flatten)]
    pub(crate) parameters: Parameters,
    /// The most memory that all parties together may take, in megabytes [default: what this machine has left]
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
    /// The job file that declares the tables; the query in it is not run
    #[arg(long, value_name = "FILE")]
    pub(crate) tables: PathBuf,
    /// The protocol: three, authenticated, lego or jimu [default: the job file's]
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Option<String>,
    #[command(flatten)]
    pub(crate) parameters: Parameters,
    /// The most memory that all parties together may take, in megabytes [default: what this machine has left]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// The job file; its input values are not read
    pub(crate) job: PathBuf,
    /// The network to estimate for: none, lan (round trips of 0.16 ms, 9.52 Gbit/s), wan (81 ms, 3 Gbit/s), or RTT,RATE in ms and Gbit/s
    #[arg(long, default_value = "none")]
    pub(crate) link: Link,
    #[command(flatten)]
    pub(crate) parameters: Parameters,
    /// The most memory that a party may take, in megabytes [default: what this machine has left]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
    /// Also draw the steps of a query, as .svg or .png by the file's name; this needs the program cenote-bench
    #[arg(long, value_name = "FILE", value_parser = plot_file)]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Party {
    /// The party file, which says who this party and the others are
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The job file
    pub(crate) job: PathBuf,
    #[command(flatten)]
    pub(crate) parameters: Parameters,
    /// The most memory that the job may take, in megabytes [default: `memory` of the party file, or what this machine has left]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
    /// Only check the files, this party's key and its inputs; do not connect to the other parties
    #[arg(long)]
    pub(crate) check: bool,
    /// Use stock (see `cenote stock`); all parties must do the same
    #[arg(long)]
    pub(crate) online: bool,
    /// Let the shards of the job be computed by workers that connect to this address (see `cenote shard`), instead of here one after another
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "online")]
    pub(crate) coordinate: Option<String>,
    /// Let workers of other parties reach those of this party that have --relay through this address, at the host of this party
    #[arg(long, value_name = "HOST:PORT", requires = "coordinate")]
    pub(crate) relay: Option<String>,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Shard {
    /// The party file; the folder `shards` that it names must be the same for all workers of the party, and for its coordinator
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The job file; tables and inputs are not read
    pub(crate) job: PathBuf,
    /// Where `cenote party … --coordinate` hands out the shards
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) coordinator: String,
    /// Where the workers of other parties connect to this one; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = ANYWHERE, conflicts_with = "relay")]
    pub(crate) listen: SocketAddr,
    /// The host at which they reach it [default: the address from which this machine reaches the coordinator]
    #[arg(long, value_name = "HOST", conflicts_with = "relay")]
    pub(crate) host: Option<String>,
    /// They reach it through the coordinator, which has --relay
    #[arg(long)]
    pub(crate) relay: bool,
    /// The most memory that it may take, in megabytes [default: `memory` of the party file, or what this machine has left]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Stock {
    /// Make stock for a job, together with the other parties, who run the same command
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
        /// With --orphans: do not ask about items that only one party says it lacks
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
    /// The names of the items to remove, or at least the first 8 digits of each
    pub(crate) items: Vec<String>,
    /// Remove the items that no job can use: they cannot be read here, or another party lacks them. If only one party has said so, the command asks first
    #[arg(long)]
    pub(crate) orphans: bool,
    /// Remove everything
    #[arg(long)]
    pub(crate) all: bool,
}

/// How much stock to make.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct Amount {
    /// Make enough for this many runs of the job [default: 1]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) runs: Option<u64>,
    /// Make enough for one run with this many AND gates
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) and_gates: Option<u64>,
    /// With protocol three: make this many batches of triples
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) batches: Option<u64>,
    /// With protocol authenticated: prepare (garble) the job's circuit for this many runs
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
    /// Print the fingerprint by which the other parties know this one
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
    /// Write a circuit of the library, or list the names of all
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

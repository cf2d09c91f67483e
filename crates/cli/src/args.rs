//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use cenote::circuits::Format;
use cenote::text::count;
use cenote::{Link, Three, Transport, Variant};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "Exit codes:
  0  done
  1  this machine or program failed
  2  misuse: the command line, a job or party file, or parties were given different jobs
  3  network: a peer is missing, silent, lost or not the one expected
  4  cheating: a check failed here
  5  bad input: a data, circuit or stock file
  6  reported: a peer says that a check failed there
  7  stopped by its operator";

/// Secure computation on demand: results from data that its owners do not show each other.
#[derive(Debug, Parser)]
#[command(name = "cenote", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Say more on standard error: once for steps, twice for connections (RUST_LOG overrides)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Three banks find the customers who owe them more than a million together
    Demo(Demo),
    /// Run all parties of a job on this machine
    Run(Run),
    /// Ask a query of tables, with all parties on this machine
    Query(Query),
    /// Tell what a job will take with each protocol, before any of it is computed
    Plan(Plan),
    /// Run one party of a job; its peers run elsewhere
    Party(Party),
    /// Keep a party's service up: it runs the jobs that all parties have approved, and has a page
    Serve(crate::commands::serve::Serve),
    /// Make a new party: a folder with its key, its data and its policy
    Init(crate::commands::serve::Init),
    /// Invite the other parties, and wait for them to join
    Invite(crate::commands::serve::Invite),
    /// Join the parties of an invitation
    Join(crate::commands::serve::Join),
    /// Make, show or drop stock: material made before a job needs it
    #[command(subcommand)]
    Stock(Stock),
    /// Make or show the key that peers know this machine by
    #[command(subcommand)]
    Identity(Identity),
    /// Count, convert or write circuits
    #[command(subcommand)]
    Circuit(Circuit),
    /// Propose, approve, watch and fetch jobs of a standing service
    #[command(subcommand)]
    Job(crate::commands::job::Job),
    /// List and drop values that jobs of a standing service have kept
    #[command(subcommand)]
    Kept(crate::commands::kept::Kept),
    /// Say that what was on record against a party of a standing service is settled
    #[command(subcommand)]
    Peer(crate::commands::peer::Peer),
    /// Make, list and revoke tokens of a standing service
    #[command(subcommand)]
    Token(crate::commands::token::Token),
    /// Check the log of what happened at a standing service
    #[command(subcommand)]
    Audit(crate::commands::audit::Audit),
    /// Look at a standing service, and say what to do about each fault
    Doctor(crate::commands::doctor::Doctor),
    /// Measure protocols and their parts
    #[command(subcommand)]
    Bench(crate::commands::bench::args::Bench),
    /// Compute without end what is made up, with all parties on this machine, and compare every output
    Soak(crate::commands::soak::Soak),
    /// Find, check and simulate security parameters
    #[command(subcommand)]
    Params(crate::commands::params::Params),
    /// A party's process, told what to do by its parent
    #[command(hide = true)]
    Child,
    /// The same for a benchmark
    #[command(hide = true)]
    BenchChild,
}

impl Command {
    /// Whether it runs parties, which end in order when it is stopped.
    pub(crate) fn meets_peers(&self) -> bool {
        match self {
            Command::Demo(_)
            | Command::Run(_)
            | Command::Query(_)
            | Command::Plan(_)
            | Command::Party(_)
            | Command::Stock(Stock::Make { .. })
            | Command::Bench(_)
            | Command::Soak(_)
            | Command::Child
            | Command::BenchChild => true,
            Command::Stock(_)
            | Command::Identity(_)
            | Command::Circuit(_)
            | Command::Job(_)
            | Command::Kept(_)
            | Command::Peer(_)
            | Command::Token(_)
            | Command::Audit(_)
            | Command::Doctor(_)
            | Command::Serve(_)
            | Command::Init(_)
            | Command::Invite(_)
            | Command::Join(_)
            | Command::Params(_) => false,
        }
    }

    /// The most bytes of memory that it may take, where that is said.
    pub(crate) fn memory(&self) -> Option<u64> {
        let megabytes = match self {
            Command::Run(options) => options.memory,
            Command::Query(options) => options.memory,
            Command::Plan(options) => options.memory,
            Command::Party(options) => options.memory,
            _ => None,
        };
        megabytes.map(|megabytes| megabytes.saturating_mul(1_000_000))
    }

    /// Whether one JSON object is expected on standard output, of a failure too.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Command::Demo(options) => options.json,
            Command::Run(options) => options.json,
            Command::Query(options) => options.json,
            Command::Plan(options) => options.json,
            Command::Party(options) => options.json,
            Command::Stock(
                Stock::Make { json, .. } | Stock::Show { json, .. } | Stock::Drop { json, .. },
            ) => *json,
            Command::Bench(command) => command.wants_json(),
            Command::Circuit(Circuit::Stats { json, .. }) => *json,
            Command::Params(command) => command.wants_json(),
            Command::Job(command) => command.wants_json(),
            Command::Kept(crate::commands::kept::Kept::List { json, .. }) => *json,
            Command::Token(crate::commands::token::Token::List { json, .. }) => *json,
            Command::Audit(crate::commands::audit::Audit::Verify { json, .. }) => *json,
            // Its findings are one object, which tells of faults too.
            Command::Doctor(_)
            | Command::Kept(_)
            | Command::Peer(_)
            | Command::Token(_)
            | Command::Serve(_)
            | Command::Init(_)
            | Command::Invite(_)
            | Command::Join(_)
            | Command::Soak(_)
            | Command::Identity(_)
            | Command::Circuit(_)
            | Command::Child
            | Command::BenchChild => false,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// The folder of the query, job.toml, and of the banks' files; missing ones are written as samples
    #[arg(long, default_value = "cenote-demo")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) local: Local,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The job file
    pub(crate) job: PathBuf,
    /// The most memory that all parties together may take, in megabytes; without it, what the machine has left
    #[arg(long, value_name = "MB")]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) local: Local,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Query {
    /// The query, such as "SELECT region, SUM(owed) FROM loans GROUP BY region"
    pub(crate) query: String,
    /// The file that says which tables there are: a job file, whose own query is not asked
    #[arg(long, value_name = "FILE")]
    pub(crate) tables: PathBuf,
    /// The protocol, if not that of the file
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Option<String>,
    /// The most memory that all parties together may take, in megabytes; without it, what the machine has left
    #[arg(long, value_name = "MB")]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) local: Local,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// The job file; values of inputs are not read
    pub(crate) job: PathBuf,
    /// The link between the parties: none, lan (0.16 ms, 9.52 Gbit/s), wan (81 ms, 3 Gbit/s), or RTT,RATE in ms and Gbit/s
    #[arg(long, default_value = "none")]
    pub(crate) link: Link,
    /// The most memory that a party may take, in megabytes; without it, what the machine has left
    #[arg(long, value_name = "MB")]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    pub(crate) local: Local,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// How parties on this machine are joined.
#[derive(Debug, clap::Args)]
pub(crate) struct Local {
    /// How the parties are joined: tls, or tcp, which is neither private nor authentic and for measurements only
    #[arg(long, value_parser = |text: &str| processes(text), default_value = "tls")]
    pub(crate) transport: Transport,
    /// Seconds to wait for a silent party
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30")]
    pub(crate) timeout: Duration,
    /// Seconds that a phase of a session may take; without it, 600 and a hundred times what its traffic takes at 1 MB/s
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) phase_timeout: Option<Duration>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Party {
    /// The party file: who this party and its peers are
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The job file
    pub(crate) job: PathBuf,
    /// The most memory that the job may take, in megabytes; without it, `memory` of the party file, or what the machine has left
    #[arg(long, value_name = "MB")]
    pub(crate) memory: Option<u64>,
    /// Check files, identity and inputs, and do not meet the peers
    #[arg(long)]
    pub(crate) check: bool,
    /// Use what is in stock; all parties must do the same
    #[arg(long)]
    pub(crate) online: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Stock {
    /// Make stock for a job together with the peers, who must do the same
    Make {
        /// The party file, which names the stock folder and its key
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The job that the stock is made for
        job: PathBuf,
        #[command(flatten)]
        amount: Amount,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Show what is in stock
    Show {
        /// The party file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Print one JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Remove epochs and lots from stock for good
    Drop {
        /// The party file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        #[command(flatten)]
        which: Which,
        /// With --orphans: also what a single peer says it lacks, without asking
        #[arg(long, requires = "orphans")]
        yes: bool,
        /// Print one JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
}

/// Which stock to remove.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// Epochs and lots, by the beginnings of their names: at least 8 digits
    pub(crate) epochs: Vec<String>,
    /// What no job can use: what cannot be read, or what peers said they did not have when a job last compared. If only
    /// one peer said so, you are asked
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
    /// This many batches, for three parties
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) batches: Option<u64>,
    /// The job's circuit, garbled ahead this many times, with protocol authenticated
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) circuits: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Identity {
    /// Make a new identity, and with --party a party file to fill in
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
    /// Print the fingerprint that peers know this machine by
    Show {
        /// The identity file
        #[arg(long, default_value = "identity.pem")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Circuit {
    /// Count gates and depth of a circuit
    Stats {
        /// A circuit file, or lib:NAME
        circuit: String,
        /// Print one JSON object instead of a table
        #[arg(long)]
        json: bool,
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
    /// Write a circuit of the library, or list the names there are
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

pub(crate) fn variants() -> impl TypedValueParser<Value = Variant> {
    PossibleValuesParser::new(Variant::ALL.map(Variant::name)).try_map(|name| Three::variant(&name))
}

fn processes(text: &str) -> Result<Transport, String> {
    match text.parse() {
        Ok(Transport::Memory) | Err(_) => Err("processes are joined by tls or tcp".into()),
        Ok(transport) => Ok(transport),
    }
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=1e6).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a timeout is a number of seconds from 0.001 to 1000000".into()),
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

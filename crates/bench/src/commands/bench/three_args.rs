//! Arguments of the benchmarks of three parties.

use std::path::PathBuf;
use std::time::Duration;

use crate::three::Settings;
use crate::three::latency::CIRCUITS;
use crate::three::steady::{Length, Mode};
use cenote::text::{count, quantity};
use cenote::{Three, Transport, Verification, ViewCheck};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::place::{How, Slowed, Where};
use cenote_console::args::seconds;

/// How the protocol checks.
#[derive(Debug, clap::Args)]
pub(crate) struct Checks {
    /// How AND gates are verified [default: proofs; on-demand with --memory, with --mode offline or online, and for more than 120 bits of security]
    #[arg(long, value_parser = variants())]
    pub(crate) variant: Option<Verification>,
    /// How views are compared: mac or sha256
    #[arg(long, default_value = "mac")]
    pub(crate) view_check: ViewCheck,
}

/// The protocol except for its checks.
#[derive(Debug, clap::Args)]
pub(crate) struct Service {
    /// The probability that a wrong output ever passes is at most 2^-BITS
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=128), default_value_t = 40)]
    pub(crate) security: u32,
    /// Workers at each party
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), default_value_t = 1)]
    pub(crate) workers: u8,
    /// The most bytes for a party's buffers, for example 512Mi; parameters of triples and stock are chosen to fit
    #[arg(long, value_name = "BYTES", value_parser = quantity, conflicts_with = "n")]
    pub(crate) memory: Option<u64>,
    /// Blocks in a batch, whatever the error: only for tests of the benchmark
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1 << 30), hide = true)]
    pub(crate) n: Option<u64>,
}

impl Service {
    pub(crate) fn settings(&self, checks: &Checks) -> Settings {
        let mut settings = Settings {
            protocol: Three {
                variant: checks.variant,
                view_check: checks.view_check,
                security: self.security,
                workers: self.workers,
            },
            memory: self.memory,
            n: self.n,
        };
        settings.protocol.variant = Some(settings.variant());
        settings
    }
}

/// How long a timed section is.
#[derive(Debug, clap::Args)]
pub(crate) struct Section {
    /// About how many seconds to time; at least one whole batch
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "10")]
    seconds: Duration,
    /// Instead of --seconds: this many batches per worker
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "seconds")]
    batches: Option<u16>,
}

impl Section {
    pub(crate) fn length(&self) -> Length {
        match self.batches {
            Some(batches) => Length::Batches(batches.into()),
            None => Length::Seconds(self.seconds.as_secs_f64()),
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchThree {
    #[command(subcommand)]
    pub(crate) which: Option<Which>,
    /// A circuit file, or lib:NAME
    #[arg(long, default_value = "lib:aes128")]
    pub(crate) circuit: String,
    /// What to time: full, offline (only making triples) or online (only evaluating gates, with triples in stock)
    #[arg(long, default_value = "full")]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) section: Section,
    /// Instead of --seconds: at least this many AND gates, rounded up to whole batches (with --one-job, not rounded)
    #[arg(long, value_name = "N", value_parser = count, conflicts_with_all = ["seconds", "batches"])]
    pub(crate) and_gates: Option<u64>,
    /// Measure one job from start to end, with parameters for its gates, instead of a run that never ends
    #[arg(long, conflicts_with_all = ["mode", "seconds", "batches", "memory", "n", "with_ring"])]
    pub(crate) one_job: bool,
    /// Measure one job (as --one-job does) of this many instances of the circuit, side by side
    #[arg(long, value_parser = count, conflicts_with_all = ["and_gates", "mode", "seconds", "batches", "memory", "n", "with_ring"])]
    pub(crate) lanes: Option<u64>,
    #[command(flatten)]
    pub(crate) checks: Checks,
    #[command(flatten)]
    pub(crate) service: Service,
    /// Then measure the most that the channels carry, and report the share that was used
    #[arg(long, conflicts_with = "link")]
    pub(crate) with_ring: bool,
    /// About how many seconds the measurement of --with-ring takes
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "2", requires = "with_ring")]
    pub(crate) ring_seconds: Duration,
    #[command(flatten)]
    pub(crate) slowed: Slowed,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Which {
    /// Every row of Table II of Araki et al. (S&P 2017), beside the paper's figures
    Table2(BenchTable2),
    /// The time of one instance of a circuit, with triples in stock
    Latency(BenchLatency),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchTable2 {
    /// A circuit file, or lib:NAME
    #[arg(long, default_value = "lib:aes128")]
    pub(crate) circuit: String,
    #[command(flatten)]
    pub(crate) section: Section,
    /// How often to run each row, in turn with the others; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3)]
    pub(crate) repeat: u32,
    /// About how many seconds each measurement of the wire takes
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "2")]
    pub(crate) ring_seconds: Duration,
    /// Draw the rates per core as a bar chart, into this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchLatency {
    /// Circuit files, or lib:NAME
    #[arg(long, value_delimiter = ',', default_values = CIRCUITS)]
    pub(crate) circuit: Vec<String>,
    /// Milliseconds of a round trip, added to the links between the parties
    #[arg(long, value_name = "MS", value_parser = milliseconds, default_value = "0")]
    pub(crate) link_rtt: f64,
    /// How often to run each circuit; the median is reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), default_value_t = 9)]
    pub(crate) repeat: u32,
    /// How the parties are joined: memory, tcp, tls, or several of them
    #[arg(long, value_delimiter = ',', default_value = "tls")]
    pub(crate) transport: Vec<Transport>,
    #[command(flatten)]
    pub(crate) checks: Checks,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchRing {
    /// Use the channels of this many workers at each party
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), default_value_t = 1)]
    pub(crate) workers: u8,
    /// Bytes in a message; the protocol's messages have 32 to 64 KiB
    #[arg(long, value_name = "BYTES", value_parser = message, default_value = "64Ki")]
    pub(crate) message: usize,
    /// About how many seconds to measure
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "2")]
    pub(crate) seconds: Duration,
    #[command(flatten)]
    pub(crate) place: Where,
}

fn message(text: &str) -> Result<usize, String> {
    match quantity(text)? {
        size @ 1..=0x100_0000 => Ok(size as usize),
        _ => Err("a message has 1 byte to 16 MiB".into()),
    }
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(milliseconds) if (0.0..=10_000.0).contains(&milliseconds) => Ok(milliseconds),
        _ => Err("a round trip is a number of milliseconds from 0 to 10000".into()),
    }
}

fn variants() -> impl TypedValueParser<Value = Verification> {
    PossibleValuesParser::new(Verification::ALL.map(Verification::name)).try_map(|name| Three::variant(&name))
}

//! Arguments of the benchmarks of two parties.

use std::path::PathBuf;
use std::time::Duration;

use crate::authenticated::Cot;
use crate::lego::circuit::To;
use crate::pools::Load;
use cenote::Lego;
use cenote::Link;
use cenote::text::{count, quantity};
use clap::Subcommand;

use super::place::{Slowed, Where};
use cenote_console::args::seconds;

/// The protocol.
#[derive(Debug, clap::Args)]
pub(crate) struct Two {
    /// Bad buckets of one kind pass with probability at most 2^-BITS
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=128), default_value_t = 40)]
    security: u32,
    /// Workers at each party
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), default_value_t = 1)]
    workers: u8,
    /// The party that garbles
    #[arg(long, value_name = "PARTY", value_parser = clap::value_parser!(u8).range(0..=1), default_value_t = 0)]
    garbler: u8,
}

impl Two {
    pub(crate) fn settings(&self) -> Lego {
        Lego {
            security: self.security,
            workers: self.workers,
            garbler: self.garbler,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchLego {
    #[command(subcommand)]
    pub(crate) which: Option<WhichLego>,
    /// A circuit file, or lib:NAME; its input values belong to the garbler and the evaluator in turn
    #[arg(long, default_value = "lib:aes128")]
    pub(crate) circuit: String,
    /// Instances of the circuit
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 1)]
    pub(crate) instances: u64,
    /// Who learns the outputs: evaluator, garbler or both
    #[arg(long, default_value = "evaluator")]
    pub(crate) to: To,
    #[command(flatten)]
    pub(crate) slowed: Slowed,
    #[command(flatten)]
    pub(crate) two: Two,
    /// How many single instances to time for the latency; the median is reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), default_value_t = 10)]
    pub(crate) latencies: u32,
    /// How many sessions to run; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 1)]
    pub(crate) repeat: u32,
    /// Draw the times as a bar chart, into this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WhichLego {
    /// All tables of Nielsen, Schneider and Trifiletti (NDSS 2017), except rows that this machine's memory cannot hold
    Tables(BenchTables),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchTables {
    /// The paper's circuits AES-128 and SHA-256, as files or lib:NAME
    #[arg(long, value_delimiter = ',', default_values = ["lib:aes128", "lib:sha256"])]
    pub(crate) circuit: Vec<String>,
    /// Numbers of instances [default: the paper's]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = count)]
    pub(crate) instances: Vec<u64>,
    /// Links, one after the other, separated by spaces: none, lan, wan, or RTT,RATE in ms and Gbit/s
    #[arg(long, num_args = 1.., default_values = ["none", "wan"])]
    pub(crate) link: Vec<Link>,
    /// Numbers of strings for Table III
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = quantity, default_values_t = crate::lego::commit::STRINGS)]
    pub(crate) strings: Vec<u64>,
    #[command(flatten)]
    pub(crate) two: Two,
    /// How many single instances to time for each latency; the median is reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), default_value_t = 10)]
    pub(crate) latencies: u32,
    /// How many sessions to run of each row; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 1)]
    pub(crate) repeat: u32,
    /// Leave out rows that may need more bytes than this, such as 4Gi [default: three quarters of the free memory]
    #[arg(long, value_name = "BYTES", value_parser = quantity)]
    pub(crate) memory: Option<u64>,
    /// Draw the speed relative to the paper's as a bar chart, into this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Where,
}

/// What all measurements over pools take.
#[derive(Debug, clap::Args)]
pub(crate) struct OverPools {
    /// Fill pools, and run nothing
    #[arg(long, conflicts_with_all = ["circuit", "seconds"])]
    pub(crate) fill_only: bool,
    /// The probability that a cheater ever gets through is at most about 2^-BITS
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=128), default_value_t = 40)]
    pub(crate) security: u32,
    #[command(flatten)]
    pub(crate) slowed: Slowed,
    /// How many sessions to run for each pool; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 1)]
    pub(crate) repeat: u32,
    /// Draw the rates against the size of the pool, into this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchJimu {
    /// AND gates of the pools, one after the other, such as 1M or 1Mi
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = quantity, default_values = ["10K", "100K", "1M"])]
    pub(crate) pool: Vec<u64>,
    /// Circuit files, lib:NAME, or muxN for a multiplexer of N bits, each with how many instances of it run side by side
    #[arg(long, value_name = "CIRCUIT=LANES", value_delimiter = ',', default_values_t = crate::jimu::usual())]
    pub(crate) circuit: Vec<Load>,
    /// About how many seconds to run each circuit over the full pool
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "10")]
    pub(crate) seconds: Duration,
    /// Also fill pools of as many gadgets for multiplexers, and run multiplexers with and without them
    #[arg(long)]
    pub(crate) mux: bool,
    /// Gates made at once to replace drawn ones, such as 128Ki: a multiple of 64
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "128Ki")]
    pub(crate) buffer: u64,
    #[command(flatten)]
    pub(crate) pools: OverPools,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchAuthenticated {
    /// Leaky ANDs of the pools, one after the other, such as 1M or 1Mi
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = quantity, default_values = ["8022", "524291", "1M"])]
    pub(crate) pool: Vec<u64>,
    /// Circuit files, lib:NAME, or muxN for a multiplexer of N bits, each with how many instances of it run side by side
    #[arg(long, value_name = "CIRCUIT=LANES", value_delimiter = ',', default_values_t = crate::authenticated::usual())]
    pub(crate) circuit: Vec<Load>,
    /// About how many seconds to run each circuit with leaky ANDs made as they are drawn (at least two lots), and over the full pool
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "5")]
    pub(crate) seconds: Duration,
    /// Leaky ANDs made at once: more of them suit links with long delays [default: 16Ki, up to 128Ki where messages take long]
    #[arg(long, value_name = "N", value_parser = quantity)]
    pub(crate) lot: Option<u64>,
    /// Gates garbled at once
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "2Ki")]
    pub(crate) segment: u64,
    /// Symbols of the difference in the OTs: fewer symbols take fewer bytes and more work
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=128), default_value_t = 24)]
    pub(crate) symbols: u32,
    /// Where authenticated bits come from: softspoken, at some bytes each, or pcg, a generator that makes millions from thousands
    #[arg(long, value_name = "SOURCE", default_value_t)]
    pub(crate) cot: Cot,
    #[command(flatten)]
    pub(crate) pools: OverPools,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchCommit {
    /// Numbers of strings of 128 bits, one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = quantity, default_values_t = crate::lego::commit::STRINGS)]
    pub(crate) strings: Vec<u64>,
    /// Threads of each party
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), default_value_t = 1)]
    pub(crate) workers: u8,
    #[command(flatten)]
    pub(crate) slowed: Slowed,
    /// How often to run; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3)]
    pub(crate) repeat: u32,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchOt {
    /// Strings of each kind
    #[arg(long, value_name = "N", value_parser = quantity, default_value = "1M")]
    pub(crate) strings: u64,
    #[command(flatten)]
    pub(crate) slowed: Slowed,
    /// How often to run; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3)]
    pub(crate) repeat: u32,
    #[command(flatten)]
    pub(crate) place: Where,
}

//! `cenote bench`

mod apps;
mod place;
mod scale;
mod service;
mod three;
mod three_args;
mod tpch;
mod two;
mod two_args;

use cenote::Result;
use clap::Subcommand;

use self::apps::{BenchApps, BenchPlan, BenchQueries};
use self::scale::BenchScale;
use self::service::BenchService;
use self::three_args::{BenchRing, BenchThree, Which};
use self::tpch::BenchTpch;
use self::two_args::{BenchAuthenticated, BenchCommit, BenchJimu, BenchLego, BenchOt, WhichLego};
use cenote_console::Command;

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// The protocol three: three parties, all on this machine
    #[command(args_conflicts_with_subcommands = true)]
    Three(Box<BenchThree>),
    /// How much three parties can send each other when they compute nothing
    Ring(BenchRing),
    /// The protocol lego: two parties, both on this machine, beside the figures of its paper
    #[command(args_conflicts_with_subcommands = true)]
    Lego(Box<BenchLego>),
    /// The protocol jimu: two parties over a pool of garbled gates, both on this machine, beside the figures of POOL's paper
    Jimu(Box<BenchJimu>),
    /// The protocol authenticated: two parties over a pool of leaky ANDs, both on this machine
    Authenticated(Box<BenchAuthenticated>),
    /// Commitments alone, beside Table III of the paper of lego
    Commit(BenchCommit),
    /// Oblivious transfers alone
    Ot(BenchOt),
    /// Programs on every engine, all parties on this machine, beside the figures of POOL's paper
    Apps(BenchApps),
    /// Compare the estimates of `cenote plan` with measurements, all parties on this machine
    Plan(BenchPlan),
    /// Queries over tables of a million rows or more, three parties on this machine
    Queries(BenchQueries),
    /// The queries of TPC-H, three parties on this machine, each answer compared with SQLite's
    Tpch(BenchTpch),
    /// Jobs in shards: measured on this machine, and simulated for parties of 1 to 1,000 machines
    Scale(Box<BenchScale>),
    /// Services of all parties on this machine: the time of a job, and jobs a second
    Service(Box<BenchService>),
}

impl Command for Bench {
    fn run(&self, verbose: u8) -> Result<()> {
        match self {
            Bench::Three(options) => match &options.which {
                Some(Which::Table2(options)) => three::table2(options, verbose),
                Some(Which::Latency(options)) => three::latency(options, verbose),
                None if options.one_job || options.lanes.is_some() => three::one_job(options, verbose),
                None => three::steady(options, verbose),
            },
            Bench::Ring(options) => three::ring(options, verbose),
            Bench::Lego(options) => match &options.which {
                None => two::lego(options, verbose),
                Some(WhichLego::Tables(options)) => two::tables(options, verbose),
            },
            Bench::Jimu(options) => two::jimu(options, verbose),
            Bench::Authenticated(options) => two::authenticated(options, verbose),
            Bench::Commit(options) => two::commit(options, verbose),
            Bench::Ot(options) => two::ot(options, verbose),
            Bench::Apps(options) => apps::run(options, verbose),
            Bench::Plan(options) => apps::plan(options, verbose),
            Bench::Queries(options) => apps::queries(options, verbose),
            Bench::Tpch(options) => tpch::run(options, verbose),
            Bench::Scale(options) => scale::run(options, verbose),
            Bench::Service(options) => service::run(options, verbose),
        }
    }

    fn json(&self) -> bool {
        match self {
            Bench::Three(options) => match &options.which {
                None => options.place.how.form.json,
                Some(Which::Table2(options)) => options.place.how.form.json,
                Some(Which::Latency(options)) => options.how.form.json,
            },
            Bench::Ring(options) => options.place.how.form.json,
            Bench::Lego(options) => match &options.which {
                None => options.place.how.form.json,
                Some(WhichLego::Tables(options)) => options.place.how.form.json,
            },
            Bench::Jimu(options) => options.pools.place.how.form.json,
            Bench::Authenticated(options) => options.pools.place.how.form.json,
            Bench::Commit(options) => options.place.how.form.json,
            Bench::Ot(options) => options.place.how.form.json,
            Bench::Apps(options) => options.place.how.form.json,
            Bench::Plan(options) => options.form.json,
            Bench::Queries(options) => options.form.json,
            Bench::Tpch(options) => options.form.json,
            Bench::Scale(options) => options.form.json,
            Bench::Service(options) => options.form.json,
        }
    }

    fn memory(&self) -> Option<u64> {
        match self {
            Bench::Tpch(options) => options.memory,
            _ => None,
        }
    }

    fn meets_peers(&self) -> bool {
        true
    }
}

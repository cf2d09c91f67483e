//! `cenote bench scale`

use std::path::PathBuf;

use crate::scale::{Scale, run_scale};
use cenote::text::count;
use cenote::{Error, Link, Result};
use cenote_console::args::{Form, Local};
use cenote_console::{Progress, child};

use super::place::draw;

#[derive(Debug, clap::Args)]
pub(crate) struct BenchScale {
    /// Rows of each table for each shard
    #[arg(long, value_name = "N", value_parser = rows, default_value = "2^16")]
    rows: u64,
    /// Shards of the job that is simulated [default: 4096, or as many as the largest table has rows for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    shards: Option<u32>,
    /// Numbers of machines of each party
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000), default_value = "1,2,5,10,20,50,100,200,500,1000")]
    machines: Vec<u32>,
    /// Cores of each machine; each of them has a worker
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), default_value_t = 4)]
    cores: u32,
    /// What joins a machine with those of the other parties: none, lan (0.16 ms, 9.52 Gbit/s), wan (81 ms, 3 Gbit/s), or RTT,RATE in ms and Gbit/s
    #[arg(long, default_value = "lan")]
    link: Link,
    /// Gbit/s that all machines of a party together send to the others, or none for no limit
    #[arg(long, value_name = "RATE", value_parser = site, default_value = "100")]
    site_gbit: Site,
    /// How often to run the jobs here; medians are taken
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3)]
    repeat: u32,
    /// Seed of what differs from one shard to another
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the made-up tables in this folder [default: a folder that is deleted at the end]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Draw the rate against the number of machines, into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Small shards of the job whose merge is measured: fewer only for tests of the benchmark
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1024), default_value_t = 128, hide = true)]
    small_shards: u32,
    /// Attempts that the coordinators are timed with: fewer only for tests of the benchmark
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=60_000), default_value_t = 2000, hide = true)]
    attempts: u32,
    #[command(flatten)]
    local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// Gigabits per second, if there is a limit.
#[derive(Clone, Copy, Debug)]
struct Site(Option<f64>);

fn site(text: &str) -> std::result::Result<Site, String> {
    let rate = text.parse().ok().filter(|rate| (1e-6..=1e9).contains(rate));
    match (text, rate) {
        ("none", _) => Ok(Site(None)),
        (_, Some(rate)) => Ok(Site(Some(rate))),
        _ => Err("this is a number of Gbit/s above 0, or none".into()),
    }
}

fn rows(text: &str) -> std::result::Result<u64, String> {
    match count(text)? {
        rows @ 16..=0x400_0000 => Ok(rows),
        _ => Err("a shard has 16 rows to 2^26".into()),
    }
}

pub(super) fn run(options: &BenchScale, verbose: u8) -> Result<()> {
    let scale = Scale {
        rows: options.rows,
        shards: options.shards,
        machines: options.machines.clone(),
        cores: options.cores,
        link: options.link,
        site_gbit: options.site_gbit.0,
        repeat: options.repeat,
        small_shards: options.small_shards,
        attempts: options.attempts,
        seed: options.seed,
    };
    let own = tempfile::tempdir().map_err(|error| Error::local("making a folder", error))?;
    let folder = options.dir.as_deref().unwrap_or(own.path());
    let progress = Progress::start("measuring");
    let command = child(verbose)?;
    let report = run_scale(&scale, folder, options.local.setting(), &command, &mut |what| {
        progress.name(what);
    })?;
    drop(progress);
    draw(options.plot.as_deref(), || report.to_svg())?;
    options.form.print(&report, || report.table())
}

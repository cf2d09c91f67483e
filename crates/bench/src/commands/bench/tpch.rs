//! `cenote bench tpch`

use std::path::PathBuf;

use crate::tpch::{Asked, Tpch, run_tpch};
use cenote::{Error, Protocol, Result};
use cenote_console::args::{Form, Local, megabytes};
use cenote_console::{Progress, child};

use super::place::draw;
use crate::commands::soak::protocols;

#[derive(Debug, clap::Args)]
pub(crate) struct BenchTpch {
    /// Size of the tables, of TPC-H's full size: 0.0005 to 1
    #[arg(long, value_name = "SCALE", value_parser = scale, default_value = "0.01")]
    scale: f64,
    /// Protocol; of two parties, the first has what the third of three has
    #[arg(long, value_name = "NAME", value_parser = protocols(), default_value = "three")]
    protocol: Protocol,
    /// Let owners compute nothing on their own rows, for comparisons with systems in which everything is secret
    #[arg(long)]
    secret_only: bool,
    /// Queries, by their numbers [default: all]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = asked)]
    query: Vec<Asked>,
    /// Keep the tables and jobs in this folder [default: a folder that is deleted at the end]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Draw the times as a bar chart, into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The most memory that all parties together may take, in megabytes [default: what this machine has left, and 2 GB a party]
    #[arg(long, value_name = "MB", value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
    #[command(flatten)]
    local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

fn asked(text: &str) -> std::result::Result<Asked, String> {
    let number = text.trim_start_matches('q').parse().ok();
    number
        .and_then(Asked::numbered)
        .ok_or_else(|| "queries are 1 to 22".into())
}

fn scale(text: &str) -> std::result::Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| (0.0005..=1.0).contains(scale));
    scale.ok_or_else(|| "this is a number from 0.0005 to 1".into())
}

pub(super) fn run(options: &BenchTpch, verbose: u8) -> Result<()> {
    let mut tpch = Tpch {
        protocol: options.protocol.clone(),
        scale: options.scale,
        secret_only: options.secret_only,
        queries: options.query.clone(),
    };
    if tpch.queries.is_empty() {
        tpch.queries = Asked::all().collect();
    }
    let own = tempfile::tempdir().map_err(|error| Error::local("making a folder", error))?;
    let folder = options.dir.as_deref().unwrap_or(own.path());
    let progress = Progress::start("measuring");
    let command = child(verbose)?;
    let report = run_tpch(&tpch, folder, options.local.setting(), &command, &mut |what| {
        progress.name(what);
    })?;
    drop(progress);
    draw(options.plot.as_deref(), || report.to_svg())?;
    options.form.print(&report, || report.table())?;
    report.check()
}

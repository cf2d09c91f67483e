//! `cenote bench apps`, `cenote bench plan` and `cenote bench queries`

use std::path::PathBuf;

use crate::apps::{App, Apps, CLEAR, run_apps};
use crate::plan::run_plan;
use crate::queries::{Asked, ROWS, run_queries};
use cenote::{Error, Protocol, Result};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;

use super::place::{Slowed, Where, draw, measured};
use cenote_console::args::{Form, Local};
use cenote_console::{Progress, child};

#[derive(Debug, clap::Args)]
pub(crate) struct BenchApps {
    /// Programs [default: all but billion and sort-million]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = apps())]
    app: Vec<App>,
    /// Protocols, or clear for none [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = engines())]
    engine: Vec<String>,
    /// How many sessions to run of each; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 1)]
    repeat: u32,
    /// Draw the times as a bar chart, into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchPlan {
    /// How often to run each circuit; medians are compared
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3)]
    repeat: u32,
    #[command(flatten)]
    slowed: Slowed,
    #[command(flatten)]
    local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchQueries {
    /// Queries [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = asked())]
    query: Vec<Asked>,
    /// Rows of q6 and of q1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=10_000_000), default_value_t = ROWS as u32)]
    rows: u32,
    /// How often to ask each; medians are reported
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 1)]
    repeat: u32,
    /// Keep the made-up tables in this folder [default: a folder that is deleted at the end]
    #[arg(long)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    local: Local,
    #[command(flatten)]
    pub(crate) form: Form,
}

fn asked() -> impl TypedValueParser<Value = Asked> {
    let named = |name: String| Asked::ALL.into_iter().find(|asked| asked.name() == name);
    PossibleValuesParser::new(Asked::ALL.map(Asked::name))
        .map(move |name| named(name).expect("one of the names"))
}

fn apps() -> impl TypedValueParser<Value = App> {
    let named = |name: String| App::ALL.into_iter().find(|app| app.name() == name);
    PossibleValuesParser::new(App::ALL.map(App::name)).map(move |name| named(name).expect("one of the names"))
}

fn engines() -> PossibleValuesParser {
    PossibleValuesParser::new(all_engines())
}

fn all_engines() -> impl Iterator<Item = &'static str> {
    std::iter::once(CLEAR).chain(Protocol::names())
}

pub(super) fn run(options: &BenchApps, verbose: u8) -> Result<()> {
    let mut apps = Apps {
        apps: options.app.clone(),
        engines: options.engine.clone(),
        repeat: options.repeat,
    };
    if apps.apps.is_empty() {
        apps.apps = App::ALL.into_iter().filter(|app| !app.is_large()).collect();
    }
    if apps.engines.is_empty() {
        apps.engines = all_engines().map(str::to_owned).collect();
    }
    let report = measured(
        "measuring",
        verbose,
        options.place.setting(),
        |place, progress| run_apps(&apps, place, &mut |what| progress.name(what)),
    )?;
    draw(options.plot.as_deref(), || report.to_svg())?;
    options.place.how.form.print(&report, || report.table())
}

pub(super) fn plan(options: &BenchPlan, verbose: u8) -> Result<()> {
    let progress = Progress::start("measuring");
    let command = child(verbose)?;
    let setting = options.local.setting();
    let report = run_plan(
        options.slowed.link,
        options.repeat,
        setting,
        &command,
        &mut |what| {
            progress.name(what);
        },
    )?;
    drop(progress);
    options.form.print(&report, || report.table())
}

pub(super) fn queries(options: &BenchQueries, verbose: u8) -> Result<()> {
    let asked = match options.query.as_slice() {
        [] => &Asked::ALL[..],
        some => some,
    };
    let own = tempfile::tempdir().map_err(|error| Error::local("making a folder", error))?;
    let folder = options.dir.as_deref().unwrap_or(own.path());
    let progress = Progress::start("measuring");
    let command = child(verbose)?;
    let setting = options.local.setting();
    let report = run_queries(
        asked,
        options.rows as usize,
        options.repeat,
        folder,
        setting,
        &command,
        &mut |what| {
            progress.name(what);
        },
    )?;
    drop(progress);
    options.form.print(&report, || report.table())
}

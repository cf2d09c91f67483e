//! `cenote bench`

mod apps;
pub(crate) mod args;
mod service;
mod two;
pub(crate) mod two_args;

use std::path::Path;

use crate::Place;
use crate::three::job::{Bench, run_bench};
use crate::three::latency::{Latency, LatencyReport, run_latency};
use crate::three::ring::{RingBench, run_ring};
use crate::three::steady::{Length, Mode, Steady, run_steady};
use crate::three::table2::{Table2, run_table2};
use cenote::local::Setting;
use cenote::{Result, Variant, ViewCheck};
use serde::Serialize;

use self::args::{BenchLatency, BenchRing, BenchTable2, BenchThree, Checks, Which};
use self::two_args::WhichLego;
use cenote_console::{Command, Progress, child, write_file};

/// AND gates of a measured job, by default.
const JOB_GATES: u64 = 10_000_000;

impl Command for args::Bench {
    fn run(&self, verbose: u8) -> Result<()> {
        match self {
            args::Bench::Three(options) => match &options.which {
                Some(Which::Table2(options)) => table2(options, verbose),
                Some(Which::Latency(options)) => latency(options, verbose),
                None if options.one_job || options.lanes.is_some() => one_job(options, verbose),
                None => steady(options, verbose),
            },
            args::Bench::Ring(options) => ring(options, verbose),
            args::Bench::Lego(options) => match &options.which {
                None => two::lego(options, verbose),
                Some(WhichLego::Tables(options)) => two::tables(options, verbose),
            },
            args::Bench::Jimu(options) => two::jimu(options, verbose),
            args::Bench::Authenticated(options) => two::authenticated(options, verbose),
            args::Bench::Commit(options) => two::commit(options, verbose),
            args::Bench::Ot(options) => two::ot(options, verbose),
            args::Bench::Apps(options) => apps::run(options, verbose),
            args::Bench::Plan(options) => apps::plan(options, verbose),
            args::Bench::Queries(options) => apps::queries(options, verbose),
            args::Bench::Service(options) => service::run(options, verbose),
        }
    }

    fn json(&self) -> bool {
        match self {
            args::Bench::Three(options) => match &options.which {
                None => options.place.how.form.json,
                Some(Which::Table2(options)) => options.place.how.form.json,
                Some(Which::Latency(options)) => options.how.form.json,
            },
            args::Bench::Ring(options) => options.place.how.form.json,
            args::Bench::Lego(options) => match &options.which {
                None => options.place.how.form.json,
                Some(WhichLego::Tables(options)) => options.place.how.form.json,
            },
            args::Bench::Jimu(options) => options.pools.place.how.form.json,
            args::Bench::Authenticated(options) => options.pools.place.how.form.json,
            args::Bench::Commit(options) => options.place.how.form.json,
            args::Bench::Ot(options) => options.place.how.form.json,
            args::Bench::Apps(options) => options.place.how.form.json,
            args::Bench::Plan(options) => options.form.json,
            args::Bench::Queries(options) => options.form.json,
            args::Bench::Service(options) => options.form.json,
        }
    }

    fn meets_peers(&self) -> bool {
        true
    }
}

fn one_job(options: &BenchThree, verbose: u8) -> Result<()> {
    let lanes = match options.lanes {
        Some(lanes) => usize::try_from(lanes).unwrap_or(usize::MAX),
        None => Bench::lanes_for(&options.circuit, options.and_gates.unwrap_or(JOB_GATES))?,
    };
    let settings = options.service.settings(&options.checks);
    let bench = Bench {
        circuit: options.circuit.clone(),
        lanes,
        protocol: settings.protocol,
    };
    let report = measured("measuring", verbose, options.place.setting(), |place, _| {
        run_bench(&bench, place)
    })?;
    options.place.how.form.print(&report, || report.cost_table())
}

fn steady(options: &BenchThree, verbose: u8) -> Result<()> {
    let ring = options.with_ring.then(|| RingBench {
        workers: options.service.workers,
        seconds: options.ring_seconds.as_secs_f64(),
        ..RingBench::default()
    });
    let steady = Steady {
        circuit: options.circuit.clone(),
        settings: options.service.settings(&options.checks),
        mode: options.mode,
        length: match options.and_gates {
            Some(gates) => Length::Gates(gates),
            None => options.section.length(),
        },
    };
    let what = match options.mode {
        Mode::Full => "measuring",
        Mode::Offline => "making triples",
        Mode::Online => "measuring online",
    };
    let report = measured(what, verbose, options.place.setting(), |place, _| {
        run_steady(&steady, ring.as_ref(), place)
    })?;
    options.place.how.form.print(&report, || report.table())
}

fn table2(options: &BenchTable2, verbose: u8) -> Result<()> {
    let table = Table2 {
        circuit: options.circuit.clone(),
        // Every row has a variant and a view check of its own.
        settings: options.service.settings(&Checks {
            variant: Variant::OnDemand,
            view_check: ViewCheck::Mac,
        }),
        length: options.section.length(),
        repeat: options.repeat,
        ring_seconds: options.ring_seconds.as_secs_f64(),
    };
    let report = measured(
        "measuring",
        verbose,
        options.place.setting(),
        |place, progress| run_table2(&table, place, &mut |what| progress.name(what)),
    )?;
    draw(options.plot.as_deref(), || report.to_svg())?;
    options.place.how.form.print(&report, || report.table())
}

/// Latencies over several kinds of links.
#[derive(Serialize)]
struct Latencies {
    runs: Vec<LatencyReport>,
}

fn latency(options: &BenchLatency, verbose: u8) -> Result<()> {
    let latency = Latency {
        circuits: options.circuit.clone(),
        settings: options.service.settings(&options.checks),
        repeat: options.repeat,
        link_rtt_ms: options.link_rtt,
    };
    let progress = Progress::start("measuring");
    let child = child(verbose)?;
    let run = |&transport| {
        progress.name(&format!("measuring over {transport}"));
        run_latency(
            &latency,
            &mut Place {
                setting: options.how.setting(transport),
                command: &child,
                progress: &mut |done, total| progress.set(done, total),
            },
        )
    };
    let runs = options.transport.iter().map(run).collect::<Result<Vec<_>>>()?;
    drop(progress);
    let report = Latencies { runs };
    options.how.form.print(&report, || {
        let tables: Vec<String> = report.runs.iter().map(LatencyReport::table).collect();
        tables.join("\n")
    })
}

fn ring(options: &BenchRing, verbose: u8) -> Result<()> {
    let bench = RingBench {
        workers: options.workers,
        message_bytes: options.message,
        seconds: options.seconds.as_secs_f64(),
    };
    let child = child(verbose)?;
    let report = run_ring(
        &bench,
        &mut Place {
            setting: options.place.setting(),
            command: &child,
            progress: &mut |_, _| (),
        },
    )?;
    options.place.how.form.print(&report, || {
        format!("{}\n{}\n", report.line(), report.machine.line())
    })
}

/// Runs a measurement of parties joined as in `setting`, with a progress bar called `what` until it is over.
fn measured<T>(
    what: &str,
    verbose: u8,
    setting: Setting,
    run: impl FnOnce(&mut Place<'_>, &Progress) -> Result<T>,
) -> Result<T> {
    let progress = Progress::start(what);
    let child = child(verbose)?;
    let mut place = Place {
        setting,
        command: &child,
        progress: &mut |done, total| progress.set(done, total),
    };
    run(&mut place, &progress)
}

/// Writes a drawing to `file`, if there is one.
fn draw(file: Option<&Path>, svg: impl FnOnce() -> String) -> Result<()> {
    file.map_or(Ok(()), |file| write_file(file, svg().as_bytes()))
}

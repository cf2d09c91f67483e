//! The benchmarks of three parties.

use crate::Place;
use crate::three::job::{Bench, run_bench};
use crate::three::latency::{Latency, LatencyReport, run_latency};
use crate::three::ring::{RingBench, run_ring};
use crate::three::steady::{Length, Mode, Steady, run_steady};
use crate::three::table2::{Table2, run_table2};
use cenote::{Result, Variant, ViewCheck};
use serde::Serialize;

use super::place::{draw, measured};
use super::three_args::{BenchLatency, BenchRing, BenchTable2, BenchThree, Checks};
use cenote_console::{Progress, child};

/// AND gates of a measured job, by default.
const JOB_GATES: u64 = 10_000_000;

pub(super) fn one_job(options: &BenchThree, verbose: u8) -> Result<()> {
    let lanes = match options.lanes {
        Some(lanes) => usize::try_from(lanes).unwrap_or(usize::MAX),
        None => Bench::lanes_for(&options.circuit, options.and_gates.unwrap_or(JOB_GATES))?,
    };
    let settings = options.service.settings(&options.checks);
    let bench = Bench {
        circuit: options.circuit.clone(),
        lanes,
        protocol: settings.protocol,
        link: options.slowed.link,
    };
    let report = measured("measuring", verbose, options.place.setting(), |place, _| {
        run_bench(&bench, place)
    })?;
    options.place.how.form.print(&report, || report.cost_table())
}

pub(super) fn steady(options: &BenchThree, verbose: u8) -> Result<()> {
    let ring = options.with_ring.then(|| RingBench {
        workers: options.service.workers,
        seconds: options.ring_seconds.as_secs_f64(),
        ..RingBench::default()
    });
    let mut settings = options.service.settings(&options.checks);
    if options.mode != Mode::Full && options.checks.variant.is_none() {
        // Only triples are made apart from their use.
        settings.protocol.variant = Some(Variant::OnDemand.into());
    }
    let steady = Steady {
        circuit: options.circuit.clone(),
        settings,
        mode: options.mode,
        length: match options.and_gates {
            Some(gates) => Length::Gates(gates),
            None => options.section.length(),
        },
        link: options.slowed.link,
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

pub(super) fn table2(options: &BenchTable2, verbose: u8) -> Result<()> {
    let table = Table2 {
        circuit: options.circuit.clone(),
        // Every row has a variant and a view check of its own.
        settings: options.service.settings(&Checks {
            variant: Some(Variant::OnDemand.into()),
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

pub(super) fn latency(options: &BenchLatency, verbose: u8) -> Result<()> {
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

pub(super) fn ring(options: &BenchRing, verbose: u8) -> Result<()> {
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

//! The benchmarks of two parties.

use std::path::Path;

use cenote::Result;
use cenote_bench::authenticated::Authenticated;
use cenote_bench::jimu::Jimu;
use cenote_bench::lego::circuit::{LegoBench, run_lego};
use cenote_bench::lego::commit::{CommitBench, run_commit};
use cenote_bench::lego::ot::{OtBench, run_ot};
use cenote_bench::lego::tables::{Tables, available_memory, run_tables};
use cenote_bench::pools::{Pools, Told, run_pools};

use super::args::Where;
use super::two_args::{BenchAuthenticated, BenchCommit, BenchJimu, BenchLego, BenchOt, BenchTables};
use super::{draw, measured, tell};

/// Memory assumed to be free where the system does not tell.
const SOME_MEMORY: u64 = 4 << 30;

pub(super) fn lego(options: &BenchLego, verbose: u8) -> Result<()> {
    let bench = LegoBench {
        circuit: options.circuit.clone(),
        instances: options.instances,
        settings: options.two.settings(),
        to: options.to,
        latencies: options.latencies,
        repeat: options.repeat,
        link: options.slowed.link,
    };
    let report = measured("measuring", verbose, options.place.setting(), |place, _| {
        run_lego(&bench, place)
    })?;
    draw(options.plot.as_deref(), || report.to_svg())?;
    tell(options.place.how.json, &report, || report.table())
}

pub(super) fn tables(options: &BenchTables, verbose: u8) -> Result<()> {
    let tables = Tables {
        circuits: options.circuit.clone(),
        instances: options.instances.clone(),
        links: options.link.clone(),
        strings: options.strings.clone(),
        settings: options.two.settings(),
        latencies: options.latencies,
        repeat: options.repeat,
        memory: options
            .memory
            .unwrap_or_else(|| available_memory().unwrap_or(SOME_MEMORY) / 4 * 3),
    };
    let report = measured(
        "measuring",
        verbose,
        options.place.setting(),
        |place, progress| run_tables(&tables, place, &mut |what| progress.name(what)),
    )?;
    draw(options.plot.as_deref(), || report.to_svg())?;
    tell(options.place.how.json, &report, || report.table())
}

pub(super) fn jimu(options: &BenchJimu, verbose: u8) -> Result<()> {
    let pools = Pools {
        pools: options.pool.clone(),
        security: options.security,
        loads: options.circuit.clone(),
        seconds: if options.fill_only {
            0.0
        } else {
            options.seconds.as_secs_f64()
        },
        repeat: options.repeat,
        link: options.slowed.link,
        protocol: Jimu::new(small(options.buffer), options.mux),
    };
    over_pools(&pools, &options.place, options.plot.as_deref(), verbose)
}

pub(super) fn authenticated(options: &BenchAuthenticated, verbose: u8) -> Result<()> {
    let pools = Pools {
        pools: options.pool.clone(),
        security: options.security,
        loads: options.circuit.clone(),
        seconds: if options.fill_only {
            0.0
        } else {
            options.seconds.as_secs_f64()
        },
        repeat: options.repeat,
        link: options.slowed.link,
        protocol: Authenticated {
            lot: small(options.lot),
            segment: small(options.segment),
            symbols: options.symbols,
            cot: options.cot,
        },
    };
    over_pools(&pools, &options.place, options.plot.as_deref(), verbose)
}

/// What is too large is refused later, with what there may be.
fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn over_pools<P: Told>(pools: &Pools<P>, place: &Where, plot: Option<&Path>, verbose: u8) -> Result<()> {
    let report = measured("measuring", verbose, place.setting(), |place, progress| {
        run_pools(pools, place, &mut |what| progress.name(what))
    })?;
    draw(plot, || report.to_svg())?;
    tell(place.how.json, &report, || report.table())
}

pub(super) fn commit(options: &BenchCommit, verbose: u8) -> Result<()> {
    let bench = CommitBench {
        strings: options.strings.clone(),
        workers: options.workers,
        repeat: options.repeat,
        link: options.slowed.link,
    };
    let report = measured("committing", verbose, options.place.setting(), |place, _| {
        run_commit(&bench, place)
    })?;
    tell(options.place.how.json, &report, || report.table())
}

pub(super) fn ot(options: &BenchOt, verbose: u8) -> Result<()> {
    let bench = OtBench {
        strings: options.strings,
        repeat: options.repeat,
        link: options.slowed.link,
    };
    let report = measured("transferring", verbose, options.place.setting(), |place, _| {
        run_ot(&bench, place)
    })?;
    tell(options.place.how.json, &report, || report.table())
}

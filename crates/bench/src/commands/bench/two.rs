//! The benchmarks of two parties.

use std::time::Duration;

use crate::authenticated::{Authenticated, USUAL_LOTS};
use crate::jimu::Jimu;
use crate::lego::circuit::{LegoBench, run_lego};
use crate::lego::commit::{CommitBench, run_commit};
use crate::lego::ot::{OtBench, run_ot};
use crate::lego::tables::{Tables, available_memory, run_tables};
use crate::pools::{Load, Pools, Told, run_pools};
use cenote::Result;

use super::place::{draw, measured};
use super::two_args::{
    BenchAuthenticated, BenchCommit, BenchJimu, BenchLego, BenchOt, BenchTables, OverPools,
};

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
    options.place.how.form.print(&report, || report.table())
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
    options.place.how.form.print(&report, || report.table())
}

pub(super) fn jimu(options: &BenchJimu, verbose: u8) -> Result<()> {
    let protocol = Jimu::new(small(options.buffer), options.mux);
    let (sizes, loads) = (&options.pool, &options.circuit);
    options
        .pools
        .run(protocol, (sizes, loads, options.seconds), verbose)
}

pub(super) fn authenticated(options: &BenchAuthenticated, verbose: u8) -> Result<()> {
    let [lot, largest_lot] = options.lot.map_or(USUAL_LOTS, |lot| [small(lot); 2]);
    let protocol = Authenticated {
        lot,
        largest_lot,
        segment: small(options.segment),
        symbols: options.symbols,
        cot: options.cot,
    };
    let (sizes, loads) = (&options.pool, &options.circuit);
    options
        .pools
        .run(protocol, (sizes, loads, options.seconds), verbose)
}

/// What is too large is refused later, with what there may be.
fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl OverPools {
    /// Measures over pools of these sizes, each load for so long.
    fn run<P: Told>(
        &self,
        protocol: P,
        (sizes, loads, seconds): (&[u64], &[Load], Duration),
        verbose: u8,
    ) -> Result<()> {
        let pools = Pools {
            pools: sizes.to_vec(),
            security: self.security,
            loads: loads.to_vec(),
            seconds: if self.fill_only {
                0.0
            } else {
                seconds.as_secs_f64()
            },
            repeat: self.repeat,
            link: self.slowed.link,
            protocol,
        };
        let report = measured("measuring", verbose, self.place.setting(), |place, progress| {
            run_pools(&pools, place, &mut |what| progress.name(what))
        })?;
        draw(self.plot.as_deref(), || report.to_svg())?;
        self.place.how.form.print(&report, || report.table())
    }
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
    options.place.how.form.print(&report, || report.table())
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
    options.place.how.form.print(&report, || report.table())
}

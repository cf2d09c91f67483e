//! `cenote bench`

use cenote::Result;
use cenote::bench::Bench;
use cenote::local::{Setting, run_bench};

use crate::args;
use crate::console::{Progress, child, print, print_json};

pub(crate) fn run(command: &args::Bench, verbose: u8) -> Result<()> {
    let args::Bench::Three(options) = command;
    let lanes = match options.lanes {
        Some(lanes) => usize::try_from(lanes).unwrap_or(usize::MAX),
        None => Bench::lanes_for(&options.circuit, options.and_gates)?,
    };
    let bench = Bench {
        circuit: options.circuit.clone(),
        lanes,
        protocol: options.protocol(),
    };
    let setting = Setting {
        transport: options.transport,
        timeout: options.timeout,
    };
    let progress = Progress::start("measuring");
    let report = run_bench(&bench, setting, child(verbose)?, &mut |done, total| {
        progress.set(done, total)
    })?;
    drop(progress);
    if options.json {
        print_json(&report)
    } else {
        print(&report.cost_table())
    }
}

//! `cenote run`

use cenote::local::{Setting, run_job};
use cenote::query::{Instead, QueryJob};
use cenote::{Report, Result};

use super::query::told;
use crate::args::{Local, Run};
use crate::console::{Progress, child, print, print_json, warn};

/// Values of an output that are printed; more are for `--json` and files.
const SHOWN_LANES: usize = 8;

impl Local {
    pub(crate) fn setting(&self) -> Setting {
        Setting {
            transport: self.transport,
            timeout: self.timeout,
            phase_timeout: self.phase_timeout,
        }
    }
}

pub(crate) fn run(options: &Run, verbose: u8) -> Result<()> {
    if QueryJob::is_at(&options.job) {
        return told(
            &options.job,
            &Instead::default(),
            &options.local,
            options.json,
            verbose,
        );
    }
    let progress = Progress::start("running");
    let report = run_job(
        &options.job,
        options.local.setting(),
        child("child", verbose)?,
        &mut |done, total| {
            progress.set(done, total);
        },
    )?;
    drop(progress);
    show(&report, options.json)
}

/// Says what came of a job.
pub(super) fn show(report: &Report, json: bool) -> Result<()> {
    warn(report);
    if json {
        return print_json(report);
    }
    print(&format!(
        "{}\n{}",
        report.output_table(SHOWN_LANES),
        report.cost_table()
    ))
}

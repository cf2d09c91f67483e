//! `cenote run`

use cenote::local::run_job;
use cenote::query::QueryJob;
use cenote::{Report, Result};

use super::query::told;
use crate::args::Run;
use cenote_console::args::Form;
use cenote_console::{Command, Progress, child, warn};

/// Values of an output that are printed; more are for `--json` and files.
const SHOWN_LANES: usize = 8;

impl Command for Run {
    fn run(&self, verbose: u8) -> Result<()> {
        if QueryJob::is_at(&self.job) {
            return told(
                &self.job,
                &self.parameters.instead(),
                &self.local,
                self.form,
                verbose,
            );
        }
        self.parameters.refuse()?;
        let progress = Progress::start("running");
        let report = run_job(
            &self.job,
            self.local.setting(),
            child(verbose)?,
            &mut |done, total| {
                progress.set(done, total);
            },
        )?;
        drop(progress);
        show(&report, self.form)
    }

    fn json(&self) -> bool {
        self.form.json
    }

    fn memory(&self) -> Option<u64> {
        self.memory
    }

    fn meets_peers(&self) -> bool {
        true
    }
}

/// Says what came of a job.
pub(super) fn show(report: &Report, form: Form) -> Result<()> {
    warn(report);
    form.print(report, || {
        format!("{}\n{}", report.output_table(SHOWN_LANES), report.cost_table())
    })
}

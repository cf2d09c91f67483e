//! `cenote plan`

use cenote::plan::plan;
use cenote::query::QueryJob;
use cenote::{Error, Result};

use super::query;
use crate::args::Plan;
use cenote_console::{Command, Progress, child};

impl Command for Plan {
    fn run(&self, verbose: u8) -> Result<()> {
        if QueryJob::is_at(&self.job) {
            return query::plan(self, verbose);
        }
        self.parameters.refuse()?;
        if self.plot.is_some() {
            return Err(Error::Usage(
                "--plot draws the steps of a query, and this job is a circuit".into(),
            ));
        }
        let progress = Progress::start("planning");
        let child = child(verbose)?;
        let plan = plan(&self.job, self.link, self.local.setting(), child, &mut |what| {
            progress.name(what);
        })?;
        drop(progress);
        self.form.print(&plan, || plan.table())?;
        match plan.refused() {
            Some(why) if !self.form.json => {
                Err(Error::Usage(format!("the job cannot be run as it is: {why}")))
            }
            _ => Ok(()),
        }
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

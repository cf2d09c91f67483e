//! A job, run by all parties on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use cenote_net::PartyId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parties::{Assigned, Task, combine, run, value};
use super::seat::{Seat, Setting};
use crate::job::shards::{Lanes, run_child};
use crate::outputs::OutputFiles;
use crate::{Job, Report, Result};

/// Runs `job` with a process for each party. `command` starts a child, which must call [`child_main`](super::child_main); `progress` is told the
/// AND gates done, of how many. Files that the job names for outputs are written.
///
/// # Errors
/// Those of [`Job::check_standalone`] and [`Job::infer_lanes`], before anything is started; [`crate::Error::Parties`] if a party fails, such as for its
/// inputs.
pub fn run_job(
    job: &Path,
    setting: Setting,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report> {
    let path = job;
    let job = Job::load(path)?;
    job.check_standalone()?;
    let lanes = job.infer_lanes()?;
    let protocol = job.protocol();
    let (program, parties) = (job.program(lanes)?, (0..protocol.parties()).map(PartyId));
    match Lanes::of(&job, lanes)? {
        Some(cut) => cut.admit(parties)?,
        None => protocol.prepare(&program.demand())?.admit(&program, parties)?,
    }
    job.warn_if_exposed();
    let files = OutputFiles::check(&job, |_| true)?;
    files.put_aside()?;
    let task = Task::new(&JobPart {
        path: path.to_owned(),
        lanes,
    })?;
    let report = combine(run(protocol.parties(), setting, &task, command, progress)?)?;
    files.write(&report.outputs)?;
    Ok(report)
}

/// One party's part in a job.
#[derive(Serialize, Deserialize)]
pub(super) struct JobPart {
    path: PathBuf,
    lanes: usize,
}

impl Assigned for JobPart {
    const NAME: &'static str = "job";

    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        let job = Job::load(&self.path)?;
        let inputs = job.read_inputs(seat.me, self.lanes)?;
        let outcome = match Lanes::of(&job, self.lanes)? {
            Some(cut) => run_child(seat, cut, inputs)?,
            None => seat.compute(job.protocol(), &job.program(self.lanes)?, &inputs, &())?,
        };
        value(&outcome.report)
    }
}

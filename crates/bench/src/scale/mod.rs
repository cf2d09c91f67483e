//! Jobs in shards on parties of 1 to 1,000 machines: measured here as far as one machine goes, and simulated beyond.
//!
//! The job is the join of [`queries`](crate::queries), of tables with so many rows for each shard. `real` runs it in 1, 2 and 4 shards, and in many small ones, whose merge is large.
//! `plans` counts what the sessions of any number of shards take, `model` gives their time here, and `coordinators` says how fast shards are handed out. From these
//! [`cluster`] simulates a job, event by event. The same simulation predicts the jobs that ran here.

pub mod cluster;
mod coordinators;
mod costs;
mod model;
mod plans;
mod real;
mod report;

use std::path::Path;
use std::process::Command;

use cenote::local::Setting;
use cenote::shards::WORKER_PAUSE;
use cenote::{Error, Link, Result, Transport, demo};
use serde::Serialize;

use self::cluster::{Cluster, Outcome, simulate};
pub use self::costs::{Checked, Costs};
pub use self::model::Model;
pub use self::plans::{Planned, RowSeconds, Takes};
use self::plans::{plan, row_seconds};
pub use self::real::Ran;
use self::real::Runs;
use crate::usage::Machine;

/// The shards of jobs that run here and are predicted.
const CHECKED: [u32; 3] = [1, 2, 4];

/// Rows of a small shard, of each table.
const SMALL_ROWS: u64 = 128;

/// The most rows of a table.
const MOST_ROWS: u64 = 1 << 28;

/// The most shards of a query.
pub const MOST_SHARDS: u32 = 4096;

/// What is measured and simulated.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Rows for each shard, of each table.
    pub rows: u64,
    /// Shards of the job that is simulated; the most that its tables have rows for, if none are asked for.
    pub shards: Option<u32>,
    /// Numbers of machines of each party.
    pub machines: Vec<u32>,
    /// Cores of each, with a worker each.
    pub cores: u32,
    /// What joins a machine with those of other parties.
    pub link: Link,
    /// Gigabits per second of all machines of a party together.
    pub site_gbit: Option<f64>,
    /// How often the jobs run here.
    pub repeat: u32,
    /// Small shards of the job whose merge is large.
    pub small_shards: u32,
    /// Attempts that the coordinators are timed with.
    pub attempts: u32,
    /// Of what is drawn.
    pub seed: u64,
}

/// A job on machines, as simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// From the start of the coordinators, which read all tables and place their rows.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Seconds of the job if its rows lay where workers find them.
    pub seconds_if_placed: f64,
    /// AND gates a second then.
    pub ands_per_second_if_placed: f64,
}

/// What was measured and simulated.
#[derive(Clone, Debug, Serialize)]
pub struct ScaleReport {
    pub rows_of_shard: u64,
    /// Shards of the job that is simulated.
    pub shards: u32,
    pub cores: u32,
    pub link: Link,
    pub site_gbit: Option<f64>,
    pub repeat: u32,
    pub seed: u64,
    /// How the parties were joined here.
    pub transport: Transport,
    pub measured: Costs,
    /// What the simulation says of the jobs that ran here.
    pub checks: Vec<Checked>,
    /// The job that is simulated, as planned.
    pub planned: Planned,
    /// For each number of machines.
    pub machines: Vec<Row>,
    /// The machine that was measured.
    pub machine: Machine,
}

impl Scale {
    /// The shards of the job that is simulated.
    fn all_shards(&self) -> Result<u32> {
        let most = (MOST_ROWS / self.rows.max(1)).min(MOST_SHARDS.into()) as u32;
        match self.shards.unwrap_or(most) {
            shards if (1..=most).contains(&shards) => Ok(shards),
            _ => Err(Error::Usage(format!(
                "with {} rows for each shard a job has 1 to {most} shards: a table has {MOST_ROWS} rows at most, and a job {MOST_SHARDS} shards",
                self.rows
            ))),
        }
    }

    fn cluster(&self, machines: u32) -> Cluster {
        Cluster {
            machines,
            cores: self.cores,
            link: self.link,
            site_gbit: self.site_gbit,
            pause_seconds: WORKER_PAUSE.as_secs_f64(),
        }
    }
}

/// Measures with jobs in folders below `folder`, and simulates. `command` starts a child of [`cenote::local`]; `about` is told what comes next.
///
/// # Errors
/// As [`cenote::query::run_here`]; [`Error::Usage`] for numbers that make no sense; [`Error::Local`] if tables cannot be written, or an answer is wrong.
pub fn run_scale(
    scale: &Scale,
    folder: &Path,
    setting: Setting,
    command: &dyn Fn() -> Command,
    about: &mut dyn FnMut(&str),
) -> Result<ScaleReport> {
    let machine = Machine::now();
    let shards = scale.all_shards()?;
    let local = |error| Error::local("making a folder", error);
    std::fs::create_dir_all(folder).map_err(local)?;
    about(&format!("planning {shards} shards"));
    let planned = plan(scale.rows, shards, folder)?;
    let jobs = CHECKED.map(|shards| plan(scale.rows, shards, folder));
    let jobs = jobs.into_iter().collect::<Result<Vec<_>>>()?;
    let small = plan(SMALL_ROWS, scale.small_shards, folder)?;
    let runs = Runs {
        folder,
        setting,
        command,
    };
    about(&format!("running {} small shards", small.shards));
    let small_ran = runs.job(&small)?;
    let mut ran = Vec::new();
    for _ in 0..scale.repeat.max(1) {
        for job in &jobs {
            about(&format!(
                "running {} shard{}",
                job.shards,
                cenote::text::s(job.shards)
            ));
            ran.push(runs.job(job)?);
        }
    }
    about("running coordinators");
    let ledgers = tempfile::tempdir_in(folder).map_err(local)?;
    let attempt_seconds = coordinators::attempt_seconds(scale.attempts, ledgers.path())?;
    about("reading tables");
    let largest = jobs[jobs.len() - 1];
    let row_seconds = row_seconds(&largest, &demo::job_file(&runs.folder_of(&largest)))?;
    let measured = Costs::new(&jobs, ran, (small, small_ran), (attempt_seconds, row_seconds));
    let checks = jobs.iter().map(|job| measured.check(job)).collect();
    about("simulating");
    let (work, placed) = (measured.work(&planned), measured.work_of_placed(&planned));
    let row = |&machines: &u32| {
        let cluster = scale.cluster(machines);
        let if_placed = simulate(&placed, &cluster, scale.seed);
        Row {
            outcome: simulate(&work, &cluster, scale.seed),
            seconds_if_placed: if_placed.seconds,
            ands_per_second_if_placed: if_placed.ands_per_second,
        }
    };
    Ok(ScaleReport {
        rows_of_shard: scale.rows,
        shards,
        cores: scale.cores,
        link: scale.link,
        site_gbit: scale.site_gbit,
        repeat: scale.repeat,
        seed: scale.seed,
        transport: setting.transport,
        checks,
        machines: scale.machines.iter().map(row).collect(),
        planned,
        measured,
        machine,
    })
}

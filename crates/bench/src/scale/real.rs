//! Jobs in shards that really run here, all parties on this machine and one shard after another, and what is seen of them from outside.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use cenote::local::Setting;
use cenote::query::{Instead, run_here};
use cenote::{Error, Report, Result, demo};
use serde::Serialize;

use super::plans::Planned;
use crate::queries::{JoinTables, too_much, write_join_in_shards};

/// How jobs run.
pub(super) struct Runs<'a> {
    pub(super) folder: &'a Path,
    pub(super) setting: Setting,
    /// Starts a child of [`cenote::local`].
    pub(super) command: &'a dyn Fn() -> Command,
}

/// A job that ran, and when its pieces had ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ran {
    pub shards: u32,
    /// From the start to the end.
    pub seconds: f64,
    /// Until the coordinators hand out the first shard: planning, starting processes, reading and placing rows, and meeting.
    pub start_seconds: f64,
    /// Of each shard, with its coordination.
    pub shard_seconds: Vec<f64>,
    pub merge_seconds: f64,
    /// From then to the end of all processes.
    pub end_seconds: f64,
    /// Of the parties' protocol in all sessions, until they could compute; the longest of any party.
    pub setup_seconds: f64,
    /// Of the processors, all parties together; nothing where the system does not tell.
    pub cpu_seconds: Option<f64>,
    pub and_gates: u64,
    pub rounds: u64,
    /// The most bytes that a party sent.
    pub bytes_sent: u64,
}

/// What parties tell while they run: the AND gates of the shards that are done.
struct Watch {
    began: Instant,
    gates_of_shard: u64,
    first: Option<f64>,
    ends: Vec<f64>,
    last: f64,
}

impl Watch {
    fn see(&mut self, done: u64) {
        self.last = self.began.elapsed().as_secs_f64();
        self.first.get_or_insert(self.last);
        while done >= self.gates_of_shard * (self.ends.len() as u64 + 1) {
            self.ends.push(self.last);
        }
    }
}

fn failed(what: String) -> Error {
    Error::local("measuring jobs in shards", std::io::Error::other(what))
}

/// Seconds that the processes have used that this one has started, and that have ended.
fn children_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // What stands before is the program's name, in parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let field = |at: usize| rest.split_whitespace().nth(at)?.parse::<u64>().ok();
    let ticks = field(13)? + field(14)?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

impl Runs<'_> {
    /// Where a job and its tables are.
    pub(super) fn folder_of(&self, planned: &Planned) -> PathBuf {
        self.folder
            .join(format!("job-{}-{}", planned.shards, planned.rows / 2))
    }

    /// Runs the join of `planned`, of tables of so many rows for each shard, and compares the answer.
    pub(super) fn job(&self, planned: &Planned) -> Result<Ran> {
        let shards = planned.shards;
        let rows = planned.rows / 2;
        let folder = self.folder_of(planned);
        let tables = write_join_in_shards(&folder, rows, shards)
            .map_err(|error| Error::local("writing tables", error))?;
        let cpu = children_seconds();
        let began = Instant::now();
        let mut watch = Watch {
            began,
            gates_of_shard: planned.shard.and_gates.max(1),
            first: None,
            ends: Vec::new(),
            last: 0.0,
        };
        let report = run_here(
            &demo::job_file(&folder),
            &Instead::default(),
            self.setting,
            self.command,
            &mut |done, _| watch.see(done),
        )?;
        let seconds = began.elapsed().as_secs_f64();
        let cpu_seconds = cpu.zip(children_seconds()).map(|(before, after)| after - before);
        let rows = report.answer.as_ref().and_then(|answer| answer.rows.as_deref());
        compare(rows.unwrap_or_default(), &tables)?;
        if let Some(what) = too_much(&report.report) {
            return Err(failed(what));
        }
        ran(shards, seconds, cpu_seconds, &watch, &report.report)
    }
}

/// Puts together what is known of a job.
fn ran(shards: u32, seconds: f64, cpu_seconds: Option<f64>, watch: &Watch, report: &Report) -> Result<Ran> {
    let ends = watch.ends.get(..shards as usize).ok_or_else(|| {
        failed(format!(
            "the parties told of {} of {shards} shards",
            watch.ends.len()
        ))
    })?;
    let start_seconds = watch.first.unwrap_or(0.0);
    let mut before = start_seconds;
    let shard_seconds = ends
        .iter()
        .map(|&end| end - std::mem::replace(&mut before, end))
        .collect();
    Ok(Ran {
        shards,
        seconds,
        start_seconds,
        shard_seconds,
        merge_seconds: watch.last - before,
        end_seconds: seconds - watch.last,
        setup_seconds: report.seconds.of("set-up"),
        cpu_seconds,
        and_gates: report.and_gates,
        rounds: report.rounds,
        bytes_sent: report.bytes_sent.iter().copied().max().unwrap_or(0),
    })
}

/// Sees that an answer is right.
fn compare(rows: &[Vec<Option<String>>], tables: &JoinTables) -> Result<()> {
    let right = tables.regions.iter().map(|(region, (cents, count))| {
        [
            region.to_string(),
            format!("{}.{:02}", cents / 100, cents % 100),
            count.to_string(),
        ]
        .map(Some)
    });
    let right: Vec<_> = right.map(Vec::from).collect();
    match rows == right {
        true => Ok(()),
        false => Err(failed("the answer of a join is wrong".into())),
    }
}

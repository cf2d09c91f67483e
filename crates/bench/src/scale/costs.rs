//! What the parts of a job in shards cost, from jobs that ran here, and what the simulation makes of that.

use serde::Serialize;

use super::cluster::{Cluster, Session, Work, simulate};
use super::model::{Model, Seen};
use super::plans::{Planned, RowSeconds, Takes};
use super::real::Ran;
use crate::usage::median;

/// What was measured here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// One shard, as planned in a job of one.
    pub shard: Takes,
    /// The merge of that job.
    pub merge: Takes,
    /// Seconds of that shard here, with its coordination.
    pub shard_seconds: f64,
    /// Seconds of that merge here.
    pub merge_seconds: f64,
    /// Of a session, until it could compute.
    pub setup_seconds: f64,
    /// Seconds of one core of one party, for each second of a session here: all parties share this machine. 1 where the system does not tell.
    pub core_share: f64,
    /// How much the times of equal shards differ: the standard deviation of their logarithms.
    pub spread: f64,
    /// From the start of a process until it asks for work, without planning and without what grows with the rows of its table.
    pub process_seconds: f64,
    /// What rows take that are read, and placed for workers.
    pub row_seconds: RowSeconds,
    /// From the answer to the end of all processes.
    pub end_seconds: f64,
    /// What coordinators are busy with an attempt.
    pub attempt_seconds: f64,
    /// Rounds that were counted, for each that is planned.
    pub rounds_ratio: f64,
    /// The most bytes that a party sent, for each that is planned.
    pub bytes_ratio: f64,
    /// What sessions take here.
    pub model: Model,
    /// The job in many small shards, and those that are predicted.
    pub runs: Vec<Ran>,
}

/// A job that ran here, and what the simulation says of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    pub shards: u32,
    /// Of all; of the shards and the merge alone.
    pub predicted_seconds: f64,
    pub predicted_sessions_seconds: f64,
    /// Medians.
    pub measured_seconds: f64,
    pub measured_sessions_seconds: f64,
    /// Predicted for each second measured.
    pub ratio: f64,
    pub sessions_ratio: f64,
}

/// The median of something of some runs.
fn middle<'a>(runs: impl IntoIterator<Item = &'a Ran>, of: impl Fn(&Ran) -> f64) -> f64 {
    median(&runs.into_iter().map(of).collect::<Vec<_>>())
}

impl Ran {
    /// Of the shards and the merge.
    fn sessions_seconds(&self) -> f64 {
        self.shard_seconds.iter().sum::<f64>() + self.merge_seconds
    }
}

impl Planned {
    /// Of reading the job and planning it: once in the process that starts the parties, which also counts what the parts take, and once in each party.
    fn planning_seconds(&self) -> f64 {
        2.0 * self.load_seconds + self.count_seconds
    }

    /// All sessions together, by one of what they take.
    fn all(&self, of: impl Fn(&Takes) -> u64) -> f64 {
        (u64::from(self.shards) * of(&self.shard) + of(&self.merge)) as f64
    }
}

impl Costs {
    /// From jobs of 1 shard and more, as planned and as they ran, and from one of many small shards.
    ///
    /// The model of sessions is fitted to the first job and the small shards alone, so what it says of the other jobs is a prediction. The start of processes is the median of all.
    pub(super) fn new(
        jobs: &[Planned],
        ran: Vec<Ran>,
        (small, small_ran): (Planned, Ran),
        (attempt_seconds, row_seconds): (f64, RowSeconds),
    ) -> Self {
        let one = jobs[0];
        let of = |shards: u32| ran.iter().filter(move |run| run.shards == shards);
        let ones: Vec<f64> = of(one.shards)
            .flat_map(|run| run.shard_seconds.iter().copied())
            .collect();
        let shard_seconds = median(&ones);
        let merge_seconds = middle(of(one.shards), |run| run.merge_seconds);
        let seen = [
            (one.shard, shard_seconds),
            (one.merge, merge_seconds),
            (small.shard, median(&small_ran.shard_seconds)),
            (small.merge, small_ran.merge_seconds),
        ];
        let model = Model::fitted(&seen.map(|(takes, seconds)| Seen { takes, seconds }));
        let all: Vec<(&Planned, &Ran)> = jobs
            .iter()
            .flat_map(|job| of(job.shards).map(move |run| (job, run)))
            .collect();
        let starts = all.iter().map(|(job, run)| {
            run.start_seconds - job.planning_seconds() - row_seconds.read * job.rows as f64
        });
        let process_seconds = median(&starts.collect::<Vec<_>>()).max(0.0);
        let ratio = |counted: fn(&Ran) -> u64, planned: fn(&Takes) -> u64| {
            let ratios: Vec<f64> = all
                .iter()
                .map(|(job, run)| counted(run) as f64 / job.all(planned).max(1.0))
                .collect();
            median(&ratios)
        };
        // As long as a shard of the job of most of them takes here, by the first job.
        let like = |job: &Planned| model.seconds(&job.shard) / model.seconds(&one.shard).max(1e-12);
        let core_share = jobs.last().and_then(|job| {
            let share = core_seconds(jobs, &ran)? / (shard_seconds * like(job));
            Some(share).filter(|share| share.is_finite() && *share > 0.0)
        });
        let core_share = core_share.unwrap_or(1.0);
        Costs {
            shard: one.shard,
            merge: one.merge,
            shard_seconds,
            merge_seconds,
            setup_seconds: middle(&ran, |run| run.setup_seconds / f64::from(run.shards + 1)),
            core_share,
            spread: spread(&ran),
            process_seconds,
            row_seconds,
            end_seconds: middle(&ran, |run| run.end_seconds),
            attempt_seconds,
            rounds_ratio: ratio(|run| run.rounds, |takes| takes.rounds),
            bytes_ratio: ratio(|run| run.bytes_sent, |takes| takes.bytes),
            model,
            runs: [small_ran].into_iter().chain(ran).collect(),
        }
    }

    /// Seconds here of a shard of a job, without its coordination.
    fn shard_here(&self, takes: &Takes) -> f64 {
        let like = self.model.seconds(takes) / self.model.seconds(&self.shard).max(1e-12);
        (self.shard_seconds * like - self.attempt_seconds).max(0.0)
    }

    fn merge_here(&self, takes: &Takes) -> f64 {
        (self.model.seconds(takes) - self.attempt_seconds).max(0.0)
    }

    /// A session of one party that has a core for itself.
    fn session(&self, takes: &Takes, seconds_here: f64) -> Session {
        Session {
            seconds: self.core_share * seconds_here,
            rounds: (takes.rounds as f64 * self.rounds_ratio) as u64,
            bytes: (takes.bytes as f64 * self.bytes_ratio) as u64,
            and_gates: takes.and_gates,
        }
    }

    /// A job whose coordinators read the tables, and write the rows of all shards before the first one starts.
    pub(super) fn work(&self, job: &Planned) -> Work {
        let placed = self.work_of_placed(job);
        let of_row = self.row_seconds.read + self.row_seconds.write;
        Work {
            placed_seconds: placed.start_seconds + of_row * job.rows as f64,
            ..placed
        }
    }

    /// A job whose rows lie where workers find them.
    pub(super) fn work_of_placed(&self, job: &Planned) -> Work {
        let mut shard = self.session(&job.shard, self.shard_here(&job.shard));
        shard.seconds += self.row_seconds.take * job.rows as f64 / f64::from(job.shards);
        Work {
            shards: job.shards,
            shard,
            merge: self.session(&job.merge, self.merge_here(&job.merge)),
            rows: job.rows,
            start_seconds: self.process_seconds + job.load_seconds + job.count_seconds,
            placed_seconds: 0.0,
            attempt_seconds: self.attempt_seconds,
            end_seconds: self.end_seconds,
            spread: self.spread,
        }
    }

    /// What the simulation says of a job that ran here, where the parties share one machine.
    pub(super) fn check(&self, job: &Planned) -> Checked {
        let here = |takes: &Takes, seconds: f64| Session {
            seconds,
            rounds: 0,
            bytes: 0,
            and_gates: takes.and_gates,
        };
        let work = Work {
            shards: job.shards,
            shard: here(&job.shard, self.shard_here(&job.shard)),
            merge: here(&job.merge, self.merge_here(&job.merge)),
            rows: job.rows,
            start_seconds: self.process_seconds
                + job.planning_seconds()
                + self.row_seconds.read * job.rows as f64,
            placed_seconds: 0.0,
            attempt_seconds: self.attempt_seconds,
            end_seconds: self.end_seconds,
            spread: 0.0,
        };
        let predicted = simulate(&work, &Cluster::here(), 0).seconds;
        let predicted_sessions = predicted - work.start_seconds - work.end_seconds;
        let runs = || self.runs.iter().skip(1).filter(|run| run.shards == job.shards);
        let measured = middle(runs(), |run| run.seconds);
        let measured_sessions = middle(runs(), Ran::sessions_seconds);
        Checked {
            shards: job.shards,
            predicted_seconds: predicted,
            predicted_sessions_seconds: predicted_sessions,
            measured_seconds: measured,
            measured_sessions_seconds: measured_sessions,
            ratio: predicted / measured.max(1e-12),
            sessions_ratio: predicted_sessions / measured_sessions.max(1e-12),
        }
    }
}

/// What one party computes for a shard, in seconds of one core: from what the processors did for the job of most shards beyond that of fewest.
fn core_seconds(jobs: &[Planned], ran: &[Ran]) -> Option<f64> {
    let (few, many) = (jobs.first()?, jobs.last()?);
    let cpu = |job: &Planned| -> Option<f64> {
        let runs = ran.iter().filter(|run| run.shards == job.shards);
        let cpu = runs.map(|run| run.cpu_seconds).collect::<Option<Vec<_>>>()?;
        Some(median(&cpu))
    };
    let more = f64::from(many.shards - few.shards);
    Some((cpu(many)? - cpu(few)?) / more / f64::from(cenote::PARTIES))
}

/// The standard deviation of the logarithms of times of shards that are equal: of jobs with as many shards.
fn spread(ran: &[Ran]) -> f64 {
    let mut logs: Vec<f64> = Vec::new();
    for shards in super::CHECKED {
        let times = ran.iter().filter(|run| run.shards == shards);
        let times: Vec<f64> = times.flat_map(|run| run.shard_seconds.iter().copied()).collect();
        let middle = median(&times);
        logs.extend(times.iter().map(|time| (time / middle).max(1e-6).ln()));
    }
    let squares: f64 = logs.iter().map(|log| log * log).sum();
    (squares / logs.len().max(1) as f64).sqrt()
}

//! A job in shards on parties of many machines, event by event.
//!
//! Every party has the same machines, and a worker process for each of their cores. The coordinators read the tables and place their rows; the workers start, and ask for work. As in
//! [`cenote_shards`], the leader hands out the shards in order, one after another, as soon as every party has a free worker. The workers of a shard look every now and then
//! whether there is something for them, tell where they listen, meet, and compute. The merge starts when all parties have settled all shards, and one process of each party computes it.
//!
//! The parties of a session wait for each other level by level, so its time is the sum of what one party computes, of the way of the messages that wait for one another, and of
//! what its bytes take on the link of one machine. Sessions that together want more than the link of their machine or of the site carries are slowed down, all by the same factor.
//!
//! It simplifies in these ways: the workers of a shard have the same place among the machines of each party, no attempt is lost, and nothing else uses the links.

use std::collections::BinaryHeap;

use cenote::Link;
use cenote::shards::MOST_WORKERS;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};
use serde::Serialize;

/// Messages one after another before a session computes: of TCP, of TLS, and in which the parties compare what they are about to do.
const MEETING: f64 = 6.0;

/// The machines of each party, and what joins them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cluster {
    pub machines: u32,
    /// Cores of each machine; each has a worker.
    pub cores: u32,
    /// What joins a machine with those of other parties.
    pub link: Link,
    /// Gigabits per second that all machines of a party together send to others; no limit if there is none.
    pub site_gbit: Option<f64>,
    /// Seconds after which a worker asks again.
    pub pause_seconds: f64,
}

/// A session: a shard, or the merge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Session {
    /// What one party computes, on one core.
    pub seconds: f64,
    /// Messages that wait for one another.
    pub rounds: u64,
    /// The most bytes that a party sends.
    pub bytes: u64,
    pub and_gates: u64,
}

/// A job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Work {
    pub shards: u32,
    /// Each of them.
    pub shard: Session,
    pub merge: Session,
    /// Rows of all tables.
    pub rows: u64,
    /// From the start of a worker's process until it asks for work.
    pub start_seconds: f64,
    /// From the start of the coordinators until workers find the rows of all shards. None starts before.
    pub placed_seconds: f64,
    /// What the coordinators are busy with an attempt.
    pub attempt_seconds: f64,
    /// From the answer to the end of the last process.
    pub end_seconds: f64,
    /// How much the times of equal sessions differ: the standard deviation of their logarithms.
    pub spread: f64,
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub machines: u32,
    /// Workers of each party.
    pub workers: u32,
    /// From the start of the first process to the end of the last.
    pub seconds: f64,
    /// Until all shards had ended.
    pub shards_seconds: f64,
    pub merge_seconds: f64,
    pub rows_per_second: f64,
    pub ands_per_second: f64,
    /// The share of the workers' time, until all shards had ended, in which they were in a session, in percent.
    pub busy_percent: f64,
    /// The AND gates a second that the links carry; nothing without a limit.
    pub network_bound: Option<f64>,
    /// The AND gates a second of shards that start as fast as the coordinators hand them out.
    pub coordinator_bound: f64,
}

/// What varies from one run to another, drawn for each thing of its own, so that it is the same whatever happens before.
fn varied(spread: f64, seed: u64, what: u64) -> f64 {
    let mut random = StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what);
    let [one, other]: [f64; 2] = [random.random(), random.random()];
    let normal = (-2.0 * (1.0 - one).ln()).sqrt() * (std::f64::consts::TAU * other).cos();
    (spread * normal.clamp(-3.0, 3.0)).exp()
}

/// What is drawn: for each shard, each worker, and the merge.
const WORKERS: u64 = 1 << 32;
const MERGE: u64 = 1 << 33;

impl Cluster {
    /// This machine, whose parties are one process each and compute one shard after another.
    pub fn here() -> Self {
        Cluster {
            machines: 1,
            cores: 1,
            link: Link::default(),
            site_gbit: None,
            pause_seconds: 0.0,
        }
    }

    /// Workers of a party.
    pub fn workers(&self) -> u32 {
        self.machines.saturating_mul(self.cores).min(MOST_WORKERS as u32)
    }

    /// Seconds of a message on its way.
    fn way(&self) -> f64 {
        self.link.way().as_secs_f64()
    }

    fn machine_rate(&self) -> f64 {
        self.link.bytes_per_second().unwrap_or(f64::INFINITY)
    }

    fn site_rate(&self) -> f64 {
        self.site_gbit.map_or(f64::INFINITY, |gbit| gbit * 1e9 / 8.0)
    }

    /// Seconds of a session that has the links for itself, and in which a party computes for `compute`.
    fn alone(&self, session: &Session, compute: f64) -> f64 {
        let messages = session.rounds as f64 + MEETING;
        compute + messages * self.way() + session.bytes as f64 / self.machine_rate().min(self.site_rate())
    }

    /// The bytes a second that all machines of a party send at most.
    fn all_rate(&self) -> f64 {
        self.site_rate()
            .min(self.machine_rate() * f64::from(self.workers().min(self.machines)))
    }
}

impl Work {
    /// Seconds of each shard if one party computes it on one core, and nothing is on the way.
    fn computes(&self, seed: u64, shard: u32) -> f64 {
        self.shard.seconds * varied(self.spread, seed, shard.into())
    }

    /// AND gates of all sessions.
    pub fn and_gates(&self) -> u64 {
        u64::from(self.shards) * self.shard.and_gates + self.merge.and_gates
    }

    fn bytes(&self) -> u64 {
        u64::from(self.shards) * self.shard.bytes + self.merge.bytes
    }

    /// Seconds that the links need at least.
    fn network_seconds(&self, cluster: &Cluster) -> f64 {
        self.bytes() as f64 / cluster.all_rate()
    }

    /// Seconds that the coordinators need at least.
    fn coordinator_seconds(&self) -> f64 {
        f64::from(self.shards + 1) * self.attempt_seconds
    }
}

/// Something that happens at a time; the earliest is the greatest, and of several the one of the lowest number.
#[derive(Clone, Copy, PartialEq)]
struct At(f64, u32, u32);

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other
            .0
            .total_cmp(&self.0)
            .then((other.1, other.2).cmp(&(self.1, self.2)))
    }
}

/// A shard that is computed.
struct Running {
    worker: u32,
    began: f64,
    /// Seconds that it still takes if it has the links for itself.
    left: f64,
    /// Bytes a second that it sends then.
    wants: f64,
    /// How fast it is, of 1.
    speed: f64,
}

/// The shards of a job while they are computed.
struct Course<'a> {
    work: &'a Work,
    cluster: &'a Cluster,
    seed: u64,
    now: f64,
    /// When the leader has heard that the workers of one place are free at all parties.
    free: BinaryHeap<At>,
    /// Until when the leader is busy.
    leader: f64,
    handed_out: u32,
    /// Shards and workers that meet soon.
    meeting: BinaryHeap<At>,
    running: Vec<Running>,
    /// Seconds in sessions, of all workers.
    busy: f64,
}

impl<'a> Course<'a> {
    fn new(work: &'a Work, cluster: &'a Cluster, seed: u64) -> Self {
        let start = |worker: u32| {
            let start = work.start_seconds * varied(work.spread, seed, WORKERS + u64::from(worker));
            At(start + cluster.way(), worker, 0)
        };
        Course {
            work,
            cluster,
            seed,
            now: 0.0,
            free: (0..cluster.workers()).map(start).collect(),
            leader: work.placed_seconds,
            handed_out: 0,
            meeting: BinaryHeap::new(),
            running: Vec::new(),
            busy: 0.0,
        }
    }

    /// Sees all shards through, and gives the time at which the last one ends.
    fn run(&mut self) -> f64 {
        loop {
            let hands_out = self.free.peek().filter(|_| self.handed_out < self.work.shards);
            let hands_out = hands_out.map_or(f64::INFINITY, |free| {
                free.0.max(self.leader) + self.work.attempt_seconds
            });
            let meets = self.meeting.peek().map_or(f64::INFINITY, |meets| meets.0);
            let (ends, first) = self.next_end();
            let next = hands_out.min(meets).min(ends);
            if next.is_infinite() {
                return self.now;
            }
            self.advance(next);
            if ends == next {
                self.end(first);
            } else if hands_out == next {
                self.hand_out();
            } else {
                self.meet();
            }
        }
    }

    /// When the next session ends, and which.
    fn next_end(&self) -> (f64, usize) {
        let ends = |running: &Running| self.now + running.left / running.speed;
        let ends = self.running.iter().map(ends).enumerate();
        ends.fold((f64::INFINITY, 0), |least, (at, end)| match end < least.0 {
            true => (end, at),
            false => least,
        })
    }

    fn advance(&mut self, to: f64) {
        let passed = (to - self.now).max(0.0);
        for running in &mut self.running {
            running.left = (running.left - passed * running.speed).max(0.0);
        }
        self.now = self.now.max(to);
    }

    fn hand_out(&mut self) {
        let Some(At(_, worker, _)) = self.free.pop() else {
            return;
        };
        self.leader = self.now;
        let (way, pause) = (self.cluster.way(), self.cluster.pause_seconds);
        // The other coordinators hear of it, the workers find it and listen, the coordinators tell where, and the workers find that.
        let meets = self.now + way + pause + way + pause;
        self.meeting.push(At(meets, self.handed_out, worker));
        self.handed_out += 1;
    }

    fn meet(&mut self) {
        let Some(At(_, shard, worker)) = self.meeting.pop() else {
            return;
        };
        let whole = self
            .cluster
            .alone(&self.work.shard, self.work.computes(self.seed, shard));
        self.running.push(Running {
            worker,
            began: self.now,
            left: whole,
            wants: self.work.shard.bytes as f64 / whole.max(1e-12),
            speed: 1.0,
        });
        self.share();
    }

    fn end(&mut self, at: usize) {
        let ended = self.running.swap_remove(at);
        self.busy += self.now - ended.began;
        self.free.push(At(self.now + self.cluster.way(), ended.worker, 0));
        self.share();
    }

    /// Shares the links among the sessions that run.
    fn share(&mut self) {
        let machine = |worker: u32| (worker % self.cluster.machines.max(1)) as usize;
        let mut of_machine = vec![0.0; self.cluster.machines.max(1) as usize];
        for running in &self.running {
            of_machine[machine(running.worker)] += running.wants;
        }
        let all: f64 = of_machine.iter().sum();
        let site = (self.cluster.site_rate() / all).min(1.0);
        let rate = self.cluster.machine_rate();
        for running in &mut self.running {
            let own = (rate / of_machine[machine(running.worker)]).min(1.0);
            // What wants nothing is never slowed down.
            running.speed = match running.wants > 0.0 {
                true => own.min(site),
                false => 1.0,
            };
        }
    }
}

/// What becomes of `work` on `cluster`. The same seed draws the same times for each shard, worker and merge, whatever the cluster is.
pub fn simulate(work: &Work, cluster: &Cluster, seed: u64) -> Outcome {
    let mut course = Course::new(work, cluster, seed);
    let shards_seconds = course.run();
    let busy = course.busy / (shards_seconds * f64::from(cluster.workers())).max(1e-12);
    // Each party says that its worker has ended, then that the attempt counts; and of the merge, that it starts, and where to meet.
    let before = 4.0 * cluster.way() + work.attempt_seconds;
    let computes = work.merge.seconds * varied(work.spread, seed, MERGE);
    let merge_seconds = before + cluster.alone(&work.merge, computes);
    let seconds = shards_seconds + merge_seconds + work.end_seconds;
    let gates = work.and_gates() as f64;
    let network = work.network_seconds(cluster);
    Outcome {
        machines: cluster.machines,
        workers: cluster.workers(),
        seconds,
        shards_seconds,
        merge_seconds,
        rows_per_second: work.rows as f64 / seconds.max(1e-12),
        ands_per_second: gates / seconds.max(1e-12),
        busy_percent: 100.0 * busy,
        network_bound: (network > 0.0).then(|| gates / network),
        coordinator_bound: gates / work.coordinator_seconds().max(1e-12),
    }
}

#[cfg(test)]
mod tests;

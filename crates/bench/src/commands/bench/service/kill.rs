//! Services that are killed at random moments and started anew while jobs go through them, and what must hold at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cenote::text::grouped;
use cenote::{Error, Kind, Result};
use cenote_api::view::{JobPage, JobView};
use serde::Serialize;

use super::fleet::{Fleet, Member, fault, has_ended, random};
use super::load::{fetch, name, submit};
use super::task::Task;
use cenote_console::service::Service;

/// Jobs of a page.
const PAGE: usize = 200;
/// How long a worker rests before it tries again at a service that is not there.
pub(super) const REST: Duration = Duration::from_millis(50);

/// What came of it.
#[derive(Debug, Serialize)]
pub(super) struct Killed {
    jobs: usize,
    kills: u64,
    seconds: f64,
    /// Jobs done at all parties.
    done: u64,
    /// Jobs that failed at all parties, by the kinds of failure that the parties tell.
    failed: BTreeMap<String, u64>,
    /// Jobs that some parties have done and others have not: those were killed before they had recorded their outputs, or lost a peer.
    split: u64,
    /// Results that were fetched and compared.
    results: u64,
    /// What must not be.
    wrong: Vec<String>,
}

/// A job that a service has taken.
struct Taken {
    id: String,
    task: usize,
}

/// How many jobs, and how often parties are killed meanwhile.
pub(super) struct Plan {
    pub(super) jobs: u64,
    pub(super) in_flight: u64,
    pub(super) every: Duration,
    /// How long a job may take, and the end of all.
    pub(super) patience: Duration,
}

/// Has services do jobs while they are killed, and looks at what they say in the end.
///
/// # Errors
/// A service that does not come up again, or jobs that do not end.
pub(super) fn run(
    fleet: &Fleet,
    tasks: &[Task],
    plan: &Plan,
    told: &(dyn Fn(&str) + Sync),
) -> Result<Killed> {
    let over = AtomicBool::new(false);
    let (next, kills) = (AtomicU64::new(0), AtomicU64::new(0));
    let taken: Mutex<Vec<Taken>> = Mutex::default();
    let start = Instant::now();
    let ran = std::thread::scope(|scope| {
        let killer = scope.spawn(|| killer(fleet, plan.every, &over, &kills));
        let workers: Vec<_> = (0..plan.in_flight)
            .map(|worker| {
                let (next, taken) = (&next, &taken);
                scope.spawn(move || -> Result<()> {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= plan.jobs {
                            return Ok(());
                        }
                        let task = number as usize % tasks.len();
                        let member = fleet.member((number + worker) as usize);
                        let id = persist(member, &tasks[task], plan.patience)?;
                        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
                        taken.push(Taken { id: id.clone(), task });
                        told(&format!("{} of {} jobs", taken.len(), plan.jobs));
                        drop(taken);
                        // Whatever becomes of it is looked at in the end.
                        let _ = member.heard_end(&id, Duration::from_secs(2));
                    }
                })
            })
            .collect();
        let worked: Vec<Result<()>> = workers.into_iter().map(|worker| joined(worker.join())).collect();
        over.store(true, Ordering::Relaxed);
        joined(killer.join())?;
        worked.into_iter().collect::<Result<()>>()
    });
    ran?;
    for member in &fleet.members {
        member.wait_ready()?;
    }
    let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut killed = Killed {
        jobs: taken.len(),
        kills: kills.into_inner(),
        seconds: 0.0,
        done: 0,
        failed: BTreeMap::new(),
        split: 0,
        results: 0,
        wrong: Vec::new(),
    };
    told("waiting for the last to end");
    let ends = ends(fleet, plan.patience, &mut killed)?;
    killed.seconds = start.elapsed().as_secs_f64();
    told("looking at what became of them");
    killed.compare(fleet, tasks, &taken, &ends)?;
    for (party, member) in fleet.members.iter().enumerate() {
        killed.audit(party, member)?;
    }
    Ok(killed)
}

pub(super) fn joined<T>(ended: std::thread::Result<Result<T>>) -> Result<T> {
    ended.unwrap_or_else(|_| Err(fault("working", "a thread panicked")))
}

/// Kills a party at a random moment, about once in `every`, and starts it again.
pub(super) fn killer(fleet: &Fleet, every: Duration, over: &AtomicBool, kills: &AtomicU64) -> Result<()> {
    while !over.load(Ordering::Relaxed) {
        let dice: [u8; 5] = random()?;
        let share = f64::from(u16::from_le_bytes([dice[0], dice[1]])) / f64::from(u16::MAX);
        let until = Instant::now() + every.mul_f64(0.5 + share);
        while Instant::now() < until && !over.load(Ordering::Relaxed) {
            std::thread::sleep(REST);
        }
        if over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let member = fleet.member(usize::from(dice[2]));
        member.kill();
        kills.fetch_add(1, Ordering::Relaxed);
        // At times it is away for a while.
        std::thread::sleep(Duration::from_millis(u64::from(dice[3]) * 4));
        member.start()?;
        // Half of the time the next kill may come while it starts; otherwise a slow machine's services would hardly ever be up.
        if dice[4].is_multiple_of(2) {
            member.wait(|_| None)?;
        }
    }
    Ok(())
}

/// Submits a job under one key until the service has said its name.
fn persist(member: &Member, task: &Task, patience: Duration) -> Result<String> {
    let (key, start) = (name()?, Instant::now());
    loop {
        let submitted = member.service().and_then(|service| submit(&service, task, &key));
        match submitted {
            Ok(job) => return Ok(job.id),
            Err(error) if start.elapsed() > patience => return Err(error),
            Err(error) if may_pass(&error) => std::thread::sleep(REST),
            Err(error) => return Err(error),
        }
    }
}

/// Whether a service that is starting, or was killed in the middle, may be the reason.
pub(super) fn may_pass(error: &Error) -> bool {
    matches!(error.kind(), Kind::Network | Kind::Internal)
}

/// All jobs of a service.
fn list(service: &Service) -> Result<BTreeMap<String, JobView>> {
    let mut all = BTreeMap::new();
    let mut before = String::new();
    loop {
        let page: JobPage = service.get(&format!("/api/v1/jobs?limit={PAGE}{before}"))?;
        all.extend(page.jobs.into_iter().map(|job| (job.id.clone(), job)));
        match page.next {
            Some(next) => before = format!("&before={next}"),
            None => return Ok(all),
        }
    }
}

/// How all jobs ended, by party, once all have, or none has within `patience`.
fn ends(fleet: &Fleet, patience: Duration, killed: &mut Killed) -> Result<Vec<BTreeMap<String, JobView>>> {
    let (mut moved, mut least) = (Instant::now(), usize::MAX);
    loop {
        let mut all = Vec::new();
        for member in &fleet.members {
            all.push(list(&member.service()?)?);
        }
        let open: Vec<String> = (all.iter().enumerate())
            .flat_map(|(party, jobs)| jobs.values().map(move |job| (party, job)))
            .filter(|(_, job)| !has_ended(&job.state))
            .map(|(party, job)| format!("job {} is still {} at party {party}", job.id, job.state))
            .collect();
        if open.len() < least {
            (moved, least) = (Instant::now(), open.len());
        }
        if open.is_empty() || moved.elapsed() > patience {
            killed.wrong.extend(open);
            return Ok(all);
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

impl Killed {
    /// Every job has ended at every party that knows it, with a reason where it failed, and with the right outputs where it is done.
    fn compare(
        &mut self,
        fleet: &Fleet,
        tasks: &[Task],
        taken: &[Taken],
        ends: &[BTreeMap<String, JobView>],
    ) -> Result<()> {
        let services = fleet
            .members
            .iter()
            .map(Member::service)
            .collect::<Result<Vec<_>>>()?;
        for job in taken {
            let known: Vec<Option<&JobView>> = ends.iter().map(|jobs| jobs.get(&job.id)).collect();
            let done = known.iter().flatten().filter(|job| job.state == "done").count();
            match done {
                _ if done == known.len() => self.done += 1,
                0 => {
                    let kinds: std::collections::BTreeSet<&str> = known
                        .iter()
                        .flatten()
                        .map(|job| job.failure.as_deref().unwrap_or(&job.state))
                        .collect();
                    let kinds: Vec<&str> = kinds.into_iter().collect();
                    *self.failed.entry(kinds.join(" and ")).or_default() += 1;
                }
                _ => self.split += 1,
            }
            if done > 0 && known.iter().any(Option::is_none) {
                self.wrong.push(format!(
                    "job {} is done at one party and not known at another",
                    job.id
                ));
            }
            if known.iter().all(Option::is_none) {
                self.wrong.push(format!("job {} was taken and is lost", job.id));
            }
            for (party, job) in known
                .iter()
                .enumerate()
                .filter_map(|(party, job)| Some((party, (*job)?)))
            {
                if job.state != "done"
                    && job.reason.as_deref().unwrap_or_default().is_empty()
                    && job.state != "cancelled"
                {
                    self.wrong.push(format!(
                        "job {} is {} at party {party} without a reason",
                        job.id, job.state
                    ));
                }
            }
            for (party, service) in services.iter().enumerate() {
                if known[party].is_some_and(|job| job.state == "done") {
                    match fetch(service, &job.id, &tasks[job.task]) {
                        Ok(()) => self.results += 1,
                        Err(error) => self
                            .wrong
                            .push(format!("job {} at party {party}: {error}", job.id)),
                    }
                }
            }
        }
        Ok(())
    }

    /// The audit log of a party is whole, and says of no job that it ran, or ended, twice.
    fn audit(&mut self, party: usize, member: &Member) -> Result<()> {
        let verified: Result<serde_json::Value> = member
            .service()?
            .post("/api/v1/audit/verify", &serde_json::Value::Null);
        if let Err(error) = verified {
            self.wrong
                .push(format!("the audit log of party {party}: {error}"));
        }
        let path = member.folder.join("service").join("audit.jsonl");
        let file = std::fs::File::open(&path)
            .map_err(|error| Error::local(format!("reading {}", path.display()), error))?;
        let (mut ran, mut ended): (BTreeMap<String, u32>, BTreeMap<String, u32>) = Default::default();
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|error| Error::local("reading an audit log", error))?;
            let value: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            let Some(job) = value["job"].as_str() else {
                continue;
            };
            match value["event"].as_str() {
                Some("running") => *ran.entry(job.to_owned()).or_default() += 1,
                Some("done" | "failed" | "cancelled") => *ended.entry(job.to_owned()).or_default() += 1,
                _ => {}
            }
        }
        for (what, counts) in [("ran", ran), ("ended", ended)] {
            for (job, times) in counts.iter().filter(|(_, times)| **times > 1) {
                self.wrong
                    .push(format!("job {job} {what} {times} times at party {party}"));
            }
        }
        Ok(())
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} jobs while a party was killed {} times in {:.0} s: {} done at all parties, {} done at some\n",
            grouped(self.jobs as u64),
            self.kills,
            self.seconds,
            grouped(self.done),
            grouped(self.split)
        );
        for (kinds, count) in &self.failed {
            let _ = writeln!(text, "  {count:>6} ended as {kinds}");
        }
        let _ = writeln!(text, "  {} results fetched and right", grouped(self.results));
        for wrong in &self.wrong {
            let _ = writeln!(text, "  WRONG: {wrong}");
        }
        text
    }

    /// Whether everything that must hold does.
    ///
    /// # Errors
    /// What does not, the first of it.
    pub(super) fn verdict(&self) -> Result<()> {
        verdict(&self.wrong)
    }
}

/// The first of what must not be, as an error.
pub(super) fn verdict(wrong: &[String]) -> Result<()> {
    match wrong.first() {
        None => Ok(()),
        Some(first) => Err(fault(format!("checking {} faults", wrong.len()), first.clone())),
    }
}

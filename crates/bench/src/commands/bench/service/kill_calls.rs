//! Calls of a job that stands while parties are killed and started anew, and how each ended.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cenote::Result;
use cenote::text::grouped;
use cenote_api::view::CallEnded;
use serde::Serialize;

use super::calls::Standing;
use super::fleet::{Fleet, fault};
use super::kill::{REST, joined, killer, may_pass, verdict};
use super::load::name;
use super::task::Task;

/// Problems of a call that has not ended: it is made again.
const WAITS: [&str; 3] = ["call-waits", "busy", "internal"];

/// What came of it.
#[derive(Debug, Serialize)]
pub(super) struct KilledCalls {
    calls: usize,
    kills: u64,
    seconds: f64,
    /// Calls that were answered with the right outputs.
    answered: u64,
    /// Calls that ended with a reason instead.
    failed: u64,
    /// What must not be.
    wrong: Vec<String>,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Answered,
    Failed,
}

/// Makes `count` calls, `together` in a request, while parties are killed. Each is made again under its name until it has ended, and once more at the end.
///
/// # Errors
/// A service that does not come up again, or calls that do not end within `patience`.
pub(super) fn run(
    fleet: &Fleet,
    (task, circuit): (&Task, &str),
    (count, callers, together): (u64, u64, u64),
    (every, patience): (Duration, Duration),
    told: &(dyn Fn(&str) + Sync),
) -> Result<KilledCalls> {
    let standing = Standing::start(fleet, task, circuit, patience)?;
    let (over, kills, next) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let ended: Mutex<Vec<(String, End)>> = Mutex::default();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let killing = scope.spawn(|| killer(fleet, every, &over, &kills));
        let work = || -> Result<()> {
            while next.fetch_add(together, Ordering::Relaxed) < count {
                let ends = persist(&standing, together, patience)?;
                let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                ended.extend(ends);
                told(&format!("{} of {count} calls", ended.len()));
            }
            Ok(())
        };
        let workers: Vec<_> = (0..callers).map(|_| scope.spawn(work)).collect();
        let worked: Vec<Result<()>> = workers.into_iter().map(|worker| joined(worker.join())).collect();
        over.store(true, Ordering::Relaxed);
        joined(killing.join())?;
        worked.into_iter().collect::<Result<()>>()
    })?;
    for member in &fleet.members {
        member.wait_ready()?;
    }
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    let seconds = start.elapsed().as_secs_f64();
    let count_of = |end: End| ended.iter().filter(|(_, ended)| *ended == end).count() as u64;
    let mut killed = KilledCalls {
        calls: ended.len(),
        kills: kills.into_inner(),
        seconds,
        answered: count_of(End::Answered),
        failed: count_of(End::Failed),
        wrong: Vec::new(),
    };
    told("making all calls once more");
    for part in ended.chunks(together as usize) {
        let names: Vec<String> = part.iter().map(|(name, _)| name.clone()).collect();
        let again = until_ended(&standing, &names, patience)?;
        for ((name, end), (_, now)) in part.iter().zip(again) {
            if *end != now {
                killed.wrong.push(format!("call {name} has ended in two ways"));
            }
        }
    }
    for (party, member) in fleet.members.iter().enumerate() {
        let service = member.service()?;
        let verified: Result<serde_json::Value> =
            service.post("/api/v1/audit/verify", &serde_json::Value::Null);
        if let Err(error) = verified {
            killed
                .wrong
                .push(format!("the audit log of party {party}: {error}"));
        }
    }
    standing.end()?;
    Ok(killed)
}

/// Makes calls under new names until all have ended.
fn persist(standing: &Standing<'_>, together: u64, patience: Duration) -> Result<Vec<(String, End)>> {
    let names = (0..together).map(|_| name()).collect::<Result<Vec<_>>>()?;
    until_ended(standing, &names, patience)
}

fn until_ended(standing: &Standing<'_>, names: &[String], patience: Duration) -> Result<Vec<(String, End)>> {
    let start = Instant::now();
    loop {
        let late = start.elapsed() > patience;
        match standing.make(names) {
            Ok(ended) => match ends(standing, ended)? {
                Some(ends) => return Ok(ends),
                None if late => return Err(fault("waiting for calls", "they do not end")),
                None => std::thread::sleep(REST),
            },
            Err(error) if late || !may_pass(&error) => return Err(error),
            Err(_) => std::thread::sleep(REST),
        }
    }
}

/// How all of them ended, if all have.
fn ends(standing: &Standing<'_>, calls: Vec<CallEnded>) -> Result<Option<Vec<(String, End)>>> {
    let mut ends = Vec::new();
    for call in calls {
        let end = match (&call.answer, &call.problem) {
            (Some(answer), _) => {
                standing.check(answer)?;
                End::Answered
            }
            (None, Some(problem))
                if problem.code == "call-failed" && !problem.message.contains("not ended yet") =>
            {
                End::Failed
            }
            (None, Some(problem))
                if WAITS.contains(&problem.code.as_str()) || problem.code == "call-failed" =>
            {
                return Ok(None);
            }
            (None, problem) => {
                let why = problem.as_ref().map_or("no reason", |problem| &problem.message);
                return Err(fault(format!("call {}", call.name), why.to_owned()));
            }
        };
        ends.push((call.name, end));
    }
    Ok(Some(ends))
}

impl KilledCalls {
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} calls while a party was killed {} times in {:.0} s: {} answered, {} cut off with a reason; each ended once\n",
            grouped(self.calls as u64),
            self.kills,
            self.seconds,
            grouped(self.answered),
            grouped(self.failed)
        );
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

//! Calls of jobs that stand: one at a time, and many callers side by side.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cenote::Result;
use cenote_api::view::{Calls, JobDetail, JobView, NewCall, NewCalls, Submit};
use serde::Serialize;

use super::fleet::{Fleet, fault};
use super::load::{Times, name};
use super::task::{DATA, Task};
use super::used;
use cenote_console::service::Service;

/// Calls that are made before the first is timed.
const WARM_UP: u64 = 10;
/// Calls that a job allows.
const ALLOWED: u64 = 1 << 24;

/// What came of calls.
#[derive(Debug, Serialize)]
pub(super) struct Called {
    circuit: String,
    calls: usize,
    callers: u64,
    /// Calls of one request.
    together: u64,
    calls_per_second: f64,
    /// Milliseconds from a request to its answer.
    answer_ms: Times,
    /// Processor milliseconds of all parties for a call.
    cpu_ms: f64,
}

impl Called {
    pub(super) fn text(&self) -> String {
        let how = match (self.callers, self.together) {
            (1, 1) => "one at a time".to_owned(),
            (callers, together) => format!("{callers} callers, {together} to a request"),
        };
        format!(
            "{} calls of a standing {}, {how}: {:.0} a second\n  to the answer  {}\n  {:.2} ms of processor time at all parties",
            self.calls,
            self.circuit,
            self.calls_per_second,
            self.answer_ms.line(),
            self.cpu_ms
        )
    }
}

/// A job that stands and runs, which party 0 calls.
pub(super) struct Standing<'a> {
    fleet: &'a Fleet,
    task: &'a Task,
    circuit: &'a str,
    id: String,
    inputs: BTreeMap<String, String>,
}

impl<'a> Standing<'a> {
    /// Has all parties approve it, and waits until it runs.
    ///
    /// # Errors
    /// That it does not come to run.
    pub(super) fn start(
        fleet: &'a Fleet,
        task: &'a Task,
        circuit: &'a str,
        patience: Duration,
    ) -> Result<Self> {
        let service = fleet.member(0).service()?;
        let standing = format!("[standing]\ncalls = {ALLOWED}\ncallers = [0]\n\n[[input]]");
        let body = Submit {
            job: task.text.replacen("[[input]]", &standing, 1),
            files: BTreeMap::new(),
            within: None,
            approval: None,
        };
        let text = service.post_text("/api/v1/jobs", &body, Some(&name()?))?;
        let job: JobView =
            serde_json::from_str(&text).map_err(|error| fault("submitting a job", error.to_string()))?;
        let own = job.inputs.iter().filter(|input| input.owner == 0);
        let own = own.filter_map(|input| {
            let (_, text) = DATA.iter().find(|(name, _)| *name == input.name)?;
            Some((input.name.clone(), (*text).to_owned()))
        });
        let standing = Standing {
            fleet,
            task,
            circuit,
            inputs: own.collect(),
            id: job.id,
        };
        standing.wait_running(&service, patience)?;
        Ok(standing)
    }

    fn wait_running(&self, service: &Service, patience: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let detail: JobDetail = service.get(&format!("/api/v1/jobs/{}", self.id))?;
            match detail.job.state.as_str() {
                "running" => return Ok(()),
                state if start.elapsed() > patience => {
                    return Err(fault(
                        "starting a job that stands",
                        format!("it is {state} after {} s", patience.as_secs()),
                    ));
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Makes so many calls with one request, and compares their outputs.
    fn call(&self, service: &Service, together: u64) -> Result<()> {
        let call = |_| {
            Ok(NewCall {
                name: name()?,
                inputs: self.inputs.clone(),
            })
        };
        let body = NewCalls {
            calls: (0..together).map(call).collect::<Result<Vec<_>>>()?,
            wait: None,
        };
        let ended: Calls = service.post(&format!("/api/v1/programs/{}/calls", self.id), &body)?;
        for ended in ended.calls {
            let answer = ended.answer.ok_or_else(|| {
                let why = ended.problem.map_or_else(String::new, |problem| problem.message);
                fault("making a call", why)
            })?;
            let outputs = answer["outputs"].as_array().into_iter().flatten();
            let values = outputs.flat_map(|output| output["values"].as_array().into_iter().flatten());
            let values: Vec<&str> = values.filter_map(serde_json::Value::as_str).collect();
            if values != self.task.right {
                return Err(fault(
                    "checking a call",
                    "its outputs differ from plain evaluation",
                ));
            }
        }
        Ok(())
    }

    /// Times `count` calls by so many callers, each of whom makes so many in one request.
    ///
    /// # Errors
    /// A call that fails, or has other outputs than plain evaluation.
    pub(super) fn time(&self, count: u64, callers: u64, together: u64) -> Result<Called> {
        let warm = self.fleet.member(0).service()?;
        for _ in 0..WARM_UP {
            self.call(&warm, together)?;
        }
        let before = used(self.fleet)?;
        let requests = count.div_ceil(together).max(1);
        let (next, times) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let start = Instant::now();
        std::thread::scope(|scope| {
            let work = || -> Result<()> {
                let service = self.fleet.member(0).service()?;
                while next.fetch_add(1, Ordering::Relaxed) < requests {
                    let start = Instant::now();
                    self.call(&service, together)?;
                    let mut times = times.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    times.push(start.elapsed());
                }
                Ok(())
            };
            let workers: Vec<_> = (0..callers).map(|_| scope.spawn(work)).collect();
            let panicked = || Err(fault("making calls", "a thread panicked"));
            let ended = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| panicked()));
            ended.collect::<Vec<_>>().into_iter().collect::<Result<()>>()
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let times = times
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let calls = requests * together;
        Ok(Called {
            circuit: self.circuit.to_owned(),
            calls: usize::try_from(calls).unwrap_or(usize::MAX),
            callers,
            together,
            calls_per_second: calls as f64 / seconds.max(1e-9),
            answer_ms: Times::of(&times),
            cpu_ms: 1000.0 * used(self.fleet)?.since(before).processor / calls as f64,
        })
    }

    /// Ends it.
    ///
    /// # Errors
    /// What the service says.
    pub(super) fn end(self) -> Result<()> {
        let service = self.fleet.member(0).service()?;
        let _: JobView = service.post(&format!("/api/v1/jobs/{}/cancel", self.id), &())?;
        Ok(())
    }
}

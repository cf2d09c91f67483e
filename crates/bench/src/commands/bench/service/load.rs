//! Jobs that go through services: one at a time, and many side by side.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cenote::{Error, Result};
use cenote_api::view::{Fetch, JobView, ResultFormat, Submit};
use serde::Serialize;

use super::fleet::{Fleet, Member, fault, random};
use super::task::Task;
use cenote_console::service::Service;

/// Times in milliseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Times {
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Times {
    pub(super) fn of(times: &[Duration]) -> Self {
        let mut sorted: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1000.0).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(place.saturating_sub(1)).copied().unwrap_or_default()
        };
        Times {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
        }
    }

    /// As text.
    pub(super) fn line(&self) -> String {
        format!(
            "p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
            self.p50, self.p90, self.p99, self.max
        )
    }
}

/// How long a job took from its submission.
#[derive(Clone, Copy)]
pub(super) struct Took {
    /// Until its end was heard of.
    pub(super) done: Duration,
    /// Until its result was there.
    pub(super) result: Duration,
}

/// A name that no other submission has.
pub(super) fn name() -> Result<String> {
    random().map(|bytes| cenote_api::Digest(bytes).to_string())
}

/// Submits a job under `key`.
pub(super) fn submit(service: &Service, task: &Task, key: &str) -> Result<JobView> {
    let body = Submit {
        job: task.text.clone(),
        files: BTreeMap::new(),
        within: None,
        approval: None,
    };
    let text = service.post_text("/api/v1/jobs", &body, Some(key))?;
    serde_json::from_str(&text).map_err(|error| fault("submitting a job", error.to_string()))
}

/// Fetches a result and compares it.
pub(super) fn fetch(service: &Service, id: &str, task: &Task) -> Result<()> {
    let body = Fetch {
        key: "bench".into(),
        format: ResultFormat::Json,
    };
    let text = service.post_text(&format!("/api/v1/jobs/{id}/fetch"), &body, None)?;
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let outputs = value["outputs"].as_array().cloned().unwrap_or_default();
    let values: Vec<&str> = outputs
        .iter()
        .flat_map(|output| output["values"].as_array().into_iter().flatten())
        .filter_map(serde_json::Value::as_str)
        .collect();
    if values == task.right {
        return Ok(());
    }
    Err(fault(
        format!("checking job {id}"),
        "its result differs from plain evaluation",
    ))
}

/// One job from its submission to its result.
pub(super) fn one(member: &Member, service: &Service, task: &Task, patience: Duration) -> Result<Took> {
    let start = Instant::now();
    let job = submit(service, task, &name()?)?;
    if member.heard_end(&job.id, patience).is_none() {
        member.wait_end(service, &job.id, Duration::ZERO)?;
    }
    let done = start.elapsed();
    if let Err(error) = fetch(service, &job.id, task) {
        let (_, job) = member.wait_end(service, &job.id, Duration::ZERO)?;
        return Err(match job.state.as_str() {
            "done" => error,
            state => fault(
                format!("job {}", job.id),
                format!("it is {state}: {}", job.reason.unwrap_or_default()),
            ),
        });
    }
    Ok(Took {
        done,
        result: start.elapsed(),
    })
}

/// Jobs side by side.
pub(super) struct Rate {
    /// Seconds that all took together.
    pub(super) seconds: f64,
    /// How long each took.
    pub(super) took: Vec<Took>,
}

/// `count` jobs, `in_flight` of them at any time, submitted at the parties in turn. `told` hears of each that is done.
///
/// # Errors
/// The first failure, after which nothing more is submitted.
pub(super) fn many(
    fleet: &Fleet,
    task: &Task,
    count: u64,
    in_flight: u64,
    patience: Duration,
    told: &(dyn Fn(u64) + Sync),
) -> Result<Rate> {
    let (next, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let took = Mutex::new(Vec::new());
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let start = Instant::now();
    let work = |worker: u64| -> Result<()> {
        let member = fleet.member(worker as usize);
        let service = member.service()?;
        while next.fetch_add(1, Ordering::Relaxed) < count {
            let one = one(member, &service, task, patience)?;
            took.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(one);
            told(ended.fetch_add(1, Ordering::Relaxed) + 1);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for worker in 0..in_flight {
            let (work, next, failed) = (&work, &next, &failed);
            scope.spawn(move || {
                if let Err(error) = work(worker) {
                    next.store(count, Ordering::Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    failed.get_or_insert(error);
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    match failed
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
    {
        Some(error) => Err(error),
        None => Ok(Rate {
            seconds,
            took: took
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        }),
    }
}

//! What a party has of a job that is done, and how it is recorded.

use std::sync::Arc;
use std::time::Duration;

use cenote::Output;
use cenote::keeping::Share;
use cenote::query::Answered;
use cenote_service::job::{FailKind, Gains, Job, JobId};
use cenote_service::{Error, Jobs, ResultKey, Timestamp};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::base::Base;
use crate::compiled::Compiled;
use crate::failure::Fault;
use crate::kept::KeptValues;
use crate::monitor::Monitor;
use crate::running_job::RunningJob;
use crate::transitions::Transitions;

/// How often a result is recorded again that could not be, and how long after.
const FINISHES: usize = 60;
const PAUSE: Duration = Duration::from_secs(2);

/// What a party learns of a job.
#[derive(Serialize)]
struct Learnt<T> {
    job: JobId,
    #[serde(flatten)]
    what: T,
}

#[derive(Serialize)]
pub(crate) struct Outputs<'a> {
    pub(crate) outputs: Vec<&'a Output>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) answer: Answered,
}

/// What a party has of a job that is done.
#[derive(Default)]
pub(crate) struct JobResult {
    /// What it learns, as it will be sealed; nothing if it learns nothing.
    pub(crate) text: Option<Zeroizing<Vec<u8>>>,
    /// Its shares of what is kept.
    pub(crate) shares: Vec<Share>,
}

#[cfg(test)]
impl JobResult {
    pub(crate) fn learnt(text: &[u8]) -> Self {
        JobResult {
            text: Some(Zeroizing::new(text.to_vec())),
            ..JobResult::default()
        }
    }
}

/// What a party learns of a job, in the form in which it is fetched.
pub(crate) fn learnt<T: Serialize>(job: &Job, what: T) -> Result<Zeroizing<Vec<u8>>, Fault> {
    let what = Learnt {
        job: job.proposal.id,
        what,
    };
    serde_json::to_vec(&what)
        .map(Zeroizing::new)
        .map_err(|error| Fault::new(FailKind::Internal, error.to_string()))
}

/// The answer in what was learnt, as a Parquet file.
pub(crate) fn parquet(learnt: &[u8]) -> cenote_service::Result<Zeroizing<Vec<u8>>> {
    let wrong = |error: String| Error::Corrupt(format!("a result that is no answer: {error}"));
    let answer: Answer =
        serde_json::from_slice(learnt).map_err(|error| wrong(format!("{:?}", error.classify())))?;
    let bytes = answer.answer.parquet();
    bytes
        .map(Zeroizing::new)
        .map_err(|error| wrong(error.to_string()))
}

/// What records the outcomes of jobs. It has no lock of its own.
pub(crate) struct Results {
    jobs: Jobs,
    key: Arc<ResultKey>,
    kept: Arc<KeptValues>,
    monitor: Arc<Monitor>,
    transitions: Arc<Transitions>,
}

impl Results {
    pub(crate) fn new(base: &Base, transitions: &Arc<Transitions>) -> Self {
        Results {
            jobs: base.jobs.clone(),
            key: Arc::clone(&base.key),
            kept: Arc::clone(&base.kept),
            monitor: Arc::clone(&base.monitor),
            transitions: Arc::clone(transitions),
        }
    }

    /// Records what a run gave.
    pub(crate) fn record(
        &self,
        job: &Job,
        compiled: &Compiled,
        result: JobResult,
        running: &RunningJob,
    ) -> Result<(), Fault> {
        let id = job.proposal.id;
        let internal = |error: String| Fault::new(FailKind::Internal, error);
        let sealed = result.text.map(|text| self.key.seal(id, &text)).transpose();
        let sealed = sealed.map_err(|error| internal(error.to_string()))?;
        let shares = self.kept.sealed_shares(job, &result.shares);
        let shares = shares.map_err(|error| internal(error.to_string()))?;
        let gains = Gains {
            outputs: sealed,
            kept: shares,
            broken_off: running.is_open(),
        };
        let finish = || self.jobs.finish(id, gains.clone(), Timestamp::now());
        let mut finished = finish();
        for _ in 0..FINISHES {
            match &finished {
                Ok(_) | Err(Error::NoTransition { .. } | Error::NoJob(_)) => break,
                Err(error) => {
                    tracing::error!(job = %id, %error, "a result cannot be recorded; it is tried again")
                }
            }
            std::thread::sleep(PAUSE);
            finished = finish();
        }
        match finished {
            Ok(done) => {
                let after = done.changed_at.millis().saturating_sub(done.created_at.millis());
                self.monitor
                    .done(compiled.size.ands, Duration::from_millis(after));
                let ran = Timestamp::now().millis().saturating_sub(running.since().millis());
                let (protocol, bytes) = (compiled.protocol().name(), compiled.size.bytes);
                self.monitor.ran(protocol, bytes, ran as f64 / 1000.0);
                self.transitions.changed(&done);
                Ok(())
            }
            // It was taken back here at the very end.
            Err(Error::NoTransition { .. }) => Ok(()),
            Err(error) => Err(internal(error.to_string())),
        }
    }
}

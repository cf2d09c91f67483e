//! How calls ended, on the way to the disk and to whoever waits for them.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use cenote::query;
use cenote::standing::outputs_of;
use cenote::{BitMatrix, Output, keeping};
use cenote_service::job::{Answered, CallId, Ended, JobId};
use cenote_service::{Error, Result, Timestamp};
use serde::Serialize;
use zeroize::Zeroizing;

use super::desk::Desk;
use super::queries::Answer;
use super::session::Serving;
use super::words::digest;
use crate::compiled::{Compiled, Work};

/// How often outcomes are recorded again that could not be, and how long after.
const TRIES: usize = 60;
const PAUSE: Duration = Duration::from_secs(2);
/// How often the audit log is told of calls that were answered.
const TOLD: Duration = Duration::from_secs(1);

/// What a party is told of a call.
#[derive(Serialize)]
struct Told {
    job: JobId,
    call: String,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Outputs(Vec<Output>),
    Answer(query::Answered),
}

impl What {
    fn is_nothing(&self) -> bool {
        matches!(self, What::Outputs(outputs) if outputs.is_empty())
    }
}

/// What a party is told of a call of which it learns nothing.
pub(super) fn nothing(job: JobId, call: CallId) -> Result<Zeroizing<Vec<u8>>> {
    text(job, call, What::Outputs(Vec::new()))
}

fn text(job: JobId, call: CallId, what: What) -> Result<Zeroizing<Vec<u8>>> {
    let told = Told {
        job,
        call: call.to_string(),
        what,
    };
    let text = serde_json::to_vec(&told).map_err(|error| Error::Database(error.to_string()))?;
    Ok(Zeroizing::new(text))
}

/// A batch of which it is known what came of it.
pub(super) struct Outcome {
    pub(super) calls: Vec<CallId>,
    pub(super) learnt: Learnt,
}

/// What came of a batch.
pub(super) enum Learnt {
    /// The outputs of a circuit.
    Outputs(Vec<Option<BitMatrix>>),
    /// What came of the one call of a query.
    Answer(Answer),
}

impl Outcome {
    /// What this party is told of the call in this place; why there is no answer, if there is none.
    fn told(&self, compiled: &Compiled, place: usize) -> std::result::Result<What, String> {
        match (&self.learnt, &compiled.work) {
            (Learnt::Outputs(outputs), Work::Circuit { program, .. }) => {
                let outputs = outputs_of(program, outputs, place).into_iter();
                let learnt = outputs.filter(|output| output.values.is_some());
                Ok(What::Outputs(learnt.collect()))
            }
            (Learnt::Answer(Ok(Some(answer))), _) => Ok(What::Answer(answer.clone())),
            (Learnt::Answer(Err(reason)), _) => Err(reason.clone()),
            _ => Ok(What::Outputs(Vec::new())),
        }
    }

    /// Whether its calls were answered.
    fn is_answered(&self) -> bool {
        !matches!(self.learnt, Learnt::Answer(Err(_)))
    }

    fn wipe(&mut self) {
        if let Learnt::Outputs(outputs) = &mut self.learnt {
            outputs.iter_mut().for_each(keeping::wipe);
        }
    }
}

impl Serving<'_> {
    /// Records outcomes as they come, and tells whoever waits for them. Where that is not possible, the session ends.
    pub(super) fn record(&self, desk: &Desk, outcomes: &Receiver<Outcome>) {
        let mut answered = Vec::new();
        let mut told = Instant::now();
        let mut tell = |answered: &mut Vec<CallId>, is_due: bool| {
            let is_due = (is_due || told.elapsed() >= TOLD) && !answered.is_empty();
            is_due.then(|| {
                told = Instant::now();
                summary(&std::mem::take(answered))
            })
        };
        loop {
            match outcomes.recv_timeout(TOLD) {
                Ok(mut outcome) => {
                    if outcome.is_answered() {
                        answered.extend(&outcome.calls);
                    }
                    let due = tell(&mut answered, false);
                    let recorded = self.record_batch(desk, &outcome, due);
                    outcome.wipe();
                    if let Err(error) = recorded {
                        let error = std::io::Error::other(error.to_string());
                        desk.break_session(cenote::Error::local("recording how calls ended", error));
                        return self.running.close();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(due) = tell(&mut answered, true) {
                        let _ = self.end(desk, &[], Some(due));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(due) = tell(&mut answered, true) {
            let _ = self.end(desk, &[], Some(due));
        }
    }

    /// Records how calls ended. What cannot be recorded is tried again for a while, as long as the job runs.
    fn end(&self, desk: &Desk, ended: &[(CallId, Ended)], due: Option<Answered>) -> Result<()> {
        let end = || {
            self.jobs
                .end_calls(desk.job, ended.to_vec(), due, Timestamp::now())
        };
        let mut recorded = end();
        for _ in 0..TRIES {
            let Err(error) = &recorded else { break };
            tracing::error!(job = %desk.job, %error, "how calls ended cannot be recorded; it is tried again");
            if self.running.stopped().is_some() {
                break;
            }
            std::thread::sleep(PAUSE);
            recorded = end();
        }
        recorded
    }

    fn record_batch(&self, desk: &Desk, outcome: &Outcome, due: Option<Answered>) -> Result<()> {
        let id = desk.job;
        let is_receiver = self.job.proposal.receivers.contains(&self.me);
        let mut texts = Vec::new();
        let mut ended = Vec::new();
        if is_receiver || desk.is_caller() {
            for (place, call) in outcome.calls.iter().enumerate() {
                let what = match outcome.told(&desk.compiled, place) {
                    Ok(what) => what,
                    Err(reason) => {
                        ended.push((*call, Ended::Failed(reason.clone())));
                        texts.push((*call, Err(Error::CallFailed(reason))));
                        continue;
                    }
                };
                let learns = !what.is_nothing();
                let text = text(id, *call, what);
                let sealed = text
                    .as_ref()
                    .map_err(Error::clone)
                    .and_then(|text| learns.then(|| self.key.seal_call(id, *call, text)).transpose());
                match sealed {
                    Ok(sealed) => ended.push((*call, Ended::Done(sealed))),
                    Err(error) => tracing::error!(job = %id, %error, "a call's outputs cannot be sealed"),
                }
                texts.push((*call, text));
            }
        }
        let recorded = match ended.is_empty() && due.is_none() {
            true => Ok(()),
            false => self.end(desk, &ended, due),
        };
        for (call, text) in texts {
            desk.end(call, || recorded.clone().and_then(|()| text.clone()));
        }
        recorded
    }

    /// Calls that had begun fail with the session.
    pub(super) fn fail_begun(&self, desk: &Desk, begun: Vec<CallId>, reason: &str) {
        if begun.is_empty() {
            return;
        }
        let reason =
            format!("its session was cut off: {reason}; whether others have learnt its outputs is not known");
        let ended = begun.iter().map(|call| (*call, Ended::Failed(reason.clone())));
        // Where that is not possible, they have failed once the service comes up again.
        let _ = self.end(desk, &ended.collect::<Vec<_>>(), None);
        for call in begun {
            desk.end(call, || Err(Error::CallFailed(reason.clone())));
        }
    }
}

/// What the audit log is told of calls that were answered.
fn summary(calls: &[CallId]) -> Answered {
    Answered {
        calls: calls.len() as u64,
        digest: digest(calls),
    }
}

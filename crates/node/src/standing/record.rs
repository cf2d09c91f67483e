//! How calls ended, on the way to the disk and to whoever waits for them.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use cenote::standing::outputs_of;
use cenote::{BitMatrix, Output, Program, keeping};
use cenote_service::job::{Answered, CallId, Digest, Ended, JobId};
use cenote_service::{Error, Result, Timestamp};
use serde::Serialize;
use zeroize::Zeroizing;

use super::desk::Desk;
use super::session::Serving;

/// How often outcomes are recorded again that could not be, and how long after.
const TRIES: usize = 60;
const PAUSE: Duration = Duration::from_secs(2);
/// How often the audit log is told of calls that were answered.
const TOLD: Duration = Duration::from_secs(1);

/// What a party learns of a call.
#[derive(Serialize)]
struct Learnt {
    job: JobId,
    call: String,
    outputs: Vec<Output>,
}

/// What a party is told of a call of which it learns nothing.
pub(super) fn nothing(job: JobId, call: CallId) -> Result<Zeroizing<Vec<u8>>> {
    text(job, call, Vec::new())
}

fn text(job: JobId, call: CallId, outputs: Vec<Output>) -> Result<Zeroizing<Vec<u8>>> {
    let learnt = Learnt {
        job,
        call: call.to_string(),
        outputs,
    };
    let text = serde_json::to_vec(&learnt).map_err(|error| Error::Database(error.to_string()))?;
    Ok(Zeroizing::new(text))
}

/// A batch whose outputs are known.
pub(super) struct Outcome {
    pub(super) calls: Vec<CallId>,
    pub(super) outputs: Vec<Option<BitMatrix>>,
}

impl Serving<'_> {
    /// Records outcomes as they come, and tells whoever waits for them. Where that is not possible, the session ends.
    pub(super) fn record(&self, desk: &Desk, program: &Program, outcomes: &Receiver<Outcome>) {
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
                    answered.extend(&outcome.calls);
                    let due = tell(&mut answered, false);
                    let recorded = self.record_batch(desk, program, &outcome, due);
                    outcome.outputs.iter_mut().for_each(keeping::wipe);
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

    fn record_batch(
        &self,
        desk: &Desk,
        program: &Program,
        outcome: &Outcome,
        due: Option<Answered>,
    ) -> Result<()> {
        let id = desk.job;
        let is_receiver = self.job.proposal.receivers.contains(&self.me);
        let mut texts = Vec::new();
        let mut ended = Vec::new();
        if is_receiver || desk.is_caller() {
            for (place, call) in outcome.calls.iter().enumerate() {
                let learnt = outputs_of(program, &outcome.outputs, place).into_iter();
                let learnt: Vec<Output> = learnt.filter(|output| output.values.is_some()).collect();
                let learns = !learnt.is_empty();
                let text = text(id, *call, learnt);
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

/// The digest of the names of calls that were answered.
fn summary(calls: &[CallId]) -> Answered {
    let names: Vec<u8> = calls.iter().flat_map(|call| call.0).collect();
    Answered {
        calls: calls.len() as u64,
        digest: Digest::of(&names),
    }
}

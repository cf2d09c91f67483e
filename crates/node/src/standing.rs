//! Jobs that stand: approved once, and then computed at each call, in a session that stays open.
//!
//! A party's application makes a call here; its inputs wait at its [`Desk`]. Party 0 leads: the others [offer](words) it the calls that they make, and it says
//! which calls are computed next, side by side. The session ends when the calls are used up or the job's time is over, and breaks off when a party is lost; then
//! the job waits and goes on in a new session, and what had not begun is computed there. A call that had begun fails: it is never begun again.

pub(crate) mod checks;
mod computing;
mod desk;
mod queries;
mod record;
mod session;
mod words;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::{Arc, Mutex};

use cenote::BitMatrix;
use cenote_service::audit::Actor;
use cenote_service::job::{CallId, Digest, Ended, Job, JobId, KnownCall, StateName};
use cenote_service::live::{Call, Reply};
use cenote_service::{Error, Jobs, Result, ResultKey};
use zeroize::Zeroizing;

use crate::compiled::{Compiled, Work, in_words};
use crate::locks::lock;
use crate::programs::Programs;
pub(crate) use computing::Serves;
use desk::{Desk, Given};
pub(crate) use queries::Queries;
pub(crate) use session::Serving;
pub(crate) use words::Words;

/// Bytes of a call's name, at most.
const NAME: usize = 128;

/// The jobs that stand here and have been called.
pub(crate) struct StandingJobs {
    me: u8,
    jobs: Jobs,
    key: Arc<ResultKey>,
    programs: Arc<Programs>,
    desks: Mutex<BTreeMap<JobId, Arc<Desk>>>,
}

impl StandingJobs {
    pub(crate) fn new(me: u8, jobs: Jobs, key: &Arc<ResultKey>, programs: &Arc<Programs>) -> Self {
        StandingJobs {
            me,
            jobs,
            key: Arc::clone(key),
            programs: Arc::clone(programs),
            desks: Mutex::default(),
        }
    }

    /// A call is made here: `reply` hears how it ends.
    ///
    /// # Errors
    /// What is wrong with it. Then `reply` hears nothing.
    pub(crate) fn call(&self, id: JobId, call: Call, by: &Actor, reply: Reply) -> Result<()> {
        let Actor::Person(submitter) = by else {
            return Err(Error::Call("calls are made by a token".into()));
        };
        if call.name.is_empty() || call.name.len() > NAME {
            return Err(Error::Call(format!("a call's name has 1 to {NAME} bytes")));
        }
        let desk = self.desk(id)?;
        let name = CallId::of(id, &call.name);
        if !desk.is_caller() {
            return self.look_up(&desk, name, &call, reply);
        }
        let body = self.body(&call);
        let given = given(self.me, &desk.compiled, &call.inputs).map_err(Error::Call)?;
        let made = (body, submitter.clone());
        match desk.enter(name, given, made, reply)? {
            desk::Entered::Known => {}
            desk::Entered::New => match self.jobs.call(id, name) {
                Ok(None) => desk.admit(name),
                Ok(Some(known)) => {
                    let told = self.told(id, name, &known, (body, submitter));
                    desk.end(name, || told.clone());
                }
                Err(error) => desk.end(name, || Err(error.clone())),
            },
        }
        Ok(())
    }

    /// A party that learns outputs and makes no calls asks what it has learnt of one.
    fn look_up(&self, desk: &Desk, name: CallId, call: &Call, reply: Reply) -> Result<()> {
        let id = desk.job;
        if !desk.compiled.receivers.contains(&self.me) || !call.inputs.is_empty() {
            return Err(Error::Call(format!(
                "calls of job {id} are made by {}, not by this party",
                in_words(&desk.standing.callers)
            )));
        }
        let known = self.jobs.call(id, name)?;
        let Some(Ended::Done(Some(sealed))) = known.and_then(|known| known.ended) else {
            return Err(Error::Call(format!(
                "this party has learnt nothing of a call of this name of job {id}, or not yet"
            )));
        };
        reply(self.key.open_call(id, name, &sealed));
        Ok(())
    }

    /// What is on record of a call that is made again.
    fn told(
        &self,
        job: JobId,
        call: CallId,
        known: &KnownCall,
        (body, submitter): (Digest, &String),
    ) -> Result<Zeroizing<Vec<u8>>> {
        if known.body != Some(body) || known.submitter.as_ref() != Some(submitter) {
            return Err(Error::OtherCall { job });
        }
        match &known.ended {
            Some(Ended::Done(Some(sealed))) => self.key.open_call(job, call, sealed),
            Some(Ended::Done(None)) => record::nothing(job, call),
            Some(Ended::Failed(reason)) => Err(Error::CallFailed(reason.clone())),
            None => Err(Error::CallFailed(
                "it has begun, and has not ended yet; ask again".into(),
            )),
        }
    }

    /// By what a repetition of a call is known.
    fn body(&self, call: &Call) -> Digest {
        let inputs: BTreeMap<&String, &String> =
            call.inputs.iter().map(|(name, text)| (name, &**text)).collect();
        let text = Zeroizing::new(serde_json::to_vec(&inputs).unwrap_or_default());
        self.key.digest("call", &text)
    }

    /// The desk of a job that stands and is approved.
    fn desk(&self, id: JobId) -> Result<Arc<Desk>> {
        if let Some(desk) = lock(&self.desks).get(&id) {
            return Ok(Arc::clone(desk));
        }
        let job = self.jobs.get(id)?;
        match job.state.name() {
            StateName::Approved | StateName::Queued | StateName::Running => self.desk_of(&job),
            state => Err(Error::NoTransition {
                job: id,
                state,
                event: "a call".into(),
            }),
        }
    }

    /// The desk of a job that is approved and has not ended.
    pub(crate) fn desk_of(&self, job: &Job) -> Result<Arc<Desk>> {
        let id = job.proposal.id;
        let Some(standing) = &job.proposal.standing else {
            return Err(Error::Call(format!(
                "job {id} is computed once; only a job with a table [standing] is called"
            )));
        };
        let compiled = self.programs.of_job(job)?;
        let new = || Arc::new(Desk::new(self.me, id, standing.clone(), compiled));
        let desk = Arc::clone(lock(&self.desks).entry(id).or_insert_with(new));
        // It may have ended meanwhile.
        match self.jobs.get(id)?.state.name() {
            state if state.is_open() => Ok(desk),
            state => {
                self.ended(id, "the job has ended");
                Err(Error::NoTransition {
                    job: id,
                    state,
                    event: "a call".into(),
                })
            }
        }
    }

    /// A job has ended: whoever waits for a call of it hears why.
    pub(crate) fn ended(&self, job: JobId, why: &str) {
        let desk = lock(&self.desks).remove(&job);
        if let Some(desk) = desk {
            desk.close(why);
        }
    }
}

/// What this party gives to a call.
fn given(
    me: u8,
    compiled: &Compiled,
    given: &BTreeMap<String, Zeroizing<String>>,
) -> std::result::Result<Given, String> {
    match &compiled.work {
        Work::Circuit { .. } => inputs(me, compiled, given).map(Given::Inputs),
        Work::Query(query) => {
            let given = given.iter().map(|(name, text)| (name.as_str(), text.as_str()));
            let values = query.job().values(given).map_err(|error| error.to_string())?;
            // What cannot be asked with these values is refused before others hear of it.
            let called = query.called(&compiled.bundle, &values);
            called.map_err(|error| error.to_string())?;
            Ok(Given::Values(values))
        }
    }
}

/// What this party gives to a call of a circuit.
fn inputs(
    me: u8,
    compiled: &Compiled,
    given: &BTreeMap<String, Zeroizing<String>>,
) -> std::result::Result<Vec<Option<BitMatrix>>, String> {
    let Work::Circuit { job, program, .. } = &compiled.work else {
        return Err("it is no circuit".into());
    };
    let mine = |name: &String| {
        compiled
            .inputs
            .iter()
            .any(|input| input.owner == me && &input.name == name)
    };
    if let Some(name) = given.keys().find(|name| !mine(name)) {
        return Err(format!("this party has no input {name:?}"));
    }
    let read = |(index, input): (usize, &cenote_service::job::Input)| {
        if input.owner != me {
            return Ok(None);
        }
        let text = given
            .get(&input.name)
            .ok_or_else(|| format!("the input {:?} is missing", input.name))?;
        let reader = Box::new(Cursor::new(text.as_bytes()));
        let bits = job.read_input(index, program.lanes(), &input.name, reader);
        bits.map(Some).map_err(|error| error.to_string())
    };
    compiled.inputs.iter().enumerate().map(read).collect()
}

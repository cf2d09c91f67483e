//! The running of jobs: when they begin, each on a thread that it has for itself, and what becomes of their outcomes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote::keeping::{self, Share};
use cenote::query::{self, Answered, Table};
use cenote::runner::{AlsoAgree, Connections, Terms};
use cenote::{Output, Party, PartyId, Transport};
use cenote_net::Threads;
use cenote_service::job::{Binding, FailKind, FileMark, Job, JobId, Source, State};
use cenote_service::live::{AlarmKind, Happened};
use cenote_service::{Error, Pending, Timestamp};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::compiled::{Compiled, Work};
use crate::core::{Core, LEADER, lock};
use crate::data;
use crate::decisions::failed;
use crate::failure::Fault;
use crate::message::Message;
use crate::queue::{Limits, Waiting};
use crate::running_job::RunningJob;
use crate::stock::ShelfGuard;

/// How often a result is recorded again that could not be, and how long after.
const FINISHES: usize = 60;
const PAUSE: Duration = Duration::from_secs(2);

/// How much longer than until its deadline the parties of a job wait for each other, at most.
const LATE: Duration = Duration::from_secs(1);

/// The threads that jobs run on.
static THREADS: Threads = Threads::new("job");

/// What a party learns of a job.
#[derive(Serialize)]
struct Learnt<T> {
    job: JobId,
    #[serde(flatten)]
    what: T,
}

#[derive(Serialize)]
struct Outputs<'a> {
    outputs: Vec<&'a Output>,
}

#[derive(Serialize)]
struct Answer {
    answer: Answered,
}

/// What a party has of a job that is done.
#[derive(Default)]
pub(crate) struct JobResult {
    /// What it learns, as it will be sealed; nothing if it learns nothing.
    text: Option<Zeroizing<Vec<u8>>>,
    /// Its shares of what is kept.
    shares: Vec<Share>,
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

/// What else the parties compare before they compute.
struct Agreed<'a>(&'a Job);

impl AlsoAgree for Agreed<'_> {
    fn terms(&self) -> Terms {
        vec![("proposal".into(), self.0.digest.to_string())]
    }

    fn finer(&self, _: &str) -> Option<Terms> {
        None
    }
}

/// What an input is read from.
enum InputData {
    /// A file of the folder of data.
    File(File),
    /// What was posted with the approval.
    Posted(Zeroizing<String>),
}

impl InputData {
    fn reader(&self) -> Box<dyn BufRead + '_> {
        match self {
            InputData::File(file) => Box::new(BufReader::new(file)),
            InputData::Posted(text) => Box::new(Cursor::new(text.as_bytes())),
        }
    }
}

/// What a party learns of a job, in the form in which it is fetched.
fn learnt<T: Serialize>(job: &Job, what: T) -> Result<Zeroizing<Vec<u8>>, Fault> {
    let what = Learnt {
        job: job.proposal.id,
        what,
    };
    serde_json::to_vec(&what)
        .map(Zeroizing::new)
        .map_err(|error| Fault::new(FailKind::Internal, error.to_string()))
}

/// Sees that a file of data is still the one that this party's approval is of.
fn check_file(name: &str, approved: Option<FileMark>, file: &File) -> Result<(), Fault> {
    let now = data::mark(file);
    match approved {
        Some(approved) if now != Some(approved) => Err(Fault::new(
            FailKind::BadInput,
            format!(
                "the data {name:?} has changed since it was approved: it had {approved}, and has {}; propose the job again",
                now.map_or_else(
                    || "nothing that can be looked at".to_owned(),
                    |now| now.to_string()
                )
            ),
        )),
        _ => Ok(()),
    }
}

impl Core {
    /// A queued job waits for its turn.
    pub(crate) fn enqueue(self: &Arc<Self>, job: &Job) {
        let id = job.proposal.id;
        let compiled = match self.program_of(job) {
            Ok(compiled) => compiled,
            Err(error) => return self.fail(id, FailKind::Internal, error.to_string()),
        };
        if let Err(reason) = self.fits(&compiled) {
            return self.fail(id, FailKind::Refused, reason);
        }
        if let Err(error @ Error::NoKept { .. }) = self.check_still_kept(&job.proposal, &compiled) {
            return self.fail(id, FailKind::Refused, error.to_string());
        }
        let wanted = self.stock.wanted(&compiled);
        let mut memory = compiled.memory.clone();
        if let Some(wanted) = wanted {
            let of_stock = self.stock.memory_of(wanted, &compiled);
            let both = memory.iter_mut().zip(of_stock);
            both.for_each(|(bytes, of_stock)| *bytes = of_stock.max(*bytes));
        }
        self.scheduler.queue().add(Waiting {
            job: id,
            proposer: job.proposal.proposer,
            parties: job.proposal.parties,
            memory,
            wanted,
        });
        // It may have ended meanwhile.
        if !lock(&self.open).contains_key(&id) {
            self.scheduler.queue().remove(id);
        }
        self.scheduler.start_ready();
    }

    /// The leader says that a job begins.
    pub(crate) fn hear_start(self: &Arc<Self>, from: u8, id: JobId, shelf: Option<u8>) {
        match self.jobs.get(id) {
            Ok(job) if job.state.name().is_open() => {
                if !self.scheduler.queue().call(id, shelf) {
                    self.fail(id, FailKind::Refused, "too many jobs begin at once".into());
                }
                // It may have ended meanwhile.
                if !lock(&self.open).contains_key(&id) {
                    self.scheduler.queue().remove(id);
                }
                self.scheduler.start_ready();
            }
            Ok(_) | Err(Error::NoJob(_)) => self.tell_end(from, id),
            Err(error) => tracing::error!(job = %id, %error, "a beginning cannot be looked up"),
        }
    }

    /// Begins what can begin.
    pub(crate) fn start_jobs(self: &Arc<Self>) {
        loop {
            let next = if self.me() == LEADER {
                // Who is lost after this has its jobs stopped: by then the scheduler says which.
                let mut scheduler = self.scheduler.queue();
                let parties = 0..self.settings.names.len() as u8;
                let limits: Vec<Option<Limits>> = parties.map(|party| self.limits_of(party)).collect();
                scheduler.next_led(Instant::now(), &limits)
            } else {
                self.scheduler.queue().next_called()
            };
            let Some((waiting, running)) = next else {
                return;
            };
            self.launch(waiting, &running);
        }
    }

    /// What a party may run, of a peer by its own word; nothing if it is not there.
    fn limits_of(&self, party: u8) -> Option<Limits> {
        let Some(peer) = self.peers.get(party) else {
            return Some(self.settings.limits());
        };
        let known = peer.known();
        let hello = known.hello.as_ref().filter(|_| known.is_with_us());
        hello.map(|hello| hello.limits)
    }

    fn launch(self: &Arc<Self>, waiting: Waiting, running: &Arc<RunningJob>) {
        let guard = self.scheduler.guard_run();
        let (core, running, id) = (Arc::clone(self), Arc::clone(running), waiting.job);
        let body = move || {
            let _guard = guard;
            if catch_unwind(AssertUnwindSafe(|| core.run_job(&waiting, &running))).is_err() {
                core.fail(
                    id,
                    FailKind::Internal,
                    "the service failed; its log says where".into(),
                );
            }
            core.scheduler.finished(id);
            core.look_back(&running);
        };
        if let Err(error) = THREADS.start(body) {
            self.fail(
                id,
                FailKind::Internal,
                format!("there is no thread for it: {error}"),
            );
            self.scheduler.finished(id);
        }
    }

    /// One run of a job, from its beginning to its end.
    fn run_job(self: &Arc<Self>, waiting: &Waiting, running: &RunningJob) {
        let id = waiting.job;
        let mut on_shelf = None;
        if self.me() == LEADER {
            on_shelf = self.choose_shelf(waiting.wanted);
            let shelf = on_shelf.as_ref().map(|on_shelf| on_shelf.shelf);
            running.begins(shelf);
            self.peers
                .tell_all(waiting.parties, &Message::Start { job: id, shelf });
        }
        let found = self.found(id);
        let starting = self.jobs.begin_start(id, found, &self.policy(), Timestamp::now());
        // The parties meet while the disk is written.
        let met = catch_unwind(AssertUnwindSafe(|| self.meet(id, running)));
        running.has_met();
        // From here on the record says that this party's data may have been used.
        let job = match starting.and_then(Pending::wait) {
            Ok(job) => job,
            Err(Error::NoTransition { .. } | Error::NoJob(_)) => return,
            Err(error @ Error::Unsettled(_)) => return self.fail(id, FailKind::Refused, error.to_string()),
            Err(error) => {
                tracing::error!(job = %id, %error, "a beginning cannot be recorded");
                return self.fail(
                    id,
                    FailKind::Internal,
                    "its beginning could not be recorded".into(),
                );
            }
        };
        self.changed(&job);
        let result = met.and_then(|met| {
            catch_unwind(AssertUnwindSafe(|| {
                let met = met?;
                running.still_runs()?;
                if let Some(shelf) = running.shelf {
                    on_shelf = self.take_shelf(shelf);
                }
                running.still_runs()?;
                self.compute(&job, met, running, on_shelf.as_ref())
            }))
        });
        let result = result.unwrap_or_else(|_| {
            Err(Fault::new(
                FailKind::Internal,
                "the program failed; its log says where",
            ))
        });
        let ended = result.and_then(|(compiled, result)| {
            if running.is_open() {
                self.note_broken(id);
            }
            self.record(&job, &compiled, result)
        });
        if let Err(fault) = ended {
            if fault.is_early || !running.is_open() {
                self.clear(id);
            }
            if matches!(fault.kind, FailKind::Peer | FailKind::PeerLost) {
                running.wait_for_word();
            }
            if let Some((from, says)) = running.word().filter(|_| fault.kind != FailKind::Cheating) {
                match self.jobs.hear(id, from, says, Timestamp::now()) {
                    Ok(job) => {
                        // They have lost this party, and may have heard of no other reason.
                        self.peers
                            .tell_all(job.proposal.parties, &failed(id, FailKind::Peer));
                        return self.changed(&job);
                    }
                    Err(Error::NoTransition { .. } | Error::NoJob(_)) => return,
                    // It fails with this party's own reason, then.
                    Err(error) => tracing::error!(job = %id, %error, "a peer's word cannot be recorded"),
                }
            }
            let fault = match running.stopped() {
                Some((kind, reason)) if fault.kind != FailKind::Cheating => Fault::new(kind, reason),
                _ => fault,
            };
            if fault.kind == FailKind::Cheating {
                self.alarm_of_cheating(running, &fault);
            }
            self.fail(id, fault.kind, fault.reason);
        }
    }

    fn alarm_of_cheating(&self, running: &RunningJob, fault: &Fault) {
        let job = running.job;
        self.note_check(job, running.parties, Some(job), fault);
        let who = match fault.cheater {
            Some(party) => format!("party {party} ({})", self.peers.name(party)),
            None => "a party".to_owned(),
        };
        self.monitor.alarm(
            AlarmKind::Cheating,
            &who,
            format!("In job {job} {who} deviated from the protocol: {}.", fault.reason),
            "Nothing more was revealed. Find out with the others what happened before you approve further jobs.",
        );
    }

    /// Joins the others of a job that begins. Nothing of this party's data is touched.
    fn meet(&self, id: JobId, running: &RunningJob) -> Result<(Arc<Compiled>, Connections), Fault> {
        let internal = |error: Error| Fault::new(FailKind::Internal, error.to_string());
        let open = lock(&self.open)
            .get(&id)
            .map(|open| (open.program, open.deadline));
        let (program, deadline) = open.ok_or_else(|| internal(Error::NoJob(id)))?;
        let compiled = self.program(program).map_err(internal)?;
        let wires = self
            .peers
            .wires
            .get()
            .ok_or_else(|| Fault::new(FailKind::Internal, "there are no connections"))?;
        let topology = compiled.protocol().topology();
        let left = deadline.millis().saturating_sub(Timestamp::now().millis());
        let limit = self
            .settings
            .timeout
            .min(Duration::from_millis(left).saturating_add(LATE));
        let connections = wires.connections(&topology, &format!("job {id}"), limit)?;
        Ok((compiled, running.hold(connections)))
    }

    fn compute(
        &self,
        job: &Job,
        (compiled, connections): (Arc<Compiled>, Connections),
        running: &RunningJob,
        on_shelf: Option<&ShelfGuard>,
    ) -> Result<(Arc<Compiled>, JobResult), Fault> {
        let mut progress = |done, total| {
            if running.progress(done, total) {
                self.monitor.tell(&Happened::Progress(running.shown()));
            }
        };
        let result = match &compiled.work {
            Work::Circuit {
                job: circuit,
                program,
                prepared,
            } => {
                let posted = self.posted_for(job)?;
                let mut inputs =
                    self.read_inputs(&job.binding, &compiled, posted, |index, source, name| {
                        Ok(circuit.read_input(index, program.lanes(), name, source.reader())?)
                    })?;
                let (me, kept) = (PartyId(self.me()), circuit.keeping());
                let shares = self.shares_for(job, kept, program.lanes())?;
                let (held, fresh) = kept.inputs(me, program.lanes(), shares)?;
                inputs.extend(held);
                let party = Party {
                    me,
                    protocol: compiled.protocol(),
                    program,
                    inputs: &inputs,
                    also_agree: &Agreed(job),
                    transport: Transport::Tls,
                    phase_timeout: self.settings.phase_timeout,
                };
                let mut connections = connections;
                let stored = match on_shelf.is_some() || running.shelf.is_some() {
                    true => self.agree_on_stock(&mut connections, on_shelf, &compiled)?,
                    false => None,
                };
                let (prepared, store) = match stored {
                    Some((prepared, store)) => (prepared, Some(store)),
                    None => (prepared.clone(), None),
                };
                let connect = || {
                    running.set_open(true);
                    Ok(connections)
                };
                let outcome = party.run_prepared(prepared, store.as_ref(), connect, &mut progress);
                inputs.iter_mut().skip(circuit.given()).for_each(keeping::wipe);
                let outcome = outcome?;
                running.set_open(!outcome.is_agreed);
                self.note_report(job, &outcome.report);
                let shares = kept.finish(me, fresh, outcome.outputs)?;
                let outputs = outcome.report.outputs.iter();
                let outputs: Vec<&Output> = outputs.filter(|output| output.values.is_some()).collect();
                let text = match outputs.is_empty() {
                    true => None,
                    false => Some(learnt(job, Outputs { outputs })?),
                };
                JobResult { text, shares }
            }
            Work::Query(query) => {
                // They may have changed since it was approved.
                self.check_tables(&compiled, &job.binding)
                    .and_then(|()| self.count_answer(job.proposal.id, &compiled))
                    .map_err(|error| Fault::new(FailKind::Refused, error.to_string()))?;
                let posted = self.posted_for(job)?;
                let tables = self.read_tables(&job.binding, &compiled, query, posted)?;
                let run = query::Run {
                    tables: &tables,
                    also_agree: Agreed(job).terms(),
                    transport: Transport::Tls,
                    phase_timeout: self.settings.phase_timeout,
                };
                let connect = || {
                    running.set_open(true);
                    Ok(connections)
                };
                let ended = query.run(run, connect, &mut progress)?;
                running.set_open(!ended.is_agreed);
                self.note_report(job, &ended.report);
                let text = ended
                    .answer?
                    .map(|answer| learnt(job, Answer { answer }))
                    .transpose()?;
                JobResult {
                    text,
                    ..JobResult::default()
                }
            }
        };
        Ok((compiled, result))
    }

    /// The files of data that are there for a job, by the data's name. They are not read.
    fn found(&self, id: JobId) -> BTreeMap<String, FileMark> {
        let binding = self.jobs.get(id).map_or_else(|_| Vec::new(), |job| job.binding);
        let mark = |bound: Binding| match bound.source {
            Source::Data(name) => self.data.mark(&name).ok().map(|mark| (name, mark)),
            Source::Posted => None,
        };
        binding.into_iter().filter_map(mark).collect()
    }

    /// What was posted with this party's approval of a job that has begun, by the input's name, each once.
    fn posted_for(&self, job: &Job) -> Result<impl FnMut(&str) -> Option<Zeroizing<String>> + use<>, Fault> {
        let mut posted = BTreeMap::new();
        let mut bound = job.binding.iter();
        if let Some(bound) = bound.find(|bound| bound.source == Source::Posted) {
            let taken = self.posted.take(&self.key, job.proposal.id, bound.posted);
            posted = taken.map_err(|reason| Fault::new(FailKind::BadInput, reason))?;
        }
        Ok(move |name: &str| posted.remove(name))
    }

    /// This party's tables of a query, as [`Core::read_inputs`] reads inputs.
    pub(crate) fn read_tables(
        &self,
        binding: &[Binding],
        compiled: &Compiled,
        query: &query::Proposed,
        posted: impl FnMut(&str) -> Option<Zeroizing<String>>,
    ) -> Result<Vec<Option<Table>>, Fault> {
        self.read_inputs(binding, compiled, posted, |index, source, name| match source {
            InputData::File(file) => Ok(query.table_in(index, file, name)?),
            InputData::Posted(text) => Ok(query.posted_table(index, text.as_bytes())?),
        })
    }

    /// This party's inputs, from what they are bound to, each as `read` understands it. `posted` gives what was posted for one.
    fn read_inputs<T>(
        &self,
        binding: &[Binding],
        compiled: &Compiled,
        mut posted: impl FnMut(&str) -> Option<Zeroizing<String>>,
        read: impl Fn(usize, InputData, &str) -> Result<T, Fault>,
    ) -> Result<Vec<Option<T>>, Fault> {
        let bad = |reason: String| Fault::new(FailKind::BadInput, reason);
        let mut inputs = Vec::new();
        for (index, input) in compiled.inputs.iter().enumerate() {
            if input.owner != self.me() {
                inputs.push(None);
                continue;
            }
            let bound = binding.iter().find(|bound| bound.input == input.name);
            let read = match bound.map(|bound| &bound.source) {
                Some(Source::Data(name)) => {
                    let file = self.data.file(name).map_err(bad)?;
                    let same = file.try_clone().map_err(|error| bad(error.to_string()))?;
                    let approved = bound.and_then(|bound| bound.file);
                    check_file(name, approved, &same)?;
                    let values = read(index, InputData::File(file), name);
                    check_file(name, approved, &same)?;
                    values
                }
                Some(Source::Posted) => {
                    let values = posted(&input.name)
                        .ok_or_else(|| bad(format!("the values of {:?} were not posted", input.name)))?;
                    read(index, InputData::Posted(values), &input.name)
                }
                None => return Err(bad(format!("the input {:?} is bound to nothing", input.name))),
            };
            inputs.push(Some(read?));
        }
        Ok(inputs)
    }

    /// Records what a run gave.
    pub(crate) fn record(
        self: &Arc<Self>,
        job: &Job,
        compiled: &Compiled,
        result: JobResult,
    ) -> Result<(), Fault> {
        let id = job.proposal.id;
        let internal = |error: String| Fault::new(FailKind::Internal, error);
        let sealed = result.text.map(|text| self.key.seal(id, &text)).transpose();
        let sealed = sealed.map_err(|error| internal(error.to_string()))?;
        let shares = self.sealed_shares(job, &result.shares);
        let shares = shares.map_err(|error| internal(error.to_string()))?;
        let finish = || {
            let (sealed, shares) = (sealed.clone(), shares.clone());
            self.jobs.finish(id, sealed, shares, Timestamp::now())
        };
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
                self.changed(&done);
                Ok(())
            }
            // It was taken back here at the very end.
            Err(Error::NoTransition { .. }) => Ok(()),
            Err(error) => Err(internal(error.to_string())),
        }
    }

    /// A job has ended: what it held here is freed.
    pub(crate) fn ended(self: &Arc<Self>, job: &Job) {
        let id = job.proposal.id;
        let running = {
            let mut scheduler = self.scheduler.queue();
            scheduler.remove(id);
            scheduler.running(id)
        };
        if let Some(running) = running {
            let (kind, reason) = match &job.state {
                State::Failed(failure) => (failure.kind, failure.reason.clone()),
                _ => (FailKind::Peer, "it has ended".into()),
            };
            if job.state != State::Done {
                running.stop(kind, reason);
            }
        }
        self.posted.remove(id);
        // Others may have waited behind it.
        self.scheduler.start_ready();
    }
}

//! How jobs come from one state into the next: in the record first, then the peers are told, then what follows here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_service::audit::Actor;
use cenote_service::job::{FailKind, Job, JobId, State, StateName, Verdict};
use cenote_service::{Error, Jobs, Result, Timestamp};

use crate::base::Base;
use crate::compiled::Compiled;
use crate::failure;
use crate::kept::KeptValues;
use crate::message::{LEADER, Message};
use crate::open_jobs::OpenJobs;
use crate::own_data::OwnData;
use crate::peers::Peers;
use crate::programs::Programs;
use crate::queue::{Call, Waiting};
use crate::scheduler::Scheduler;
use crate::shard_folders::ShardFolders;
use crate::standing::StandingJobs;
use crate::stock::Stock;

/// After so many runs the leader's pause grows no more.
const PAUSES: u64 = 6;

/// What moves jobs on. It has no lock of its own.
pub(crate) struct Transitions {
    me: u8,
    pause: Duration,
    jobs: Jobs,
    programs: Arc<Programs>,
    kept: Arc<KeptValues>,
    data: Arc<OwnData>,
    open: Arc<OpenJobs>,
    peers: Arc<Peers>,
    scheduler: Arc<Scheduler>,
    shards: Arc<ShardFolders>,
    standing: Arc<StandingJobs>,
    stock: Arc<Stock>,
}

impl Transitions {
    pub(crate) fn new(base: &Base) -> Self {
        Transitions {
            me: base.settings.me,
            pause: base.settings.pause,
            jobs: base.jobs.clone(),
            programs: Arc::clone(&base.programs),
            kept: Arc::clone(&base.kept),
            data: Arc::clone(&base.data),
            open: Arc::clone(&base.open),
            peers: Arc::clone(&base.peers),
            scheduler: Arc::clone(&base.scheduler),
            shards: Arc::clone(&base.shards),
            standing: Arc::clone(&base.standing),
            stock: Arc::clone(&base.stock),
        }
    }

    /// A job has changed: what shows it is told, and what it held is freed if it has ended.
    pub(crate) fn changed(&self, job: &Job) {
        self.open.note(job);
        if !job.state.name().is_open() {
            self.ended(job);
        }
    }

    /// A job has ended: what it held here is freed.
    fn ended(&self, job: &Job) {
        let id = job.proposal.id;
        let running = {
            let mut scheduler = self.scheduler.queue();
            scheduler.remove(id);
            scheduler.running(id)
        };
        match running {
            // Its run sees to what it has left.
            Some(running) if job.state != State::Done => {
                let (kind, reason) = match &job.state {
                    State::Failed(failure) => (failure.kind, failure.reason.clone()),
                    _ => (FailKind::Peer, "it has ended".into()),
                };
                running.stop(kind, reason);
            }
            Some(_) => {}
            None => self.shards.remove(id),
        }
        self.data.posted.remove(id);
        if job.proposal.standing.is_some() {
            self.standing.ended(id, &how_ended(job));
        }
        // Others may have waited behind it.
        self.scheduler.start_ready();
    }

    /// A job fails here.
    pub(crate) fn fail(&self, id: JobId, kind: FailKind, reason: String) {
        match self.jobs.fail(id, kind, reason, Timestamp::now()) {
            Ok(job) => {
                self.peers.tell_all(job.proposal.parties, &failed(id, kind));
                self.changed(&job);
            }
            // It has ended in another way meanwhile.
            Err(Error::NoTransition { .. } | Error::NoJob(_)) => {}
            Err(error) => tracing::error!(job = %id, %error, "a failure cannot be recorded"),
        }
    }

    /// A job in shards was cut off here, and waits to go on. Gives it, if it does.
    pub(crate) fn interrupt(&self, id: JobId, reason: String) -> Option<Job> {
        match self.jobs.interrupt(id, reason, Timestamp::now()) {
            Ok(job) => {
                self.changed(&job);
                Some(job)
            }
            // It has ended in another way meanwhile.
            Err(Error::NoTransition { .. } | Error::NoJob(_)) => None,
            Err(error) => {
                tracing::error!(job = %id, %error, "an interruption cannot be recorded");
                None
            }
        }
    }

    /// A job is to end here. One that runs is stopped, and is done all the same if it has its outputs by then.
    pub(crate) fn give_up(&self, id: JobId, kind: FailKind, reason: String) {
        let running = self.scheduler.queue().running(id);
        if !running.is_some_and(|running| running.stop(kind, reason.clone())) {
            self.fail(id, kind, reason);
        }
    }

    /// Takes a job back.
    pub(crate) fn cancel(&self, id: JobId, by: Actor) -> Result<Job> {
        let job = self.jobs.cancel(id, by, Timestamp::now())?;
        self.peers
            .tell_all(job.proposal.parties, &Message::Cancel { job: id });
        self.changed(&job);
        Ok(job)
    }

    /// A job that may have come into a state from which this party moves it on.
    pub(crate) fn queue_approved(&self, job: &Job) {
        if job.state.name() != StateName::Approved {
            return;
        }
        let id = job.proposal.id;
        match self.jobs.queue(id, Timestamp::now()) {
            Ok(job) => {
                self.changed(&job);
                self.enqueue(&job);
            }
            Err(Error::NoTransition { .. }) => {}
            Err(error) => tracing::error!(job = %id, %error, "a job cannot be queued; it is tried again"),
        }
    }

    /// A queued job waits for its turn.
    pub(crate) fn enqueue(&self, job: &Job) {
        self.enqueue_after(job, Duration::ZERO);
    }

    /// The same, and it begins after this pause at the earliest.
    pub(crate) fn enqueue_after(&self, job: &Job, pause: Duration) {
        let id = job.proposal.id;
        let compiled = match self.programs.of_job(job) {
            Ok(compiled) => compiled,
            Err(error) => return self.fail(id, FailKind::Internal, error.to_string()),
        };
        if let Err(reason) = self.fits(&compiled) {
            return self.fail(id, FailKind::Refused, reason);
        }
        if let Err(error @ Error::NoKept { .. }) = self.kept.check_still_kept(&job.proposal, &compiled) {
            return self.fail(id, FailKind::Refused, error.to_string());
        }
        let wanted = self.stock.wanted(&compiled);
        let mut memory = compiled.memory.clone();
        if let Some(wanted) = wanted {
            let of_stock = self.stock.memory_of(wanted, &compiled);
            let both = memory.iter_mut().zip(of_stock);
            both.for_each(|(bytes, of_stock)| *bytes = of_stock.max(*bytes));
        }
        let pause = self.pause_of(job).max(pause);
        self.scheduler.queue().add(Waiting {
            job: id,
            proposer: job.proposal.proposer,
            parties: job.proposal.parties,
            memory,
            wanted,
            in_shards: compiled.is_in_shards(),
            stands: compiled.calls().is_some(),
            runs: job.runs,
            not_before: (!pause.is_zero()).then(|| Instant::now() + pause),
        });
        // It may have ended meanwhile.
        if !self.open.contains(id) {
            self.scheduler.queue().remove(id);
        }
        self.scheduler.start_ready();
    }

    /// How much longer a job that was interrupted pauses here. At the leader it pauses longer each time, so that what cannot go on is not begun too often.
    fn pause_of(&self, job: &Job) -> Duration {
        if !job.is_interrupted() {
            return Duration::ZERO;
        }
        let doublings = match self.me {
            // Each time of one that stands counts against the peers.
            LEADER if job.proposal.standing.is_none() => job.runs.clamp(1, PAUSES) - 1,
            _ => 0,
        };
        let pause = self.pause * (1 << doublings);
        let since = Timestamp::now().millis().saturating_sub(job.changed_at.millis());
        pause.saturating_sub(Duration::from_millis(since))
    }

    /// Sees that a job can ever run here.
    pub(crate) fn fits(&self, compiled: &Compiled) -> std::result::Result<(), String> {
        let memory = compiled.memory_at(self.me);
        self.scheduler.queue().refusal(memory).map_or(Ok(()), Err)
    }

    /// The leader says that a job begins.
    pub(crate) fn hear_start(&self, from: u8, id: JobId, call: Call) {
        match self.jobs.get(id) {
            Ok(job) if job.state.name().is_open() => {
                let running = self.scheduler.queue().running(id);
                if !self.scheduler.queue().call(id, call) {
                    self.fail(id, FailKind::Refused, "too many jobs begin at once".into());
                }
                // It may have ended meanwhile.
                if !self.open.contains(id) {
                    self.scheduler.queue().remove(id);
                }
                if let Some(running) = running.filter(|running| running.is_outdone_by(call)) {
                    running.stop(FailKind::PeerLost, format!("party {from} has begun it again"));
                }
                self.scheduler.start_ready();
            }
            Ok(_) | Err(Error::NoJob(_)) => self.tell_end(from, id),
            Err(error) => tracing::error!(job = %id, %error, "a beginning cannot be looked up"),
        }
    }

    /// What this party says of its decision on a job.
    pub(crate) fn word_on(&self, job: &Job) -> Option<Message> {
        let decision = job.decisions.get(usize::from(self.me))?.as_ref()?;
        let (id, proposal) = (job.proposal.id, job.digest);
        Some(match decision.verdict {
            Verdict::Approve => Message::Approve { job: id, proposal },
            Verdict::Decline => Message::Decline {
                job: id,
                proposal,
                // What its policy says is its own business.
                reason: "it does not take part".into(),
            },
        })
    }

    /// Tells a peer how a job ended that it believes open.
    pub(crate) fn tell_end(&self, to: u8, id: JobId) {
        let message = match self.jobs.get(id) {
            Ok(job) => match &job.state {
                // Whoever still runs it comes to its own end.
                State::Done => return,
                State::Declined { by, .. } if *by == self.me => self.word_on(&job),
                State::Cancelled { by } if *by == self.me => Some(Message::Cancel { job: id }),
                State::Declined { by, .. } => Some(ended(id, format!("party {by} has declined it"))),
                State::Cancelled { by } => Some(ended(id, format!("party {by} has taken it back"))),
                State::Failed(failure) => Some(failed(id, failure.kind)),
                State::Proposed | State::Approved | State::Queued | State::Running => return,
            },
            Err(Error::NoJob(_)) => Some(ended(id, "it is not known there".into())),
            Err(_) => return,
        };
        if let Some(message) = message {
            self.peers.tell(to, &message);
        }
    }
}

/// Why a job that stands takes no more calls.
fn how_ended(job: &Job) -> String {
    let id = job.proposal.id;
    match &job.state {
        State::Done => format!("the calls of job {id} are used up, or its time is over; propose it anew"),
        State::Failed(failure) => format!("job {id} has failed: {}", failure.reason),
        State::Cancelled { by } => format!("party {by} has taken job {id} back"),
        _ => format!("job {id} has ended"),
    }
}

/// Says that a job has failed, and no more of why than peers are told.
pub(crate) fn failed(job: JobId, failure: FailKind) -> Message {
    let reason = failure::words(failure).into();
    Message::Fail { job, failure, reason }
}

fn ended(job: JobId, reason: String) -> Message {
    Message::Fail {
        job,
        failure: FailKind::Peer,
        reason,
    }
}

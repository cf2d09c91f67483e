//! Unfinished jobs, in short: what is asked of them often does not wait for the record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use cenote_service::job::{Digest, Job, JobId, StateName, Verdict};
use cenote_service::live::Happened;
use cenote_service::{Jobs, Timestamp};

use crate::locks::lock;
use crate::message::JobStatus;
use crate::monitor::Monitor;

/// The place of a state in the life of an unfinished job that has begun so often: one that was interrupted waits again after it has run.
fn place(runs: u64, state: StateName) -> (u64, bool, StateName) {
    (runs, state != StateName::Running, state)
}

/// The unfinished jobs. While its lock is held no other is taken.
pub(crate) struct OpenJobs {
    me: u8,
    jobs: Jobs,
    monitor: Arc<Monitor>,
    open: Mutex<BTreeMap<JobId, OpenJob>>,
}

struct OpenJob {
    proposal: Digest,
    program: Digest,
    proposer: u8,
    parties: u8,
    state: StateName,
    runs: u64,
    approved: bool,
    deadline: Timestamp,
    /// Attempts that had been handed out when a run of it was cut off last, if it is in shards.
    handed_out: u32,
    /// Runs that were cut off since then.
    idle: u32,
}

impl OpenJobs {
    pub(crate) fn new(me: u8, jobs: Jobs, monitor: Arc<Monitor>) -> Self {
        OpenJobs {
            me,
            jobs,
            monitor,
            open: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<JobId, OpenJob>> {
        lock(&self.open)
    }

    /// A job is new here, or goes on after a restart.
    pub(crate) fn remember(&self, job: &Job) {
        let open = OpenJob {
            proposal: job.digest,
            program: job.proposal.program.digest,
            proposer: job.proposal.proposer,
            parties: job.proposal.parties,
            state: job.state.name(),
            runs: job.runs,
            approved: self.has_approved(job),
            deadline: job.proposal.deadline,
            handed_out: 0,
            idle: 0,
        };
        let id = job.proposal.id;
        self.open().insert(id, open);
        // It may have ended meanwhile.
        if self.jobs.get(id).is_ok_and(|now| !now.state.name().is_open()) {
            self.open().remove(&id);
            return;
        }
        self.announce(job);
    }

    /// A job has changed, and may have ended.
    pub(crate) fn note(&self, job: &Job) {
        let (id, state) = (job.proposal.id, job.state.name());
        let mut open = self.open();
        let moved = match open.get_mut(&id) {
            Some(known) if state.is_open() => {
                known.approved |= self.has_approved(job);
                let moved = place(job.runs, state) > place(known.runs, known.state);
                if moved {
                    (known.runs, known.state) = (job.runs, state);
                }
                moved
            }
            _ => !state.is_open(),
        };
        if !state.is_open() {
            open.remove(&id);
        }
        drop(open);
        if moved {
            self.announce(job);
        }
    }

    fn announce(&self, job: &Job) {
        let (job, state) = (job.proposal.id, job.state.name());
        self.monitor.came(state);
        tracing::info!(%job, %state, "job");
        self.monitor.tell(&Happened::Job { job, state });
    }

    fn has_approved(&self, job: &Job) -> bool {
        let mine = job.decisions.get(usize::from(self.me)).and_then(Option::as_ref);
        mine.is_some_and(|decision| decision.verdict == Verdict::Approve)
    }

    /// A run of a job in shards was cut off, when so many attempts at its parts had been handed out in all. Gives how many such runs in a row have handed out none.
    pub(crate) fn cut_off(&self, job: JobId, handed_out: u32) -> u32 {
        let mut open = self.open();
        let Some(known) = open.get_mut(&job) else { return 0 };
        let more = handed_out > known.handed_out;
        known.idle = if more { 0 } else { known.idle + 1 };
        known.handed_out = known.handed_out.max(handed_out);
        known.idle
    }

    pub(crate) fn contains(&self, job: JobId) -> bool {
        self.open().contains_key(&job)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open().is_empty()
    }

    pub(crate) fn all(&self) -> Vec<JobId> {
        self.open().keys().copied().collect()
    }

    /// The program and the deadline of a job.
    pub(crate) fn program_and_deadline(&self, job: JobId) -> Option<(Digest, Timestamp)> {
        let open = self.open();
        open.get(&job).map(|open| (open.program, open.deadline))
    }

    /// The programs that are needed.
    pub(crate) fn programs(&self) -> BTreeSet<Digest> {
        self.open().values().map(|open| open.program).collect()
    }

    /// The jobs of a program.
    pub(crate) fn of_program(&self, program: Digest) -> Vec<JobId> {
        let open = self.open();
        let of_program = open.iter().filter(|(_, open)| open.program == program);
        of_program.map(|(id, _)| *id).collect()
    }

    /// Whether a peer takes part in a job of this program.
    pub(crate) fn is_known_to(&self, peer: u8, program: Digest) -> bool {
        let open = self.open();
        open.values()
            .any(|open| peer < open.parties && open.program == program)
    }

    /// Jobs whose time is over, each with its deadline and state.
    pub(crate) fn late(&self, now: Timestamp) -> Vec<(JobId, Timestamp, StateName)> {
        let open = self.open();
        let late = open.iter().filter(|(_, open)| open.deadline <= now);
        late.map(|(id, open)| (*id, open.deadline, open.state)).collect()
    }

    /// Where the jobs stand that a peer takes part in.
    pub(crate) fn statuses_for(&self, peer: u8) -> Vec<JobStatus> {
        let open = self.open();
        let shared = open.iter().filter(|(_, open)| peer < open.parties);
        shared
            .map(|(job, open)| JobStatus {
                job: *job,
                proposal: open.proposal,
                proposer: open.proposer,
                state: open.state,
                approved: open.approved,
                deadline: open.deadline,
            })
            .collect()
    }
}

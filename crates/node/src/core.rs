//! A service: its parts, and its unfinished jobs. In which order its locks are taken says [`crate::locks`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cenote_service::job::{Digest, Job, JobId, StateName, Verdict};
use cenote_service::live::Happened;
use cenote_service::{Database, Jobs, ResultKey, Timestamp};

use crate::locks::lock;
use crate::monitor::Monitor;
use crate::own_data::OwnData;
use crate::peers::Peers;
use crate::policy::PolicyInForce;
use crate::programs::Programs;
use crate::scheduler::Scheduler;
use crate::settings::Settings;
use crate::stock::Stock;
use crate::unsettled::AgainstPeers;

/// A service.
pub(crate) struct Core {
    pub(crate) settings: Settings,
    pub(crate) since: Timestamp,
    pub(crate) database: Database,
    pub(crate) jobs: Jobs,
    pub(crate) key: Arc<ResultKey>,
    pub(crate) programs: Programs,
    pub(crate) data: OwnData,
    pub(crate) policy: Arc<PolicyInForce>,
    pub(crate) against: Arc<AgainstPeers>,
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) stock: Arc<Stock>,
    /// Unfinished jobs.
    pub(crate) open: Mutex<BTreeMap<JobId, OpenJob>>,
    /// One approval at a time: its posted values and its record belong together.
    pub(crate) approving: Mutex<()>,
}

/// An unfinished job, in short.
#[derive(Debug, Clone)]
pub(crate) struct OpenJob {
    pub(crate) proposal: Digest,
    pub(crate) program: Digest,
    pub(crate) proposer: u8,
    pub(crate) parties: u8,
    pub(crate) state: StateName,
    pub(crate) approved: bool,
    pub(crate) deadline: Timestamp,
    pub(crate) changed: Timestamp,
}

impl Core {
    pub(crate) fn me(&self) -> u8 {
        self.settings.me
    }

    /// A job is new here, or goes on after a restart.
    pub(crate) fn remember(&self, job: &Job) {
        let open = OpenJob {
            proposal: job.digest,
            program: job.proposal.program.digest,
            proposer: job.proposal.proposer,
            parties: job.proposal.parties,
            state: job.state.name(),
            approved: self.has_approved(job),
            deadline: job.proposal.deadline,
            changed: job.changed_at,
        };
        let id = job.proposal.id;
        lock(&self.open).insert(id, open);
        // It may have ended meanwhile.
        if self.jobs.get(id).is_ok_and(|now| !now.state.name().is_open()) {
            lock(&self.open).remove(&id);
            return;
        }
        self.announce(job);
    }

    /// A job has changed: what shows it is told, and what it held is freed if it has ended.
    pub(crate) fn changed(self: &Arc<Self>, job: &Job) {
        let (id, state) = (job.proposal.id, job.state.name());
        let mut open = lock(&self.open);
        let moved = match open.get_mut(&id) {
            Some(known) if state.is_open() => {
                known.approved |= self.has_approved(job);
                known.changed = job.changed_at;
                let moved = state > known.state;
                known.state = known.state.max(state);
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
        if !state.is_open() {
            self.ended(job);
        }
    }

    fn announce(&self, job: &Job) {
        let (job, state) = (job.proposal.id, job.state.name());
        self.monitor.came(state);
        tracing::info!(%job, %state, "job");
        self.monitor.tell(&Happened::Job { job, state });
    }

    fn has_approved(&self, job: &Job) -> bool {
        let mine = job.decisions.get(usize::from(self.me())).and_then(Option::as_ref);
        mine.is_some_and(|decision| decision.verdict == Verdict::Approve)
    }
}

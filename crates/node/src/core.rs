//! A service: its parts. In which order their locks are taken says [`crate::locks`].

use std::sync::Arc;

use cenote_service::job::Job;
use cenote_service::{Database, Jobs, ResultKey, Timestamp};

use crate::base::Base;
use crate::clock::Clock;
use crate::decisions::Decisions;
use crate::error::Error;
use crate::monitor::Monitor;
use crate::open_jobs::OpenJobs;
use crate::own_data::OwnData;
use crate::peers::Peers;
use crate::policy::PolicyInForce;
use crate::programs::Programs;
use crate::proposals::Proposals;
use crate::run::Runs;
use crate::scheduler::Scheduler;
use crate::settings::Settings;
use crate::statuses::Statuses;
use crate::stock::Stock;
use crate::transitions::Transitions;
use crate::unsettled::AgainstPeers;

/// A service. It has no lock of its own.
pub(crate) struct Core {
    pub(crate) settings: Arc<Settings>,
    pub(crate) since: Timestamp,
    pub(crate) database: Database,
    pub(crate) jobs: Jobs,
    pub(crate) key: Arc<ResultKey>,
    pub(crate) programs: Arc<Programs>,
    pub(crate) data: Arc<OwnData>,
    pub(crate) policy: Arc<PolicyInForce>,
    pub(crate) open: Arc<OpenJobs>,
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) against: Arc<AgainstPeers>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) stock: Arc<Stock>,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) proposals: Arc<Proposals>,
    pub(crate) statuses: Statuses,
    pub(crate) clock: Clock,
    pub(crate) runs: Arc<Runs>,
}

impl Core {
    /// Puts the parts of a service together.
    pub(crate) fn new(base: Base) -> Self {
        let transitions = Arc::new(Transitions::new(&base));
        let decisions = Arc::new(Decisions::new(&base, &transitions));
        let proposals = Arc::new(Proposals::new(&base, &transitions, &decisions));
        Core {
            statuses: Statuses::new(&base, &transitions, &decisions),
            clock: Clock::new(&base, &transitions, &proposals),
            runs: Arc::new(Runs::new(&base, &transitions)),
            proposals,
            decisions,
            transitions,
            settings: base.settings,
            since: base.since,
            database: base.database,
            jobs: base.jobs,
            key: base.key,
            programs: base.programs,
            data: base.data,
            policy: base.policy,
            open: base.open,
            monitor: base.monitor,
            against: base.against,
            peers: base.peers,
            scheduler: base.scheduler,
            stock: base.stock,
        }
    }

    pub(crate) fn me(&self) -> u8 {
        self.settings.me
    }

    /// What a restart means for the jobs of the record. Gives those that go on.
    pub(crate) fn resume(&self) -> Result<Vec<Job>, Error> {
        let (failed, open) = self.jobs.restart(Timestamp::now())?;
        failed.iter().for_each(|job| self.transitions.changed(job));
        open.iter().for_each(|job| self.open.remember(job));
        let waits = |id| open.iter().any(|job| job.proposal.id == id);
        self.data.posted.keep(waits);
        Ok(open)
    }
}

//! A service: its parts. In which order its locks are taken says [`crate::locks`].

use std::sync::{Arc, Mutex};

use cenote_service::job::Job;
use cenote_service::{Database, Jobs, ResultKey, Timestamp};

use crate::monitor::Monitor;
use crate::open_jobs::OpenJobs;
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
    pub(crate) open: OpenJobs,
    /// One approval at a time: its posted values and its record belong together.
    pub(crate) approving: Mutex<()>,
}

impl Core {
    pub(crate) fn me(&self) -> u8 {
        self.settings.me
    }

    /// A job has changed: what shows it is told, and what it held is freed if it has ended.
    pub(crate) fn changed(self: &Arc<Self>, job: &Job) {
        self.open.note(job);
        if !job.state.name().is_open() {
            self.ended(job);
        }
    }
}

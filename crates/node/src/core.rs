//! A service: its parts. In which order their locks are taken says [`crate::locks`].

use std::sync::Arc;

use cenote_service::Timestamp;
use cenote_service::job::Job;

use crate::base::Base;
use crate::clock::Clock;
use crate::decisions::Decisions;
use crate::error::Error;
use crate::proposals::Proposals;
use crate::run::Runs;
use crate::statuses::Statuses;
use crate::transitions::Transitions;

/// A service. It has no lock of its own.
pub(crate) struct Core {
    pub(crate) base: Base,
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
            base,
        }
    }

    pub(crate) fn me(&self) -> u8 {
        self.base.settings.me
    }

    /// What a restart means for the jobs of the record. Gives those that go on.
    pub(crate) fn resume(&self) -> Result<Vec<Job>, Error> {
        let shards = Arc::clone(&self.base.shards);
        let goes_on = move |job: &Job| job.proposal.standing.is_some() || shards.can_go_on(job.proposal.id);
        let (failed, open) = self.base.jobs.restart(goes_on, Timestamp::now())?;
        let why = "the service was restarted while it was computed; whether others have learnt its outputs is not known";
        self.base.jobs.fail_calls(None, why, Timestamp::now())?;
        failed.iter().for_each(|job| self.transitions.changed(job));
        open.iter().for_each(|job| self.base.open.remember(job));
        let waits = |id| open.iter().any(|job| job.proposal.id == id);
        self.base.data.posted.keep(waits);
        // One that cannot be read may go on once the record is mended.
        self.base.shards.keep(|id| match self.base.jobs.get(id) {
            Ok(job) => job.state.name().is_open(),
            Err(cenote_service::Error::NoJob(_)) => false,
            Err(_) => true,
        });
        Ok(open)
    }
}

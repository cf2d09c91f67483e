//! A service, from its start to its end.

use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cenote::PartyConfig;
use cenote::remote::load_identity;
use cenote_service::job::{FailKind, Job, StateName};
use cenote_service::{Database, Jobs, ResultKey, SealedValues, Timestamp, Tokens};

use crate::base::Base;
use crate::clock;
use crate::core::Core;
use crate::dispatch::{Ears, workers};
use crate::error::Error;
use crate::policy;
use crate::settings::Settings;
use crate::wires::{Hear, Wires, trunks};

/// A service that is up. It ends with [`Node::stop`]; dropped without that, as when its process is killed.
pub struct Node {
    pub(crate) core: Arc<Core>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({})", self.core.me())
    }
}

impl Node {
    /// Opens the record and brings the service up. `join` joins it to its peers, who may be there or not: it is given what hears them.
    ///
    /// # Errors
    /// Where the folder is in use, or the record, the policy or a folder cannot be used; those of `join`.
    pub fn start(
        settings: Settings,
        join: impl FnOnce(Arc<dyn Hear>) -> Result<Arc<dyn Wires>, Error>,
    ) -> Result<Self, Error> {
        let core = Arc::new(Core::new(Base::open(settings)?));
        let open = core.resume()?;
        core.base.against.look_at_unsettled();
        let weak = Arc::downgrade(&core);
        let all = (0..core.base.settings.names.len() as u8).map(|peer| workers(&weak, peer));
        let all = all.collect::<std::io::Result<Vec<_>>>();
        let machine =
            |error: std::io::Error| Error::Machine(format!("there are no threads for peers: {error}"));
        let _ = core.base.peers.workers.set(all.map_err(machine)?);
        let wires = join(Arc::new(Ears(weak)))?;
        let _ = core.base.peers.wires.set(wires);
        clock::start(&core).map_err(machine)?;
        // Reading their programs takes time, which deadlines and other jobs do not wait for.
        let weak = Arc::downgrade(&core);
        std::thread::Builder::new()
            .name("resume".into())
            .spawn(move || resume_jobs(&weak, open))
            .map_err(machine)?;
        Ok(Node { core })
    }

    /// The service of a party file, joined to its peers over the network. Where it listens for them may be held for it.
    ///
    /// # Errors
    /// Those of [`Node::start`]; that the party's key cannot be read, or its address not be listened at.
    pub fn of(config: &PartyConfig, held: Option<TcpListener>) -> Result<Self, Error> {
        let settings = Settings::of(config, load_identity(&config.identity)?)?;
        Self::start(settings, |hear| Ok(trunks::join(config, held, hear)?))
    }

    /// Deletes what is sealed under a key of results that is lost for good, and makes a new one. No service may be up with these settings.
    ///
    /// # Errors
    /// Where the key is there after all; where the folder is in use, or the record cannot be written.
    pub fn give_up_sealed(settings: &Settings) -> Result<SealedValues, Error> {
        let database = Database::open(&settings.folder, &settings.database)?;
        Ok(ResultKey::replace(&database, Timestamp::now())?)
    }

    /// The jobs of its record.
    pub fn jobs(&self) -> &Jobs {
        &self.core.base.jobs
    }

    /// The tokens of its record.
    pub fn tokens(&self) -> Tokens {
        Tokens::new(self.core.base.database.clone())
    }

    /// Its record.
    pub fn database(&self) -> &Database {
        &self.core.base.database
    }

    /// Reads the policy again. Where it is wrong, the one that was read before stays. It decides at once, and where it cannot be recorded then, the one before
    /// decides again; what it has decided meanwhile stands. One call at a time.
    ///
    /// # Errors
    /// What is wrong with it; where it cannot be recorded.
    pub fn reload_policy(&self) -> Result<(), Error> {
        let policy = policy::read(&self.core.base.settings)?;
        let digest = policy.digest();
        let (before, asked) = self.core.base.policy.follow(policy)?;
        if let Err(error) = asked.wait() {
            self.core.base.policy.go_back(before, digest);
            return Err(error.into());
        }
        self.core.base.against.look_at_unsettled();
        tracing::info!(%digest, "the policy was read");
        Ok(())
    }

    /// Reads the catalogue again, and publishes it. Where it is wrong, what was published before stays. One call at a time.
    ///
    /// # Errors
    /// What is wrong with it; where it cannot be recorded.
    pub fn reload_catalogue(&self) -> Result<(), Error> {
        self.core.base.catalogues.reload()
    }

    /// Ends the service: what runs fails at all parties, what waits goes on when it comes up again, and so do jobs in shards whose answer was not opened. Takes at most
    /// `limit`, and a little.
    pub fn stop(&self, limit: Duration) {
        let core = &self.core;
        core.base.scheduler.stop();
        core.base.scheduler.queue().close();
        let (start, all_running) = (Instant::now(), core.base.scheduler.queue().all_running());
        let why = (FailKind::Restarted, "the service was stopped");
        for running in &all_running {
            running.stop(why.0, why.1);
        }
        core.base.stock.stop_making();
        // Those that meet do not see it, and to record their end may take a while.
        for running in all_running.into_iter().filter(|running| !running.goes_on()) {
            if start.elapsed() < limit && running.stopped_before_meeting().is_some() {
                core.transitions.fail(running.job, why.0, why.1.into());
            }
        }
        if !core.base.scheduler.wait_finished(limit) {
            tracing::warn!("jobs are still ending; they have failed when the service comes up again");
        }
        core.base.witness.look();
        if let Some(wires) = core.base.peers.wires.get() {
            wires.stop();
        }
        core.base.against.tell_warnings();
    }
}

/// Moves unfinished jobs on, those first that nobody decides on any more.
fn resume_jobs(core: &Weak<Core>, mut open: Vec<Job>) {
    open.sort_by_key(|job| job.state.name() == StateName::Proposed);
    for job in &open {
        let Some(core) = core.upgrade() else { return };
        if core.base.scheduler.is_stopping() {
            return;
        }
        let moves = || {
            if !core.proposals.awaits_program(job) {
                core.decisions.moves_on(job);
            }
        };
        if catch_unwind(AssertUnwindSafe(moves)).is_err() {
            tracing::error!(job = %job.proposal.id, "a job could not go on after the restart; the log says where");
        }
    }
}

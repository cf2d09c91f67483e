//! Where jobs stand, told again: after a connection has come back, and now and then, so that no word is lost for good.

use std::sync::Arc;

use cenote_service::Jobs;
use cenote_service::job::{Remote, State, StateName};

use crate::base::Base;
use crate::catalogue::Catalogues;
use crate::decisions::Decisions;
use crate::message::{JobStatus, Message, STATUSES, VERSION};
use crate::monitor::Monitor;
use crate::open_jobs::OpenJobs;
use crate::peer::Greeting;
use crate::peers::Peers;
use crate::room::Room;
use crate::scheduler::Scheduler;
use crate::settings::Settings;
use crate::stock::Stock;
use crate::transitions::Transitions;
use crate::witness::Witness;

/// What tells peers where jobs stand, and hears where they do. It has no lock of its own.
pub(crate) struct Statuses {
    settings: Arc<Settings>,
    jobs: Jobs,
    open: Arc<OpenJobs>,
    monitor: Arc<Monitor>,
    peers: Arc<Peers>,
    scheduler: Arc<Scheduler>,
    stock: Arc<Stock>,
    room: Arc<Room>,
    transitions: Arc<Transitions>,
    decisions: Arc<Decisions>,
    witness: Arc<Witness>,
    catalogues: Arc<Catalogues>,
}

impl Statuses {
    pub(crate) fn new(base: &Base, transitions: &Arc<Transitions>, decisions: &Arc<Decisions>) -> Self {
        Statuses {
            settings: Arc::clone(&base.settings),
            jobs: base.jobs.clone(),
            open: Arc::clone(&base.open),
            monitor: Arc::clone(&base.monitor),
            peers: Arc::clone(&base.peers),
            scheduler: Arc::clone(&base.scheduler),
            stock: Arc::clone(&base.stock),
            room: Arc::clone(&base.room),
            transitions: Arc::clone(transitions),
            decisions: Arc::clone(decisions),
            witness: Arc::clone(&base.witness),
            catalogues: Arc::clone(&base.catalogues),
        }
    }

    /// The first words over a connection.
    pub(crate) fn greet(&self, peer: u8) {
        let Some(known) = self.peers.get(peer) else { return };
        // Before it is told: a connection that is new by then is greeted again.
        known.known().greeting = Greeting::UnderWay;
        let hello = Message::Hello {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").into(),
            jobs: self.settings.jobs,
            per_proposer: self.settings.jobs_per_proposer,
            memory: self.settings.memory,
            names: self.settings.names.clone(),
        };
        let is_told = self.peers.is_told(peer, &hello) && self.witness.greet(peer);
        {
            let mut known = known.known();
            known.greeting = match (known.greeting, is_told) {
                (Greeting::UnderWay, true) => Greeting::Done,
                _ => Greeting::Due,
            };
        }
        self.witness.look_at(peer);
    }

    /// Tells a peer whether anything can be recorded here, what stock is here, where all unfinished jobs stand that it takes part in, and which begin.
    pub(crate) fn tell_statuses(&self, peer: u8) {
        self.room.tell(peer);
        self.stock.tell_levels(peer);
        self.catalogues.offer(peer);
        for jobs in self.open.statuses_for(peer).chunks(STATUSES) {
            self.peers.tell(peer, &Message::Statuses { jobs: jobs.to_vec() });
        }
        let all_running = self.scheduler.queue().all_running();
        for running in all_running.iter().filter(|running| peer < running.parties) {
            if let Some(shelf) = running.beginning() {
                let (job, again) = (running.job, running.again);
                self.peers.tell(peer, &Message::Start { job, shelf, again });
            }
        }
    }

    /// A peer says where a job stands there.
    pub(crate) fn hear_status(&self, from: u8, status: &JobStatus) {
        let id = status.job;
        let known = match self.jobs.get(id) {
            Ok(job) => job,
            Err(cenote_service::Error::NoJob(_)) => {
                if status.proposer == from {
                    self.peers.tell(from, &Message::Ask { job: id });
                } else if status.proposer == self.settings.me {
                    self.transitions.tell_end(from, id);
                }
                return;
            }
            Err(_) => return,
        };
        if known.digest != status.proposal || from >= known.proposal.parties {
            self.monitor.refused(from);
            return;
        }
        if !known.state.name().is_open() {
            return self.transitions.tell_end(from, id);
        }
        if status.approved && known.state.name() == StateName::Proposed {
            let proposal = status.proposal;
            self.decisions.hear(from, id, Remote::Approve { proposal });
        }
    }

    /// A peer asks to be asked.
    pub(crate) fn hear_ask(&self, from: u8, id: cenote_service::job::JobId) {
        match self.jobs.get(id) {
            Ok(job) if job.proposal.proposer != self.settings.me || from >= job.proposal.parties => {}
            Ok(job) if matches!(job.state, State::Proposed) => {
                let proposal = Box::new(job.proposal.clone());
                self.peers.tell(from, &Message::Propose { proposal });
                if let Some(word) = self.transitions.word_on(&job) {
                    self.peers.tell(from, &word);
                }
            }
            // It had approved it, and has lost its record of that.
            Ok(job) if job.state.name().is_open() => {
                let reason = format!("party {from} does not know it any more");
                self.transitions
                    .give_up(id, cenote_service::job::FailKind::Peer, reason);
            }
            Ok(_) | Err(_) => self.transitions.tell_end(from, id),
        }
    }
}

//! What all parts of a service share.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use cenote_service::job::{Digest, Job, JobId, StateName, Verdict};
use cenote_service::live::{AlarmKind, Announcer, Happened};
use cenote_service::{Database, Jobs, Policy, ResultKey, Timestamp};

use crate::counts::{Alarms, Tally};
use crate::data::{Folder, Posted};
use crate::dispatch::Task;
use crate::message::Message;
use crate::peer::Peer;
use crate::programs::Programs;
use crate::scheduler::Scheduler;
use crate::settings::Settings;
use crate::stock::Shelves;
use crate::wires::Wires;

/// The party that says when a job begins: the lowest-numbered one, which is in all of them.
pub(crate) const LEADER: u8 = 0;

/// A service.
pub(crate) struct Core {
    pub(crate) settings: Settings,
    pub(crate) since: Timestamp,
    pub(crate) database: Database,
    pub(crate) jobs: Jobs,
    pub(crate) key: ResultKey,
    pub(crate) programs: Programs,
    pub(crate) data: Folder,
    pub(crate) posted: Posted,
    pub(crate) policy: RwLock<Policy>,
    pub(crate) announcer: Announcer,
    pub(crate) tally: Mutex<Tally>,
    pub(crate) alarms: Mutex<Alarms>,
    pub(crate) scheduler: Mutex<Scheduler>,
    pub(crate) stock: Shelves,
    /// Unfinished jobs.
    pub(crate) open: Mutex<BTreeMap<JobId, OpenJob>>,
    /// By party; that of this party stays as it is.
    pub(crate) peers: Vec<Peer>,
    /// The threads that do what peers ask, by party.
    pub(crate) workers: OnceLock<Vec<Vec<SyncSender<Task>>>>,
    pub(crate) wires: OnceLock<Arc<dyn Wires>>,
    pub(crate) stopping: AtomicBool,
    /// Runs that have not ended.
    pub(crate) running: RunCount,
    /// Whether something may begin.
    pub(crate) starts: Starts,
    /// One approval at a time: its posted values and its record belong together.
    pub(crate) approving: Mutex<()>,
    /// The tables of one approval at a time are tried: that takes memory.
    pub(crate) trying: Mutex<()>,
}

/// Whether something may begin, and who waits for that.
#[derive(Default)]
pub(crate) struct Starts {
    pub(crate) wanted: Mutex<bool>,
    pub(crate) wake: std::sync::Condvar,
}

/// How many threads run jobs or make stock, so that the end of all can be awaited.
#[derive(Default)]
pub(crate) struct RunCount {
    pub(crate) count: Mutex<usize>,
    pub(crate) ended: std::sync::Condvar,
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(crate) fn me(&self) -> u8 {
        self.settings.me
    }

    /// The name of a party, for people.
    pub(crate) fn name(&self, party: u8) -> &str {
        self.settings
            .names
            .get(usize::from(party))
            .map_or("a stranger", String::as_str)
    }

    pub(crate) fn peer(&self, party: u8) -> Option<&Peer> {
        self.peers.get(usize::from(party)).filter(|_| party != self.me())
    }

    /// Whether a line may be written on what a peer has done wrong: if so, how many were left out before.
    pub(crate) fn line_on(&self, party: u8) -> Option<u64> {
        self.peer(party)?.known().line(Instant::now())
    }

    /// The policy, which no other follows while this is held: what it is to decide is asked for meanwhile, and waited for afterwards.
    pub(crate) fn policy(&self) -> RwLockReadGuard<'_, Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells one peer, as far as it is there.
    pub(crate) fn tell(&self, to: u8, message: &Message) {
        let _ = self.is_told(to, message);
    }

    /// Tells one peer. Gives whether the message is on its way.
    pub(crate) fn is_told(&self, to: u8, message: &Message) -> bool {
        // Links can be up before this service has got what it tells with.
        let told = self
            .wires
            .get()
            .is_some_and(|wires| wires.tell(to, message.to_bytes()).is_ok());
        if !told {
            // It hears of it when the link is back, or at the next round of statuses.
            tracing::debug!(to, job = ?message.job(), "a message was lost");
            if let Some(peer) = self.peer(to) {
                peer.known().behind = true;
            }
        }
        told
    }

    /// Tells all others that take part.
    pub(crate) fn tell_all(&self, parties: u8, message: &Message) {
        (0..parties)
            .filter(|party| *party != self.me())
            .for_each(|party| self.tell(party, message));
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
        lock(&self.tally).came(state);
        tracing::info!(%job, %state, "job");
        self.announcer.tell(&Happened::Job { job, state });
    }

    fn has_approved(&self, job: &Job) -> bool {
        let mine = job.decisions.get(usize::from(self.me())).and_then(Option::as_ref);
        mine.is_some_and(|decision| decision.verdict == Verdict::Approve)
    }

    /// Raises an alarm.
    pub(crate) fn alarm(&self, kind: AlarmKind, what: &str, text: String, advice: &str) {
        let is_new = lock(&self.alarms).raise(kind, what, text.clone(), advice);
        // Every one of these is an event of its own.
        if is_new || kind == AlarmKind::Cheating {
            tracing::warn!(?kind, "{text}");
            self.announcer.tell(&Happened::Alarm);
        }
    }

    /// Ends an alarm, if there is one.
    pub(crate) fn end_alarm(&self, kind: AlarmKind, what: &str) {
        if lock(&self.alarms).end(kind, what) {
            self.announcer.tell(&Happened::Alarm);
        }
    }
}

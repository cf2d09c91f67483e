//! What happens by the clock: deadlines, results that expire, alarms, and statuses told again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use cenote_service::job::{self, FailKind, Job, JobId, PageRequest, StateName};
use cenote_service::live::AlarmKind;
use cenote_service::{Jobs, Timestamp};

use crate::base::Base;
use crate::catalogue::Catalogues;
use crate::core::Core;
use crate::failure;
use crate::message::Message;
use crate::monitor::Monitor;
use crate::open_jobs::OpenJobs;
use crate::peer::{Greeting, Peer};
use crate::peers::{Peers, Task};
use crate::proposals::Proposals;
use crate::room::Room;
use crate::scheduler::Scheduler;
use crate::settings::Settings;
use crate::stock::{self, Stock};
use crate::transitions::Transitions;
use crate::unsettled::AgainstPeers;
use crate::witness::Witness;

/// How often it is looked at deadlines.
const TICK: Duration = Duration::from_millis(250);
/// How often statuses are told again while jobs are open.
const AGAIN: Duration = Duration::from_secs(20);
/// How often what is old is deleted.
const SWEEP: Duration = Duration::from_secs(60);
/// How long a peer may be away without an alarm.
const AWAY: Duration = Duration::from_secs(60);
/// How long the outcome of a call is kept.
const CALLS: Duration = Duration::from_secs(3600);
/// Outcomes of calls that are kept, of all jobs.
const MOST_CALLS: u64 = 1_000_000;
/// How long a job that stands may go on after its deadline, for its leader's clock.
const CLOCKS: Duration = Duration::from_secs(60);
/// How far clocks may differ without an alarm, in milliseconds.
const CLOCK: f64 = 30_000.0;

/// Starts the thread.
pub(crate) fn start(core: &Arc<Core>) -> std::io::Result<()> {
    let keeper = Arc::downgrade(&core.base.stock);
    let core = Arc::downgrade(core);
    let starter = core.clone();
    std::thread::Builder::new()
        .name("starter".into())
        .spawn(move || begin(&starter))?;
    std::thread::Builder::new()
        .name("stock".into())
        .spawn(move || stock::keep(&keeper))?;
    let room = core.clone();
    std::thread::Builder::new()
        .name("room".into())
        .spawn(move || tick(&room, |core| core.base.room.look()))?;
    let record = core.clone();
    let (mut again, mut sweep) = (Instant::now(), Instant::now());
    std::thread::Builder::new()
        .name("record".into())
        .spawn(move || tick(&record, |core| core.clock.look_again(&mut again, &mut sweep)))?;
    std::thread::Builder::new()
        .name("clock".into())
        .spawn(move || tick(&core, |core| core.clock.look()))
        .map(drop)
}

/// Begins jobs as soon as they can.
fn begin(core: &Weak<Core>) {
    while let Some(core) = core.upgrade() {
        if core.base.scheduler.is_stopping() {
            return;
        }
        let is_wanted = core.base.scheduler.wait_for_start(TICK);
        let has_paused = core.base.scheduler.queue().end_pauses(Instant::now());
        if (is_wanted || has_paused)
            && catch_unwind(AssertUnwindSafe(|| core.runs.start_jobs(&core))).is_err()
        {
            tracing::error!("the beginning of a job failed; the log says where");
        }
    }
}

fn tick(core: &Weak<Core>, mut look: impl FnMut(&Arc<Core>)) {
    loop {
        std::thread::sleep(TICK);
        let Some(core) = core.upgrade() else { return };
        if core.base.scheduler.is_stopping() {
            return;
        }
        // It goes on whatever fails.
        if catch_unwind(AssertUnwindSafe(|| look(&core))).is_err() {
            tracing::error!("what happens by the clock failed; the log says where");
        }
    }
}

/// What is done by the clock. It has no lock of its own.
pub(crate) struct Clock {
    settings: Arc<Settings>,
    jobs: Jobs,
    open: Arc<OpenJobs>,
    monitor: Arc<Monitor>,
    peers: Arc<Peers>,
    scheduler: Arc<Scheduler>,
    stock: Arc<Stock>,
    transitions: Arc<Transitions>,
    proposals: Arc<Proposals>,
    against: Arc<AgainstPeers>,
    witness: Arc<Witness>,
    catalogues: Arc<Catalogues>,
    room: Arc<Room>,
}

impl Clock {
    pub(crate) fn new(base: &Base, transitions: &Arc<Transitions>, proposals: &Arc<Proposals>) -> Self {
        Clock {
            settings: Arc::clone(&base.settings),
            jobs: base.jobs.clone(),
            open: Arc::clone(&base.open),
            monitor: Arc::clone(&base.monitor),
            peers: Arc::clone(&base.peers),
            scheduler: Arc::clone(&base.scheduler),
            stock: Arc::clone(&base.stock),
            transitions: Arc::clone(transitions),
            proposals: Arc::clone(proposals),
            against: Arc::clone(&base.against),
            witness: Arc::clone(&base.witness),
            catalogues: Arc::clone(&base.catalogues),
            room: Arc::clone(&base.room),
        }
    }

    fn look(&self) {
        self.expire();
        self.look_at_peers();
        self.stock.look_at_stock();
    }

    /// What may take long, which no deadline waits for.
    fn look_again(&self, again: &mut Instant, sweep: &mut Instant) {
        // The end of the service waits for it.
        let guard = self.scheduler.guard_run();
        self.against.look();
        self.witness.look();
        drop(guard);
        if again.elapsed() >= AGAIN {
            *again = Instant::now();
            self.witness.tell_again();
            self.catalogues.look();
            self.tell_again();
        }
        if sweep.elapsed() >= SWEEP {
            *sweep = Instant::now();
            self.sweep();
        }
    }

    /// Ends jobs whose time is over, and those that were stopped while they meet. All are stopped before any end is recorded, which may take a while.
    fn expire(&self) {
        let now = Timestamp::now();
        let late = self.open.late(now);
        let all_running = self.scheduler.queue().all_running();
        let over = |id, deadline| job::late(deadline, self.waited_for(id).as_deref());
        let (mut run, mut wait) = (Vec::new(), false);
        for (id, deadline, state) in late {
            match all_running.iter().find(|running| running.job == id) {
                // The record may say already of one that has just begun that it runs.
                // One that stands ends in order by its leader's clock.
                Some(running) if running.stands && now < deadline.after(CLOCKS) => {}
                Some(running) => {
                    running.stop(FailKind::Deadline, over(id, deadline));
                }
                None if state == StateName::Running => run.push((id, deadline)),
                None => wait = true,
            }
        }
        for (id, deadline) in run {
            self.transitions
                .give_up(id, FailKind::Deadline, over(id, deadline));
        }
        for running in all_running {
            if let Some((kind, reason)) = running.stopped_before_meeting()
                && self.open.contains(running.job)
                && !(running.goes_on() && failure::may_pass(kind))
            {
                self.transitions.fail(running.job, kind, reason);
            }
        }
        if !wait {
            return;
        }
        match self.jobs.expire(now, self.room.view_of_waits()) {
            Ok(jobs) => jobs.iter().for_each(|job| self.transitions.changed(job)),
            Err(error) => tracing::error!(%error, "deadlines cannot be looked at"),
        }
    }

    /// For whom a job waits that runs.
    fn waited_for(&self, id: JobId) -> Option<String> {
        let job = self.jobs.get(id).ok()?;
        self.room.waits_for(&job)
    }

    fn look_at_peers(&self) {
        for party in 0..self.settings.names.len() as u8 {
            let Some(peer) = self.peers.get(party) else {
                continue;
            };
            let (stalled, behind, strange) = {
                let mut known = peer.known();
                let behind = known.up && std::mem::take(&mut known.behind);
                (
                    known.stalled(Instant::now()),
                    behind,
                    known.up && known.greeting == Greeting::Due,
                )
            };
            if strange {
                self.peers.put(party, 0, Task::Up);
            }
            for (program, at) in stalled {
                self.peers.tell(party, &Message::Want { program, at });
            }
            if behind {
                self.peers.put(party, 0, Task::Statuses);
            }
            self.look_for_lost(party, peer);
            self.look_at_clock(party);
        }
    }

    /// Raises or ends the alarm on a peer with which nothing can be done.
    fn look_for_lost(&self, party: u8, peer: &Peer) {
        let (up, differs, away) = {
            let known = peer.known();
            let away = known.lost.is_some_and(|lost| lost.elapsed() >= AWAY);
            // Of a peer that was put back another alarm tells.
            let away = away && !(known.up && known.put_back.is_some());
            (known.up, known.differs(), away)
        };
        let (key, name) = (party.to_string(), self.peers.name(party));
        if let Some(differs) = differs {
            self.monitor.alarm(
                AlarmKind::PeerLost,
                &key,
                format!("Nothing can be done with party {party} ({name}): {differs}."),
                "Compare the versions of both services and the names in both party files with its operator.",
            );
        } else if away && up {
            self.monitor.alarm(
                    AlarmKind::PeerLost,
                    &key,
                    format!(
                        "Party {party} ({name}) is connected, and has for more than a minute not said that it speaks this service's version, or not what it \
                         remembers of this party's audit log."
                    ),
                    "See that both services are of the same version; `cenote doctor` tells more.",
                );
        } else if away {
            self.monitor.alarm(
                    AlarmKind::PeerLost,
                    &key,
                    format!("Party {party} ({name}) has been away for more than a minute."),
                    "See that its service runs, and that the network between you lets both through; `cenote doctor` tells more.",
                );
        } else {
            // It may have come back while this was looked at before.
            self.monitor.end_alarm(AlarmKind::PeerLost, &key);
        }
    }

    /// Raises or ends the alarm on a peer's clock.
    fn look_at_clock(&self, party: u8) {
        let (key, name) = (party.to_string(), self.peers.name(party));
        let ahead = self
            .peers
            .wires
            .get()
            .and_then(|wires| wires.facts(party).clock_ahead);
        match ahead {
            Some(ahead) if ahead.abs() > CLOCK => self.monitor.alarm(
                AlarmKind::Clock,
                &key,
                format!(
                    "The clock of party {party} ({name}) differs from this one by {:.0} seconds.",
                    ahead / 1000.0
                ),
                "Set both clocks by a time server: deadlines are in each party's own time.",
            ),
            Some(_) => self.monitor.end_alarm(AlarmKind::Clock, &key),
            None => {}
        }
    }

    /// Tells all peers again where unfinished jobs stand, and moves on what has got stuck here.
    pub(crate) fn tell_again(&self) {
        if let Err(error) = self.look_at_record() {
            tracing::error!(%error, "the record cannot be read");
        }
        if self.open.is_empty() {
            return;
        }
        for party in 0..self.settings.names.len() as u8 {
            if self
                .peers
                .get(party)
                .is_some_and(|peer| peer.known().is_with_us())
            {
                self.peers.put(party, 0, Task::Statuses);
            }
        }
    }

    /// Moves on what has got stuck here, as after a write that took effect later than anybody waited for it.
    pub(crate) fn look_at_record(&self) -> cenote_service::Result<()> {
        for id in self.open.all() {
            match self.jobs.get(id) {
                Ok(job) if !job.state.name().is_open() => self.transitions.changed(&job),
                Ok(_) => {}
                Err(error) => tracing::error!(job = %id, %error, "an open job cannot be read"),
            }
        }
        let old = Timestamp::now().before(AGAIN);
        for state in [
            StateName::Proposed,
            StateName::Approved,
            StateName::Queued,
            StateName::Running,
        ] {
            let mut before = None;
            loop {
                let request = PageRequest {
                    state: Some(state),
                    before,
                    limit: 200,
                };
                let page = self.jobs.list(request)?;
                for job in page.jobs.iter().filter(|job| job.changed_at <= old) {
                    self.unstick(job);
                }
                match page.next {
                    None => break,
                    next => before = next,
                }
            }
        }
        Ok(())
    }

    fn unstick(&self, job: &Job) {
        let id = job.proposal.id;
        if self.open.contains(id) {
            self.transitions.changed(job);
        } else {
            self.open.remember(job);
        }
        if self.proposals.awaits_program(job) {
            return;
        }
        match job.state.name() {
            StateName::Approved => self.transitions.queue_approved(job),
            StateName::Queued if !self.scheduler.queue().has(id) => self.transitions.enqueue(job),
            StateName::Running
                if self.scheduler.queue().running(id).is_none() && job.proposal.standing.is_some() =>
            {
                let reason = "how its session ended could not be recorded".into();
                if let Some(job) = self.transitions.interrupt(id, reason) {
                    self.transitions.enqueue(&job);
                }
            }
            StateName::Running if self.scheduler.queue().running(id).is_none() => {
                self.transitions
                    .fail(id, FailKind::Internal, "its outcome could not be recorded".into());
            }
            _ => {}
        }
    }

    /// Deletes what is old.
    fn sweep(&self) {
        let now = Timestamp::now();
        let swept = self
            .jobs
            .expire_results(now)
            .and_then(|_| while_some(|| self.jobs.expire_kept(now)))
            .and_then(|_| while_some(|| self.jobs.expire_calls(now.before(CALLS), MOST_CALLS)))
            .and_then(|_| self.jobs.prune(now.before(self.settings.keep)))
            .and_then(|_| self.jobs.prune_unrun(now));
        if let Err(error) = swept {
            tracing::error!(%error, "what is old cannot be deleted");
        }
    }
}

/// Goes on until nothing is left to do.
fn while_some(mut some: impl FnMut() -> cenote_service::Result<u64>) -> cenote_service::Result<u64> {
    let mut all = 0;
    loop {
        match some()? {
            0 => return Ok(all),
            more => all += more,
        }
    }
}

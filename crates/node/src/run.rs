//! The running of jobs: when they begin, each on a thread that it has for itself, and what becomes of their outcomes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote::runner::Connections;
use cenote_net::Threads;
use cenote_service::job::{FailKind, JobId, Tried};
use cenote_service::live::AlarmKind;
use cenote_service::{Error, Jobs, Pending, Timestamp};

use crate::base::Base;
use crate::compiled::Compiled;
use crate::compute::Sessions;
use crate::failure::{Fault, may_pass};
use crate::message::LEADER;
use crate::message::Message;
use crate::monitor::Monitor;
use crate::open_jobs::OpenJobs;
use crate::own_data::OwnData;
use crate::peers::Peers;
use crate::policy::PolicyInForce;
use crate::programs::Programs;
use crate::queue::{Limits, Waiting, there};
use crate::results::Results;
use crate::running_job::RunningJob;
use crate::scheduler::{RunGuard, Scheduler};
use crate::settings::Settings;
use crate::shard_folders::ShardFolders;
use crate::stock::Stock;
use crate::transitions::{Transitions, failed};
use crate::unsettled::AgainstPeers;

/// How much longer than until its deadline the parties of a job wait for each other, at most.
const LATE: Duration = Duration::from_secs(1);

/// How long a job that was interrupted waits at least before it goes on, so that nobody who cuts it off again and again keeps this party busy.
const PAUSE: Duration = Duration::from_secs(2);

/// After so many runs the leader's pause grows no more.
const PAUSES: u64 = 6;

/// How soon that pause ends when the service does.
const NAP: Duration = Duration::from_millis(50);

/// The threads that jobs run on.
static THREADS: Threads = Threads::new("job");

/// What runs jobs. It has no lock of its own.
pub(crate) struct Runs {
    settings: Arc<Settings>,
    jobs: Jobs,
    policy: Arc<PolicyInForce>,
    programs: Arc<Programs>,
    data: Arc<OwnData>,
    open: Arc<OpenJobs>,
    monitor: Arc<Monitor>,
    against: Arc<AgainstPeers>,
    peers: Arc<Peers>,
    scheduler: Arc<Scheduler>,
    shards: Arc<ShardFolders>,
    stock: Arc<Stock>,
    transitions: Arc<Transitions>,
    sessions: Sessions,
    pub(crate) results: Results,
}

impl Runs {
    pub(crate) fn new(base: &Base, transitions: &Arc<Transitions>) -> Self {
        Runs {
            settings: Arc::clone(&base.settings),
            jobs: base.jobs.clone(),
            policy: Arc::clone(&base.policy),
            programs: Arc::clone(&base.programs),
            data: Arc::clone(&base.data),
            open: Arc::clone(&base.open),
            monitor: Arc::clone(&base.monitor),
            against: Arc::clone(&base.against),
            peers: Arc::clone(&base.peers),
            scheduler: Arc::clone(&base.scheduler),
            shards: Arc::clone(&base.shards),
            stock: Arc::clone(&base.stock),
            transitions: Arc::clone(transitions),
            sessions: Sessions::new(base),
            results: Results::new(base, transitions),
        }
    }

    /// Begins what can begin. The service is there until all that has ended: it hears what peers say of it.
    pub(crate) fn start_jobs(self: &Arc<Self>, service: &Arc<impl Send + Sync + 'static>) {
        loop {
            let next = self.scheduler.take_next(|queue| {
                // Who is lost after this has its jobs stopped: by then the scheduler says which.
                let parties = 0..self.settings.names.len() as u8;
                let limits: Vec<Option<Limits>> = parties.map(|party| self.limits_of(party)).collect();
                match self.settings.me {
                    LEADER => queue.next_led(Instant::now(), &limits),
                    // The leader does not know whether the others have each other.
                    _ => queue.next_called(|waiting| {
                        !waiting.in_shards || there(&limits, waiting.parties).is_some()
                    }),
                }
            });
            let Some((waiting, running, guard)) = next else {
                return;
            };
            self.launch(waiting, &running, (guard, Arc::clone(service)));
        }
    }

    /// What a party may run, of a peer by its own word; nothing if it is not there.
    fn limits_of(&self, party: u8) -> Option<Limits> {
        let Some(peer) = self.peers.get(party) else {
            return Some(self.settings.limits());
        };
        let known = peer.known();
        let hello = known.hello.as_ref().filter(|_| known.is_with_us());
        hello.map(|hello| hello.limits)
    }

    fn launch(
        self: &Arc<Self>,
        waiting: Waiting,
        running: &Arc<RunningJob>,
        guards: (RunGuard, Arc<impl Send + Sync + 'static>),
    ) {
        let (runs, running, id) = (Arc::clone(self), Arc::clone(running), waiting.job);
        let body = move || {
            let ended = catch_unwind(AssertUnwindSafe(|| runs.run_job(&waiting, &running)));
            if ended.is_err() {
                runs.transitions.fail(
                    id,
                    FailKind::Internal,
                    "the service failed; its log says where".into(),
                );
            }
            runs.scheduler.finished(id);
            runs.against.look_back(&running);
            if running.in_shards && !runs.open.contains(id) {
                runs.shards.remove(id);
            }
            drop(guards);
            if ended.is_ok_and(|goes_on| goes_on) {
                runs.wait_again(id);
            }
        };
        if let Err(error) = THREADS.start(body) {
            self.transitions.fail(
                id,
                FailKind::Internal,
                format!("there is no thread for it: {error}"),
            );
            self.scheduler.finished(id);
        }
    }

    /// A job that was interrupted is in line again, after a pause. The leader's grows, so that what cannot go on is not begun too often.
    fn wait_again(&self, id: JobId) {
        let runs = self.jobs.get(id).map_or(1, |job| job.runs);
        let doublings = match self.settings.me {
            LEADER => runs.clamp(1, PAUSES) - 1,
            _ => 0,
        };
        let until = Instant::now() + PAUSE * (1 << doublings);
        while Instant::now() < until {
            if self.scheduler.is_stopping() {
                return;
            }
            std::thread::sleep(NAP);
        }
        if let Ok(job) = self.jobs.get(id)
            && job.is_interrupted()
        {
            self.transitions.enqueue(&job);
        }
    }

    /// One run of a job, from its beginning to its end. Gives whether it was interrupted, and goes on later.
    fn run_job(&self, waiting: &Waiting, running: &Arc<RunningJob>) -> bool {
        let id = waiting.job;
        let mut on_shelf = None;
        if self.settings.me == LEADER {
            on_shelf = self.stock.choose_shelf(waiting.wanted);
            let shelf = on_shelf.as_ref().map(|on_shelf| on_shelf.shelf);
            running.begins(shelf);
            let again = running.again;
            let start = Message::Start {
                job: id,
                shelf,
                again,
            };
            self.peers.tell_all(waiting.parties, &start);
        }
        let binding = self.jobs.get(id).map_or_else(|_| Vec::new(), |job| job.binding);
        let found = self.data.found(binding);
        let starting = self
            .jobs
            .begin_start(id, found, &self.policy.read(), Timestamp::now());
        // The parties meet while the disk is written.
        let met = catch_unwind(AssertUnwindSafe(|| self.meet(id, running)));
        running.has_met();
        // From here on the record says that this party's data may have been used.
        let (job, run) = match starting.and_then(Pending::wait) {
            Ok(started) => started,
            Err(Error::NoTransition { .. } | Error::NoJob(_)) => return false,
            Err(error @ Error::Unsettled(_)) => {
                self.transitions.fail(id, FailKind::Refused, error.to_string());
                return false;
            }
            Err(error) => {
                tracing::error!(job = %id, %error, "a beginning cannot be recorded");
                let reason = "its beginning could not be recorded".into();
                self.transitions.fail(id, FailKind::Internal, reason);
                return false;
            }
        };
        running.is_on_record(run);
        self.transitions.changed(&job);
        // Nothing has been computed yet.
        let before = |fault: Fault| Fault {
            goes_on: running.in_shards,
            ..fault
        };
        let result = met.and_then(|met| {
            catch_unwind(AssertUnwindSafe(|| {
                let met = met.map_err(before)?;
                running.still_runs().map_err(before)?;
                if let Some(shelf) = running.shelf {
                    on_shelf = self.stock.take_shelf(shelf);
                }
                running.still_runs().map_err(before)?;
                self.sessions.compute(&job, met, running, on_shelf.as_ref())
            }))
        });
        let result = result.unwrap_or_else(|_| {
            Err(Fault::new(
                FailKind::Internal,
                "the program failed; its log says where",
            ))
        });
        let ended =
            result.and_then(|(compiled, result)| self.results.record(&job, &compiled, result, running));
        ended.is_err_and(|fault| self.run_failed(running, fault))
    }

    /// A run that had begun gave nothing: its job ends by a peer's word where there is one, or for this party's own reason, or goes on later. Gives whether it does.
    fn run_failed(&self, running: &RunningJob, fault: Fault) -> bool {
        let id = running.job;
        // A failed check is held against the peer whenever it came.
        if fault.kind != FailKind::Cheating {
            self.against.note_end(running);
        }
        if matches!(fault.kind, FailKind::Peer | FailKind::PeerLost) {
            running.wait_for_word();
        }
        if let Some((from, says)) = running.word().filter(|_| fault.kind != FailKind::Cheating) {
            match self.jobs.hear(id, from, says, Timestamp::now()) {
                Ok(job) => {
                    // They have lost this party, and may have heard of no other reason.
                    self.peers
                        .tell_all(job.proposal.parties, &failed(id, FailKind::Peer));
                    self.transitions.changed(&job);
                    return false;
                }
                Err(Error::NoTransition { .. } | Error::NoJob(_)) => return false,
                // It fails with this party's own reason, then.
                Err(error) => tracing::error!(job = %id, %error, "a peer's word cannot be recorded"),
            }
        }
        let goes_on = fault.goes_on;
        let mut fault = match running.stopped() {
            Some((kind, reason)) if fault.kind != FailKind::Cheating => Fault::new(kind, reason),
            _ => fault,
        };
        if may_pass(fault.kind) && goes_on {
            return self.transitions.interrupt(id, fault.reason);
        }
        if fault.kind == FailKind::Cheating {
            self.alarm_of_cheating(running, &fault);
        } else if running.in_shards && self.shards.may_be_opened(id) {
            fault.reason += "; the answer may have been opened, and is not opened again";
        }
        self.transitions.fail(id, fault.kind, fault.reason);
        false
    }

    fn alarm_of_cheating(&self, running: &RunningJob, fault: &Fault) {
        let job = running.job;
        self.against.note_check(Tried::Job(job), running.parties, fault);
        let who = match fault.cheater {
            Some(party) => format!("party {party} ({})", self.peers.name(party)),
            None => "a party".to_owned(),
        };
        self.monitor.alarm(
            AlarmKind::Cheating,
            &who,
            format!("In job {job} {who} deviated from the protocol: {}.", fault.reason),
            "Nothing more was revealed. Find out with the others what happened before you approve further jobs.",
        );
    }

    /// Joins the others of a job that begins. Nothing of this party's data is touched.
    fn meet(&self, id: JobId, running: &RunningJob) -> Result<(Arc<Compiled>, Connections), Fault> {
        let internal = |error: Error| Fault::new(FailKind::Internal, error.to_string());
        let open = self.open.program_and_deadline(id);
        let (program, deadline) = open.ok_or_else(|| internal(Error::NoJob(id)))?;
        let compiled = self.programs.of(program).map_err(internal)?;
        let wires = self
            .peers
            .wires
            .get()
            .ok_or_else(|| Fault::new(FailKind::Internal, "there are no connections"))?;
        let topology = compiled.topology();
        let left = deadline.millis().saturating_sub(Timestamp::now().millis());
        let limit = self
            .settings
            .timeout
            .min(Duration::from_millis(left).saturating_add(LATE));
        let session = match running.again {
            0 => format!("job {id}"),
            again => format!("job {id}, again {again}"),
        };
        let connections = wires.connections(&topology, &session, limit, &running.patience)?;
        Ok((compiled, running.hold(connections)))
    }
}

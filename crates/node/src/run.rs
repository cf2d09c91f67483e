//! The running of jobs: when they begin, each on a thread that it has for itself, and what becomes of their outcomes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote::runner::Connections;
use cenote::shards::may_meet_again;
use cenote_net::Threads;
use cenote_service::job::{FailKind, Job, JobId, Tried};
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
use crate::stock::{ShelfGuard, Stock};
use crate::transitions::{Transitions, failed};
use crate::unsettled::AgainstPeers;
use crate::witness::Witness;

/// How much longer than until its deadline the parties of a job wait for each other, at most.
const LATE: Duration = Duration::from_secs(1);

/// Runs in a row of a job in shards that were cut off before a part was handed out, at most: each reads this party's data, and uses up no attempt.
pub(crate) const MOST_IDLE: u32 = 10;

/// The pause of a job that stands doubles so often, at most.
const PAUSES: u32 = 6;

/// How often it is tried whether a job that stands may begin, while a person has to settle what is on record against a peer, or nothing can be recorded.
const HELD: Duration = Duration::from_secs(10);

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
    witness: Arc<Witness>,
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
            witness: Arc::clone(&base.witness),
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
                    _ => queue.next_called(Instant::now(), |waiting| {
                        let is_there = !waiting.goes_on() || there(&limits, waiting.parties).is_some();
                        is_there && self.witness.put_back_among(waiting.parties).is_none()
                    }),
                }
            });
            let Some((waiting, running, guard)) = next else {
                return;
            };
            self.launch(waiting, &running, (guard, Arc::clone(service)));
        }
    }

    /// What a party may run, of a peer by its own word; nothing if it is not there, or was put back to an earlier state.
    fn limits_of(&self, party: u8) -> Option<Limits> {
        let Some(peer) = self.peers.get(party) else {
            let is_held_up = self.witness.put_back(party).is_some();
            return (!is_held_up).then(|| self.settings.limits());
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
            if let Ok(Some((job, pause))) = ended {
                runs.transitions.enqueue_after(&job, pause);
            }
            drop(guards);
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

    /// Tells the others that a job begins, if this party leads. Gives the shelf of stock that it has chosen.
    fn lead(&self, waiting: &Waiting, running: &RunningJob) -> Option<ShelfGuard> {
        if self.settings.me != LEADER {
            return None;
        }
        let on_shelf = self.stock.choose_shelf(waiting.wanted);
        let shelf = on_shelf.as_ref().map(|on_shelf| on_shelf.shelf);
        running.begins(shelf);
        let (job, again) = (waiting.job, running.again);
        self.peers
            .tell_all(waiting.parties, &Message::Start { job, shelf, again });
        on_shelf
    }

    /// One run of a job, from its beginning to its end. Gives the job if it was interrupted, and goes on later, after a pause of its own.
    fn run_job(&self, waiting: &Waiting, running: &Arc<RunningJob>) -> Option<(Job, Duration)> {
        let id = waiting.job;
        // Before it is on record that the job runs: it tells that it can go on.
        if running.in_shards
            && let Err(reason) = self.shards.make(id)
        {
            self.transitions.fail(id, FailKind::Internal, reason);
            return None;
        }
        let mut on_shelf = self.lead(waiting, running);
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
            Err(Error::NoTransition { .. } | Error::NoJob(_)) => return None,
            // It goes on once a person has settled that.
            Err(Error::Unsettled(_)) if running.stands => {
                return self.jobs.get(id).ok().map(|job| (job, HELD));
            }
            Err(error @ Error::Unsettled(_)) => {
                self.transitions.fail(id, FailKind::Refused, error.to_string());
                return None;
            }
            Err(error) => {
                tracing::error!(job = %id, %error, "a beginning cannot be recorded");
                if running.stands {
                    return self.jobs.get(id).ok().map(|job| (job, HELD));
                }
                let reason = "its beginning could not be recorded".into();
                self.transitions.fail(id, FailKind::Internal, reason);
                return None;
            }
        };
        running.is_on_record(run);
        self.transitions.changed(&job);
        // Nothing has been computed yet.
        let before = |fault: Fault| Fault {
            goes_on: running.goes_on(),
            ..fault
        };
        let mut computes = false;
        let result = met.and_then(|met| {
            catch_unwind(AssertUnwindSafe(|| {
                let met = met?;
                running.still_runs().map_err(before)?;
                if let Some(shelf) = running.shelf {
                    on_shelf = self.stock.take_shelf(shelf);
                }
                running.still_runs().map_err(before)?;
                computes = true;
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
        let fault = ended.err()?;
        self.run_failed(running, fault, computes)
    }

    /// A run that had begun, and `computes` if the parties had met, gave nothing: its job ends by a peer's word where there is one, or for this party's own reason,
    /// or goes on later. Gives it if it does.
    fn run_failed(&self, running: &RunningJob, fault: Fault, computes: bool) -> Option<(Job, Duration)> {
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
                    return None;
                }
                Err(Error::NoTransition { .. } | Error::NoJob(_)) => return None,
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
            let idle = match computes && fault.kind != FailKind::Restarted {
                true => self.open.cut_off(id, running.handed_out()),
                false => 0,
            };
            // A job that stands goes on however often it was cut off, after longer pauses if nothing came of its sessions. What a peer may try in them is
            // on record against it.
            if running.stands || idle < MOST_IDLE {
                let pause = self.settings.pause * (1 << idle.saturating_sub(1).min(PAUSES));
                let job = self.transitions.interrupt(id, fault.reason);
                return job.map(|job| (job, if running.stands { pause } else { Duration::ZERO }));
            }
            fault.reason +=
                &format!("; it was cut off {idle} times in a row before a part of it was handed out");
        }
        if fault.kind == FailKind::Cheating {
            self.alarm_of_cheating(running, &fault);
        } else if running.in_shards && self.shards.may_be_opened(id) {
            fault.reason += "; the answer may have been opened, and is not opened again";
        }
        self.transitions.fail(id, fault.kind, fault.reason);
        None
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
        let session = running.session();
        let connections = wires
            .connections(&topology, &session, limit, &running.patience)
            .map_err(|error| Fault {
                goes_on: running.goes_on() && may_meet_again(&error),
                ..Fault::of(&error)
            })?;
        Ok((compiled, running.hold(connections)))
    }
}

//! The workers of a party that are processes of their own, wherever its cluster has placed them: they connect to their coordinator and ask for work.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cenote_net::{Channel, ChannelOptions, Crowd, Fingerprint, Identity, PartyId, Relay, accept_own};
use cenote_shards::{Attempt, Crew, Event, JobName, Outcome, Piece, Place};

use super::attempt::{THROUGH_RELAY, Work};
use super::crew::{Tell, Threads, ended};
use super::job_digest;
use super::placer::Placer;
use super::wire::{Listens, Said, Told, receive, send};
use crate::{Error, Result};

/// How long a new connection may take to show the party's key.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Most workers of a party at a time.
pub const MOST_WORKERS: usize = 4096;

/// How long the last workers may take to hear that the job is over.
const FAREWELL: Duration = Duration::from_secs(5);

/// Where a worker is with an attempt.
enum Stage {
    /// It does not know of it yet.
    Given,
    /// It makes ready to listen, and then listens.
    Listening(Option<(String, Vec<Place>)>),
    Working,
}

/// A worker that is connected.
#[derive(Default)]
struct Worker {
    /// The job that it knows of.
    knows: Option<JobName>,
    /// Whether it has asked for work, and was told to wait.
    is_free: bool,
    /// What it is at, and whether that counts no more.
    at: Option<(Attempt, Stage, bool)>,
    /// Whether peers reach it through the relay.
    is_relayed: bool,
    /// The key of the one for whom the relay has connections that go to it.
    relayed: Option<Fingerprint>,
}

/// How a job has ended for its workers.
#[derive(Clone, Copy)]
enum End {
    Done,
    Gone,
}

#[derive(Default)]
struct Workers {
    begun: Option<(JobName, [u8; 32])>,
    connected: BTreeMap<u64, Worker>,
    next: u64,
    /// What workers are told in the end.
    end: Option<End>,
}

/// Where the workers of a party ask for work.
pub(super) struct Desk {
    work: Arc<Work>,
    /// The digest of the job.
    job: String,
    workers: Mutex<Workers>,
    /// Where peers reach workers that they cannot reach otherwise.
    relay: Option<Relay>,
    tell: Tell,
}

impl Desk {
    fn new(work: Arc<Work>, relay: Option<Relay>, tell: Tell) -> Arc<Self> {
        Arc::new(Desk {
            job: job_digest(&*work.job),
            work,
            workers: Mutex::default(),
            relay,
            tell,
        })
    }

    /// Has the relay take connections for a worker, if peers reach it there.
    fn relayed(&self, worker: &mut Worker, place: &mut Place) -> Result<Option<Told>> {
        let Some(relay) = self.relay.as_ref().filter(|_| worker.is_relayed) else {
            return Ok(None);
        };
        self.forget(worker);
        let ticket = relay.expect(place.fingerprint)?;
        worker.relayed = Some(place.fingerprint);
        place.address = format!("{THROUGH_RELAY}{}", relay.port());
        Ok(Some(Told::Relay(relay.port(), ticket)))
    }

    /// The relay takes no more connections for a worker.
    fn forget(&self, worker: &mut Worker) {
        if let (Some(relay), Some(relayed)) = (&self.relay, worker.relayed.take()) {
            relay.forget(relayed);
        }
    }

    fn workers(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers workers until the job is over.
    fn serve(&self, channel: &mut dyn Channel) -> Result<()> {
        let number = {
            let mut workers = self.workers();
            if workers.connected.len() >= MOST_WORKERS {
                let full = format!("{MOST_WORKERS} workers are connected already");
                return send(channel, &Told::Refused(full));
            }
            let number = workers.next;
            workers.next += 1;
            workers.connected.insert(number, Worker::default());
            number
        };
        let mut talk = || -> Result<()> {
            loop {
                let answer = self.answer(number, receive(channel)?)?;
                send(channel, &answer)?;
                if let Told::Over | Told::Gone | Told::Refused(_) = answer {
                    return Ok(());
                }
            }
        };
        let talked = talk();
        let mut worker = self.workers().connected.remove(&number);
        if let Some(worker) = &mut worker {
            self.forget(worker);
        }
        if let Some((attempt, _, false)) = worker.and_then(|worker| worker.at) {
            ended(&self.tell, &attempt, lost());
        }
        (self.tell)(Event::Free);
        talked
    }

    /// Sees that a worker computes parts of this job, and that peers can reach it.
    fn hello(&self, worker: &mut Worker, job: &str, is_relayed: bool) -> Told {
        let refused = |why: &str| Told::Refused(why.into());
        if job != self.job {
            return refused(
                "the coordinator has another job, or other tables are declared there; give both the same job file",
            );
        }
        if is_relayed && self.relay.is_none() {
            return refused(
                "the coordinator has no relay; start it with --relay HOST:PORT, or the worker without --relay",
            );
        }
        worker.is_relayed = is_relayed;
        Told::Wait
    }

    fn answer(&self, number: u64, said: Said) -> Result<Told> {
        let workers = &mut *self.workers();
        let (begun, end) = (workers.begun, workers.end);
        let worker = workers
            .connected
            .get_mut(&number)
            .ok_or_else(|| out_of_turn("anything"))?;
        Ok(match said {
            Said::Hello(job, is_relayed) => self.hello(worker, &job, is_relayed),
            Said::Free if end.is_some() => match end {
                Some(End::Done) => Told::Over,
                _ => Told::Gone,
            },
            Said::Free => match (begun, &mut worker.at) {
                (Some((name, coin)), None) if worker.knows != Some(name) => {
                    worker.knows = Some(name);
                    Told::Begin(name, coin)
                }
                (Some(_), Some((attempt, stage @ Stage::Given, false))) => {
                    worker.is_free = false;
                    *stage = Stage::Listening(None);
                    Told::Listen(*attempt)
                }
                (Some(_), at) => {
                    if let Some((attempt, _, false)) = at.take() {
                        ended(&self.tell, &attempt, lost());
                    }
                    if !std::mem::replace(&mut worker.is_free, true) {
                        (self.tell)(Event::Free);
                    }
                    Told::Wait
                }
                (None, _) => Told::Wait,
            },
            Said::Listens(place) => match &worker.at {
                Some((attempt, Stage::Listening(_), false)) => {
                    let (attempt, mut place) = (*attempt, Place::try_from(place)?);
                    let answer = self.relayed(worker, &mut place)?.unwrap_or(Told::Wait);
                    (self.tell)(Event::Listens { attempt, place });
                    answer
                }
                _ => Told::End,
            },
            Said::Waits => match &mut worker.at {
                Some((_, Stage::Listening(None), false)) => Told::Wait,
                Some((_, stage @ Stage::Listening(_), false)) => {
                    match std::mem::replace(stage, Stage::Working) {
                        Stage::Listening(Some((name, places))) => {
                            Told::Meet(name, places.iter().map(Listens::from).collect())
                        }
                        _ => Told::Wait,
                    }
                }
                _ => Told::End,
            },
            Said::Works(done, total) => match worker.at {
                Some((attempt, Stage::Working, false)) => {
                    (self.tell)(Event::Progress { attempt, done, total });
                    Told::Go
                }
                _ => Told::End,
            },
            Said::Ended(outcome, report) => {
                self.forget(worker);
                // That a check has failed counts also where the attempt does not.
                let counts = |ended: bool| !ended || matches!(outcome, Outcome::Failed(_));
                if let Some((attempt, ..)) = worker.at.take().filter(|at| counts(at.2)) {
                    let report = report.and_then(|report| serde_json::from_str(&report).ok());
                    if let Some(report) = report {
                        self.work.state().add(report);
                    }
                    ended(&self.tell, &attempt, outcome);
                }
                Told::Wait
            }
        })
    }
}

fn lost() -> Outcome {
    Outcome::Lost("its worker was lost".into())
}

fn out_of_turn(what: &str) -> Error {
    Error::local(
        "speaking with a worker",
        std::io::Error::other(format!("it says {what} out of turn")),
    )
}

/// Where a coordinator listens for its workers, and for peers of those that are reached through it.
pub(super) struct Door {
    pub(super) listener: TcpListener,
    pub(super) relay: Option<TcpListener>,
}

/// A party's workers that are processes of their own. The merge is computed by the coordinator's.
pub(super) struct Remote {
    desk: Arc<Desk>,
    placer: Placer,
    merge: Threads,
    work: Arc<Work>,
    stopped: Arc<AtomicBool>,
    address: SocketAddr,
}

impl Remote {
    /// Accepts workers at `listener`, which show the key of `identity`.
    pub(super) fn start(
        (work, merge): (Arc<Work>, Threads),
        (door, identity): (Door, Arc<Identity>),
        tell: Tell,
    ) -> Result<Self> {
        let Door { listener, relay } = door;
        let failed = |error| Error::local("listening for workers", error);
        let address = listener.local_addr().map_err(failed)?;
        let relay = relay.map(Relay::start).transpose()?;
        let desk = Desk::new(Arc::clone(&work), relay, tell);
        let stopped = Arc::new(AtomicBool::new(false));
        let accept = Accept {
            me: work.me,
            desk: Arc::clone(&desk),
            identity,
            options: ChannelOptions::with_timeout(work.meeting.timeout),
            stopped: Arc::clone(&stopped),
            crowd: Mutex::default(),
        };
        std::thread::Builder::new()
            .name("workers".into())
            .spawn(move || accept.run(&listener))
            .map_err(failed)?;
        Ok(Remote {
            placer: Placer::new(Arc::clone(&work), Work::place, Arc::clone(&desk.tell)),
            desk,
            merge,
            work,
            stopped,
            address,
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let is_done = self.work.state().is_done;
        let end = if is_done { End::Done } else { End::Gone };
        self.desk.workers().end = Some(end);
        let until = std::time::Instant::now() + FAREWELL;
        while !self.desk.workers().connected.is_empty() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.stopped.store(true, Ordering::Release);
        // It waits for a connection.
        drop(TcpStream::connect_timeout(&self.address, Duration::from_secs(1)));
        if let Some(relay) = &self.desk.relay {
            tracing::info!(connections = relay.served(), "the relay ends");
        }
    }
}

/// What accepts workers.
struct Accept {
    me: PartyId,
    desk: Arc<Desk>,
    identity: Arc<Identity>,
    options: ChannelOptions,
    stopped: Arc<AtomicBool>,
    /// Connections that have not shown the party's key yet.
    crowd: Mutex<Crowd>,
}

impl Accept {
    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(self, listener: &TcpListener) {
        let all = Arc::new(self);
        for (number, stream) in (0..).zip(listener.incoming()) {
            if all.stopped.load(Ordering::Acquire) {
                return;
            }
            let Ok(stream) = stream else {
                // Such as too many open files, for a while.
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            if all.crowd().enter(number, &stream).is_err() {
                continue;
            }
            let own = Arc::clone(&all);
            let serve = move || {
                let channel = accept_own(own.me, &own.identity, stream, &own.options, HANDSHAKE);
                own.crowd().leave(number);
                let served = match channel {
                    Ok(mut channel) => own.desk.serve(&mut *channel),
                    Err(error) => Err(error.into()),
                };
                if let Err(error) = served {
                    tracing::warn!(%error, "a worker is gone");
                }
            };
            if let Err(error) = std::thread::Builder::new().name("worker".into()).spawn(serve) {
                all.crowd().leave(number);
                tracing::warn!(%error, "no thread for a worker");
            }
        }
    }
}

impl Crew for Remote {
    fn begin(&mut self, name: &JobName, coin: &[u8; 32]) {
        self.work.begin(name, coin);
        self.desk.workers().begun = Some((*name, *coin));
        (self.desk.tell)(Event::Free);
    }

    fn free(&self) -> u32 {
        if self.work.are_all_kept() {
            return self.merge.free();
        }
        // Whoever is asked to compute a part then says that this party cannot go on.
        if self.work.state().failure.is_some() {
            return 1;
        }
        if !self.placer.are_placed() {
            return 0;
        }
        let workers = self.desk.workers();
        let free = |worker: &&Worker| worker.is_free && worker.at.is_none();
        workers.connected.values().filter(free).count() as u32
    }

    fn listen(&mut self, attempt: &Attempt) {
        if let Some(outcome) = self.work.cannot(attempt) {
            return ended(&self.desk.tell, attempt, outcome);
        }
        if attempt.piece == Piece::Merge {
            return self.merge.listen(attempt);
        }
        let mut workers = self.desk.workers();
        let mut free = workers
            .connected
            .values_mut()
            .filter(|worker| worker.is_free && worker.at.is_none());
        match free.next() {
            Some(worker) => worker.at = Some((*attempt, Stage::Given, false)),
            None => ended(&self.desk.tell, attempt, lost()),
        }
    }

    fn meet(&mut self, attempt: &Attempt, name: &str, places: &[Place]) {
        if attempt.piece == Piece::Merge {
            return self.merge.meet(attempt, name, places);
        }
        for worker in self.desk.workers().connected.values_mut() {
            if let Some((at, stage @ Stage::Listening(None), false)) = &mut worker.at
                && at == attempt
            {
                *stage = Stage::Listening(Some((name.to_owned(), places.to_vec())));
            }
        }
    }

    fn end(&mut self, attempt: &Attempt) {
        if attempt.piece == Piece::Merge {
            return self.merge.end(attempt);
        }
        for worker in self.desk.workers().connected.values_mut() {
            if let Some((at, _, ended)) = &mut worker.at
                && at == attempt
            {
                *ended = true;
            }
        }
        self.work.drop_partial(attempt);
    }

    fn keep(&mut self, attempt: &Attempt) {
        self.merge.keep(attempt);
    }
}

//! A job in shards, run by all parties on this machine or by one whose peers are elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cenote_net::{Budget, Identity, PartyId};
use cenote_session::{AlsoAgree, Connections, Warning, WarningKind, memory};
use cenote_shards::{Crew, Ledger, Limits, Outcome, Party, Progress, coordinate, events, topology};
use sha2::{Digest as _, Sha256};

use super::attempt::{Meeting, Opened, Work};
use super::crew::{Listening, Tell, Threads};
use super::desk::{Door, Remote};
use super::partial::{Keep, Partials};
use super::worker::Worker;
use super::{Merged, ShardedJob, coordinated};
use crate::job::shards::placed as circuit_in_shards;
use crate::local::Seat;
use crate::meeting::{entered, listen_address, meet_with, resolve};
use crate::report::{Held, PartyReport, Seconds};
use crate::stop::Session;
use crate::{Error, Job, PartyConfig, Result, Transport, query};

/// What has become of a job that the operator stopped.
pub(crate) const STOPPED: &str = "the job has ended, its peers were told, and this party has written no answer; what its shards have kept is there when it runs again";

/// One party of a job in shards.
pub(crate) struct OneParty {
    pub(super) job: Box<dyn ShardedJob>,
    pub(super) me: PartyId,
    pub(super) identity: Arc<Identity>,
    /// Where its ledger is.
    pub(super) folder: PathBuf,
    /// Where its partial results are.
    pub(super) keep: Keep,
    pub(super) meeting: Meeting,
    /// What else the parties of each session compare.
    pub(super) also_agree: Arc<dyn AlsoAgree + Send + Sync>,
    pub(super) listening: Listening,
    /// Where workers that are processes of their own ask for work, if they compute the shards.
    pub(super) workers: Option<Door>,
    /// Whether a service runs it, which itself removes what is left, and is told whether the job can go on.
    pub(super) in_service: bool,
    pub(super) start: Instant,
}

/// What hears how far a job is: AND gates done, of how many, and its shards.
pub(super) type Hears<'a> = &'a mut dyn FnMut(u64, u64, &Progress);

impl OneParty {
    /// The party of `config`, which gives what is in `job`.
    ///
    /// # Errors
    /// [`Error::Usage`] for an address to listen at that makes no sense.
    pub(crate) fn elsewhere(
        config: &PartyConfig,
        identity: Arc<Identity>,
        job: Box<dyn ShardedJob>,
        start: Instant,
    ) -> Result<Self> {
        let name = &job.digest()[..16];
        let folder = config.shards.join(name);
        Ok(OneParty {
            me: config.me,
            keep: match &config.shards_store {
                None => Keep::Folder(folder.join("kept")),
                Some(url) => Keep::Store {
                    url: url.clone(),
                    // Parties may have one store, so the job does not suffice.
                    under: format!("{name}-{:.16}", identity.fingerprint().to_string()),
                    deadline: config.timeout,
                },
            },
            folder,
            identity,
            meeting: Meeting {
                transport: Transport::Tls,
                connect_timeout: config.connect_timeout,
                timeout: config.timeout,
                phase_timeout: config.phase_timeout,
                on_wait: config.on_wait.clone(),
                hosts: hosts(config, job.protocol().parties()),
            },
            also_agree: Arc::new(()),
            listening: match &config.listen {
                Some(address) => Listening::At(listen_address(address)?),
                None => Listening::Nowhere,
            },
            job,
            workers: None,
            in_service: false,
            start,
        })
    }

    /// The same, whose shards are computed by workers that connect to `desk`.
    ///
    /// # Errors
    /// [`Error::Usage`] if nobody can listen there.
    pub(crate) fn with_desk(mut self, desk: Option<DeskAt<'_>>) -> Result<Self> {
        let Some(desk) = desk else { return Ok(self) };
        let listen = |address: &str, what: &str| {
            let failed = |error| Error::Usage(format!("the address {what}, {address}: {error}"));
            resolve(address).and_then(TcpListener::bind).map_err(failed)
        };
        let relay = desk.relay.map(|address| listen(address, "of the relay"));
        self.workers = Some(Door {
            listener: listen(desk.workers, "for workers")?,
            relay: relay.transpose()?,
        });
        Ok(self)
    }

    /// Whether an earlier run of this party has left the job half done.
    pub(crate) fn goes_on(&self) -> bool {
        self.ledger().exists()
    }

    fn ledger(&self) -> PathBuf {
        ledger_in(&self.folder)
    }

    /// Meets the peers of `config`, and runs the job with them.
    ///
    /// # Errors
    /// [`Error::Protocol`] if a peer is missing, different, lost, or caught cheating; why the job has ended.
    pub(crate) fn meet(
        self,
        config: &PartyConfig,
        session: &Session,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Held<Merged>> {
        let topology = topology(self.job.protocol().parties());
        let identity = Arc::clone(&self.identity);
        let connections = meet_with(config, identity, &topology, Budget::default(), session)?;
        self.run(connections, session, &mut |done, total, _| progress(done, total))
    }

    /// What its attempts share, and where it records them.
    fn into_work(self) -> Result<(Work, Option<Door>, Listening)> {
        let (opened, state) = Opened::of(&self.folder);
        let work = Work {
            partials: Partials::open(&self.keep, &self.identity, self.job.shapes())?,
            job: self.job,
            me: self.me,
            meeting: self.meeting,
            also_agree: self.also_agree,
            opened,
            state: Mutex::new(state),
        };
        Ok((work, self.workers, self.listening))
    }

    /// Coordinates the job with the peers that `connections` go to, and computes its parts.
    pub(super) fn run(
        self,
        connections: Connections,
        session: &Session,
        progress: Hears<'_>,
    ) -> Result<Held<Merged>> {
        let job = coordinated(&*self.job)?;
        let removes = (!self.in_service).then(|| self.folder.clone());
        let start = self.start;
        let identity = Arc::clone(&self.identity);
        let mut ledger = Ledger::open(&self.ledger(), &job)?;
        let (of_shard, of_merge) = self.job.and_gates();
        let shards = u64::from(self.job.counts().shards);
        let keys = commitment(&*self.job, &identity)?;
        let (work, workers, listening) = self.into_work()?;
        let work = Arc::new(work);
        let (timeout, connect_timeout) = (work.meeting.timeout, work.meeting.connect_timeout);
        let party = Party {
            me: work.me,
            keys,
            limits: Limits {
                silence: timeout,
                listen: connect_timeout,
                end: 2 * timeout,
                idle: connect_timeout,
            },
        };
        let (sender, inbox) = events();
        let stop = sender.clone();
        session.then(move || stop.tell(cenote_shards::Event::Stop));
        let tell: Tell = Arc::new(move |event| sender.tell(event));
        let threads = Threads::new(Arc::clone(&work), Arc::clone(&tell), listening);
        let mut crew: Box<dyn Crew> = match workers {
            None => Box::new(threads.with_rows()),
            Some(door) => {
                let both = (Arc::clone(&work), threads);
                Box::new(Remote::start(both, (door, identity), tell)?)
            }
        };
        let total = shards * of_shard + of_merge;
        let mut told = |state: &Progress| {
            let whole = u64::from(state.done).min(shards) * of_shard;
            let under_way: u64 = state.running.iter().map(|running| running.done).sum();
            progress((whole + under_way).min(total), total, state);
        };
        let coordinated = coordinate(&party, connections, &mut ledger, &mut *crew, inbox, &mut told);
        work.state().is_done = coordinated.is_ok();
        drop((crew, ledger));
        let goes_on = removes.is_none() && can_go_on(&work, coordinated.as_ref().err());
        let ended = ended(&work, coordinated, removes.as_deref(), start);
        ended.map_err(|error| match goes_on {
            true => Error::CutOff(Box::new(error)),
            false => error,
        })
    }
}

/// The ledger in the folder of a job.
pub(super) fn ledger_in(folder: &Path) -> PathBuf {
    folder.join("attempts")
}

/// Commits to what a party gives, and tells nothing to who has not its key.
fn commitment(job: &dyn ShardedJob, identity: &Identity) -> Result<[u8; 32]> {
    let mut hash = Sha256::new_with_prefix(*identity.derived("digest of tables in shards"));
    job.commit(&mut hash)?;
    Ok(hash.finalize().into())
}

/// Whether the coordinators of a job were cut off by this, and it can go on where it was. That they meet again shows what they can know of it.
fn can_go_on(work: &Work, error: Option<&cenote_shards::Error>) -> bool {
    use cenote_shards::Error as Failure;
    let state = work.state();
    let is_cut_off = match error {
        Some(Failure::Session(error)) => was_lost(error),
        Some(Failure::Silent { .. } | Failure::Late { .. } | Failure::Idle { .. } | Failure::Stopped) => true,
        _ => false,
    };
    is_cut_off && state.failure.is_none() && !state.is_opened
}

/// Whether this only says that a peer or a connection was lost, so that the coordinators of a job may meet again and go on.
pub fn may_meet_again(error: &Error) -> bool {
    matches!(error, Error::Protocol { error } if was_lost(error))
}

fn was_lost(error: &cenote_session::Error) -> bool {
    use cenote_net::Error as Net;
    use cenote_session::Error as Session;
    match error {
        Session::Net(error) => !matches!(
            error,
            Net::Mismatch { .. } | Net::Identity { .. } | Net::Violation { .. } | Net::Local { .. }
        ),
        Session::PeerStopped { reason, .. } => reason.check().is_none(),
        _ => false,
    }
}

/// What a job has come to at this party. What it leaves in the folder that it `removes` goes when it is over.
fn ended(
    work: &Work,
    coordinated: cenote_shards::Result<cenote_shards::Done>,
    removes: Option<&Path>,
    start: Instant,
) -> Result<Held<Merged>> {
    let mut state = work.state();
    let report = state.report.take().map(|all| of_job(all, &*work.job, start));
    let (merged, known, is_opened) = (state.merged.take(), state.failure.take(), state.is_opened);
    drop(state);
    if merged.is_none()
        && let Some(report) = &report
    {
        // Of sessions that ended well: no report tells it.
        for warning in &report.warnings {
            tracing::warn!(target: "cenote::job", "{}", warning.text);
        }
        work.also_agree.warned(report.warnings.clone());
    }
    let (mut held, unfinished) = match (merged, coordinated) {
        // What was learnt is verified, whatever has become of the peers.
        (Some(held), coordinated) => (held, coordinated.err()),
        (None, Err(error)) => {
            return Err(match known {
                // Its worker was ended because a peer had lost the merge.
                Some(Error::Stopped { .. }) if is_opened => Error::Service {
                    kind: crate::Kind::Network,
                    what: "the merge was lost when the answer may have been opened".into(),
                },
                // What this party knows itself says more than what it told its peers.
                Some(known) => known,
                None => failure(error),
            });
        }
        (None, Ok(_)) => {
            remove(work, removes);
            return Err(Error::Service {
                kind: crate::Kind::Network,
                what: "an earlier run of this party was cut off when the answer had been opened, and it is gone; run the job again, with all parties".into(),
            });
        }
    };
    remove(work, removes);
    held.report = report.unwrap_or(held.report);
    if let Some(error) = unfinished {
        let text = format!("the answer is verified, but not all parties may have theirs: {error}");
        held.report
            .warnings
            .push(Warning::new(WarningKind::NoAgreement, text));
        held.is_agreed = false;
    }
    Ok(held)
}

/// Removes what a job has left that is over.
fn remove(work: &Work, folder: Option<&Path>) {
    let Some(folder) = folder else { return };
    work.partials.remove_all();
    // What cannot be removed is sealed, and of no use to any other job.
    let _ = std::fs::remove_dir_all(folder);
}

/// How the coordination of a job failed, in the words of this crate.
fn failure(error: cenote_shards::Error) -> Error {
    use cenote_shards::Error as Failure;
    match error {
        Failure::Session(error) => error.into(),
        Failure::Failed { .. } => Error::Service {
            kind: crate::Kind::Reported,
            what: error.to_string(),
        },
        other => Error::Service {
            kind: crate::Kind::Network,
            what: other.to_string(),
        },
    }
}

/// What a job cost whose sessions cost so much together.
fn of_job(mut all: PartyReport, job: &dyn ShardedJob, start: Instant) -> PartyReport {
    let mut seconds = Seconds::default();
    for (phase, time) in all.costs.seconds.iter().filter(|(phase, _)| *phase != "total") {
        seconds.add(phase, Duration::from_secs_f64(time));
    }
    seconds.add("total", start.elapsed());
    let description = &mut all.description;
    description.error_log2 = job.error_log2(description.error_log2);
    let (mut circuit, lanes) = job.described(description.circuit.clone());
    circuit.name = format!("{} in {} shards", circuit.name, job.counts().shards);
    description.circuit = circuit;
    description.lanes = lanes as u64;
    description.protocol = job.protocol().clone();
    let costs = &mut all.costs;
    costs.seconds = seconds;
    costs.bits_per_and = None;
    costs.peak_memory_bytes = memory::peak();
    costs.memory_bound_bytes = job
        .memory_bytes(PartyId(costs.party))
        .unwrap_or(costs.memory_bound_bytes);
    all
}

/// Where the workers of a party that are processes of their own find their coordinator, and peers find them.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The coordinator's address, `host:port`.
    pub coordinator: String,
    /// Where the worker listens: an address with port 0 takes a free port.
    pub listen: SocketAddr,
    /// The host at which peers reach it; without one, the address from which it reaches its coordinator.
    pub host: Option<String>,
    /// Whether peers reach it only through the coordinator's relay. Then it listens on its own machine alone.
    pub relayed: bool,
}

/// Where a coordinator listens, as `host:port`.
#[derive(Clone, Copy, Debug)]
pub struct DeskAt<'a> {
    /// For its workers.
    pub workers: &'a str,
    /// For peers of those workers that are reached through it, if there are any. Peers reach this port at the party's host.
    pub relay: Option<&'a str>,
}

/// Computes shards of the job at `job` for the party of `config`, as its coordinator at `placement.coordinator` hands them out, until there are none. What a shard takes of
/// this party's rows or inputs, the coordinator has placed; no files of them are read. `told` hears of each attempt that has ended, and how.
///
/// # Errors
/// Those of [`Job::load`] and [`QueryJob::load`](query::QueryJob::load); [`Error::Service`] if the coordinator is not reached; what happened to a shard that may not be tried again.
pub fn work_for(
    config: &PartyConfig,
    job: &Path,
    placement: &Placement,
    told: &mut dyn FnMut(&str),
) -> Result<()> {
    let start = Instant::now();
    let (identity, job) = match query::QueryJob::is_at(job) {
        true => {
            let job = query::QueryJob::load(job)?;
            let identity = entered(config, job.protocol())?;
            (identity, query::placed_in_shards(config.me, job)?)
        }
        false => {
            let job = Job::load(job)?;
            (
                entered(config, job.protocol())?,
                circuit_in_shards(&job, config.me)?,
            )
        }
    };
    job.admit_worker(config.me)?;
    let party = OneParty::elsewhere(config, Arc::clone(&identity), job, start)?;
    let listening = match (&placement.host, placement.relayed) {
        (_, true) => Listening::Here,
        (Some(host), _) => Listening::For(placement.listen, host.clone()),
        (None, _) => Listening::For(placement.listen, own_host(&placement.coordinator)?),
    };
    let work = Arc::new(party.into_work()?.0);
    let listening = (listening, placement.relayed);
    let worker = Worker::connect(work, listening, &placement.coordinator, &identity)?;
    worker.run(&mut |attempt, outcome| {
        told(&match outcome {
            Outcome::Done => format!("{attempt}: done"),
            Outcome::Lost(why) => format!("{attempt}: lost: {why}"),
            Outcome::Failed(why) => format!("{attempt}: failed: {why}"),
        });
    })
}

/// The address of this machine by which it reaches `address`.
fn own_host(address: &str) -> Result<String> {
    let failed = |error| Error::Usage(format!("the coordinator's address, {address}: {error}"));
    let to = resolve(address).map_err(failed)?;
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // Nothing is sent: the system only chooses a way.
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect(to).map_err(failed)?;
    Ok(match socket.local_addr().map_err(failed)?.ip() {
        IpAddr::V4(own) => own.to_string(),
        IpAddr::V6(own) => format!("[{own}]"),
    })
}

/// The hosts at which the peers of `config` are reached, in the order of the parties.
fn hosts(config: &PartyConfig, parties: u8) -> Vec<String> {
    let host = |party: PartyId| {
        let peer = config.peers.iter().find(|peer| peer.party == party)?;
        let (host, _) = peer.address.as_ref()?.rsplit_once(':')?;
        Some(host.to_owned())
    };
    (0..parties)
        .map(|party| host(PartyId(party)).unwrap_or_default())
        .collect()
}

/// Runs a job in shards in the child process of one party.
///
/// # Errors
/// As [`OneParty::meet`].
pub(crate) fn at_seat(seat: &Seat<'_>, job: Box<dyn ShardedJob>, start: Instant) -> Result<Held<Merged>> {
    let folder = tempfile::tempdir().map_err(|error| Error::local("making a folder for shards", error))?;
    let (timeout, on_wait) = (seat.timeout(), seat.on_wait());
    let topology = topology(job.protocol().parties());
    let party = OneParty {
        job,
        me: seat.me,
        identity: Arc::new(Identity::generate()?),
        folder: folder.path().join("job"),
        keep: Keep::Folder(folder.path().join("kept")),
        meeting: Meeting {
            transport: seat.transport(),
            connect_timeout: timeout,
            timeout,
            phase_timeout: seat.phase_timeout(),
            on_wait,
            hosts: Vec::new(),
        },
        also_agree: Arc::new(()),
        listening: Listening::Here,
        workers: None,
        in_service: false,
        start,
    };
    Session::run("its peers were told", |session| {
        let connections = session.interrupts(seat.connect(&topology, Budget::default())?);
        let mut told = |done, total, _: &Progress| seat.progress(done, total);
        party.run(connections, session, &mut told)
    })
}

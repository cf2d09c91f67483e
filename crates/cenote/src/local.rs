//! All parties on this machine: jobs, queries, and whatever else a crate above runs so.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use cenote_net::{Budget, Identity, Listen, OnWait, PartyId, PeerAddress};
use cenote_primitives::BitMatrix;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::outputs::OutputFiles;
use crate::plan::Sample;
use crate::processes::{Contact, Heard, Parent, child, run_all};
use crate::query::Told;
use crate::runner::{AlsoAgree, Outcome, with_version};
use crate::stop::Session;
use crate::text::tell;
use crate::{Error, Job, Kind, Party, PartyReport, Program, Protocol, Report, Result, Transport, query};
use cenote_session::{Connections, Link, Terms, Topology, handshake};

/// How parties on this machine find each other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// How they are joined.
    pub transport: Transport,
    /// How long one waits for another that is silent.
    pub timeout: Duration,
    /// How long each phase of a session may take: see [`Party::phase_timeout`].
    pub phase_timeout: Option<Duration>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Task {
    Job { path: PathBuf, lanes: usize },
    Query(query::Task),
    Sample(Sample),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Assignment<T> {
    setting: Setting,
    task: T,
}

/// Runs `job` with a process for each party. `command` starts a child, which must call [`child_main`]; `progress` is told the
/// AND gates done, of how many. Files that the job names for outputs are written.
///
/// # Errors
/// Those of [`Job::check_standalone`] and [`Job::infer_lanes`], before anything is started; [`Error::Parties`] if a party fails, such as for its
/// inputs.
pub fn run_job(
    job: &Path,
    setting: Setting,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report> {
    let path = job;
    let job = Job::load(path)?;
    job.check_standalone()?;
    let lanes = job.infer_lanes()?;
    let protocol = job.protocol();
    let (program, parties) = (job.program(lanes)?, (0..protocol.parties()).map(PartyId));
    protocol.prepare(&program.demand())?.admit(&program, parties)?;
    job.warn_if_exposed();
    let files = OutputFiles::check(&job, |_| true)?;
    files.put_aside()?;
    let task = Task::Job {
        path: path.to_owned(),
        lanes,
    };
    let report = report(run(protocol.parties(), setting, &task, command, progress)?)?;
    files.write(&report.outputs)?;
    Ok(report)
}

/// Runs a query with a process for each of `parties` parties, and gives what they tell.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_query(
    parties: u8,
    setting: Setting,
    task: query::Task,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Told>> {
    run(parties, setting, &Task::Query(task), command, progress)
}

/// Runs `sample` with a process for each party.
///
/// # Errors
/// As [`run_job`].
pub(crate) fn run_sample(sample: &Sample, setting: Setting, command: impl Fn() -> Command) -> Result<Report> {
    let parties = sample.protocol.parties();
    report(run(
        parties,
        setting,
        &Task::Sample(sample.clone()),
        command,
        &mut |_, _| (),
    )?)
}

/// Runs `task` with a process for each of `parties` parties, joined as `setting` says, and gives their answers in order.
/// `command` starts a child, which must call [`as_child`] with the same types; `progress` is told the work done, of how much.
///
/// # Errors
/// [`Error::Usage`] if the parties are to be joined by memory; [`Error::Parties`] if one fails.
pub fn run<T: Serialize + Clone, R: DeserializeOwned + Send + 'static>(
    parties: u8,
    setting: Setting,
    task: &T,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<R>> {
    run_heard(parties, setting, task, command, &mut |heard| {
        if let Heard::Progress { done, total } = heard {
            progress(done, total);
        }
    })
}

/// As [`run`], for parties that tell more than how much is done ([`Seat::note`]).
///
/// # Errors
/// As [`run`].
pub fn run_heard<T: Serialize + Clone, R: DeserializeOwned + Send + 'static>(
    parties: u8,
    setting: Setting,
    task: &T,
    command: impl Fn() -> Command,
    heard: &mut dyn FnMut(Heard),
) -> Result<Vec<R>> {
    if setting.transport == Transport::Memory {
        return Err(Error::Usage(
            "parties that are processes are joined by tls or tcp, not by memory".into(),
        ));
    }
    let task = task.clone();
    let assignment = Assignment { setting, task };
    run_all(
        parties,
        |_| command(),
        |_| assignment.clone(),
        setting.timeout,
        heard,
    )
}

/// Runs as the child of [`run`]: one party, whose task comes on standard input.
///
/// # Errors
/// The kind of the failure, for the exit code; the parent has been told the rest.
pub fn as_child<T: DeserializeOwned, R: Serialize>(
    run: impl FnOnce(Seat<'_>, T) -> Result<R>,
) -> std::result::Result<(), Kind> {
    child(|me, assignment: Assignment<T>, parent| {
        let setting = assignment.setting;
        run(Seat { me, setting, parent }, assignment.task)
    })
}

fn report(told: Vec<Told>) -> Result<Report> {
    combine(told.into_iter().map(|told| told.report).collect())
}

/// What the parties' reports say together.
///
/// # Errors
/// [`Error::Local`] if they contradict each other.
pub fn combine(reports: Vec<PartyReport>) -> Result<Report> {
    Report::new(reports).map_err(disagreement)
}

fn disagreement(what: impl Into<String>) -> Error {
    Error::local(
        "comparing the parties' results",
        std::io::Error::other(what.into()),
    )
}

/// The whole of a child process that [`run_job`] or [`query::run_here`] started.
///
/// # Errors
/// As [`as_child`].
pub fn child_main() -> std::result::Result<(), Kind> {
    as_child(|seat, task| match task {
        Task::Job { path, lanes } => {
            let job = Job::load(&path)?;
            let inputs = job.read_inputs(seat.me, lanes)?;
            let outcome = seat.compute(job.protocol(), &job.program(lanes)?, &inputs, &())?;
            Ok(Told::of(outcome.report))
        }
        Task::Sample(sample) => {
            let program = sample.program()?;
            let inputs = sample.inputs(&program, seat.me);
            let channels = sample.protocol.topology().channels();
            let slow = |connections| sample.link.shape(connections, channels as u8);
            let outcome = seat.compute_over(slow, &sample.protocol, &program, &inputs, &())?;
            Ok(Told::of(outcome.report))
        }
        Task::Query(task) => query::run_task(&seat, &task),
    })
}

/// Where a party's process stands: which party it is, and how it meets the others.
pub struct Seat<'a> {
    /// The party.
    pub me: PartyId,
    setting: Setting,
    parent: &'a Parent,
}

impl Seat<'_> {
    /// How the parties are joined.
    pub(crate) fn transport(&self) -> Transport {
        self.setting.transport
    }

    /// How long each phase may take.
    pub(crate) fn phase_timeout(&self) -> Option<Duration> {
        self.setting.phase_timeout
    }

    /// Tells the parent how much is done, of how much.
    pub fn progress(&self, done: u64, total: u64) {
        self.parent.progress(done, total);
    }

    /// Tells the parent something else: see [`Heard::Note`].
    pub fn note(&self, note: serde_json::Value) {
        self.parent.note(note);
    }

    /// Runs `program`, as [`Party::run`] does.
    ///
    /// # Errors
    /// Those of [`Party::run`]; [`Error::Local`] if this machine cannot listen.
    pub fn compute(
        &self,
        protocol: &Protocol,
        program: &Program,
        inputs: &[Option<BitMatrix>],
        also_agree: &dyn AlsoAgree,
    ) -> Result<Outcome> {
        self.compute_over(|connections| connections, protocol, program, inputs, also_agree)
    }

    /// The same over what `wrap` makes of the connections.
    fn compute_over(
        &self,
        wrap: impl FnOnce(Connections) -> Connections,
        protocol: &Protocol,
        program: &Program,
        inputs: &[Option<BitMatrix>],
        also_agree: &dyn AlsoAgree,
    ) -> Result<Outcome> {
        let party = Party {
            me: self.me,
            protocol,
            program,
            inputs,
            also_agree,
            transport: self.setting.transport,
            phase_timeout: self.setting.phase_timeout,
        };
        Session::run("its peers were told", |session| {
            let connect = || {
                Ok(wrap(session.interrupts(
                    self.connect(&protocol.topology(), Budget::default())?,
                )))
            };
            party.run(connect, &mut |done, total| self.progress(done, total))
        })
    }

    /// Tells the operator, on the standard error that all processes share, of parties that are waited for for long.
    fn on_wait(&self) -> OnWait {
        let me = self.me;
        OnWait::new(OnWait::AFTER, move |waiting| {
            tell(format_args!("{me}: {waiting}"))
        })
    }

    /// Connects to the others, makes sure that one process of each has come, and does `work`, which ends in order at the
    /// operator's word.
    ///
    /// # Errors
    /// [`Error::Local`] if this machine cannot listen; [`Error::Protocol`] if a peer is missing or different; those of `work`.
    pub fn meet<T>(&self, topology: &Topology, work: impl FnOnce(Connections) -> Result<T>) -> Result<T> {
        Session::run("its peers were told", |session| {
            let mut connections = session.interrupts(self.connect(topology, Budget::default())?);
            // How long a measurement takes is the operator's choice.
            let _phases = self.setting.phase_timeout.map(|limit| {
                let phases = connections.phases(limit);
                phases.begin("the measurement");
                phases
            });
            handshake(self.me, &mut connections, &with_version(Terms::new()), &())?;
            work(connections)
        })
    }

    /// Makes a key, listens, tells the parent, and connects to those that the parent tells of.
    pub(crate) fn connect(&self, topology: &Topology, budget: Budget) -> Result<Connections> {
        let identity = Identity::generate()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Error::local("listening on the loopback interface", error))?;
        let address: SocketAddr = listener
            .local_addr()
            .map_err(|error| Error::local("listening on the loopback interface", error))?;
        let contacts = self.parent.meet(Contact {
            party: self.me.0,
            address,
            fingerprint: identity.fingerprint().to_string(),
        })?;
        let parties = contacts.into_iter().map(|contact| PeerAddress {
            address: contact.address.to_string(),
            fingerprint: contact.fingerprint.parse().ok(),
        });
        let link = Link {
            me: self.me,
            parties: parties.collect(),
            listen: Listen::Bound(listener),
            identity: (self.setting.transport == Transport::Tls).then(|| Arc::new(identity)),
            connect_timeout: self.setting.timeout,
            timeout: self.setting.timeout,
            on_wait: self.on_wait(),
            budget,
        };
        Ok(Connections::connect(topology, link)?)
    }
}

//! All parties on this machine: jobs, the demonstration, benchmarks.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use cenote_net::{Identity, Listen, OnWait, PartyId, PeerAddress};
use cenote_primitives::BitMatrix;
use serde::{Deserialize, Serialize};

use crate::bench::{Bench, Measure, Measured};
use crate::processes::{Contact, Parent, child, run_all};
use crate::runner::{AlsoAgree, Outcome, as_threads, run_in_memory};
use crate::{Error, Job, Kind, Party, PartyReport, Program, Protocol, Report, Result, Transport, data, demo};
use cenote_session::{Connections, Link, Topology};

/// How parties on this machine find each other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// How they are joined.
    pub transport: Transport,
    /// How long one waits for another that is silent.
    pub timeout: Duration,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Task {
    Job { path: PathBuf, lanes: usize },
    Demo(demo::Task),
    Bench(Bench),
    Measure(Measure),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Assignment {
    setting: Setting,
    task: Task,
}

/// What a party's process answers. In JSON the one or the other, without its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Answer {
    /// A report, and in the demonstration the ids that were found.
    Computed {
        report: Box<PartyReport>,
        over_limit: Vec<String>,
    },
    Measured(Box<Measured>),
}

impl Answer {
    fn computed(report: PartyReport) -> Self {
        Self::Computed {
            report: Box::new(report),
            over_limit: Vec::new(),
        }
    }
}

/// Runs `job` with a process for each party. `command` starts a child, which must call [`child_main`]; `progress` is told the
/// AND gates done, of how many. Files that the job names for outputs are written.
///
/// # Errors
/// Those of [`Job::infer_lanes`] and [`Job::read_inputs`], before anything is started; [`Error::Parties`] if a party fails.
pub fn run_job(
    job: &Path,
    setting: Setting,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report> {
    let path = job;
    let job = Job::load(path)?;
    let lanes = job.infer_lanes()?;
    // Every value is looked at before a process is started: complaints come at once, and one at a time.
    let protocol = job.protocol();
    for party in (0..protocol.parties()).map(PartyId) {
        job.read_inputs(party, lanes)?;
    }
    protocol.check(&job.program(lanes)?)?;
    job.warn_if_exposed();
    for file in job.output_files().iter().flatten() {
        data::check_writable(file)?;
    }
    let task = Task::Job {
        path: path.to_owned(),
        lanes,
    };
    let report = report(run(protocol.parties(), setting, &task, command, progress)?)?;
    for (output, file) in report.outputs.iter().zip(job.output_files()) {
        if let (Some(values), Some(file)) = (&output.values, file) {
            data::write(file, values)?;
        }
    }
    Ok(report)
}

/// What the demonstration found.
#[derive(Clone, Debug, Serialize)]
pub struct DemoReport {
    /// The customers whose joint exposure passes the limit, as all three banks learnt them.
    pub over_limit: Vec<String>,
    /// The limit, in cents.
    pub limit: u64,
    /// Customers compared.
    pub customers: u64,
    /// What it cost.
    #[serde(flatten)]
    pub report: Report,
}

/// Runs the demonstration over the files in `folder`, which must exist, with a process for each bank.
///
/// # Errors
/// [`Error::Parties`] if a bank fails, such as for a malformed file.
pub fn run_demo(
    task: demo::Task,
    setting: Setting,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<DemoReport> {
    task.check()?;
    let limit = task.limit;
    let parties = Protocol::default().parties();
    let answers = run(parties, setting, &Task::Demo(task), command, progress)?;
    let found = |answer: &Answer| match answer {
        Answer::Computed { over_limit, .. } => Some(over_limit.clone()),
        Answer::Measured(_) => None,
    };
    let over_limit = found(&answers[0]).unwrap_or_default();
    if answers[1..]
        .iter()
        .any(|answer| found(answer).as_ref() != Some(&over_limit))
    {
        return Err(disagreement("the banks found different customers"));
    }
    let report = report(answers)?;
    Ok(DemoReport {
        over_limit,
        limit,
        customers: report.description.lanes,
        report,
    })
}

/// Runs a benchmark: with a process for each party, or as threads of this process if joined by memory.
///
/// # Errors
/// Those of [`Bench::program`] and [`Bench::check`]; [`Error::Parties`] if a party fails.
pub fn run_bench(
    bench: &Bench,
    setting: Setting,
    command: impl Fn() -> Command,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Report> {
    let measured = bench.program()?;
    let protocol = Protocol::Three(bench.protocol);
    protocol.check(&measured)?;
    if setting.transport == Transport::Memory {
        let inputs = Bench::inputs(&measured);
        let outcomes = run_in_memory(&protocol, &measured, &inputs, setting.timeout, progress)?;
        for outcome in &outcomes {
            Bench::check(&measured, outcome)?;
        }
        let reports = outcomes
            .into_iter()
            .map(|outcome| silent(outcome.report))
            .collect();
        return Report::new(reports).map_err(disagreement);
    }
    drop(measured);
    let task = Task::Bench(bench.clone());
    report(run(protocol.parties(), setting, &task, command, progress)?)
}

/// Runs a measurement: with a process for each party, or as threads of this process if joined by memory. Gives what each party
/// has measured, in order.
pub(crate) fn run_measure(
    setting: Setting,
    measure: &Measure,
    command: &dyn Fn() -> Command,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Vec<Measured>> {
    let topology = measure.topology();
    if setting.transport == Transport::Memory {
        let connections = Connections::in_memory(&topology, setting.timeout);
        return as_threads(connections, progress, |me, connections, progress| {
            measure.run(me, connections, progress)
        });
    }
    let task = Task::Measure(measure.clone());
    let answers = run(topology.parties, setting, &task, command, progress)?;
    let measured = |answer| match answer {
        Answer::Measured(measured) => Ok(*measured),
        Answer::Computed { .. } => Err(disagreement("a party answered another question")),
    };
    answers.into_iter().map(measured).collect()
}

fn run(
    parties: u8,
    setting: Setting,
    task: &Task,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Answer>> {
    if setting.transport == Transport::Memory {
        return Err(Error::Usage(
            "parties that are processes are joined by tls or tcp, not by memory".into(),
        ));
    }
    let assignment = Assignment {
        setting,
        task: task.clone(),
    };
    run_all(
        parties,
        |_| command(),
        |_| assignment.clone(),
        setting.timeout,
        progress,
    )
}

fn report(answers: Vec<Answer>) -> Result<Report> {
    let reports = answers.into_iter().map(|answer| match answer {
        Answer::Computed { report, .. } => Ok(*report),
        Answer::Measured(_) => Err(disagreement("a party answered another question")),
    });
    Report::new(reports.collect::<Result<_>>()?).map_err(disagreement)
}

fn disagreement(what: impl Into<String>) -> Error {
    Error::local(
        "comparing the parties' results",
        std::io::Error::other(what.into()),
    )
}

/// A report without values.
fn silent(mut report: PartyReport) -> PartyReport {
    for output in &mut report.outputs {
        output.values = None;
    }
    report
}

/// The whole of a child process that [`run_job`], [`run_demo`] or [`run_bench`] started: one party, told what to do on standard
/// input.
///
/// # Errors
/// The kind of the failure, for the exit code; the parent has been told the rest.
pub fn child_main() -> std::result::Result<(), Kind> {
    child(|me, assignment: Assignment, parent| {
        let place = Place {
            me,
            setting: assignment.setting,
            parent,
        };
        match assignment.task {
            Task::Job { path, lanes } => {
                let job = Job::load(&path)?;
                let inputs = job.read_inputs(me, lanes)?;
                let outcome = place.compute(job.protocol(), &job.program(lanes)?, &inputs, &())?;
                Ok(Answer::computed(outcome.report))
            }
            Task::Demo(task) => {
                let protocol = Protocol::default();
                let findings = task.run(me, |program, inputs, fields| {
                    place.compute(&protocol, program, inputs, fields)
                })?;
                Ok(Answer::Computed {
                    report: Box::new(findings.report),
                    over_limit: findings.over_limit,
                })
            }
            Task::Bench(bench) => {
                let program = bench.program()?;
                let own = |(owner, bits): (&PartyId, BitMatrix)| (*owner == me).then_some(bits);
                let inputs: Vec<_> = program
                    .owners()
                    .iter()
                    .zip(Bench::inputs(&program))
                    .map(own)
                    .collect();
                let protocol = Protocol::Three(bench.protocol);
                let outcome = place.compute(&protocol, &program, &inputs, &())?;
                Bench::check(&program, &outcome)?;
                Ok(Answer::computed(silent(outcome.report)))
            }
            Task::Measure(measure) => {
                let connections = place.connect(&measure.topology())?;
                let progress = &mut |done, total| place.parent.progress(done, total);
                let measured = measure.run(me, connections, progress)?;
                Ok(Answer::Measured(Box::new(measured)))
            }
        }
    })
}

/// Where a child stands: which party it is, and how it meets the others.
struct Place<'a> {
    me: PartyId,
    setting: Setting,
    parent: &'a Parent,
}

impl Place<'_> {
    fn compute(
        &self,
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
        };
        party.run(|| self.connect(&protocol.topology()), &mut |done, total| {
            self.parent.progress(done, total)
        })
    }

    /// Makes a key, listens, tells the parent, and connects to those that the parent tells of.
    fn connect(&self, topology: &Topology) -> Result<Connections> {
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
            on_wait: OnWait::default(),
        };
        Ok(Connections::connect(topology, link)?)
    }
}

//! A query, run by all parties on this machine or by one whose peers are elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cenote_net::PartyId;
use cenote_program::{Session as ProgramSession, Tally};
use cenote_query::{Error as QueryError, OwnInput, Query};
use cenote_session::{AlsoAgree, Connections};
use cenote_tables::Table;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{Instead, QueryJob};
use super::planned::Planned;
use super::policy::Policy;
use super::report::{Answered, QueryReport, Told};
use super::shards::{self, Sharded};
use crate::local::{Assigned, Seat, Setting, Task, combine, run, value};
use crate::meeting::{entered, meet_with};
use crate::outputs::{check_writable, put_aside};
use crate::programs::Conversation;
use crate::report::{
    CircuitDescription, Description, Held, NO_ERROR_LOG2, PartyCosts, PartyReport, Report, Seconds,
};
use crate::shards::{DeskAt, NO_DESK, SessionOf, not_cut};
use crate::stop::Session;
use crate::{Error, PartyConfig, Result, Transport};

/// One party's part in a query, as a child process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct QueryPart {
    path: PathBuf,
    instead: Instead,
    takes: Takes,
}

/// What a job takes, as was found before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Takes {
    Whole(Tally),
    InShards(Box<shards::Tallies>),
}

/// Runs the query of the job at `path` with a process for each party. `command` starts a child, which must call
/// [`child_main`](crate::local::child_main); `progress` is told the AND gates done, of how many. The file that the job names for the answer is written.
///
/// # Errors
/// Those of [`QueryJob::load`], before anything is started; [`Error::Parties`] if a party fails, such as for its table.
pub fn run_here(
    path: &Path,
    instead: &Instead,
    setting: Setting,
    command: impl Fn() -> Command,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<QueryReport> {
    let job = QueryJob::load_with(path, instead)?;
    let parties = job.protocol().parties();
    let all = (0..parties).map(PartyId);
    let (job, takes) = if job.in_shards().is_some() {
        let sharded = Sharded::new(job)?;
        sharded.admit(all)?;
        let takes = Takes::InShards(Box::new(sharded.tallies().clone()));
        (sharded.job, takes)
    } else {
        let planned = Planned::new(job)?;
        planned.admit(all)?;
        (planned.job, Takes::Whole(planned.tally))
    };
    if let Some(file) = job.answer_file() {
        check_writable(file)?;
        put_aside(file)?;
    }
    let part = QueryPart {
        path: path.to_owned(),
        instead: instead.clone(),
        takes,
    };
    let told: Vec<Told> = run(parties, setting, &Task::new(&part)?, command, progress)?;
    let answer = told.iter().find_map(|told| told.answer.clone());
    let report = combine(told.into_iter().map(|told| told.report).collect())?;
    Ok(QueryReport {
        answer,
        file: job.answer_file().map(|file| file.display().to_string()),
        report,
    })
}

impl Assigned for QueryPart {
    const NAME: &'static str = "query";

    fn take_part(&self, seat: &Seat<'_>) -> Result<Value> {
        let told = match &self.takes {
            Takes::Whole(tally) => run_task(seat, self, tally),
            Takes::InShards(takes) => {
                shards::run_child(seat, (&self.path, &self.instead), takes.as_ref().clone())
            }
        };
        value(&told?)
    }
}

/// Runs `part` in the child process of one party.
fn run_task(seat: &Seat<'_>, part: &QueryPart, tally: &Tally) -> Result<Told> {
    let start = Instant::now();
    let job = QueryJob::load_with(&part.path, &part.instead)?;
    let planned = Planned::with(Arc::new(job), tally.clone())?;
    let given = planned.given(seat.me)?;
    let topology = planned.job.protocol().topology();
    let writes = planned.job.query().schema().answer.to.iter().next();
    let (file, to_write) = (
        planned.job.answer_file().map(Path::to_owned),
        writes == Some(seat.me),
    );
    let (table, told) = Session::run("its peers were told", |session| {
        let connections = session.interrupts(seat.connect(&topology, planned.budget())?);
        let party = Party {
            me: seat.me,
            start,
            phase_timeout: seat.phase_timeout(),
            transport: seat.transport(),
            also_agree: &(),
        };
        let job = Arc::clone(&planned.job);
        let held = party.run(planned, given, connections, &mut |done, total| {
            seat.progress(done, total)
        })?;
        held.told(&job)
    })?;
    if let (Some(file), Some(table), true) = (file, &table, to_write) {
        written(&file, table)?;
    }
    Ok(told)
}

/// The policy of a party, which allows the query of `job`.
pub(super) fn allowed(config: &PartyConfig, job: &QueryJob) -> Result<Option<Policy>> {
    let policy = config.policy.as_deref().map(Policy::load).transpose()?;
    if let Some(policy) = &policy {
        policy.check_job(config.me, job)?;
        for (table, file) in job.own_files(config.me) {
            policy.check_file(table, file)?;
        }
    }
    Ok(policy)
}

/// Writes an answer.
pub(super) fn written(file: &Path, table: &Table) -> Result<()> {
    let mangled = cenote_tables::write(file, table)?;
    if mangled > 0 {
        tracing::warn!(
            "{mangled} texts of the answer are no UTF-8, which an owner must have given on purpose: what is wrong in them is replaced in {}",
            file.display()
        );
    }
    Ok(())
}

/// Does `work`, which comes to the answer of `job`, once nothing at the party of `config` is in the way: the file of the answer can be written, and its `policy` has
/// counted the query. What `work` comes to is written.
pub(super) fn answered(
    config: &PartyConfig,
    job: &QueryJob,
    policy: Option<Policy>,
    work: impl FnOnce() -> Result<(Option<Table>, Told)>,
) -> Result<QueryReport> {
    let entitled = job.query().schema().answer.to.contains(config.me);
    let file = job.answer_file().filter(|_| entitled);
    if let Some(file) = file {
        check_writable(file)?;
    }
    if let Some(policy) = policy {
        policy.count(config.me, job.query(), None)?;
    }
    // What was answered before goes when nothing can refuse this query any more.
    if let Some(file) = file {
        put_aside(file)?;
    }
    let (table, told) = work()?;
    if let (Some(file), Some(table)) = (file, &table) {
        written(file, table)?;
    }
    Ok(QueryReport {
        answer: told.answer,
        file: file.map(|file| file.display().to_string()),
        report: Report::of_one(told.report),
    })
}

/// Sees that everything is in order that can be known before the peers are met: the identity, the job and this party's tables. Gives the
/// fingerprint that peers know it by, and the AND gates of the query.
///
/// # Errors
/// As [`run_party`].
pub fn check_party(config: &PartyConfig, job: QueryJob) -> Result<(cenote_net::Fingerprint, u64)> {
    let fingerprint = entered(config, job.protocol())?.fingerprint();
    if job.in_shards().is_some() {
        return Ok((fingerprint, shards::check_party(config, job)?));
    }
    let planned = Planned::new(job)?;
    planned.admit([config.me])?;
    allowed(config, &planned.job)?;
    planned.given(config.me)?;
    Ok((fingerprint, planned.tally.and_gates))
}

/// Runs the query of `job` as the party of `config`, and writes its answer if the job names a file and it is for this party.
///
/// # Errors
/// [`Error::Config`], [`Error::Usage`] or [`Error::Table`] for what is wrong before anybody is met; [`Error::Protocol`] if a peer is missing, different, lost,
/// or caught cheating; [`Error::Usage`] if the query has no answer.
pub fn run_party(
    config: &PartyConfig,
    job: QueryJob,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<QueryReport> {
    if job.in_shards().is_some() {
        return shards::run_party(config, job, None, progress);
    }
    let start = Instant::now();
    let identity = entered(config, job.protocol())?;
    let planned = Planned::new(job)?;
    planned.admit([config.me])?;
    let policy = allowed(config, &planned.job)?;
    let given = planned.given(config.me)?;
    let job = Arc::clone(&planned.job);
    let topology = planned.protocol.topology();
    let what = "the query has ended, its peers were told, and this party has written no answer";
    let run = |session: &Session| {
        let connections = meet_with(config, identity, &topology, planned.budget(), session)?;
        let party = Party {
            me: config.me,
            start,
            phase_timeout: config.phase_timeout,
            transport: Transport::Tls,
            also_agree: &(),
        };
        party.run(planned, given, connections, progress)?.told(&job)
    };
    answered(config, &job, policy, || Session::run(what, run))
}

/// Runs the query of `job`, which is cut into shards, as the party of `config`. Its shards are computed by workers that connect to `desk`, where they show this
/// party's key ([`work_for`](crate::shards::work_for)).
///
/// # Errors
/// As [`run_party`]; [`Error::Usage`] if the job is not cut, or nobody can listen there.
pub fn coordinate_party(
    config: &PartyConfig,
    job: QueryJob,
    desk: DeskAt<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<QueryReport> {
    if job.in_shards().is_none() {
        return Err(not_cut(NO_DESK));
    }
    shards::run_party(config, job, Some(desk), progress)
}

impl Held<Option<Table>> {
    /// The answer, and what is told of it and of the session.
    pub(super) fn told(self, job: &QueryJob) -> Result<(Option<Table>, Told)> {
        let table = self.result?;
        let answer = table
            .as_ref()
            .map(|table| Answered::new(table, job.answer_file().is_none()));
        let report = self.report;
        Ok((table, Told { report, answer }))
    }
}

/// One party of a query.
pub(super) struct Party<'a> {
    pub(super) me: PartyId,
    pub(super) start: Instant,
    pub(super) phase_timeout: Option<Duration>,
    pub(super) transport: Transport,
    /// What else the parties compare before they compute.
    pub(super) also_agree: &'a (dyn AlsoAgree + Sync),
}

impl<'a> Party<'a> {
    /// That of a part of a job in shards.
    pub(super) fn of(session: &SessionOf<'a>) -> Self {
        Party {
            me: session.me,
            start: Instant::now(),
            phase_timeout: session.phase_timeout,
            transport: session.transport,
            also_agree: session.also_agree,
        }
    }

    /// Computes the answer.
    pub(super) fn run(
        self,
        planned: Planned,
        given: OwnInput,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Held<Option<Table>>> {
        let run = |query: &Query, session: &ProgramSession| query.run(session, given);
        self.hold(planned, run, connections, progress)
    }

    /// Does `work` in a session.
    pub(super) fn hold<T: Send>(
        self,
        planned: Planned,
        work: impl FnOnce(&Query, &ProgramSession) -> cenote_query::Result<T> + Send,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Held<T>> {
        let mut seconds = Seconds::default();
        seconds.add("connect", self.start.elapsed());
        let memory_bytes = planned.memory_bytes(self.me);
        let Planned {
            job,
            part,
            protocol,
            tally,
            prepared,
        } = planned;
        let (digest, parameters, demand) = (job.digest(), prepared.parameters(None), tally.demand());
        let conversation = Conversation {
            me: self.me,
            demand: &demand,
            terms: job.terms(),
            also_agree: self.also_agree,
            phase_timeout: self.phase_timeout,
        };
        let run = Instant::now();
        let (telling, told) = mpsc::channel();
        // A session stays with its thread, and this one tells how far it is.
        let (result, ended) = std::thread::scope(|scope| {
            let query = job.part(part);
            let party = scope.spawn(move || {
                conversation.hold(prepared, connections, |session| {
                    session.on_progress(move |done| {
                        // Nobody listening any more is no failure.
                        let _ = telling.send(done);
                    });
                    match work(query, session) {
                        // All parties know it, and end as if there were one.
                        Err(QueryError::NoAnswer) => Ok(None),
                        answer => answer.map(Some),
                    }
                })
            });
            told.iter()
                .for_each(|done| progress(done, tally.and_gates.max(done)));
            party.join().unwrap_or_else(|_| {
                Err(Error::local(
                    "running the query",
                    std::io::Error::other("its thread panicked"),
                ))
            })
        })?;
        if ended.is_agreed {
            self.also_agree.settled();
        }
        let result = result.ok_or_else(|| QueryError::NoAnswer.into());
        seconds.add("run", run.elapsed());
        seconds.add("total", self.start.elapsed());
        let mut costs = ended.costs;
        costs.memory_bytes = costs.memory_bytes.max(memory_bytes);
        let report = PartyReport {
            description: Description {
                protocol,
                transport: self.transport,
                parameters,
                error_log2: ended.error_log2.max(NO_ERROR_LOG2),
                computational_bits: Some(ended.computational_bits).filter(|bits| bits.is_finite()),
                circuit: CircuitDescription {
                    name: "query".into(),
                    digest,
                    and_gates: tally.and_gates,
                    and_depth: tally.levels,
                },
                lanes: 1,
            },
            outputs: Vec::new(),
            costs: PartyCosts::new(self.me.0, &costs, seconds),
            warnings: ended.warnings,
        };
        Ok(Held {
            result,
            report,
            is_agreed: ended.is_agreed,
        })
    }
}

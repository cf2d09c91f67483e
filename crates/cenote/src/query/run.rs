//! A query, run by all parties on this machine or by one whose peers are elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cenote_net::{Budget, PartyId};
use cenote_program::{Session as ProgramSession, Tally};
use cenote_query::{Error as QueryError, OwnInput, Query};
use cenote_session::{AlsoAgree, Connections, memory};
use cenote_tables::Table;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{Instead, QueryJob};
use super::policy::Policy;
use super::report::{Answered, QueryReport, Told};
use super::shards::{self, Sharded};
use crate::admission::{PROCESS, queue_bytes};
use crate::local::{Assigned, Seat, Setting, Task, combine, run, value};
use crate::meeting::{load_identity, meet_with};
use crate::outputs::{check_writable, put_aside};
use crate::programs::Conversation;
use crate::report::{
    CircuitDescription, Description, NO_ERROR_LOG2, PartyCosts, PartyReport, Report, Seconds,
};
use crate::stop::Session;
use crate::text::megabytes;
use crate::{Error, PartyConfig, Prepared, Protocol, Result, Transport};

/// The most bytes that a query may take of a party, if no limit is set.
const MEMORY: u64 = 2 << 30;

/// Bytes for messages to each peer, where little is sent before something is received.
const QUEUES: u64 = 32 << 20;

/// Queries that take less of a party do not use huge pages: with them they take a few hundredths less time, and a fifth more memory.
const SMALL: u64 = 1 << 30;

/// Bytes that the allocator keeps of what planning a query took.
const PLANNING: u64 = 16 << 20;

/// Of what a session takes the allocator keeps as much again as this part at most, for a while, once it is free.
const FREED: u64 = 4;

/// One party's part in a query, as a child process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct QueryPart {
    path: PathBuf,
    instead: Instead,
    takes: Takes,
}

/// What a job takes, as the parent has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Takes {
    Whole(Tally),
    InShards(Box<shards::Tallies>),
}

/// What a session computes of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// What each shard computes.
    Shard,
    /// What is computed of that.
    Merge,
}

/// What a session computes, with all that follows from it and is public.
pub(super) struct Planned {
    pub(super) job: Arc<QueryJob>,
    pub(super) part: Part,
    pub(super) protocol: Protocol,
    pub(super) tally: Tally,
    pub(super) prepared: Prepared,
}

impl Planned {
    pub(super) fn new(job: QueryJob) -> Result<Self> {
        let job = Arc::new(job);
        let tally = tally_of(&job, Part::Whole)?;
        Self::with(job, tally)
    }

    /// The same, with what it takes known.
    pub(super) fn with(job: Arc<QueryJob>, tally: Tally) -> Result<Self> {
        Self::part(job, Part::Whole, tally)
    }

    /// A part of a job, with what it takes known.
    pub(super) fn part(job: Arc<QueryJob>, part: Part, tally: Tally) -> Result<Self> {
        let protocol = job.protocol_of(part)?;
        let prepared = protocol.prepare(&tally.demand())?;
        Ok(Planned {
            job,
            part,
            protocol,
            tally,
            prepared,
        })
    }

    /// What is computed.
    pub(super) fn query(&self) -> &Query {
        self.job.part(self.part)
    }

    /// The most bytes that `party` takes: before it meets the others, and while it computes with them.
    pub(super) fn memory_bytes(&self, party: PartyId) -> u64 {
        (PROCESS + PLANNING).saturating_add(self.session_bytes(party))
    }

    /// The same without what the process takes anyway.
    pub(super) fn session_bytes(&self, party: PartyId) -> u64 {
        let own = self.query().bytes(party);
        let demand = self.tally.demand();
        let session = [
            own.given,
            self.share_bytes(),
            self.prepared.session_bytes(&demand, party),
            self.tally.network_bytes(),
            own.answer,
            queue_bytes(
                &self.protocol.topology(),
                self.prepared.traffic_bytes(&demand),
                &self.budget(),
            ),
        ];
        let session = session.into_iter().fold(0, u64::saturating_add);
        // The allocator keeps what was free before the session began, and for a while what becomes free in it.
        let kept = own.before.saturating_add(session / FREED);
        kept.saturating_add(session)
    }

    /// Bytes of this party's shares of what is kept.
    pub(super) fn share_bytes(&self) -> u64 {
        let rows = self.protocol.kept_rows().unwrap_or(0) as u64;
        self.tally.kept.saturating_mul(rows).div_ceil(8)
    }

    /// What `me` gives.
    fn given(&self, me: PartyId) -> Result<OwnInput> {
        if self.memory_bytes(me) < SMALL {
            memory::avoid_huge_pages();
        }
        let tables = self.job.tables(me)?;
        Ok(self.query().prepare(me, &tables)?)
    }

    /// Memory for messages on their way. Where levels of ANDs take rounds, parties send little before they receive, but for what is revealed.
    pub(super) fn budget(&self) -> Budget {
        if !self.protocol.levels_take_rounds() {
            return Budget::default();
        }
        let revealed = self.tally.outputs.iter().map(|(_, bits)| bits / 8).max();
        let most = revealed.unwrap_or(0).saturating_mul(4).max(QUEUES);
        Budget::new(usize::try_from(most).map_or(Budget::DEFAULT, |most| most.min(Budget::DEFAULT)))
    }

    /// Sees that each of `parties`, and all of them together, have the memory that they need.
    pub(super) fn admit(&self, parties: impl IntoIterator<Item = PartyId>) -> Result<()> {
        let needed: Vec<u64> = parties
            .into_iter()
            .map(|party| self.memory_bytes(party))
            .collect();
        fits(needed, "")
    }
}

/// What a part of a job takes.
pub(super) fn tally_of(job: &QueryJob, part: Part) -> Result<Tally> {
    let query = job.part(part);
    fits([query.least_bytes()], "at least ")?;
    Ok(query.tally(job.protocol().abilities())?)
}

/// Sees that parties that need `about` so many bytes have them.
pub(super) fn fits(needed: impl IntoIterator<Item = u64>, about: &str) -> Result<()> {
    let needed: Vec<u64> = needed.into_iter().collect();
    let most = needed.iter().copied().max().unwrap_or(0);
    let why = if !memory::is_limited() && most > MEMORY {
        format!(
            "the query takes {about}{} MB of memory at a party, and {} MB is the most unless a limit is set",
            megabytes(most),
            megabytes(MEMORY)
        )
    } else {
        match memory::refusal(needed.into_iter().fold(0, u64::saturating_add)) {
            None => return Ok(()),
            Some(why) => why,
        }
    };
    Err(Error::Usage(format!(
        "{why}. What is sorted is in memory at once: make `max_rows` of the tables that are joined or grouped smaller, promise with `distinct` that there \
         are few groups, or set a limit that is larger: with `--memory`, with `memory` in the party file, or in Python with `cenote.limit_memory`"
    )))
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
        (sharded.job(), takes)
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
        policy.check(config.me, job.query())?;
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

/// Sees that everything is in order that can be known before the peers are met: the identity, the job and this party's tables. Gives the
/// fingerprint that peers know it by, and the AND gates of the query.
///
/// # Errors
/// As [`run_party`].
pub fn check_party(config: &PartyConfig, job: QueryJob) -> Result<(cenote_net::Fingerprint, u64)> {
    let identity = load_identity(&config.identity)?;
    config.check_parties(job.protocol())?;
    if let Some(bytes) = config.memory {
        memory::set_limit(bytes);
    }
    if job.in_shards().is_some() {
        return shards::check_party(config, job);
    }
    let planned = Planned::new(job)?;
    planned.admit([config.me])?;
    allowed(config, &planned.job)?;
    planned.given(config.me)?;
    Ok((identity.fingerprint(), planned.tally.and_gates))
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
    let start = Instant::now();
    let identity = Arc::new(load_identity(&config.identity)?);
    config.check_parties(job.protocol())?;
    if let Some(bytes) = config.memory {
        memory::set_limit(bytes);
    }
    if job.in_shards().is_some() {
        return shards::run_party(config, job, None, progress);
    }
    let planned = Planned::new(job)?;
    planned.admit([config.me])?;
    let policy = allowed(config, &planned.job)?;
    let given = planned.given(config.me)?;
    let entitled = planned.job.query().schema().answer.to.contains(config.me);
    let file = planned.job.answer_file().filter(|_| entitled).map(Path::to_owned);
    if let Some(file) = &file {
        check_writable(file)?;
    }
    if let Some(policy) = policy {
        policy.count(config.me, planned.job.query(), None)?;
    }
    // What was answered before goes when nothing can refuse this query any more.
    if let Some(file) = &file {
        put_aside(file)?;
    }
    let topology = planned.job.protocol().topology();
    let what = "the query has ended, its peers were told, and this party has written no answer";
    let (table, told) = Session::run(what, |session| {
        let connections = meet_with(config, identity, &topology, planned.budget(), session)?;
        let party = Party {
            me: config.me,
            start,
            phase_timeout: config.phase_timeout,
            transport: Transport::Tls,
            also_agree: &(),
        };
        let job = Arc::clone(&planned.job);
        party.run(planned, given, connections, progress)?.told(&job)
    })?;
    if let (Some(file), Some(table)) = (&file, &table) {
        written(file, table)?;
    }
    Ok(QueryReport {
        answer: told.answer,
        file: file.map(|file| file.display().to_string()),
        report: Report::of_one(told.report),
    })
}

/// Runs the query of `job`, which is cut into shards, as the party of `config`. Its shards are computed by workers that connect to `workers`, `host:port`, where
/// they show this party's key ([`work_for`](super::work_for)).
///
/// # Errors
/// As [`run_party`]; [`Error::Usage`] if the job is not cut, or nobody can listen there.
pub fn coordinate_party(
    config: &PartyConfig,
    job: QueryJob,
    workers: &str,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<QueryReport> {
    if job.in_shards().is_none() {
        let what = "the job is not cut into shards, so there is nothing to hand out; give `shards = N` in the job file";
        return Err(Error::Usage(what.into()));
    }
    shards::run_party(config, job, Some(workers), progress)
}

/// How the session of a query went that has ended.
pub(super) struct Held<T = Option<Table>> {
    /// What it came to: the answer, if this party learns it; the error that there is none, which all parties know.
    pub(super) result: Result<T>,
    pub(super) report: PartyReport,
    pub(super) is_agreed: bool,
}

impl Held {
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

impl Party<'_> {
    /// Computes the answer.
    pub(super) fn run(
        self,
        planned: Planned,
        given: OwnInput,
        connections: Connections,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Held> {
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

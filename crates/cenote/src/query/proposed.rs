//! A query that was proposed to a party: what it takes, and its runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_net::PartyId;
use cenote_program::Tally;
use cenote_query::{Declared, OwnInput, PlanStep};
use cenote_session::{AlsoAgree, Connections, Topology};
use cenote_tables::Table;

use super::file::QueryJob;
use super::parameters::{GREATEST, Values};
use super::planned::{Part, Planned};
use super::report::Answered;
use super::run::{Party, Takes};
use super::shards::{Overflow, OwnTables, QueryInShards, Sharded};
use crate::report::{Held, PartyReport};
use crate::shards::{Given, Joined, ShardsFar, Within};
use crate::{Bundle, Error, Result, Transport};

/// Bytes of a cell of an answer as text, and in the text that is sealed, besides what a value of text has.
const CELL: u64 = 96;

/// Bytes of the answer to a call as text, at most.
const CALLED: u64 = 1 << 20;

/// A query that was proposed to a party, checked, planned and measured.
#[derive(Debug)]
pub struct Proposed {
    job: Arc<QueryJob>,
    takes: Takes,
    me: PartyId,
    and_gates: u64,
    memory_bytes: Vec<u64>,
    traffic_bytes: u64,
}

/// One run of it.
pub struct Run {
    /// The party's tables; nothing for those of others.
    pub tables: Vec<Option<Table>>,
    /// What else the parties compare before they compute, in each session.
    pub also_agree: Arc<dyn AlsoAgree + Send + Sync>,
    /// How the parties are joined.
    pub within: Within,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Far {
    /// AND gates that are done.
    pub done: u64,
    /// Of how many.
    pub total: u64,
    /// How far its shards are, if it is cut.
    pub shards: Option<ShardsFar>,
}

impl Far {
    /// How far one session is.
    pub fn of_one(done: u64, total: u64) -> Self {
        Far {
            done,
            total,
            shards: None,
        }
    }
}

/// How a run has ended whose parties have computed.
#[derive(Debug)]
pub struct Ended {
    /// The answer, if this party learns it; the error that there is none, which all parties know.
    pub answer: Result<Option<Answered>>,
    /// What it cost, and what this party should know besides.
    pub report: PartyReport,
    /// Whether the session has ended in agreement. If not, this party has learnt what it learns all the same.
    pub is_agreed: bool,
}

impl Proposed {
    /// Reads a query that was sent with its job, for the party `me`.
    ///
    /// # Errors
    /// [`Error::Config`] or [`Error::Query`] with the place, if the job is wrong; [`Error::Usage`] if it takes more memory than the process may have.
    pub fn new(bundle: &Bundle, me: PartyId) -> Result<Self> {
        let mut proposed = Self::of(QueryJob::from_bundle(bundle, Values::Sample(GREATEST))?, me)?;
        if proposed.job.parameters().is_empty() {
            return Ok(proposed);
        }
        // What a call takes depends on its values a little.
        for sample in 0..GREATEST {
            let job = QueryJob::from_bundle(bundle, Values::Sample(sample));
            match job.and_then(|job| Self::of(job, me)) {
                Ok(other) => proposed.raise(&other),
                // No value need be this one.
                Err(Error::Query { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(proposed)
    }

    /// The query of one call, with the values of its parameters.
    ///
    /// # Errors
    /// [`Error::Usage`] or [`Error::Query`] if these values are not of their types, or it cannot be asked with them, or not within what was stated before there were values: no more
    /// memory, and no more than twice the gates.
    pub fn called(&self, bundle: &Bundle, values: &BTreeMap<String, String>) -> Result<Self> {
        let called = Self::of(QueryJob::from_bundle(bundle, Values::Given(values))?, self.me)?;
        let more = |what: &str| {
            Err(Error::Usage(format!(
                "with these values the query takes more {what} than was approved; propose it with them"
            )))
        };
        if called.and_gates > self.and_gates.saturating_mul(2) {
            return more("gates");
        }
        let mut memory = called.memory_bytes.iter().zip(&self.memory_bytes);
        if memory.any(|(takes, stated)| takes > stated) {
            return more("memory");
        }
        Ok(called)
    }

    /// States no less than `other` takes.
    fn raise(&mut self, other: &Self) {
        self.and_gates = self.and_gates.max(other.and_gates);
        self.traffic_bytes = self.traffic_bytes.max(other.traffic_bytes);
        for (stated, takes) in self.memory_bytes.iter_mut().zip(&other.memory_bytes) {
            *stated = (*stated).max(*takes);
        }
    }

    fn of(job: QueryJob, me: PartyId) -> Result<Self> {
        let parties = (0..job.protocol().parties()).map(PartyId);
        let with_text = |job: &QueryJob, party, session: u64| session.saturating_add(text_bytes(job, party));
        if job.in_shards().is_some() {
            let sharded = Sharded::new(job)?;
            let bytes = parties.map(|party| {
                let (query, session) = (sharded.job.query(), sharded.session_bytes(party)?);
                // A service has them in memory at first.
                let tables = query
                    .bytes_of_tables(party)
                    .saturating_add(query.bytes_of_checks(party));
                Ok(with_text(&sharded.job, party, session.saturating_add(tables)))
            });
            return Ok(Proposed {
                memory_bytes: bytes.collect::<Result<_>>()?,
                traffic_bytes: sharded.traffic_bytes()?,
                and_gates: sharded.and_gates(),
                takes: Takes::InShards(Box::new(sharded.tallies().clone())),
                job: sharded.job,
                me,
            });
        }
        let planned = Planned::new(job)?;
        if planned.job.calls().is_some() {
            let most = (0..planned.job.protocol().parties())
                .map(|party| text_bytes(&planned.job, PartyId(party)))
                .max();
            if most.is_some_and(|most| most > CALLED) {
                return Err(Error::Usage(format!(
                    "an answer of a query that stands takes at most {} kB as text, since those of many calls are kept; lower `max_rows` of [answer]",
                    CALLED >> 10
                )));
            }
        }
        let bytes = parties.map(|party| {
            // Its tables stay between calls.
            let stays = match planned.job.calls() {
                Some(_) => planned.job.query().bytes_of_tables(party),
                None => 0,
            };
            with_text(
                &planned.job,
                party,
                planned.session_bytes(party).saturating_add(stays),
            )
        });
        Ok(Proposed {
            memory_bytes: bytes.collect(),
            traffic_bytes: planned.prepared.traffic_bytes(&planned.tally.demand()),
            and_gates: planned.tally.and_gates,
            takes: Takes::Whole(planned.tally),
            job: planned.job,
            me,
        })
    }

    /// The job.
    pub fn job(&self) -> &QueryJob {
        &self.job
    }

    /// AND gates of a run.
    pub fn and_gates(&self) -> u64 {
        self.and_gates
    }

    /// The steps of its plan, the last one first, and what each takes: those of a shard after those of the merge, if it is cut.
    pub fn steps(&self) -> Vec<PlanStep> {
        let of = |part, tally: &Tally| self.job.part(part).foreseen(tally).steps();
        match &self.takes {
            Takes::Whole(tally) => of(Part::Whole, tally),
            Takes::InShards(tallies) => {
                let merge = of(Part::Merge, tallies.of(Part::Merge));
                merge
                    .into_iter()
                    .chain(of(Part::Shard, tallies.of(Part::Shard)))
                    .collect()
            }
        }
    }

    /// Levels of ANDs one after another, if it is one session.
    pub fn levels(&self) -> Option<u64> {
        match &self.takes {
            Takes::Whole(tally) => Some(tally.levels),
            Takes::InShards(_) => None,
        }
    }

    /// What every party learns, a sentence each.
    pub fn learnt(&self) -> Vec<String> {
        self.job.query().learnt()
    }

    /// How the parties are connected when a run begins.
    pub fn topology(&self) -> Topology {
        match self.takes {
            Takes::Whole(_) => self.job.protocol().topology(),
            Takes::InShards(_) => cenote_shards::topology(self.job.protocol().parties()),
        }
    }

    /// How many columns and parts of expressions its plans have: what it takes of memory while it waits.
    pub fn parts(&self) -> usize {
        let cut = self.job.in_shards().map(|in_shards| &in_shards.cut);
        let of_cut = cut.map_or(0, |cut| cut.shard().parts() + cut.merge().parts());
        self.job.query().parts() + of_cut
    }

    /// How it is cut, in a sentence, if it is.
    pub fn in_shards(&self) -> Option<String> {
        self.job.in_shards().map(|in_shards| in_shards.told())
    }

    /// The most bytes of memory that a run takes at each party, besides what the process takes anyway.
    pub fn memory_bytes(&self) -> &[u64] {
        &self.memory_bytes
    }

    /// Bytes that a party sends and receives, about.
    pub fn traffic_bytes(&self) -> u64 {
        self.traffic_bytes
    }

    /// A table of this party, in CSV, as complaints call it by its name.
    ///
    /// # Errors
    /// [`Error::Table`] with the place where it cannot be used. Values are not quoted.
    pub fn posted_table(&self, index: usize, source: impl Read) -> Result<Table> {
        let declared = self.declared(index)?;
        Ok(cenote_tables::read_csv(
            source,
            &declared.name,
            &declared.fields,
            declared.max_rows,
        )?)
    }

    /// A table of this party, of a file in CSV or Parquet that is open and that complaints call `name`.
    ///
    /// # Errors
    /// As [`Proposed::posted_table`].
    pub fn table_in(&self, index: usize, file: File, name: &str) -> Result<Table> {
        let declared = self.declared(index)?;
        let path = Path::new(name);
        Ok(cenote_tables::read_open(
            file,
            path,
            &declared.fields,
            declared.max_rows,
        )?)
    }

    /// Sees that this party's tables keep what the job declares of them and that its own calculations go through, as a run does before anybody is met.
    ///
    /// # Errors
    /// [`Error::Table`], which says what they do not keep.
    pub fn rehearse(&self, tables: &[Option<Table>]) -> Result<()> {
        match self.takes {
            Takes::Whole(_) if self.job.parameters().is_empty() => {
                self.job.query().prepare(self.me, tables).map(drop)?;
            }
            // Where rows are, or which values they meet, and so what is calculated of them, nobody knows yet.
            _ => self.job.query().check(self.me, tables)?,
        }
        Ok(())
    }

    /// What this party gives to a call, made of its tables, which were [rehearsed](Proposed::rehearse).
    ///
    /// # Errors
    /// [`Error::Table`] if a calculation goes wrong on its rows.
    pub fn given(&self, tables: &[Option<Table>]) -> Result<OwnInput> {
        Ok(self.job.query().prepare_unchecked(self.me, tables)?)
    }

    fn declared(&self, index: usize) -> Result<&Declared> {
        let tables = &self.job.query().schema().tables;
        tables
            .get(index)
            .ok_or_else(|| Error::Usage(format!("the query has {} tables", tables.len())))
    }

    /// Runs the query once, over the connections of [`Proposed::topology`] that `connect` gives. Nobody is met before this party's tables are seen to keep what is
    /// declared. The answer, if it is for this party.
    ///
    /// # Errors
    /// [`Error::Table`] if a table does not keep what is declared, or the query has no answer; what `connect` fails with;
    /// [`Error::Protocol`] if a peer is missing, different, lost, or caught cheating.
    pub fn run(
        &self,
        run: Run,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(&Far),
    ) -> Result<Ended> {
        let held = match &self.takes {
            Takes::InShards(takes) => {
                // Where its data is in the clear anyway.
                let overflow = Overflow::to(run.within.folder.parent().unwrap_or(&run.within.folder));
                let tables = OwnTables::of(self.job.query(), self.me, run.tables, &overflow)?;
                let sharded = Sharded::with(Arc::clone(&self.job), takes.as_ref().clone());
                let joined = Joined {
                    job: Box::new(QueryInShards::new(sharded, self.me, Given::Own(tables))),
                    me: self.me,
                    also_agree: run.also_agree,
                    within: run.within,
                };
                joined.run(connect, progress)?.answer()
            }
            Takes::Whole(_) => {
                let given = self.job.query().prepare(self.me, &run.tables)?;
                drop(run.tables);
                let also_agree: &(dyn AlsoAgree + Sync) = &*run.also_agree;
                let how = (also_agree, run.within.transport, run.within.phase_timeout);
                return self.answer(given, how, connect()?, progress);
            }
        };
        Ok(Ended::of(held))
    }

    /// Answers it in one session, where it is not cut.
    ///
    /// # Errors
    /// [`Error::Protocol`] if a peer is missing, different, lost, or caught cheating.
    pub fn answer(
        &self,
        given: OwnInput,
        (also_agree, transport, phase_timeout): (&(dyn AlsoAgree + Sync), Transport, Option<Duration>),
        connections: Connections,
        progress: &mut dyn FnMut(&Far),
    ) -> Result<Ended> {
        let Takes::Whole(tally) = &self.takes else {
            return Err(Error::Usage("a job in shards has several sessions".into()));
        };
        let planned = Planned::with(Arc::clone(&self.job), tally.clone())?;
        let party = Party {
            me: self.me,
            start: Instant::now(),
            phase_timeout,
            transport,
            also_agree,
        };
        let held = party.run(planned, given, connections, &mut |done, total| {
            progress(&Far::of_one(done, total));
        })?;
        Ok(Ended::of(held))
    }
}

impl Ended {
    fn of(held: Held<Option<Table>>) -> Self {
        Ended {
            answer: held
                .result
                .map(|table| table.map(|table| Answered::rows_of(&table))),
            report: held.report,
            is_agreed: held.is_agreed,
        }
    }
}

/// Bytes of the answer as text, if `me` learns it.
fn text_bytes(job: &QueryJob, me: PartyId) -> u64 {
    let query = job.query();
    if !query.schema().answer.to.contains(me) {
        return 0;
    }
    let row: u64 = query
        .fields()
        .iter()
        .map(|field| CELL + u64::from(field.kind.width() / 4))
        .sum();
    (query.answer_rows() as u64).saturating_mul(row)
}

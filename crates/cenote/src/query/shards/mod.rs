//! Queries that are cut into shards.

mod own;
mod piles;
mod plan;
pub(crate) mod rows;
mod run;
mod sorted;

use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_net::PartyId;
use cenote_primitives::BitMatrix;
use cenote_program::Tally;
use cenote_program::kept::rows_in_parts;
use cenote_query::{Cut, Query};
use cenote_session::Terms;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toml::Spanned;

pub use self::own::{OwnTables, Parts};
pub use self::piles::Overflow;
pub(super) use self::plan::proposed;
pub use self::plan::{ShardsPlan, TableInShards};
pub(crate) use self::run::placed_in_shards;
pub(super) use self::run::{check_party, run_child, run_party};
use super::file::QueryJob;
use super::planned::{PROCESS_BYTES, Part, Planned, fits, tally_of};
use super::run::Party;
use crate::report::{CircuitDescription, Held};
use crate::settings_file::SettingsFile;
use crate::shards::{Begun, Counts, Given, Merged, SessionOf, ShardedJob, after_others};
use crate::{Protocol, Result};

/// How a job is cut.
#[derive(Debug)]
pub(super) struct InShards {
    pub(super) cut: Cut,
    pub(super) counts: Counts,
}

impl InShards {
    /// How a job is cut whose file says so.
    pub(super) fn read(
        (shards, attempts): (Option<Spanned<u32>>, Option<Spanned<u32>>),
        query: &Query,
        protocol: &Protocol,
        source: &SettingsFile,
    ) -> Result<Option<Self>> {
        let Some((counts, span)) = Counts::read(shards.as_ref(), attempts.as_ref(), source)? else {
            return Ok(None);
        };
        let at = shards.as_ref().map_or(span.clone(), Spanned::span);
        let count = NonZero::new(counts.shards).unwrap_or(NonZero::<u32>::MIN);
        let cut = query
            .cut(count, protocol.security())
            .map_err(|error| match error {
                cenote_query::Error::Declared(what) => source.fault(at, what),
                other => other.into(),
            })?;
        let kept: Vec<(u32, usize)> = cut.kept().collect();
        counts
            .check_keeping(protocol, &kept)
            .map_err(|what| source.fault(span, what))?;
        Ok(Some(InShards { cut, counts }))
    }

    /// How it is cut, in a sentence.
    pub(super) fn told(&self) -> String {
        format!(
            "It is cut into {} shards, which may be tried {} times in all, the merge included: {}.",
            self.cut.shards(),
            self.counts.attempts,
            self.cut.told()
        )
    }

    /// Rows and lanes of a party's share of each relation that a shard keeps.
    pub(super) fn shapes(&self, protocol: &Protocol) -> Vec<(usize, usize)> {
        let kept_rows = protocol.kept_rows();
        let shape = |(width, lanes): (u32, usize)| match kept_rows {
            Some(rows) => (rows * width as usize, lanes),
            None => (rows_in_parts(width), lanes),
        };
        self.cut.kept().map(shape).collect()
    }
}

/// What each shard takes, and the merge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tallies {
    shard: Tally,
    merge: Tally,
}

impl Tallies {
    /// What a session of a part takes.
    pub(super) fn of(&self, part: Part) -> &Tally {
        match part {
            Part::Shard => &self.shard,
            _ => &self.merge,
        }
    }
}

/// A job in shards with all that follows from it and is public.
pub(super) struct Sharded {
    pub(super) job: Arc<QueryJob>,
    tallies: Tallies,
}

impl Sharded {
    /// Plans the parts of a job that is cut.
    pub(super) fn new(job: QueryJob) -> Result<Self> {
        let tallies = Tallies {
            shard: tally_of(&job, Part::Shard)?,
            merge: tally_of(&job, Part::Merge)?,
        };
        Ok(Sharded {
            job: Arc::new(job),
            tallies,
        })
    }

    /// The same, with what they take known.
    pub(super) fn with(job: Arc<QueryJob>, tallies: Tallies) -> Self {
        Sharded { job, tallies }
    }

    pub(super) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> u64 {
        self.cut().shards().into()
    }

    fn in_shards(&self) -> &InShards {
        self.job.in_shards().expect("the job is cut")
    }

    fn cut(&self) -> &Cut {
        &self.in_shards().cut
    }

    /// A session of a part.
    pub(super) fn planned(&self, part: Part) -> Result<Planned> {
        let tally = self.tallies.of(part);
        Planned::part(Arc::clone(&self.job), part, tally.clone())
    }

    /// AND gates of all parts.
    pub(super) fn and_gates(&self) -> u64 {
        let shards = self.tallies.shard.and_gates * u64::from(self.cut().shards());
        shards + self.tallies.merge.and_gates
    }

    /// Bytes that a party sends and receives in all parts, about.
    pub(super) fn traffic_bytes(&self) -> Result<u64> {
        let [shard, merge] = [Part::Shard, Part::Merge].map(|part| {
            let planned = self.planned(part)?;
            Ok::<_, crate::Error>(planned.prepared.traffic_bytes(&planned.tally.demand()))
        });
        Ok(shard?.saturating_mul(self.shards()).saturating_add(merge?))
    }

    /// The most bytes that `party` takes: of its tables, and of the part that takes most.
    pub(super) fn memory_bytes(&self, party: PartyId) -> Result<u64> {
        Ok(self.session_bytes(party)?.saturating_add(PROCESS_BYTES))
    }

    /// The same without what the process takes anyway.
    pub(super) fn session_bytes(&self, party: PartyId) -> Result<u64> {
        let [shard, merge] = [Part::Shard, Part::Merge].map(|part| self.part_bytes(part, party));
        let own = own::bytes(self.job.query(), self.cut().shards(), party);
        Ok(own.saturating_add(shard?.max(merge?)))
    }

    /// The most bytes that a session of a part takes.
    fn part_bytes(&self, part: Part, party: PartyId) -> Result<u64> {
        let session = self.planned(part)?.session_bytes(party);
        Ok(after_others(session))
    }

    /// The most bytes that a process of `party` takes that computes shards as a coordinator hands them out: for one of them, and for the rows of it as they lie where the
    /// coordinator has placed them, encrypted and decrypted.
    pub(super) fn worker_bytes(&self, party: PartyId) -> Result<u64> {
        let rows = 2 * self.cut().bytes_of_part(party);
        let session = self.part_bytes(Part::Shard, party)?;
        Ok(session.saturating_add(PROCESS_BYTES).saturating_add(rows))
    }

    /// Sees that each of `parties`, and all of them together, have the memory that they need.
    pub(super) fn admit(&self, parties: impl IntoIterator<Item = PartyId>) -> Result<()> {
        let needed = parties.into_iter().map(|party| self.memory_bytes(party));
        fits(needed.collect::<Result<Vec<_>>>()?, "")
    }

    fn terms(&self) -> Terms {
        let cut = self.cut();
        let mut terms: Terms = vec![crate::registry::version()];
        terms.extend(self.job.terms());
        terms.push(("protocol".into(), self.job.protocol().describe()));
        terms.push(("security".into(), self.job.protocol().security().to_string()));
        terms.push(("rows in shards".into(), cut.told()));
        for (name, part) in [
            ("plan of a shard", cut.shard()),
            ("plan of the merge", cut.merge()),
        ] {
            let digest = Sha256::digest(part.explained().tree());
            terms.push((name.into(), hex::encode(digest)));
        }
        terms
    }
}

/// A query in shards, and what one party gives to it.
pub(crate) struct QueryInShards {
    sharded: Sharded,
    me: PartyId,
    rows: Given<OwnTables>,
    /// The rows of this party in shards, once one is computed here.
    parts: Mutex<Option<Arc<Parts>>>,
}

impl QueryInShards {
    pub(super) fn new(sharded: Sharded, me: PartyId, rows: Given<OwnTables>) -> Self {
        QueryInShards {
            sharded,
            me,
            rows,
            parts: Mutex::default(),
        }
    }

    fn parts(&self) -> MutexGuard<'_, Option<Arc<Parts>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShardedJob for QueryInShards {
    fn protocol(&self) -> &Protocol {
        self.sharded.job.protocol()
    }

    fn counts(&self) -> Counts {
        self.sharded.in_shards().counts
    }

    fn terms(&self) -> Terms {
        self.sharded.terms()
    }

    fn digest(&self) -> String {
        self.sharded.job.digest()
    }

    fn described(&self, of_one: CircuitDescription) -> (CircuitDescription, usize) {
        let and_gates = self.sharded.and_gates();
        (CircuitDescription { and_gates, ..of_one }, 1)
    }

    fn and_gates(&self) -> (u64, u64) {
        let Tallies { shard, merge } = &self.sharded.tallies;
        (shard.and_gates, merge.and_gates)
    }

    fn shapes(&self) -> Vec<(usize, usize)> {
        self.sharded.in_shards().shapes(self.protocol())
    }

    fn error_log2(&self, session: f64) -> f64 {
        let kept: Vec<(u32, usize)> = self.sharded.cut().kept().collect();
        self.counts().error_log2(self.protocol(), &kept, session)
    }

    fn memory_bytes(&self, party: PartyId) -> Result<u64> {
        self.sharded.memory_bytes(party)
    }

    fn admit_worker(&self, party: PartyId) -> Result<()> {
        fits([self.sharded.worker_bytes(party)?], "")
    }

    fn commit(&self, hash: &mut Sha256) -> Result<()> {
        self.rows.own()?.commit(hash);
        Ok(())
    }

    fn begin(&self) {
        *self.parts() = None;
    }

    fn prepare(&self, begun: &Begun<'_>, is_over: &dyn Fn() -> bool) -> Result<()> {
        self.parts_of(begun, is_over).map(drop)
    }

    fn place(&self, begun: &Begun<'_>, done: &[u32], is_over: &dyn Fn() -> bool) -> Result<()> {
        self.place_rows(begun, done, is_over)
    }

    fn shard(&self, begun: &Begun<'_>, shard: u32, session: SessionOf<'_>) -> Result<Held<Vec<BitMatrix>>> {
        let own = self.tables_of(begun, shard)?;
        let planned = self.sharded.planned(Part::Shard)?;
        let given = planned.query().prepare_unchecked(self.me, &own)?;
        drop(own);
        let connections = (session.connect)(&planned.prepared.topology(), planned.budget())?;
        let keep = |query: &Query, session: &cenote_program::Session| query.keep(session, given);
        Party::of(&session).hold(planned, keep, connections, session.progress)
    }

    fn merge(&self, kept: Vec<Vec<BitMatrix>>, session: SessionOf<'_>) -> Result<Held<Merged>> {
        let planned = self.sharded.planned(Part::Merge)?;
        let given = planned
            .query()
            .prepare_unchecked(self.me, &self.tables_of_merge()?)?;
        let given = given.with_kept(kept);
        let connections = (session.connect)(&planned.prepared.topology(), planned.budget())?;
        let held = Party::of(&session).run(planned, given, connections, session.progress)?;
        Ok(held.map(Merged::Answer))
    }
}

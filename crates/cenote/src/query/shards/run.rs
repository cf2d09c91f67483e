//! A query in shards, run by all parties on this machine or by one whose peers are elsewhere.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cenote_net::PartyId;
use cenote_session::memory;

use super::{Overflow, OwnTables, QueryInShards, Sharded, Tallies};
use crate::files::scratch_folder;
use crate::local::Seat;
use crate::meeting::entered;
use crate::query::file::{Instead, QueryJob};
use crate::query::planned::SMALL;
use crate::query::report::{QueryReport, Told};
use crate::query::run::{allowed, answered, written};
use crate::shards::{DeskAt, Given, NO_WORKER, OneParty, STOPPED, ShardedJob, at_seat, not_cut};
use crate::stop::Session;
use crate::{PartyConfig, Result};

/// Sees that everything is in order that can be known before the peers are met. Gives the AND gates of the job.
pub(in crate::query) fn check_party(config: &PartyConfig, job: QueryJob) -> Result<u64> {
    let sharded = Sharded::new(job)?;
    sharded.admit([config.me])?;
    allowed(config, &sharded.job)?;
    OwnTables::read(&sharded.job, config.me, &Overflow::to(&config.scratch))?;
    Ok(sharded.and_gates())
}

/// A process that does only this does without huge pages if it takes little.
fn spare_huge_pages(sharded: &Sharded, me: PartyId) -> Result<()> {
    if sharded.memory_bytes(me)? < SMALL {
        memory::avoid_huge_pages();
    }
    Ok(())
}

/// Runs a job in shards as the party of `config`: on this machine, or by workers that connect to `desk`.
pub(in crate::query) fn run_party(
    config: &PartyConfig,
    job: QueryJob,
    desk: Option<DeskAt<'_>>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<QueryReport> {
    let start = Instant::now();
    let identity = entered(config, job.protocol())?;
    let sharded = Sharded::new(job)?;
    sharded.admit([config.me])?;
    let job = Arc::clone(&sharded.job);
    let policy = allowed(config, &job)?;
    let rows = Given::Own(OwnTables::read(&job, config.me, &Overflow::to(&config.scratch))?);
    spare_huge_pages(&sharded, config.me)?;
    let query = Box::new(QueryInShards::new(sharded, config.me, rows));
    let party = OneParty::elsewhere(config, identity, query, start)?.with_desk(desk)?;
    // A job that goes on was counted when it began, and opens one answer.
    let policy = policy.filter(|_| !party.goes_on());
    let run = |session: &Session| party.meet(config, session, progress)?.answer().told(&job);
    answered(config, &job, policy, || Session::run(STOPPED, run))
}

/// A job in shards whose rows the coordinator of `me` has placed.
///
/// # Errors
/// [`Error::Usage`] if it is not cut.
pub(crate) fn placed_in_shards(me: PartyId, job: QueryJob) -> Result<Box<dyn ShardedJob>> {
    if job.in_shards().is_none() {
        return Err(not_cut(NO_WORKER));
    }
    Ok(Box::new(QueryInShards::new(
        Sharded::new(job)?,
        me,
        Given::Placed,
    )))
}

/// Runs a job in shards in the child process of one party.
pub(in crate::query) fn run_child(
    seat: &Seat<'_>,
    (path, instead): (&Path, &Instead),
    tallies: Tallies,
) -> Result<Told> {
    let start = Instant::now();
    let sharded = Sharded::with(Arc::new(QueryJob::load_with(path, instead)?), tallies);
    let job = Arc::clone(&sharded.job);
    let rows = Given::Own(OwnTables::read(&job, seat.me, &Overflow::to(&scratch_folder()))?);
    let writes = job.query().schema().answer.to.iter().next() == Some(seat.me);
    spare_huge_pages(&sharded, seat.me)?;
    let query = Box::new(QueryInShards::new(sharded, seat.me, rows));
    let (table, told) = at_seat(seat, query, start)?.answer().told(&job)?;
    if let (Some(file), Some(table), true) = (job.answer_file(), &table, writes) {
        written(file, table)?;
    }
    Ok(told)
}

//! What the sessions of a job take, as planned: for these, no table is read, and nothing is computed. And what its rows take, as measured.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use cenote::query::{Overflow, OwnTables, Query, QueryJob};
use cenote::{Error, PartyId, Result};
use cenote_params::shards::{capacity, of_attempt};
use cenote_program::{Abilities, Tally};
use cenote_query::{Cut, HashKey};
use cenote_store::{Sealed, StoreKey};
use cenote_tables::Table;
use serde::Serialize;

use crate::queries::{ROWS_OF_KEY, join_in_shards};
use crate::usage::thread_seconds;

/// The most rows of each table with which the join is planned as a whole. With more of them the planner says that they are too many to sort, although no session would sort them all.
const MOST_PLANNED: u64 = 1 << 24;

/// What a session takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Takes {
    pub and_gates: u64,
    /// Messages that wait for one another, about.
    pub rounds: u64,
    /// Bytes that a party exchanges, about.
    pub bytes: u64,
}

/// A job that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Planned {
    pub shards: u32,
    /// Rows of all tables.
    pub rows: u64,
    /// Rows that a shard has room for, of each table.
    pub rows_of_shard: [u64; 2],
    /// Rows that a shard keeps for the merge.
    pub rows_kept: u64,
    pub shard: Takes,
    pub merge: Takes,
    /// Whether Cenote runs such a job today. If not, its parts are planned as those of smaller jobs.
    pub is_accepted: bool,
    /// Processor seconds of reading the job's file and cutting the query.
    pub load_seconds: f64,
    /// Processor seconds of counting what shards and merge take.
    pub count_seconds: f64,
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::local(
        "planning a job in shards",
        std::io::Error::other(error.to_string()),
    )
}

/// The join of tables of so many rows, and how it is cut.
fn cut(rows: [u64; 2], shards: u32, folder: &Path) -> Result<(QueryJob, Cut)> {
    let path = folder.join(format!("planned-{shards}-{}.toml", rows[0]));
    std::fs::write(&path, join_in_shards(rows, None))
        .map_err(|error| Error::local("writing a job", error))?;
    let job = QueryJob::load(&path)?;
    let count = NonZero::new(shards).ok_or_else(|| Error::Usage("a job has 1 shard or more".into()))?;
    let cut = job.query().cut(count, job.protocol().security());
    Ok((job, cut.map_err(failed)?))
}

/// Plans the join of tables of so many rows.
fn plan_whole(rows: [u64; 2], shards: u32, folder: &Path) -> Result<Planned> {
    let start = thread_seconds();
    let (job, cut) = cut(rows, shards, folder)?;
    let load_seconds = thread_seconds() - start;
    let start = thread_seconds();
    let tally = |query: &Query| query.tally(Abilities::THREE).map_err(failed);
    let (shard, merge) = (tally(cut.shard())?, tally(cut.merge())?);
    let takes = |tally: &Tally| -> Result<Takes> {
        let demand = tally.demand();
        Ok(Takes {
            and_gates: tally.and_gates,
            rounds: tally.levels + tally.messages,
            bytes: job.protocol().prepare(&demand)?.traffic_bytes(&demand),
        })
    };
    let room = |table: usize| cut.tables().get(table).map_or(0, |placed| placed.rows as u64);
    Ok(Planned {
        shards,
        rows: rows.iter().sum(),
        rows_of_shard: [room(0), room(1)],
        rows_kept: cut.kept().map(|(_, rows)| rows as u64).sum(),
        shard: takes(&shard)?,
        merge: takes(&merge)?,
        is_accepted: true,
        load_seconds,
        count_seconds: thread_seconds() - start,
    })
}

/// Plans the join of tables of `rows` times `shards` rows each. Files of jobs are in `folder`.
pub(super) fn plan(rows: u64, shards: u32, folder: &Path) -> Result<Planned> {
    let all = rows.saturating_mul(shards.into());
    if all <= MOST_PLANNED {
        return plan_whole([all; 2], shards, folder);
    }
    // A shard of it is a job of one shard with as many rows as there is room for, and its merge that of as many shards of fewer rows, which keep as many.
    let security = of_attempt(cenote::Three::default().security, 2);
    let room = |of_key: u32| capacity(all, of_key.into(), shards.into(), security).map_err(failed);
    let room = [room(1)?, room(ROWS_OF_KEY)?];
    let shard = plan_whole(room, 1, folder)?;
    let merge = plan_whole(
        [MOST_PLANNED / u64::from(shards); 2].map(|rows| rows * u64::from(shards)),
        shards,
        folder,
    )?;
    Ok(Planned {
        rows: 2 * all,
        rows_of_shard: room,
        shard: shard.shard,
        is_accepted: false,
        ..merge
    })
}

/// Processor seconds of a row of all tables, at the party that takes longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RowSeconds {
    /// Of reading and placing it.
    pub read: f64,
    /// Of writing it, sealed, for the worker that computes its shard.
    pub write: f64,
    /// Of that worker, which reads it.
    pub take: f64,
}

/// What the rows of the job at `path` take.
pub(super) fn row_seconds(planned: &Planned, path: &Path) -> Result<RowSeconds> {
    let rows = planned.rows / 2;
    let folder: PathBuf = path.parent().unwrap_or(Path::new(".")).to_owned();
    let (_, cut) = cut([rows; 2], planned.shards, &folder)?;
    let job = QueryJob::load(path)?;
    let local = |error| Error::local("making a folder for rows", error);
    let placed = tempfile::tempdir_in(&folder).map_err(local)?;
    let sealed = Sealed::open(placed.path(), &StoreKey::generate().0)?;
    let mut most = RowSeconds::default();
    for party in (0..job.protocol().parties()).map(PartyId) {
        let mut before = thread_seconds();
        let mut lap = |most: &mut f64| {
            let now = thread_seconds();
            let each = (now - std::mem::replace(&mut before, now)) / planned.rows as f64;
            *most = most.max(each);
        };
        let tables = OwnTables::read(&job, party, &Overflow::to(&folder))?;
        let parts = tables.placed(&cut, &HashKey::new([7; 32]), &|| false)?;
        let parts = parts.ok_or_else(|| failed("nobody has ended it"))?;
        lap(&mut most.read);
        let own = || {
            let declared = cut.shard().schema().tables.iter().zip(cut.tables()).enumerate();
            let own = declared.filter(|(_, (table, _))| table.party == party);
            own.flat_map(|of| (0..planned.shards).map(move |shard| (of, shard)))
        };
        for ((at, (_, placed)), shard) in own() {
            let rows = match parts.of_shard(at, shard)? {
                None => tables.whole(at)?,
                rows => rows,
            };
            let rows = rows.ok_or_else(|| failed("a table is missing"))?;
            let name = format!("{at}-{shard}");
            sealed.write(&name, &name, &rows.to_bytes(placed.rows))?;
        }
        lap(&mut most.write);
        for ((at, (table, placed)), shard) in own() {
            let name = format!("{at}-{shard}");
            let bytes = sealed.read(&name, &name, Table::byte_count(&table.fields, placed.rows))?;
            Table::from_bytes(&table.fields, placed.rows, &bytes).ok_or_else(|| failed("rows are others"))?;
        }
        lap(&mut most.take);
    }
    Ok(most)
}

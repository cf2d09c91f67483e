//! What the sessions of a job take, as planned: no table is read, and nothing is computed.

use std::num::NonZero;
use std::path::Path;
use std::time::Instant;

use cenote::query::QueryJob;
use cenote::{Error, Result};
use cenote_program::{Abilities, Tally};
use serde::Serialize;

use crate::queries::join_in_shards;

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
    /// Seconds of reading the job's file and cutting the query.
    pub load_seconds: f64,
    /// Seconds of counting what shards and merge take.
    pub count_seconds: f64,
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::local(
        "planning a job in shards",
        std::io::Error::other(error.to_string()),
    )
}

/// Plans the join of tables of `rows` times `shards` rows. The job's file is in `folder`.
pub(super) fn plan(rows: u64, shards: u32, folder: &Path) -> Result<Planned> {
    let all = rows.saturating_mul(shards.into());
    let path = folder.join(format!("planned-{shards}-{rows}.toml"));
    std::fs::write(&path, join_in_shards(all, None)).map_err(|error| Error::local("writing a job", error))?;
    let start = Instant::now();
    let job = QueryJob::load(&path)?;
    let count = NonZero::new(shards).ok_or_else(|| Error::Usage("a job has 1 shard or more".into()))?;
    let cut = job
        .query()
        .cut(count, job.protocol().security())
        .map_err(failed)?;
    let load_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let tally = |query: &cenote::query::Query| query.tally(Abilities::THREE).map_err(failed);
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
        rows: 2 * all,
        rows_of_shard: [room(0), room(1)],
        rows_kept: cut.kept().1 as u64,
        shard: takes(&shard)?,
        merge: takes(&merge)?,
        load_seconds,
        count_seconds: start.elapsed().as_secs_f64(),
    })
}

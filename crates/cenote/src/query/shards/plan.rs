//! What a job in shards will take, and how many shards a job had better have.

use std::path::Path;

use cenote_net::PartyId;
use cenote_query::Placing;
use serde::Serialize;

use super::{InShards, Sharded};
use crate::Result;
use crate::query::file::{Instead, QueryJob};
use crate::query::planned::fits;
use crate::shards::{self, told};
use crate::text::{Table, grouped};

/// Most exchanges of records that are measured for a number that is proposed: a few seconds of planning. What takes more does not fit into the usual memory.
const MOST_PROPOSED: u64 = 1 << 29;

/// How a job is cut, and what that takes.
#[derive(Clone, Debug, Serialize)]
pub struct ShardsPlan {
    /// How many shards there are.
    pub shards: u32,
    /// How often they and their merge may be tried, all together.
    pub attempts: u32,
    /// Bits of security of each session, so that all of them have those of the job.
    pub security: u32,
    /// Where the rows of each table are.
    pub tables: Vec<TableInShards>,
    /// Rows that a shard keeps for the merge, of all relations.
    pub kept_rows: u64,
    /// AND gates of a shard.
    pub shard_and_gates: u64,
    /// AND gates of the merge.
    pub merge_and_gates: u64,
}

/// A table in shards.
#[derive(Clone, Debug, Serialize)]
pub struct TableInShards {
    /// Its name.
    pub table: String,
    /// The column whose values decide in which shard a row is; nothing if each row is in any, or in all.
    pub by: Option<String>,
    /// Whether every shard has all of its rows.
    pub whole: bool,
    /// Whether only the merge reads it.
    pub merge_only: bool,
    /// The most rows that a shard has of it, which is public.
    pub rows: u64,
    /// Of so many.
    pub of: u64,
}

impl ShardsPlan {
    pub(in crate::query) fn new(sharded: &Sharded) -> Self {
        let in_shards = sharded.in_shards();
        let InShards { cut, counts } = in_shards;
        let tables = cut.asked();
        let tables = tables.map(|(declared, placed)| TableInShards {
            table: declared.name.clone(),
            by: match placed.placing {
                Placing::Key(column) => Some(declared.fields[column].name.clone()),
                Placing::Rows | Placing::Whole | Placing::Merge => None,
            },
            whole: placed.placing == Placing::Whole,
            merge_only: placed.placing == Placing::Merge,
            rows: placed.rows as u64,
            of: declared.max_rows as u64,
        });
        ShardsPlan {
            shards: cut.shards(),
            attempts: counts.attempts,
            security: counts.security(sharded.job.protocol()),
            tables: tables.collect(),
            kept_rows: cut.kept().map(|(_, rows)| rows as u64).sum(),
            shard_and_gates: sharded.tallies.shard.and_gates,
            merge_and_gates: sharded.tallies.merge.and_gates,
        }
    }

    /// As text.
    pub(in crate::query) fn table(&self) -> String {
        let mut table = Table::new("l");
        table.row(&[&"shards", &told(self.shards, self.attempts, self.security)]);
        for own in &self.tables {
            let placed = match (&own.by, own.whole) {
                (Some(column), _) => format!(
                    "by {column}, at most {} of {} rows in a shard",
                    grouped(own.rows),
                    grouped(own.of)
                ),
                (None, true) => format!("all {} rows in every shard", grouped(own.of)),
                (None, false) if own.merge_only => {
                    format!("all {} rows in the merge alone", grouped(own.of))
                }
                (None, false) => format!("{} of {} rows in a shard", grouped(own.rows), grouped(own.of)),
            };
            table.row(&[&own.table, &placed]);
        }
        table.row(&[
            &"AND gates",
            &format_args!(
                "{} in a shard, {} in the merge, to which each shard gives {} rows",
                grouped(self.shard_and_gates),
                grouped(self.merge_and_gates),
                grouped(self.kept_rows)
            ),
        ]);
        table.to_string()
    }

    /// What everybody learns besides, a sentence.
    pub(in crate::query) fn learnt(&self) -> String {
        "Everybody also learns how many shards there are, how many rows each may have, and which of them were tried again; not how many rows fell into each."
            .into()
    }
}

/// Proposes the fewest shards with which the job at `path` fits that does not fit as it is, in words; nothing if none do.
pub(in crate::query) fn proposed(path: &Path, instead: &Instead) -> Option<String> {
    let most_bytes = |shards: u32| {
        let instead = Instead {
            shards: Some(shards),
            ..instead.clone()
        };
        let job = QueryJob::load_with(path, &instead).ok()?;
        if job.exchanges() > MOST_PROPOSED {
            return None;
        }
        let sharded = Sharded::new(job).ok()?;
        let parties = (0..sharded.job.protocol().parties()).map(PartyId);
        let bytes = parties.map(|party| sharded.memory_bytes(party));
        bytes.collect::<Result<Vec<u64>>>().ok()?.into_iter().max()
    };
    shards::proposed(most_bytes, |most| fits([most], "").is_ok())
}

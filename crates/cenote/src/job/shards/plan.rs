//! What a job that is cut by its lanes will take, and how many shards it had better have.

use cenote_net::PartyId;
use cenote_session::memory;
use serde::Serialize;

use super::Lanes;
use crate::shards::{self, Counts, told};
use crate::text::{Table, grouped};
use crate::{Job, Result};

/// How a job is cut by its lanes, and what that takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LanesPlan {
    /// How many shards there are.
    pub shards: u32,
    /// How often they and their merge may be tried, all together.
    pub attempts: u32,
    /// Bits of security of each session, so that all of them have those of the job.
    pub security: u32,
    /// Lanes of a shard.
    pub lanes: u64,
    /// AND gates of a shard.
    pub shard_and_gates: u64,
    /// AND gates of the merge.
    pub merge_and_gates: u64,
}

impl Lanes {
    /// How it is cut, and what that takes.
    pub(crate) fn plan(&self) -> LanesPlan {
        LanesPlan {
            shards: self.counts.shards,
            attempts: self.counts.attempts,
            security: self.counts.security(&self.protocol),
            lanes: self.each as u64,
            shard_and_gates: self.shard.program.and_gates(),
            merge_and_gates: self.merge.program.and_gates(),
        }
    }
}

impl LanesPlan {
    /// As text.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new("l");
        table.row(&[&"shards", &told(self.shards, self.attempts, self.security)]);
        table.row(&[
            &"AND gates",
            &format_args!(
                "{} in a shard of {} lanes, {} in the merge",
                grouped(self.shard_and_gates),
                grouped(self.lanes),
                grouped(self.merge_and_gates)
            ),
        ]);
        table.to_string()
    }
}

/// Proposes the fewest shards with which `job` fits that does not fit as it is, in words; nothing if none do.
pub(crate) fn proposed(job: &Job, lanes: usize) -> Option<String> {
    let most_bytes = |shards: u32| {
        let counts = Counts {
            shards,
            attempts: 2 * shards,
        };
        let cut = Lanes::new(job, job.protocol(), counts, lanes).ok()?;
        let parties = (0..job.protocol().parties()).map(PartyId);
        let bytes = parties.map(|party| cut.memory_bytes(party));
        bytes.collect::<Result<Vec<u64>>>().ok()?.into_iter().max()
    };
    shards::proposed(most_bytes, |most| memory::admit(most).is_ok())
}

//! A job in shards at a party whose connections to its peers are kept up: a service. It computes the shards one after another.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use cenote_net::{Identity, OnWait, PartyId};
use cenote_session::Connections;
use cenote_shards::Progress;

use super::Sharded;
use super::attempt::Meeting;
use super::crew::Listening;
use super::partial::Keep;
use super::rows::Rows;
use super::run::OneParty;
use crate::Result;
use crate::query::proposed::{Far, Run};
use crate::query::run::Held;
use crate::stop::Session;

/// How far a job in shards is at one party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardsFar {
    /// How many shards there are.
    pub shards: u32,
    /// Those that are done.
    pub done: u32,
    /// Attempts that were handed out, at shards and the merge.
    pub handed_out: u32,
    /// How many there may be.
    pub attempts: u32,
    /// What is computed now, such as `shard 3 (attempt 1)`.
    pub running: Option<String>,
}

/// Removes a folder at the end.
struct Removes(PathBuf);

impl Drop for Removes {
    fn drop(&mut self) {
        // What cannot be removed is sealed, under a key that is gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One run of a job in shards.
pub(in crate::query) struct Joined {
    pub(in crate::query) sharded: Sharded,
    pub(in crate::query) me: PartyId,
    pub(in crate::query) run: Run,
}

impl Joined {
    /// Runs it, with the coordinators that `connect` connects to.
    pub(in crate::query) fn run(
        self,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(&Far),
    ) -> Result<Held> {
        let Joined { sharded, me, run } = self;
        let (shards, attempts) = (sharded.cut().shards(), sharded.in_shards().attempts);
        sharded.job.query().check(me, &run.tables)?;
        let _removes = Removes(run.folder.clone());
        let party = OneParty {
            sharded,
            me,
            rows: Rows::Own(run.tables),
            // Nobody sees it: what this process writes is sealed for it alone.
            identity: Arc::new(Identity::generate()?),
            keep: Keep::Folder(run.folder.join("kept")),
            folder: run.folder,
            meeting: Meeting {
                transport: run.transport,
                connect_timeout: run.timeout,
                timeout: run.timeout,
                phase_timeout: run.phase_timeout,
                on_wait: OnWait::default(),
                hosts: Vec::new(),
            },
            also_agree: run.also_agree,
            listening: Listening::Joined(run.join),
            workers: None,
            start: Instant::now(),
        };
        let mut told = |done, total, state: &Progress| {
            let running = state.running.first();
            progress(&Far {
                done,
                total,
                shards: Some(ShardsFar {
                    shards,
                    done: state.done.min(shards),
                    handed_out: state.handed_out,
                    attempts,
                    running: running.map(|running| running.attempt.to_string()),
                }),
            });
        };
        Session::run("its peers were told", |session| {
            party.run(connect()?, session, &mut told)
        })
    }
}

//! A job in shards at a party whose connections to its peers are kept up: a service. It computes the shards one after another.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_net::{Identity, OnWait, PartyId};
use cenote_session::{AlsoAgree, Connections};
use cenote_shards::Progress;

use super::attempt::{Join, Meeting};
use super::crew::Listening;
use super::partial::Keep;
use super::run::OneParty;
use super::{Counts, Merged, ShardedJob};
use crate::query::Far;
use crate::report::Held;
use crate::stop::Session;
use crate::{Result, Transport};

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
pub(crate) struct Joined {
    pub(crate) job: Box<dyn ShardedJob>,
    pub(crate) me: PartyId,
    /// What else the parties compare before they compute, in each session.
    pub(crate) also_agree: Arc<dyn AlsoAgree + Send + Sync>,
    pub(crate) within: Within,
}

/// How the parties of a job in shards are joined that a service runs, and where it keeps what shards leave.
pub struct Within {
    /// How the parties are joined, for the report.
    pub transport: Transport,
    /// How long a session waits for a silent peer.
    pub timeout: Duration,
    /// How long each phase of a session may take.
    pub phase_timeout: Option<Duration>,
    /// Joins the parties in the sessions of a job in shards.
    pub join: Join,
    /// A folder of its own, for what shards keep; it is made, and removed at the end.
    pub folder: PathBuf,
}

impl Joined {
    /// Runs it, with the coordinators that `connect` connects to.
    pub(crate) fn run(
        self,
        connect: impl FnOnce() -> Result<Connections>,
        progress: &mut dyn FnMut(&Far),
    ) -> Result<Held<Merged>> {
        let Joined {
            job,
            me,
            also_agree,
            within,
        } = self;
        let Counts { shards, attempts } = job.counts();
        let _removes = Removes(within.folder.clone());
        let party = OneParty {
            job,
            me,
            // Nobody sees it: what this process writes is sealed for it alone.
            identity: Arc::new(Identity::generate()?),
            keep: Keep::Folder(within.folder.join("kept")),
            folder: within.folder,
            meeting: Meeting {
                transport: within.transport,
                connect_timeout: within.timeout,
                timeout: within.timeout,
                phase_timeout: within.phase_timeout,
                on_wait: OnWait::default(),
                hosts: Vec::new(),
            },
            also_agree,
            listening: Listening::Joined(within.join),
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

//! A job in shards at a party whose connections to its peers are kept up: a service. It computes the shards one after another.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_net::{Identity, OnWait, PartyId};
use cenote_session::{AlsoAgree, Connections};
use cenote_shards::{Ledger, Progress};

use super::attempt::{Join, Meeting, Opened};
use super::crew::Listening;
use super::partial::Keep;
use super::run::{OneParty, ledger_in};
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

/// Whether the answer of a job in shards that has left this `folder` may have been opened: it cannot go on then.
pub fn may_be_opened(folder: &Path) -> bool {
    Opened::is_there(folder)
}

/// Whether the parties of a job in shards that has left this `folder` have begun it there: they have tossed its coin.
pub fn has_begun(folder: &Path) -> bool {
    matches!(Ledger::has_begun(&ledger_in(folder)), Ok(true))
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
    /// A folder of the job's own, for its ledger and what shards keep. It is made, and stays: the job goes on from it after [`Error::CutOff`](crate::Error::CutOff),
    /// and who runs the job removes it at the end.
    pub folder: PathBuf,
    /// From which the keys follow that seal what lies there.
    pub identity: Arc<Identity>,
}

impl Joined {
    /// Runs it, with the coordinators that `connect` connects to, from where it was cut off if it was.
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
        let party = OneParty {
            job,
            me,
            identity: within.identity,
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
            in_service: true,
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

//! Jobs that are cut into shards: each shard is a session of its own, of some of the rows or lanes, and a last session merges what they have kept.
//!
//! The shards of a party on one machine run one after another, so that a job takes the memory of one of them. Parties that run a job so find each other as coordinators
//! first ([`cenote_shards`]), and agree on what starts next. What is cut, and how, is each kind of job's own matter.

mod attempt;
mod counts;
mod crew;
mod desk;
mod joined;
mod partial;
mod placer;
mod run;
mod wire;
mod worker;

use std::time::Duration;

use cenote_net::{Budget, PartyId};
use cenote_primitives::BitMatrix;
use cenote_session::{AlsoAgree, Connections, Terms, Topology};
use cenote_shards::JobName;
use cenote_tables::Table;
use sha2::{Digest as _, Sha256};

pub use self::attempt::Join;
pub(crate) use self::counts::{Counts, proposed, told};
pub use self::desk::MOST_WORKERS;
pub(crate) use self::joined::Joined;
pub use self::joined::{ShardsFar, Within, has_begun, may_be_opened};
pub(crate) use self::partial::Partials;
pub use self::run::{DeskAt, Placement, may_meet_again, work_for};
pub(crate) use self::run::{OneParty, STOPPED, at_seat};
pub use self::worker::WORKER_PAUSE;
pub use crate::job::shards::Lanes;
use crate::report::{CircuitDescription, Held};
use crate::{Error, Protocol, Result, Transport};
pub use cenote_shards::topology;

/// A job that is cut, and what one party gives to its parts.
pub(crate) trait ShardedJob: Send + Sync {
    /// The protocol of the job, as it is stated.
    fn protocol(&self) -> &Protocol;

    /// How many shards there are, and how often they may be tried.
    fn counts(&self) -> Counts;

    /// What parties compare: all that they do, and what follows from it.
    fn terms(&self) -> Terms;

    /// What stands for what is computed, however it is cut and however safe it is: a party remembers by this that its answer may have been opened.
    fn digest(&self) -> String;

    /// What reports tell of it, where a session tells `of_one`, and how many instances of that there are.
    fn described(&self, of_one: CircuitDescription) -> (CircuitDescription, usize);

    /// AND gates of a shard, and of the merge.
    fn and_gates(&self) -> (u64, u64);

    /// Rows and lanes of a party's share of each thing that a shard keeps.
    fn shapes(&self) -> Vec<(usize, usize)>;

    /// The chance that a wrong answer passes, where in each session it is at most this.
    fn error_log2(&self, session: f64) -> f64;

    /// The most bytes that `party` takes: of what it gives, and of the part that takes most.
    ///
    /// # Errors
    /// As [`Protocol::prepare`].
    fn memory_bytes(&self, party: PartyId) -> Result<u64>;

    /// Sees that this machine has the memory for a process of `party` that computes shards as a coordinator hands them out.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) with what it takes.
    fn admit_worker(&self, party: PartyId) -> Result<()>;

    /// Adds what this party gives to a digest that it commits to.
    ///
    /// # Errors
    /// If it is not here.
    fn commit(&self, hash: &mut Sha256) -> Result<()>;

    /// The job begins anew, with another coin.
    fn begin(&self) {}

    /// Makes ready what this party gives to shards that are computed in this process, until `is_over` says that nobody needs it any more.
    ///
    /// # Errors
    /// What is wrong with what it gives; that it cannot be written.
    fn prepare(&self, _begun: &Begun<'_>, _is_over: &dyn Fn() -> bool) -> Result<()> {
        Ok(())
    }

    /// Places what this party gives where its workers find it, in `partials`, until `is_over` says that nobody needs it any more. Shards that are `done` need nothing.
    ///
    /// # Errors
    /// What is wrong with what it gives; that it cannot be written.
    fn place(&self, begun: &Begun<'_>, done: &[u32], is_over: &dyn Fn() -> bool) -> Result<()>;

    /// Computes a shard. What this party has of each thing that it keeps.
    ///
    /// # Errors
    /// What happened to the session, or is wrong with what this party gives.
    fn shard(&self, begun: &Begun<'_>, shard: u32, session: SessionOf<'_>) -> Result<Held<Vec<BitMatrix>>>;

    /// Computes the answer of what all shards have `kept`, in their order.
    ///
    /// # Errors
    /// As [`ShardedJob::shard`].
    fn merge(&self, kept: Vec<Vec<BitMatrix>>, session: SessionOf<'_>) -> Result<Held<Merged>>;
}

/// What a party gives to a job in shards.
pub(crate) enum Given<T> {
    /// All of it, which this process has.
    Own(T),
    /// Its coordinator has placed what each shard takes of it.
    Placed,
}

impl<T> Given<T> {
    /// All of it.
    ///
    /// # Errors
    /// [`Error::Local`] if its coordinator has it.
    pub(crate) fn own(&self) -> Result<&T> {
        match self {
            Given::Own(own) => Ok(own),
            Given::Placed => {
                let what = std::io::Error::other("its coordinator has it");
                Err(Error::local("reading what a party gives", what))
            }
        }
    }
}

/// Of what a session takes the allocator keeps as much again as this part, which the next one does not always find.
const KEPT: u64 = 5;

/// Bytes of a session that others came before, where it takes so many alone.
pub(crate) fn after_others(session: u64) -> u64 {
    session.saturating_add(session / KEPT)
}

/// A job was to be run in shards that is not cut, `what` follows from that.
pub(crate) fn not_cut(what: &str) -> Error {
    Error::Usage(format!("the job is not cut into shards{what}"))
}

/// What follows for a worker.
pub(crate) const NO_WORKER: &str = "; give `shards = N` in the job file, or run it with `cenote party`";

/// What follows for a coordinator.
pub(crate) const NO_DESK: &str = ", so there is nothing to hand out; give `shards = N` in the job file";

/// What a job came to.
pub(crate) enum Merged {
    /// The answer of a query, if this party learns it.
    Answer(Option<Table>),
    /// One entry for each output of a circuit: its bits, wires × lanes, where this party learns them.
    Outputs(Vec<Option<BitMatrix>>),
}

impl Held<Merged> {
    /// Of a query.
    pub(crate) fn answer(self) -> Held<Option<Table>> {
        self.map(|merged| match merged {
            Merged::Answer(answer) => answer,
            Merged::Outputs(_) => None,
        })
    }
}

/// A job that has begun.
pub(crate) struct Begun<'a> {
    pub(crate) job: JobName,
    /// What places rows.
    pub(crate) coin: [u8; 32],
    /// Where the processes of this party leave things for each other.
    pub(crate) partials: &'a Partials,
}

/// A session of a part, at one party.
pub(crate) struct SessionOf<'a> {
    pub(crate) me: PartyId,
    pub(crate) transport: Transport,
    pub(crate) phase_timeout: Option<Duration>,
    /// What else the parties compare.
    pub(crate) also_agree: &'a (dyn AlsoAgree + Sync),
    /// Joins the parties.
    pub(crate) connect: &'a mut dyn FnMut(&Topology, Budget) -> Result<Connections>,
    /// Is told the AND gates done, of how many.
    pub(crate) progress: &'a mut dyn FnMut(u64, u64),
}

/// A digest of terms, none of which can pass for a part of others.
pub(crate) fn digest(terms: &Terms) -> String {
    let mut hasher = Sha256::new();
    for part in terms.iter().flat_map(|(name, told)| [name, told]) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hex::encode(hasher.finalize())
}

/// What a worker and its coordinator compare.
fn job_digest(job: &dyn ShardedJob) -> String {
    let Counts { shards, attempts } = job.counts();
    let counts = [("shards", shards), ("attempts", attempts)];
    let counts = counts.map(|(name, count)| (name.to_owned(), count.to_string()));
    digest(&job.terms().into_iter().chain(counts).collect())
}

/// What the coordinators compare and hold one another to.
fn coordinated(job: &dyn ShardedJob) -> Result<cenote_shards::Job> {
    let Counts { shards, attempts } = job.counts();
    Ok(cenote_shards::Job::new(job.terms(), shards, attempts)?)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use cenote_net::{Identity, OnWait};

    use super::attempt::{Meeting, Opened, Work};
    use super::partial::Keep;
    use super::*;

    /// What the processes of a party leave for each other, in a folder of `folder`.
    pub(crate) fn partials(folder: &Path, identity: &Identity, job: &dyn ShardedJob) -> Partials {
        Partials::open(&Keep::Folder(folder.join("kept")), identity, job.shapes()).unwrap()
    }

    /// Party 0 of a job.
    pub(super) fn work(folder: &Path, job: impl ShardedJob + 'static) -> Work {
        let (opened, state) = Opened::of(folder);
        Work {
            partials: partials(folder, &Identity::generate().unwrap(), &job),
            job: Box::new(job),
            me: PartyId(0),
            meeting: Meeting {
                transport: Transport::Tls,
                connect_timeout: Duration::from_secs(1),
                timeout: Duration::from_secs(1),
                phase_timeout: None,
                on_wait: OnWait::default(),
                hosts: Vec::new(),
            },
            also_agree: Arc::new(()),
            opened,
            state: Mutex::new(state),
        }
    }
}

//! What can be asked of a service that is up: the ground under its HTTP interface, its page and its commands.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

pub use cenote_api::view::{
    About, Alarm, AlarmKind, AskedQuery, Catalogue, CatalogueColumn, CatalogueParty, CatalogueTable,
    Compared, Compose, Composed, Computes, Data, Input, LinkState, OtherConstant, Peer, Place, PlanFault,
    PlanStep, Planned, Revealed, Running, RunningShards, Stock, Weighed,
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::audit::Actor;
use crate::job::{Binding, JobId, Kept, Program, StateName, Unsettled};
use crate::{Job, PutBack, Result};

/// A service that is up. All calls may block; none waits for a peer.
pub trait Live: Send + Sync {
    /// Which party this is, and what it runs. It takes no jobs while the database cannot be read or written, the disk is full, or its folder
    /// was put back to an earlier state; or while a peer is away, was put back or says that it can record nothing.
    fn about(&self) -> About;

    /// Submits a job here, and tells the other parties of it. The same text under the same idempotency key gives the same job.
    ///
    /// # Errors
    /// Where the job is wrong, or does not fit, with the reason; that of [`crate::Jobs::propose`].
    fn submit(&self, submission: Submission, by: Actor) -> Result<Job>;

    /// What a job would compute and reveal, in words, and its text.
    ///
    /// # Errors
    /// [`crate::Error::NoJob`].
    fn explain(&self, job: JobId) -> Result<Explained>;

    /// What a job of this text, which names no files, would take and reveal, or why it cannot be proposed here. Nothing is kept, and nobody is told.
    ///
    /// # Errors
    /// That it cannot be proposed, and why.
    fn plan(&self, job: &str) -> std::result::Result<Planned, PlanFault>;

    /// What a program computes, in a line; nothing if its text is not kept here any more, or is long.
    fn computes(&self, program: &Program) -> Option<Computes>;

    /// What a person here should weigh a query by: how it differs from what they approved before, and how often the data may be asked yet.
    ///
    /// # Errors
    /// [`crate::Error::NoJob`]; where its program or the rules cannot be read.
    fn weigh(&self, job: JobId) -> Result<Weighed>;

    /// Takes part in a job, with this data, and tells the others.
    ///
    /// # Errors
    /// Those of [`crate::Jobs::approve`]; where the data is missing or does not fit.
    fn approve(&self, job: JobId, approval: Approval, by: Actor) -> Result<Job>;

    /// Does not take part in a job, and tells the others.
    ///
    /// # Errors
    /// Those of [`crate::Jobs::decline`].
    fn decline(&self, job: JobId, reason: String, by: Actor) -> Result<Job>;

    /// Takes a job back, and tells the others.
    ///
    /// # Errors
    /// Those of [`crate::Jobs::cancel`].
    fn cancel(&self, job: JobId, by: Actor) -> Result<Job>;

    /// Makes a call of a job that stands. `reply` hears how it ends: what this party learnt, as JSON. The same call again, by its name, is not computed again.
    ///
    /// # Errors
    /// What is wrong with it; then `reply` hears nothing.
    fn call(&self, job: JobId, call: Call, by: Actor, reply: Reply) -> Result<()>;

    /// Gives out what this party learnt of a job, as JSON, once (see [`crate::Jobs::fetch`]).
    ///
    /// # Errors
    /// Those of [`crate::Jobs::fetch`].
    fn fetch(&self, job: JobId, key: &str, by: Actor) -> Result<Zeroizing<Vec<u8>>>;

    /// The same as a Parquet file, of the answer of a query.
    ///
    /// # Errors
    /// Those of [`crate::Jobs::fetch`]; [`crate::Error::Proposal`] if the job is no query, and then nothing is given out.
    fn fetch_parquet(&self, job: JobId, key: &str, by: Actor) -> Result<Zeroizing<Vec<u8>>>;

    /// The data that jobs may be given here.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    fn data(&self) -> Result<Vec<Data>>;

    /// Values that are kept here, the newest first.
    ///
    /// # Errors
    /// Those of [`crate::Jobs::list_kept`].
    fn kept(&self) -> Result<Vec<Kept>>;

    /// Deletes a kept value here.
    ///
    /// # Errors
    /// Those of [`crate::Jobs::drop_kept`].
    fn drop_kept(&self, name: &str, job: JobId, by: Actor) -> Result<()>;

    /// The other parties, in order.
    fn peers(&self) -> Vec<Peer>;

    /// What is on record against a peer, if anything is.
    ///
    /// # Errors
    /// Those of [`crate::Jobs::unsettled`].
    fn unsettled(&self, peer: u8) -> Result<Option<Unsettled>>;

    /// A person has looked into the sessions that had begun with a peer and not ended in agreement, and has `seen` this: rules decide again.
    /// Gives whether there was anything.
    ///
    /// # Errors
    /// Those of [`crate::Jobs::settle`].
    fn settle(&self, seen: Unsettled, by: Actor) -> Result<bool>;

    /// Whether a party's folder was put back to an earlier state, this one's too, and nobody has acknowledged that.
    ///
    /// # Errors
    /// Those of [`crate::Heads::put_back`].
    fn put_back(&self, party: u8) -> Result<Option<PutBack>>;

    /// A person has seen that a party's folder was put back and that its audit log had so many lines, and goes on all the same. Gives whether that is on record.
    ///
    /// # Errors
    /// Those of [`crate::Heads::acknowledge`].
    fn acknowledge(&self, seen: (u8, u64), by: Actor) -> Result<bool>;

    /// The catalogues that this party knows: its own, and what its peers have published to it.
    fn catalogue(&self) -> Catalogue;

    /// Makes a job of a query, with the declarations of the tables that it names as they are published.
    ///
    /// # Errors
    /// [`crate::Error::Query`], with the place in the query.
    fn compose(&self, wanted: Compose) -> Result<Composed>;

    /// Material in stock, by kind.
    fn stock(&self) -> Vec<Stock>;

    /// Jobs that run.
    fn running(&self) -> Vec<Running>;

    /// Why this party can record nothing at present, if that is so.
    fn stuck(&self) -> Option<String>;

    /// What an operator should see to.
    fn alarms(&self) -> Vec<Alarm>;

    /// Counts since the service came up.
    fn counts(&self) -> Counts;

    /// What happens from now on.
    fn listen(&self) -> Listener;
}

/// A job as it is submitted: what a job or query file says, without values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The job file's text.
    pub job: String,
    /// The texts of the files that it names (circuits, schemas), by the names in it.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Seconds within which it must be done; an hour if not given.
    #[serde(default)]
    pub within: Option<u64>,
    /// The submitter's name for this submission: the same again gives the same job. Another's of the same name is another.
    pub idempotency_key: String,
    /// If given, the submitting party approves with it.
    #[serde(default)]
    pub approval: Option<Approval>,
}

/// A call of a job that stands. Its `Debug` does not tell the values.
#[derive(Clone)]
pub struct Call {
    /// Its name, of which all parties see a digest: all callers give the same, and the same again is the same call.
    pub name: String,
    /// The values of this party's inputs, by input: the text that a data file would hold.
    pub inputs: BTreeMap<String, Zeroizing<String>>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("name", &self.name)
            .field("inputs", &self.inputs.keys())
            .finish()
    }
}

/// Hears how a call ended, once, on a thread that it does not hold up.
pub type Reply = Box<dyn FnOnce(Result<Zeroizing<Vec<u8>>>) + Send>;

/// What a party gives to a job that it approves.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Its data for its inputs.
    #[serde(default)]
    pub binding: Vec<Binding>,
    /// The values of inputs bound to [`crate::job::Source::Posted`], by input: the text that a data file would hold. Kept sealed until the
    /// job has begun, or has ended if it is in shards, and then deleted.
    #[serde(default)]
    pub posted: BTreeMap<String, String>,
    /// Why, for the audit log.
    #[serde(default)]
    pub reason: String,
}

impl std::fmt::Debug for Approval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approval")
            .field("binding", &self.binding)
            .field("posted", &self.posted.keys())
            .finish_non_exhaustive()
    }
}

/// What a job is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The program.
    pub program: Program,
    /// In a sentence or two: what is computed, at how many places at once.
    pub summary: String,
    /// The query, if it is one.
    pub query: Option<AskedQuery>,
    /// For each output: its name, its bits, how many values, and the parties that learn it.
    pub outputs: Vec<Revealed>,
    /// The job file's text.
    pub job: String,
    /// The texts of the files that it names.
    pub files: BTreeMap<String, String>,
    /// The data that this party's catalogue has for its own tables, by table: an approval takes it unless it names other data.
    pub data: BTreeMap<String, String>,
}

/// Counts since the service came up.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Counts {
    /// Jobs that have come into a state.
    pub jobs: BTreeMap<StateName, u64>,
    /// AND gates computed.
    pub ands: u64,
    /// Jobs that were run from stock.
    pub from_stock: u64,
    /// How many jobs were done within so many seconds from their submission: upper limits in ascending order, each with the jobs at or below it.
    pub latency: Vec<(f64, u64)>,
    /// The sum of these times, in seconds.
    pub latency_sum: f64,
    /// Bytes of the process's memory.
    pub memory: u64,
    /// Bytes that are free on the disk of the service's folder, if the system says so.
    pub free: Option<u64>,
    /// Proposals of peers that were refused, by peer.
    pub refused: BTreeMap<u8, u64>,
}

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Happened {
    /// A job is new, or has changed its state.
    Job {
        /// The job.
        job: JobId,
        /// Its state.
        state: StateName,
    },
    /// A running job is so far.
    Progress(Running),
    /// A peer's link has changed.
    Peer {
        /// The peer.
        party: u8,
    },
    /// What a party publishes has changed.
    Catalogue {
        /// The party, which may be this one.
        party: u8,
    },
    /// The stock has changed.
    Stock,
    /// An alarm was raised or has ended.
    Alarm,
    /// The listener was too slow, and has missed events: it should look at everything again.
    Missed,
}

/// What happens, for one listener. It holds a bounded number of events; one that is too slow hears [`Happened::Missed`] after them.
pub struct Listener(Arc<Ear>);

impl Listener {
    /// The next event; `None` if there is none within `limit`.
    pub fn next(&self, limit: Duration) -> Option<Happened> {
        let silent = |heard: &mut Heard| heard.waiting.is_empty() && !heard.missed;
        let (mut heard, _) = self
            .0
            .told
            .wait_timeout_while(self.0.heard(), limit, silent)
            .unwrap_or_else(PoisonError::into_inner);
        let next = heard.waiting.pop_front();
        next.or_else(|| std::mem::take(&mut heard.missed).then_some(Happened::Missed))
    }
}

/// Tells listeners what happens.
#[derive(Debug, Default)]
pub struct Announcer(Mutex<Vec<Weak<Ear>>>);

#[derive(Debug, Default)]
struct Ear {
    heard: Mutex<Heard>,
    told: Condvar,
}

#[derive(Debug, Default)]
struct Heard {
    waiting: VecDeque<Happened>,
    /// Whether something was told after these events that is not among them.
    missed: bool,
}

impl Ear {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, happened: &Happened) {
        let mut heard = self.heard();
        if heard.missed || heard.waiting.len() == BEHIND {
            heard.missed = true;
        } else {
            heard.waiting.push_back(happened.clone());
        }
        self.told.notify_one();
    }
}

/// Events that a listener may be behind.
const BEHIND: usize = 1024;
/// Listeners at once; the oldest makes room.
const EARS: usize = 256;

impl Announcer {
    /// A listener to what is told from now on.
    pub fn listen(&self) -> Listener {
        let ear = Arc::default();
        let mut ears = self.ears();
        ears.retain(|ear| ear.strong_count() > 0);
        if ears.len() == EARS {
            ears.remove(0);
        }
        ears.push(Arc::downgrade(&ear));
        Listener(ear)
    }

    /// Tells all listeners; waits for none.
    pub fn tell(&self, happened: &Happened) {
        self.ears()
            .retain(|ear| ear.upgrade().inspect(|ear| ear.tell(happened)).is_some());
    }

    fn ears(&self) -> MutexGuard<'_, Vec<Weak<Ear>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_listener_is_told_that_it_missed_something_and_holds_nobody_up() {
        let announcer = Announcer::default();
        let (slow, quick) = (announcer.listen(), announcer.listen());
        for _ in 0..BEHIND + 5 {
            announcer.tell(&Happened::Stock);
            assert_eq!(quick.next(Duration::ZERO), Some(Happened::Stock));
        }
        for _ in 0..BEHIND {
            assert_eq!(slow.next(Duration::ZERO), Some(Happened::Stock));
        }
        // It is told even where nothing more happens.
        assert_eq!(slow.next(Duration::ZERO), Some(Happened::Missed));
        assert_eq!(slow.next(Duration::ZERO), None);
        announcer.tell(&Happened::Alarm);
        assert_eq!(slow.next(Duration::ZERO), Some(Happened::Alarm));
        drop(slow);
        announcer.tell(&Happened::Stock);
        assert_eq!(announcer.ears().len(), 1);
    }

    #[test]
    fn posted_values_are_not_shown() {
        let approval = Approval {
            posted: BTreeMap::from([("x".to_owned(), "0xdead".to_owned())]),
            ..Approval::default()
        };
        let text = format!("{approval:?}");
        assert!(text.contains("\"x\"") && !text.contains("dead"), "{text}");
    }
}

//! A job that runs: how far it is, and what ends it early.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use cenote::Patience;
use cenote::query;
use cenote::runner::Connections;
use cenote_net::Closer;
use cenote_service::Timestamp;
use cenote_service::job::{FailKind, JobId, Remote};
use cenote_service::live::{Running, RunningShards};
use cenote_session::Warning;

use crate::failure::Fault;
use crate::locks::lock;
use crate::queue::Call;

/// The time between two words on its progress, and before the first.
const WORDS: Duration = Duration::from_millis(100);

/// How long a peer's word may come after it has stopped.
const WORD: Duration = Duration::from_secs(2);

/// A job that runs.
#[derive(Debug)]
pub(crate) struct RunningJob {
    pub(crate) job: JobId,
    /// How many take part.
    pub(crate) parties: u8,
    /// The shelf of stock that the leader has named, if this party does not lead.
    pub(crate) shelf: Option<u8>,
    /// How often the leader has begun it before.
    pub(crate) again: u64,
    /// Whether it is cut into shards.
    pub(crate) in_shards: bool,
    /// Whether it stands.
    pub(crate) stands: bool,
    /// Ends the wait for its peers at its beginning, if it can go on later.
    pub(crate) patience: Patience,
    since: Timestamp,
    /// In how many sessions of it a peer can have tried something that is not settled.
    open: AtomicU64,
    /// Whether there is such a session that is over.
    broken_off: AtomicBool,
    /// The number under which it is on record against its peers, once it has begun.
    run: OnceLock<i64>,
    /// What its sessions, of which protocol, have warned of that are over.
    warned: Mutex<Vec<(&'static str, Warning)>>,
    done: AtomicU64,
    total: AtomicU64,
    /// How far its shards are, if it is cut.
    shards: Mutex<Option<RunningShards>>,
    /// When its progress is worth telling next.
    next_word: Mutex<Instant>,
    end: Mutex<End>,
    /// Something was said that ends it.
    said: Condvar,
}

#[derive(Debug, Default)]
struct End {
    /// Why it is to end, if it is.
    why: Option<(FailKind, String)>,
    /// A peer's word that ends it, which is recorded unless this party has its outputs by then.
    word: Option<(u8, Remote)>,
    /// The shelf with which the others are told that it begins, while this party leads it and waits for them.
    begun: Option<Option<u8>>,
    /// What ends its channels, once it has some.
    closers: Closers,
    /// What ends those of its present call, if it stands and each call has some of its own.
    of_call: Closers,
}

impl End {
    /// Ends its channels.
    fn close(&self) {
        self.closers
            .0
            .iter()
            .chain(&self.of_call.0)
            .for_each(Closer::close);
    }
}

#[derive(Default)]
struct Closers(Vec<Closer>);

impl std::fmt::Debug for Closers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} closers", self.0.len())
    }
}

impl RunningJob {
    pub(crate) fn new(job: JobId, parties: u8, shelf: Option<u8>) -> Self {
        RunningJob {
            job,
            parties,
            shelf,
            again: 0,
            in_shards: false,
            stands: false,
            patience: Patience::default(),
            since: Timestamp::now(),
            open: AtomicU64::new(0),
            broken_off: AtomicBool::new(false),
            run: OnceLock::new(),
            warned: Mutex::default(),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            shards: Mutex::default(),
            next_word: Mutex::new(Instant::now() + WORDS),
            end: Mutex::default(),
            said: Condvar::new(),
        }
    }

    /// When it began.
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    fn end(&self) -> MutexGuard<'_, End> {
        lock(&self.end)
    }

    /// The parties of a session compute from here on.
    pub(crate) fn opens(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// They have ended in agreement.
    pub(crate) fn settles(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether the parties of a session have begun to compute and not ended in agreement.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Whether that is so of a shard's session that was over when the present one began.
    pub(crate) fn has_broken_off(&self) -> bool {
        self.broken_off.load(Ordering::Relaxed)
    }

    /// Whether it goes on later where its run is cut off.
    pub(crate) fn goes_on(&self) -> bool {
        self.in_shards || self.stands
    }

    /// Whether the leader has begun it anew by this call, so that its run here leads to nothing.
    pub(crate) fn is_outdone_by(&self, call: Call) -> bool {
        self.goes_on() && call.again > self.again
    }

    /// It has begun, and is on record under this number.
    pub(crate) fn is_on_record(&self, run: Option<i64>) {
        run.map(|run| self.run.get_or_init(|| run));
    }

    /// The number under which it is on record against its peers, once it has begun.
    pub(crate) fn run_on_record(&self) -> Option<i64> {
        self.run.get().copied()
    }

    /// Keeps what a session of it, of this protocol, has warned of.
    pub(crate) fn keep_warnings(&self, protocol: &'static str, warnings: Vec<Warning>) {
        let warnings = warnings.into_iter().map(|warning| (protocol, warning));
        lock(&self.warned).extend(warnings);
    }

    /// What its sessions have warned of, with their protocol, once it is over.
    pub(crate) fn take_warnings(&self) -> Vec<(&'static str, Warning)> {
        std::mem::take(&mut lock(&self.warned))
    }

    /// Ends the run in whatever it waits for; the first reason counts. Gives whether it has channels and so comes to an end: without them it goes no
    /// further than to meet its peers, and may wait for them yet.
    pub(crate) fn stop(&self, kind: FailKind, reason: impl Into<String>) -> bool {
        let mut end = self.end();
        end.why.get_or_insert_with(|| (kind, reason.into()));
        if self.goes_on() {
            self.patience.end();
        }
        end.close();
        self.said.notify_all();
        !end.closers.0.is_empty()
    }

    /// A peer says that it ends. Gives whether the run sees to that: it does once it has channels, which are closed, so that it comes to
    /// an end. What it has learnt by then, nobody takes away.
    pub(crate) fn hear(&self, from: u8, says: &Remote) -> bool {
        let mut end = self.end();
        if end.closers.0.is_empty() {
            return false;
        }
        end.word.get_or_insert_with(|| (from, says.clone()));
        end.close();
        self.said.notify_all();
        true
    }

    /// A peer has stopped: its word on that comes over another connection, and may come a little later.
    pub(crate) fn wait_for_word(&self) {
        let is_open = |end: &mut End| end.word.is_none() && end.why.is_none();
        drop(self.said.wait_timeout_while(self.end(), WORD, is_open));
    }

    /// What a peer has said, if one has.
    pub(crate) fn word(&self) -> Option<(u8, Remote)> {
        self.end().word.clone()
    }

    /// Why it was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<(FailKind, String)> {
        self.end().why.clone()
    }

    /// The others are told that it begins, with this shelf, until they have met.
    pub(crate) fn begins(&self, shelf: Option<u8>) {
        self.end().begun = Some(shelf);
    }

    /// They have met, or will not.
    pub(crate) fn has_met(&self) {
        self.end().begun = None;
    }

    /// What the others are told of its beginning.
    pub(crate) fn beginning(&self) -> Option<Option<u8>> {
        let end = self.end();
        end.begun.filter(|_| end.why.is_none())
    }

    /// Why it was stopped, if it was before it had channels: then it goes no further than to meet its peers.
    pub(crate) fn stopped_before_meeting(&self) -> Option<(FailKind, String)> {
        let end = self.end();
        end.why.clone().filter(|_| end.closers.0.is_empty())
    }

    /// Sees that nothing has ended it yet.
    pub(crate) fn still_runs(&self) -> Result<(), Fault> {
        let end = self.end();
        match (&end.why, &end.word) {
            (Some((kind, reason)), _) => Err(Fault::new(*kind, reason.clone())),
            (None, Some(_)) => Err(Fault::new(FailKind::Peer, "a peer has ended it")),
            (None, None) => Ok(()),
        }
    }

    /// The name of its session, the same at all parties.
    pub(crate) fn session(&self) -> String {
        match self.again {
            0 => format!("job {}", self.job),
            again => format!("job {}, again {again}", self.job),
        }
    }

    /// From here on a stop ends what uses `connections`.
    pub(crate) fn hold(&self, mut connections: Connections) -> Connections {
        let mut end = self.end();
        let closers = connections.iter_mut().map(|channel| channel.interrupter());
        end.closers.0.extend(closers);
        if end.why.is_some() {
            end.close();
        }
        connections
    }

    /// From here on a stop ends what uses `connections` instead of those of the call before.
    pub(crate) fn hold_call(&self, mut connections: Connections) -> Connections {
        let mut end = self.end();
        end.of_call = Closers(
            connections
                .iter_mut()
                .map(|channel| channel.interrupter())
                .collect(),
        );
        if end.why.is_some() || end.word.is_some() {
            end.close();
        }
        connections
    }

    /// Ends what uses its channels, which its own thread has done with.
    pub(crate) fn close(&self) {
        self.end().close();
    }

    /// It is so far. Gives whether that is worth telling: its shards are at another attempt, or a percent more is done, a while after the last time.
    pub(crate) fn progress(&self, far: &query::Far) -> bool {
        let (done, total) = (far.done, far.total);
        let changed = self.are_shards_changed(far.shards.as_ref());
        let before = self.done.swap(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        let step = (total / 100).max(1);
        if done / step == before / step && !changed {
            return false;
        }
        let mut next = lock(&self.next_word);
        let now = Instant::now();
        if now < *next && !changed {
            return false;
        }
        *next = now + WORDS;
        true
    }

    /// Notes how far its shards are. Gives whether that is another than before.
    fn are_shards_changed(&self, now: Option<&cenote::shards::ShardsFar>) -> bool {
        let Some(far) = now else { return false };
        let now = RunningShards {
            shards: far.shards,
            done: far.done,
            handed_out: far.handed_out,
            attempts: far.attempts,
            running: far.running.clone(),
        };
        let mut shards = lock(&self.shards);
        let changed = shards.as_ref() != Some(&now);
        if changed {
            // This changes between sessions only.
            self.broken_off.store(self.is_open(), Ordering::Relaxed);
        }
        *shards = Some(now);
        changed
    }

    /// It stands, and so many of `most` calls have begun.
    pub(crate) fn serves(&self, calls: u64, most: u64) {
        self.done.store(calls, Ordering::Relaxed);
        self.total.store(most, Ordering::Relaxed);
    }

    /// Attempts that were handed out so far, if it is cut; of one that stands, calls that have begun.
    pub(crate) fn handed_out(&self) -> u32 {
        if self.stands {
            return u32::try_from(self.done.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        }
        lock(&self.shards).as_ref().map_or(0, |shards| shards.handed_out)
    }

    /// How far it is.
    pub(crate) fn shown(&self) -> Running {
        Running {
            job: self.job,
            since: self.since,
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
            stands: self.stands,
            shards: lock(&self.shards).clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> RunningJob {
        RunningJob::new(JobId([1; 16]), 3, None)
    }

    fn connections() -> Connections {
        let topology = cenote::Protocol::default().topology();
        Connections::in_memory(&topology, WORD).remove(0)
    }

    #[test]
    fn what_is_stopped_before_it_meets_goes_no_further() {
        let running = running();
        assert!(running.still_runs().is_ok() && running.stopped_before_meeting().is_none());
        assert!(!running.stop(FailKind::Deadline, "late"));
        assert_eq!(
            running.stopped_before_meeting(),
            Some((FailKind::Deadline, "late".into()))
        );
        let _connections = running.hold(connections());
        assert_eq!(running.stopped_before_meeting(), None);
        assert_eq!(
            running.still_runs().err().map(|fault| fault.kind),
            Some(FailKind::Deadline)
        );
    }

    #[test]
    fn what_a_peer_ends_as_soon_as_it_has_met_goes_no_further() {
        let running = running();
        assert!(!running.hear(1, &Remote::Cancel) && running.still_runs().is_ok());
        let _connections = running.hold(connections());
        assert!(running.hear(1, &Remote::Cancel));
        assert_eq!(
            running.still_runs().err().map(|fault| fault.kind),
            Some(FailKind::Peer)
        );
    }
}

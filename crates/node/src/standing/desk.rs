//! The calls of one job that stands, at one party: those that wait here, and at the leader those that the others have offered.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote::BitMatrix;
use cenote_service::job::{CallId, Digest, JobId, Standing};
use cenote_service::live::Reply;
use cenote_service::{Error, Result};
use zeroize::Zeroizing;

use super::words::{MOST, Offers};
use crate::compiled::Compiled;
use crate::locks::lock;

/// Who waits for one call, at most: beyond that the first hears no more of it.
const REPLIES: usize = 16;

/// Bytes of inputs of calls that wait, about.
const WAITING: usize = 64 << 20;

/// How long a call waits for the other callers to make it, too.
const TOGETHER: Duration = Duration::from_secs(60);

/// What a caller gives to a call.
pub(super) enum Given {
    /// Its inputs of a circuit: one entry for each of the circuit's.
    Inputs(Vec<Option<BitMatrix>>),
    /// The values of the parameters of a query, as their types are written.
    Values(BTreeMap<String, String>),
    /// The call has begun, and took it.
    Taken,
}

/// A call that waits here or is being computed.
pub(super) struct Waiting {
    pub(super) given: Given,
    pub(super) body: Digest,
    pub(super) submitter: String,
    /// Whether it was looked up that nobody has made it before.
    is_new: bool,
    has_begun: bool,
    since: Instant,
    /// Whether it is taken back unless all callers have made it.
    is_taken_back: bool,
    replies: VecDeque<Reply>,
}

/// What there is of a job's calls.
#[derive(Default)]
struct Calls {
    waiting: HashMap<CallId, Waiting>,
    /// How many of them each submitter has.
    shares: HashMap<String, usize>,
    /// Of those that wait here, the ones that the present session has not heard of.
    unoffered: VecDeque<CallId>,
    /// At the leader: who has offered which calls that are not complete, one bit for each party.
    offered: HashMap<CallId, u8>,
    /// At the leader: calls that all callers have made.
    ready: VecDeque<CallId>,
    /// At the leader: how many calls of each party are in these two.
    outstanding: [usize; 8],
    /// At the leader: calls that a party has taken back, which it is to be told.
    dropped: [Vec<CallId>; 8],
    /// Why the present session ends, if something else than its own thread has noticed that.
    broken: Option<cenote::Error>,
    /// Whether a session is up.
    is_up: bool,
    /// Why there are no more calls, once there are none.
    over: Option<String>,
}

impl Calls {
    fn add(&mut self, id: CallId, waiting: Waiting) {
        *self.shares.entry(waiting.submitter.clone()).or_default() += 1;
        self.waiting.insert(id, waiting);
    }

    fn remove(&mut self, id: CallId) -> Option<Waiting> {
        let removed = self.waiting.remove(&id)?;
        if let Some(share) = self.shares.get_mut(&removed.submitter) {
            *share -= 1;
            if *share == 0 {
                self.shares.remove(&removed.submitter);
            }
        }
        Some(removed)
    }
}

/// The calls of one job that stands.
pub(crate) struct Desk {
    pub(super) job: JobId,
    pub(super) compiled: Arc<Compiled>,
    me: u8,
    pub(super) standing: Standing,
    /// Calls that may wait here.
    most: usize,
    calls: Mutex<Calls>,
    wake: Condvar,
}

/// What becomes of a call that is made.
pub(super) enum Entered {
    /// It is to be looked up whether it was made before.
    New,
    /// It was made a moment ago, and its maker will hear of it with the first one.
    Known,
}

/// What becomes of calls that the leader begins.
pub(super) enum Begun {
    /// This is given to them.
    Now(Vec<Given>),
    /// The job has ended here.
    Over,
    /// This party does not make one of them, or it has begun already.
    Lie,
}

impl Desk {
    pub(super) fn new(me: u8, job: JobId, standing: Standing, compiled: Arc<Compiled>) -> Self {
        let own = compiled.input_bytes(me).max(1);
        Desk {
            job,
            compiled,
            me,
            standing,
            most: (WAITING / own).clamp(1, MOST),
            calls: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        lock(&self.calls)
    }

    /// Whether this party's inputs come with each call.
    pub(super) fn is_caller(&self) -> bool {
        self.standing.callers.contains(&self.me)
    }

    /// A call is made here. It waits, and is not offered before it is [admitted](Desk::admit).
    pub(super) fn enter(
        &self,
        id: CallId,
        given: Given,
        (body, submitter): (Digest, String),
        reply: Reply,
    ) -> Result<Entered> {
        let mut calls = self.calls();
        if let Some(why) = &calls.over {
            return Err(Error::Call(why.clone()));
        }
        if let Some(known) = calls.waiting.get_mut(&id) {
            if (known.body, &known.submitter) != (body, &submitter) {
                return Err(Error::OtherCall { job: self.job });
            }
            if known.replies.len() >= REPLIES
                && let Some(first) = known.replies.pop_front()
            {
                first(Err(Error::Crowded(format!(
                    "{REPLIES} others wait for this call"
                ))));
            }
            known.replies.push_back(reply);
            return Ok(Entered::Known);
        }
        if calls.waiting.len() >= self.most {
            return Err(Error::Crowded(format!(
                "{} calls of job {} wait",
                self.most, self.job
            )));
        }
        // One submitter leaves places for others.
        let most = (self.most - self.most / 4).max(1);
        if calls.shares.get(&submitter).is_some_and(|share| *share >= most) {
            return Err(Error::Crowded(format!(
                "{most} calls of job {} wait that you have made",
                self.job
            )));
        }
        let waiting = Waiting {
            given,
            body,
            submitter,
            is_new: false,
            has_begun: false,
            since: Instant::now(),
            is_taken_back: false,
            replies: VecDeque::from([reply]),
        };
        calls.add(id, waiting);
        Ok(Entered::New)
    }

    /// Nobody has made this call before: it is offered.
    pub(super) fn admit(&self, id: CallId) {
        let mut calls = self.calls();
        let Some(waiting) = calls.waiting.get_mut(&id) else {
            return;
        };
        waiting.is_new = true;
        calls.unoffered.push_back(id);
        self.wake.notify_all();
    }

    /// A call has ended here, or was made before: whoever waits for it hears so.
    pub(super) fn end(&self, id: CallId, with: impl Fn() -> Result<Zeroizing<Vec<u8>>>) {
        let ended = self.calls().remove(id);
        for reply in ended.into_iter().flat_map(|waiting| waiting.replies) {
            reply(with());
        }
    }

    /// The leader says that a call is taken back. False if this party has not asked for that, or it has begun.
    pub(super) fn drop(&self, id: CallId) -> bool {
        let calls = self.calls();
        let known = calls.waiting.get(&id);
        if !known.is_some_and(|call| call.is_taken_back && !call.has_begun) {
            return false;
        }
        drop(calls);
        self.end(id, || {
            Err(Error::CallFailed(
                "not all its callers have made it in time".into(),
            ))
        });
        true
    }

    /// There are no more calls, for this reason.
    pub(super) fn close(&self, why: &str) {
        let ended: Vec<Waiting> = {
            let mut calls = self.calls();
            calls.over.get_or_insert_with(|| why.to_owned());
            calls.unoffered.clear();
            let ids: Vec<CallId> = calls
                .waiting
                .iter()
                .filter(|(_, call)| !call.has_begun)
                .map(|(id, _)| *id)
                .collect();
            ids.into_iter().filter_map(|id| calls.remove(id)).collect()
        };
        for reply in ended.into_iter().flat_map(|waiting| waiting.replies) {
            reply(Err(Error::Call(why.to_owned())));
        }
        self.wake.notify_all();
    }

    /// A session begins: what waits is offered in it, in its order.
    pub(super) fn begin_session(&self) {
        let mut calls = self.calls();
        let mut unoffered: Vec<(Instant, CallId)> = Vec::new();
        for (id, call) in &mut calls.waiting {
            if call.is_new && !call.has_begun {
                call.is_taken_back = false;
                unoffered.push((call.since, *id));
            }
        }
        unoffered.sort_unstable();
        calls.unoffered = unoffered.into_iter().map(|(_, id)| id).collect();
        calls.offered.clear();
        calls.ready.clear();
        (calls.outstanding, calls.dropped) = Default::default();
        (calls.broken, calls.is_up) = (None, true);
    }

    /// A session is over. Gives the calls that had begun in it and not ended.
    pub(super) fn end_session(&self) -> Vec<CallId> {
        let mut calls = self.calls();
        calls.is_up = false;
        self.wake.notify_all();
        let begun = calls.waiting.iter().filter(|(_, call)| call.has_begun);
        begun.map(|(id, _)| *id).collect()
    }

    /// Something has broken the present session.
    pub(super) fn break_session(&self, error: cenote::Error) {
        self.calls().broken.get_or_insert(error);
        self.wake.notify_all();
    }

    /// What the session's other threads have noticed.
    pub(super) fn broken(&self) -> Option<cenote::Error> {
        self.calls().broken.take()
    }

    /// What to tell the leader; nothing to tell after `limit`. `None` once the session is over.
    pub(super) fn to_offer(&self, limit: Duration) -> Option<Offers> {
        let idle = |calls: &mut Calls| calls.is_up && calls.unoffered.is_empty();
        let (mut calls, _) = self
            .wake
            .wait_timeout_while(self.calls(), limit, idle)
            .unwrap_or_else(PoisonError::into_inner);
        if !calls.is_up {
            return None;
        }
        let count = calls.unoffered.len().min(MOST);
        Some(Offers {
            make: calls.unoffered.drain(..count).collect(),
            take_back: self.late(&mut calls),
        })
    }

    /// Calls that were made here and that the others have not made in time, each once.
    fn late(&self, calls: &mut Calls) -> Vec<CallId> {
        if self.standing.callers.len() < 2 {
            return Vec::new();
        }
        let late = calls.waiting.iter_mut().filter(|(_, call)| {
            call.is_new && !call.has_begun && !call.is_taken_back && call.since.elapsed() >= TOGETHER
        });
        let late = late.take(MOST).map(|(id, call)| {
            call.is_taken_back = true;
            *id
        });
        late.collect()
    }

    /// At the leader: a follower offers calls, and takes others back. False if it may not.
    pub(super) fn hear_offers(&self, from: u8, offers: &Offers) -> bool {
        let mut calls = self.calls();
        let is_caller = self.standing.callers.contains(&from);
        let outstanding = calls.outstanding[usize::from(from & 7)];
        let fits = offers.make.is_empty() || (is_caller && outstanding + offers.make.len() <= MOST);
        let fine = fits
            && offers
                .make
                .iter()
                .all(|id| calls.offer(*id, from, &self.standing));
        for id in &offers.take_back {
            calls.take_back(*id, from);
        }
        self.wake.notify_all();
        fine
    }

    /// At the leader: the calls that begin next, at most so many; none after `limit`.
    pub(super) fn next(&self, most: usize, limit: Duration) -> Vec<CallId> {
        let idle = |calls: &mut Calls| {
            calls.ready.is_empty()
                && calls.unoffered.is_empty()
                && calls.broken.is_none()
                && calls.over.is_none()
        };
        let (mut calls, _) = self
            .wake
            .wait_timeout_while(self.calls(), limit, idle)
            .unwrap_or_else(PoisonError::into_inner);
        let own: Vec<CallId> = calls.unoffered.drain(..).collect();
        for id in own {
            calls.offer(id, self.me, &self.standing);
        }
        for id in self.late(&mut calls) {
            calls.take_back(id, self.me);
        }
        let count = calls.ready.len().min(most);
        for caller in &self.standing.callers {
            calls.outstanding[usize::from(caller & 7)] -= count;
        }
        calls.ready.drain(..count).collect()
    }

    /// At the leader: calls that a party has taken back, to tell it.
    pub(super) fn dropped(&self, party: u8) -> Vec<CallId> {
        let mut calls = self.calls();
        let dropped = &mut calls.dropped[usize::from(party & 7)];
        let count = dropped.len().min(MOST);
        dropped.drain(..count).collect()
    }

    /// Why there are no more calls, once there are none.
    pub(super) fn is_over(&self) -> Option<String> {
        self.calls().over.clone()
    }

    /// Takes what is given to the calls that begin, in this order.
    pub(super) fn begin(&self, ids: &[CallId]) -> Begun {
        let mut calls = self.calls();
        if calls.over.is_some() {
            return Begun::Over;
        }
        let take = |id: &CallId| {
            let waiting = calls.waiting.get_mut(id)?;
            if waiting.has_begun || !waiting.is_new {
                return None;
            }
            waiting.has_begun = true;
            Some(std::mem::replace(&mut waiting.given, Given::Taken))
        };
        let given: Option<Vec<_>> = ids.iter().map(take).collect();
        given.map_or(Begun::Lie, Begun::Now)
    }

    /// Who makes a call, and by what a repetition is known.
    pub(super) fn maker(&self, id: CallId) -> Option<(Digest, String)> {
        let calls = self.calls();
        let waiting = calls.waiting.get(&id)?;
        Some((waiting.body, waiting.submitter.clone()))
    }
}

impl Calls {
    /// A party makes a call. False if it has made it before.
    fn offer(&mut self, id: CallId, by: u8, standing: &Standing) -> bool {
        let made = self.offered.entry(id).or_default();
        let bit = 1 << (by & 7);
        if *made & bit != 0 {
            return false;
        }
        *made |= bit;
        self.outstanding[usize::from(by & 7)] += 1;
        if standing.callers.iter().all(|caller| *made & (1 << caller) != 0) {
            self.offered.remove(&id);
            self.ready.push_back(id);
        }
        true
    }

    /// A party takes a call back. If all have made it by now, it is computed all the same.
    fn take_back(&mut self, id: CallId, by: u8) {
        let bit = 1 << (by & 7);
        let Some(made) = self.offered.get_mut(&id).filter(|made| **made & bit != 0) else {
            return;
        };
        *made &= !bit;
        if *made == 0 {
            self.offered.remove(&id);
        }
        self.outstanding[usize::from(by & 7)] -= 1;
        self.dropped[usize::from(by & 7)].push(id);
    }
}

#[cfg(test)]
mod tests;

//! The calls of one job that stands, at one party: those that wait here, and at the leader those that the others have offered.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote::BitMatrix;
use cenote_service::job::{CallId, Digest, JobId, Standing};
use cenote_service::live::Reply;
use cenote_service::{Error, Result};
use zeroize::Zeroizing;

use super::words::{MOST, Word};
use crate::compiled::Compiled;
use crate::locks::lock;

/// How long the leader waits until all callers have made a call that one of them has made.
pub(super) const TOGETHER: Duration = Duration::from_secs(60);

/// A call that waits here or is being computed.
pub(super) struct Waiting {
    pub(super) inputs: Vec<Option<BitMatrix>>,
    pub(super) body: Digest,
    pub(super) submitter: String,
    /// Whether it was looked up that nobody has made it before.
    is_new: bool,
    has_begun: bool,
    replies: Vec<Reply>,
}

/// What there is of a job's calls.
#[derive(Default)]
struct Calls {
    waiting: HashMap<CallId, Waiting>,
    /// Of those that wait here, the ones that the present session has not heard of.
    unoffered: VecDeque<CallId>,
    /// At the leader: who has offered which calls that are not complete, one bit for each party, and since when.
    offered: HashMap<CallId, (u8, Instant)>,
    /// At the leader: calls that all callers have made.
    ready: VecDeque<CallId>,
    /// Why the present session ends, if something else than its own thread has noticed that.
    broken: Option<cenote::Error>,
    /// Whether a session is up.
    is_up: bool,
    /// Why there are no more calls, once there are none.
    over: Option<String>,
}

/// The calls of one job that stands.
pub(crate) struct Desk {
    pub(super) job: JobId,
    pub(super) compiled: Arc<Compiled>,
    me: u8,
    pub(super) standing: Standing,
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

impl Desk {
    pub(super) fn new(me: u8, job: JobId, standing: Standing, compiled: Arc<Compiled>) -> Self {
        Desk {
            job,
            compiled,
            me,
            standing,
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
        inputs: Vec<Option<BitMatrix>>,
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
            known.replies.push(reply);
            return Ok(Entered::Known);
        }
        if calls.waiting.len() >= MOST {
            return Err(Error::Crowded(format!("{MOST} calls of job {} wait", self.job)));
        }
        let waiting = Waiting {
            inputs,
            body,
            submitter,
            is_new: false,
            has_begun: false,
            replies: vec![reply],
        };
        calls.waiting.insert(id, waiting);
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
        let ended = self.calls().waiting.remove(&id);
        for reply in ended.into_iter().flat_map(|waiting| waiting.replies) {
            reply(with());
        }
    }

    /// There are no more calls, for this reason.
    pub(super) fn close(&self, why: &str) {
        let ended: Vec<Waiting> = {
            let mut calls = self.calls();
            calls.over.get_or_insert_with(|| why.to_owned());
            let ids: Vec<CallId> = calls
                .waiting
                .iter()
                .filter(|(_, call)| !call.has_begun)
                .map(|(id, _)| *id)
                .collect();
            ids.iter().filter_map(|id| calls.waiting.remove(id)).collect()
        };
        for reply in ended.into_iter().flat_map(|waiting| waiting.replies) {
            reply(Err(Error::Call(why.to_owned())));
        }
        self.wake.notify_all();
    }

    /// A session begins: what waits is offered in it.
    pub(super) fn begin_session(&self) {
        let mut calls = self.calls();
        let unoffered = calls
            .waiting
            .iter()
            .filter(|(_, call)| call.is_new && !call.has_begun);
        calls.unoffered = unoffered.map(|(id, _)| *id).collect();
        calls.offered.clear();
        calls.ready.clear();
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

    /// Calls to offer the leader, at most [`MOST`]; none after `limit`. Nothing once the session is over.
    pub(super) fn to_offer(&self, limit: Duration) -> Option<Vec<CallId>> {
        let idle = |calls: &mut Calls| calls.is_up && calls.unoffered.is_empty();
        let (mut calls, _) = self
            .wake
            .wait_timeout_while(self.calls(), limit, idle)
            .unwrap_or_else(PoisonError::into_inner);
        let count = calls.unoffered.len().min(MOST);
        calls.is_up.then(|| calls.unoffered.drain(..count).collect())
    }

    /// At the leader: a follower offers calls. False if it may not.
    pub(super) fn hear_offers(&self, from: u8, offers: &[CallId]) -> bool {
        let mut calls = self.calls();
        let is_caller = self.standing.callers.contains(&from);
        let waiting = calls.offered.len() + calls.ready.len();
        let fits = offers.is_empty() || (is_caller && waiting + offers.len() <= 3 * MOST);
        let fine = fits && offers.iter().all(|id| calls.offer(*id, from, &self.standing));
        self.wake.notify_all();
        fine
    }

    /// At the leader: what comes next, of at most so many calls; nothing to do after `limit`.
    pub(super) fn next(&self, most: usize, limit: Duration) -> Word {
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
        let count = calls.ready.len().min(most);
        let begin = calls.ready.drain(..count).collect();
        let late = calls
            .offered
            .iter()
            .filter(|(_, (_, since))| since.elapsed() >= TOGETHER);
        let drop: Vec<CallId> = late.map(|(id, _)| *id).take(MOST).collect();
        for id in &drop {
            calls.offered.remove(id);
        }
        Word {
            is_last: false,
            begin,
            drop,
        }
    }

    /// Takes the inputs of the calls that begin, in this order. Nothing if this party does not make one of them, or it has begun already.
    pub(super) fn begin(&self, ids: &[CallId]) -> Option<Vec<Vec<Option<BitMatrix>>>> {
        let mut calls = self.calls();
        let take = |id: &CallId| {
            let waiting = calls.waiting.get_mut(id)?;
            if waiting.has_begun || !waiting.is_new {
                return None;
            }
            waiting.has_begun = true;
            Some(std::mem::take(&mut waiting.inputs))
        };
        ids.iter().map(take).collect()
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
        let (made, _) = self.offered.entry(id).or_insert((0, Instant::now()));
        let bit = 1 << by.min(7);
        if *made & bit != 0 {
            return false;
        }
        *made |= bit;
        if standing.callers.iter().all(|caller| *made & (1 << caller) != 0) {
            self.offered.remove(&id);
            self.ready.push_back(id);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::tests::bundle;

    fn desk(me: u8, callers: &[u8]) -> Desk {
        let compiled = Compiled::new(bundle("add8", 3), Digest::of(b""), me).expect("compiles");
        let standing = Standing {
            calls: 10,
            callers: callers.to_vec(),
        };
        Desk::new(me, JobId([1; 16]), standing, Arc::new(compiled))
    }

    fn id(number: u8) -> CallId {
        CallId([number; 16])
    }

    fn enter(desk: &Desk, number: u8) {
        let made = (Digest::of(b"inputs"), "ada".to_owned());
        let entered = desk.enter(id(number), Vec::new(), made, Box::new(|_| ()));
        assert!(matches!(entered, Ok(Entered::New)));
    }

    #[test]
    fn no_call_begins_that_this_party_does_not_make_or_that_has_begun() {
        let desk = desk(1, &[1]);
        desk.begin_session();
        enter(&desk, 1);
        // It is not known yet whether it was made before.
        assert!(desk.begin(&[id(1)]).is_none() && desk.to_offer(Duration::ZERO) == Some(Vec::new()));
        desk.admit(id(1));
        assert_eq!(desk.to_offer(Duration::ZERO), Some(vec![id(1)]));
        assert!(desk.begin(&[id(2)]).is_none());
        assert!(desk.begin(&[id(1)]).is_some());
        assert!(desk.begin(&[id(1)]).is_none());
        enter(&desk, 3);
        desk.admit(id(3));
        assert!(desk.begin(&[id(3), id(3)]).is_none(), "twice in one batch");
    }

    #[test]
    fn a_follower_offers_only_what_it_may() {
        let desk = desk(0, &[1, 2]);
        desk.begin_session();
        assert!(desk.hear_offers(1, &[id(1)]));
        assert!(!desk.hear_offers(1, &[id(1)]), "it has made this call");
        assert!(desk.hear_offers(2, &[id(1)]));
        assert_eq!(desk.next(8, Duration::ZERO).begin, [id(1)]);
        let many: Vec<CallId> = (0..=3 * MOST as u64)
            .map(|number| {
                let mut name = [0; 16];
                name[..8].copy_from_slice(&number.to_le_bytes());
                CallId(name)
            })
            .collect();
        assert!(!desk.hear_offers(1, &many), "too many");
        assert!(desk.hear_offers(1, &many[..MOST]));
        let own = self::desk(0, &[1]);
        own.begin_session();
        assert!(!own.hear_offers(2, &[id(1)]), "it makes no calls");
        assert!(own.hear_offers(2, &[]));
    }

    #[test]
    fn what_has_not_begun_is_offered_again_in_the_next_session() {
        let desk = desk(1, &[1]);
        desk.begin_session();
        for number in [1, 2] {
            enter(&desk, number);
            desk.admit(id(number));
        }
        assert!(
            desk.to_offer(Duration::ZERO)
                .is_some_and(|calls| calls.len() == 2)
        );
        assert!(desk.begin(&[id(1)]).is_some());
        assert_eq!(desk.end_session(), [id(1)]);
        assert_eq!(desk.to_offer(Duration::ZERO), None);
        desk.begin_session();
        assert_eq!(desk.to_offer(Duration::ZERO), Some(vec![id(2)]));
    }
}

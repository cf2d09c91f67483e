//! Who hears of long waits for a peer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{PartyId, Step};

/// What a party waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// That the peer, which is dialled, answers at this address.
    Answer {
        /// `host:port`.
        address: String,
    },
    /// That the peer dials this party.
    Call,
    /// That the peer joins a session.
    Join,
    /// A message.
    Message(Step),
    /// That the peer takes what was sent.
    Room(Step),
}

/// A wait that has taken some time already. It displays as a line for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The party that has to do something.
    pub peer: PartyId,
    /// What it has to do.
    pub awaited: Awaited,
    /// How long it was waited for.
    pub waited: Duration,
    /// How much longer it is waited for, at most.
    pub left: Duration,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (peer, left) = (self.peer, self.left.as_secs_f64().ceil());
        match &self.awaited {
            Awaited::Answer { address } => write!(f, "waiting for {peer} at {address} (connecting)")?,
            Awaited::Call => write!(f, "waiting for {peer} to connect to this party")?,
            Awaited::Join => write!(f, "waiting for {peer} to join the session")?,
            Awaited::Message(step) => write!(f, "waiting for {peer} (step \"{step}\")")?,
            Awaited::Room(step) => write!(f, "waiting for {peer} to take what was sent (step \"{step}\")")?,
        }
        write!(f, ", at most {left} s more")
    }
}

/// Who hears of long waits. Clones share their memory of what was told.
#[derive(Clone)]
pub struct OnWait {
    after: Duration,
    tell: Arc<dyn Fn(&Waiting) + Send + Sync>,
    told: Arc<Mutex<BTreeMap<PartyId, Instant>>>,
}

impl OnWait {
    /// The default of `after`.
    pub const AFTER: Duration = Duration::from_secs(3);
    /// A peer that is waited for in many places or many times is told of once in this time.
    pub const AGAIN: Duration = Duration::from_secs(30);

    /// Calls `tell`, from the thread that waits, for a wait that takes longer than `after`: once for each wait, and not
    /// for a peer that it was called for less than [`OnWait::AGAIN`] ago.
    pub fn new(after: Duration, tell: impl Fn(&Waiting) + Send + Sync + 'static) -> Self {
        Self {
            after,
            tell: Arc::new(tell),
            told: Arc::default(),
        }
    }

    pub(crate) fn after(&self) -> Duration {
        self.after
    }

    pub(crate) fn tell(&self, waiting: &Waiting) {
        {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let last = told.get(&waiting.peer);
            if last.is_some_and(|&last| now.duration_since(last) < Self::AGAIN) {
                return;
            }
            told.insert(waiting.peer, now);
        }
        (self.tell)(waiting);
    }
}

impl Default for OnWait {
    /// After 3 s an event of level "info".
    fn default() -> Self {
        Self::new(Self::AFTER, |waiting| tracing::info!("{waiting}"))
    }
}

impl fmt::Debug for OnWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnWait(after {:?})", self.after)
    }
}

impl PartialEq for OnWait {
    /// Whether both tell the same listener.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.told, &other.told)
    }
}

impl Eq for OnWait {}

//! A corrupted party's channels: what it sends passes through the adversary's hands.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cenote_net::{AbortReason, Channel, Closer, Error, Result, Step};
use cenote_testkit::{Between, Tapped};
use cenote_three::{Links, Ring};

/// Which of a party's threads a channel belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thread {
    Generator,
    Evaluator,
}

/// One direction of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wire {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) thread: Thread,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) wire: Wire,
    pub(crate) step: Step,
    /// How many messages of this step went over the wire before.
    pub(crate) occurrence: usize,
    pub(crate) body: Vec<u8>,
}

/// What goes out instead of a message; `None` leaves it alone.
pub(crate) type Instead = Option<Vec<(Step, Vec<u8>)>>;

/// What the adversary does to each message that its party sends.
pub(crate) type Hook = Box<dyn FnMut(&Message) -> Instead + Send>;

/// The adversary behind one party: all its channels share it.
pub(crate) struct Spy {
    hook: Option<Mutex<Hook>>,
    /// Whether to keep what went by.
    record: bool,
    sent: Mutex<Vec<Message>>,
    dead: AtomicBool,
    closers: Mutex<Vec<Closer>>,
    /// A hook that may wait without holding up the party's other threads. It comes after the other.
    pub(crate) stall: Mutex<Option<Stall>>,
}

/// What a party does instead of sending a message, perhaps after waiting.
pub(crate) type Stall = Arc<dyn Fn(&Message) -> Instead + Send + Sync>;

/// How long a corrupted party waits, whatever the channel's deadline: it never is the first to give up.
const PATIENCE: Duration = Duration::from_secs(10);

impl Spy {
    /// An honest party, recorded.
    pub(crate) fn listening() -> Arc<Self> {
        Self::new(None, true)
    }

    /// A corrupted party.
    pub(crate) fn corrupting(hook: impl FnMut(&Message) -> Instead + Send + 'static) -> Arc<Self> {
        Self::new(Some(Box::new(hook)), false)
    }

    fn new(hook: Option<Hook>, record: bool) -> Arc<Self> {
        Arc::new(Self {
            hook: hook.map(Mutex::new),
            record,
            sent: Mutex::default(),
            dead: AtomicBool::new(false),
            closers: Mutex::default(),
            stall: Mutex::default(),
        })
    }

    /// Puts this adversary between a party and its channels.
    pub(crate) fn tap(self: &Arc<Self>, me: u8, links: Links) -> Links {
        let ring = |ring: Ring, thread| {
            let tap = |inner: Box<dyn Channel>| -> Box<dyn Channel> {
                lock(&self.closers).push(inner.closer());
                let tap = Tap {
                    me,
                    thread,
                    spy: Arc::clone(self),
                    sent: HashMap::new(),
                };
                Box::new(Tapped::new(tap, inner))
            };
            Ring {
                previous: tap(ring.previous),
                next: tap(ring.next),
            }
        };
        Links {
            generator: ring(links.generator, Thread::Generator),
            evaluator: ring(links.evaluator, Thread::Evaluator),
        }
    }

    /// Ends the party as if its process had been killed: all channels break at once, nothing more is said.
    pub(crate) fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
        lock(&self.closers).iter().for_each(Closer::close);
    }

    /// What the party sent, before the adversary touched it.
    pub(crate) fn sent(&self) -> Vec<Message> {
        lock(&self.sent).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One end of a channel whose party an adversary controls.
struct Tap {
    me: u8,
    thread: Thread,
    spy: Arc<Spy>,
    sent: HashMap<u16, usize>,
}

fn count(counts: &mut HashMap<u16, usize>, step: Step) -> usize {
    let count = counts.entry(step.code).or_default();
    *count += 1;
    *count - 1
}

impl Tap {
    fn is_dead(&self) -> bool {
        self.spy.dead.load(Ordering::SeqCst)
    }
}

impl Between for Tap {
    fn send(&mut self, channel: &mut dyn Channel, step: Step, parts: &[&[u8]]) -> Result<()> {
        let peer = channel.peer();
        let message = Message {
            wire: Wire {
                from: self.me,
                to: peer.0,
                thread: self.thread,
            },
            step,
            occurrence: count(&mut self.sent, step),
            body: parts.concat(),
        };
        let stall = lock(&self.spy.stall).clone();
        let stalled = stall.and_then(|stall| stall(&message));
        let instead = self
            .spy
            .hook
            .as_ref()
            .and_then(|hook| lock(hook)(&message))
            .or(stalled);
        if self.is_dead() {
            return Err(Error::Closed { peer });
        }
        if self.spy.record {
            lock(&self.spy.sent).push(message);
        }
        match instead {
            None => channel.send_parts(step, parts),
            Some(messages) => messages
                .iter()
                .try_for_each(|(step, body)| channel.send(*step, body)),
        }
    }

    fn receive(&mut self, channel: &mut dyn Channel, step: Step, parts: &mut [&mut [u8]]) -> Result<()> {
        let start = Instant::now();
        loop {
            match channel.recv_parts(step, parts) {
                Err(Error::Timeout { .. }) if self.spy.hook.is_some() && start.elapsed() < PATIENCE => {}
                outcome => return outcome,
            }
        }
    }

    fn abort(&mut self, channel: &mut dyn Channel, reason: AbortReason) {
        if !self.is_dead() {
            channel.abort(reason);
        }
    }
}

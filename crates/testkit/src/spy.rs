//! An adversary at all channels of a party at once: what the party sends passes through its hands, is recorded, held up, or cut off.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cenote_net::{AbortReason, Channel, Closer, Error, Result, Step};

use crate::{Between, Tapped};

/// One direction of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line<L> {
    /// The party that sends.
    pub from: u8,
    /// The party that receives.
    pub to: u8,
    /// What the test calls the channel.
    pub thread: L,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passing<L> {
    /// The way that it takes.
    pub wire: Line<L>,
    /// Its step.
    pub step: Step,
    /// How many messages of this step went over the wire before.
    pub occurrence: usize,
    /// The bytes.
    pub body: Vec<u8>,
}

/// What goes out instead of a message; `None` leaves it alone.
pub type Instead = Option<Vec<(Step, Vec<u8>)>>;

/// What the adversary does to each message that its party sends.
pub type Hook<L> = Box<dyn FnMut(&Passing<L>) -> Instead + Send>;

/// The adversary behind one party: all its channels share it.
pub struct Spy<L> {
    hook: Option<Mutex<Hook<L>>>,
    /// Whether to keep what went by.
    record: bool,
    sent: Mutex<Vec<Passing<L>>>,
    dead: AtomicBool,
    closers: Mutex<Vec<Closer>>,
    /// A hook that may wait without holding up the party's other threads. It comes after the other.
    pub stall: Mutex<Option<Stall<L>>>,
    /// How long the party takes, once it has said over one of these channels why it stops.
    pub falters: Mutex<Option<(L, Duration)>>,
}

/// What a party does instead of sending a message, perhaps after waiting.
pub type Stall<L> = Arc<dyn Fn(&Passing<L>) -> Instead + Send + Sync>;

/// How long a corrupted party waits, whatever the channel's deadline: it never is the first to give up.
const PATIENCE: Duration = Duration::from_secs(10);

impl<L: Copy + PartialEq + Send + Sync + 'static> Spy<L> {
    /// An honest party, recorded.
    pub fn listening() -> Arc<Self> {
        Self::new(None, true)
    }

    /// A corrupted party.
    pub fn corrupting(hook: impl FnMut(&Passing<L>) -> Instead + Send + 'static) -> Arc<Self> {
        Self::new(Some(Box::new(hook)), false)
    }

    fn new(hook: Option<Hook<L>>, record: bool) -> Arc<Self> {
        Arc::new(Self {
            hook: hook.map(Mutex::new),
            record,
            sent: Mutex::default(),
            dead: AtomicBool::new(false),
            closers: Mutex::default(),
            stall: Mutex::default(),
            falters: Mutex::default(),
        })
    }

    /// The adversary at `channel` of party `me`, which the test calls `thread`.
    pub fn tap(self: &Arc<Self>, me: u8, thread: L, channel: Box<dyn Channel>) -> Box<dyn Channel> {
        lock(&self.closers).push(channel.closer());
        let tap = Tap {
            me,
            thread,
            spy: Arc::clone(self),
            sent: HashMap::new(),
        };
        Box::new(Tapped::new(tap, channel))
    }

    /// Ends the party as if its process had been killed: all channels break at once, nothing more is said.
    pub fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
        lock(&self.closers).iter().for_each(Closer::close);
    }

    /// What the party sent, before the adversary touched it.
    pub fn sent(&self) -> Vec<Passing<L>> {
        lock(&self.sent).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One end of a channel whose party an adversary controls.
struct Tap<L> {
    me: u8,
    thread: L,
    spy: Arc<Spy<L>>,
    sent: HashMap<u16, usize>,
}

fn count(counts: &mut HashMap<u16, usize>, step: Step) -> usize {
    let count = counts.entry(step.code).or_default();
    *count += 1;
    *count - 1
}

impl<L> Tap<L> {
    fn is_dead(&self) -> bool {
        self.spy.dead.load(Ordering::SeqCst)
    }
}

impl<L: Copy + PartialEq + Send + Sync + 'static> Between for Tap<L> {
    fn send(&mut self, channel: &mut dyn Channel, step: Step, parts: &[&[u8]]) -> Result<()> {
        let peer = channel.peer();
        let message = Passing {
            wire: Line {
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
            let falters = *lock(&self.spy.falters);
            if let Some((_, pause)) = falters.filter(|(thread, _)| *thread == self.thread) {
                std::thread::sleep(pause);
            }
        }
    }
}

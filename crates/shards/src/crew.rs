//! The workers of one party, as its coordinator sees them.

use std::sync::mpsc::{Receiver, Sender, channel};

use cenote_net::PartyId;

use crate::message::Word;
use crate::{Attempt, JobName, Outcome, Place};

/// The workers of one party. What they do, they tell by [`Events`]. The coordinator waits for each call, and says nothing to its peers meanwhile: a call
/// hands on what is to be done, and returns.
pub trait Crew {
    /// The job begins, or goes on after its coordinator was started anew. What was made for jobs of other names is of no use any more, and workers that
    /// are still at it are to be ended: attempts of different names may have the same number. The workers hash the keys of their rows by `coin`.
    fn begin(&mut self, name: &JobName, coin: &[u8; 32]);
    /// How many more pieces can start now: [`Crew::listen`] takes a place at once, and the end of an attempt gives it back.
    fn free(&self) -> u32;
    /// Has a worker listen for its peers at `attempt`. It says where by [`Event::Listens`]. If the last free worker has just gone, the next one does it,
    /// or none: an attempt that nobody listens for is lost after [`Limits::listen`](crate::Limits::listen).
    fn listen(&mut self, attempt: &Attempt);
    /// The worker of `attempt` may meet its peers at `places`, those of all parties in order with its own, in the session called `name`. It says how
    /// this ends by [`Event::Ended`], and waits for no peer without a limit of its own.
    fn meet(&mut self, attempt: &Attempt, name: &str, places: &[Place]);
    /// The attempt does not count: end its worker if it runs, and drop what it made. The worker may have ended before, or never have
    /// run, and what it made may have been kept in another life of this coordinator.
    fn end(&mut self, attempt: &Attempt);
    /// All parties are done with `attempt`: what it made is what counts. This is said again when the coordinator is started anew.
    fn keep(&mut self, attempt: &Attempt);
}

/// What workers and the operator tell a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker listens for its peers.
    Listens {
        /// At what it was asked to.
        attempt: Attempt,
        /// Where.
        place: Place,
    },
    /// A worker is done with an attempt, or was lost.
    Ended {
        /// With which.
        attempt: Attempt,
        /// How.
        outcome: Outcome,
    },
    /// What [`Crew::free`] says may have changed.
    Free,
    /// How far a worker is.
    Progress {
        /// In what.
        attempt: Attempt,
        /// Steps that it has made.
        done: u64,
        /// Of so many.
        total: u64,
    },
    /// The operator ends the job.
    Stop,
}

/// What reaches a coordinator.
pub(crate) enum Incoming {
    /// From its own side.
    Own(Event),
    /// A peer's word.
    Word(PartyId, Word),
    /// Nothing more is heard from this peer.
    Gone(PartyId, cenote_session::Error),
    /// Nothing more can be said to this peer.
    Deaf(PartyId, cenote_session::Error),
}

/// Where to tell a coordinator of events. Clones tell the same one.
#[derive(Clone)]
pub struct Events(pub(crate) Sender<Incoming>);

impl Events {
    /// Tells it. A coordinator that has ended does not mind.
    pub fn tell(&self, event: Event) {
        let _ = self.0.send(Incoming::Own(event));
    }
}

/// Where a coordinator hears of events.
pub struct Inbox {
    pub(crate) sender: Sender<Incoming>,
    pub(crate) receiver: Receiver<Incoming>,
}

/// A way for workers to tell a coordinator of events.
pub fn events() -> (Events, Inbox) {
    let (sender, receiver) = channel();
    (Events(sender.clone()), Inbox { sender, receiver })
}

//! The other coordinators while the job runs: for each a thread that only receives, and one that only sends.
//!
//! A peer's next word is read when the last one has been seen to, so nothing of a peer's queues up here beyond what its channel holds.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use cenote_net::{AbortReason, Channel, Closer, PartyId};
use cenote_session::{Error, Result};

use crate::all::{All, Pair};
use crate::checks;
use crate::crew::Incoming;
use crate::message::{self, Word};

/// How long the last words may take before a channel is interrupted.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The other coordinators.
pub(crate) struct Peers {
    all: Vec<Peer>,
    /// All has been said, and is delivered as long as channels linger.
    is_well: bool,
}

struct Peer {
    id: PartyId,
    /// What is to be sent.
    words: Sender<Out>,
    /// Has the next word received.
    next: Sender<()>,
    /// Ends when the sending thread does.
    sent: Receiver<()>,
    /// End the waits of the two threads.
    interrupt: [Closer; 2],
    threads: Vec<JoinHandle<()>>,
}

enum Out {
    Word(Arc<[u8]>),
    Leave(AbortReason),
}

impl Peers {
    /// Starts the threads, which tell `inbox` what they hear.
    pub(crate) fn start(all: All, inbox: &Sender<Incoming>) -> Result<Self> {
        let mut peers = Peers {
            all: Vec::new(),
            is_well: false,
        };
        for Pair { peer, out, into } in all.pairs {
            let (words, queue) = channel();
            let (next, go) = channel();
            let (done, sent) = channel();
            let interrupt = [out.interrupter(), into.interrupter()];
            let (heard, deaf) = (inbox.clone(), inbox.clone());
            let sending = move || {
                send(out, &queue, &deaf);
                drop(done);
            };
            let threads = vec![
                spawn("cenote-say", sending)?,
                spawn("cenote-hear", move || receive(into, &heard, &go))?,
            ];
            peers.all.push(Peer {
                id: peer,
                words,
                next,
                sent,
                interrupt,
                threads,
            });
        }
        Ok(peers)
    }

    /// The peers, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = PartyId> + '_ {
        self.all.iter().map(|peer| peer.id)
    }

    /// Says a word to all.
    pub(crate) fn tell(&self, word: &Word) {
        let bytes: Arc<[u8]> = word.encode().into();
        for peer in &self.all {
            // A thread that has ended has said why.
            let _ = peer.words.send(Out::Word(Arc::clone(&bytes)));
        }
    }

    /// The peer's last word has been seen to.
    pub(crate) fn next(&self, id: PartyId) {
        for peer in self.all.iter().filter(|peer| peer.id == id) {
            let _ = peer.next.send(());
        }
    }

    /// Says nothing more. With a reason, the peers hear that this party stops.
    pub(crate) fn leave(mut self, reason: Option<AbortReason>) {
        self.is_well = reason.is_none();
        if let Some(reason) = reason {
            for peer in &self.all {
                let _ = peer.words.send(Out::Leave(reason));
            }
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        for peer in &mut self.all {
            peer.words = channel().0;
            peer.interrupt[1].close();
        }
        for peer in &mut self.all {
            if !self.is_well {
                // Nothing is sent: this waits for the thread's end.
                let _ = peer.sent.recv_timeout(LAST_WORDS);
                peer.interrupt[0].close();
            }
            peer.next = channel().0;
            for thread in peer.threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let spawned = Builder::new().name(name.into()).spawn(work);
    spawned.map_err(|error| Error::Internal(format!("a thread for a peer cannot be started: {error}")))
}

/// Sends what is to be sent, until there is nothing more.
fn send(mut out: Box<dyn Channel>, queue: &Receiver<Out>, inbox: &Sender<Incoming>) {
    let mut failed = false;
    for next in queue {
        match next {
            Out::Leave(reason) => return out.abort(reason),
            Out::Word(_) if failed => {}
            Out::Word(bytes) => {
                if let Err(error) = message::send(&mut *out, &bytes) {
                    // What is left may be the reason why this party stops, which can still be told.
                    failed = true;
                    let _ = inbox.send(Incoming::Deaf(out.peer(), error.with_checks(checks::ALL)));
                }
            }
        }
    }
}

/// Hears one word after the other, each when the one before has been seen to.
fn receive(mut into: Box<dyn Channel>, inbox: &Sender<Incoming>, next: &Receiver<()>) {
    loop {
        let heard = message::receive(&mut *into);
        let (is_last, heard) = match heard {
            Ok(word) => (false, Incoming::Word(into.peer(), word)),
            Err(error) => (true, Incoming::Gone(into.peer(), error.with_checks(checks::ALL))),
        };
        if inbox.send(heard).is_err() || is_last || next.recv().is_err() {
            return;
        }
    }
}

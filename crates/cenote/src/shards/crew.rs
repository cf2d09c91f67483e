//! The worker of a party on one machine: a thread of its process, which computes one part after another.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use cenote_net::Identity;
use cenote_session::Error as EngineError;
use cenote_shards::{Attempt, Crew, Event, JobName, Outcome, Piece, Place};

use super::attempt::{Join, Ready, Work};
use super::placer::Placer;
use crate::stop::{Scope, is_of_disk};
use crate::{Error, Kind, Result};

/// Where workers listen.
#[derive(Clone)]
pub(super) enum Listening {
    /// On this machine alone.
    Here,
    /// Where the party does, once its coordinators have met.
    At(SocketAddr),
    /// At this address, which peers reach by this host.
    For(SocketAddr, String),
    /// Nowhere: its peers are all dialled.
    Nowhere,
    /// Nowhere: this joins it to its peers.
    Joined(Join),
}

/// Whom workers tell what becomes of them.
pub(super) type Tell = Arc<dyn Fn(Event) + Send + Sync>;

/// An attempt that is under way.
struct Running {
    attempt: Attempt,
    /// Until it is told where its peers are.
    ready: Option<Ready>,
    /// What ends it.
    scope: Arc<Scope>,
}

type Under = Arc<Mutex<Option<Running>>>;

fn lock(running: &Under) -> MutexGuard<'_, Option<Running>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `work` comes to on a thread that must say so whatever happens there.
pub(super) fn caught<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What it has left behind half done is not looked at again: an attempt has a session of its own.
    let caught = std::panic::catch_unwind(AssertUnwindSafe(work));
    caught.unwrap_or_else(|_| Err(Error::local(what, std::io::Error::other("its thread panicked"))))
}

/// Tells how an attempt has ended.
pub(super) fn ended(tell: &Tell, attempt: &Attempt, outcome: Outcome) {
    tell(Event::Ended {
        attempt: *attempt,
        outcome,
    });
}

/// A party's worker on its own machine.
pub(super) struct Threads {
    work: Arc<Work>,
    tell: Tell,
    listening: Listening,
    running: Under,
    /// What computes, or has computed last.
    thread: Option<JoinHandle<()>>,
    /// What makes ready the rows of this party, if they are not elsewhere.
    rows: Option<Placer>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(running) = &*lock(&self.running) {
            running.scope.stop("the job has ended");
        }
        // It says itself what became of it.
        self.thread.take().map(JoinHandle::join);
    }
}

impl Threads {
    pub(super) fn new(work: Arc<Work>, tell: Tell, listening: Listening) -> Self {
        Threads {
            work,
            tell,
            listening,
            running: Under::default(),
            thread: None,
            rows: None,
        }
    }

    /// The same, of a party whose rows this process has: no shard starts before they are placed, so no peer waits in a session meanwhile.
    pub(super) fn with_rows(mut self) -> Self {
        let (work, tell) = (Arc::clone(&self.work), Arc::clone(&self.tell));
        self.rows = Some(Placer::new(work, Work::prepare, tell));
        self
    }

    /// Whether nothing keeps the next part from being computed. Where this party cannot go on, who is asked to compute it says so.
    fn is_ready(&self) -> bool {
        let has_failed = || self.work.state().failure.is_some();
        let rows = self.rows.as_ref();
        self.work.are_all_kept() || rows.is_none_or(|rows| has_failed() || rows.are_placed())
    }

    /// Listens for the peers of an attempt, with a fresh key.
    fn ready(&self) -> Result<(Ready, Place)> {
        let identity = Identity::generate()?;
        let fingerprint = identity.fingerprint();
        if let Listening::Joined(join) = &self.listening {
            // Nobody dials it.
            let address = "joined".into();
            return Ok((Ready::Joined(Arc::clone(join)), Place { address, fingerprint }));
        }
        let at = match &self.listening {
            Listening::At(at) | Listening::For(at, _) => *at,
            _ => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        };
        let failed = |error| Error::local(format!("listening at {at} for the workers of peers"), error);
        let listener = TcpListener::bind(at).map_err(failed)?;
        let own = listener.local_addr().map_err(failed)?;
        let address = match &self.listening {
            Listening::Here => own.to_string(),
            Listening::For(_, host) => format!("{host}:{}", own.port()),
            // Peers know the host.
            _ => format!(":{}", own.port()),
        };
        Ok((Ready::Listens(listener, identity), Place { address, fingerprint }))
    }

    /// What peers are told of an attempt that came to no good end. What is wrong with this party's tables and machines is its own matter.
    pub(super) fn failed(work: &Work, attempt: &Attempt, error: Error) -> Outcome {
        tracing::warn!(target: "cenote::job", %attempt, %error, "an attempt has ended");
        let lost = |what: &str| Outcome::Lost(what.into());
        let outcome = match (&error, error.kind()) {
            (
                Error::Protocol {
                    error: EngineError::Aborted { check, .. },
                },
                _,
            ) => Outcome::Failed(format!("the check \"{}\" failed", check.name)),
            (_, Kind::Cheating | Kind::Reported) => Outcome::Failed(error.to_string()),
            // What was opened once is not opened again in other words.
            _ if work.state().is_opened => {
                Outcome::Failed("it was lost when the answer may have been opened".into())
            }
            (Error::Protocol { error }, _) if is_lost(error) => {
                lost("its worker and those of its peers are in different sessions, or its disk failed")
            }
            (_, Kind::Network) => lost("its worker lost a peer, or did not reach one"),
            (_, Kind::Stopped) => lost("its worker was stopped"),
            (_, Kind::Internal) => lost("its worker had a fault of its own"),
            (_, Kind::Misuse | Kind::BadInput | Kind::Late) => {
                Outcome::Failed("it cannot compute its part".into())
            }
        };
        if let Outcome::Failed(_) = outcome {
            work.state().failure.get_or_insert(error);
        }
        outcome
    }
}

/// Whether what failed may go better another time, though nobody has computed anything: a disk or a store failed.
pub(super) fn may_go_better(error: &Error) -> bool {
    match error {
        Error::Protocol { error } => is_lost(error),
        error => !matches!(error.kind(), Kind::Misuse | Kind::BadInput),
    }
}

/// Whether an attempt may go better another time: peers were told of other places, or the disk failed.
fn is_lost(error: &EngineError) -> bool {
    is_of_disk(error) || matches!(error, EngineError::Net(cenote_net::Error::Mismatch { .. }))
}

impl Crew for Threads {
    fn begin(&mut self, name: &JobName, coin: &[u8; 32]) {
        self.work.begin(name, coin);
    }

    fn free(&self) -> u32 {
        let is_idle = lock(&self.running).is_none();
        (is_idle && self.is_ready()).into()
    }

    fn listen(&mut self, attempt: &Attempt) {
        let mut running = lock(&self.running);
        if let Some(outcome) = self.work.cannot(attempt) {
            return ended(&self.tell, attempt, outcome);
        }
        if running.is_some() {
            let outcome = Outcome::Lost("its worker is at another part".into());
            return ended(&self.tell, attempt, outcome);
        }
        match self.ready() {
            Ok((ready, place)) => {
                *running = Some(Running {
                    attempt: *attempt,
                    ready: Some(ready),
                    scope: Arc::new(Scope::new()),
                });
                (self.tell)(Event::Listens {
                    attempt: *attempt,
                    place,
                });
            }
            Err(error) => ended(&self.tell, attempt, Self::failed(&self.work, attempt, error)),
        }
    }

    fn meet(&mut self, attempt: &Attempt, name: &str, places: &[Place]) {
        let mut running = lock(&self.running);
        let under_way = running.as_mut().filter(|running| running.attempt == *attempt);
        let Some((ready, scope)) =
            under_way.and_then(|running| Some((running.ready.take()?, Arc::clone(&running.scope))))
        else {
            return;
        };
        drop(running);
        let (work, tell, under) = (
            Arc::clone(&self.work),
            Arc::clone(&self.tell),
            Arc::clone(&self.running),
        );
        let (attempt, name, places) = (*attempt, name.to_owned(), places.to_vec());
        let run = move || {
            let mut progress = |done, total| {
                tell(Event::Progress { attempt, done, total });
            };
            let result = scope.run(|| {
                caught("computing a shard", || {
                    work.run(&attempt, &name, &places, ready, &mut progress)
                })
            });
            // Nothing else begins before what it came to is known.
            let outcome = match result {
                Ok(()) => Outcome::Done,
                Err(error) => Self::failed(&work, &attempt, error),
            };
            *lock(&under) = None;
            ended(&tell, &attempt, outcome);
            tell(Event::Free);
        };
        match std::thread::Builder::new().name("shard".into()).spawn(run) {
            Ok(thread) => self.thread = Some(thread),
            Err(error) => {
                let error = Error::local("starting a thread for a shard", error);
                let outcome = Self::failed(&self.work, &attempt, error);
                *lock(&self.running) = None;
                ended(&self.tell, &attempt, outcome);
            }
        }
    }

    fn end(&mut self, attempt: &Attempt) {
        let mut running = lock(&self.running);
        if let Some(under_way) = running.take_if(|running| running.attempt == *attempt) {
            match under_way.ready {
                Some(_) => (self.tell)(Event::Free),
                None => {
                    under_way.scope.stop("the attempt does not count");
                    *running = Some(under_way);
                }
            }
        }
        drop(running);
        self.work.drop_partial(attempt);
    }

    fn keep(&mut self, attempt: &Attempt) {
        if let Piece::Shard(shard) = attempt.piece {
            self.work.state().kept.insert(shard, *attempt);
        }
    }
}

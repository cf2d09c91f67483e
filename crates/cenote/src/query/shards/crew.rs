//! The workers of a party on one machine: threads of its process.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_net::Identity;
use cenote_session::Error as EngineError;
use cenote_shards::{Attempt, Crew, Event, JobName, Outcome, Piece, Place};

use super::attempt::{Ready, Work};
use crate::stop::Scope;
use crate::{Error, Kind, Result};

/// Where workers listen.
#[derive(Clone, Debug)]
pub(super) enum Listening {
    /// On this machine alone.
    Here,
    /// Where the party does, once its coordinators have met: at its port, and at those that follow if several shards run at once.
    At(SocketAddr),
    /// At this address, which peers reach by this host.
    For(SocketAddr, String),
    /// Nowhere: its peers are all dialled.
    Nowhere,
}

/// Whom workers tell what becomes of them.
pub(super) type Tell = Arc<dyn Fn(Event) + Send + Sync>;

/// An attempt that is under way.
struct Running {
    /// At which of the ports.
    slot: u32,
    /// Until it is told where its peers are.
    ready: Option<Ready>,
    /// What ends it.
    scope: Arc<Scope>,
}

type Under = Arc<Mutex<BTreeMap<Attempt, Running>>>;

fn lock(running: &Under) -> MutexGuard<'_, BTreeMap<Attempt, Running>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A party's workers on its own machine.
pub(super) struct Threads {
    work: Arc<Work>,
    tell: Tell,
    listening: Listening,
    /// How many run side by side.
    at_once: u32,
    running: Under,
}

impl Threads {
    pub(super) fn new(work: Arc<Work>, tell: Tell, listening: Listening, at_once: u32) -> Self {
        Threads {
            work,
            tell,
            listening,
            at_once,
            running: Under::default(),
        }
    }

    /// Listens for the peers of an attempt, with a fresh key.
    fn ready(&self, slot: u32) -> Result<(Ready, Place)> {
        let identity = Identity::generate()?;
        let at = match &self.listening {
            Listening::At(at) => {
                let port = u32::from(at.port()) + slot;
                let port = u16::try_from(port).map_err(|_| {
                    Error::Usage(format!("there is no port {port}: let fewer shards run at once"))
                })?;
                SocketAddr::new(at.ip(), port)
            }
            Listening::For(at, _) => *at,
            Listening::Here | Listening::Nowhere => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        };
        let failed = |error| Error::local(format!("listening at {at} for the workers of peers"), error);
        let listener = TcpListener::bind(at).map_err(failed)?;
        let own = listener.local_addr().map_err(failed)?;
        let address = match &self.listening {
            Listening::Here => own.to_string(),
            Listening::For(_, host) => format!("{host}:{}", own.port()),
            // Peers know the host.
            Listening::At(_) | Listening::Nowhere => format!(":{}", own.port()),
        };
        let place = Place {
            address,
            fingerprint: identity.fingerprint(),
        };
        Ok((Ready { listener, identity }, place))
    }

    /// What peers are told of an attempt that came to no good end. What is wrong with this party's tables and machines is its own matter.
    fn failed(work: &Work, attempt: &Attempt, error: Error) -> Outcome {
        tracing::warn!(%attempt, %error, "an attempt has ended");
        let lost = |what: &str| Outcome::Lost(what.into());
        let outcome = match (&error, error.kind()) {
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
            (_, Kind::Misuse | Kind::BadInput) => Outcome::Failed("it cannot compute its part".into()),
        };
        if let Outcome::Failed(_) = outcome {
            work.state().failure.get_or_insert(error);
        }
        outcome
    }
}

/// Whether an attempt may go better another time: peers were told of other places, or the disk failed.
fn is_lost(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::Net(cenote_net::Error::Mismatch { .. }) | EngineError::Storage(_)
    )
}

impl Crew for Threads {
    fn begin(&mut self, name: &JobName, coin: &[u8; 32]) {
        self.work.begin(name, coin);
    }

    fn free(&self) -> u32 {
        self.at_once.saturating_sub(lock(&self.running).len() as u32)
    }

    fn listen(&mut self, attempt: &Attempt) {
        if let Some(outcome) = self.work.cannot(attempt) {
            return (self.tell)(Event::Ended {
                attempt: *attempt,
                outcome,
            });
        }
        let mut running = lock(&self.running);
        let used = |slot: &u32| running.values().any(|other| other.slot == *slot);
        let slot = (0..self.at_once).find(|slot| !used(slot)).unwrap_or(self.at_once);
        match self.ready(slot) {
            Ok((ready, place)) => {
                let under_way = Running {
                    slot,
                    ready: Some(ready),
                    scope: Arc::new(Scope::new()),
                };
                running.insert(*attempt, under_way);
                (self.tell)(Event::Listens {
                    attempt: *attempt,
                    place,
                });
            }
            Err(error) => {
                let outcome = Self::failed(&self.work, attempt, error);
                (self.tell)(Event::Ended {
                    attempt: *attempt,
                    outcome,
                });
            }
        }
    }

    fn meet(&mut self, attempt: &Attempt, name: &str, places: &[Place]) {
        let mut running = lock(&self.running);
        let Some(under_way) = running.get_mut(attempt) else {
            return;
        };
        let Some(ready) = under_way.ready.take() else {
            return;
        };
        let scope = Arc::clone(&under_way.scope);
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
            let result = scope.run(|| work.run(&attempt, &name, &places, ready, &mut progress));
            lock(&under).remove(&attempt);
            let outcome = match result {
                Ok(()) => Outcome::Done,
                Err(error) => Self::failed(&work, &attempt, error),
            };
            tell(Event::Ended { attempt, outcome });
            tell(Event::Free);
        };
        let started = std::thread::Builder::new().name("shard".into()).spawn(run);
        if let Err(error) = started {
            lock(&self.running).remove(&attempt);
            let error = Error::local("starting a thread for a shard", error);
            let outcome = Self::failed(&self.work, &attempt, error);
            (self.tell)(Event::Ended { attempt, outcome });
        }
    }

    fn end(&mut self, attempt: &Attempt) {
        let mut running = lock(&self.running);
        let waits = running
            .get(attempt)
            .is_some_and(|under_way| under_way.ready.is_some());
        if waits {
            running.remove(attempt);
            (self.tell)(Event::Free);
        } else if let Some(under_way) = running.get(attempt) {
            under_way.scope.stop("the attempt does not count");
        }
        drop(running);
        let name = self.work.state().begun.as_ref().map(|(name, _)| *name);
        if let Some(name) = name {
            self.work.partials.remove(&name, attempt);
        }
    }

    fn keep(&mut self, attempt: &Attempt) {
        if let Piece::Shard(shard) = attempt.piece {
            self.work.state().kept.insert(shard, *attempt);
        }
    }
}

//! What becomes of the job when a peer is lost or leaves.

use std::time::{Duration, Instant};

use cenote_net::{Error as NetError, PartyId};
use cenote_session::{Cause, Error as SessionError, Reason};

use super::Course;
use crate::{Error, Result};

/// How long a party that has lost a peer waits for another one to say why: a coordinator that leaves has said so to all, but not at the same moment.
const GRACE: Duration = Duration::from_secs(1);

/// A loss that ends the job soon.
#[derive(Default)]
pub(super) struct Failing {
    /// When it does, of which peer, and what is known of why.
    cause: Option<(Instant, PartyId, SessionError)>,
    /// Peers of which nothing more is heard.
    gone: u8,
}

impl Failing {
    /// Whether nothing new should begin.
    pub(super) fn is_failing(&self) -> bool {
        self.cause.is_some()
    }

    /// When the job ends.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.cause.as_ref().map(|(deadline, ..)| *deadline)
    }

    /// Why.
    pub(super) fn error(&self) -> Option<Error> {
        self.cause.as_ref().map(|(.., error)| error.clone().into())
    }

    /// The peer had nothing more to say.
    pub(super) fn forgive(&mut self, peer: PartyId) {
        self.cause.take_if(|(_, whose, _)| *whose == peer);
    }

    /// A peer's reason tells more than the loss of one.
    fn note(&mut self, peer: PartyId, error: SessionError) {
        match &mut self.cause {
            None => self.cause = Some((Instant::now() + GRACE, peer, error)),
            Some((_, whose, known)) => {
                let told = |error: &SessionError| matches!(error, SessionError::PeerStopped { .. });
                if told(&error) && !told(known) {
                    (*whose, *known) = (peer, error);
                }
            }
        }
    }
}

/// Whether nobody can say more of why a peer has stopped than it does. A lie that it has noticed, or attempts that are used up, this party may notice itself
/// in a moment.
fn is_known(reason: Reason) -> bool {
    matches!(reason, Reason::Own(cause) if cause != Cause::Exhausted)
}

impl Course<'_> {
    /// Nothing more is heard from a peer.
    pub(super) fn gone(&mut self, peer: PartyId, error: SessionError) -> Result<()> {
        self.failing.gone += 1;
        match error {
            SessionError::Net(NetError::Timeout { waited, .. }) => {
                let awaited = self.awaited(peer);
                return Err(Error::Silent {
                    peer,
                    waited,
                    awaited,
                });
            }
            SessionError::Aborted { .. } => return Err(error.into()),
            SessionError::PeerStopped { reason, .. } if is_known(reason) => return Err(error.into()),
            _ if self.facts[peer.index()].is_through => {}
            error => self.failing.note(peer, error),
        }
        match self.failing.error() {
            Some(error) if usize::from(self.failing.gone) + 1 == self.parties => Err(error),
            _ => Ok(()),
        }
    }

    /// Nothing more can be said to a peer, whose reason may be heard in a moment.
    pub(super) fn deaf(&mut self, peer: PartyId, error: SessionError) {
        if !self.facts[peer.index()].is_through {
            self.failing.note(peer, error);
        }
    }
}

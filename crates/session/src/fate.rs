//! A thread that works beside the calls of an engine, over channels of its own: how it ends, and which of the two says why.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote_net::Error as NetError;

use crate::{Error, Reason, Result};

/// How long a thread that lost a peer waits for the other thread to learn the peer's reason.
const GRACE: Duration = Duration::from_secs(1);

/// What the two threads tell each other of their end.
#[derive(Debug, Default)]
pub struct Fate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What becomes of the thread no longer matters.
    ending: bool,
    failure: Option<Error>,
}

impl Fate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that what becomes of the thread no longer matters.
    pub fn end(&self) {
        self.lock().ending = true;
        self.changed.notify_all();
    }

    /// Whether it does not.
    pub fn is_ending(&self) -> bool {
        self.lock().ending
    }

    /// Called by the thread when it has failed. If it merely lost a peer, the calls may be about to read the peer's reason: it waits
    /// a little for them to end. Says whether the failure matters; then the calls are to be interrupted.
    pub fn fail(&self, error: Error) -> bool {
        let mut state = self.lock();
        if is_loss(&error) {
            let goes_on = |state: &mut State| !state.ending;
            let waited = self.changed.wait_timeout_while(state, GRACE / 2, goes_on);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.ending {
            return false;
        }
        state.failure = Some(error);
        drop(state);
        self.changed.notify_all();
        true
    }

    /// The thread's failure, which is told once.
    ///
    /// # Errors
    /// It, if there is one.
    pub fn check(&self) -> Result<()> {
        self.lock().failure.take().map_or(Ok(()), Err)
    }

    /// The thread's failure, if there is one that nobody has been told.
    pub fn failure(&self) -> Option<Error> {
        self.lock().failure.clone()
    }

    /// The better explanation of `error`, which a call met: if it merely lost a peer or was interrupted, the thread's failure is the
    /// cause, or will tell the peer's reason in a moment, unless the thread `is_over` without one.
    pub fn explain(&self, error: Error, is_over: impl Fn() -> bool) -> Error {
        let mut state = self.lock();
        if !is_loss(&error) {
            // What this party saw itself outranks a peer's word, which may be its echo.
            let is_cause = match (&error, &state.failure) {
                (Error::PeerStopped { .. }, Some(Error::Aborted { .. })) => true,
                (
                    Error::PeerStopped {
                        reason: Reason::Lost(lost) | Reason::HeardLost(_, lost),
                        ..
                    },
                    Some(Error::Net(
                        NetError::Timeout { peer, .. }
                        | NetError::Stuck { peer, .. }
                        | NetError::PhaseOver { peer, .. },
                    )),
                ) => lost == peer,
                _ => false,
            };
            return match is_cause {
                true => state.failure.take().unwrap_or(error),
                false => error,
            };
        }
        // A party says why before it closes a channel.
        let grace = if is_interrupted(&error) {
            Duration::ZERO
        } else {
            GRACE
        };
        let deadline = Instant::now() + grace;
        while state.failure.is_none() && !is_over() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match state.failure.take() {
            Some(failure) if is_interrupted(&error) || !is_loss(&failure) => failure,
            _ => error,
        }
    }
}

/// Whether this party itself has closed the channel.
pub fn is_interrupted(error: &Error) -> bool {
    matches!(error, Error::Net(NetError::Closed { .. }))
}

fn is_loss(error: &Error) -> bool {
    is_interrupted(error) || matches!(error, Error::Net(NetError::PeerLost { .. }))
}

#[cfg(test)]
mod tests {
    use cenote_net::{PartyId, Step};

    use super::*;
    use crate::Cause;

    const STEP: Step = Step {
        code: 1,
        name: "a step",
    };

    fn heard(reason: Reason) -> Error {
        Error::PeerStopped {
            peer: PartyId(2),
            step: STEP,
            reason,
        }
    }

    #[test]
    fn an_echo_of_what_the_thread_saw_does_not_hide_it() {
        let silent = Error::Net(NetError::Timeout {
            peer: PartyId(1),
            step: STEP,
            waited: Duration::from_secs(1),
        });
        for (reason, is_echo) in [
            (Reason::HeardLost(PartyId(0), PartyId(1)), true),
            (Reason::Lost(PartyId(1)), true),
            (Reason::Lost(PartyId(0)), false),
            (Reason::HeardOwn(PartyId(1), Cause::DiskFull), false),
            (Reason::Stopped, false),
        ] {
            let fate = Fate::default();
            assert!(fate.fail(silent.clone()));
            let explained = fate.explain(heard(reason), || true);
            assert_eq!(
                matches!(explained, Error::Net(NetError::Timeout { .. })),
                is_echo,
                "{reason}"
            );
        }
    }
}

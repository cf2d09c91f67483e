//! What a party tells its peers when it stops.

use std::sync::{Arc, Mutex, PoisonError};

use cenote_net::AbortReason;
use cenote_session::{Error, MESSAGE_FORM, Reason};

/// Why a party stops, for all its threads: one that fails because another has failed tells its peers that one's reason, and what the
/// peers say after that is only an echo.
#[derive(Clone, Default)]
pub(crate) struct LastWord(Arc<Mutex<Option<(u8, AbortReason)>>>);

impl LastWord {
    /// Notes why a thread fails, before it tells its peers, and gives what it is to tell them: the first reason that was noted of the
    /// best kind.
    pub(crate) fn of(&self, error: &Error) -> AbortReason {
        let kind = match telling(error) {
            // Losses, and others' words on them.
            0..=2 => 0,
            // Causes; a peer's word may be the echo of this party's own.
            3 | 4 => 1,
            check => check,
        };
        let mut word = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *word {
            Some((best, code)) if best >= kind => code,
            _ => word.insert((kind, error.reason().code())).1,
        }
    }
}

/// How much an error says about the cause: more for cheating than for its consequences.
pub(crate) fn telling(error: &Error) -> u8 {
    match error {
        Error::Aborted { check, .. } if *check != MESSAGE_FORM => 7,
        Error::Aborted { .. } => 6,
        Error::PeerStopped { reason, .. } if reason.check().is_some() => 5,
        // It may be the echo of what another worker saw itself.
        Error::PeerStopped {
            reason: Reason::Lost(_) | Reason::HeardLost(..),
            ..
        } => 2,
        Error::PeerStopped { .. } => 4,
        Error::Net(cenote_net::Error::Closed { .. }) => 0,
        Error::Net(cenote_net::Error::PeerLost { .. }) => 1,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use cenote_net::{PartyId, step::CONNECT};
    use cenote_session::Cause;

    use super::*;

    #[test]
    fn the_best_reason_is_told_and_no_echo() {
        let heard = |reason| Error::PeerStopped {
            peer: PartyId(1),
            step: CONNECT,
            reason,
        };
        let rising = [
            [
                heard(Reason::Lost(PartyId(2))),
                heard(Reason::HeardLost(PartyId(0), PartyId(2))),
            ],
            [
                Error::Exhausted("stock".into()),
                heard(Reason::HeardOwn(PartyId(0), Cause::Exhausted)),
            ],
            [
                heard(Reason::Check(MESSAGE_FORM)),
                heard(Reason::HeardCheck(PartyId(0), MESSAGE_FORM)),
            ],
            [
                Error::cheated(MESSAGE_FORM, PartyId(2), CONNECT, "too long"),
                Error::cheated(MESSAGE_FORM, PartyId(1), CONNECT, "too short"),
            ],
        ];
        let word = LastWord::default();
        for (kind, [first, echo]) in rising.iter().enumerate() {
            let told = first.reason().code();
            let lesser = rising[..kind].iter().flatten();
            for error in [first, echo].into_iter().chain(lesser) {
                assert_eq!(word.of(error), told, "{error}");
            }
        }
    }
}

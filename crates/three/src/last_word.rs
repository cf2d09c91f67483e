//! What a party tells its peers when it stops.

use std::sync::{Arc, Mutex, PoisonError};

use cenote_net::AbortReason;
use cenote_session::Error;

/// Why a party stops, for all its threads: one that fails since another one has does not tell its peers less than they could know. What
/// it heard may be an echo of what this party has told them over other channels.
#[derive(Clone, Default)]
pub(crate) struct LastWord(Arc<Mutex<Option<Word>>>);

#[derive(Clone, Copy)]
struct Word {
    code: AbortReason,
    /// Whether it says which check has failed.
    names_check: bool,
}

impl LastWord {
    /// Notes why a thread fails, before it tells its peers, and gives what it is to tell them: what it has caught itself, or what was
    /// noted first, with a check before all else.
    pub(crate) fn of(&self, error: &Error) -> AbortReason {
        let own = Word {
            code: error.reason().code(),
            names_check: error.check().is_some(),
        };
        let mut word = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = match *word {
            Some(first) if first.names_check || !own.names_check => first,
            _ => *word.insert(own),
        };
        match error {
            Error::Aborted { .. } => own.code,
            _ => first.code,
        }
    }
}

#[cfg(test)]
mod tests {
    use cenote_net::{PartyId, step::CONNECT};
    use cenote_session::{MESSAGE_FORM, Reason};

    use super::*;

    #[test]
    fn a_check_is_told_whatever_else_is_met() {
        let heard = |reason| Error::PeerStopped {
            peer: PartyId(1),
            step: CONNECT,
            reason,
        };
        let lost = heard(Reason::Lost(PartyId(2)));
        let caught = Error::cheated(MESSAGE_FORM, PartyId(2), CONNECT, "too long");
        let told = heard(Reason::Check(MESSAGE_FORM));
        let [of_lost, of_caught, of_told] = [&lost, &caught, &told].map(|error| error.reason().code());

        let word = LastWord::default();
        assert_eq!(
            [&caught, &lost, &told].map(|error| word.of(error)),
            [of_caught; 3]
        );
        let word = LastWord::default();
        assert_eq!([&lost, &lost].map(|error| word.of(error)), [of_lost; 2]);
        assert_eq!([&told, &lost].map(|error| word.of(error)), [of_told; 2]);
        // What a thread has caught itself is no echo.
        assert_eq!([&caught, &lost].map(|error| word.of(error)), [of_caught, of_told]);
    }
}

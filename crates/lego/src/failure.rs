//! How a failed check becomes an error that names it and the peer.

use cenote_net::{Channel, PartyId, Step};
use cenote_session::{Check, Error};

use cenote_commit::Mismatch;

/// The peer failed `check`. `detail` holds no secrets.
pub(crate) fn cheated(check: Check, peer: PartyId, step: Step, detail: impl Into<String>) -> Error {
    Error::Aborted {
        check,
        peer: Some(peer),
        step,
        detail: detail.into(),
    }
}

/// An opening, or a batch of commitments, is not what it should be.
pub(crate) fn mismatch(check: Check, peer: PartyId, step: Step) -> impl FnOnce(Mismatch) -> Error {
    move |mismatch| cheated(check, peer, step, mismatch.to_string())
}

/// A failed OT.
pub(crate) fn ot(peer: PartyId) -> impl Fn(cenote_ot::Error) -> Error {
    move |error| match error {
        cenote_ot::Error::Cheated { check, step, detail } => {
            let check = match check {
                cenote_ot::Check::Consistency => Check::OtConsistency,
                cenote_ot::Check::Form => Check::MessageForm,
            };
            cheated(check, peer, step, detail)
        }
        cenote_ot::Error::Net(error) => error.into(),
    }
}

/// Tells the peer why this party stops, if `result` is a failure.
pub(crate) fn told<T>(channel: &mut dyn Channel, result: Result<T, Error>) -> Result<T, Error> {
    if let Err(error) = &result {
        channel.abort(error.reason().code());
    }
    result
}

/// The same of several channels to one peer.
pub(crate) fn told_all<T>(channels: &mut [Box<dyn Channel>], result: Result<T, Error>) -> Result<T, Error> {
    if let Err(error) = &result {
        for channel in channels {
            channel.abort(error.reason().code());
        }
    }
    result
}

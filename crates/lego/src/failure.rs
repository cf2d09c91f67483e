//! How a failed check becomes an error that names it and the peer.

use crate::checks;
use cenote_net::{Channel, PartyId, Step};
use cenote_session::{Check, Error};

use cenote_commit::Mismatch;

/// An opening, or a batch of commitments, is not what it should be.
pub(crate) fn mismatch(check: Check, peer: PartyId, step: Step) -> impl FnOnce(Mismatch) -> Error {
    move |mismatch| Error::cheated(check, peer, step, mismatch.to_string())
}

/// Tells the peer why this party stops, if `result` is a failure.
pub(crate) fn told<T>(channel: &mut dyn Channel, result: Result<T, Error>) -> Result<T, Error> {
    told_by([channel], result)
}

/// The same of several channels to one peer.
pub(crate) fn told_all<T>(channels: &mut [Box<dyn Channel>], result: Result<T, Error>) -> Result<T, Error> {
    told_by(
        channels
            .iter_mut()
            .map(|channel| channel.as_mut() as &mut dyn Channel),
        result,
    )
}

fn told_by<'a, T>(
    channels: impl IntoIterator<Item = &'a mut (dyn Channel + 'a)>,
    result: Result<T, Error>,
) -> Result<T, Error> {
    result.map_err(|error| {
        let code = error.reason().code();
        channels.into_iter().for_each(|channel| channel.abort(code));
        error.with_checks(checks::ALL)
    })
}

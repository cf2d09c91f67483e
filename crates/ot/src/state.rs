//! One side of a set-up, usable until a call fails.

use cenote_session::{Error, Result};

/// A secret state, or why there is none any more.
///
/// A failed check is the only thing that stands between a cheating peer and another guess at the same secrets: what
/// failed must not be used again, whatever the caller does.
pub(crate) enum State<T> {
    Ready(Box<T>),
    Failed(Error),
}

impl<T> State<T> {
    pub(crate) fn new(state: T) -> Self {
        State::Ready(Box::new(state))
    }

    /// Runs `call`. If it fails, the state is dropped, and this and all later calls give its error.
    pub(crate) fn call<R>(&mut self, call: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        match self {
            State::Failed(error) => Err(error.clone()),
            State::Ready(state) => call(state).inspect_err(|error| *self = State::Failed(error.clone())),
        }
    }
}

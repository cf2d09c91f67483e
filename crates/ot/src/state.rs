//! Sides of a set-up, usable until a call fails.

use std::sync::{Arc, OnceLock};

use cenote_session::{Error, Result};

/// A secret state, or why there is none any more.
///
/// A failed check is the only thing that stands between a cheating peer and another guess at the same secrets: what
/// failed must not be used again, whatever the caller does.
pub(crate) struct State<T> {
    secrets: Option<Box<T>>,
    /// The first failure of this state or one that shares its fate.
    failure: Arc<OnceLock<Error>>,
}

impl<T> State<T> {
    pub(crate) fn new(secrets: T) -> Self {
        Self {
            secrets: Some(Box::new(secrets)),
            failure: Arc::default(),
        }
    }

    /// Another state: if a call of this one or of that one fails, neither can be used again.
    pub(crate) fn sharing<U>(&self, secrets: U) -> State<U> {
        State {
            secrets: Some(Box::new(secrets)),
            failure: self.failure.clone(),
        }
    }

    /// Runs `call`. If it fails, the state is dropped, and this and all later calls give its error.
    pub(crate) fn call<R>(&mut self, call: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let result = match (self.failure.get(), &mut self.secrets) {
            (None, Some(secrets)) => call(secrets),
            (failed, _) => Err(failed.expect("without a failure there is a state").clone()),
        };
        result.map_err(|error| {
            self.secrets = None;
            self.failure.get_or_init(|| error).clone()
        })
    }
}

//! Whether what is written is recorded.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Error;

/// Why the last write failed, until one has succeeded.
#[derive(Default)]
pub(super) struct Health(Mutex<Option<Error>>);

impl Health {
    fn fault_now(&self) -> MutexGuard<'_, Option<Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A write has failed, or `None` where it is on the disk.
    pub(super) fn note(&self, fault: Option<&Error>) {
        let mut known = self.fault_now();
        if known.is_some() != fault.is_some() {
            match fault {
                Some(fault) => tracing::error!(%fault, "nothing can be recorded"),
                None => tracing::info!("what is written is recorded again"),
            }
        }
        *known = fault.cloned();
    }

    pub(super) fn fault(&self) -> Option<Error> {
        self.fault_now().clone()
    }
}

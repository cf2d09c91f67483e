//! The peers that have not connected yet, and when the operator hears of them.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::deadline::Deadline;
use crate::{Awaited, MeshConfig, PartyId, Waiting};

/// Counts the channels to each peer that are still missing.
pub(crate) struct Absent {
    missing: Mutex<BTreeMap<PartyId, usize>>,
    none: Condvar,
}

impl Absent {
    pub(crate) fn new(config: &MeshConfig, channels: usize) -> Self {
        let peers = (0..config.parties.len() as u8).map(PartyId);
        let missing = peers
            .filter(|&peer| peer != config.me && channels > 0)
            .map(|peer| (peer, channels));
        Self {
            missing: Mutex::new(missing.collect()),
            none: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PartyId, usize>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a channel to `peer` has been made.
    pub(crate) fn arrived(&self, peer: PartyId) {
        let mut missing = self.lock();
        if let Some(count) = missing.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                missing.remove(&peer);
            }
        }
        if missing.is_empty() {
            self.none.notify_all();
        }
    }

    /// Ends the wait for everybody.
    pub(crate) fn end(&self) {
        self.lock().clear();
        self.none.notify_all();
    }

    /// Sleeps until the wait is over or has become long; a long one is told of, for every peer that is missing.
    pub(crate) fn watch(&self, config: &MeshConfig, deadline: Deadline) {
        let on_wait = &config.options.on_wait;
        let missing: Vec<PartyId> = {
            let waited = self
                .none
                .wait_timeout_while(self.lock(), on_wait.after(), |missing| !missing.is_empty());
            let (missing, _) = waited.unwrap_or_else(PoisonError::into_inner);
            missing.keys().copied().collect()
        };
        for peer in missing {
            let address = config.parties[peer.index()].address.clone();
            on_wait.tell(&Waiting {
                peer,
                awaited: if peer < config.me {
                    Awaited::Answer { address }
                } else {
                    Awaited::Call
                },
                waited: deadline.waited(),
                left: deadline.remaining().unwrap_or_default(),
            });
        }
    }
}

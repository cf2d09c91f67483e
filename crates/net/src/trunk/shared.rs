//! What the threads of the trunks share, and how they end.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::config::TrunkLimits;
use super::facts::Heard;
use super::peer::Slot;
use crate::crowd::Crowd;
use crate::notices::Notices;
use crate::outbox::FAREWELL;
use crate::{Identity, PartyId, PeerAddress};

/// Shuts the trunks down at its end.
pub(super) struct Keep(pub(super) Arc<Shared>);

impl Drop for Keep {
    fn drop(&mut self) {
        self.0.stop(FAREWELL);
    }
}

/// What the threads share.
pub(super) struct Shared {
    pub(super) me: PartyId,
    pub(super) parties: Vec<PeerAddress>,
    pub(super) identity: Arc<Identity>,
    pub(super) version: String,
    pub(super) limits: TrunkLimits,
    pub(super) heard: Arc<dyn Heard>,
    pub(super) address: Option<SocketAddr>,
    /// The peers, in order.
    pub(super) slots: Vec<Slot>,
    pub(super) notices: Notices,
    pub(super) crowd: Mutex<Crowd>,
    pub(super) stopping: AtomicBool,
    /// How many threads there are, but for those that send.
    pub(super) threads: (Mutex<usize>, Condvar),
}

impl Shared {
    pub(super) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(super) fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that is waited for at the end.
    pub(super) fn spawn(
        self: &Arc<Self>,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        struct Running(Arc<Shared>);
        impl Drop for Running {
            fn drop(&mut self) {
                let (count, changed) = &self.0.threads;
                *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
                changed.notify_all();
            }
        }
        *self.threads.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let running = Running(self.clone());
        let work = move || {
            let _running = running;
            work();
        };
        std::thread::Builder::new()
            .name(name.into())
            .spawn(work)
            .map(drop)
    }

    /// Has all threads end: connections within `limit`.
    pub(super) fn stop(&self, limit: Duration) {
        let first = !self.stopping.swap(true, Ordering::AcqRel);
        self.crowd().end();
        let end = Instant::now().checked_add(limit);
        for slot in &self.slots {
            if let (Some(trunk), Some(end)) = (slot.stop(), end) {
                trunk.close_by(end);
            }
        }
        if let (true, Some(address)) = (first, self.address) {
            // Wakes who listens.
            let _ = TcpStream::connect_timeout(&address, Duration::from_millis(100));
        }
    }
}

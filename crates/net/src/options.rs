//! Limits of one channel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::deadline::Deadline;
use crate::{Budget, OnWait, PhaseClock, Roll};

/// Whether peers that have not appeared are still waited for, within the time that there is. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Patience(Arc<AtomicBool>);

impl Patience {
    /// Waits no longer: connecting fails.
    pub fn end(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl PartialEq for Patience {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Patience {}

/// Limits of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelOptions {
    /// How long to wait for a peer that makes no progress. A message of `n` bytes may take `timeout` plus
    /// `n / least_rate` in all, however the peer spreads its bytes.
    pub timeout: Duration,
    /// The slowest acceptable peer, in bytes per second (see `timeout`).
    pub least_rate: u64,
    /// How many bytes may wait for the peer to take them before a send waits too. The budget may allow fewer.
    pub queue_bytes: usize,
    /// The memory that queues draw on beyond a small fixed part. Clones of these options share it.
    pub budget: Budget,
    /// How long a receive polls before it sleeps. Use zero unless the machine has a core to spare for each thread.
    pub spin: Duration,
    /// How long dropping a channel waits for the peer to take what was sent. After an abort or a failure it does not
    /// wait.
    pub linger: Duration,
    /// How long all waits of a phase may take together. Clones of these options share it.
    pub phase: PhaseClock,
    /// Who hears of long waits.
    pub on_wait: OnWait,
    /// Which peers are there, and for whom they wait. Clones of these options share it.
    pub roll: Roll,
    /// Whether peers that have not appeared are still waited for. Clones of these options share it.
    pub patience: Patience,
}

impl Default for ChannelOptions {
    /// In the order of the fields: 30 s, 1 MB/s, 64 MiB, 128 MiB for each peer, no polling, 5 s, no phase, the log, no roll
    /// call, and patience.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            least_rate: 1_000_000,
            queue_bytes: 64 << 20,
            budget: Budget::default(),
            spin: Duration::ZERO,
            linger: Duration::from_secs(5),
            phase: PhaseClock::default(),
            on_wait: OnWait::default(),
            roll: Roll::default(),
            patience: Patience::default(),
        }
    }
}

impl ChannelOptions {
    /// The defaults with another `timeout`.
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            timeout,
            ..Self::default()
        }
    }

    /// The deadline of a message of `bytes` bytes, counted from now.
    pub(crate) fn deadline(&self, bytes: usize) -> Deadline {
        let transfer =
            Duration::from_micros((bytes as u64).saturating_mul(1_000_000) / self.least_rate.max(1));
        Deadline::new(self.timeout.saturating_add(transfer))
    }
}

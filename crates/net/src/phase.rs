//! A time by which a whole phase of a session must be over, whatever single messages take.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Limits how long a phase of a session may take, for all channels that share this clock.
///
/// The deadline of a message starts anew with each message, so a peer that sends each one just in time could keep a
/// session going for ever. Once the time of a phase is over, every send and receive that has to wait, or to read more
/// from the transport, fails with [`Error::PhaseOver`](crate::Error::PhaseOver).
///
/// No phase has begun at first, and then there is no limit: how long a phase may take depends on what is computed, so
/// the session sets it from its estimate, with a margin for slow machines and networks. Clones share one clock, and so
/// do the channels that are made with clones of the same [`ChannelOptions`](crate::ChannelOptions).
#[derive(Clone, Default)]
pub struct PhaseClock(Arc<Shared>);

struct Shared {
    /// The end of the phase in microseconds of [`now`]; `u64::MAX` outside of phases.
    until: AtomicU64,
    phase: Mutex<Phase>,
}

/// A phase that has begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phase {
    pub(crate) name: String,
    pub(crate) limit: Duration,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            until: AtomicU64::new(u64::MAX),
            phase: Mutex::default(),
        }
    }
}

/// Microseconds since some moment of this process.
fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    micros(START.get_or_init(Instant::now).elapsed())
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl PhaseClock {
    /// Begins a phase that may take `limit`; it takes the place of the one before. `name` is how errors call it.
    pub fn begin(&self, name: impl Into<String>, limit: Duration) {
        let mut phase = self.0.phase.lock().unwrap_or_else(PoisonError::into_inner);
        *phase = Phase {
            name: name.into(),
            limit,
        };
        let until = now().saturating_add(micros(limit)).min(u64::MAX - 1);
        self.0.until.store(until, Ordering::Release);
    }

    /// Ends the phase: from here on there is no limit.
    pub fn end(&self) {
        self.0.until.store(u64::MAX, Ordering::Release);
    }

    /// How long the phase may still take: `Some(0)` when its time is over, `None` outside of phases.
    pub fn remaining(&self) -> Option<Duration> {
        let until = self.0.until.load(Ordering::Acquire);
        (until != u64::MAX).then(|| Duration::from_micros(until.saturating_sub(now())))
    }

    pub(crate) fn phase(&self) -> Phase {
        let phase = self.0.phase.lock().unwrap_or_else(PoisonError::into_inner);
        phase.clone()
    }
}

impl fmt::Debug for PhaseClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.remaining() {
            Some(left) => write!(f, "PhaseClock({:?}, {left:?} left)", self.phase().name),
            None => f.write_str("PhaseClock(no phase)"),
        }
    }
}

impl PartialEq for PhaseClock {
    /// Whether both are one clock.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PhaseClock {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_over_when_its_time_is() {
        let clock = PhaseClock::default();
        assert_eq!(clock.remaining(), None);
        clock.begin("first", Duration::from_secs(100));
        let shared = clock.clone();
        assert!(
            shared
                .remaining()
                .is_some_and(|left| left > Duration::from_secs(90))
        );
        shared.begin("second", Duration::ZERO);
        assert_eq!(clock.remaining(), Some(Duration::ZERO));
        assert_eq!(clock.phase().name, "second");
        shared.begin("endless", Duration::MAX);
        assert!(
            clock
                .remaining()
                .is_some_and(|left| left > Duration::from_secs(1 << 40))
        );
        shared.end();
        assert_eq!(clock.remaining(), None);
        assert_ne!(PhaseClock::default(), clock);
    }
}

//! How long the phases of a session may take.

use std::time::Duration;

use cenote_net::PhaseClock;

/// The least time that a phase has unless it is set.
const LEAST: Duration = Duration::from_secs(600);

/// How many times as long as at the least acceptable rate of a peer the traffic of a session may take.
const MARGIN: u32 = 100;

/// The least acceptable rate, in bytes per second.
const LEAST_RATE: u64 = 1_000_000;

/// The phases of a session at one party, none of which may take longer than a limit: a peer that sends each message just in time
/// is cut off all the same, with [`PhaseOver`](cenote_net::Error::PhaseOver).
#[derive(Debug)]
pub struct Phases {
    clock: PhaseClock,
    limit: Duration,
}

impl Phases {
    pub(crate) fn new(clock: PhaseClock, limit: Duration) -> Self {
        Self { clock, limit }
    }

    /// Phases without a limit.
    pub fn unlimited() -> Self {
        Self::new(PhaseClock::default(), Duration::MAX)
    }

    /// The limit of each phase of a session that sends and receives about `bytes` bytes: ten minutes, and a hundred times as long as
    /// that takes at 1 MB/s.
    pub fn limit(bytes: u64) -> Duration {
        let transfer = Duration::from_micros(bytes.saturating_mul(1_000_000 / LEAST_RATE));
        LEAST.saturating_add(transfer.saturating_mul(MARGIN))
    }

    /// Begins the phase called `name`, which takes the place of the one before.
    pub fn begin(&self, name: &str) {
        self.clock.begin(name, self.limit);
    }

    /// Ends the phase: until the next one nothing is waited for.
    pub fn pause(&self) {
        self.clock.end();
    }
}

impl Drop for Phases {
    /// No phase outlasts the session: what is said at its end has the deadlines of messages only.
    fn drop(&mut self) {
        self.clock.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_honest_session_is_as_slow_as_its_limit() {
        assert_eq!(Phases::limit(0), Duration::from_secs(600));
        // 100 GB at 1 MB/s take more than a day.
        assert_eq!(
            Phases::limit(100_000_000_000),
            Duration::from_secs(600 + 100 * 100_000)
        );
        assert!(Phases::limit(u64::MAX) > Duration::from_secs(1 << 40));
    }

    #[test]
    fn phases_end_with_the_session() {
        let clock = PhaseClock::default();
        let phases = Phases::new(clock.clone(), Duration::from_secs(100));
        assert_eq!(clock.remaining(), None);
        phases.begin("the test");
        assert!(
            clock
                .remaining()
                .is_some_and(|left| left > Duration::from_secs(90))
        );
        drop(phases);
        assert_eq!(clock.remaining(), None);
    }
}

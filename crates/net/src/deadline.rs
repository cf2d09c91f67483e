//! When a wait is over.

use std::time::{Duration, Instant};

/// A point in time after which waiting is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    start: Instant,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            start: Instant::now(),
            limit,
        }
    }

    /// One that began some time ago.
    #[cfg(test)]
    pub(crate) fn begun(ago: Duration, limit: Duration) -> Self {
        let start = Instant::now().checked_sub(ago).expect("not long ago");
        Self { start, limit }
    }

    pub(crate) fn waited(&self) -> Duration {
        self.start.elapsed()
    }

    /// Moves the end.
    pub(crate) fn extend(&mut self, by: Duration) {
        self.limit = self.limit.saturating_add(by);
    }

    /// What is left, or `None` when it is over.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        self.limit
            .checked_sub(self.start.elapsed())
            .filter(|left| !left.is_zero())
    }
}

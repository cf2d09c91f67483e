//! What the interface itself has done.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of requests and connections.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Answers by the hundreds of their status.
    answers: [AtomicU64; 6],
    pub(crate) open: AtomicU64,
    pub(crate) turned_away: AtomicU64,
}

impl Meter {
    pub(crate) fn answered(&self, status: u16) {
        if let Some(count) = self.answers.get(usize::from(status / 100)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The answers of each class, `2xx` and so on.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let counts = self.answers.iter().enumerate().skip(2);
        counts.map(|(class, count)| (format!("{class}xx"), count.load(Ordering::Relaxed)))
    }
}

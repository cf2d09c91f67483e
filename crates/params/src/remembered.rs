//! What was searched for before. A search takes milliseconds, and a service asks for the same parameters with every job.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is remembered, at most: the oldest goes first.
const MOST: usize = 256;

/// The outcomes of searches, by what was asked.
pub struct Remembered<K, V>(Mutex<VecDeque<(K, V)>>);

impl<K, V> Remembered<K, V> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }
}

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: PartialEq, V: Clone> Remembered<K, V> {
    fn known(&self) -> MutexGuard<'_, VecDeque<(K, V)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `search` gives, or has given for the same `asked`.
    pub fn get(&self, asked: K, search: impl FnOnce() -> V) -> V {
        let found = self
            .known()
            .iter()
            .find(|(known, _)| *known == asked)
            .map(|(_, found)| found.clone());
        if let Some(found) = found {
            return found;
        }
        // Others go on meanwhile: two may search for the same.
        let found = search();
        let mut known = self.known();
        if known.len() >= MOST {
            known.pop_front();
        }
        known.push_back((asked, found.clone()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_not_searched_for_again_until_it_is_forgotten() {
        let remembered = Remembered::new();
        let mut searches = 0;
        let mut ask = |asked: usize| {
            let found = remembered.get(asked, || {
                searches += 1;
                2 * asked
            });
            assert_eq!(found, 2 * asked);
            searches
        };
        assert_eq!((ask(1), ask(2), ask(1), ask(2)), (1, 2, 2, 2));
        for asked in 2..MOST + 2 {
            ask(asked);
        }
        assert_eq!(ask(MOST), MOST + 1);
        assert_eq!(ask(1), MOST + 2);
        assert_eq!(remembered.known().len(), MOST);
    }
}

//! Rows: lanes taken, put together and moved about, by public places.

use std::ops::Range;
use std::panic::Location;

use cenote_primitives::LaneRun;

use super::Secret;
use crate::value::{Value, no_row};
use crate::word::Word;

impl<T: Word> Secret<T> {
    /// The secret in place `at`.
    #[track_caller]
    pub fn at(&self, at: usize) -> Self {
        self.slice(at..at + 1)
    }

    /// The secrets in these places.
    #[track_caller]
    pub fn slice(&self, range: Range<usize>) -> Self {
        if range.end > self.len() || range.start >= range.end {
            let what = format!("places {range:?} of a row of {}", self.len());
            return self.refused(what);
        }
        Self::lanes(
            &[self],
            &[LaneRun::new(0, range.start as u32, range.len() as u32)],
        )
    }

    /// The secrets in the places `places`, in their order; a place may come more than once.
    #[track_caller]
    pub fn gather(&self, places: &[usize]) -> Self {
        if let Some(place) = places.iter().find(|&&place| place >= self.len()) {
            return self.refused(format!("place {place} of a row of {}", self.len()));
        }
        if places.is_empty() {
            return self.refused("a row of no secrets".into());
        }
        Secret::of(self.value().gather(places))
    }

    /// The secrets of all `parts`, which are at least one, one part after the other.
    ///
    /// # Panics
    /// If there are no parts: there is no session to tell of the mistake.
    #[track_caller]
    pub fn concat(parts: &[&Self]) -> Self {
        assert!(!parts.is_empty(), "a row has at least one secret");
        let all = parts.iter().map(|part| part.len()).fold(0, usize::saturating_add);
        if let Some(what) = no_row(all) {
            return parts[0].refused(what);
        }
        let runs: Vec<LaneRun> = (0..)
            .zip(parts)
            .map(|(part, row)| LaneRun::new(part, 0, row.len() as u32))
            .collect();
        Self::lanes(parts, &runs)
    }

    /// The row `times` times over; the secrets of a row stay together.
    #[track_caller]
    pub fn repeat(&self, times: usize) -> Self {
        if let Some(what) = no_row(self.len().saturating_mul(times)) {
            return self.refused(what);
        }
        Secret::of(self.value().repeated(times))
    }

    /// The row backwards.
    #[track_caller]
    pub fn reverse(&self) -> Self {
        self.gather(&(0..self.len()).rev().collect::<Vec<_>>())
    }

    #[track_caller]
    fn lanes(parts: &[&Self], runs: &[LaneRun]) -> Self {
        let values: Vec<&Value> = parts.iter().map(|part| part.value()).collect();
        Secret::of(Value::arrange(&values, runs))
    }

    #[track_caller]
    fn refused(&self, what: String) -> Self {
        Secret::of(
            self.session()
                .misuse(what, Location::caller(), T::BITS, self.len()),
        )
    }
}

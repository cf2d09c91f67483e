//! What the service did in the last hour, and in the last day.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cenote_service::Timestamp;
use cenote_service::job::StateName;
use cenote_service::live::{Counts, Live, Stock};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How often it is noted, unless the operator says otherwise.
pub(crate) const STEP: Duration = Duration::from_secs(10);
/// Notes of the last hour.
const SHORT: usize = 361;
/// Each so many notes, one is kept for a day.
const THIN: u64 = 30;
const LONG: usize = 289;

/// A point in time, with what happened since the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Seconds since the point before.
    pub seconds: f64,
    /// Jobs that were done.
    pub done: u64,
    /// Jobs that failed.
    pub failed: u64,
    /// AND gates that were computed.
    pub ands: u64,
    /// Half of the jobs were done within so many seconds from their submission; none if no job was done.
    pub half: Option<f64>,
    /// 99 of 100 jobs were.
    pub most: Option<f64>,
    /// Material in stock, by protocol and kind.
    pub stock: BTreeMap<String, u64>,
}

#[derive(Clone)]
struct Note {
    at: Timestamp,
    counts: Counts,
    stock: Vec<Stock>,
}

/// Notes of the last hour and day.
#[derive(Clone, Default)]
pub(crate) struct History(Arc<Mutex<Notes>>);

#[derive(Default)]
struct Notes {
    number: u64,
    short: VecDeque<Note>,
    long: VecDeque<Note>,
}

impl History {
    pub(crate) fn note(&self, live: &dyn Live) {
        let note = Note {
            at: Timestamp::now(),
            counts: live.counts(),
            stock: live.stock(),
        };
        self.add(note);
    }

    fn add(&self, note: Note) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.number.is_multiple_of(THIN) {
            keep(&mut notes.long, note.clone(), LONG);
        }
        keep(&mut notes.short, note, SHORT);
        notes.number += 1;
    }

    /// The points of the last hour, or of the last day.
    pub(crate) fn points(&self, day: bool) -> Vec<Point> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let notes = if day { &notes.long } else { &notes.short };
        notes
            .iter()
            .zip(notes.iter().skip(1))
            .map(|(before, after)| point(before, after))
            .collect()
    }
}

fn keep(notes: &mut VecDeque<Note>, note: Note, most: usize) {
    if notes.len() == most {
        notes.pop_front();
    }
    notes.push_back(note);
}

fn point(before: &Note, after: &Note) -> Point {
    let grown = |count: &dyn Fn(&Counts) -> u64| count(&after.counts).saturating_sub(count(&before.counts));
    let ended = |state| grown(&|counts| counts.jobs.get(&state).copied().unwrap_or(0));
    let within: Vec<(f64, u64)> = after
        .counts
        .latency
        .iter()
        .enumerate()
        .map(|(place, (limit, count))| {
            let earlier = before.counts.latency.get(place).map_or(0, |(_, count)| *count);
            (*limit, count.saturating_sub(earlier))
        })
        .collect();
    Point {
        at: after.at.millis(),
        seconds: after.at.millis().saturating_sub(before.at.millis()) as f64 / 1000.0,
        done: ended(StateName::Done),
        failed: ended(StateName::Failed),
        ands: grown(&|counts| counts.ands),
        half: quantile(&within, 0.5),
        most: quantile(&within, 0.99),
        stock: after
            .stock
            .iter()
            .map(|stock| (format!("{}: {}", stock.protocol, stock.kind), stock.amount))
            .collect(),
    }
}

/// Within how many seconds this share of the jobs was done, by the limits at which they were counted.
fn quantile(within: &[(f64, u64)], share: f64) -> Option<f64> {
    let all = within.last().map_or(0, |(_, count)| *count);
    if all == 0 {
        return None;
    }
    let wanted = share * all as f64;
    let (mut from, mut below) = (0.0, 0_u64);
    for (limit, count) in within {
        if *count as f64 >= wanted {
            let inside = (*count - below).max(1) as f64;
            let seconds = from + (limit - from) * (wanted - below as f64) / inside;
            return Some(if seconds.is_finite() { seconds } else { from });
        }
        (from, below) = (*limit, *count);
    }
    Some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(seconds: u64, done: u64, latency: &[(f64, u64)]) -> Note {
        Note {
            at: Timestamp::from_millis(seconds * 1000),
            counts: Counts {
                jobs: BTreeMap::from([(StateName::Done, done)]),
                latency: latency.to_vec(),
                ..Counts::default()
            },
            stock: Vec::new(),
        }
    }

    #[test]
    fn a_point_tells_what_happened_since_the_one_before() {
        let history = History::default();
        assert_eq!(history.points(false), []);
        history.add(note(0, 5, &[(1.0, 5), (2.0, 5)]));
        history.add(note(10, 9, &[(1.0, 7), (2.0, 9)]));
        history.add(note(20, 9, &[(1.0, 7), (2.0, 9)]));
        let points = history.points(false);
        assert_eq!((points[0].done, points[0].seconds), (4, 10.0));
        assert_eq!((points[0].half, points[0].most), (Some(1.0), Some(1.98)));
        assert_eq!((points[1].done, points[1].half), (0, None));
        assert_eq!(history.points(true), []);
    }

    #[test]
    fn an_hour_and_a_day_are_kept_and_no_more() {
        let history = History::default();
        for second in 0..10_000 {
            history.add(note(10 * second, 0, &[]));
        }
        assert_eq!(history.points(false).len(), SHORT - 1);
        let day = history.points(true);
        assert_eq!((day.len(), day[0].seconds), (LONG - 1, 300.0));
    }

    #[test]
    fn times_beyond_the_last_limit_are_the_limit_before() {
        assert_eq!(quantile(&[(1.0, 0), (f64::INFINITY, 3)], 0.5), Some(1.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}

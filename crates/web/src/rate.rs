//! How fast a token may call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Tokens that are remembered at once; those that have rested longest are forgotten first.
const KNOWN: usize = 4096;

/// A bucket for each token, from which every request takes one.
pub(crate) struct Rates {
    rate: f64,
    burst: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    pub(crate) fn new(rate: f64, burst: f64) -> Self {
        Rates {
            rate,
            burst,
            buckets: Mutex::default(),
        }
    }

    /// Whether the token of this public name may make a request at `now`.
    pub(crate) fn take(&self, token: &str, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= KNOWN && !buckets.contains_key(token) {
            let oldest = buckets
                .iter()
                .min_by_key(|(_, bucket)| bucket.at)
                .map(|(name, _)| name.clone());
            oldest.map(|name| buckets.remove(&name));
        }
        let bucket = buckets.entry(token.to_owned()).or_insert(Bucket {
            left: self.burst,
            at: now,
        });
        let rested = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + rested * self.rate).min(self.burst);
        bucket.at = now;
        let may = bucket.left >= 1.0;
        if may {
            bucket.left -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_token_takes_what_its_bucket_holds_and_no_other_tokens_share() {
        let rates = Rates::new(10.0, 3.0);
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let taken = |token, millis| (0..5).filter(|_| rates.take(token, at(millis))).count();
        assert_eq!(taken("a", 0), 3);
        assert_eq!(taken("b", 0), 3);
        assert_eq!(taken("a", 99), 0);
        assert_eq!(taken("a", 201), 2);
        assert_eq!(taken("a", 60_000), 3);
        for name in 0..2 * KNOWN {
            rates.take(&name.to_string(), at(70_000));
        }
        assert_eq!(rates.buckets.lock().expect("whole").len(), KNOWN);
    }
}

//! Points in time, as this party's clock has them.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};

/// Milliseconds since the beginning of 1970, UTC, by this party's clock. Calls are given the time, so that tests choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The latest that is written with four digits of the year: the end of 9999.
    const MOST: u64 = 253_402_300_799_999;

    /// The time by this machine's clock.
    pub fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Self::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// `millis` milliseconds after the beginning of 1970; times after the year 9999 become its end.
    pub fn from_millis(millis: u64) -> Self {
        Timestamp(millis.min(Self::MOST))
    }

    /// Milliseconds since the beginning of 1970.
    pub fn millis(self) -> u64 {
        self.0
    }

    /// This long after.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self::from_millis(
            self.0
                .saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// This long before, but not before 1970.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Timestamp(
            self.0
                .saturating_sub(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// As a column of a database, whose integers have a sign.
    pub fn column(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// From such a column; what lies before 1970 becomes its beginning.
    pub fn from_column(value: i64) -> Self {
        Self::from_millis(u64::try_from(value).unwrap_or(0))
    }
}

/// RFC 3339 in UTC, with milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::from_timestamp_millis(self.column()).unwrap_or_default();
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_210_096_007, "2024-02-29T12:34:56.007Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).to_string(), text);
        }
    }
}

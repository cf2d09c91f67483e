//! How many messages are in flight on a link, chosen by how long a message takes on it.

use std::time::{Duration, Instant};

use cenote_session::{Error, MESSAGE_FORM, Result};

use crate::ring::Ring;
use crate::settings::Lag;
use crate::steps;

/// The least time in which a worker computes the contents of a message: 1024 blocks of checks.
const MESSAGE_TIME: Duration = Duration::from_micros(250);

/// Messages that are timed, after the first, which brings the parties together.
const PINGS: u64 = 3;

impl Lag {
    /// The term on which the parties must agree, if there is one.
    pub(crate) fn agreed(self) -> Option<(String, String)> {
        match self {
            Lag::Messages(_) => None,
            Lag::Measured => Some(("messages in flight".into(), "measured".into())),
        }
    }

    /// # Errors
    /// [`Error::BadInput`] for a number out of bounds.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Lag::Messages(count) if !(1..=Lag::MOST).contains(&count) => Err(Error::BadInput(format!(
                "1 to {} messages can be in flight, not {count}",
                Lag::MOST
            ))),
            _ => Ok(()),
        }
    }

    /// The number of messages, measured if it is to be.
    pub(crate) fn settle(self, ring: &mut Ring) -> Result<usize> {
        match self {
            Lag::Messages(count) => Ok(count),
            Lag::Measured => Ok(messages(measure(ring)?)),
        }
    }
}

/// How many messages fill a link on which each takes this long.
fn messages(way: Duration) -> usize {
    let on_the_way = way.as_nanos() / MESSAGE_TIME.as_nanos();
    usize::try_from(on_the_way)
        .unwrap_or(Lag::MOST)
        .saturating_add(Lag::LEAST)
        .min(Lag::MOST)
}

/// How long a message takes, at least. All three parties send at the same time, and each ping answers the one before: from a ping to the
/// answer of both others it is two ways, however late a party comes to send or to look.
fn measure(ring: &mut Ring) -> Result<Duration> {
    let mut least = Duration::MAX;
    let mut before = None;
    for number in 0..=PINGS {
        let sent = Instant::now();
        let word = number.to_le_bytes();
        if ring.exchange(steps::PING, &word, &word)? != (word, word) {
            let detail = "a peer's ping is garbled";
            return Err(Error::cheated(MESSAGE_FORM, None, steps::PING, detail));
        }
        if let Some(before) = before.replace(sent) {
            least = least.min(before.elapsed() / 2);
        }
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_links_have_more_in_flight() {
        let of = |micros| messages(Duration::from_micros(micros));
        assert_eq!([0, 100, 249].map(of), [2; 3]);
        assert_eq!([250, 1_000, 10_000].map(of), [3, 6, 42]);
        assert_eq!([20_000, u64::MAX].map(of), [Lag::MOST; 2]);
    }
}

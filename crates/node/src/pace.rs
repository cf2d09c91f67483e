//! How long jobs ran here, to tell how long others would.

use std::collections::VecDeque;

/// Runs that are remembered; the oldest make room.
const KNOWN: usize = 256;

/// A job that was done.
#[derive(Debug)]
struct Run {
    protocol: String,
    bytes: u64,
    seconds: f64,
}

/// How long jobs ran that were done since the service came up.
#[derive(Debug, Default)]
pub(crate) struct Paces(VecDeque<Run>);

impl Paces {
    /// A job of a protocol that sends so many bytes ran so long.
    pub(crate) fn ran(&mut self, protocol: &str, bytes: u64, seconds: f64) {
        if self.0.len() == KNOWN {
            self.0.pop_front();
        }
        self.0.push_back(Run {
            protocol: protocol.into(),
            bytes: bytes.max(1),
            seconds,
        });
    }

    /// How long a job would run, about: as long as the one nearest to it in size did, and longer in proportion if it sends more. Nothing if none of its protocol ran.
    pub(crate) fn of(&self, protocol: &str, bytes: u64) -> Option<f64> {
        let wanted = bytes.max(1) as f64;
        let apart = |run: &Run| (run.bytes as f64 / wanted).ln().abs();
        // Of those that are equally near, the latest.
        let same = self.0.iter().rev().filter(|run| run.protocol == protocol);
        let nearest = same.min_by(|one, other| apart(one).total_cmp(&apart(other)))?;
        Some(nearest.seconds * (wanted / nearest.bytes as f64).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_takes_as_long_as_the_nearest_in_size() {
        let mut paces = Paces::default();
        assert_eq!(paces.of("three", 100), None);
        paces.ran("three", 1000, 2.0);
        paces.ran("three", 1_000_000, 50.0);
        paces.ran("jimu", 1000, 9.0);
        // A smaller one has the same rounds.
        assert_eq!(paces.of("three", 10), Some(2.0));
        assert_eq!(paces.of("three", 2000), Some(4.0));
        assert_eq!(paces.of("three", 900_000), Some(50.0));
        assert_eq!(paces.of("jimu", 1000), Some(9.0));
        paces.ran("three", 1000, 3.0);
        assert_eq!(paces.of("three", 1000), Some(3.0), "the latest");
        for _ in 0..KNOWN {
            paces.ran("lego", 1, 1.0);
        }
        assert_eq!((paces.of("three", 1), paces.0.len()), (None, KNOWN));
    }
}

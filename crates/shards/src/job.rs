//! A job that is cut into shards, its pieces, and the attempts at them.

use std::fmt;

use cenote_net::Fingerprint;
use cenote_session::{Error, Result, Terms};
use serde::{Deserialize, Serialize};

/// The most shards.
pub const MOST_SHARDS: u32 = 1 << 16;

/// The most attempts.
pub const MOST_ATTEMPTS: u32 = 1 << 20;

/// Bytes of an address, at most.
pub const ADDRESS_BYTES: usize = 256;

/// Bytes of the reason why an attempt ended, at most. A longer one is cut.
pub const REASON_BYTES: usize = 1 << 10;

/// What all coordinators agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    terms: Terms,
    shards: u32,
    attempts: u32,
}

impl Job {
    /// A job that is cut into `shards` shards, at whose pieces there are at most `attempts` attempts together. Each attempt is one more chance for a cheater, so
    /// the security level must allow that many. `terms` say what is computed; none of them is called "shards" or "attempts".
    ///
    /// # Errors
    /// [`Error::BadInput`] unless there are 1 to [`MOST_SHARDS`] shards, and one attempt for each piece to [`MOST_ATTEMPTS`].
    pub fn new(terms: Terms, shards: u32, attempts: u32) -> Result<Self> {
        if !(1..=MOST_SHARDS).contains(&shards) {
            let what = format!("a job has 1 to {MOST_SHARDS} shards, not {shards}");
            return Err(Error::BadInput(what));
        }
        if !(shards + 1..=MOST_ATTEMPTS).contains(&attempts) {
            let what = format!(
                "{shards} shards and their merge take at least {} attempts and may have {MOST_ATTEMPTS}, not {attempts}",
                shards + 1
            );
            return Err(Error::BadInput(what));
        }
        Ok(Self {
            terms,
            shards,
            attempts,
        })
    }

    /// How many shards there are.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// How many attempts there may be, at all pieces together.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How many pieces there are: the shards, and the merge.
    pub fn pieces(&self) -> u32 {
        self.shards + 1
    }

    /// The pieces in their order, the merge last.
    pub(crate) fn all_pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        (0..self.shards).map(Piece::Shard).chain([Piece::Merge])
    }

    /// All that the coordinators compare.
    pub(crate) fn all_terms(&self) -> Terms {
        let counts = [("shards", self.shards), ("attempts", self.attempts)];
        let counts = counts.map(|(name, count)| (name.to_owned(), count.to_string()));
        // What people have stated is told before what follows from it, and the version before that.
        let (first, rest) = self.terms.split_at(self.terms.len().min(1));
        let terms = first.iter().cloned().chain(counts);
        terms.chain(rest.iter().cloned()).collect()
    }
}

/// A part of the work that is a session of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Piece {
    /// The shard of this number, from 0.
    Shard(u32),
    /// The last session, which computes the answer from what the shards left.
    Merge,
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Shard(index) => write!(f, "shard {index}"),
            Piece::Merge => f.write_str("the merge"),
        }
    }
}

/// An attempt at a piece. There is one at a time, and none is made twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// At what.
    pub piece: Piece,
    /// Its place among the attempts at the piece, from 1. Numbers may be left out where a coordinator died.
    pub number: u32,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (attempt {})", self.piece, self.number)
    }
}

/// Where a worker waits for its peers, and the key by which they know it. Its coordinator vouches for both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `host:port`, at most [`ADDRESS_BYTES`] printable characters.
    pub address: String,
    /// Of the key that the worker shows.
    pub fingerprint: Fingerprint,
}

impl Place {
    /// Whether the address is one that may be sent.
    pub(crate) fn is_sound(&self) -> bool {
        let printable = self.address.bytes().all(|byte| byte.is_ascii_graphic());
        printable && (1..=ADDRESS_BYTES).contains(&self.address.len())
    }
}

/// How an attempt ended at one party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// All checks have passed, and what the piece leaves is there.
    Done,
    /// It lost a peer, or its worker was lost, in these words. There may be another attempt.
    Lost(String),
    /// A check failed, in these words: the job ends.
    Failed(String),
}

impl Outcome {
    /// The same with a reason of at most [`REASON_BYTES`], in one line.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Outcome::Done => Outcome::Done,
            Outcome::Lost(reason) => Outcome::Lost(bounded(reason)),
            Outcome::Failed(reason) => Outcome::Failed(bounded(reason)),
        }
    }

    /// Why it did not come to a good end.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Done => None,
            Outcome::Lost(reason) | Outcome::Failed(reason) => Some(reason),
        }
    }
}

/// A reason that may be sent and shown.
fn bounded(reason: String) -> String {
    let mut reason = reason.replace(char::is_control, " ");
    let fits = |&end: &usize| reason.is_char_boundary(end);
    let end = (0..=REASON_BYTES.min(reason.len())).rev().find(fits);
    reason.truncate(end.unwrap_or_default());
    reason
}

/// The name of a job that was begun, which no other has: what its parties leave on their disks is found by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobName(pub(crate) [u8; 32]);

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobName({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_bounded() {
        let job = |shards, attempts| Job::new(Terms::new(), shards, attempts);
        for (shards, attempts) in [(1, 2), (16, 32), (MOST_SHARDS, MOST_ATTEMPTS)] {
            assert_eq!(job(shards, attempts).unwrap().pieces(), shards + 1);
        }
        for (shards, attempts) in [
            (0, 5),
            (MOST_SHARDS + 1, MOST_ATTEMPTS),
            (16, 16),
            (1, MOST_ATTEMPTS + 1),
            (u32::MAX, u32::MAX),
        ] {
            let error = job(shards, attempts).unwrap_err();
            assert!(matches!(error, Error::BadInput(_)), "{error}");
        }
    }

    #[test]
    fn reasons_are_cut_between_characters() {
        let reason = format!("a{}", "ü".repeat(REASON_BYTES));
        let Outcome::Lost(cut) = Outcome::Lost(reason.clone()).bounded() else {
            panic!("it is still lost");
        };
        assert_eq!(cut.len(), REASON_BYTES - 1);
        assert!(reason.starts_with(&cut));
    }
}

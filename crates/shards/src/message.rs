//! What coordinators say to each other while a job runs.
//!
//! A word is sent as its length and its bytes. Both are bounded before anything is allocated.

use cenote_net::{Channel, Fingerprint, PartyId, recv_sized, send_sized};
use cenote_session::{Error, MESSAGE_FORM, Result};
use serde::{Deserialize, Serialize};

use crate::job::REASON_BYTES;
use crate::steps::{LENGTH, WORD};
use crate::{Attempt, Outcome, Place};

/// Bytes of a word, at most.
pub(crate) const WORD_BYTES: usize = 2 << 10;

/// What a coordinator says of itself and its own workers: it passes on nothing that it has heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// It is there. Its running pieces together have made so many steps of so many.
    Alive { done: u64, total: u64 },
    /// So many more pieces could start at it, after this many had started since the coordinators met.
    Free { free: u32, started: u32 },
    /// Party 0 hands out an attempt.
    Start(Attempt),
    /// Its worker listens.
    Listens { attempt: Attempt, place: Place },
    /// Its worker has ended.
    Ended { attempt: Attempt, outcome: Outcome },
    /// It has heard that the attempt ended at all parties, and has recorded whether it counts.
    Settled { attempt: Attempt, done: bool },
}

/// The same as it is sent.
#[derive(Serialize, Deserialize)]
enum Sent {
    Alive(u64, u64),
    Free(u32, u32),
    Start(Attempt),
    Listens(Attempt, String, [u8; 32]),
    Ended(Attempt, Outcome),
    Settled(Attempt, bool),
}

impl Word {
    /// The bytes of the word.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let sent = match self.clone() {
            Word::Alive { done, total } => Sent::Alive(done, total),
            Word::Free { free, started } => Sent::Free(free, started),
            Word::Start(attempt) => Sent::Start(attempt),
            Word::Listens { attempt, place } => {
                Sent::Listens(attempt, place.address, digits(&place.fingerprint))
            }
            Word::Ended { attempt, outcome } => Sent::Ended(attempt, outcome),
            Word::Settled { attempt, done } => Sent::Settled(attempt, done),
        };
        postcard::to_stdvec(&sent).expect("memory takes everything")
    }

    /// The word of these bytes, which a peer may have written.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Word> {
        let (sent, rest) = postcard::take_from_bytes(bytes).ok()?;
        let word = match sent {
            Sent::Alive(done, total) => Word::Alive { done, total },
            Sent::Free(free, started) => Word::Free { free, started },
            Sent::Start(attempt) => Word::Start(attempt),
            Sent::Listens(attempt, address, fingerprint) => {
                let fingerprint = hex::encode(fingerprint).parse().ok()?;
                let place = Place { address, fingerprint };
                place.is_sound().then_some(Word::Listens { attempt, place })?
            }
            Sent::Ended(attempt, outcome) => {
                let sound = |reason: &str| reason.len() <= REASON_BYTES && !reason.contains(char::is_control);
                outcome
                    .reason()
                    .is_none_or(sound)
                    .then_some(Word::Ended { attempt, outcome })?
            }
            Sent::Settled(attempt, done) => Word::Settled { attempt, done },
        };
        rest.is_empty().then_some(word)
    }
}

/// The bytes of a fingerprint.
pub(crate) fn digits(fingerprint: &Fingerprint) -> [u8; 32] {
    let mut bytes = [0; 32];
    hex::decode_to_slice(fingerprint.to_string(), &mut bytes)
        .expect("a fingerprint is 32 bytes in hexadecimal");
    bytes
}

/// Sends the bytes of a word.
pub(crate) fn send(channel: &mut dyn Channel, bytes: &[u8]) -> Result<()> {
    Ok(send_sized(channel, [LENGTH, WORD], bytes)?)
}

/// Waits for a peer's next word.
///
/// # Errors
/// [`MESSAGE_FORM`] for anything that no coordinator says; those of the channel.
pub(crate) fn receive(channel: &mut dyn Channel) -> Result<Word> {
    let bytes = recv_sized(channel, [LENGTH, WORD], WORD_BYTES)?;
    Word::decode(&bytes).ok_or_else(|| malformed(channel.peer(), "a word that no coordinator says"))
}

/// The failed check of a message's form.
pub(crate) fn malformed(peer: PartyId, detail: impl Into<String>) -> Error {
    Error::cheated(MESSAGE_FORM, peer, WORD, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Piece;
    use crate::job::ADDRESS_BYTES;

    fn words(address: &str, reason: &str) -> Vec<Word> {
        let attempt = Attempt {
            piece: Piece::Shard(u32::MAX),
            number: 3,
        };
        let fingerprint = "ab".repeat(32).parse().unwrap();
        let place = Place {
            address: address.into(),
            fingerprint,
        };
        let reason = || reason.to_owned();
        vec![
            Word::Alive {
                done: 7,
                total: u64::MAX,
            },
            Word::Free { free: 2, started: 9 },
            Word::Start(attempt),
            Word::Listens { attempt, place },
            Word::Ended {
                attempt,
                outcome: Outcome::Done,
            },
            Word::Ended {
                attempt,
                outcome: Outcome::Lost(reason()),
            },
            Word::Ended {
                attempt,
                outcome: Outcome::Failed(reason()),
            },
            Word::Settled {
                attempt: Attempt {
                    piece: Piece::Merge,
                    number: u32::MAX,
                },
                done: true,
            },
        ]
    }

    #[test]
    fn only_what_encode_writes_is_read() {
        let words = words(&"a".repeat(ADDRESS_BYTES), &"r".repeat(REASON_BYTES));
        for word in words {
            let bytes = word.encode();
            assert!(bytes.len() <= WORD_BYTES);
            assert_eq!(Word::decode(&bytes), Some(word.clone()));
            for cut in 0..bytes.len() {
                assert_eq!(Word::decode(&bytes[..cut]), None, "{word:?} {cut}");
            }
            assert_eq!(Word::decode(&[&bytes[..], &[0]].concat()), None, "{word:?}");
        }
    }

    #[test]
    fn long_or_unprintable_parts_are_refused() {
        let refused = |address: &str, reason: &str| {
            let words = words(address, reason).into_iter();
            words
                .filter(|word| Word::decode(&word.encode()).is_none())
                .count()
        };
        assert_eq!(refused("host:1", "why"), 0);
        assert_eq!(refused("", "why"), 1);
        assert_eq!(refused("a b", "why"), 1);
        assert_eq!(refused("host\n", "why"), 1);
        assert_eq!(refused(&"a".repeat(ADDRESS_BYTES + 1), "why"), 1);
        assert_eq!(refused("host:1", "why\n"), 2);
        assert_eq!(refused("host:1", &"r".repeat(REASON_BYTES + 1)), 2);
    }

    /// Bytes without sense never panic, and are words only if they are some word's encoding, which is short.
    #[test]
    fn garbage_is_no_word() {
        let mut entropy = cenote_primitives::Entropy::for_tests(5);
        for _ in 0..20_000 {
            let bytes = entropy.bytes::<24>();
            let length = usize::from(bytes[23]) % 23;
            if let Some(word) = Word::decode(&bytes[..length]) {
                assert!(word.encode().len() <= length, "{word:?}");
            }
        }
    }
}

//! Names of jobs and of what is addressed by its content.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Result;

/// A job's name, the same at all parties: 120 random bits and the number of the party that proposes it, in 32 hexadecimal digits. So no
/// party can propose a job by the name of another party's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub [u8; 16]);

impl JobId {
    /// A name that nothing has yet, for a job of this party.
    ///
    /// # Errors
    /// Where the system gives no random bytes.
    pub fn random(proposer: u8) -> Result<Self> {
        crate::random().map(|nonce| Self::of(proposer, nonce))
    }

    /// The name with this nonce of a job of this party.
    pub fn of(proposer: u8, nonce: [u8; 15]) -> Self {
        let mut bytes = [proposer; 16];
        bytes[..15].copy_from_slice(&nonce);
        JobId(bytes)
    }

    /// The party whose job it is.
    pub fn proposer(self) -> u8 {
        self.0[15]
    }
}

/// A BLAKE3 or SHA-256 digest, in 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The BLAKE3 digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(*blake3::hash(bytes).as_bytes())
    }
}

/// What is not a name in lower-case hexadecimal digits of the right length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it must be {0} of the digits 0-9 and a-f")]
pub struct NotHex(usize);

macro_rules! hex_name {
    ($name:ident, $bytes:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotHex;

            /// One text for one name: upper-case digits are refused.
            fn from_str(text: &str) -> std::result::Result<Self, NotHex> {
                let mut bytes = [0; $bytes];
                let lower = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                match hex::decode_to_slice(text, &mut bytes) {
                    Ok(()) if lower => Ok($name(bytes)),
                    _ => Err(NotHex(2 * $bytes)),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                std::borrow::Cow::<'de, str>::deserialize(deserializer)?
                    .parse()
                    .map_err(de::Error::custom)
            }
        }
    };
}

hex_name!(JobId, 16);
hex_name!(Digest, 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_whose_job_it_is() {
        let id = JobId::random(2).expect("random");
        assert!(id.proposer() == 2 && id.to_string().ends_with("02"), "{id}");
        assert_ne!(id, JobId::random(2).expect("random"));
    }

    #[test]
    fn one_text_is_one_name() {
        let id = JobId([0xab; 16]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("AB".repeat(16).parse::<JobId>(), Err(NotHex(32)));
        assert_eq!("ab".repeat(15).parse::<JobId>(), Err(NotHex(32)));
        assert_eq!("ab".repeat(33).parse::<Digest>(), Err(NotHex(64)));
        assert_eq!("é".repeat(16).parse::<JobId>(), Err(NotHex(32)));
    }
}

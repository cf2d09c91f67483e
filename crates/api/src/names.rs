//! Names of jobs and of what is addressed by its content.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes of the name of a kept value, at most.
const KEPT_NAME: usize = 64;

/// A job's name, the same at all parties: 120 random bits and the number of the party that proposes it, in 32 hexadecimal digits. So no
/// party can propose a job by the name of another party's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub [u8; 16]);

impl JobId {
    /// The name with this nonce of a job of this party. Random bytes make one that nothing has yet.
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

/// Refuses what cannot be the name of a kept value.
///
/// # Errors
/// In words, what names there are.
pub fn check_kept_name(name: &str) -> std::result::Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > KEPT_NAME || name.starts_with('.') || !name.bytes().all(plain) {
        return Err(format!(
            "the name of a kept value has 1 to {KEPT_NAME} letters from a to z or A to Z, digits, and the signs - _ and ., and does not begin with a dot"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_whose_job_it_is() {
        let id = JobId::of(2, [7; 15]);
        assert!(id.proposer() == 2 && id.to_string().ends_with("02"), "{id}");
        assert_ne!(id, JobId::of(2, [8; 15]));
        assert_ne!(id, JobId::of(1, [7; 15]));
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

//! What is said at a meeting: a line of JSON each, over TLS.

use std::io::{BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Bytes of a line, at most.
const LINE: u64 = 16 << 10;

/// Who joins.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Joining {
    pub(crate) party: u8,
    /// That of the invitation.
    pub(crate) secret: String,
    pub(crate) name: String,
    /// Where the parties above it reach it.
    pub(crate) address: Option<String>,
    pub(crate) fingerprint: String,
    pub(crate) commitment: String,
}

/// A party, as party 0 tells of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    pub(crate) name: String,
    pub(crate) address: Option<String>,
    pub(crate) fingerprint: String,
    pub(crate) commitment: String,
}

/// All parties, once they are there, or why nothing comes of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Answer {
    All(Vec<Told>),
    Refused(String),
}

/// A party's nonce.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shown {
    pub(crate) nonce: String,
}

/// All nonces, in the order of the parties.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllShown {
    pub(crate) nonces: Vec<String>,
}

/// The party has written its file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    pub(crate) written: bool,
}

pub(crate) fn lost(error: impl std::fmt::Display) -> Error {
    Error::Machine(format!("the other party is gone: {error}"))
}

pub(crate) fn say(to: &mut impl Write, what: &impl Serialize) -> Result<(), Error> {
    let mut line = serde_json::to_vec(what).map_err(lost)?;
    line.push(b'\n');
    to.write_all(&line).and_then(|()| to.flush()).map_err(lost)
}

pub(crate) fn hear<T: DeserializeOwned>(from: &mut impl BufRead) -> Result<T, Error> {
    let mut line = Vec::new();
    from.take(LINE).read_until(b'\n', &mut line).map_err(lost)?;
    if line.last() != Some(&b'\n') {
        return Err(lost("it closed the connection, or said more than fits"));
    }
    serde_json::from_slice(&line).map_err(|_| lost("it says what is not understood"))
}

/// Bytes in hexadecimal digits.
pub(crate) fn bytes<const N: usize>(text: &str) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| lost("it says what is not understood"))?;
    Ok(bytes)
}

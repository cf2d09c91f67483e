//! Lines and their chain.

use serde::Serialize;

use super::{Event, Fault};
use crate::{Error, Result, Timestamp};

/// Longer lines are not written, and not read.
pub(super) const MAX_LINE: usize = 64 << 10;

const CONTEXT: &str = "cenote service audit line 1";
const HASH_KEY: &str = ",\"hash\":\"";
/// `,"hash":"…"}` and a line feed, of 64 hexadecimal digits.
const END: usize = HASH_KEY.len() + 64 + 3;

/// The end of a log: how many lines it has, how many bytes, and the hash of the last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    /// The lines.
    pub number: u64,
    /// The hash of the last line, in hexadecimal; zeros for an empty log.
    pub hash: String,
    /// The bytes of all lines.
    pub length: u64,
}

impl Head {
    /// The head of an empty log.
    pub(crate) fn empty() -> Self {
        Head {
            number: 0,
            hash: "0".repeat(64),
            length: 0,
        }
    }
}

/// A line, its line feed included.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) text: String,
}

/// What the next line goes on from.
#[derive(Clone)]
pub(crate) struct Chain {
    pub(crate) head: Head,
}

#[derive(Serialize)]
struct Form<'a> {
    number: u64,
    at: String,
    #[serde(flatten)]
    event: &'a Event,
    previous: &'a str,
}

impl Chain {
    /// Adds a line.
    pub(crate) fn add(&mut self, at: Timestamp, event: &Event) -> Result<Line> {
        let number = self.head.number + 1;
        let form = Form {
            number,
            at: at.to_string(),
            event,
            previous: &self.head.hash,
        };
        let mut text = serde_json::to_string(&form).map_err(|error| Error::Corrupt(error.to_string()))?;
        text.pop();
        let hash = hash(text.as_bytes());
        text.push_str(HASH_KEY);
        text.push_str(&hash);
        text.push_str("\"}\n");
        if text.len() > MAX_LINE {
            return Err(Error::Proposal(format!(
                "it makes a line of {} bytes in the audit log",
                text.len()
            )));
        }
        self.head = Head {
            number,
            hash,
            length: self.head.length + text.len() as u64,
        };
        Ok(Line { number, text })
    }
}

fn hash(body: &[u8]) -> String {
    blake3::Hasher::new_derive_key(CONTEXT)
        .update(body)
        .finalize()
        .to_hex()
        .to_string()
}

/// Checks that `line`, with its line feed, goes on from `previous`, and gives the head with it.
pub(super) fn follow(previous: &Head, line: &[u8]) -> std::result::Result<Head, Fault> {
    let number = previous.number + 1;
    let changed = |what| Fault::Changed { line: number, what };
    let (body, end) = line
        .len()
        .checked_sub(END)
        .and_then(|at| line.split_at_checked(at))
        .ok_or(changed("it is too short to be a line of the log"))?;
    let hash = hash(body);
    if end != format!("{HASH_KEY}{hash}\"}}\n").as_bytes() {
        return Err(changed("its text and its hash do not belong together"));
    }
    // What is hashed was written by a service; that it stands in this place is told by its number and the hash before.
    match number_of(body) {
        Some(found) if found == number => {}
        Some(found) => return Err(Fault::OutOfOrder { line: number, found }),
        None => return Err(changed("it has no number")),
    }
    if !body.ends_with(format!(",\"previous\":\"{}\"", previous.hash).as_bytes()) {
        return Err(changed(
            "it does not follow the line before, so one of them was written anew",
        ));
    }
    Ok(Head {
        number,
        hash,
        length: previous.length + line.len() as u64,
    })
}

/// The number that a whole line gives for itself; nothing if its text was changed.
pub(super) fn number(line: &[u8]) -> Option<u64> {
    own_hash(line)?;
    number_of(line)
}

fn number_of(body: &[u8]) -> Option<u64> {
    let rest = body.strip_prefix(b"{\"number\":")?;
    let (digits, rest) = rest.split_at(rest.iter().position(|byte| *byte == b',')?);
    let is_plain = digits.iter().all(u8::is_ascii_digit) && rest.starts_with(b",\"at\":\"");
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| is_plain)?
        .parse()
        .ok()
}

/// The hash that `line` gives for itself, if it is the one of its text.
pub(super) fn own_hash(line: &[u8]) -> Option<String> {
    let (body, end) = line.split_at_checked(line.len().checked_sub(END)?)?;
    let hash = hash(body);
    (end == format!("{HASH_KEY}{hash}\"}}\n").as_bytes()).then_some(hash)
}

//! The first thing that both sides of a trunk say: which format and program they speak, who they are, and what time it is.

use std::io::IoSlice;
use std::time::{SystemTime, UNIX_EPOCH};

use super::config::{MAX_VERSION, TrunkLimits};
use super::wire::reason_text;
use crate::deadline::Deadline;
use crate::hello::same;
use crate::{Error, Fault, Link, PartyId, TlsLink};

const MAGIC: [u8; 8] = *b"\xCEtrunk\n\0";
const FORMAT: u16 = 1;
/// Bytes before the version's text.
const FIXED: usize = 8 + 2 + 3 + 1 + 4 + 8;

/// A hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) format: u16,
    /// The number of parties.
    pub(super) parties: u8,
    pub(super) from: PartyId,
    pub(super) to: PartyId,
    /// How many sessions that it has not joined the sender lets wait.
    pub(super) unjoined: u32,
    /// The sender's clock: microseconds since the Unix epoch.
    pub(super) clock: u64,
    /// The version of the program.
    pub(super) version: String,
}

/// Microseconds since the Unix epoch.
pub(super) fn clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}

impl Hello {
    pub(super) fn new(
        parties: u8,
        (from, to): (PartyId, PartyId),
        limits: &TrunkLimits,
        version: &str,
    ) -> Self {
        Self {
            format: FORMAT,
            parties,
            from,
            to,
            unjoined: limits.unjoined,
            clock: clock(),
            version: version.into(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let version = &self.version.as_bytes()[..self.version.len().min(MAX_VERSION)];
        let mut bytes = Vec::with_capacity(FIXED + version.len());
        bytes.extend(MAGIC);
        bytes.extend(self.format.to_le_bytes());
        bytes.extend([self.parties, self.from.0, self.to.0, version.len() as u8]);
        bytes.extend(self.unjoined.to_le_bytes());
        bytes.extend(self.clock.to_le_bytes());
        bytes.extend(version);
        bytes
    }

    /// Reads all but the version, of which the length is returned; `None` if it is no hello.
    fn decode(bytes: &[u8; FIXED]) -> Option<(Self, usize)> {
        let [parties, from, to, length] = *bytes[10..].first_chunk()?;
        let unjoined = u32::from_le_bytes(*bytes[14..].first_chunk()?);
        if bytes[..8] != MAGIC || usize::from(length) > MAX_VERSION || unjoined == 0 {
            return None;
        }
        let hello = Self {
            format: u16::from_le_bytes(*bytes[8..].first_chunk()?),
            parties,
            from: PartyId(from),
            to: PartyId(to),
            unjoined,
            clock: u64::from_le_bytes(*bytes[18..].first_chunk()?),
            version: String::new(),
        };
        Some((hello, length.into()))
    }

    /// Sends this hello and hears the peer's.
    pub(super) fn exchange(&self, link: &mut TlsLink, deadline: Deadline) -> Result<Hello, HelloFault> {
        let bytes = self.encode();
        let mut sent = 0;
        while sent < bytes.len() {
            let count = link.push(&[IoSlice::new(&bytes[sent..])], false)?;
            sent += count;
            if count == 0 {
                link.wait_room(deadline.remaining().ok_or(HelloFault::Timeout)?);
            }
        }
        let mut fixed = [0; FIXED];
        read(link, &mut fixed, deadline)?;
        let no_hello = || Fault::Violation("something that is no hello".into());
        let (mut hello, length) = Self::decode(&fixed).ok_or_else(no_hello)?;
        let mut version = vec![0; length];
        read(link, &mut version, deadline)?;
        hello.version = reason_text(&version);
        Ok(hello)
    }

    /// Compares this side's hello with what `peer` said.
    pub(super) fn compare(&self, peer: PartyId, theirs: &Self) -> Result<(), Error> {
        let pairs = [
            (
                "the version of the connection format",
                self.format.to_string(),
                theirs.format.to_string(),
            ),
            ("the version", self.version.clone(), theirs.version.clone()),
            (
                "the number of parties",
                self.parties.to_string(),
                theirs.parties.to_string(),
            ),
            ("who is who", self.from.to_string(), theirs.to.to_string()),
            ("who is who", self.to.to_string(), theirs.from.to_string()),
        ];
        same(peer, pairs)
    }
}

/// Why no hello came.
#[derive(Debug)]
pub(super) enum HelloFault {
    Timeout,
    Fault(Fault),
}

impl From<Fault> for HelloFault {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

fn read(link: &mut TlsLink, out: &mut [u8], deadline: Deadline) -> Result<(), HelloFault> {
    let mut done = 0;
    while done < out.len() {
        // Looked at in each turn: a peer may drip.
        let left = deadline.remaining().ok_or(HelloFault::Timeout)?;
        match link.pull(&mut out[done..], &mut [])? {
            None => link.wait_data(left),
            Some(0) => return Err(Fault::Lost("it closed the connection".into()).into()),
            Some(count) => done += count,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let limits = TrunkLimits::default();
        let new =
            |parties, from, to, version| Hello::new(parties, (PartyId(from), PartyId(to)), &limits, version);
        let ours = new(3, 1, 0, "1.0");
        let bytes = ours.encode();
        let (decoded, length) = Hello::decode(bytes.first_chunk().unwrap()).unwrap();
        assert_eq!(length, 3);
        assert_eq!(
            Hello {
                version: "1.0".into(),
                ..decoded
            },
            ours
        );
        for (byte, value) in [(0, 0), (13, 201)] {
            let mut bad = *bytes.first_chunk().unwrap();
            bad[byte] = value;
            assert_eq!(Hello::decode(&bad), None);
        }
        // A peer that lets nobody wait for it could be joined by nobody.
        let alone = Hello {
            unjoined: 0,
            ..new(3, 0, 1, "1.0")
        };
        assert_eq!(Hello::decode(alone.encode().first_chunk().unwrap()), None);
        let peer = PartyId(0);
        assert_eq!(ours.compare(peer, &new(3, 0, 1, "1.0")), Ok(()));
        let old = Hello {
            format: FORMAT + 1,
            ..new(3, 0, 1, "1.0")
        };
        for (theirs, field) in [
            (old, "the version of the connection format"),
            (new(3, 0, 1, "1.1"), "the version"),
            (new(2, 0, 1, "1.0"), "the number of parties"),
            (new(3, 2, 1, "1.0"), "who is who"),
            (new(3, 0, 2, "1.0"), "who is who"),
        ] {
            match ours.compare(peer, &theirs) {
                Err(Error::Mismatch { field: got, .. }) => assert_eq!(got, field),
                other => panic!("{other:?}"),
            }
        }
    }
}

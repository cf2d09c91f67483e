//! The first message on each connection: who connects, to whom, in which session, for what.

use sha2::{Digest, Sha256};

use crate::{Error, PartyId};

pub(crate) const HELLO_BYTES: usize = 114;

/// The longest label.
pub(crate) const MAX_LABEL: usize = 64;

/// The field of an [`Error::Mismatch`] over the number of channels between two parties.
pub const CHANNELS: &str = "the number of channels";

/// The field of an [`Error::Mismatch`] over the labels of as many channels.
pub const LABELS: &str = "the channels";

/// The field of an [`Error::Mismatch`] over a connection that exists already, or that nobody wants.
pub(crate) const UNWANTED: &str = "channels";

const MAGIC: [u8; 8] = *b"\xCEcenote\n";
const VERSION: u16 = 2;

/// What the acceptor says of a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Sent by the dialer.
    Ask,
    Welcome,
    /// Something differs: the answer has the acceptor's values.
    Differs,
    /// This connection exists already, or nobody wants it.
    Unwanted,
}

/// A hello, or the answer to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) status: Status,
    pub(crate) version: u16,
    pub(crate) parties: u8,
    pub(crate) from: PartyId,
    pub(crate) to: PartyId,
    /// How many channels the sender wants between the two.
    pub(crate) channels: u16,
    /// SHA-256 of the session's name.
    pub(crate) session: [u8; 32],
    pub(crate) label: String,
}

impl Hello {
    /// The question of `from`, one of `parties`, to `to` for the channel `label`, one of `channels`.
    pub(crate) fn new(
        parties: u8,
        (from, to): (PartyId, PartyId),
        session: &str,
        label: &str,
        channels: u16,
    ) -> Self {
        Self {
            status: Status::Ask,
            version: VERSION,
            parties,
            from,
            to,
            channels,
            session: Sha256::digest(session).into(),
            label: label.into(),
        }
    }

    /// The answer to this hello.
    pub(crate) fn answer(&self, status: Status) -> Self {
        Self {
            status,
            ..self.clone()
        }
    }

    pub(crate) fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let label = &self.label.as_bytes()[..self.label.len().min(MAX_LABEL)];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.version.to_le_bytes());
        bytes[10..16].copy_from_slice(&[
            match self.status {
                Status::Ask => 0,
                Status::Welcome => 1,
                Status::Differs => 2,
                Status::Unwanted => 3,
            },
            self.parties,
            self.from.0,
            self.to.0,
            label.len() as u8,
            0,
        ]);
        bytes[16..48].copy_from_slice(&self.session);
        bytes[48..48 + label.len()].copy_from_slice(label);
        bytes[112..].copy_from_slice(&self.channels.to_le_bytes());
        bytes
    }

    /// Reads a hello; `None` if it is not of this protocol.
    pub(crate) fn decode(bytes: &[u8; HELLO_BYTES]) -> Option<Self> {
        let [status, parties, from, to, length, _] = *bytes[10..].first_chunk()?;
        let status = match status {
            0 => Status::Ask,
            1 => Status::Welcome,
            2 => Status::Differs,
            3 => Status::Unwanted,
            _ => return None,
        };
        if bytes[..8] != MAGIC || usize::from(length) > MAX_LABEL {
            return None;
        }
        Some(Self {
            status,
            version: u16::from_le_bytes(*bytes[8..].first_chunk()?),
            parties,
            from: PartyId(from),
            to: PartyId(to),
            channels: u16::from_le_bytes(*bytes[112..].first_chunk()?),
            session: *bytes[16..].first_chunk()?,
            label: std::str::from_utf8(bytes[48..].get(..length.into())?)
                .ok()?
                .into(),
        })
    }

    /// Compares this side's hello with what `peer` sent. Labels are not compared.
    pub(crate) fn compare(&self, peer: PartyId, theirs: &Self) -> Result<(), Error> {
        let session =
            |hello: &Self| format!("the session with name hash {}", hex::encode(&hello.session[..8]));
        let pairs = [
            (
                "the version of the connection format",
                self.version.to_string(),
                theirs.version.to_string(),
            ),
            ("the session", session(self), session(theirs)),
            (
                "the number of parties",
                self.parties.to_string(),
                theirs.parties.to_string(),
            ),
            ("who dials", self.from.to_string(), theirs.from.to_string()),
            ("who is dialled", self.to.to_string(), theirs.to.to_string()),
            (CHANNELS, self.channels.to_string(), theirs.channels.to_string()),
        ];
        same(peer, pairs)
    }
}

/// Compares what this side says of each field with what `peer` says.
pub(crate) fn same<const N: usize>(peer: PartyId, pairs: [(&str, String, String); N]) -> Result<(), Error> {
    let different = pairs.into_iter().find(|(_, ours, theirs)| ours != theirs);
    different.map_or(Ok(()), |(field, ours, theirs)| {
        Err(Error::Mismatch {
            peer,
            field: field.into(),
            ours,
            theirs,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_refusals() {
        let pair = (PartyId(2), PartyId(0));
        let hello = Hello::new(3, pair, "session", &"l".repeat(MAX_LABEL), 0x203);
        let bytes = hello.encode();
        assert_eq!(Hello::decode(&bytes), Some(hello.clone()));
        for (byte, value) in [(0, 0), (10, 9), (14, 65), (48, 0xFF)] {
            let mut bad = bytes;
            bad[byte] = value;
            assert_eq!(Hello::decode(&bad), None, "byte {byte}");
        }
        for (other, field) in [
            (Hello::new(3, pair, "another", "", 0x203), "the session"),
            (Hello::new(2, pair, "session", "", 0x203), "the number of parties"),
            (
                Hello::new(3, (PartyId(1), PartyId(0)), "session", "", 0x203),
                "who dials",
            ),
            (
                Hello::new(3, (PartyId(2), PartyId(1)), "session", "", 0x203),
                "who is dialled",
            ),
            (Hello::new(3, pair, "session", "", 3), CHANNELS),
            (
                Hello {
                    version: VERSION + 1,
                    ..hello.clone()
                },
                "the version of the connection format",
            ),
        ] {
            match hello.compare(PartyId(2), &other) {
                Err(Error::Mismatch { field: got, .. }) => assert_eq!(got, field),
                other => panic!("{other:?}"),
            }
        }
    }
}

//! What goes over a trunk: frames of a header, `kind, body length (3 bytes), id (8 bytes)`, little endian, and a body.

use sha2::{Digest, Sha256};

use crate::Label;

/// Bytes of a header.
pub(super) const HEADER: usize = 12;
/// The most bytes of a body.
pub(super) const MAX_BODY: usize = (64 << 10) - HEADER;
/// The most bytes of a reason.
pub(super) const MAX_REASON: usize = 200;

/// What a frame is. Ids are those of the receiver's streams, if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Bytes of a stream.
    Data,
    /// So many bytes more may be sent on a stream.
    Credit,
    /// The sender has sent its last byte of a stream.
    End,
    /// The sender reads no more of a stream.
    Stop,
    /// The sender joins a session. The id is that of the first of its streams.
    Join,
    /// The sender has left a session, which it joined with this id. The body is the reason.
    Leave,
    /// The receiver cannot join a session, as it wanted to with this id. The body is the reason.
    Refuse,
    /// A part of a message of the services; the id says how many bytes of it follow this part.
    Message,
    /// Asks for a pong with the same id.
    Ping,
    /// The body is the sender's clock.
    Pong,
    /// The sender ends the connection. The body is the reason.
    Bye,
}

const KINDS: [FrameKind; 11] = [
    FrameKind::Data,
    FrameKind::Credit,
    FrameKind::End,
    FrameKind::Stop,
    FrameKind::Join,
    FrameKind::Leave,
    FrameKind::Refuse,
    FrameKind::Message,
    FrameKind::Ping,
    FrameKind::Pong,
    FrameKind::Bye,
];

impl FrameKind {
    /// The lengths that a body may have.
    fn lengths(self) -> std::ops::RangeInclusive<usize> {
        match self {
            FrameKind::Data => 1..=MAX_BODY,
            FrameKind::Credit => 4..=4,
            FrameKind::End | FrameKind::Stop | FrameKind::Ping => 0..=0,
            FrameKind::Join => JOIN..=JOIN,
            FrameKind::Leave | FrameKind::Refuse | FrameKind::Bye => 0..=MAX_REASON,
            FrameKind::Message => 0..=MAX_BODY,
            FrameKind::Pong => 8..=8,
        }
    }
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: FrameKind,
    pub(super) length: usize,
    pub(super) id: u64,
}

impl Head {
    pub(super) fn encode(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes.copy_within(..3, 1);
        bytes[0] = KINDS.iter().position(|&kind| kind == self.kind).unwrap_or(0) as u8 + 1;
        bytes[4..].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    /// Reads a header; `None` if no frame has such a header.
    pub(super) fn decode(bytes: &[u8; HEADER]) -> Option<Self> {
        let [kind, l0, l1, l2, id @ ..] = *bytes;
        let kind = *KINDS.get(usize::from(kind).checked_sub(1)?)?;
        let length = u32::from_le_bytes([l0, l1, l2, 0]) as usize;
        let id = u64::from_le_bytes(id);
        kind.lengths()
            .contains(&length)
            .then_some(Self { kind, length, id })
    }
}

/// Appends a frame.
pub(super) fn put(out: &mut Vec<u8>, kind: FrameKind, id: u64, body: &[u8]) {
    debug_assert!(kind.lengths().contains(&body.len()));
    let length = body.len();
    out.extend_from_slice(&Head { kind, length, id }.encode());
    out.extend_from_slice(body);
}

/// A reason as a body.
pub(super) fn reason_body(reason: &str) -> &[u8] {
    let mut end = reason.len().min(MAX_REASON);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason.as_bytes()[..end]
}

/// A peer's reason, safe to show.
pub(super) fn reason_text(body: &[u8]) -> String {
    String::from_utf8_lossy(body)
        .chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

/// The name of a session on the wire.
pub(super) type SessionHash = [u8; 32];

pub(super) fn session_hash(name: &str) -> SessionHash {
    Sha256::digest(name).into()
}

/// A digest of labels, which are sorted.
pub(super) fn labels_digest(labels: &[Label]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for label in labels {
        hash.update((label.as_str().len() as u64).to_le_bytes());
        hash.update(label.as_str());
    }
    hash.finalize().into()
}

/// Bytes of a [`Join`].
const JOIN: usize = 32 + 32 + 8 + 4 + 2 + 1;

/// How a party joins a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Join {
    pub(super) session: SessionHash,
    /// The digest of the labels.
    pub(super) labels: [u8; 32],
    /// The id of the receiver's join that this one answers; 0 if the sender knew of none.
    pub(super) answers: u64,
    /// How many bytes may be sent to each of the sender's streams at first.
    pub(super) window: u32,
    /// The number of labels.
    pub(super) channels: u16,
    /// The number of parties.
    pub(super) parties: u8,
}

impl Join {
    pub(super) fn encode(&self) -> [u8; JOIN] {
        let mut bytes = [0; JOIN];
        bytes[..32].copy_from_slice(&self.session);
        bytes[32..64].copy_from_slice(&self.labels);
        bytes[64..72].copy_from_slice(&self.answers.to_le_bytes());
        bytes[72..76].copy_from_slice(&self.window.to_le_bytes());
        bytes[76..78].copy_from_slice(&self.channels.to_le_bytes());
        bytes[78] = self.parties;
        bytes
    }

    /// Reads a join; `None` for another number of bytes.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; JOIN] = bytes.try_into().ok()?;
        Some(Self {
            session: *bytes[..32].first_chunk()?,
            labels: *bytes[32..].first_chunk()?,
            answers: u64::from_le_bytes(*bytes[64..].first_chunk()?),
            window: u32::from_le_bytes(*bytes[72..].first_chunk()?),
            channels: u16::from_le_bytes(*bytes[76..].first_chunk()?),
            parties: bytes[78],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_and_bad_ones_are_none() {
        for kind in KINDS {
            for length in [*kind.lengths().start(), *kind.lengths().end()] {
                let head = Head {
                    kind,
                    length,
                    id: 0x0102_0304_0506_0708,
                };
                assert_eq!(Head::decode(&head.encode()), Some(head));
            }
            for length in [kind.lengths().start().wrapping_sub(1), kind.lengths().end() + 1] {
                if length < 1 << 24 {
                    let bad = Head { kind, length, id: 1 };
                    assert_eq!(Head::decode(&bad.encode()), None, "{bad:?}");
                }
            }
        }
        for kind in [0, KINDS.len() as u8 + 1, 0xFF] {
            let mut bytes = [0; HEADER];
            bytes[0] = kind;
            assert_eq!(Head::decode(&bytes), None);
        }
    }

    #[test]
    fn joins_round_trip() {
        let join = Join {
            session: session_hash("a"),
            labels: labels_digest(&["x".into(), "y".into()]),
            answers: 7,
            window: 8,
            channels: 0x203,
            parties: 3,
        };
        assert_eq!(Join::decode(&join.encode()), Some(join));
        assert_eq!(Join::decode(&join.encode()[1..]), None);
        assert_ne!(
            labels_digest(&["ab".into(), "c".into()]),
            labels_digest(&["a".into(), "bc".into()])
        );
    }

    #[test]
    fn reasons_are_cut_and_cleaned() {
        let long = "ä".repeat(MAX_REASON);
        assert_eq!(reason_body(&long).len(), MAX_REASON);
        assert_eq!(reason_body(&format!("x{long}")).len(), MAX_REASON - 1);
        assert_eq!(reason_text(b"a\x1b[31m\n\xFF"), "a?[31m?\u{FFFD}");
    }
}

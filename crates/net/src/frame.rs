//! The header before each message: `tag, kind, step (u16), body length (u32)`, little endian. The body of an abort is
//! its reason.

use std::fmt;

use crate::Step;

/// Bytes of a header.
pub(crate) const HEADER: usize = 8;

/// The longest message body.
pub(crate) const MAX_BODY: usize = u32::MAX as usize;

/// The first byte of every header: a peer that speaks another protocol is noticed at once.
const TAG: u8 = 0xCE;

/// Why a party stops: at most [`AbortReason::MAX`] bytes, to which the protocol above the channel gives meaning.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AbortReason {
    length: u8,
    /// Zero from `length` on.
    bytes: [u8; AbortReason::MAX],
}

impl AbortReason {
    /// The most bytes.
    pub const MAX: usize = 15;

    /// A reason of these bytes; `None` if there are more than [`AbortReason::MAX`].
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut reason = Self {
            length: bytes.len() as u8,
            ..Self::default()
        };
        reason.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(reason)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl<const N: usize> From<[u8; N]> for AbortReason {
    /// A reason of `N` bytes. It does not compile if `N` exceeds [`AbortReason::MAX`].
    fn from(bytes: [u8; N]) -> Self {
        const { assert!(N <= Self::MAX, "the reason of an abort is too long") };
        let mut reason = Self {
            length: N as u8,
            ..Self::default()
        };
        reason.bytes[..N].copy_from_slice(&bytes);
        reason
    }
}

impl From<u8> for AbortReason {
    fn from(byte: u8) -> Self {
        Self::from([byte])
    }
}

impl fmt::Display for AbortReason {
    /// The bytes in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.as_bytes()))
    }
}

impl fmt::Debug for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AbortReason({self})")
    }
}

/// What a header announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A message of the protocol: the code of its step and the length of its body.
    Data { step: u16, length: u32 },
    /// The sender stops: the length of its reason, at most [`AbortReason::MAX`].
    Abort { length: u8 },
    /// The sender has sent its last message.
    Bye,
}

impl Frame {
    pub(crate) fn data(step: Step, length: usize) -> Self {
        debug_assert!(length <= MAX_BODY);
        Self::Data {
            step: step.code,
            length: length as u32,
        }
    }

    /// Bytes of the frame, header included.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Data { length, .. } => HEADER + length as usize,
            Self::Abort { length } => HEADER + usize::from(length),
            Self::Bye => HEADER,
        }
    }

    pub(crate) fn encode(self) -> [u8; HEADER] {
        let (kind, word, length) = match self {
            Self::Data { step, length } => (1, step, length),
            Self::Abort { length } => (2, 0, length.into()),
            Self::Bye => (3, 0, 0),
        };
        let [w0, w1] = word.to_le_bytes();
        let [l0, l1, l2, l3] = length.to_le_bytes();
        [TAG, kind, w0, w1, l0, l1, l2, l3]
    }

    /// Reads a header; `None` if no frame has such a header.
    pub(crate) fn decode(header: [u8; HEADER]) -> Option<Self> {
        let [tag, kind, w0, w1, l0, l1, l2, l3] = header;
        let word = u16::from_le_bytes([w0, w1]);
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        match (tag, kind, word) {
            (TAG, 1, step) => Some(Self::Data { step, length }),
            (TAG, 2, 0) if length as usize <= AbortReason::MAX => Some(Self::Abort { length: length as u8 }),
            (TAG, 3, 0) if length == 0 => Some(Self::Bye),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_garbage() {
        for frame in [
            Frame::Data {
                step: 0xABCD,
                length: u32::MAX,
            },
            Frame::Abort { length: 0 },
            Frame::Abort {
                length: AbortReason::MAX as u8,
            },
            Frame::Bye,
        ] {
            assert_eq!(Frame::decode(frame.encode()), Some(frame));
            for byte in [0, 1] {
                let mut bad = frame.encode();
                bad[byte] ^= 0x40;
                assert_eq!(Frame::decode(bad), None);
            }
        }
        let mut bad = Frame::Bye.encode();
        bad[4] = 1;
        assert_eq!(Frame::decode(bad), None, "a goodbye has no body");
        let mut bad = Frame::Abort { length: 1 }.encode();
        bad[4] = AbortReason::MAX as u8 + 1;
        assert_eq!(Frame::decode(bad), None, "a reason is short");
    }

    #[test]
    fn reasons_are_bounded() {
        for length in 0..=AbortReason::MAX {
            let bytes = vec![7; length];
            assert_eq!(AbortReason::new(&bytes).unwrap().as_bytes(), bytes);
        }
        assert_eq!(AbortReason::new(&[7; AbortReason::MAX + 1]), None);
        assert_eq!(AbortReason::new(&[7]), Some(7.into()));
        assert_eq!(AbortReason::from([0xAB, 1]).to_string(), "ab01");
    }
}

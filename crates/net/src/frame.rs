//! The header before each message: `tag, kind, step or abort code (u16), body length (u32)`, little endian.

use crate::Step;

/// Bytes of a header.
pub(crate) const HEADER: usize = 8;

/// The longest message body.
pub(crate) const MAX_BODY: usize = u32::MAX as usize;

/// First byte of every header, so that a peer that speaks something else is noticed at once.
const TAG: u8 = 0xCE;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A message of the protocol: the code of its step and the length of its body.
    Data { step: u16, length: u32 },
    /// The sender stops, with its reason.
    Abort { code: u8 },
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
            Self::Abort { .. } | Self::Bye => HEADER,
        }
    }

    pub(crate) fn encode(self) -> [u8; HEADER] {
        let (kind, word, length) = match self {
            Self::Data { step, length } => (1, step, length),
            Self::Abort { code } => (2, u16::from(code), 0),
            Self::Bye => (3, 0, 0),
        };
        let [w0, w1] = word.to_le_bytes();
        let [l0, l1, l2, l3] = length.to_le_bytes();
        [TAG, kind, w0, w1, l0, l1, l2, l3]
    }

    /// The frame of a header, or `None` if no header looks like that.
    pub(crate) fn decode(header: [u8; HEADER]) -> Option<Self> {
        let [tag, kind, w0, w1, l0, l1, l2, l3] = header;
        let word = u16::from_le_bytes([w0, w1]);
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        match (tag, kind, u8::try_from(word), length) {
            (TAG, 1, _, _) => Some(Self::Data { step: word, length }),
            (TAG, 2, Ok(code), 0) => Some(Self::Abort { code }),
            (TAG, 3, Ok(0), 0) => Some(Self::Bye),
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
            Frame::Abort { code: 255 },
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
    }
}

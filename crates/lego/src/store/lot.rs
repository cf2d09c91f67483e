//! Lots: what was made by one offline run, under one `Δ`.

use std::fmt;

use cenote_primitives::Block;
use zeroize::Zeroizing;

use crate::counters::Counters;
use crate::material::{EvaluatorEpoch, EvaluatorStock, GarblerEpoch, GarblerStock};
use crate::order::Order;
use crate::setup::{EvaluatorKeys, GarblerKeys};
use cenote_commit::{CODE_BITS, Receiver, Share};

/// The version of a lot's files.
const VERSION: u8 = 1;

/// The name of a lot: a hash of what both parties contributed to its set-up, so that neither can make one twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LotId(pub(super) [u8; 32]);

impl fmt::Display for LotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for LotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LotId({self})")
    }
}

impl LotId {
    /// The lot of the folder called `name`, if it is one's.
    pub(super) fn of_folder(name: &str) -> Option<Self> {
        let mut id = [0; 32];
        if name.len() != 64 || !name.is_ascii() {
            return None;
        }
        for (byte, at) in id.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&name[at..at + 2], 16).ok()?;
        }
        // One name for each lot.
        (Self(id).to_string() == name).then_some(Self(id))
    }
}

/// A lot in a folder, for people and programs to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLot {
    /// Its name.
    pub id: LotId,
    /// Whether this party is the garbler of its material.
    pub garbler: bool,
    /// When it was made by this party's clock, in milliseconds since 1970.
    pub made: u64,
    /// Its statistical security in bits.
    pub security: u32,
    /// The session that made it.
    pub session: String,
    /// What is left.
    pub left: Order,
}

/// Some items of one kind, in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PieceName {
    /// As in [`crate::KINDS`].
    pub(super) kind: u8,
    /// The items of the kind in the lot before these.
    pub(super) first: u64,
    /// Number of items.
    pub(super) count: u64,
}

impl PieceName {
    pub(super) fn end(self) -> u64 {
        self.first.saturating_add(self.count)
    }

    pub(super) fn file_name(self) -> String {
        format!("piece-{}-{:016}-{:08}", self.kind, self.first, self.count)
    }

    pub(super) fn of_file(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("piece-")?.split('-');
        let name_of = Self {
            kind: parts.next()?.parse().ok()?,
            first: parts.next()?.parse().ok()?,
            count: parts.next()?.parse().ok()?,
        };
        (name_of.kind < 6 && name_of.file_name() == name).then_some(name_of)
    }
}

/// What a sealed file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// Shows that a folder's key is the right one.
    KeyCheck,
    /// The description and the keys of a lot.
    Lot(LotId),
    /// How much of a lot is used.
    Used(LotId),
    /// That a session uses a lot.
    InUse(LotId),
    /// Material.
    Piece(LotId, PieceName),
}

impl Label {
    pub(super) fn bytes(self) -> Vec<u8> {
        match self {
            Label::KeyCheck => vec![0],
            Label::Lot(id) => [&[1], &id.0[..]].concat(),
            Label::Used(id) => [&[2], &id.0[..]].concat(),
            Label::InUse(id) => [&[4], &id.0[..]].concat(),
            Label::Piece(id, name) => [&[3], &id.0[..], name.file_name().as_bytes()].concat(),
        }
    }
}

/// One of the two sides of a lot.
pub(crate) trait SideOfLot: Sized {
    /// Whether this is the garbler's.
    const GARBLER: bool;
    /// What one epoch makes.
    type Epoch: super::pack::Kinds;
    /// Where sessions take material from.
    type Stock;

    fn counters(&mut self) -> &mut Counters;
    /// What is needed to use the material, and nothing that makes more.
    fn write(&self) -> Zeroizing<Vec<u8>>;
    /// The inverse of `write`.
    fn read(bytes: &[u8], counters: Counters) -> Option<Self>;
    fn push(stock: &mut Self::Stock, epoch: Self::Epoch, ranges: [std::ops::Range<usize>; 6]);
}

fn written(parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

impl SideOfLot for GarblerKeys {
    const GARBLER: bool = true;
    type Epoch = GarblerEpoch;
    type Stock = GarblerStock;

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn write(&self) -> Zeroizing<Vec<u8>> {
        written(&[
            bytemuck::bytes_of(&*self.delta),
            bytemuck::bytes_of(&*self.delta_share),
        ])
    }

    fn read(bytes: &[u8], counters: Counters) -> Option<Self> {
        let (delta, share) = bytes.split_at_checked(size_of::<Block>())?;
        Some(Self {
            source: None,
            delta: Zeroizing::new(bytemuck::try_pod_read_unaligned(delta).ok()?),
            delta_share: Zeroizing::new(bytemuck::try_pod_read_unaligned(share).ok()?),
            counters,
        })
    }

    fn push(stock: &mut GarblerStock, epoch: GarblerEpoch, ranges: [std::ops::Range<usize>; 6]) {
        stock.push_some(epoch, ranges);
    }
}

impl SideOfLot for EvaluatorKeys {
    const GARBLER: bool = false;
    type Epoch = EvaluatorEpoch;
    type Stock = EvaluatorStock;

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn write(&self) -> Zeroizing<Vec<u8>> {
        written(&[
            bytemuck::bytes_of(&*self.delta_share),
            bytemuck::cast_slice(&self.choices),
        ])
    }

    fn read(bytes: &[u8], counters: Counters) -> Option<Self> {
        let (share, choices) = bytes.split_at_checked(size_of::<Share>())?;
        if choices.len() != CODE_BITS.div_ceil(64) * 8 {
            return None;
        }
        let choices = Zeroizing::new(bytemuck::pod_collect_to_vec::<u8, u64>(choices));
        Some(Self {
            source: None,
            // It verifies openings, for which no seeds are needed, and will receive no commitments.
            receiver: Receiver::new(&choices, &[Block::ZERO; CODE_BITS]),
            choices,
            delta_share: Zeroizing::new(bytemuck::try_pod_read_unaligned(share).ok()?),
            counters,
        })
    }

    fn push(stock: &mut EvaluatorStock, epoch: EvaluatorEpoch, ranges: [std::ops::Range<usize>; 6]) {
        stock.push_some(epoch, ranges);
    }
}

/// What a lot's file says.
pub(super) struct Header {
    pub(super) garbler: bool,
    pub(super) security: u32,
    pub(super) made: u64,
    pub(super) session: String,
    /// As [`SideOfLot::write`] wrote them.
    pub(super) keys: Zeroizing<Vec<u8>>,
}

impl Header {
    pub(super) fn encode(&self) -> Zeroizing<Vec<u8>> {
        written(&[
            &[VERSION, self.garbler.into()],
            &self.security.to_le_bytes(),
            &self.made.to_le_bytes(),
            &(self.session.len() as u64).to_le_bytes(),
            self.session.as_bytes(),
            &self.keys,
        ])
    }

    /// The inverse of [`Header::encode`].
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "is too short";
        fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], &'static str> {
            let (first, rest) = bytes.split_first_chunk().ok_or(SHORT)?;
            *bytes = rest;
            Ok(*first)
        }
        let mut rest = bytes;
        let [version, garbler] = take(&mut rest)?;
        if version != VERSION {
            return Err("is of another version");
        }
        let security = u32::from_le_bytes(take(&mut rest)?);
        let made = u64::from_le_bytes(take(&mut rest)?);
        let length = usize::try_from(u64::from_le_bytes(take(&mut rest)?)).map_err(|_| SHORT)?;
        let (session, keys) = rest.split_at_checked(length).ok_or(SHORT)?;
        Ok(Self {
            garbler: garbler == 1,
            security,
            made,
            session: std::str::from_utf8(session).map_err(|_| "is garbled")?.to_owned(),
            keys: Zeroizing::new(keys.to_vec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        let name = PieceName {
            kind: 3,
            first: 12,
            count: 4096,
        };
        assert_eq!(PieceName::of_file(&name.file_name()), Some(name));
        for wrong in [
            "piece-6-0000000000000012-00004096",
            "piece-3-12-4096",
            "piece-3",
            "lot",
            "piece-3-0000000000000012-00004096.new",
        ] {
            assert_eq!(PieceName::of_file(wrong), None, "{wrong}");
        }
        let id = LotId([0xab; 32]);
        assert_eq!(LotId::of_folder(&id.to_string()), Some(id));
        assert_eq!(LotId::of_folder(&id.to_string().to_uppercase()), None);
        assert_eq!(LotId::of_folder("é".repeat(32).as_str()), None);
    }
}

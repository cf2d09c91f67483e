//! What a party notes of a pool that it keeps, and what it tells the peer of that.

use cenote_primitives::{Block, as_bytes};
use cenote_store::ItemId;

/// Kinds of gadgets, each with a pool of its own, at most.
pub const KINDS: usize = 2;

/// The state that is the journal.
pub(super) const JOURNAL: &str = "journal";

/// Pools that a party tells of, at most.
pub(super) const TOLD: usize = 16;

/// Coins of a kind in a journal, at most.
pub const MOST_COINS: usize = 1 << 13;

/// Sessions that a pool serves, at most.
pub const MOST_SESSIONS: u64 = 1 << 22;

/// What sessions over a pool have used up of what its bounds allow: numbers that add up, of the protocol's own kinds.
pub type Spent = [u64; 3];

/// Things prepared with a pool's keys, at most.
pub const MOST_PREPARED: usize = 1024;

/// A thing that was prepared with a pool's keys, as journals and messages have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Prepared {
    /// One more than the number, lowest byte first; 0 for nothing.
    pub(super) number: [u8; 8],
    pub(super) what: [u8; 32],
}

impl Prepared {
    pub(super) fn number(&self) -> u64 {
        u64::from_le_bytes(self.number).wrapping_sub(1)
    }
}

/// Sessions that a peer may be ahead.
const MOST_AHEAD: u64 = 1 << 10;

/// What the journal tells of the deliveries of a kind, which are numbered through the pool's life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Track {
    /// The number of the first of `coins`.
    pub(super) first: u64,
    /// The first delivery by whose coin something may have been drawn since the copy was made, if there is one.
    pub(super) copied: Option<u64>,
    /// Each delivery's coin, and how many gadgets of it were not checked.
    pub(super) coins: Vec<(Block, u32)>,
}

impl Track {
    /// The number of the next delivery.
    pub(super) fn next(&self) -> u64 {
        self.first + self.coins.len() as u64
    }

    /// The deliveries by whose coins something may have been drawn since the copy was made; all, if there is none.
    pub(super) fn since_copy(&self) -> &[(Block, u32)] {
        let before = self.copied.unwrap_or(self.first).saturating_sub(self.first);
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        self.coins.get(before..).unwrap_or_default()
    }

    /// Gives up the copy, and all coins: the pool will begin empty.
    pub(super) fn forget(&mut self) {
        *self = Self {
            first: self.next(),
            ..Self::default()
        };
    }
}

/// What changes while a pool is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Journal {
    /// The number of the last session.
    pub(super) session: u64,
    /// Checks that failed or were cut off, each of which was the end of a pool with this peer, of whatever settings.
    pub(super) ends: u32,
    /// Whether the peer has cheated, over this pool or another, and does not know that it was noticed.
    pub(super) cheated: bool,
    /// Whether a check has begun whose end is not noted.
    pub(super) checking: bool,
    /// Whether the pool has ended.
    pub(super) retired: bool,
    pub(super) tracks: [Track; KINDS],
    /// Things that were prepared so far.
    pub(super) numbered: u64,
    /// In all sessions, and what the last one may have used up besides since this was written.
    pub(super) spent: Spent,
    /// Those that have not been used.
    pub(super) prepared: Vec<Prepared>,
}

/// Bytes of a journal, at most.
pub(super) const MOST_BYTES: usize = 128 + KINDS * 20 * MOST_COINS + MOST_PREPARED * size_of::<Prepared>();

impl Journal {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.session.to_le_bytes());
        bytes.extend(self.ends.to_le_bytes());
        bytes.extend([self.cheated, self.checking, self.retired].map(u8::from));
        for track in &self.tracks {
            bytes.extend(track.first.to_le_bytes());
            bytes.extend(told(track.copied).to_le_bytes());
            bytes.extend((track.coins.len() as u32).to_le_bytes());
            for (coin, kept) in &track.coins {
                bytes.extend(coin.to_bytes());
                bytes.extend(kept.to_le_bytes());
            }
        }
        bytes.extend(self.numbered.to_le_bytes());
        bytes.extend(self.spent.map(u64::to_le_bytes).as_flattened());
        bytes.extend(as_bytes(&self.prepared));
        bytes
    }

    /// The inverse of [`Journal::encode`].
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut journal = Self {
            session: u64::from_le_bytes(take(&mut rest)?),
            ends: u32::from_le_bytes(take(&mut rest)?),
            cheated: take::<1>(&mut rest)? == [1],
            checking: take::<1>(&mut rest)? == [1],
            retired: take::<1>(&mut rest)? == [1],
            ..Self::default()
        };
        for track in &mut journal.tracks {
            track.first = u64::from_le_bytes(take(&mut rest)?);
            let copied = u64::from_le_bytes(take(&mut rest)?);
            track.copied = (copied != NONE).then_some(copied);
            for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
                let coin = Block::from_bytes(take(&mut rest)?);
                track.coins.push((coin, u32::from_le_bytes(take(&mut rest)?)));
            }
        }
        journal.numbered = u64::from_le_bytes(take(&mut rest)?);
        for spent in &mut journal.spent {
            *spent = u64::from_le_bytes(take(&mut rest)?);
        }
        let (prepared, rest) = rest.as_chunks::<{ size_of::<Prepared>() }>();
        journal.prepared = prepared
            .iter()
            .map(|bytes| bytemuck::pod_read_unaligned(bytes))
            .collect();
        rest.is_empty().then_some(journal)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

/// What stands for no number.
pub(super) const NONE: u64 = u64::MAX;

fn told(number: Option<u64>) -> u64 {
    number.unwrap_or(NONE)
}

/// A check was cut off.
pub(super) const CUT_OFF: u64 = 1;

/// With what a session is about to use up, its bounds would be passed.
pub(super) const SPENT: u64 = 2;

/// What a party tells of a pool that it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Told {
    pub(super) id: [u8; 32],
    pub(super) session: u64,
    /// Why it is to be given up: [`CUT_OFF`] or [`SPENT`]; 0 if it is not.
    pub(super) ended: u64,
    /// By kind: the first delivery in the journal, the first one after the copy, the next one.
    pub(super) deliveries: [[u64; 3]; KINDS],
}

/// What parties tell each other when a session begins.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Message {
    pub(super) nonce: [u8; 16],
    pub(super) pools: [Told; TOLD],
}

impl Told {
    pub(super) fn of(id: ItemId, journal: &Journal, is_spent: bool) -> Self {
        let of = |track: &Track| [track.first, told(track.copied), track.next()].map(u64::to_le);
        let ended = match journal.checking {
            true => CUT_OFF,
            false if is_spent => SPENT,
            false => 0,
        };
        Self {
            id: id.0,
            session: journal.session.to_le(),
            ended: ended.to_le(),
            deliveries: journal.tracks.each_ref().map(of),
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        u64::from_le(self.ended) == SPENT
    }

    pub(super) fn session(&self) -> u64 {
        u64::from_le(self.session)
    }

    /// The first deliveries of each kind whose draws are to be left out, if both can put back the same pool: none for a kind that was never
    /// full.
    pub(super) fn common(&self, other: &Self) -> Option<[Option<u64>; KINDS]> {
        let (session, others) = (self.session(), other.session());
        let is_far = session.abs_diff(others) > MOST_AHEAD || session.max(others) >= MOST_SESSIONS - 1;
        if self.ended != 0 || other.ended != 0 || is_far {
            return None;
        }
        let mut since = [None; KINDS];
        for (since, both) in since
            .iter_mut()
            .zip(self.deliveries.iter().zip(&other.deliveries))
        {
            let ([first, copied, next], [others_first, others_copied, others_next]) =
                (both.0.map(u64::from_le), both.1.map(u64::from_le));
            let older = copied.min(others_copied);
            if next != others_next || (copied == NONE) != (others_copied == NONE) {
                return None;
            }
            if older != NONE {
                if first.max(others_first) > older || older > next {
                    return None;
                }
                *since = Some(older);
            }
        }
        Some(since)
    }
}

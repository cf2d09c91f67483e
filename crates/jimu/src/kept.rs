//! Pools on disk, which outlast sessions and crashes.
//!
//! A party keeps of a pool its keys, copies of the records of its gadgets that are made now and then, and a *journal*: the coins of all deliveries
//! that may have been drawn from since the copy. A coin is in the journal, on the disk, before a gadget is drawn by it. What the coins may have
//! touched since is left out when the pool is put back ([`cenote_pool::touched`]), so no gadget is used twice, wherever a session was cut off.
//! All that makes fresh material is new in each session: base OTs, the streams of labels, the numbers of gates.
//!
//! **Both parties put back the same pool**: they tell each other what they have, and leave out what the coins have touched since the older of
//! the two copies. If their journals do not end with the same delivery, the pool is given up, and another is made.
//!
//! **A check that was cut off** is a garbler's way out when it sees by the coin that it will be caught. So the evaluator notes, before it lets the
//! coin be known, that a check has begun; if a session finds that note, the pool is given up, for bad gadgets may have been in it
//! that more tries would add to. The garbler begins anew then, with an empty pool, and the bound on its success is that of each pool times their
//! number, which the evaluator keeps and tells ([`Journal::cut_off`]). A pool whose garbler was caught is deleted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_net::{Channel, PartyId};
use cenote_pool::touched;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_protocol::Facts;
use cenote_session::{Error, MESSAGE_FORM, Result, room};
use cenote_store::{Hold, Item, ItemId, Keys, Living};
use zeroize::Zeroizing;

use crate::gadget::Shape;
use crate::online::{Kind, Role};
use crate::settings::{Config, MUX_WIDTH, Sizes};
use crate::setup::Base;
use crate::steps;

/// The name of the protocol's items.
const PROTOCOL: &str = "jimu";

/// The state that is the journal.
const JOURNAL: &str = "journal";

/// The copies of the pools' records.
const COPIES: [&str; 2] = ["gates", "mux"];

/// Pools that a party tells of, at most.
const TOLD: usize = 16;

/// Coins of a kind in a journal, at most: where there are more, a copy is missing for long.
const MOST_COINS: usize = 1 << 12;

/// A copy is made whenever so many times the pool has been drawn since the one before.
const POOLS_BETWEEN_COPIES: u64 = 4;

/// What the journal tells of the deliveries of a kind, which are numbered through the pool's life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Track {
    /// The number of the first of `coins`.
    first: u64,
    /// The first delivery by whose coin something may have been drawn since the copy was made, if there is one.
    copied: Option<u64>,
    /// Each delivery's coin, and how many gadgets of it were not checked.
    coins: Vec<(Block, u32)>,
}

impl Track {
    /// The number of the next delivery.
    fn next(&self) -> u64 {
        self.first + self.coins.len() as u64
    }
}

/// What changes while a pool is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Journal {
    /// The number of the last session.
    session: u64,
    /// Checks that were cut off, each of which was the end of a pool.
    cut_off: u32,
    /// Whether a check has begun whose end is not noted.
    checking: bool,
    tracks: [Track; 2],
}

impl Journal {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.session.to_le_bytes());
        bytes.extend(self.cut_off.to_le_bytes());
        bytes.push(self.checking.into());
        for track in &self.tracks {
            bytes.extend(track.first.to_le_bytes());
            bytes.extend(told(track.copied).to_le_bytes());
            bytes.extend((track.coins.len() as u32).to_le_bytes());
            for (coin, kept) in &track.coins {
                bytes.extend(coin.to_bytes());
                bytes.extend(kept.to_le_bytes());
            }
        }
        bytes
    }

    /// The inverse of [`Journal::encode`].
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut journal = Self {
            session: u64::from_le_bytes(take(&mut rest)?),
            cut_off: u32::from_le_bytes(take(&mut rest)?),
            checking: take::<1>(&mut rest)? == [1],
            tracks: Default::default(),
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
        rest.is_empty().then_some(journal)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

/// What stands for no number.
const NONE: u64 = u64::MAX;

fn told(number: Option<u64>) -> u64 {
    number.unwrap_or(NONE)
}

/// What a party tells of a pool that it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Told {
    id: [u8; 32],
    session: u64,
    /// 1 if a check was cut off.
    checking: u64,
    /// By kind: the first delivery in the journal, the first one after the copy, the next one.
    deliveries: [[u64; 3]; 2],
}

impl Told {
    fn of(id: ItemId, journal: &Journal) -> Self {
        let of = |track: &Track| [track.first, told(track.copied), track.next()].map(u64::to_le);
        Self {
            id: id.0,
            session: journal.session.to_le(),
            checking: u64::from(journal.checking).to_le(),
            deliveries: [of(&journal.tracks[0]), of(&journal.tracks[1])],
        }
    }

    fn session(&self) -> u64 {
        u64::from_le(self.session)
    }

    /// The first deliveries of each kind whose draws are to be left out, if both can put back the same pool: none for a kind that was never
    /// full.
    fn common(&self, other: &Self) -> Option<[Option<u64>; 2]> {
        if self.checking != 0 || other.checking != 0 {
            return None;
        }
        let mut since = [None; 2];
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

/// The pool that a session uses, on disk.
pub(crate) struct Kept {
    living: Living,
    journal: Mutex<Journal>,
    _hold: Hold,
}

/// A pool that was put back, or a new one.
pub(crate) struct Opened {
    pub(crate) kept: Kept,
    pub(crate) base: Base,
    pub(crate) sizes: Sizes,
    /// The number of the session.
    pub(crate) number: u64,
    pub(crate) copies: Copies,
}

/// Records of a full pool as they were, and the places that are to be empty.
pub(crate) type Copy = (Zeroizing<Vec<Block>>, Vec<u32>);

/// By kind, if there was a full pool of it.
pub(crate) type Copies = [Option<Copy>; 2];

impl Kept {
    /// The pool's name.
    pub(crate) fn id(&self) -> ItemId {
        self.living.id()
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, journal: &Journal) -> Result<()> {
        self.living.write(JOURNAL, &[&journal.encode()])
    }

    /// Checks that were cut off, this pool's and those before it.
    pub(crate) fn cut_off(&self) -> u32 {
        self.journal().cut_off
    }

    /// Notes that a check begins.
    pub(crate) fn checking(&self) -> Result<()> {
        let mut journal = self.journal();
        journal.checking = true;
        self.write(&journal)
    }

    /// Notes a delivery, before anything is drawn by its coin.
    pub(crate) fn made(&self, kind: Kind, coin: Block, kept: usize) -> Result<()> {
        let mut journal = self.journal();
        journal.checking = false;
        let track = &mut journal.tracks[kind as usize];
        if track.coins.len() >= MOST_COINS {
            let reason = "the journal of a pool is full: no copy of it was made for long";
            return Err(Error::Internal(reason.into()));
        }
        track.coins.push((coin, kept as u32));
        self.write(&journal)
    }

    /// The number of the next delivery of a kind.
    pub(crate) fn next(&self, kind: Kind) -> u64 {
        self.journal().tracks[kind as usize].next()
    }

    /// Notes what is used, for an audit.
    pub(crate) fn used(&self, numbers: impl Iterator<Item = u64>) -> Result<()> {
        self.living.used(numbers)
    }

    /// Whether a copy is due of a full pool from which something may yet be drawn by delivery `open` and later ones: of `size` gadgets,
    /// drawn from deliveries of so many each.
    pub(crate) fn is_due(&self, kind: Kind, open: u64, [size, buffer]: [u64; 2]) -> bool {
        let period = (POOLS_BETWEEN_COPIES * size / buffer.max(1)).max(2);
        let copied = self.journal().tracks[kind as usize].copied;
        copied.is_none_or(|copied| open >= copied.saturating_add(period))
    }

    /// Makes a copy of a full pool. The coins since the copy before are kept: the peer's may be as old as that one.
    pub(crate) fn copy(&self, kind: Kind, records: &[Block], open: u64) -> Result<()> {
        self.living.write(COPIES[kind as usize], &[as_bytes(records)])?;
        let mut journal = self.journal();
        let track = &mut journal.tracks[kind as usize];
        let before = track.copied.replace(open).unwrap_or(track.first);
        let gone = before.saturating_sub(track.first).min(track.coins.len() as u64);
        track.coins.drain(..gone as usize);
        track.first += gone;
        self.write(&journal)
    }

    /// Deletes the pool: nothing of it is to be used any more.
    pub(crate) fn discard(&self) {
        if let Err(error) = self.living.discard() {
            tracing::error!(%error, "a pool that must not be used again cannot be deleted: delete it by hand");
        }
    }
}

/// What a pool is, for which sessions: security, who garbles, sizes, and all that follows from these, which another version of the analysis
/// may see otherwise.
fn settings(config: &Config, sizes: &Sizes) -> String {
    let mux = sizes.mux.as_ref().map_or(0, |mux| mux.pool_size());
    let terms = sizes.terms().into_iter();
    let terms: Vec<String> = terms.map(|(name, value)| format!("{name}: {value}")).collect();
    format!(
        "{}{} {mux}; {}",
        wanted(config),
        sizes.pool.pool_size(),
        terms.join("; ")
    )
}

/// How the settings of a session's pools begin.
fn wanted(config: &Config) -> String {
    format!(
        "security {}, garbler {}, sizes ",
        config.security, config.garbler.0
    )
}

/// The sizes of a pool with such settings, if a session can use it.
fn sizes_of(text: &str, config: &Config) -> Option<Sizes> {
    let rest = text.strip_prefix(&wanted(config))?;
    let (numbers, _) = rest.split_once(';')?;
    let (pool, mux) = numbers.split_once(' ')?;
    let mux = mux.parse().ok().filter(|&mux: &u32| mux > 0);
    let sizes = Sizes::search(config.security, pool.parse().ok()?, mux).ok()?;
    (settings(config, &sizes) == text).then_some(sizes)
}

/// What people should know of a pool.
pub(crate) fn facts(item: &Item) -> Facts {
    let of = || {
        let (begin, rest) = item.settings.split_once(", sizes ")?;
        let security: u32 = begin.strip_prefix("security ")?.split_once(',')?.0.parse().ok()?;
        let (pool, muxes) = rest.split_once(';')?.0.split_once(' ')?;
        let [pool, muxes]: [u32; 2] = [pool.parse().ok()?, muxes.parse().ok()?];
        Some(vec![
            ("role", item.role.clone().into()),
            ("security", security.into()),
            ("gates", pool.into()),
            ("multiplexers", muxes.into()),
        ])
    };
    of().unwrap_or_default()
}

/// The pool that both parties keep and can put back, or a new one with `sizes`. Pools of which one party knows more than the other, or
/// whose check was cut off, are deleted.
pub(crate) fn open(
    me: PartyId,
    channel: &mut dyn Channel,
    config: &mut Config,
    sizes: &Sizes,
    hold: Hold,
) -> Result<Opened> {
    let role = Role::of(me, config.garbler);
    let mut known = Vec::new();
    for (item, living) in hold.living(me, PROTOCOL)? {
        let Some(sizes) = sizes_of(&item.settings, config) else {
            continue;
        };
        let journal = living.read(JOURNAL, 2 * 20 * MOST_COINS + 128).ok();
        match journal.and_then(|bytes| Journal::decode(&bytes)) {
            Some(journal) if known.len() < TOLD => known.push((item, living, sizes, journal)),
            Some(_) => {}
            None => tracing::warn!(pool = %item.id, "a pool's journal cannot be read; it is left as it is"),
        }
    }
    let mut mine = [bytemuck::Zeroable::zeroed(); TOLD];
    for (told, (item, .., journal)) in mine.iter_mut().zip(&known) {
        *told = Told::of(item.id, journal);
    }
    let mut theirs: [Told; TOLD] = [bytemuck::Zeroable::zeroed(); TOLD];
    channel.send(steps::KEPT_POOLS, as_bytes(&mine))?;
    channel.recv(steps::KEPT_POOLS, as_bytes_mut(&mut theirs))?;
    let ids = theirs
        .iter()
        .filter(|told| told.id != [0; 32])
        .map(|told| told.id);
    let mut sorted: Vec<[u8; 32]> = ids.collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        let detail = "it tells of a pool twice";
        return Err(Error::cheated(
            MESSAGE_FORM,
            channel.peer(),
            steps::KEPT_POOLS,
            detail,
        ));
    }

    let (mut cut_off, mut gone) = (0, Vec::new());
    let mut usable: Vec<(usize, [Option<u64>; 2], u64)> = Vec::new();
    for (at, (item, living, _, journal)) in known.iter().enumerate() {
        cut_off = cut_off.max(journal.cut_off.saturating_add(journal.checking.into()));
        let other = theirs.iter().find(|other| other.id == item.id.0);
        match other.map(|other| (mine[at].common(other), other.session())) {
            Some((Some(since), session)) => usable.push((at, since, journal.session.max(session))),
            // It may be another peer's.
            None if !journal.checking => {}
            _ => {
                let checking = journal.checking;
                tracing::warn!(pool = %item.id, checking, "a pool is given up: the parties were cut off at different places");
                gone.push(living.clone());
            }
        }
    }
    // The garbler's latest.
    let order = if role == Role::Garbler { &mine } else { &theirs };
    let chosen = order.iter().find_map(|told| {
        let of = |(at, ..): &&(usize, [Option<u64>; 2], u64)| known[*at].0.id.0 == told.id;
        usable.iter().find(of)
    });
    let Some(&(at, since, session)) = chosen else {
        tracing::info!("there is no pool in stock that both parties have: one is made");
        let created = create(me, channel, config, sizes, hold, cut_off)?;
        gone.iter().try_for_each(Living::discard)?;
        return Ok(created);
    };
    let (item, living, sizes, mut journal) = known.swap_remove(at);
    let number = session
        .checked_add(1)
        .filter(|&number| number < 1 << 23)
        .ok_or_else(|| {
            Error::Exhausted("the pool has had 2^23 sessions; delete it, to make another".into())
        })?;
    let base = Base::decode(role, &item.keys.0, &sizes)
        .ok_or_else(|| Error::Storage(format!("the keys of pool {} are garbled", item.id)))?;
    let mut copies = [None, None];
    for (kind, (put_back, since)) in copies.iter_mut().zip(since).enumerate() {
        let Some(since) = since else { continue };
        let parameters = match kind {
            0 => Some(&sizes.pool),
            _ => sizes.mux.as_ref(),
        };
        let Some(parameters) = parameters else { continue };
        let width = [1, MUX_WIDTH][kind];
        let shape = Shape {
            blocks: sizes.blocks(),
            width,
        };
        let record = match role {
            Role::Garbler => shape.garbler_blocks(),
            Role::Evaluator => shape.evaluator_blocks(),
        };
        let size = parameters.pool_size() as usize;
        let mut copy = room::secret("a pool", size * record)?;
        living
            .read_into(COPIES[kind], as_bytes_mut(&mut copy))
            .inspect_err(|_| {
                // Its keys are of no use without it.
                let _ = living.discard();
            })?;
        let track = &journal.tracks[kind];
        let coins = track.coins.iter().skip((since - track.first) as usize);
        let together = parameters.bucket() as usize;
        let mut gaps: Vec<u32> = coins
            .flat_map(|&(coin, kept)| touched(coin, kept as usize, together, size))
            .collect();
        gaps.sort_unstable();
        gaps.dedup();
        *put_back = Some((copy, gaps));
    }
    journal.session = number;
    journal.cut_off = cut_off;
    living.write(JOURNAL, &[&journal.encode()])?;
    gone.iter().try_for_each(Living::discard)?;
    let kept = Kept {
        living,
        journal: Mutex::new(journal),
        _hold: hold,
    };
    Ok(Opened {
        kept,
        base,
        sizes,
        number,
        copies,
    })
}

/// Sets a pool up, and keeps it.
fn create(
    me: PartyId,
    channel: &mut dyn Channel,
    config: &mut Config,
    sizes: &Sizes,
    hold: Hold,
    cut_off: u32,
) -> Result<Opened> {
    let role = Role::of(me, config.garbler);
    let base = Base::establish(role, channel, config, sizes)?;
    let id = blake3::derive_key("Cenote 2026 jimu: the name of a pool", &base.coin().to_bytes());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let item = Item {
        id: ItemId(id),
        protocol: PROTOCOL.into(),
        party: me,
        role: role.name().into(),
        settings: settings(config, sizes),
        made: now.map_or(0, |since| since.as_millis() as u64),
        peers: Default::default(),
        keys: Keys(base.encode()),
    };
    let journal = Journal {
        cut_off,
        ..Journal::default()
    };
    let living = hold.create(&item, &[(JOURNAL, &[&journal.encode()])])?;
    let kept = Kept {
        living,
        journal: Mutex::new(journal),
        _hold: hold,
    };
    Ok(Opened {
        kept,
        base,
        sizes: sizes.clone(),
        number: 0,
        copies: [None, None],
    })
}

#[cfg(test)]
mod tests;

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
//! number, which the evaluator keeps and tells ([`Journal::ends`]). A pool is *retired*, before anybody is told, whenever a check fails or is said to
//! have failed: its keys and gadgets are deleted, the count stays in its journal until that of the next pool has it.

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
use crate::settings::{Config, Sizes};
use crate::setup::{Base, GATES_LOG2};
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
const MOST_COINS: usize = 1 << 13;

/// A copy is made whenever so many times the pool has been drawn since the one before.
const POOLS_BETWEEN_COPIES: u64 = 4;

/// Deliveries between copies, at most: a journal has the coins since the copy before the last.
const MOST_BETWEEN_COPIES: u64 = MOST_COINS as u64 / 4;

/// Sessions that a pool serves, at most.
const MOST_SESSIONS: u64 = 1 << (62 - GATES_LOG2);

/// Sessions that a peer may be ahead.
const MOST_AHEAD: u64 = 1 << 10;

/// How the settings of a pool begin that was retired.
const RETIRED: &str = "retired, ";

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
    /// Checks that failed or were cut off, each of which was the end of a pool.
    ends: u32,
    /// Whether the garbler has cheated and does not know that it was noticed.
    cheated: bool,
    /// Whether a check has begun whose end is not noted.
    checking: bool,
    /// Whether the pool has ended.
    retired: bool,
    tracks: [Track; 2],
}

impl Journal {
    fn encode(&self) -> Vec<u8> {
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
        bytes
    }

    /// The inverse of [`Journal::encode`].
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut journal = Self {
            session: u64::from_le_bytes(take(&mut rest)?),
            ends: u32::from_le_bytes(take(&mut rest)?),
            cheated: take::<1>(&mut rest)? == [1],
            checking: take::<1>(&mut rest)? == [1],
            retired: take::<1>(&mut rest)? == [1],
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

/// What parties tell each other when a session begins.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Message {
    nonce: [u8; 16],
    pools: [Told; TOLD],
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
        let (session, others) = (self.session(), other.session());
        let is_far = session.abs_diff(others) > MOST_AHEAD || session.max(others) >= MOST_SESSIONS - 1;
        if self.checking != 0 || other.checking != 0 || is_far {
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
    /// Fresh random bytes of the garbler's and of the evaluator's.
    pub(crate) nonce: [[u8; 16]; 2],
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

    /// Pools before this one that ended with a check that failed or was cut off.
    pub(crate) fn ends(&self) -> u32 {
        self.journal().ends
    }

    /// Whether the garbler has cheated in a session over this pool, and was not told that it was noticed.
    pub(crate) fn has_cheated(&self) -> bool {
        self.journal().cheated
    }

    /// Notes that the garbler has cheated.
    pub(crate) fn note_cheated(&self) -> Result<()> {
        let mut journal = self.journal();
        if journal.cheated {
            return Ok(());
        }
        journal.cheated = true;
        self.write(&journal)
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
        let period = (POOLS_BETWEEN_COPIES * size / buffer.max(1)).clamp(2, MOST_BETWEEN_COPIES);
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

    /// Ends the pool if `error` is of a check, here or by the peer's word.
    pub(crate) fn retire_after(&self, error: &Error) {
        if error.check().is_some() {
            self.retire();
        }
    }

    /// Ends the pool after a check that failed: nothing of it is to be used any more. To be called before the peer is told anything.
    pub(crate) fn retire(&self) {
        let mut journal = self.journal();
        if journal.retired {
            return;
        }
        (journal.retired, journal.checking) = (true, false);
        journal.ends = journal.ends.saturating_add(1);
        let ended = self.write(&journal).and_then(|()| retire(&self.living));
        if let Err(error) = ended {
            tracing::error!(%error, "a pool that must not be used again cannot be deleted: delete it by hand");
        }
    }
}

/// Deletes keys and gadgets of a pool whose journal says that it has ended.
fn retire(living: &Living) -> Result<()> {
    living.retire(|settings| format!("{RETIRED}{settings}"), JOURNAL)
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
    let (mut known, mut gone, mut ends) = (Vec::new(), Vec::new(), 0);
    for (item, living) in hold.living(me, PROTOCOL)? {
        let (settings, retired) = match item.settings.strip_prefix(RETIRED) {
            Some(settings) => (settings, true),
            None => (&*item.settings, false),
        };
        if !settings.starts_with(&wanted(config)) {
            continue;
        }
        let journal = living.read(JOURNAL, 2 * 20 * MOST_COINS + 128).ok();
        let Some(journal) = journal.and_then(|bytes| Journal::decode(&bytes)) else {
            tracing::warn!(pool = %item.id, "a pool's journal cannot be read; it is left as it is");
            continue;
        };
        ends = ends.max(journal.ends.saturating_add(journal.checking.into()));
        match sizes_of(settings, config) {
            Some(sizes) if known.len() < TOLD && !retired && !journal.retired => {
                known.push((item, living, sizes, journal));
            }
            _ => gone.push(living),
        }
    }
    let mut mine: Message = bytemuck::Zeroable::zeroed();
    config.entropy.fill(&mut mine.nonce);
    for (told, (item, .., journal)) in mine.pools.iter_mut().zip(&known) {
        *told = Told::of(item.id, journal);
    }
    let mut theirs: Message = bytemuck::Zeroable::zeroed();
    channel.send(steps::KEPT_POOLS, as_bytes(&[mine]))?;
    channel.recv(steps::KEPT_POOLS, as_bytes_mut(std::slice::from_mut(&mut theirs)))?;
    let told = theirs.pools.iter().map(|told| told.id);
    let mut ids: Vec<[u8; 32]> = told.filter(|id| *id != [0; 32]).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        let (peer, detail) = (channel.peer(), "it tells of a pool twice");
        return Err(Error::cheated(MESSAGE_FORM, peer, steps::KEPT_POOLS, detail));
    }
    let nonce = match role {
        Role::Garbler => [mine.nonce, theirs.nonce],
        Role::Evaluator => [theirs.nonce, mine.nonce],
    };

    let mut usable: Vec<(usize, [Option<u64>; 2], u64)> = Vec::new();
    for (at, (item, living, _, journal)) in known.iter().enumerate() {
        let other = theirs.pools.iter().find(|other| other.id == item.id.0);
        match other.map(|other| (mine.pools[at].common(other), other.session())) {
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
    let chosen = order.pools.iter().find_map(|told| {
        let of = |(at, ..): &&(usize, [Option<u64>; 2], u64)| known[*at].0.id.0 == told.id;
        usable.iter().find(of)
    });
    let opened = match chosen {
        None => {
            tracing::info!("there is no pool in stock that both parties have: one is made");
            create(me, channel, config, sizes, hold, ends)?
        }
        Some(&(at, since, session)) => {
            let (item, living, sizes, mut journal) = known.swap_remove(at);
            let read = put_back(role, &item, &living, &sizes, &journal, since);
            // What cannot be read is of no use, and would be in the way of every session.
            let (base, copies) = read.inspect_err(|_| drop(retire(&living)))?;
            let mut theirs = [0; blake3::OUT_LEN];
            let digest = digest_of(&copies, &sizes, role);
            channel.send(steps::KEPT_POOLS, &digest)?;
            channel.recv(steps::KEPT_POOLS, &mut theirs)?;
            if digest != theirs {
                retire(&living)?;
                let reason = format!(
                    "pool {} is not the same at both parties; it is given up. Run again, to make another",
                    item.id
                );
                return Err(Error::Storage(reason));
            }
            for (track, since) in journal.tracks.iter_mut().zip(since) {
                // What fills empty places is told by no coin: so far back, this party's copy is no better than the peer's.
                track.copied = since;
                if since.is_none() {
                    (track.first, track.coins) = (track.next(), Vec::new());
                }
            }
            (journal.session, journal.ends) = (session + 1, ends);
            living.write(JOURNAL, &[&journal.encode()])?;
            Opened {
                base,
                sizes,
                number: journal.session,
                nonce: [[0; 16]; 2],
                copies,
                kept: Kept {
                    living,
                    journal: Mutex::new(journal),
                    _hold: hold,
                },
            }
        }
    };
    gone.iter().try_for_each(Living::discard)?;
    Ok(Opened { nonce, ..opened })
}

/// Keys and copies of a pool, of which the places are empty that deliveries `since` the given ones may have touched.
fn put_back(
    role: Role,
    item: &Item,
    living: &Living,
    sizes: &Sizes,
    journal: &Journal,
    since: [Option<u64>; 2],
) -> Result<(Base, Copies)> {
    let base = Base::decode(role, &item.keys.0, sizes)
        .ok_or_else(|| Error::Storage(format!("the keys of pool {} are garbled", item.id)))?;
    let mut copies = [None, None];
    for (kind, ((parameters, width), since)) in sizes.pools().zip(since).enumerate() {
        let Some(since) = since else { continue };
        let record = record(role, sizes, width as usize);
        let size = parameters.pool_size() as usize;
        let mut copy = room::secret("a pool", size * record)?;
        living.read_into(COPIES[kind], as_bytes_mut(&mut copy))?;
        let track = &journal.tracks[kind];
        let coins = track.coins.iter().skip((since - track.first) as usize);
        let mut is_empty = vec![false; size];
        for &(coin, kept) in coins {
            for place in touched(coin, kept as usize, parameters.bucket() as usize, size) {
                is_empty[place as usize] = true;
            }
        }
        let gaps = (0..size as u32).filter(|&place| is_empty[place as usize]);
        copies[kind] = Some((copy, gaps.collect()));
    }
    Ok((base, copies))
}

/// Blocks of a record.
fn record(role: Role, sizes: &Sizes, width: usize) -> usize {
    let shape = Shape {
        blocks: sizes.blocks(),
        width,
    };
    match role {
        Role::Garbler => shape.garbler_blocks(),
        Role::Evaluator => shape.evaluator_blocks(),
    }
}

/// What both parties must have alike: which gadget lies where.
fn digest_of(copies: &Copies, sizes: &Sizes, role: Role) -> [u8; blake3::OUT_LEN] {
    let mut hasher = blake3::Hasher::new_derive_key("Cenote 2026 jimu: the gadgets of a kept pool");
    for ((_, width), copy) in sizes.pools().zip(copies) {
        let Some((records, gaps)) = copy else {
            hasher.update(&[0]);
            continue;
        };
        let mut gaps = gaps.iter().peekable();
        for (place, record) in (0..).zip(records.chunks_exact(record(role, sizes, width as usize))) {
            // A record ends with the number of its first gate.
            let number = match gaps.next_if_eq(&&place) {
                Some(_) => NONE,
                None => record.last().map_or(NONE, |block| block.0[1]),
            };
            hasher.update(&number.to_le_bytes());
        }
    }
    *hasher.finalize().as_bytes()
}

/// Sets a pool up, and keeps it.
fn create(
    me: PartyId,
    channel: &mut dyn Channel,
    config: &mut Config,
    sizes: &Sizes,
    hold: Hold,
    ends: u32,
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
        ends,
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
        nonce: [[0; 16]; 2],
        copies: [None, None],
    })
}

#[cfg(test)]
mod tests;

//! The pool with which a session begins: the one that both parties keep and can put back, or a new one.

use std::sync::Mutex;

use cenote_net::{Channel, PartyId};
use cenote_pool::touched;
use cenote_primitives::{Block, as_bytes, as_bytes_mut};
use cenote_protocol::Facts;
use cenote_session::{Error, MESSAGE_FORM, Result, room};
use cenote_store::{Hold, Item, ItemId, Keys, Living};
use zeroize::Zeroizing;

use super::journal::{Journal, MOST_COINS, Message, NONE, TOLD, Told};
use super::{COPIES, JOURNAL, Kept, PROTOCOL, RETIRED, retire};
use crate::gadget::Shape;
use crate::keys::Base;
use crate::online::Role;
use crate::settings::{Config, Sizes};
use crate::steps;

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

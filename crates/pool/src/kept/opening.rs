//! The pool with which a session begins: the one that both parties keep and can put back, or a new one.

use std::fmt;
use std::sync::Mutex;

use cenote_net::{Channel, PartyId, Step};
use cenote_primitives::{Block, Entropy, as_bytes, as_bytes_mut};
use cenote_session::{Error, MESSAGE_FORM, Result, Terms, room};
use cenote_store::{Hold, Item, ItemId, Keys, Living, Stored};
use zeroize::Zeroizing;

use super::journal::{Journal, MOST_BYTES, Message, NONE, Spent, TOLD, Told};
use super::{JOURNAL, KINDS, Kept, Which, prepared};
use crate::touched;

/// How the settings of a pool begin that was retired.
const RETIRED: &str = "retired, ";

/// What a protocol keeps, to those who put it back: one party's of a session.
pub trait Keep {
    /// The name of the protocol's items.
    const PROTOCOL: &'static str;
    /// The states that are copies of its pools, by kind: [`KINDS`] of them at most.
    const COPIES: &'static [&'static str];
    /// The step in which the parties tell each other what they keep.
    const STEP: Step;
    /// Whether things are prepared with a pool's keys ([`Kept::put`]).
    const PREPARES: bool = false;
    /// Parameters of the pools.
    type Sizes: Clone;
    /// What a party keeps besides gadgets, for as long as the pool lives.
    type Base;

    /// The statistical security.
    fn security(&self) -> u32;

    /// The party that garbles: 0 or 1.
    fn garbler(&self) -> PartyId;

    /// This party's randomness.
    fn entropy(&mut self) -> &mut Entropy;

    /// The numbers of gadgets by which [`Keep::sizes`] finds the same again.
    fn numbers(sizes: &Self::Sizes) -> Vec<u32>;

    /// The sizes with these numbers, if there are such.
    fn sizes(&self, numbers: &[u32]) -> Option<Self::Sizes>;

    /// All that follows from these, which another version of the analysis may see otherwise.
    fn terms(sizes: &Self::Sizes) -> Terms;

    /// Whether a session must not use a pool of these sizes, of which so much was used up: with what it is about to use, bounds would be
    /// passed. Another pool is made then.
    fn is_spent(&self, _: &Self::Sizes, _: &Spent) -> bool {
        false
    }

    /// The copy of the pool of each kind.
    fn shapes(&self, sizes: &Self::Sizes) -> Vec<Shape>;

    /// The number of the gadget at `place` in a copy, which both parties know and no other gadget of the pool's has.
    fn number(shape: &Shape, copy: &[Block], place: usize) -> u64;

    /// Sets a pool up with the party at the other end of `channel`.
    ///
    /// # Errors
    /// What failed.
    fn establish(&mut self, channel: &mut dyn Channel, sizes: &Self::Sizes) -> Result<Self::Base>;

    /// A coin that both parties have tossed for the pool.
    fn coin(base: &Self::Base) -> Block;

    /// As bytes.
    fn encode(base: &Self::Base) -> Zeroizing<Vec<u8>>;

    /// The inverse of [`Keep::encode`]; nothing if these are no keys for this party's role and such sizes.
    fn decode(&self, bytes: &[u8], sizes: &Self::Sizes) -> Option<Self::Base>;
}

/// A copy of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Gadgets in it.
    pub size: usize,
    /// Gadgets drawn at a time.
    pub together: usize,
    /// Blocks of the copy.
    pub blocks: usize,
}

/// A pool that was put back, or a new one.
pub struct Opened<Sizes, Base> {
    /// What there is on disk.
    pub kept: Kept,
    /// What is kept besides gadgets.
    pub base: Base,
    /// Its parameters.
    pub sizes: Sizes,
    /// The session.
    pub which: Which,
    /// The gadgets.
    pub copies: Copies,
}

/// Prints nothing but what it is.
impl<Sizes, Base> fmt::Debug for Opened<Sizes, Base> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opened({:?})", self.kept)
    }
}

/// Records of a full pool as they were, and the places that are to be empty.
pub type Copy = (Zeroizing<Vec<Block>>, Vec<u32>);

/// By kind, if there was a full pool of it.
pub type Copies = [Option<Copy>; KINDS];

/// How the settings of a session's pools begin.
fn wanted<K: Keep>(keep: &K) -> String {
    begin(keep.security(), keep.garbler())
}

/// How the settings of pools begin that such sessions can use.
fn begin(security: u32, garbler: PartyId) -> String {
    format!("security {security}, garbler {}, sizes ", garbler.0)
}

/// What a pool is, for which sessions.
fn settings<K: Keep>(keep: &K, sizes: &K::Sizes) -> String {
    let numbers: Vec<String> = K::numbers(sizes).iter().map(u32::to_string).collect();
    let terms = K::terms(sizes).into_iter();
    let terms: Vec<String> = terms.map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{}{}; {}", wanted(keep), numbers.join(" "), terms.join("; "))
}

/// What the settings of a pool tell people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The statistical security.
    pub security: u32,
    /// See [`Keep::numbers`].
    pub numbers: Vec<u32>,
}

impl Shown {
    /// How many sessions of a protocol with this security and garbler can use an item: any number, or none.
    pub fn serves(stored: &Stored, protocol: &str, security: u32, garbler: PartyId) -> Option<u64> {
        let item = &stored.item;
        let ours = item.protocol == protocol && stored.living;
        let ours = ours && item.settings.starts_with(&begin(security, garbler));
        (ours && Self::of(item).is_some()).then_some(u64::MAX)
    }

    /// Of an item, unless it was retired or is no pool.
    pub fn of(item: &Item) -> Option<Self> {
        let (begin, rest) = item.settings.split_once(", sizes ")?;
        let security = begin.strip_prefix("security ")?.split_once(',')?.0.parse().ok()?;
        let numbers = rest.split_once(';')?.0.split(' ').map(str::parse);
        Some(Self {
            security,
            numbers: numbers.collect::<std::result::Result<_, _>>().ok()?,
        })
    }
}

/// The sizes of a pool with such settings, if a session can use it.
fn sizes_of<K: Keep>(keep: &K, item: &str) -> Option<K::Sizes> {
    let (numbers, _) = item.strip_prefix(&wanted(keep))?.split_once(';')?;
    let numbers = numbers.split(' ').map(str::parse);
    let sizes = keep.sizes(&numbers.collect::<std::result::Result<Vec<_>, _>>().ok()?)?;
    (settings(keep, &sizes) == item).then_some(sizes)
}

/// What the journals of all pools with a peer tell of it, whatever the settings of each.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    ends: u32,
    cheated: bool,
}

impl History {
    /// A journal begins with all that was known, so the one that tells of the most ends tells of all.
    fn add(&mut self, journal: &Journal) {
        let ends = journal.ends.saturating_add(journal.checking.into());
        self.ends = self.ends.max(ends);
        self.cheated |= journal.cheated;
    }
}

/// Deletes keys and gadgets of a pool whose journal says that it has ended.
pub(super) fn retire(living: &Living) -> Result<()> {
    living.retire(|settings| format!("{RETIRED}{settings}"), JOURNAL)
}

/// The pool that both parties keep and can put back, or a new one with `sizes`. Pools of which one party knows more than the other, whose
/// check was cut off, or which either party's journal says are spent, are deleted.
///
/// # Errors
/// [`Error::Storage`] for what is wrong with the folder, or if what the parties keep is not the same; [`MESSAGE_FORM`] if the peer tells
/// nonsense; those of setting a pool up, and of the channel.
pub fn open<K: Keep>(
    me: PartyId,
    channel: &mut dyn Channel,
    keep: &mut K,
    sizes: &K::Sizes,
    hold: Hold,
) -> Result<Opened<K::Sizes, K::Base>> {
    let (mut known, mut gone, mut history) = (Vec::new(), Vec::new(), History::default());
    for (item, living) in hold.living(me, K::PROTOCOL)? {
        let (settings, retired) = match item.settings.strip_prefix(RETIRED) {
            Some(settings) => (settings, true),
            None => (&*item.settings, false),
        };
        let journal = living.read(JOURNAL, MOST_BYTES).ok();
        let Some(journal) = journal.and_then(|bytes| Journal::decode(&bytes)) else {
            tracing::warn!(pool = %item.id, "a pool's journal cannot be read; it is left as it is");
            continue;
        };
        history.add(&journal);
        if !settings.starts_with(&wanted(keep)) {
            continue;
        }
        match sizes_of(keep, settings) {
            Some(sizes) if known.len() < TOLD && !retired && !journal.retired => {
                known.push((item, living, sizes, journal));
            }
            _ => gone.push(living),
        }
    }
    let mut mine: Message = bytemuck::Zeroable::zeroed();
    keep.entropy().fill(&mut mine.nonce);
    for (told, (item, _, sizes, journal)) in mine.pools.iter_mut().zip(&known) {
        *told = Told::of(item.id, journal, keep.is_spent(sizes, &journal.spent));
    }
    let mut theirs: Message = bytemuck::Zeroable::zeroed();
    channel.send(K::STEP, as_bytes(&[mine]))?;
    channel.recv(K::STEP, as_bytes_mut(std::slice::from_mut(&mut theirs)))?;
    let told = theirs.pools.iter().map(|told| told.id);
    let mut ids: Vec<[u8; 32]> = told.filter(|id| *id != [0; 32]).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        let (peer, detail) = (channel.peer(), "it tells of a pool twice");
        return Err(Error::cheated(MESSAGE_FORM, peer, K::STEP, detail));
    }
    let garbles = me == keep.garbler();
    let nonce = match garbles {
        true => [mine.nonce, theirs.nonce],
        false => [theirs.nonce, mine.nonce],
    };

    let mut usable: Vec<(usize, [Option<u64>; KINDS], u64)> = Vec::new();
    for (at, (item, living, _, journal)) in known.iter().enumerate() {
        let other = theirs.pools.iter().find(|other| other.id == item.id.0);
        match other.map(|other| (mine.pools[at].common(other), other.session())) {
            Some((Some(since), session)) => usable.push((at, since, journal.session.max(session))),
            // It may be another peer's.
            None if !journal.checking => {}
            Some(_) if mine.pools[at].is_spent() || other.is_some_and(Told::is_spent) => {
                tracing::info!(pool = %item.id, "a pool has been used as much as its bounds allow: another takes its place");
                gone.push(living.clone());
            }
            _ => {
                let checking = journal.checking;
                tracing::warn!(pool = %item.id, checking, "a pool is given up: the parties were cut off at different places");
                gone.push(living.clone());
            }
        }
    }
    // The garbler's latest.
    let order = if garbles { &mine } else { &theirs };
    let chosen = order.pools.iter().find_map(|told| {
        let of = |(at, ..): &&(usize, [Option<u64>; KINDS], u64)| known[*at].0.id.0 == told.id;
        usable.iter().find(of)
    });
    let opened = match chosen {
        None => {
            tracing::info!("there is no pool in stock that both parties have: one is made");
            create(me, channel, keep, sizes, hold, history)?
        }
        Some(&(at, since, session)) => {
            let (item, living, sizes, mut journal) = known.swap_remove(at);
            let read = put_back(keep, &item, &living, &sizes, &journal, since);
            let (base, copies) = read.map_err(|error| given_up(&living, error))?;
            let mut theirs = [0; blake3::OUT_LEN];
            let digest = digest_of::<K>(&copies, &keep.shapes(&sizes));
            channel.send(K::STEP, &digest)?;
            channel.recv(K::STEP, &mut theirs)?;
            if digest != theirs {
                retire(&living)?;
                let reason = format!(
                    "pool {} is not the same at both parties, of which one was put back to an earlier state, or lies. It is given up: run again, \
                     to make another",
                    item.id
                );
                return Err(Error::Storage(reason));
            }
            if K::PREPARES {
                prepared::compare(channel, K::STEP, &mut journal, &living)?;
            }
            for (track, since) in journal.tracks.iter_mut().zip(since) {
                // What fills empty places is told by no coin: so far back, this party's copy is no better than the peer's.
                track.copied = since;
                if since.is_none() {
                    track.forget();
                }
            }
            journal.session = session + 1;
            (journal.ends, journal.cheated) = (history.ends, history.cheated);
            living.write(JOURNAL, &[&journal.encode()])?;
            let number = journal.session;
            Opened {
                base,
                sizes,
                which: Which { number, nonce },
                copies,
                kept: kept::<K>(living, journal, hold),
            }
        }
    };
    gone.iter().try_for_each(Living::discard)?;
    let which = Which {
        nonce,
        ..opened.which
    };
    Ok(Opened { which, ..opened })
}

fn kept<K: Keep>(living: Living, journal: Journal, hold: Hold) -> Kept {
    Kept {
        living,
        copies: K::COPIES,
        before: journal.spent,
        journal: Mutex::new(journal),
        _hold: hold,
    }
}

/// What cannot be read is of no use, and would be in the way of every session.
fn given_up(living: &Living, error: Error) -> Error {
    let Error::Storage(reason) = error else {
        return error;
    };
    match retire(living) {
        Ok(()) => {
            let id = living.id();
            Error::Storage(format!(
                "{reason}. Pool {id} is given up: run again, to make another"
            ))
        }
        Err(error) => error,
    }
}

/// Keys and copies of a pool, of which the places are empty that deliveries `since` the given ones may have touched.
fn put_back<K: Keep>(
    keep: &K,
    item: &Item,
    living: &Living,
    sizes: &K::Sizes,
    journal: &Journal,
    since: [Option<u64>; KINDS],
) -> Result<(K::Base, Copies)> {
    let base = keep
        .decode(&item.keys.0, sizes)
        .ok_or_else(|| Error::Storage(format!("the keys of pool {} are garbled", item.id)))?;
    let mut copies = [None, None];
    for (kind, (shape, since)) in keep.shapes(sizes).into_iter().zip(since).enumerate() {
        let Some(since) = since else { continue };
        let mut copy = room::secret("a pool", shape.blocks)?;
        living.read_into(K::COPIES[kind], &mut [as_bytes_mut(&mut copy)])?;
        let track = &journal.tracks[kind];
        let coins = track.coins.iter().skip((since - track.first) as usize);
        let mut is_empty = vec![false; shape.size];
        for &(coin, kept) in coins {
            for place in touched(coin, kept as usize, shape.together, shape.size) {
                is_empty[place as usize] = true;
            }
        }
        let gaps = (0..shape.size as u32).filter(|&place| is_empty[place as usize]);
        copies[kind] = Some((copy, gaps.collect()));
    }
    Ok((base, copies))
}

/// What both parties must have alike: which gadget lies where.
fn digest_of<K: Keep>(copies: &Copies, shapes: &[Shape]) -> [u8; blake3::OUT_LEN] {
    let mut hasher = blake3::Hasher::new_derive_key("Cenote 2026 pool: the gadgets of a kept pool");
    for (shape, copy) in shapes.iter().zip(copies) {
        let Some((records, gaps)) = copy else {
            hasher.update(&[0]);
            continue;
        };
        let mut gaps = gaps.iter().peekable();
        for place in 0..shape.size {
            let number = match gaps.next_if_eq(&&(place as u32)) {
                Some(_) => NONE,
                None => K::number(shape, records, place),
            };
            hasher.update(&number.to_le_bytes());
        }
    }
    *hasher.finalize().as_bytes()
}

/// Sets a pool up, and keeps it.
fn create<K: Keep>(
    me: PartyId,
    channel: &mut dyn Channel,
    keep: &mut K,
    sizes: &K::Sizes,
    hold: Hold,
    history: History,
) -> Result<Opened<K::Sizes, K::Base>> {
    let base = keep.establish(channel, sizes)?;
    let id = blake3::derive_key(
        "Cenote 2026 pool: the name of a kept pool",
        &K::coin(&base).to_bytes(),
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let role = match me == keep.garbler() {
        true => "garbler",
        false => "evaluator",
    };
    let item = Item {
        id: ItemId(id),
        protocol: K::PROTOCOL.into(),
        party: me,
        role: role.into(),
        settings: settings(keep, sizes),
        made: now.map_or(0, |since| since.as_millis() as u64),
        peers: Default::default(),
        keys: Keys(K::encode(&base)),
    };
    let journal = Journal {
        ends: history.ends,
        cheated: history.cheated,
        ..Journal::default()
    };
    let living = hold.create(&item, &[(JOURNAL, &[&journal.encode()])])?;
    Ok(Opened {
        kept: kept::<K>(living, journal, hold),
        base,
        sizes: sizes.clone(),
        which: Which::default(),
        copies: [None, None],
    })
}

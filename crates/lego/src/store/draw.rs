//! A session's use of stored material: which lot, and how much.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use cenote_net::{Channel, PartyId};
use cenote_primitives::Block;
use cenote_session::{Error, MESSAGE_FORM, Result};
use cenote_store::{Claim, Item, ItemId, Run, Runs, Session, Store};

use super::lot::{PROTOCOL, order, settings};
use crate::counters::Counters;
use crate::failure::told;
use crate::material::{Epoch, GROUP, Stock};
use crate::order::{KINDS, Order, Short};
use crate::party::Party;
use crate::settings::Config;

/// The largest piece that is read.
const MAX_PIECE: usize = 64 << 20;

/// A session's hold on one lot, from which it takes material as it needs it.
///
/// What it holds and does not take stays for other sessions; what a session took and did not use is lost. Dropping it gives
/// the lot back; after a failed check it must be burnt instead ([`Drawer::burn`]). If it is neither dropped nor burnt, because
/// the process ends, or dropped by a panic, the lot is lost.
pub(crate) struct Drawer<K> {
    session: Session,
    lot: ItemId,
    keys: PhantomData<fn() -> K>,
}

impl<K> std::fmt::Debug for Drawer<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Drawer({}, {})", self.lot, self.left())
    }
}

/// Agrees with the peer at the other end of `channel` on the lot to use: the oldest that both
/// have and of which as much is left as `order` asks for, of the configuration's security. Nothing is used yet.
///
/// One session at a time can draw from a folder.
///
/// # Errors
/// [`Error::Exhausted`], at both parties, if there is no such lot; [`Error::Storage`] if a file cannot be read or
/// another session draws from this folder; and what happens on the network.
pub(crate) fn draw<K: Party>(
    store: &Store,
    me: PartyId,
    channel: &mut dyn Channel,
    config: &mut Config,
    order: &Order,
) -> Result<(K, Drawer<K>)> {
    let drawn = choose(store, me, channel, config, order);
    told(channel, drawn)
}

fn choose<K: Party>(
    store: &Store,
    me: PartyId,
    channel: &mut dyn Channel,
    config: &mut Config,
    wanted: &Order,
) -> Result<(K, Drawer<K>)> {
    config.check()?;
    let settings = settings(config);
    let fits = |item: &Item| item.role == K::ROLE && item.settings == settings;
    let mut session = store.session(me, PROTOCOL, fits)?;
    session.compare(config.entropy.bytes(), &mut [channel], MESSAGE_FORM)?;
    let enough = |left: &Runs| order(left).covers(wanted).is_ok();
    let Some(index) = session.shelves().iter().position(|shelf| enough(&shelf.left)) else {
        return Err(exhausted(&session, wanted));
    };
    let item = &session.shelves()[index].item;
    let lot = item.id;
    // No proof of this session's is one of another's.
    let mut hasher = blake3::Hasher::new_derive_key("cenote lego: session on stored material");
    hasher.update(&lot.0).update(session.binding());
    let mut agreed = [0; 16];
    hasher.finalize_xof().fill(&mut agreed);
    let counters = Counters::of_stored(&config.session, lot.0, Block::from_bytes(agreed));
    let keys = K::read(&item.keys.0, counters)
        .ok_or_else(|| Error::Storage(format!("the description of lot {lot} is too short")))?;
    session.hold(index, true)?;
    let drawer = Drawer {
        session,
        lot,
        keys: PhantomData,
    };
    Ok((keys, drawer))
}

fn exhausted(session: &Session, wanted: &Order) -> Error {
    let lefts = session.shelves().iter().map(|shelf| order(&shelf.left));
    let most = lefts.fold(Order::NOTHING, |most, left| most.max(&left));
    let lacking = match session.orphans() {
        0 => String::new(),
        orphans => format!("; {orphans} lots of this party are lacking at the peer"),
    };
    Error::Exhausted(format!(
        "no lot of stored material has {wanted} left at both parties (of each kind, one has at most: {most}{lacking}); \
         make more in an offline run"
    ))
}

impl<K> Drawer<K> {
    pub(crate) fn lot(&self) -> ItemId {
        self.lot
    }

    /// What is left of it at both parties.
    pub(crate) fn left(&self) -> Order {
        let held = self.session.held();
        held.map_or(Order::NOTHING, |shelf| order(&shelf.left))
    }

    /// Deletes the lot: a check failed in this session, at this party or by the peer's word.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be deleted. It cannot be used again all the same.
    pub(crate) fn burn(mut self) -> Result<()> {
        self.session.burn()
    }
}

impl<K: Party> Drawer<K> {
    /// Takes what `order` asks for, for good, and puts it in `stock`, after what is there: first recorded on this party's
    /// disk, read, then agreed with the peer at the other end of `channel`. The peer must do the same. What either cannot read is replaced.
    ///
    /// # Errors
    /// [`Short`] as [`Error::Exhausted`] if too little is left: then nothing is taken, at both parties; [`Error::Storage`] if
    /// a file cannot be written, and what happens on the network: then what was asked for is lost, and the session
    /// is over.
    pub(crate) fn take(
        &mut self,
        channel: &mut dyn Channel,
        order: &Order,
        stock: &mut Stock<K>,
    ) -> Result<()> {
        let taken = self.take_now(channel, order, stock);
        told(channel, taken)
    }

    fn take_now(&mut self, channel: &mut dyn Channel, order: &Order, stock: &mut Stock<K>) -> Result<()> {
        let mut read = BTreeMap::new();
        let claim = self.session.claim(
            &mut [channel],
            MESSAGE_FORM,
            |had, left| next(&order.counts(), had, left),
            |claim| load::<K>(claim, &mut read),
        )?;
        for (run, items) in read {
            let kept: Vec<Run> = claim.runs().common(&Runs::from_iter([run])).iter().collect();
            if kept == [run] {
                items.push(run, stock);
                continue;
            }
            // The peer could not read the rest.
            for run in kept {
                items.part(run)?.push(run, stock);
            }
        }
        claim.parts()?.iter().for_each(|(piece, _)| claim.done(*piece));
        Ok(())
    }
}

/// What is to be claimed next of what is `left`, for so many of each kind in all, if this session `had` some.
fn next(counts: &[u64; 6], had: &Runs, left: &Runs) -> Result<Runs> {
    let mut next = Runs::default();
    for (kind, wanted) in (0..).zip(counts) {
        let wanted = wanted.saturating_sub(had.count(kind));
        let found = left.first_of(kind, wanted);
        if found.total() < wanted {
            let (kind, left) = (KINDS[usize::from(kind)], found.total());
            return Err(Short { kind, wanted, left }.into());
        }
        next = next.union(&found);
    }
    Ok(next)
}

/// Items of one kind in memory, of which the first has this number.
struct Items<K: Party> {
    epoch: Epoch<K>,
    first: u64,
}

impl<K: Party> Items<K> {
    /// Those of `run`, and hardly others: what a peer has left is one item of each piece, perhaps, and to hold all pieces for it
    /// would take as much memory as the lot has.
    fn part(&self, run: Run) -> Result<Self> {
        // AND buckets lie in groups.
        let start = (run.first - self.first) as usize / GROUP * GROUP;
        let end = (run.end - self.first) as usize;
        let bytes = self.epoch.pack(run.class, start..end)?;
        Ok(Self {
            epoch: Epoch::unpack(run.class, &bytes, end - start)?,
            first: self.first + start as u64,
        })
    }

    /// Puts those of `run` into `stock`.
    fn push(self, run: Run, stock: &mut Stock<K>) {
        let mut ranges: [_; 6] = std::array::from_fn(|_| 0..0);
        ranges[usize::from(run.class)] = (run.first - self.first) as usize..(run.end - self.first) as usize;
        stock.push_some(self.epoch, ranges);
    }
}

/// Reads what was claimed. Gives the pieces that cannot be read.
///
/// # Errors
/// [`Error::OutOfMemory`]: that is no reason to give a piece up.
fn load<K: Party>(claim: &Claim, items: &mut BTreeMap<Run, Items<K>>) -> Result<Runs> {
    let parts = match claim.parts() {
        Ok(parts) => parts,
        Err(error) => {
            tracing::warn!(%error, "a lot of material cannot be read");
            return Ok(claim.runs().clone());
        }
    };
    let mut damaged = Vec::new();
    for of_piece in parts.chunk_by(|(one, _), (other, _)| one == other) {
        let (piece, _) = of_piece[0];
        let loaded = read::<K>(claim, piece).and_then(|whole| {
            if of_piece == [(piece, piece)] {
                items.insert(piece, whole);
                return Ok(());
            }
            of_piece
                .iter()
                .try_for_each(|(_, run)| whole.part(*run).map(|part| drop(items.insert(*run, part))))
        });
        match loaded {
            Err(error @ Error::OutOfMemory(_)) => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "a piece of material is left out");
                damaged.push(piece);
            }
            Ok(()) => {}
        }
    }
    Ok(damaged.into_iter().collect())
}

fn read<K: Party>(claim: &Claim, piece: Run) -> Result<Items<K>> {
    let malformed = || Error::Storage(format!("{piece} of lot {} is malformed", claim.id()));
    let bytes = claim.read(piece, MAX_PIECE)?;
    let count = usize::try_from(piece.count()).map_err(|_| malformed())?;
    let epoch = Epoch::unpack(piece.class, &bytes, count).map_err(|error| match error {
        Error::OutOfMemory(_) => error,
        _ => malformed(),
    })?;
    let first = piece.first;
    Ok(Items { epoch, first })
}

//! A session's use of stored material: which lot, how much, and the record before the use.

use std::marker::PhantomData;

use cenote_net::{Channel, PartyId};
use cenote_primitives::Block;
use cenote_session::{Error, MESSAGE_FORM, Result};

use super::lot::{Label, LotId, SideOfLot};
use super::pack::Kinds;
use super::{Counts, Found, MaterialFolder, Reservation, fault, malformed};
use crate::config::Config;
use crate::counters::Counters;
use crate::failure::told;
use crate::material::{EvaluatorStock, GarblerStock};
use crate::order::{Order, Short};
use crate::setup::{EvaluatorKeys, GarblerKeys};
use crate::steps::{CLAIM, OFFER};

/// Most lots in an offer.
const MAX_LOTS: usize = 256;
/// Bytes of a lot in an offer: its name, what is used, and its end.
const LOT_BYTES: usize = 32 + 2 * size_of::<Counts>();
/// The largest piece that is read.
const MAX_PIECE: usize = 64 << 20;

/// What a party says of a lot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offered {
    id: LotId,
    used: Counts,
    end: Counts,
}

/// A session's hold on one lot, from which it takes material as it needs it.
///
/// What it holds and does not take stays for other sessions; what a session took and did not use is lost. Dropping it gives
/// the lot back; after a failed check it must be burnt instead ([`Drawer::burn`]). If it is neither dropped nor burnt, because
/// the process ends, the lot is lost.
pub struct Drawer<K> {
    reservation: Reservation,
    lot: LotId,
    /// The nonces of both parties: what tells this session's claims from another's.
    nonces: [u8; 32],
    used: Counts,
    end: Counts,
    burnt: bool,
    keys: PhantomData<fn() -> K>,
}

impl<K> Drop for Drawer<K> {
    fn drop(&mut self) {
        // After a panic nobody knows, so the mark stays.
        if !self.burnt
            && !std::thread::panicking()
            && let Err(error) = self.reservation.0.unmark(&self.lot)
        {
            // The mark stays, and the lot is gone when the folder is opened next.
            tracing::warn!(%error, "a lot of material cannot be given back");
        }
    }
}

impl<K> std::fmt::Debug for Drawer<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Drawer({}, {})", self.lot, self.left())
    }
}

impl MaterialFolder {
    /// Agrees with the evaluator at the other end of `channel` on the lot to use: the oldest of the garbler's that both have
    /// and of which as much is left as `order` asks for, of the configuration's security. Nothing is used yet.
    ///
    /// One session at a time can draw from a folder.
    ///
    /// # Errors
    /// [`Error::Exhausted`], at both parties, if there is no such lot; [`Error::Storage`] if a file cannot be read or
    /// another session draws from this folder; and what happens on the network.
    pub fn draw_garbler(
        &self,
        channel: &mut dyn Channel,
        config: &mut Config,
        order: &Order,
    ) -> Result<(GarblerKeys, Drawer<GarblerKeys>)> {
        let result = self.draw(channel, config, order);
        told(channel, result)
    }

    /// [`MaterialFolder::draw_garbler`] as the evaluator.
    ///
    /// # Errors
    /// The same.
    pub fn draw_evaluator(
        &self,
        channel: &mut dyn Channel,
        config: &mut Config,
        order: &Order,
    ) -> Result<(EvaluatorKeys, Drawer<EvaluatorKeys>)> {
        let result = self.draw(channel, config, order);
        told(channel, result)
    }

    fn draw<K: SideOfLot>(
        &self,
        channel: &mut dyn Channel,
        config: &mut Config,
        order: &Order,
    ) -> Result<(K, Drawer<K>)> {
        config.check()?;
        let reservation = self.reserve()?;
        let mut lots = self.contents()?;
        lots.retain(|found| found.header.garbler == K::GARBLER && found.header.security == config.security);
        lots.truncate(MAX_LOTS);
        let ours: Vec<Offered> = lots
            .iter()
            .map(|&Found { id, used, end, .. }| Offered { id, used, end })
            .collect();
        let nonce: [u8; 16] = config.entropy.bytes();
        let (theirs, their_nonce) = exchange(channel, &ours, nonce)?;
        let [(first, garbler), (second, evaluator)] = if K::GARBLER {
            [(nonce, &ours), (their_nonce, &theirs)]
        } else {
            [(their_nonce, &theirs), (nonce, &ours)]
        };
        let mut nonces = [0; 32];
        nonces[..16].copy_from_slice(&first);
        nonces[16..].copy_from_slice(&second);
        let Offered { id, used, end } = choose(garbler, evaluator, order)?;
        let found = lots
            .iter()
            .find(|found| found.id == id)
            .ok_or_else(|| Error::Internal("a lot that is not in the folder was chosen".into()))?;
        // No proof of this session's is one of another's.
        let mut hasher = blake3::Hasher::new_derive_key("cenote lego: session on stored material");
        hasher.update(&id.0).update(&nonces);
        let mut agreed = [0; 16];
        hasher.finalize_xof().fill(&mut agreed);
        let counters = Counters::of_stored(&config.session, id.0, Block::from_bytes(agreed));
        let keys = K::read(&found.header.keys, counters)
            .ok_or_else(|| fault(&self.lot_folder(&id), "has a description that is too short"))?;
        self.mark(&id)?;
        let drawer = Drawer {
            reservation,
            lot: id,
            nonces,
            used,
            end,
            burnt: false,
            keys: PhantomData,
        };
        Ok((keys, drawer))
    }
}

/// Tells the peer what this party has, and hears what it has.
fn exchange(
    channel: &mut dyn Channel,
    ours: &[Offered],
    nonce: [u8; 16],
) -> Result<(Vec<Offered>, [u8; 16])> {
    let mut head = [0; 24];
    head[..16].copy_from_slice(&nonce);
    head[16..].copy_from_slice(&(ours.len() as u64).to_le_bytes());
    channel.send(OFFER, &head)?;
    let mut body = Vec::with_capacity(ours.len() * LOT_BYTES);
    for offered in ours {
        body.extend_from_slice(&offered.id.0);
        for count in offered.used.iter().chain(&offered.end) {
            body.extend_from_slice(&count.to_le_bytes());
        }
    }
    channel.send(OFFER, &body)?;
    let mut head = [0; 24];
    channel.recv(OFFER, &mut head)?;
    let (nonce, count) = head.split_at(16);
    let count = count
        .iter()
        .rev()
        .fold(0, |count, &byte| count << 8 | u64::from(byte));
    if count > MAX_LOTS as u64 {
        let detail = "it offers more lots than allowed";
        return Err(Error::cheated(MESSAGE_FORM, channel.peer(), OFFER, detail));
    }
    let mut body = vec![0; count as usize * LOT_BYTES];
    channel.recv(OFFER, &mut body)?;
    let theirs = body.chunks_exact(LOT_BYTES).map(|bytes| {
        let (id, counts) = bytes.split_at(32);
        let mut counts = counts
            .as_chunks()
            .0
            .iter()
            .map(|bytes| u64::from_le_bytes(*bytes));
        let mut next = || std::array::from_fn(|_| counts.next().unwrap_or(0));
        let mut name = [0; 32];
        name.copy_from_slice(id);
        Offered {
            id: LotId(name),
            used: next(),
            end: next(),
        }
    });
    let mut own = [0; 16];
    own.copy_from_slice(nonce);
    Ok((theirs.collect(), own))
}

/// The first of the garbler's lots that both have enough of, as far as both have it: a function of what both said.
fn choose(garbler: &[Offered], evaluator: &[Offered], order: &Order) -> Result<Offered> {
    let mut most = Order::NOTHING;
    for &Offered { id, used, end } in garbler {
        let Some(other) = evaluator.iter().find(|other| other.id == id) else {
            continue;
        };
        let common = Offered {
            id,
            used: std::array::from_fn(|kind| used[kind].max(other.used[kind])),
            end: std::array::from_fn(|kind| end[kind].min(other.end[kind])),
        };
        let left = Order::from_counts(common.end).beyond(&Order::from_counts(common.used));
        if left.covers(order).is_ok() {
            return Ok(common);
        }
        most = most.max(&left);
    }
    Err(Error::Exhausted(format!(
        "no lot of stored material has {order} left at both parties (of each kind, one has at most: {most}); \
         make more in an offline run"
    )))
}

impl<K> Drawer<K> {
    /// The lot.
    pub fn lot(&self) -> LotId {
        self.lot
    }

    /// What is left of it at both parties.
    pub fn left(&self) -> Order {
        Order::from_counts(self.end).beyond(&Order::from_counts(self.used))
    }

    /// Deletes the lot: a check failed in this session, at this party or by the peer's word.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be deleted. It cannot be used again all the same.
    pub fn burn(mut self) -> Result<()> {
        // So its mark stays whatever happens.
        self.burnt = true;
        self.reservation.0.discard(&self.lot)
    }
}

impl Drawer<GarblerKeys> {
    /// Takes what `order` asks for, for good, and puts it in `stock`, after what is there: first recorded on this party's
    /// disk, then agreed with the peer at the other end of `channel`, then read. The evaluator must do the same.
    ///
    /// # Errors
    /// [`Short`] as [`Error::Exhausted`] if too little is left: then nothing is taken, at both parties; [`Error::Storage`] if
    /// a file cannot be read or written, and what happens on the network: then what was asked for is lost, and the session
    /// is over.
    pub fn take(&mut self, channel: &mut dyn Channel, order: &Order, stock: &mut GarblerStock) -> Result<()> {
        take(self, channel, order, stock)
    }
}

impl Drawer<EvaluatorKeys> {
    /// As [`Drawer::<GarblerKeys>::take`].
    ///
    /// # Errors
    /// The same.
    pub fn take(
        &mut self,
        channel: &mut dyn Channel,
        order: &Order,
        stock: &mut EvaluatorStock,
    ) -> Result<()> {
        take(self, channel, order, stock)
    }
}

fn take<K: SideOfLot>(
    drawer: &mut Drawer<K>,
    channel: &mut dyn Channel,
    order: &Order,
    stock: &mut K::Stock,
) -> Result<()> {
    drawer
        .left()
        .covers(order)
        .map_err(|short: Short| Error::from(short))?;
    let from = drawer.used;
    let counts = order.counts();
    let to: Counts = std::array::from_fn(|kind| from[kind] + counts[kind]);
    let folder = drawer.reservation.0.clone();
    let recorded = folder.record(&drawer.lot, &to).and_then(|()| {
        drawer.used = to;
        agree(drawer, channel, &from, &to)
    });
    told(channel, recorded)?;
    let loaded = load(drawer, &folder, &from, &to, stock);
    told(channel, loaded)
}

/// Tells the peer what is recorded as used, and waits for its word that it has recorded the same.
fn agree<K>(drawer: &Drawer<K>, channel: &mut dyn Channel, from: &Counts, to: &Counts) -> Result<()> {
    let mut hasher = blake3::Hasher::new_derive_key("cenote lego: claim");
    hasher.update(&drawer.lot.0).update(&drawer.nonces);
    for count in from.iter().chain(to) {
        hasher.update(&count.to_le_bytes());
    }
    let word = *hasher.finalize().as_bytes();
    channel.send(CLAIM, &word)?;
    let mut theirs = [0; 32];
    channel.recv(CLAIM, &mut theirs)?;
    if theirs == word {
        return Ok(());
    }
    let peer: PartyId = channel.peer();
    Err(Error::cheated(
        MESSAGE_FORM,
        peer,
        CLAIM,
        "it takes other material",
    ))
}

/// Reads the items from `from` to `to`, and deletes the pieces that are used up.
fn load<K: SideOfLot>(
    drawer: &Drawer<K>,
    folder: &MaterialFolder,
    from: &Counts,
    to: &Counts,
    stock: &mut K::Stock,
) -> Result<()> {
    let path = folder.lot_folder(&drawer.lot);
    for name in folder.pieces(&drawer.lot)? {
        let kind = usize::from(name.kind);
        let wanted = from[kind].max(name.first)..to[kind].min(name.end());
        let file = path.join(name.file_name());
        if !wanted.is_empty() {
            let label = Label::Piece(drawer.lot, name).bytes();
            let bytes = folder.0.seal.read(&file, &label, MAX_PIECE)?;
            let count = usize::try_from(name.count).map_err(|_| malformed(&file))?;
            let mut epoch = K::Epoch::default();
            epoch.unpack(kind, &bytes, count).map_err(|_| malformed(&file))?;
            let mut ranges: [_; 6] = std::array::from_fn(|_| 0..0);
            ranges[kind] = (wanted.start - name.first) as usize..(wanted.end - name.first) as usize;
            K::push(stock, epoch, ranges);
        }
        if name.end() <= to[kind]
            && let Err(error) = std::fs::remove_file(&file)
        {
            // Nothing is lost: it is deleted when the folder is opened next.
            tracing::warn!(path = %file.display(), %error, "used material cannot be deleted");
        }
    }
    Ok(())
}

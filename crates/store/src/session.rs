//! A session's use of a folder: what all parties have, which item, and the claim before the use.

use std::collections::BTreeMap;

use cenote_net::PartyId;
use cenote_session::{Check, Error, MESSAGE_FORM, Result};

use crate::agree::{Channels, add, confirm, exchange};
use crate::claim::Claim;
use crate::contents::Inventory;
use crate::durable::sync_folder;
use crate::files::remove_if_there;
use crate::folder::{Label, Reservation, Store};
use crate::item::{Item, ItemId};
use crate::names::IN_USE;
use crate::offer::{Names, Offer};
use crate::runs::Runs;
use crate::seal::fault;
use crate::steps::{STOCK_CLAIM, STOCK_DAMAGE, STOCK_ITEMS, STOCK_OFFER};

/// How often one claim replaces what some party cannot read. A peer that names sound material wastes as many times what is
/// needed.
const REPLACEMENTS: usize = 2;

/// Most gaps that claims leave in what is used of an item. A peer chooses by what it says that it has left where claims fall: with
/// no bound, many sessions that claim an item here and an item there would leave more runs than an offer can tell, and the rest
/// of the item would never be offered again. Claims from the front on, as honest parties make them, leave hardly any.
const MAX_GAPS: usize = 1 << 12;

/// What all parties of a session have in stock, and the item that it has chosen. One session at a time can use a folder.
///
/// Dropping it gives back what was not claimed. If it is never dropped, because the process ends, or dropped by a panic, a marked item
/// is lost.
pub struct Session {
    reservation: Reservation,
    me: PartyId,
    /// All items of the protocol, of any settings, and who was known to lack them.
    known: Vec<(ItemId, Vec<PartyId>)>,
    shelves: Vec<Shelf>,
    orphans: usize,
    /// A hash of all parties' nonces: what tells this session from another.
    binding: [u8; 32],
    held: Option<Held>,
}

/// An item that a session can choose.
#[derive(Clone, Debug)]
pub struct Shelf {
    /// What it is.
    pub item: Item,
    /// What is left of it: once parties have compared, at all of them.
    pub left: Runs,
}

/// The chosen item.
struct Held {
    index: usize,
    used: Runs,
    marked: bool,
    burnt: bool,
}

impl Store {
    /// Reserves the folder for a session of party `me` and looks for items of `protocol` that `wants` accepts, made with the
    /// peers of this handle.
    ///
    /// # Errors
    /// [`Error::Storage`] if another session has the folder, it cannot be listed, or an item is another party's.
    pub fn session(&self, me: PartyId, protocol: &str, wants: impl Fn(&Item) -> bool) -> Result<Session> {
        let reservation = self.reserve()?;
        let Inventory { items, unusable } = self.inventory()?;
        for unusable in unusable {
            tracing::warn!("an item of stock is passed over: {}", unusable.why);
        }
        let (mut known, mut shelves) = (Vec::new(), Vec::new());
        for stored in items {
            let item = stored.item;
            if stored.living || item.protocol != protocol || !item.peers.may_be(&self.peers) {
                continue;
            }
            if item.party != me {
                let what = format!("is stock of {}, not of {me}", item.party);
                return Err(fault(&self.item_folder(&item.id), what));
            }
            known.push((item.id, stored.lacked_by));
            if wants(&item) {
                let left = stored.left;
                shelves.push(Shelf { item, left });
            }
        }
        Ok(Session {
            reservation,
            me,
            known,
            shelves,
            orphans: 0,
            binding: [0; 32],
            held: None,
        })
    }
}

impl Session {
    /// Finds out what all parties have, and notes in the folder what a peer lacks. `nonce` is random; `differing` is the check that a party fails
    /// that tells its peers different things.
    ///
    /// # Errors
    /// What happens on the network.
    pub fn compare(&mut self, nonce: [u8; 16], channels: Channels<'_, '_>, differing: Check) -> Result<()> {
        let me = self.me;
        let names = Names::new(nonce, self.known.iter().map(|(id, _)| *id));
        let names = exchange(me, names, channels, STOCK_ITEMS, "names of items in stock")?;
        let here = self.shelves.len();
        self.shelves
            .retain(|shelf| names.values().all(|names| names.contains(&shelf.item.id)));
        self.orphans = here - self.shelves.len();
        let stock = self
            .shelves
            .iter()
            .map(|shelf| (shelf.item.id, shelf.item.made, &shelf.left));
        let offers = exchange(me, Offer::new(stock), channels, STOCK_OFFER, "offer of stock")?;
        let mut heard = BTreeMap::new();
        add(&mut heard, &names);
        add(&mut heard, &offers);
        confirm(me, &heard, channels, differing)?;

        let mut binding = blake3::Hasher::new_derive_key("cenote store: session");
        for names in names.values() {
            binding.update(names.nonce());
        }
        self.binding = *binding.finalize().as_bytes();
        for Shelf { item, left } in &mut self.shelves {
            for offer in offers.values() {
                let offered = offer.get(&item.id).map(|(_, left)| left);
                *left = offered.map_or_else(Runs::default, |offered| left.common(offered));
            }
        }
        self.shelves.retain(|shelf| !shelf.left.is_empty());
        // The first party's clock decides, so that all have the same order.
        let first = offers.first_key_value().map(|(_, offer)| offer);
        self.shelves.sort_by_key(|Shelf { item, .. }| {
            let made = first.and_then(|offer| offer.get(&item.id));
            (made.map(|(made, _)| *made), item.id)
        });
        self.note_lack(&names);
        Ok(())
    }

    fn note_lack(&self, names: &BTreeMap<PartyId, Names>) {
        let store = &self.reservation.0;
        let mut orphans = 0;
        for (id, known) in &self.known {
            let lacks = |names: &Names| !names.is_full() && !names.contains(id);
            let lacking = names.iter().filter(|(_, names)| lacks(names));
            let lacking: Vec<PartyId> = lacking.map(|(party, _)| *party).collect();
            let lacking: Vec<PartyId> = lacking.into_iter().filter(|party| *party != self.me).collect();
            store.note_lack(id, known, &lacking);
            orphans += usize::from(!lacking.is_empty());
        }
        if orphans > 0 {
            tracing::warn!(
                folder = %store.path().display(),
                "{orphans} items of stock are of no use, because a peer says that it does not have them"
            );
        }
    }

    /// The items of which all parties have something, the oldest first.
    pub fn shelves(&self) -> &[Shelf] {
        &self.shelves
    }

    /// How many items that this session could use a peer lacks.
    pub fn orphans(&self) -> usize {
        self.orphans
    }

    /// A hash of numbers that all parties drew for this session.
    pub fn binding(&self) -> &[u8; 32] {
        &self.binding
    }

    /// Chooses the item that the session claims from, for good. If it is to be `marked`, it is lost should this process end
    /// before the session, or the session end in a panic or be [burnt](Session::burn).
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be marked.
    pub fn hold(&mut self, index: usize, marked: bool) -> Result<()> {
        let (store, id) = (&self.reservation.0, self.shelves[index].item.id);
        let used = store.read_used(&id)?;
        store.busy().held = Some(id);
        if marked {
            store.write(&id, IN_USE, Label::InUse(id), &[])?;
        }
        self.held = Some(Held {
            index,
            used,
            marked,
            burnt: false,
        });
        Ok(())
    }

    /// The chosen item and what is left of it at all parties.
    pub fn held(&self) -> Option<&Shelf> {
        self.held.as_ref().map(|held| &self.shelves[held.index])
    }

    /// Claims material of the chosen item: first on this party's disk, then by its word to all peers and theirs.
    ///
    /// `choose` is told what was claimed so far and what is left, and gives what to claim of that, nothing once it is
    /// enough: the same at all parties. `damaged` reads what was claimed, and gives what it cannot read: that is
    /// left out by all parties, and replaced.
    ///
    /// # Errors
    /// Those of `choose`, [`Error::Exhausted`] if too much is damaged, both at all honest parties alike; those of `damaged`;
    /// [`Error::Exhausted`] if what was chosen is scattered over more than some thousand places: then it is not lost;
    /// [`Error::Storage`] if what is used cannot be recorded, and what happens on the network: then what was chosen is
    /// lost.
    pub fn claim(
        &mut self,
        channels: Channels<'_, '_>,
        differing: Check,
        mut choose: impl FnMut(&Runs, &Runs) -> Result<Runs>,
        mut damaged: impl FnMut(&Claim) -> Result<Runs>,
    ) -> Result<Claim> {
        let nothing = || Error::Internal("no item of stock was chosen".into());
        let store = self.reservation.0.clone();
        let mut runs = Runs::default();
        for round in 0.. {
            let held = self.held.as_mut().ok_or_else(nothing)?;
            let Shelf { item, left } = &mut self.shelves[held.index];
            let id = item.id;
            let chosen = choose(&runs, left)?;
            if chosen.is_empty() {
                let used = held.used.clone();
                return Ok(Claim {
                    store,
                    id,
                    runs,
                    used,
                });
            }
            if round > REPLACEMENTS {
                let what = "too much of the stock cannot be read at one of the parties";
                return Err(Error::Exhausted(what.into()));
            }
            let used = held.used.union(&chosen);
            if used.gaps() > MAX_GAPS.max(held.used.gaps()) {
                let what = format!(
                    "what all parties have left of {id} is so scattered that using it would leave more than {MAX_GAPS} gaps: a \
                     peer says that it lacks what is between. This claim takes nothing"
                );
                return Err(Error::Exhausted(what));
            }
            held.used = used;
            store.record(&id, &held.used)?;
            *left = left.without(&chosen);
            let claim = Claim {
                store: store.clone(),
                id,
                runs: chosen,
                used: held.used.clone(),
            };
            let ours = damaged(&claim)?;
            // Before the peers hear of it: one of them may end the session at once.
            if !ours.is_empty() {
                store.trust_nothing();
                // All of a part that cannot be read.
                held.used = held.used.union(&ours);
                store.record(&id, &held.used)?;
            }
            let damage = self.agree(channels, differing, &claim, ours)?;
            let held = self.held.as_mut().ok_or_else(nothing)?;
            let left = &mut self.shelves[held.index].left;
            *left = left.without(&damage);
            runs = runs.union(&claim.runs.without(&damage));
        }
        Err(nothing())
    }

    /// Tells all peers that this party has claimed this and cannot read `damage`, and waits until all say the same claim.
    /// What any cannot read.
    fn agree(
        &self,
        channels: Channels<'_, '_>,
        differing: Check,
        claim: &Claim,
        damage: Runs,
    ) -> Result<Runs> {
        let mut hasher = blake3::Hasher::new_derive_key("cenote store: claim");
        hasher
            .update(&self.binding)
            .update(&claim.id.0)
            .update(&claim.runs.encode());
        let word = hasher.finalize();
        for channel in channels.iter_mut() {
            channel.send_parts(STOCK_CLAIM, &[word.as_bytes(), &[(!damage.is_empty()).into()]])?;
            channel.flush()?;
        }
        let mut any = !damage.is_empty();
        for channel in channels.iter_mut() {
            let (mut theirs, mut flag) = ([0; 32], [0]);
            channel.recv_parts(STOCK_CLAIM, &mut [&mut theirs, &mut flag])?;
            if theirs != *word.as_bytes() || flag[0] > 1 {
                let what = "it claims other material";
                return Err(Error::cheated(MESSAGE_FORM, channel.peer(), STOCK_CLAIM, what));
            }
            any |= flag[0] == 1;
        }
        if !any {
            return Ok(damage);
        }
        let told = exchange(self.me, damage, channels, STOCK_DAMAGE, "what it cannot read")?;
        let mut heard = BTreeMap::new();
        add(&mut heard, &told);
        confirm(self.me, &heard, channels, differing)?;
        Ok(told.values().fold(Runs::default(), |all, runs| all.union(runs)))
    }

    /// Deletes the chosen item: a check failed in this session, at this party or by a peer's word.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be deleted. If it is marked, it is not used again all the same.
    pub fn burn(&mut self) -> Result<()> {
        let Some(held) = &mut self.held else {
            return Ok(());
        };
        held.burnt = true;
        self.reservation.0.discard(&self.shelves[held.index].item.id)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        // After a panic nobody knows what peers have seen, so the mark stays.
        if held.burnt || held.marked && std::thread::panicking() {
            return;
        }
        let (store, id) = (&self.reservation.0, self.shelves[held.index].item.id);
        let folder = store.item_folder(&id);
        let unmarked = if held.marked {
            remove_if_there(&folder.join(IN_USE)).and_then(|()| sync_folder(&folder))
        } else {
            Ok(())
        };
        let result = unmarked
            .map_err(|error| fault(&folder, format_args!("cannot be released: {error}")))
            .and_then(|()| store.tidy(&id));
        if let Err(error) = result {
            tracing::warn!(%error, "an item of stock cannot be given back");
        }
    }
}

#[cfg(test)]
mod tests {
    use cenote_net::{Channel, ChannelOptions, memory_pair};

    use super::*;
    use crate::item::{Keys, Peers};
    use crate::offer::MAX_ITEMS;
    use crate::runs::Run;
    use crate::seal::StoreKey;

    /// A party with these items, the oldest first.
    fn party(me: PartyId, indices: std::ops::Range<u32>) -> (tempfile::TempDir, Session) {
        let path = tempfile::tempdir().unwrap();
        let store = Store::open(path.path(), &StoreKey::from_bytes([1; 32])).unwrap();
        let mut session = store.session(me, "some", |_| true).unwrap();
        for index in indices {
            let mut id = ItemId([0; 32]);
            id.0[..4].copy_from_slice(&index.to_be_bytes());
            let item = Item {
                id,
                protocol: "some".into(),
                party: me,
                role: String::new(),
                settings: String::new(),
                made: index.into(),
                peers: Peers::default(),
                keys: Keys(Vec::new().into()),
            };
            session.known.push((id, Vec::new()));
            let left = [Run::new(0, 0..1)].into_iter().collect();
            session.shelves.push(Shelf { item, left });
        }
        (path, session)
    }

    /// A peer that has every other number left, by its word, does not get this party to leave as many gaps. What it claims
    /// from the front on is given all the same, and when it has all again, all is of use.
    #[test]
    fn a_peer_cannot_scatter_what_is_left() {
        const COUNT: u64 = 4 * MAX_GAPS as u64;
        let (mut a, mut b) = memory_pair(PartyId(0), PartyId(1), ChannelOptions::default());
        let differing = cenote_session::MESSAGE_FORM;
        let claim = |session: &mut Session, channel: &mut dyn Channel, count: u64| {
            let first = move |had: &Runs, left: &Runs| Ok(left.first(count - had.total()));
            let none = |_: &Claim| Ok(Runs::default());
            session.claim(&mut [channel], differing, first, none).map(|_| ())
        };
        std::thread::scope(|scope| {
            for (me, channel) in [(0, &mut a), (1, &mut b)] {
                scope.spawn(move || {
                    let channel: &mut dyn Channel = channel;
                    let (path, _) = party(PartyId(me), 0..0);
                    let store = Store::open(path.path(), &StoreKey::from_bytes([1; 32])).unwrap();
                    let item = Item {
                        id: ItemId([9; 32]),
                        protocol: "some".into(),
                        party: PartyId(me),
                        role: String::new(),
                        settings: String::new(),
                        made: 0,
                        peers: Peers::default(),
                        keys: Keys(Vec::new().into()),
                    };
                    let making = store.begin(&item).unwrap();
                    making.put(Run::new(0, 0..COUNT), &[&[0; 9]]).unwrap();
                    making.confirm().unwrap();
                    drop(making);

                    let mut session = store.session(PartyId(me), "some", |_| true).unwrap();
                    if me == 1 {
                        let even = (0..COUNT / 2).map(|half| Run::new(0, 2 * half..2 * half + 1));
                        session.shelves[0].left = even.collect();
                    }
                    session
                        .compare([me; 16], &mut [&mut *channel], differing)
                        .unwrap();
                    session.hold(0, true).unwrap();
                    // Number 0 makes no gap.
                    claim(&mut session, channel, MAX_GAPS as u64 + 1).unwrap();
                    let error = claim(&mut session, channel, 1).unwrap_err();
                    assert!(
                        matches!(&error, Error::Exhausted(why) if why.contains("scattered")),
                        "{error}"
                    );
                    drop(session);
                    let left = |store: &Store| store.inventory().unwrap().items[0].left.total();
                    assert_eq!(left(&store), COUNT - MAX_GAPS as u64 - 1);

                    let mut session = store.session(PartyId(me), "some", |_| true).unwrap();
                    session
                        .compare([me; 16], &mut [&mut *channel], differing)
                        .unwrap();
                    session.hold(0, true).unwrap();
                    claim(&mut session, channel, COUNT / 2).unwrap();
                    drop(session);
                    assert_eq!(left(&store), COUNT / 2 - MAX_GAPS as u64 - 1);
                });
            }
        });
    }

    /// More items than fit into an offer, lost at the peer: what both have is found all the same.
    #[test]
    fn lost_items_do_not_fill_an_offer() {
        const LOST: u32 = MAX_ITEMS as u32 + 76;
        let (mut a, mut b) = memory_pair(PartyId(0), PartyId(1), ChannelOptions::default());
        let differing = cenote_session::MESSAGE_FORM;
        std::thread::scope(|scope| {
            for (me, first, channel) in [(0, 0, &mut a), (1, LOST, &mut b)] {
                scope.spawn(move || {
                    let (_path, mut session) = party(PartyId(me), first..LOST + 1);
                    let channel: &mut dyn Channel = channel;
                    session.compare([me; 16], &mut [channel], differing).unwrap();
                    assert_eq!(session.shelves().len(), 1, "party {me}");
                    assert_eq!(session.shelves()[0].item.made, u64::from(LOST));
                    assert_eq!(session.orphans(), (LOST - first) as usize);
                });
            }
        });
    }
}

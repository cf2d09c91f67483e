//! Items that change while they are used, such as a pool: their *states* are files that are replaced whole, as the protocol sees fit.
//!
//! What keeps a living item's material from being used twice is the protocol's business; the folder keeps each state whole, sealed, and
//! bound to its item and its name, and lets one session at a time use it.

use std::io;

use cenote_net::PartyId;
use cenote_session::Result;
use zeroize::Zeroizing;

use crate::durable::sync_folder;
use crate::files::remove_or_warn;
use crate::folder::{Label, Reservation, Store, folder_builder};
use crate::item::{Item, ItemId, Keys};
use crate::names::{ITEM, STATE};
use crate::seal::fault;

/// A folder held for a session that uses living items. One session at a time can.
#[derive(Debug)]
pub struct Hold {
    store: Store,
    _reservation: Reservation,
}

/// A living item that a session uses.
#[derive(Clone, Debug)]
pub struct Living {
    store: Store,
    id: ItemId,
}

impl Store {
    /// A handle whose sessions append to `file` the numbers of all material of living items before they use it: for each the first 8 bytes of
    /// the item's name, and the number in 8 bytes, lowest first. For tests that nothing is used twice, whatever crashes.
    #[must_use]
    pub fn audited(&self, file: std::fs::File) -> Self {
        Self {
            audit: Some(std::sync::Arc::new(file)),
            ..self.clone()
        }
    }

    /// Holds the folder for a session.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if another session has it.
    pub fn hold(&self) -> Result<Hold> {
        Ok(Hold {
            _reservation: self.reserve()?,
            store: self.clone(),
        })
    }
}

impl Hold {
    /// Party `me`'s living items of `protocol`, made with the peers of this handle, the latest first.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if the folder cannot be listed, or an item is another party's.
    pub fn living(&self, me: PartyId, protocol: &str) -> Result<Vec<(Item, Living)>> {
        let store = &self.store;
        let mut found = Vec::new();
        for stored in store.inventory()?.items.into_iter().rev() {
            let item = stored.item;
            if !stored.living || item.protocol != protocol || !item.peers.may_be(&store.peers) {
                continue;
            }
            if item.party != me {
                let what = format!("is stock of {}, not of {me}", item.party);
                return Err(fault(&store.item_folder(&item.id), what));
            }
            let living = Living {
                store: store.clone(),
                id: item.id,
            };
            found.push((item, living));
        }
        Ok(found)
    }

    /// Makes a new item, whose peers are those of this handle, with its first states. Until all are written there is none.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if it cannot be made, or is there already.
    pub fn create(&self, item: &Item, states: &[(&str, &[&[u8]])]) -> Result<Living> {
        let (store, id) = (&self.store, item.id);
        let folder = store.item_folder(&id);
        let make = || -> io::Result<()> {
            folder_builder().create(&folder)?;
            sync_folder(store.path())
        };
        make().map_err(|error| cenote_session::Error::file(&folder, "cannot be made", &error))?;
        let living = Living {
            store: store.clone(),
            id,
        };
        for (name, pieces) in states {
            living.write(name, pieces)?;
        }
        let item = Item {
            peers: store.peers.clone(),
            ..item.clone()
        };
        // What is not described is cleared away.
        store.write(&id, ITEM, Label::Item(id), &[&item.encode()])?;
        Ok(living)
    }
}

impl Living {
    /// Its name.
    pub fn id(&self) -> ItemId {
        self.id
    }

    /// Puts the concatenation of `pieces` in the place of a state. When this returns, it outlasts a crash; before, the old one does.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if it cannot be written.
    pub fn write(&self, name: &str, pieces: &[&[u8]]) -> Result<()> {
        let label = Label::State(self.id, name);
        self.store
            .write(&self.id, &format!("{STATE}{name}"), label, pieces)
    }

    /// A state, of `most` bytes at most.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if it is not there, is longer, or is not what was written.
    pub fn read(&self, name: &str, most: usize) -> Result<Zeroizing<Vec<u8>>> {
        let path = self.store.item_folder(&self.id).join(format!("{STATE}{name}"));
        let label = Label::State(self.id, name).bytes();
        let read = self.store.inner.seal.read(&path, &label, most);
        read.inspect_err(|_| self.store.trust_nothing())
    }

    /// Reads a state that exactly fills `spaces`, one after the other.
    ///
    /// # Errors
    /// As [`Living::read`]; what it leaves in `spaces` is to be wiped.
    pub fn read_into(&self, name: &str, spaces: &mut [&mut [u8]]) -> Result<()> {
        let path = self.store.item_folder(&self.id).join(format!("{STATE}{name}"));
        let label = Label::State(self.id, name).bytes();
        let read = self.store.inner.seal.read_into(&path, &label, spaces);
        read.inspect_err(|_| self.store.trust_nothing())
    }

    /// Deletes a state, if it is there. If it cannot be, the log says so.
    pub fn remove(&self, name: &str) {
        remove_or_warn(&self.store.item_folder(&self.id).join(format!("{STATE}{name}")));
    }

    /// Notes the numbers of material that is about to be used, if this handle's store is [`audited`](Store::audited).
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if the note cannot be written.
    pub fn used(&self, numbers: impl Iterator<Item = u64>) -> Result<()> {
        let Some(audit) = &self.store.audit else {
            return Ok(());
        };
        let item = self.id.0.first_chunk::<8>().expect("a name has 32 bytes");
        let mut bytes = Vec::new();
        for number in numbers {
            bytes.extend_from_slice(item);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let written = io::Write::write_all(&mut &**audit, &bytes);
        written.map_err(|error| {
            fault(
                self.store.path(),
                format_args!("the audit cannot be written: {error}"),
            )
        })
    }

    /// Deletes its keys and all of its states but `left`, for good, and gives it `settings` that say so.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if its description cannot be read or replaced. States that cannot be deleted are named in the log.
    pub fn retire(&self, settings: impl FnOnce(&str) -> String, left: &str) -> Result<()> {
        let item = self.store.read_item(&self.id)?;
        let item = Item {
            settings: settings(&item.settings),
            keys: Keys(Zeroizing::default()),
            ..item
        };
        self.store
            .write(&self.id, ITEM, Label::Item(self.id), &[&item.encode()])?;
        let left = self.store.item_folder(&self.id).join(format!("{STATE}{left}"));
        let states = self.store.list(&self.id)?.states;
        let others = states.iter().filter(|path| **path != left);
        others.for_each(|path| remove_or_warn(path));
        Ok(())
    }

    /// Deletes it. Its keys go first.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if its description cannot be deleted.
    pub fn discard(&self) -> Result<()> {
        self.store.discard(&self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreKey;
    use crate::item::Peers;

    fn item(id: u8) -> Item {
        Item {
            id: ItemId([id; 32]),
            protocol: "pool".into(),
            party: PartyId(1),
            role: String::new(),
            settings: "s".into(),
            made: id.into(),
            peers: Peers::default(),
            keys: Keys(Zeroizing::new(vec![id; 5])),
        }
    }

    #[test]
    fn states_are_replaced_whole_and_outlast_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let key = StoreKey::from_bytes([4; 32]);
        let store = Store::open(folder.path(), &key).unwrap();
        {
            let hold = store.hold().unwrap();
            assert!(store.hold().is_err(), "one session at a time");
            assert!(hold.living(PartyId(1), "pool").unwrap().is_empty());
            let living = hold.create(&item(1), &[("a", &[b"one", b"two"])]).unwrap();
            hold.create(&item(2), &[("a", &[b"other"])]).unwrap();
            hold.create(&item(2), &[]).unwrap_err();
            living.write("b", &[&[7; 1000]]).unwrap();
            living.write("a", &[b"three"]).unwrap();
        }
        drop(store);
        let store = Store::open(folder.path(), &key).unwrap();
        let listed = store.inventory().unwrap().items;
        assert!(listed.len() == 2 && listed.iter().all(|stored| stored.living));
        let hold = store.hold().unwrap();
        let found = hold.living(PartyId(1), "pool").unwrap();
        let ids: Vec<u8> = found.iter().map(|(item, _)| item.id.0[0]).collect();
        assert_eq!(ids, [2, 1], "the latest first");
        let (first, living) = &found[1];
        assert_eq!(*first.keys.0, [1; 5]);
        assert_eq!(*living.read("a", 5).unwrap(), b"three");
        living.read("a", 4).unwrap_err();
        living.read("c", 4).unwrap_err();
        let mut space = [0; 1000];
        let (one, other) = space.split_at_mut(300);
        living.read_into("b", &mut [one, other]).unwrap();
        assert_eq!(space, [7; 1000]);
        living.read_into("a", &mut [&mut space]).unwrap_err();
        living.remove("c");
        living.remove("b");
        living.read("b", 1000).unwrap_err();
        // One state is not another's, nor another item's.
        let path = |id: u8, name: &str| folder.path().join(ItemId([id; 32]).to_string()).join(name);
        std::fs::copy(path(1, "state-a"), path(1, "state-b")).unwrap();
        living.read("b", 1000).unwrap_err();
        std::fs::copy(path(2, "state-a"), path(1, "state-a")).unwrap();
        living.read("a", 1000).unwrap_err();
        assert!(hold.living(PartyId(1), "other").unwrap().is_empty());
        hold.living(PartyId(0), "pool").unwrap_err();
        hold.living(PartyId(1), "pool").unwrap()[0]
            .1
            .retire(|settings| format!("no more {settings}"), "a")
            .unwrap();
        let retired = hold.living(PartyId(1), "pool").unwrap().remove(0);
        assert!(retired.0.settings == "no more s" && retired.0.keys.0.is_empty());
        assert_eq!(*retired.1.read("a", 5).unwrap(), b"other");
        living.discard().unwrap();
        assert!(!path(1, "").exists());
        assert_eq!(hold.living(PartyId(1), "pool").unwrap().len(), 1);
    }

    #[test]
    fn a_state_that_cannot_be_read_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreKey::from_bytes([4; 32])).unwrap();
        let states: [(&str, &[&[u8]]); 2] = [("a", &[b"x"]), ("b", &[b"y"])];
        let living = store.hold().unwrap().create(&item(1), &states).unwrap();
        let id = living.id();
        store.put_damage_aside(&id).unwrap();
        let path = folder.path().join(id.to_string()).join("state-b");
        std::fs::write(&path, b"damaged").unwrap();
        let error = store.put_damage_aside(&id).unwrap_err().to_string();
        assert!(error.contains("state-b"), "{error}");
        living.write("b", &[b"z"]).unwrap();
        store.put_damage_aside(&id).unwrap();
    }

    /// An item whose making was cut off is cleared away.
    #[test]
    fn what_is_not_described_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let key = StoreKey::from_bytes([4; 32]);
        let store = Store::open(folder.path(), &key).unwrap();
        store.hold().unwrap().create(&item(1), &[("a", &[b"x"])]).unwrap();
        drop(store);
        let path = folder.path().join(ItemId([1; 32]).to_string());
        std::fs::remove_file(path.join(ITEM)).unwrap();
        let store = Store::open(folder.path(), &key).unwrap();
        assert!(store.inventory().unwrap().items.is_empty() && !path.exists());
    }
}

//! Making an item: provisional until all parties vouch for it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};

use cenote_session::{Error, Result};

use crate::durable::sync_folder;
use crate::folder::{Label, Store, folder_builder};
use crate::item::{Item, ItemId};
use crate::names::{ITEM, PROVISIONAL};
use crate::runs::{Run, Runs};
use crate::seal::fault;

/// An item that is being made. Sessions do not see it while this lives, and afterwards only what was confirmed.
pub struct Making {
    store: Store,
    id: ItemId,
    /// Parts that are not confirmed.
    provisional: Mutex<BTreeSet<Run>>,
}

impl Store {
    /// Makes the folder of a new item, whose peers are those of this handle.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if it cannot be made, or is there already.
    pub fn begin(&self, item: &Item) -> Result<Making> {
        let (id, folder) = (item.id, self.item_folder(&item.id));
        let make = || -> io::Result<()> {
            folder_builder().create(&folder)?;
            sync_folder(self.path())
        };
        make().map_err(|error| Error::file(&folder, "cannot be made", &error))?;
        self.busy().making.push(id);
        let making = Making {
            store: self.clone(),
            id,
            provisional: Mutex::default(),
        };
        let item = Item {
            peers: self.peers.clone(),
            ..item.clone()
        };
        self.write(&id, ITEM, Label::Item(id), &[&item.encode()])?;
        self.record(&id, &Runs::default())?;
        Ok(making)
    }
}

impl Making {
    /// The item's name.
    pub fn id(&self) -> ItemId {
        self.id
    }

    /// Puts a part on the disk: the concatenation of `pieces`.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if it cannot be written, or is there already.
    pub fn put(&self, part: Run, pieces: &[&[u8]]) -> Result<()> {
        let name = part.part_name();
        let path = self.store.item_folder(&self.id).join(&name);
        let mut provisional = self.provisional.lock().unwrap_or_else(PoisonError::into_inner);
        if path.exists() || !provisional.insert(part) {
            return Err(fault(&path, "is there already"));
        }
        drop(provisional);
        let name = format!("{name}{PROVISIONAL}");
        self.store
            .write(&self.id, &name, Label::Part(self.id, part), pieces)
    }

    /// Keeps what was put so far: all parties have said that it is on their disks and that the run was clean.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if that cannot be noted; then some of it is kept.
    pub fn confirm(&self) -> Result<()> {
        let folder = self.store.item_folder(&self.id);
        let mut provisional = self.provisional.lock().unwrap_or_else(PoisonError::into_inner);
        let keep = || -> io::Result<()> {
            for part in &*provisional {
                let name = part.part_name();
                fs::rename(folder.join(format!("{name}{PROVISIONAL}")), folder.join(name))?;
            }
            sync_folder(&folder)
        };
        keep().map_err(|error| Error::file(&folder, "cannot be put in stock", &error))?;
        provisional.clear();
        Ok(())
    }

    /// Deletes all of it, what was confirmed included.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if its description cannot be deleted.
    pub fn discard(self) -> Result<()> {
        self.store.discard(&self.id)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if self.store.item_folder(&self.id).exists()
            && let Err(error) = self.store.tidy(&self.id)
        {
            tracing::warn!(%error, "an item of stock cannot be cleared");
        }
        self.store.busy().making.retain(|known| *known != self.id);
    }
}

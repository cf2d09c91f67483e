//! What a folder holds.

use std::fs;
use std::io;
use std::path::PathBuf;

use cenote_net::PartyId;
use cenote_session::Result;

use crate::durable::{DRAFT, create};
use crate::files::remove_if_there;
use crate::folder::Store;
use crate::item::{Item, ItemId};
use crate::names::{IN_USE, ITEM, LACKED_BY, PROVISIONAL, STATE, USED};
use crate::runs::{Run, Runs};
use crate::seal::fault;

/// An item that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What it is.
    pub item: Item,
    /// What is left of it.
    pub left: Runs,
    /// Whether it changes while it is used, and has no numbered parts.
    pub living: bool,
    /// The names of its states then.
    pub states: Vec<String>,
    /// The parties that said they had none of it when a session last compared. No job can use it then.
    pub lacked_by: Vec<PartyId>,
}

/// Something in a folder that is called as an item is, and that no session can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// What it is called.
    pub id: ItemId,
    /// What is wrong with which file.
    pub why: String,
}

/// What a folder holds, but for what is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The items that can be used, the oldest first.
    pub items: Vec<Stored>,
    /// Those that cannot, by their names.
    pub unusable: Vec<Unusable>,
}

/// The files of an item's folder, by their names.
#[derive(Default)]
pub(crate) struct Listing {
    /// Whether the file is there that describes the item. Without it, the rest is of no use.
    pub(crate) described: bool,
    /// Whether the file is there that tells what is used. Without it, nobody knows.
    pub(crate) recorded: bool,
    /// Whether a session has marked it.
    pub(crate) in_use: bool,
    pub(crate) parts: Vec<Run>,
    /// The states of a living item.
    pub(crate) states: Vec<PathBuf>,
    /// Provisional parts and unfinished files: for nobody's use.
    pub(crate) remains: Vec<PathBuf>,
    /// The parties that did not have it when a session last compared.
    pub(crate) lacked_by: Vec<PartyId>,
}

impl Listing {
    pub(crate) fn state_names(&self) -> Vec<String> {
        let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_prefix(STATE)?.to_owned());
        self.states.iter().filter_map(name).collect()
    }

    /// Whether it is of a living item.
    pub(crate) fn is_living(&self) -> bool {
        self.described && !self.states.is_empty()
    }
}

impl Store {
    /// What it holds, what cannot be used included.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if the folder cannot be listed.
    pub fn inventory(&self) -> Result<Inventory> {
        let mut inventory = Inventory::default();
        for (id, is_folder) in self.entries()? {
            if self.busy().making.contains(&id) {
                continue;
            }
            match self.look(&id, is_folder) {
                Ok(stored) => inventory.items.extend(stored),
                Err(error) => inventory.unusable.push(Unusable {
                    id,
                    why: error.to_string(),
                }),
            }
        }
        inventory
            .items
            .sort_by_key(|stored| (stored.item.made, stored.item.id));
        inventory.unusable.sort_by_key(|unusable| unusable.id);
        Ok(inventory)
    }

    /// An item, unless it is spent and about to be cleared away.
    fn look(&self, id: &ItemId, is_folder: bool) -> Result<Option<Stored>> {
        let folder = self.item_folder(id);
        if !is_folder {
            return Err(fault(&folder, "is not a folder"));
        }
        let listing = self.list(id)?;
        if listing.is_living() {
            return Ok(Some(Stored {
                item: self.read_item(id)?,
                left: Runs::default(),
                living: true,
                states: listing.state_names(),
                lacked_by: Vec::new(),
            }));
        }
        if listing.parts.is_empty() {
            return Ok(None);
        }
        if listing.in_use && self.busy().held != Some(*id) {
            let what = "was in a session that did not end as it should, and will be deleted";
            return Err(fault(&folder, what));
        }
        let item = self.read_item(id)?;
        let left = listing.parts.into_iter().collect::<Runs>();
        let left = left.without(&self.read_used(id)?);
        Ok((!left.is_empty()).then_some(Stored {
            item,
            left,
            living: false,
            states: Vec::new(),
            lacked_by: listing.lacked_by,
        }))
    }

    pub(crate) fn list(&self, id: &ItemId) -> Result<Listing> {
        let folder = self.item_folder(id);
        let list = || -> io::Result<Listing> {
            let mut listing = Listing::default();
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                match name.to_str() {
                    Some(ITEM) => listing.described = true,
                    Some(USED) => listing.recorded = true,
                    Some(IN_USE) => listing.in_use = true,
                    Some(name) if name.ends_with(PROVISIONAL) || name.ends_with(DRAFT) => {
                        listing.remains.push(entry.path());
                    }
                    Some(name) if name.starts_with(STATE) => listing.states.push(entry.path()),
                    Some(name) => match name.strip_prefix(LACKED_BY) {
                        Some(party) => listing.lacked_by.extend(party.parse().map(PartyId)),
                        None => listing.parts.extend(Run::of_part(name)),
                    },
                    None => {}
                }
            }
            listing.parts.sort_unstable();
            listing.lacked_by.sort_unstable();
            Ok(listing)
        };
        list().map_err(|error| fault(&folder, format_args!("cannot be listed: {error}")))
    }

    /// Notes which parties lack an item, by what they said when a session compared: see [`Stored::lacked_by`].
    pub(crate) fn note_lack(&self, id: &ItemId, listed: &[PartyId], lacked_by: &[PartyId]) {
        let path = |party: PartyId| self.item_folder(id).join(format!("{LACKED_BY}{}", party.0));
        let gone = listed.iter().filter(|party| !lacked_by.contains(party));
        let new = lacked_by.iter().filter(|party| !listed.contains(party));
        let written = gone
            .map(|party| remove_if_there(&path(*party)))
            .chain(new.map(|party| create(&path(*party)).map(|_| ())))
            .collect::<io::Result<()>>();
        if let Err(error) = written {
            tracing::warn!(item = %id, %error, "which parties lack an item of stock cannot be noted");
        }
    }
}

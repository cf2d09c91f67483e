//! Deleting items, so that a crash at any moment leaves an item or none, never a part that could be used.
//!
//! The file that describes an item goes first, and with it the item's keys. What is left then is *remains*: it is
//! never used, and deleted when the folder is opened next.

use std::fs;
use std::path::PathBuf;

use cenote_session::Result;

use crate::contents::Listing;
use crate::durable::sync_folder;
use crate::files::{remove_if_there, remove_or_warn};
use crate::folder::Store;
use crate::item::ItemId;
use crate::names::{IN_USE, ITEM, LACKED_BY, USED};
use crate::runs::{Run, Runs};
use crate::seal::fault;

impl Store {
    /// Deletes an item, whether or not it can be used: its keys and all of its material.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if there is none of that name, if a session has the folder, the item is being made, or its
    /// description cannot be deleted. What else cannot be deleted is named in the log; it is never used again.
    pub fn remove(&self, id: &ItemId) -> Result<()> {
        let _reservation = self.reserve()?;
        if self.busy().making.contains(id) {
            return Err(fault(&self.item_folder(id), "is being made"));
        }
        let path = self.item_folder(id);
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        if is_folder {
            return self.discard(id);
        }
        fs::remove_file(&path).map_err(|error| fault(&path, format_args!("cannot be deleted: {error}")))
    }

    /// Deletes what nobody may use any more: remains, used parts, and the item itself once no part is left of it, its
    /// description or record is gone, or it is marked.
    pub(crate) fn tidy(&self, id: &ItemId) -> Result<()> {
        let listing = self.list(id)?;
        if listing.in_use {
            tracing::warn!(item = %id, "deleting an item of stock whose session did not end as it should");
        }
        if listing.is_living() {
            listing.remains.iter().for_each(|path| remove_or_warn(path));
            return Ok(());
        }
        if listing.in_use || !listing.described || !listing.recorded || listing.parts.is_empty() {
            return self.discard(id);
        }
        // Their names keep them from being used while they are there.
        listing.remains.iter().for_each(|path| remove_or_warn(path));
        let used = self.read_used(id)?;
        if listing.parts.iter().all(|part| used.contains(*part)) {
            return self.discard(id);
        }
        self.remove_used(id, listing.parts, &used);
        Ok(())
    }

    /// Deletes an item. From the first step on it is not there for any session, whatever happens.
    pub(crate) fn discard(&self, id: &ItemId) -> Result<()> {
        let folder = self.item_folder(id);
        self.forget_sound(id);
        let (description, rest) = self.removal(id)?;
        remove_if_there(&description)
            .and_then(|()| sync_folder(&folder))
            .map_err(|error| fault(&description, format_args!("cannot be deleted: {error}")))?;
        rest.iter().for_each(|path| remove_or_warn(path));
        if let Err(error) = fs::remove_dir(&folder).and_then(|()| sync_folder(self.path())) {
            tracing::warn!(path = %folder.display(), %error, "the folder of an item of stock that is gone cannot be deleted");
        }
        Ok(())
    }

    /// The file of an item that is deleted first, and those that follow.
    pub(crate) fn removal(&self, id: &ItemId) -> Result<(PathBuf, Vec<PathBuf>)> {
        let folder = self.item_folder(id);
        let Listing {
            parts,
            states,
            remains,
            lacked_by,
            recorded,
            in_use,
            ..
        } = self.list(id)?;
        let parts = parts.iter().map(|part| folder.join(part.part_name()));
        let notes = lacked_by
            .iter()
            .map(|party| folder.join(format!("{LACKED_BY}{}", party.0)));
        let others = [(recorded, USED), (in_use, IN_USE)]
            .into_iter()
            .filter(|(there, _)| *there);
        let others = others.map(|(_, name)| folder.join(name));
        let rest = parts
            .chain(states)
            .chain(remains)
            .chain(notes)
            .chain(others)
            .collect();
        Ok((folder.join(ITEM), rest))
    }

    /// Deletes those of `parts` whose every number is used.
    pub(crate) fn remove_used(&self, id: &ItemId, parts: impl IntoIterator<Item = Run>, used: &Runs) {
        for part in parts.into_iter().filter(|part| used.contains(*part)) {
            remove_or_warn(&self.item_folder(id).join(part.part_name()));
        }
    }
}

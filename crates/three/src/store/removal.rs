//! Deleting epochs, so that a crash at any moment leaves an epoch or none, never a part that could be used.
//!
//! The file that describes an epoch goes first, and with it the keys of its triples. What is left then is *remains*: it is
//! never used, and deleted when the folder is opened next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cenote_session::Result;

use super::sealed::{fault, sync_folder};
use super::{EPOCH_FILE, EpochId, LACKED_BY, Listing, StockFolder};

impl StockFolder {
    /// Deletes an epoch, whether or not it can be used: its keys and all of its batches.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if there is none of that name, if a session has the folder, the epoch is being made, or its
    /// description cannot be deleted. What else cannot be deleted is named in the log; it is never used again.
    pub fn remove(&self, id: &EpochId) -> Result<()> {
        let _reservation = self.reserve()?;
        if self.in_making().contains(id) {
            return Err(fault(&self.epoch_folder(id), "is being made"));
        }
        let path = self.epoch_folder(id);
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        if is_folder {
            return self.discard(id);
        }
        fs::remove_file(&path).map_err(|error| fault(&path, format_args!("cannot be deleted: {error}")))
    }

    /// Deletes what nobody may use any more: what sessions have left, and the epoch itself once no batch is left of it or
    /// its description is gone.
    pub(super) fn tidy(&self, id: &EpochId) -> Result<()> {
        let listing = self.list(id)?;
        if listing.batches.is_empty() || !listing.described {
            return self.discard(id);
        }
        // Their names keep them from being used while they are there.
        listing.remains.iter().for_each(|path| remove_or_warn(path));
        Ok(())
    }

    /// Deletes an epoch. From the first step on it is not there for any session, whatever happens.
    pub(super) fn discard(&self, id: &EpochId) -> Result<()> {
        let folder = self.epoch_folder(id);
        let (description, rest) = self.removal(id)?;
        remove_if_there(&description)
            .and_then(|()| sync_folder(&folder))
            .map_err(|error| fault(&description, format_args!("cannot be deleted: {error}")))?;
        rest.iter().for_each(|path| remove_or_warn(path));
        if let Err(error) = fs::remove_dir(&folder).and_then(|()| sync_folder(self.path())) {
            tracing::warn!(path = %folder.display(), %error, "the folder of an epoch of stock that is gone cannot be deleted");
        }
        Ok(())
    }

    /// The file of an epoch that is deleted first, and those that follow.
    pub(super) fn removal(&self, id: &EpochId) -> Result<(PathBuf, Vec<PathBuf>)> {
        let folder = self.epoch_folder(id);
        let Listing {
            batches,
            remains,
            lacked_by,
            ..
        } = self.list(id)?;
        let batches = batches.iter().map(|number| folder.join(number.file_name()));
        let notes = lacked_by
            .iter()
            .map(|party| folder.join(format!("{LACKED_BY}{}", party.0)));
        let rest = batches.chain(remains).chain(notes).collect();
        Ok((folder.join(EPOCH_FILE), rest))
    }
}

/// Deletes a file that is never used whether it is deleted or not.
pub(super) fn remove_or_warn(path: &Path) {
    if let Err(error) = remove_if_there(path) {
        tracing::warn!(path = %path.display(), %error, "a file of stock that is of no use any more cannot be deleted");
    }
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

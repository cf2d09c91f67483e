//! Claimed material: recorded as used at all parties, for one session to read.

use std::path::PathBuf;

use cenote_session::Result;
use zeroize::Zeroizing;

use crate::files::remove_or_warn;
use crate::folder::{Label, Store};
use crate::item::ItemId;
use crate::runs::{Run, Runs};
use crate::seal::fault;

/// What a session has claimed of an item. Nobody else will read it.
#[derive(Clone)]
pub struct Claim {
    pub(crate) store: Store,
    pub(crate) id: ItemId,
    pub(crate) runs: Runs,
    /// All that is used of the item, this claim included.
    pub(crate) used: Runs,
}

impl Claim {
    /// The item.
    pub fn id(&self) -> ItemId {
        self.id
    }

    /// What was claimed.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// The parts in which what was claimed lies, and what of each was claimed, in order.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if the folder cannot be listed.
    pub fn parts(&self) -> Result<Vec<(Run, Run)>> {
        let mut parts = Vec::new();
        for part in self.store.list(&self.id)?.parts {
            let claimed = self.runs.common(&Runs::from_iter([part]));
            parts.extend(claimed.iter().map(|claimed| (part, claimed)));
        }
        Ok(parts)
    }

    fn path(&self, part: Run) -> Result<PathBuf> {
        let path = self.store.item_folder(&self.id).join(part.part_name());
        if self.runs.common(&Runs::from_iter([part])).is_empty() {
            return Err(fault(&path, "is not claimed"));
        }
        Ok(path)
    }

    /// What a part holds, at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if it is not claimed, cannot be read, or is not what its name says.
    pub fn read(&self, part: Run, most: usize) -> Result<Zeroizing<Vec<u8>>> {
        let label = Label::Part(self.id, part).bytes();
        self.store.inner.seal.read(&self.path(part)?, &label, most)
    }

    /// Reads a part into `spaces`, which it must exactly fill, one after the other. What an error leaves in them is to be
    /// wiped.
    ///
    /// # Errors
    /// Those of [`Claim::read`].
    pub fn read_into(&self, part: Run, spaces: &mut [&mut [u8]]) -> Result<()> {
        let label = Label::Part(self.id, part).bytes();
        let path = self.path(part)?;
        self.store.inner.seal.read_into(&path, &label, spaces)
    }

    /// Whether a part can be read. It is read through.
    ///
    /// # Errors
    /// Those of [`Claim::read`].
    pub fn check(&self, part: Run) -> Result<()> {
        let (path, label) = (self.path(part)?, Label::Part(self.id, part).bytes());
        let mut reader = self.store.inner.seal.open(&path, &label)?;
        while reader.chunk()?.is_some() {}
        Ok(())
    }

    /// Deletes a part if all of it is used. What is left over is deleted when the session ends.
    pub fn done(&self, part: Run) {
        if self.used.contains(part) {
            remove_or_warn(&self.store.item_folder(&self.id).join(part.part_name()));
        }
    }
}

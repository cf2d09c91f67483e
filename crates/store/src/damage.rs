//! Damage on the disk, found before a session relies on what is damaged.
//!
//! A file is *sound* if it opens under the folder's key. A file that was found sound, or was written, by this process is not read again as long as it is
//! the same file, of the same length and time, until one turns out to be damaged all the same.

use std::sync::PoisonError;

use cenote_session::Result;

use crate::contents::Listing;
use crate::folder::{Label, Store};
use crate::item::ItemId;
use crate::names::{PROVISIONAL, STATE};
use crate::runs::{Run, Runs};
use crate::sound::{Mark, Sound};

impl Store {
    /// Looks for damage in what is left of an item. Parts that cannot be read are recorded as used and deleted: no session chooses them, so that the rest
    /// can be used.
    ///
    /// # Errors
    /// [`Error::Storage`](cenote_session::Error::Storage) if a session has the folder, the item cannot be used at all, as a living one of which a state
    /// cannot be read, or the damage cannot be recorded.
    pub fn put_damage_aside(&self, id: &ItemId) -> Result<()> {
        let _reservation = self.reserve()?;
        let listing = self.list(id)?;
        if listing.is_living() {
            return self.check_states(id, &listing);
        }
        let used = self.read_used(id)?;
        let is_damaged = |part: &Run| {
            let label = Label::Part(*id, *part);
            let read = self.check_file(id, &part.part_name(), label);
            read.inspect_err(|error| tracing::warn!(%error, "a part of an item of stock is put aside"))
                .is_err()
        };
        let left = listing.parts.into_iter().filter(|part| !used.contains(*part));
        let damaged: Runs = left.filter(is_damaged).collect();
        if !damaged.is_empty() {
            self.record(id, &used.union(&damaged))?;
            self.tidy(id)?;
        }
        Ok(())
    }

    fn check_states(&self, id: &ItemId, listing: &Listing) -> Result<()> {
        listing.state_names().iter().try_for_each(|name| {
            let label = Label::State(*id, name);
            self.check_file(id, &format!("{STATE}{name}"), label)
        })
    }

    /// Reads a file of an item through, unless it was sound and is the same.
    fn check_file(&self, id: &ItemId, name: &str, label: Label<'_>) -> Result<()> {
        let (path, label) = (self.item_folder(id).join(name), label.bytes());
        let before = Mark::of(&path);
        let known = self.sound(|sound| sound.get(id).and_then(|files| files.get(name)).copied());
        if known.is_some() && known == before {
            return Ok(());
        }
        let mut reader = self.inner.seal.open(&path, &label)?;
        while reader.chunk()?.is_some() {}
        self.note_sound(id, name, before);
        Ok(())
    }

    /// Notes that a file of an item was written.
    pub(crate) fn note_written(&self, id: &ItemId, name: &str) {
        let mark = Mark::of(&self.item_folder(id).join(name));
        self.note_sound(id, name.strip_suffix(PROVISIONAL).unwrap_or(name), mark);
    }

    fn note_sound(&self, id: &ItemId, name: &str, mark: Option<Mark>) {
        let Some(mark) = mark else { return };
        self.sound(|sound| {
            let files = sound.entry(*id).or_default();
            files.insert(name.to_owned(), mark);
        });
    }

    /// Notes nothing of an item any more, which is gone.
    pub(crate) fn forget_sound(&self, id: &ItemId) {
        self.sound(|sound| drop(sound.remove(id)));
    }

    /// Has every file read again before it counts as sound: one was damaged, and nothing told of it.
    pub(crate) fn trust_nothing(&self) {
        self.sound(Sound::clear);
    }

    fn sound<T>(&self, with: impl FnOnce(&mut Sound) -> T) -> T {
        with(&mut self.inner.sound.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

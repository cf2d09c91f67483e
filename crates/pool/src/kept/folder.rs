//! What there is in the folder when a session begins, and what it tells of the peer.

use cenote_net::PartyId;
use cenote_session::Result;
use cenote_store::{Hold, Item, Living};

use super::identity::Held;
use super::journal::{JOURNAL, Journal, MOST_BYTES, TOLD};
use super::keep::Keep;

/// A pool that the session can use, if the peer has it too.
pub(super) struct Known<Sizes> {
    pub(super) item: Item,
    pub(super) living: Living,
    pub(super) sizes: Sizes,
    pub(super) journal: Journal,
}

/// What the journals of all pools with a peer tell of it, whatever the settings of each, and the notes of those that were being set up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    ends: u32,
    cheated: bool,
}

impl History {
    /// A journal begins with all that was known, so the one that tells of the most ends tells of all.
    fn add(&mut self, journal: &Journal) {
        let ends = journal.ends.saturating_add(journal.checking.into());
        self.ends = self.ends.max(ends);
        self.cheated |= journal.cheated;
    }

    /// Puts all that is known into a journal.
    pub(super) fn write_to(self, journal: &mut Journal) {
        (journal.ends, journal.cheated) = (self.ends, self.cheated);
    }

    /// The journal of an item that begins now.
    pub(super) fn journal(self) -> Journal {
        let mut journal = Journal::default();
        self.write_to(&mut journal);
        journal
    }
}

/// What there is in the folder.
pub(super) struct Found<Sizes> {
    /// The latest first.
    pub(super) known: Vec<Known<Sizes>>,
    /// What is of no use to any session, and may go once a journal has all of the history.
    pub(super) gone: Vec<Living>,
    /// The same of notes of pools that were being set up.
    pub(super) notes: Vec<Living>,
    pub(super) history: History,
}

impl<Sizes> Found<Sizes> {
    /// Of party `me`.
    pub(super) fn of<K: Keep<Sizes = Sizes>>(me: PartyId, keep: &K, hold: &Hold) -> Result<Self> {
        let mut found = Self {
            known: Vec::new(),
            gone: Vec::new(),
            notes: Vec::new(),
            history: History::default(),
        };
        for (item, living) in hold.living(me, K::PROTOCOL)? {
            let journal = living.read(JOURNAL, MOST_BYTES).ok();
            let Some(journal) = journal.and_then(|bytes| Journal::decode(&bytes)) else {
                tracing::warn!(pool = %item.id, "a pool's journal cannot be read; it is left as it is");
                continue;
            };
            found.history.add(&journal);
            let (identity, retired) = match Held::of(&item) {
                Some(Held::Pool(identity)) => (identity, journal.retired),
                Some(Held::Retired(identity)) => (identity, true),
                Some(Held::Setup) => {
                    found.notes.push(living);
                    continue;
                }
                None => {
                    tracing::info!(pool = %item.id, "a pool of another version of Cenote is given up");
                    found.gone.push(living);
                    continue;
                }
            };
            if !identity.is_for(keep.security(), keep.garbler()) {
                continue;
            }
            match identity.sizes(keep) {
                Some(sizes) if found.known.len() < TOLD && !retired => found.known.push(Known {
                    item,
                    living,
                    sizes,
                    journal,
                }),
                sizes => {
                    if sizes.is_none() {
                        tracing::info!(pool = %item.id, "a pool of other parameters is given up, with the circuits that were garbled over it");
                    }
                    found.gone.push(living);
                }
            }
        }
        Ok(found)
    }
}

//! A new pool.

use std::time::{SystemTime, UNIX_EPOCH};

use cenote_net::{Channel, PartyId};
use cenote_primitives::Entropy;
use cenote_session::Result;
use cenote_store::{Hold, Item, ItemId, Keys, Living};
use zeroize::Zeroizing;

use super::disk::KeptPool;
use super::folder::{Found, History};
use super::identity::{Held, Identity};
use super::journal::{JOURNAL, Journal};
use super::keep::Keep;
use super::opened::{Opened, Which};

/// Sets a pool up, and keeps it.
///
/// A peer that cheats while it is set up is caught by a check, or leaves when it sees that it will be: a try, as later ones are. So a note
/// that a check has begun is on the disk before. The note goes when the pool is there, whose journal begins with all that was known; else it stays,
/// and counts.
pub(super) fn create<K: Keep>(
    me: PartyId,
    channel: &mut dyn Channel,
    keep: &mut K,
    sizes: &K::Sizes,
    hold: Hold,
    found: &mut Found<K::Sizes>,
) -> Result<Opened<K::Sizes, K::Base>> {
    let history = found.history;
    let note = note(me, keep, &hold, history)?;
    // The new one tells of all that these do.
    found.notes.drain(..).try_for_each(|older| older.discard())?;
    let base = keep.establish(channel, sizes)?;
    let id = blake3::derive_key(
        "Cenote 2026 pool: the name of a kept pool",
        &K::coin(&base).to_bytes(),
    );
    let held = Held::Pool(Identity::new(keep, sizes));
    let item = Item {
        keys: Keys(K::encode(&base)),
        ..item(me, keep, ItemId(id), &held)
    };
    let journal = history.journal();
    let living = hold.create(&item, &[(JOURNAL, &[&journal.encode()])])?;
    note.discard()?;
    Ok(Opened {
        kept: KeptPool::new::<K>(living, journal, hold),
        base,
        sizes: sizes.clone(),
        which: Which::default(),
        copies: [None, None],
    })
}

/// Notes that a check begins for a pool that is not there yet.
fn note<K: Keep>(me: PartyId, keep: &K, hold: &Hold, history: History) -> Result<Living> {
    let journal = Journal {
        checking: true,
        ..history.journal()
    };
    let item = item(me, keep, ItemId(Entropy::os().bytes()), &Held::Setup);
    hold.create(&item, &[(JOURNAL, &[&journal.encode()])])
}

/// An item without keys.
fn item<K: Keep>(me: PartyId, keep: &K, id: ItemId, held: &Held) -> Item {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let role = match me == keep.garbler() {
        true => "garbler",
        false => "evaluator",
    };
    Item {
        id,
        protocol: K::PROTOCOL.into(),
        party: me,
        role: role.into(),
        settings: held.settings(),
        made: now.map_or(0, |since| since.as_millis() as u64),
        peers: Default::default(),
        keys: Keys(Zeroizing::default()),
    }
}

//! What lies on a shelf: it is counted whenever the shelf has been used, and what is of no use to anybody is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cenote::stock::{Inventory, ItemId, Stored};
use cenote_service::job::Digest;

use super::{Amount, SHELVES, Stock, Words};
use crate::locks::lock;
use crate::message::Lack;

/// In so long no more of a kind is dropped on others' word than there should be of it.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Why an item is dropped.
#[derive(Clone, Copy)]
enum Gone {
    /// It has less than a typical job takes.
    Spent,
    /// Others that must have it lack it.
    Lacked,
}

/// What others have said of what they lack.
struct Heard {
    /// To this party.
    words: BTreeMap<u8, Words>,
    /// To peers, by their word.
    there: BTreeMap<u8, BTreeSet<Lack>>,
}

/// Who lacks an item.
struct Lacked {
    by: BTreeSet<u8>,
    /// If that is a single party.
    alone: Option<Lack>,
    /// Whether this is certain enough for the item to be dropped.
    certain: bool,
}

impl Heard {
    /// Who lacks an item on a shelf that all of so many parties must have, of which `me` is one.
    fn of(&self, me: u8, parties: u8, shelf: u8, stored: &Stored) -> Lacked {
        let id = stored.item.id;
        let says = |party: &u8| self.words.get(party).is_some_and(|words| words.lacks(shelf, id));
        let peers = || (0..parties).filter(|party| *party != me);
        let noted = stored.lacked_by.iter().map(|party| party.0);
        let by: BTreeSet<u8> = peers().filter(says).chain(noted).collect();
        let alone = by.first().filter(|_| by.len() == 1);
        let item = Digest(id.0);
        let alone = alone.map(|by| Lack { shelf, item, by: *by });
        let says_it_of = |peer: u8, lack: Lack| {
            peer != lack.by && self.there.get(&peer).is_some_and(|lacks| lacks.contains(&lack))
        };
        let agreed = alone.is_some_and(|lack| peers().any(|peer| says_it_of(peer, lack)));
        let certain = agreed || peers().all(|party| says(&party));
        Lacked { by, alone, certain }
    }
}

impl Stock {
    /// Counts what is on a shelf that nobody else uses, and drops what nobody can use any more: items with less than a typical job
    /// takes, those that all others lack, and those of three parties that one lacks by the other's word too. On one of two peers' word alone nothing is
    /// dropped; on anybody's word no more in a day than there should be of a kind, and no pool, whose journal tells how often one was given up.
    pub(super) fn count(&self, shelf: u8) {
        let at = usize::from(shelf);
        let found = self.stores[at]
            .inventory()
            .inspect_err(|error| tracing::error!(shelf, %error, "a shelf of stock cannot be read"))
            .ok();
        let is_read = found.is_some();
        let Inventory { items, unusable } = found.unwrap_or_default();
        // One at a time, so that what another shelf drops counts here.
        let _turn = lock(&self.counting);
        let (heard, damaged, mut spent_today) = self.heard_of(shelf);
        // It may have been mended.
        let is_there = |id: &ItemId| items.iter().any(|stored| stored.item.id == *id);
        let damaged = self.damaged(shelf, damaged.into_iter().filter(is_there), None);
        let names = items.iter().map(|stored| stored.item.id);
        let names = names.chain(unusable.iter().map(|unusable| unusable.id));
        let mut held: BTreeMap<ItemId, u8> = names.map(|id| (id, 0)).collect();
        let (mut amounts, mut of_use, mut gone) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        let (mut lacks, mut stays) = (BTreeSet::new(), BTreeSet::new());
        for (target, (_, dropped)) in self.targets.iter().zip(&mut spent_today) {
            let mut amount = Amount::default();
            let (parties, served) = (target.kind.protocol().parties(), target.kind.runs(&items));
            for (stored, runs) in items.iter().zip(&served) {
                let (Some(runs), id) = (*runs, stored.item.id) else {
                    continue;
                };
                held.insert(id, parties);
                let lacked = heard.of(self.me, parties, shelf, stored);
                // What is dropped for it is told as well: the other party may not have dropped it yet.
                lacks.extend(lacked.alone);
                let item = Digest(id.0);
                stays.extend(lacked.by.iter().map(|by| Lack { shelf, item, by: *by }));
                let after = dropped.saturating_add(runs);
                let may_go = !stored.living && after <= target.share * u64::from(SHELVES);
                if runs == 0 {
                    gone.entry(id).or_insert(Gone::Spent);
                } else if lacked.certain && may_go {
                    *dropped = after;
                    gone.insert(id, Gone::Lacked);
                } else {
                    of_use.insert(id);
                    let usable = lacked.by.is_empty() && !damaged.contains(&id);
                    amount.add(runs, target.share, usable);
                }
            }
            amounts.push(amount);
        }
        gone.retain(|id, _| !of_use.contains(id));
        let dropped = self.drop_all(shelf, gone);
        held.retain(|id, _| !dropped.contains(id));
        stays.retain(|lack| !dropped.contains(&ItemId(lack.item.0)));
        let mut state = self.state();
        state.here[at] = amounts;
        state.damaged[at] = damaged;
        state.held[at] = is_read.then_some(held);
        state.dropped = spent_today;
        state.lacks.retain(|lack| lack.shelf != shelf);
        state.lacks.extend(lacks);
        state.stays.retain(|lack| lack.shelf != shelf);
        state.stays.extend(stays);
    }

    /// What others have said, what was found damaged on a shelf, and how much of each kind was dropped today and since when.
    fn heard_of(&self, shelf: u8) -> (Heard, BTreeSet<ItemId>, Vec<(Instant, u64)>) {
        let mut state = self.state();
        let heard = Heard {
            words: state.words.clone(),
            there: state.lacks_there.clone(),
        };
        state.news.remove(&shelf);
        let damaged = std::mem::take(&mut state.damaged[usize::from(shelf)]);
        let now = Instant::now();
        let today = |(since, runs): (Instant, u64)| match now.duration_since(since) < DAY {
            true => (since, runs),
            false => (now, 0),
        };
        let dropped = state.dropped.iter().copied().map(today).collect();
        (heard, damaged, dropped)
    }

    /// Drops items of a shelf, and tells how many for which reason. Those that are gone.
    fn drop_all(&self, shelf: u8, gone: BTreeMap<ItemId, Gone>) -> BTreeSet<ItemId> {
        let store = &self.stores[usize::from(shelf)];
        let (mut counts, mut dropped) = ([0; 2], BTreeSet::new());
        for (id, why) in gone {
            // A file that is called as an item is none of ours.
            let is_item = std::fs::symlink_metadata(store.path().join(id.to_string()));
            if !is_item.is_ok_and(|found| found.is_dir()) {
                continue;
            }
            match store.remove(&id) {
                Ok(()) => {
                    counts[why as usize] += 1;
                    dropped.insert(id);
                }
                Err(error) => {
                    tracing::warn!(shelf, %error, "an item of stock that is of no use cannot be deleted");
                }
            }
        }
        let [spent, lacked] = counts;
        if !dropped.is_empty() {
            tracing::info!(
                shelf,
                spent,
                lacked,
                "items of stock that are of no use were deleted"
            );
        }
        dropped
    }
}

//! Jobs that run from stock.
//!
//! The leader names the shelf when it begins a job. Before anything else the parties tell each other over the job's own channels which items on it
//! they can use: if all can use one, the job runs from stock, and if not, it makes its material in the same session. No job is run twice,
//! therefore, and what fails later fails for good. Before a party tells of an item it looks for damage, so that what its disk has lost costs no job.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use cenote::runner::Connections;
use cenote::stock::{ItemId, common};
use cenote::{PartyId, Prepared, Result};

use super::{SHELVES, Stock, Store, Stored};
use crate::compiled::Compiled;
use crate::queue::Wanted;

/// How long a job waits for a shelf that is still in use here.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the parties may take to tell what they have.
const CHOICE: Duration = Duration::from_secs(60);

/// A shelf that a job uses, until this is dropped.
pub(crate) struct ShelfGuard {
    stock: Arc<Stock>,
    pub(crate) shelf: u8,
}

impl Drop for ShelfGuard {
    fn drop(&mut self) {
        self.stock.put_back(self.shelf);
    }
}

impl Stock {
    /// The stock that would serve a job, if there is to be any.
    pub(crate) fn wanted(&self, compiled: &Compiled) -> Option<Wanted> {
        let ands = compiled.program()?.and_gates();
        let serves = |target: &super::Target| target.kind.protocol() == compiled.protocol();
        let kind = self.targets.iter().position(serves)?;
        (ands > 0 && ands >= self.targets[kind].least).then_some(Wanted { kind, ands })
    }

    /// The most bytes of memory that each party takes to run the job from stock, by party.
    pub(crate) fn memory_of(&self, wanted: Wanted, compiled: &Compiled) -> Vec<u64> {
        let of = |program| {
            let prepared = self.targets[wanted.kind].kind.prepare(program).ok()?;
            let parties = 0..compiled.parties();
            Some(
                parties
                    .map(|party| prepared.job_bytes(program, PartyId(party)))
                    .collect(),
            )
        };
        compiled.program().and_then(of).unwrap_or_default()
    }

    /// Looks for damage in these items of a shelf that nobody else uses, until a moment if there is one: what was not looked at by then counts as sound.
    /// What is damaged as a whole; damaged parts are put aside.
    pub(super) fn damaged(
        &self,
        shelf: u8,
        items: impl Iterator<Item = ItemId>,
        until: Option<Instant>,
    ) -> BTreeSet<ItemId> {
        let Some(store) = self.stores.get(usize::from(shelf)) else {
            return BTreeSet::new();
        };
        let is_damaged = |id: &ItemId| {
            let aside = store.put_damage_aside(id);
            aside
                .inspect_err(|error| tracing::warn!(shelf, %error, "an item of stock is not used"))
                .is_err()
        };
        let in_time = |_: &ItemId| until.is_none_or(|until| Instant::now() < until);
        items.take_while(in_time).filter(is_damaged).collect()
    }

    /// The free shelf with the most of what a job takes, by all parties' word.
    fn choose(&self, me: u8, wanted: Wanted) -> Option<u8> {
        let mut state = self.state();
        let job = self.targets[wanted.kind].kind.job();
        let free = (0..self.stores.len() as u8).filter(|shelf| !state.busy[usize::from(*shelf)]);
        let usable = free.map(|shelf| (self.usable(&state, me, shelf, wanted.kind), shelf));
        let fitting = usable.filter(|((_, largest), _)| largest.saturating_mul(job) >= wanted.ands);
        let (_, shelf) = fitting.max_by_key(|((runs, _), shelf)| (*runs, SHELVES - shelf))?;
        state.busy[usize::from(shelf)] = true;
        Some(shelf)
    }

    /// Takes a shelf as soon as it is free, within a while.
    fn take(&self, shelf: u8) -> bool {
        if usize::from(shelf) >= self.stores.len() {
            return false;
        }
        let until = Instant::now() + PATIENCE;
        let mut state = self.state();
        while state.busy[usize::from(shelf)] {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.moved.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.busy[usize::from(shelf)] = true;
        true
    }
}

impl Stock {
    /// Chooses the shelf of a job that the leader begins, if one serves it.
    pub(crate) fn choose_shelf(self: &Arc<Self>, wanted: Option<Wanted>) -> Option<ShelfGuard> {
        let shelf = self.choose(self.me, wanted?)?;
        let stock = Arc::clone(self);
        Some(ShelfGuard { stock, shelf })
    }

    /// Takes the shelf that the leader names, unless it does not come free or there is no such.
    pub(crate) fn take_shelf(self: &Arc<Self>, shelf: u8) -> Option<ShelfGuard> {
        self.take(shelf).then(|| ShelfGuard {
            stock: Arc::clone(self),
            shelf,
        })
    }

    /// Agrees with the others whether a job runs from stock, of which the leader has named a shelf. The parameters and the stock, if it does.
    pub(crate) fn agree_on_stock(
        &self,
        connections: &mut Connections,
        on_shelf: Option<&ShelfGuard>,
        compiled: &Compiled,
    ) -> Result<Option<(Prepared, Store)>> {
        let found = on_shelf.and_then(|on_shelf| self.look_on_shelf(on_shelf.shelf, compiled));
        let items = found.as_ref().map_or(&[][..], |(_, _, items)| items);
        let phases = connections.phases(self.phase_timeout.unwrap_or(CHOICE));
        phases.begin("the choice of stock");
        let common = common(connections, items)?;
        let suffices = |prepared: &Prepared| {
            let of = |program| common.iter().any(|stored| prepared.suffices(program, stored));
            compiled.program().is_some_and(of)
        };
        let found = found.filter(|(prepared, ..)| suffices(prepared));
        let Some((prepared, store, _)) = found else {
            tracing::info!("the stock does not serve a job: it makes its own material");
            return Ok(None);
        };
        self.monitor.took_stock();
        Ok(Some((prepared, store)))
    }

    /// What on a shelf serves a job, and with which parameters.
    fn look_on_shelf(&self, shelf: u8, compiled: &Compiled) -> Option<(Prepared, Store, Vec<Stored>)> {
        let stock = self;
        let (wanted, program) = (stock.wanted(compiled)?, compiled.program()?);
        let kind = &stock.targets[wanted.kind].kind;
        let store = stock.stores.get(usize::from(shelf))?;
        // What is used is recorded first, and that takes room.
        if stock.room() < stock.margin / 2 {
            return None;
        }
        let looked = kind.prepare(program).and_then(|prepared| {
            let serving = || -> Result<Vec<Stored>> {
                let mut items = store.inventory()?.items;
                items.retain(|stored| stored.lacked_by.is_empty() && prepared.suffices(program, stored));
                Ok(items)
            };
            // The others wait for the choice meanwhile.
            let until = Instant::now() + self.phase_timeout.unwrap_or(CHOICE) / 3;
            let ids = serving()?.into_iter().map(|stored| stored.item.id);
            let damaged = stock.damaged(shelf, ids, Some(until));
            let mut items = serving()?;
            items.retain(|stored| !damaged.contains(&stored.item.id));
            stock.state().damaged[usize::from(shelf)].extend(damaged);
            Ok((prepared, store.clone(), items))
        });
        looked
            .inspect_err(|error| tracing::warn!(shelf, %error, "a shelf of stock cannot be used"))
            .ok()
    }
}

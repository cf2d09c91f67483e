//! Stock of a service: what is on its shelves here and at the peers, and who uses which.
//!
//! One session at a time can use a folder of stock. So that jobs run side by side, there are several, *shelves*, the same number at all parties: a job or
//! a making takes the shelf of the same number at each. What is on a shelf is counted in runs of a typical job ([`StockKind`]).

mod counting;
mod making;
mod orphans;
mod pace;
#[cfg(test)]
#[path = "tests/stock/mod.rs"]
mod services;
mod using;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote::StockTarget;
use cenote::stock::{ItemId, StockKind, Store, Stored, shelves};
use cenote_service::job::Digest;
use cenote_service::live::{self, AlarmKind, Happened};

use crate::locks::lock;
use crate::message::{LACKS, Lack, Level, Message, SHELVES};
use crate::monitor::Monitor;
use crate::peers::Peers;
use crate::scheduler::Scheduler;
use crate::settings::Settings;
use crate::unsettled::AgainstPeers;

pub(crate) use making::keep;
use orphans::Words;
use pace::Pace;
pub(crate) use using::ShelfGuard;

/// Stock that is to be kept.
pub(crate) struct Target {
    kind: StockKind,
    digest: Digest,
    /// Runs that a shelf should have.
    share: u64,
    /// Jobs of fewer AND gates make their own material.
    least: u64,
}

/// The stock of a service.
pub(crate) struct Stock {
    me: u8,
    targets: Vec<Target>,
    stores: Vec<Store>,
    margin: u64,
    state: Mutex<State>,
    moved: Condvar,
    /// Held while a shelf is counted.
    counting: Mutex<()>,
    phase_timeout: Option<Duration>,
    monitor: Arc<Monitor>,
    peers: Arc<Peers>,
    scheduler: Arc<Scheduler>,
    against: Arc<AgainstPeers>,
}

struct State {
    busy: Vec<bool>,
    /// What is here, by shelf and kind.
    here: Vec<Vec<Amount>>,
    /// What is at peers, by their word.
    there: BTreeMap<u8, BTreeMap<(u8, Digest), Level>>,
    /// All that lies on each shelf, by name, with the number of parties that must have it, if it is of a kind that is to be kept; nothing of a
    /// shelf that cannot be read. Of a shelf that is not in use this is so.
    held: Vec<Option<BTreeMap<ItemId, u8>>>,
    /// Of each kind, how many runs were dropped on others' word since when.
    dropped: Vec<(Instant, u64)>,
    /// What peers have said that they lack of it since they are here.
    words: BTreeMap<u8, Words>,
    /// Items that were here when their shelf was last counted and that a single party lacks, by its word.
    lacks: BTreeSet<Lack>,
    /// The same of peers.
    lacks_there: BTreeMap<u8, BTreeSet<Lack>>,
    /// What still lies on a shelf though a party lacks it.
    stays: BTreeSet<Lack>,
    /// Shelves of which something was said since they were counted.
    news: BTreeSet<u8>,
    /// Items of each shelf that are damaged as a whole.
    damaged: Vec<BTreeSet<ItemId>>,
    making: Option<making::Making>,
    /// How the making of each kind goes.
    pace: Vec<Pace>,
}

/// What is on a shelf of a kind, in runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amount {
    /// What jobs can use.
    runs: u64,
    /// The most that one item has.
    largest: u64,
    /// All that is on the disk.
    bulk: u64,
}

impl Stock {
    /// Opens the shelves of a service that is to keep stock.
    pub(crate) fn open(
        service: &Settings,
        monitor: &Arc<Monitor>,
        peers: &Arc<Peers>,
        scheduler: &Arc<Scheduler>,
        against: &Arc<AgainstPeers>,
    ) -> cenote::Result<Self> {
        let (me, settings) = (service.me, &service.stock);
        let stores = match settings.targets.is_empty() {
            true => Vec::new(),
            false => shelves(&settings.folder, &settings.key, SHELVES, &settings.peers)?,
        };
        let target = |target: &StockTarget| Target {
            digest: Digest(target.kind.digest()),
            share: target.ands.div_ceil(target.kind.job()).div_ceil(SHELVES.into()),
            least: target.least,
            kind: target.kind.clone(),
        };
        let targets: Vec<Target> = settings.targets.iter().map(target).collect();
        let count = targets.len();
        let shelves = Stock {
            me,
            stores,
            margin: settings.margin,
            state: Mutex::new(State {
                busy: vec![false; SHELVES.into()],
                here: vec![vec![Amount::default(); count]; SHELVES.into()],
                there: BTreeMap::new(),
                held: vec![None; SHELVES.into()],
                dropped: vec![(Instant::now(), 0); targets.len()],
                words: BTreeMap::new(),
                lacks: BTreeSet::new(),
                lacks_there: BTreeMap::new(),
                stays: BTreeSet::new(),
                news: BTreeSet::new(),
                damaged: vec![BTreeSet::new(); SHELVES.into()],
                making: None,
                pace: vec![Pace::default(); count],
            }),
            moved: Condvar::new(),
            counting: Mutex::default(),
            targets,
            phase_timeout: service.phase_timeout,
            monitor: Arc::clone(monitor),
            peers: Arc::clone(peers),
            scheduler: Arc::clone(scheduler),
            against: Arc::clone(against),
        };
        (0..shelves.stores.len() as u8).for_each(|shelf| shelves.count(shelf));
        Ok(shelves)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits for a change, at most so long.
    fn rest(&self, limit: Duration) {
        let state = self.state();
        drop(
            self.moved
                .wait_timeout(state, limit)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn find(&self, digest: Digest) -> Option<usize> {
        self.targets.iter().position(|target| target.digest == digest)
    }

    /// Takes a free shelf of which something was said since it was counted.
    fn take_news(&self) -> Option<u8> {
        let mut state = self.state();
        let mut news = state.news.iter().copied();
        let shelf = news.find(|shelf| !state.busy[usize::from(*shelf)])?;
        state.busy[usize::from(shelf)] = true;
        Some(shelf)
    }

    /// What is on a shelf here, for peers.
    fn level(&self, state: &State, shelf: u8, kind: usize) -> Level {
        let amount = state.here[usize::from(shelf)][kind];
        Level {
            shelf,
            stock: self.targets[kind].digest,
            runs: amount.runs,
            largest: amount.largest,
        }
    }

    /// All that is here, for peers.
    fn levels(&self, state: &State) -> (Vec<Level>, Vec<Lack>) {
        let of = |shelf| (0..self.targets.len()).map(move |kind| (shelf, kind));
        let all = (0..self.stores.len() as u8).flat_map(of);
        let levels = all.map(|(shelf, kind)| self.level(state, shelf, kind));
        (levels.collect(), state.lacks_of(|_| true))
    }

    /// What jobs can use of a shelf by the word of all: runs, and those of the largest item.
    fn usable(&self, state: &State, me: u8, shelf: u8, kind: usize) -> (u64, u64) {
        let target = &self.targets[kind];
        let peers = (0..target.kind.protocol().parties()).filter(|party| *party != me);
        let own = self.level(state, shelf, kind);
        let told = peers.map(|peer| {
            let levels = state.there.get(&peer)?;
            let level = levels.get(&(shelf, target.digest))?;
            Some((level.runs, level.largest))
        });
        told.fold((own.runs, own.largest), |(runs, largest), told| {
            let told = told.unwrap_or_default();
            (runs.min(told.0), largest.min(told.1))
        })
    }

    /// Whether all peers have said what is on a shelf since stock was last made for it.
    fn is_known(&self, state: &State, me: u8, shelf: u8, kind: usize) -> bool {
        let target = &self.targets[kind];
        let mut peers = (0..target.kind.protocol().parties()).filter(|party| *party != me);
        let told = |levels: &BTreeMap<_, _>| levels.contains_key(&(shelf, target.digest));
        peers.all(|peer| state.there.get(&peer).is_some_and(told))
    }

    /// What jobs can use of a kind, and what there should be, in runs.
    fn stands(&self, state: &State, me: u8, kind: usize) -> (u64, u64) {
        let share = self.targets[kind].share;
        let runs = (0..SHELVES).map(|shelf| self.usable(state, me, shelf, kind).0.min(share));
        (runs.sum(), share.saturating_mul(SHELVES.into()))
    }
}

impl State {
    /// What a single party lacks of what is on these shelves, for peers.
    fn lacks_of(&self, is_meant: impl Fn(u8) -> bool) -> Vec<Lack> {
        let lacks = self.lacks.iter().filter(|lack| is_meant(lack.shelf));
        lacks.take(LACKS).copied().collect()
    }
}

impl Amount {
    /// With an item that serves so many runs, or any number: then as many as there should be.
    fn add(&mut self, runs: u64, share: u64, usable: bool) {
        let counted = if runs == u64::MAX { share } else { runs };
        self.bulk = self.bulk.saturating_add(counted);
        if usable {
            self.runs = self.runs.saturating_add(counted);
            self.largest = self.largest.max(runs);
        }
    }
}

impl Stock {
    /// The stock as it is shown.
    pub(crate) fn show_stock(&self) -> Vec<live::Stock> {
        let (stock, state) = (self, self.state());
        let targets = stock.targets.iter().enumerate();
        targets
            .map(|(kind, target)| {
                let (runs, all) = stock.stands(&state, self.me, kind);
                let job = target.kind.job();
                live::Stock {
                    protocol: target.kind.protocol().name().into(),
                    kind: format!(
                        "AND gates, for jobs of about {job}, {}",
                        target.kind.protocol().describe()
                    ),
                    amount: runs.saturating_mul(job),
                    target: all.saturating_mul(job),
                    making: state.making.as_ref().is_some_and(|making| making.kind == kind),
                }
            })
            .collect()
    }

    /// Tells a peer what is on all shelves here.
    pub(crate) fn tell_levels(&self, to: u8) {
        // While it is held, what is told does not come after what is newer.
        let state = self.state();
        let (levels, lacks) = self.levels(&state);
        if !levels.is_empty() {
            self.peers.tell(to, &Message::Levels { levels, lacks });
        }
    }

    /// A peer says what is on its shelves. What this party has no target for is of no interest.
    pub(crate) fn hear_levels(&self, from: u8, levels: Vec<Level>, lacks: Vec<Lack>) {
        let told = levels.iter().map(|level| level.shelf);
        let told: BTreeSet<u8> = told.filter(|shelf| *shelf < SHELVES).collect();
        let mut guard = self.state();
        let state = &mut *guard;
        let lacking = state.lacks_there.entry(from).or_default();
        let before = lacking.clone();
        lacking.retain(|lack| !told.contains(&lack.shelf));
        let room = LACKS.saturating_sub(lacking.len());
        let of_shelves = lacks.into_iter().filter(|lack| told.contains(&lack.shelf));
        lacking.extend(of_shelves.take(room));
        // Of a shelf that is in use it is not known yet what this party knows when it is counted.
        let matters = |lack: &&Lack| state.lacks.contains(lack) || state.busy[usize::from(lack.shelf)];
        let news = lacking.difference(&before).filter(matters);
        state.news.extend(news.map(|lack| lack.shelf));
        let there = state.there.entry(from).or_default();
        for level in levels {
            if level.shelf < SHELVES && self.find(level.stock).is_some() {
                there.insert((level.shelf, level.stock), level);
            }
        }
        drop(guard);
        self.moved.notify_all();
        self.monitor.tell(&Happened::Stock);
    }

    /// A shelf is free again.
    fn put_back(&self, shelf: u8) {
        self.count(shelf);
        let mut state = self.state();
        state.busy[usize::from(shelf)] = false;
        let kinds = 0..self.targets.len();
        let levels = kinds.map(|kind| self.level(&state, shelf, kind)).collect();
        let lacks = state.lacks_of(|of| of == shelf);
        // Peers hear of it in this order, whoever takes the shelf next.
        self.peers
            .tell_all(self.peers.count(), &Message::Levels { levels, lacks });
        drop(state);
        self.moved.notify_all();
        self.monitor.tell(&Happened::Stock);
    }

    /// Asks what peers lack of the stock, and raises alarms of stock that has been low for long.
    pub(crate) fn look_at_stock(&self) {
        let now = Instant::now();
        self.look_for_orphans(now);
        for (kind, target) in self.targets.iter().enumerate() {
            let key = target.digest.to_string();
            let (runs, all, low) = {
                let mut state = self.state();
                let (runs, all) = self.stands(&state, self.me, kind);
                (runs, all, state.pace[kind].is_low(runs, all, now))
            };
            let name = target.kind.protocol().describe();
            if low {
                self.monitor.alarm(
                    AlarmKind::StockLow,
                    &key,
                    format!(
                        "Stock for protocol {name} has been low for a minute: {} AND gates of {}.",
                        runs.saturating_mul(target.kind.job()),
                        all.saturating_mul(target.kind.job())
                    ),
                    "See that all parties are there, have the same table of stock in their party files and room on their disks; while jobs \
                     leave no pause, nothing is made. Jobs run all the same, more slowly.",
                );
            } else if runs >= all / 2 {
                self.monitor.end_alarm(AlarmKind::StockLow, &key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_for_any_number_of_jobs_fills_its_shelf() {
        let mut amount = Amount::default();
        amount.add(3, 10, true);
        amount.add(5, 10, false);
        assert_eq!((amount.runs, amount.largest, amount.bulk), (3, 3, 8));
        amount.add(u64::MAX, 10, true);
        assert_eq!((amount.runs, amount.largest, amount.bulk), (13, u64::MAX, 18));
    }
}

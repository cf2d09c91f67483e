//! The making of stock in the background, in pieces of about a second.
//!
//! The leader proposes a piece when no job runs or waits. A peer agrees if it wants such stock itself and has little enough on that shelf, so that nobody
//! fills its disk, and has memory, a free shelf, and room on the disk. Once all have agreed the leader gives the word. After a check that
//! failed no more of that stock is made, so that a cheater has one try.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use cenote::PartyId;
use cenote::Patience;
use cenote_service::job::{Digest, FailKind, JobId, Tried};
use cenote_service::live::{AlarmKind, Happened};

use super::{SHELVES, Stock};
use crate::failure::{self, Fault};
use crate::message::LEADER;
use crate::message::Message;
use crate::running_job::RunningJob;

/// How often it is looked whether something is to be made.
const LOOK: Duration = Duration::from_millis(250);
/// How long peers may take to answer, and the leader to give the word.
const ANSWER: Duration = Duration::from_secs(5);
const WORD: Duration = Duration::from_secs(15);
/// How long the parties of a making wait for each other.
const MEET: Duration = Duration::from_secs(10);
/// How long a phase of a making may take, besides its traffic at this many bytes per second.
const PHASE: Duration = Duration::from_secs(60);
const LEAST_RATE: u64 = 250_000;
/// After how many cuts there is an alarm.
const MANY: u32 = 8;
/// How much lower than that of jobs the priority of the making is, as the system counts.
const NICE: i32 = 10;

/// Stock that is being made, or is about to.
pub(super) struct Making {
    order: Order,
    pub(super) kind: usize,
    stage: Stage,
    /// Bytes of memory that it takes.
    memory: u64,
    pub(super) until: Instant,
}

/// What is made.
#[derive(Clone)]
struct Order {
    /// Its name, which no other has.
    run: JobId,
    shelf: u8,
    runs: u64,
    running: Arc<RunningJob>,
}

enum Stage {
    /// The leader has asked these, who have not answered.
    Asked(BTreeSet<u8>),
    /// This party has agreed.
    Agreed,
    /// The word was given.
    Given,
    /// It is over.
    Off,
    /// It is being made.
    Runs,
}

/// Keeps the stock of a service full, and counts again what others have said something of, until the service ends.
pub(crate) fn keep(stock: &Weak<Stock>) {
    // Only its own machine knows; without it jobs are slower while stock is made.
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "stock is made at the priority of jobs");
    }
    while let Some(stock) = stock.upgrade() {
        // Before it is looked whether the service ends: its end waits for what was begun before.
        let guard = stock.scheduler.guard_run();
        if stock.scheduler.is_stopping() || stock.targets.is_empty() {
            return;
        }
        let step = AssertUnwindSafe(|| {
            if let Some(shelf) = stock.take_news() {
                stock.put_back(shelf);
            }
            let next = match stock.me {
                LEADER => stock.propose_making(),
                _ => stock.given(),
            };
            match next {
                Some((kind, order)) => stock.carry_out(kind, order),
                None => {
                    drop(guard);
                    stock.rest(LOOK);
                }
            }
        });
        if catch_unwind(step).is_err() {
            tracing::error!("the making of stock failed; the log says where");
            if catch_unwind(AssertUnwindSafe(|| stock.clear_making())).is_err() {
                tracing::error!("a shelf of stock is not used any more: its state is not known");
            }
            drop(stock);
            std::thread::sleep(ANSWER);
        }
    }
}

impl Stock {
    /// Bytes that are free on the disk of the shelves.
    pub(super) fn room(&self) -> u64 {
        let Some(store) = self.stores.first() else {
            return 0;
        };
        let room = rustix::fs::statvfs(store.path());
        room.map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize))
    }

    /// What the leader should have made next: a kind, a shelf, and how many runs.
    fn next(&self, me: u8) -> Option<(usize, u8, u64)> {
        let mut state = self.state();
        for (kind, target) in self.targets.iter().enumerate() {
            let (runs, all) = self.stands(&state, me, kind);
            let pace = &mut state.pace[kind];
            pace.filling = runs < all && (pace.filling || runs < all - all / 4);
            if !pace.filling || pace.may_begin().is_err() {
                continue;
            }
            let piece = pace.piece.max(1);
            let shelves = (0..SHELVES)
                .filter(|shelf| !state.busy[usize::from(*shelf)] && self.is_known(&state, me, *shelf, kind));
            let lacking = shelves.map(|shelf| (self.usable(&state, me, shelf, kind).0, shelf));
            let fits = |runs: u64, shelf: u8| {
                runs < target.share
                    && self.has_place(
                        state.here[usize::from(shelf)][kind].bulk,
                        kind,
                        target.share - runs,
                    )
            };
            let least = lacking.filter(|(runs, shelf)| fits(*runs, *shelf)).min();
            if let Some((runs, shelf)) = least {
                return Some((kind, shelf, piece.min(target.share - runs)));
            }
        }
        None
    }

    /// Whether so many more runs may lie on a shelf that has some. As much again as there should be may be of no use.
    fn has_place(&self, bulk: u64, kind: usize, runs: u64) -> bool {
        bulk.saturating_add(runs) <= self.targets[kind].share.saturating_mul(2)
    }

    /// What this party is to make now, by the leader's word. What it waited for too long for is off.
    fn given(&self) -> Option<(usize, Order)> {
        let mut state = self.state();
        let making = state.making.as_mut()?;
        match making.stage {
            Stage::Given => {
                making.stage = Stage::Runs;
                Some((making.kind, making.order.clone()))
            }
            Stage::Agreed if making.until > Instant::now() => None,
            Stage::Runs | Stage::Asked(_) => None,
            Stage::Agreed | Stage::Off => {
                drop(state);
                self.clear_making();
                None
            }
        }
    }

    /// Moves on what is about to be made under this name.
    fn answer(&self, run: JobId, change: impl FnOnce(&mut Stage)) {
        if let Some(making) = self
            .state()
            .making
            .as_mut()
            .filter(|making| making.order.run == run)
        {
            change(&mut making.stage);
        }
        self.moved.notify_all();
    }
}

impl Stock {
    /// Asks the peers to make a piece, if one is wanted and nothing else is to be done. What all have agreed to.
    fn propose_making(&self) -> Option<(usize, Order)> {
        let there = |party: u8| self.peers.get(party).is_none_or(|peer| peer.known().is_with_us());
        if !self.scheduler.queue().is_idle(there) {
            return None;
        }
        let (kind, shelf, runs) = self.next(self.me)?;
        let parties = self.targets[kind].kind.protocol().parties();
        let peers = (0..parties).filter(|party| *party != self.me);
        if !peers.clone().all(there) {
            return None;
        }
        let run = JobId::of(self.me, cenote_service::random().ok()?);
        if let Err(why) = self.reserve(run, kind, shelf, runs, Stage::Asked(peers.collect()), ANSWER) {
            tracing::debug!(why, "no stock is made");
            self.state().pace[kind].declined();
            return None;
        }
        let stock = self.targets[kind].digest;
        self.peers.tell_all(
            parties,
            &Message::Make {
                run,
                stock,
                shelf,
                runs,
            },
        );
        let agreed = self.wait_for_answers(run);
        if let Some(order) = agreed.filter(|_| self.against.caught_among(parties).is_none()) {
            self.peers.tell_all(parties, &Message::Go { run });
            return Some((kind, order));
        }
        self.peers.tell_all(parties, &Message::Unready { run });
        self.state().pace[kind].declined();
        self.clear_making();
        None
    }

    /// What all peers have agreed to within a while, which is made from here on. What they have on that shelf they say again when it is over.
    fn wait_for_answers(&self, run: JobId) -> Option<Order> {
        let mut guard = self.state();
        loop {
            let state = &mut *guard;
            let making = state.making.as_mut().filter(|making| making.order.run == run)?;
            let left = making.until.saturating_duration_since(Instant::now());
            match &making.stage {
                Stage::Asked(missing) if missing.is_empty() => {
                    making.stage = Stage::Runs;
                    let (order, stock) = (making.order.clone(), self.targets[making.kind].digest);
                    for levels in state.there.values_mut() {
                        levels.remove(&(order.shelf, stock));
                    }
                    return Some(order);
                }
                Stage::Asked(_) if !left.is_zero() && !self.scheduler.is_stopping() => {}
                _ => return None,
            }
            let waited = self.moved.wait_timeout(guard, left.min(LOOK));
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes what a making takes here, if it can be had.
    fn reserve(
        &self,
        run: JobId,
        kind: usize,
        shelf: u8,
        runs: u64,
        stage: Stage,
        limit: Duration,
    ) -> Result<(), String> {
        let stock = self;
        let target = &stock.targets[kind];
        let of_order = |error: cenote::Error| error.to_string();
        let bytes = target.kind.traffic_bytes(runs).map_err(of_order)?;
        if stock.room() < stock.margin.saturating_add(bytes) {
            self.monitor.alarm(
                AlarmKind::Disk,
                "stock",
                "The disk is nearly full: no stock is made.".into(),
                "Make room on the disk of the stock folder. Jobs run all the same, more slowly.",
            );
            return Err("the disk is nearly full".into());
        }
        self.monitor.end_alarm(AlarmKind::Disk, "stock");
        let memory = target
            .kind
            .memory_bytes(runs, PartyId(self.me))
            .map_err(of_order)?;
        let parties = target.kind.protocol().parties();
        if let Some(caught) = self.against.caught_among(parties) {
            return Err(caught);
        }
        let mut state = stock.state();
        state.pace[kind].may_begin()?;
        if state.making.is_some() || state.busy[usize::from(shelf)] {
            return Err("the shelf is in use".into());
        }
        if !self.scheduler.queue().reserve(memory) {
            return Err("there is no memory for it".into());
        }
        state.busy[usize::from(shelf)] = true;
        state.making = Some(Making {
            order: Order {
                run,
                shelf,
                runs,
                running: Arc::new(RunningJob::new(run, parties, None)),
            },
            kind,
            stage,
            memory,
            until: Instant::now() + limit,
        });
        Ok(())
    }

    /// Nothing is made any more: what it took is free. That a piece was not begun the leader hears before what is on that shelf: either it does not
    /// begin it, or it has forgotten the shelf by then.
    pub(super) fn clear_making(&self) {
        let Some(making) = self.state().making.take() else {
            return;
        };
        self.scheduler.queue().release(making.memory);
        self.scheduler.start_ready();
        if self.me != LEADER && !matches!(making.stage, Stage::Runs) {
            let run = making.order.run;
            self.peers.tell(LEADER, &Message::Unready { run });
        }
        self.put_back(making.order.shelf);
    }

    /// The leader proposes that stock be made.
    pub(crate) fn hear_make(&self, from: u8, run: JobId, stock: Digest, shelf: u8, runs: u64) {
        let is_wanted = |kind: &usize| {
            let has_place = |bulk| self.has_place(bulk, *kind, runs);
            let place = from == LEADER && shelf < SHELVES && runs > 0;
            place && has_place(self.state().here[usize::from(shelf)][*kind].bulk)
        };
        let agreed = match self.find(stock).filter(is_wanted) {
            Some(kind) => self.reserve(run, kind, shelf, runs, Stage::Agreed, WORD),
            None => {
                self.monitor.refused(from);
                Err("it is not wanted, or there is enough of it".into())
            }
        };
        let answer = match agreed {
            Ok(()) => Message::Ready { run },
            Err(why) => {
                tracing::debug!(from, why, "stock is not made");
                Message::Unready { run }
            }
        };
        self.peers.tell(from, &answer);
    }

    /// A peer agrees to make stock.
    pub(crate) fn hear_ready(&self, from: u8, run: JobId) {
        self.answer(run, |stage| {
            if let Stage::Asked(missing) = stage {
                missing.remove(&from);
            }
        });
    }

    /// A peer does not, or not any more, or the leader takes it back.
    pub(crate) fn hear_unready(&self, from: u8, run: JobId) {
        self.answer(run, |stage| match stage {
            Stage::Asked(_) => *stage = Stage::Off,
            Stage::Agreed if from == LEADER => *stage = Stage::Off,
            _ => {}
        });
    }

    /// The leader says that all have agreed.
    pub(crate) fn hear_go(&self, from: u8, run: JobId) {
        self.answer(run, |stage| {
            if from == LEADER && matches!(stage, Stage::Agreed) {
                *stage = Stage::Given;
            }
        });
    }

    /// A peer is gone, and with it what it makes and has.
    pub(crate) fn lose_stock(&self, peer: u8) {
        let mut state = self.state();
        state.there.remove(&peer);
        state.lacks_there.remove(&peer);
        state.words.remove(&peer);
        if let Some(making) = state
            .making
            .as_mut()
            .filter(|making| peer < making.order.running.parties)
        {
            match making.stage {
                Stage::Asked(_) | Stage::Agreed => making.stage = Stage::Off,
                Stage::Given | Stage::Runs | Stage::Off => {}
            }
            let reason = format!("the connection to party {peer} was lost");
            making.order.running.stop(FailKind::PeerLost, reason);
        }
        drop(state);
        self.moved.notify_all();
    }

    /// Ends what is being made.
    pub(crate) fn stop_making(&self) {
        if let Some(making) = &self.state().making {
            let running = &making.order.running;
            running.stop(FailKind::Restarted, "the service was stopped");
        }
        self.moved.notify_all();
    }

    /// Makes what all have agreed on.
    fn carry_out(self: &Arc<Self>, kind: usize, order: Order) {
        self.monitor.tell(&Happened::Stock);
        let start = Instant::now();
        let made = catch_unwind(AssertUnwindSafe(|| self.make_piece(kind, &order)));
        let took = start.elapsed();
        let mut state = self.state();
        let pace = &mut state.pace[kind];
        match &made {
            Ok(Ok(())) => pace.made(order.runs, took),
            Ok(Err(error)) if failure::kind(error) == FailKind::Refused => pace.declined(),
            _ => pace.cut(),
        }
        let cuts = pace.cuts;
        drop(state);
        match made {
            Ok(Ok(())) => tracing::debug!(runs = order.runs, ?took, "stock was made"),
            Ok(Err(error)) => self.making_failed(kind, &order, &error, cuts),
            Err(_) => tracing::error!("the making of stock failed; the log says where"),
        }
        self.clear_making();
    }

    fn make_piece(&self, kind: usize, order: &Order) -> cenote::Result<()> {
        let kind = &self.targets[kind].kind;
        let Some(wires) = self.peers.wires.get() else {
            return Err(cenote::Error::Usage("there are no connections".into()));
        };
        let session = format!("stock {}", order.run);
        let connections =
            wires.connections(&kind.protocol().topology(), &session, MEET, &Patience::default())?;
        let connections = order.running.hold(connections);
        // It may have come on record since all have agreed.
        if let Some(caught) = self.against.caught_among(order.running.parties) {
            return Err(cenote::Error::Usage(caught));
        }
        let traffic = Duration::from_secs(kind.traffic_bytes(order.runs)? / LEAST_RATE);
        let limit = self.phase_timeout.unwrap_or(PHASE + traffic);
        let store = &self.stores[usize::from(order.shelf)];
        let me = PartyId(self.me);
        kind.make(order.runs, me, connections, &session, limit, store)?;
        Ok(())
    }

    fn making_failed(&self, kind: usize, order: &Order, error: &cenote::Error, cuts: u32) {
        let name = self.targets[kind].kind.protocol().describe();
        if failure::kind(error) != FailKind::Cheating {
            let shelf = order.shelf;
            tracing::warn!(shelf, %error, "stock for protocol {name} could not be made; it is tried again");
            if cuts >= MANY {
                self.monitor.alarm(
                    AlarmKind::StockLow,
                    &format!("cuts {name}"),
                    format!("The making of stock for protocol {name} was cut off {cuts} times, the last time because: {error}."),
                    "See what is wrong with the peers or the network. If nothing is, a peer may be trying to cheat.",
                );
            }
            return;
        }
        let fault = Fault::of(error);
        self.against
            .note_check(Tried::Stock(order.run), order.running.parties, &fault);
        let who = match fault.cheater {
            Some(party) => format!("party {party} ({})", self.peers.name(party)),
            None => "a party".to_owned(),
        };
        self.monitor.alarm(
            AlarmKind::Cheating,
            &format!("stock {who}"),
            format!("In making stock for protocol {name} {who} deviated from the protocol: {error}."),
            "Nothing was revealed, and no stock is made with them before `cenote peer settle`. Find out with the others what happened.",
        );
    }
}

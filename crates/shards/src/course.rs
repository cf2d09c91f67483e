//! The job while it runs: one thread sees to all that is heard, word by word, and everything follows from that.
//!
//! Per attempt: the leader hands it out ([`Word::Start`]) once every party has a free worker. Each party records it and has a worker listen, and says where
//! ([`Word::Listens`]). When all places are known the workers meet. Each party says how it ended at its worker ([`Word::Ended`]); as soon as one has lost it, the
//! others end theirs. When it has ended at all, each records whether it counts and says so ([`Word::Settled`]); these words must be the same. Only
//! then may what depends on it start, so no honest party ever hears of an attempt that its ledger does not permit.

mod attempts;
mod failing;
mod waits;

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use cenote_net::{AbortReason, PartyId};
use cenote_session::Error as SessionError;

use crate::checks::ATTEMPTS;
use crate::crew::Incoming;
use crate::ledger::Ledger;
use crate::message::{Word, malformed};
use crate::open::Open;
use crate::peers::Peers;
use crate::steps::WORD;
use crate::{Attempt, Crew, Error, Event, Limits, Party, PeerProgress, Progress, Result, Running};
use failing::Failing;

/// The party that says which attempt starts next.
const LEADER: PartyId = PartyId(0);

/// A job that runs.
pub(crate) struct Course<'a> {
    me: PartyId,
    parties: usize,
    limits: Limits,
    /// The name of this meeting of the coordinators.
    run: &'a str,
    ledger: &'a mut Ledger,
    crew: &'a mut dyn Crew,
    peers: Peers,
    open: BTreeMap<Attempt, Open>,
    /// What the other parties say of themselves, by their number; this party's place is not used.
    facts: Vec<Facts>,
    /// Attempts that have begun here since the coordinators met.
    started: u32,
    /// What the peers were told last: how many pieces can start, and how many had.
    told: Option<(u32, u32)>,
    /// When they were last told that this party is there.
    beaten: Instant,
    /// Since when no piece has run.
    idle_since: Instant,
    /// Something has changed that people may want to see.
    news: bool,
    failing: Failing,
}

/// What a coordinator says of itself.
#[derive(Clone, Copy, Default)]
struct Facts {
    free: u32,
    started: u32,
    share: (u64, u64),
    /// It has settled the merge, and may leave.
    is_through: bool,
}

impl<'a> Course<'a> {
    /// The course of the ledger's job.
    pub(crate) fn new(
        party: &Party,
        run: &'a str,
        ledger: &'a mut Ledger,
        crew: &'a mut dyn Crew,
        peers: Peers,
    ) -> Self {
        let parties = peers.ids().count() + 1;
        let now = Instant::now();
        Self {
            me: party.me,
            parties,
            limits: party.limits,
            run,
            ledger,
            crew,
            peers,
            open: BTreeMap::new(),
            facts: vec![Facts::default(); parties],
            started: 0,
            told: None,
            beaten: now,
            idle_since: now,
            news: true,
            failing: Failing::default(),
        }
    }

    /// Sees the job through.
    ///
    /// # Errors
    /// Why it ended before.
    pub(crate) fn run(
        &mut self,
        inbox: &Receiver<Incoming>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<()> {
        if !self.ledger.book().is_over() {
            self.check_left(None)?;
        }
        while !self.is_over() {
            self.tell_free();
            self.start_more()?;
            if std::mem::take(&mut self.news) {
                progress(&self.progress());
            }
            match inbox.recv_timeout(self.wait()) {
                Ok(incoming) => self.see(incoming)?,
                // This party holds a sender itself.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.check_time()?;
        }
        progress(&self.progress());
        Ok(())
    }

    /// Ends the workers that still run, and leaves the peers. With a reason, they are told it.
    pub(crate) fn stop(self, reason: Option<AbortReason>) {
        for (attempt, open) in &self.open {
            if open.begun.is_some() && open.counts().is_none() && !open.ended {
                self.crew.end(attempt);
            }
        }
        self.peers.leave(reason);
    }

    /// Whether all pieces are done, and all parties have said so.
    fn is_over(&self) -> bool {
        self.ledger.book().is_over() && self.open.values().all(|open| open.begun.is_none())
    }

    fn see(&mut self, incoming: Incoming) -> Result<()> {
        match incoming {
            Incoming::Own(event) => self.own(event),
            Incoming::Word(peer, word) => {
                self.hear(peer, word)?;
                self.peers.next(peer);
                Ok(())
            }
            Incoming::Gone(peer, error) => self.gone(peer, error),
            Incoming::Deaf(peer, error) => {
                self.deaf(peer, error);
                Ok(())
            }
        }
    }

    fn own(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Listens { attempt, place } => self.own_listens(attempt, place),
            Event::Ended { attempt, outcome } => self.own_ended(attempt, outcome),
            // It is asked after every event.
            Event::Free => Ok(()),
            Event::Progress { attempt, done, total } => {
                if let Some(open) = self.open.get_mut(&attempt) {
                    open.share = (done.min(total), total);
                }
                Ok(())
            }
            Event::Stop => Err(Error::Stopped),
        }
    }

    fn hear(&mut self, from: PartyId, word: Word) -> Result<()> {
        let facts = &mut self.facts[from.index()];
        match word {
            Word::Alive { done, total } => facts.share = (done, total),
            Word::Free { free, started } => {
                let is_sound = started >= facts.started && (self.me != LEADER || started <= self.started);
                if !is_sound {
                    let detail = format!("it says that {started} attempts have started");
                    return Err(malformed(from, detail).into());
                }
                (facts.free, facts.started) = (free, started);
                self.news = true;
            }
            Word::Start(attempt) => self.start(from, attempt)?,
            Word::Listens { attempt, place } => self.peer_listens(from, attempt, place)?,
            Word::Ended { attempt, outcome } => self.peer_ended(from, attempt, outcome)?,
            Word::Settled { attempt, done } => self.peer_settled(from, attempt, done)?,
        }
        Ok(())
    }

    /// The failed check of what `from` says of attempts.
    fn lie(&self, from: impl Into<Option<PartyId>>, detail: impl Into<String>) -> Error {
        SessionError::cheated(ATTEMPTS, from, WORD, detail).into()
    }

    /// Tells the peers how many more pieces can start here, if that has changed.
    fn tell_free(&mut self) {
        let (free, started) = (self.crew.free(), self.started);
        if self.told.replace((free, started)) != Some((free, started)) {
            self.peers.tell(&Word::Free { free, started });
        }
    }

    /// Of the leader: hands out what can start at all parties.
    fn start_more(&mut self) -> Result<()> {
        if self.me != LEADER || self.failing.is_failing() {
            return Ok(());
        }
        while self.crew.free() > 0 && self.peers.ids().all(|peer| self.has_room(peer)) {
            // What depends on an attempt waits until all parties have settled it.
            let next = self.ledger.book().next();
            let Some(next) = next.filter(|next| self.is_settled(next)) else {
                break;
            };
            self.begin(next)?;
        }
        Ok(())
    }

    /// Whether a peer has a free worker left, of those that it has told of, for yet another piece.
    fn has_room(&self, peer: PartyId) -> bool {
        let Facts { free, started, .. } = self.facts[peer.index()];
        free > self.started.saturating_sub(started)
    }

    fn progress(&self) -> Progress {
        let book = self.ledger.book();
        let running = self
            .open
            .iter()
            .filter(|(_, open)| open.begun.is_some() && open.counts().is_none());
        Progress {
            pieces: self.ledger.job().pieces(),
            done: book.done(),
            handed_out: book.handed_out(),
            running: running
                .map(|(&attempt, open)| Running {
                    attempt,
                    done: open.share.0,
                    total: open.share.1,
                })
                .collect(),
            peers: (self.peers.ids())
                .map(|party| {
                    let Facts { free, share, .. } = self.facts[party.index()];
                    PeerProgress {
                        party,
                        free,
                        done: share.0,
                        total: share.1,
                    }
                })
                .collect(),
        }
    }
}

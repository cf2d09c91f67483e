//! An attempt, step by step.

use std::time::Instant;

use cenote_net::PartyId;
use cenote_session::Error as SessionError;

use super::{Course, LEADER};
use crate::book::{Entry, State};
use crate::coin;
use crate::message::Word;
use crate::open::Open;
use crate::{Attempt, Error, Outcome, Piece, Place, Result};

impl Course<'_> {
    /// Whether all parties have settled what must be over before `next` is handed out.
    pub(super) fn is_settled(&self, next: &Attempt) -> bool {
        let mut open = self.open.iter().filter(|(_, open)| open.begun.is_some());
        open.all(|(attempt, _)| next.piece != Piece::Merge && attempt.piece != next.piece)
    }

    /// A peer says that an attempt is handed out.
    pub(super) fn start(&mut self, from: PartyId, attempt: Attempt) -> Result<()> {
        if from != LEADER {
            return Err(self.lie(from, format!("it hands out {attempt}, as only {LEADER} may")));
        }
        let permitted = self.ledger.book().permits(attempt);
        permitted.map_err(|why| self.lie(from, format!("it hands out {attempt}, but {why}")))?;
        self.begin(attempt)
    }

    /// Records that an attempt is handed out, and hands it to a worker.
    pub(super) fn begin(&mut self, attempt: Attempt) -> Result<()> {
        self.ledger.note(&[Entry::HandedOut(attempt)])?;
        self.started = self.started.saturating_add(1);
        self.news = true;
        if self.me == LEADER {
            self.peers.tell(&Word::Start(attempt));
        }
        let parties = self.parties;
        let open = self.open.entry(attempt).or_insert_with(|| Open::new(parties));
        open.since = Instant::now();
        open.begun = Some(open.since);
        if let Some((party, reason)) = open.cause.clone() {
            return self.lose(attempt, format!("{party} says: {reason}"));
        }
        self.crew.listen(&attempt);
        Ok(())
    }

    /// This party's worker listens. One that was told to end in the meantime may say so, too.
    pub(super) fn own_listens(&mut self, attempt: Attempt, place: Place) -> Result<()> {
        let me = self.me.index();
        let Some(open) = self.open.get_mut(&attempt).filter(|open| open.begun.is_some()) else {
            return Ok(());
        };
        if open.places[me].is_some() || open.outcomes[me].is_some() {
            return Ok(());
        }
        if !place.is_sound() {
            let what = format!(
                "the worker of {attempt} listens at an address that cannot be told to peers: {place:?}"
            );
            return Err(SessionError::BadInput(what).into());
        }
        open.places[me] = Some(place.clone());
        self.peers.tell(&Word::Listens { attempt, place });
        self.meet(attempt);
        Ok(())
    }

    /// What is known of an attempt of which a peer speaks. It may have heard earlier than this party that it was handed out, unless one of
    /// the two has handed it out.
    fn spoken_of(&mut self, from: PartyId, attempt: Attempt) -> Result<&mut Open> {
        let may_be_early = from != LEADER && self.me != LEADER;
        let permitted = self.ledger.book().permits(attempt);
        if !self.open.contains_key(&attempt)
            && let Err(why) = permitted.and(may_be_early.then_some(()).ok_or("it was not handed out".into()))
        {
            return Err(self.lie(from, format!("it speaks of {attempt}, but {why}")));
        }
        let parties = self.parties;
        Ok(self.open.entry(attempt).or_insert_with(|| Open::new(parties)))
    }

    pub(super) fn peer_listens(&mut self, from: PartyId, attempt: Attempt, place: Place) -> Result<()> {
        let at = from.index();
        let open = self.spoken_of(from, attempt)?;
        if open.places[at].is_some() || open.outcomes[at].is_some() {
            return Err(self.lie(
                from,
                format!("it says twice where it listens for {attempt}, or too late"),
            ));
        }
        open.places[at] = Some(place);
        self.meet(attempt);
        Ok(())
    }

    /// Has the worker meet its peers, once all of them listen.
    fn meet(&mut self, attempt: Attempt) {
        let me = self.me.index();
        let Some(open) = self.open.get_mut(&attempt) else {
            return;
        };
        if open.begun.is_none() || open.met || open.outcomes[me].is_some() {
            return;
        }
        let Some(places) = open.all_places() else { return };
        open.met = true;
        let name = coin::session(self.run, self.ledger.job().shards(), &attempt, &places);
        self.crew.meet(&attempt, &name, &places);
    }

    /// This party's worker has ended. One that was told to end has nothing more to say, but that a check has failed.
    pub(super) fn own_ended(&mut self, attempt: Attempt, outcome: Outcome) -> Result<()> {
        let me = self.me.index();
        let open = self.open.get(&attempt);
        let Some(open) = open.filter(|open| open.begun.is_some() && open.outcomes[me].is_none()) else {
            return match outcome.bounded() {
                Outcome::Failed(reason) => Err(self.failed(attempt, self.me, reason)),
                Outcome::Done | Outcome::Lost(_) => Ok(()),
            };
        };
        let outcome = match outcome.bounded() {
            Outcome::Done if !open.met => Outcome::Lost("its worker was done before it met its peers".into()),
            outcome => outcome,
        };
        self.end_here(attempt, outcome)
    }

    /// The attempt has come to an end at this party.
    fn end_here(&mut self, attempt: Attempt, outcome: Outcome) -> Result<()> {
        let party = self.me;
        let Some(open) = self.open.get_mut(&attempt) else {
            return Ok(());
        };
        open.note(party, outcome.clone());
        open.since = Instant::now();
        self.peers.tell(&Word::Ended {
            attempt,
            outcome: outcome.clone(),
        });
        match outcome {
            Outcome::Done => {}
            Outcome::Lost(_) => self.end_worker(attempt),
            Outcome::Failed(reason) => return Err(self.failed(attempt, party, reason)),
        }
        self.settle(attempt)
    }

    /// Records that a check failed in the attempt, so that the job does not go on in another life of the coordinators either.
    fn failed(&mut self, attempt: Attempt, party: PartyId, reason: String) -> Error {
        let book = self.ledger.book();
        let handed_out = book.permits(attempt).is_ok().then_some(Entry::HandedOut(attempt));
        let entries: Vec<Entry> = handed_out.into_iter().chain([Entry::Failed(attempt)]).collect();
        if let Err(error) = self.ledger.note(&entries) {
            tracing::warn!(%attempt, %error, "that a check failed cannot be recorded");
        }
        Error::Failed {
            attempt,
            party,
            reason,
        }
    }

    /// The attempt is lost somewhere: this party's worker need not go on.
    pub(super) fn lose(&mut self, attempt: Attempt, reason: String) -> Result<()> {
        self.end_worker(attempt);
        let me = self.me.index();
        if (self.open.get(&attempt)).is_some_and(|open| open.outcomes[me].is_some()) {
            return self.settle(attempt);
        }
        self.end_here(attempt, Outcome::Lost(reason).bounded())
    }

    /// Has the worker ended, and what it made dropped: once.
    fn end_worker(&mut self, attempt: Attempt) {
        let open = self.open.get_mut(&attempt);
        if open.is_some_and(|open| !std::mem::replace(&mut open.ended, true)) {
            self.crew.end(&attempt);
        }
    }

    pub(super) fn peer_ended(&mut self, from: PartyId, attempt: Attempt, outcome: Outcome) -> Result<()> {
        let at = from.index();
        let open = self.spoken_of(from, attempt)?;
        if open.outcomes[at].is_some() || (outcome == Outcome::Done && open.places[at].is_none()) {
            return Err(self.lie(
                from,
                format!("{attempt} ends twice there, or was done before its worker listened"),
            ));
        }
        open.note(from, outcome.clone());
        let is_begun = open.begun.is_some();
        match outcome {
            Outcome::Failed(reason) => Err(self.failed(attempt, from, reason)),
            Outcome::Lost(reason) if is_begun => self.lose(attempt, format!("{from} says: {reason}")),
            Outcome::Done if is_begun => self.settle(attempt),
            Outcome::Lost(_) | Outcome::Done => Ok(()),
        }
    }

    /// Records whether the attempt counts, and says so, once it has ended at all parties.
    fn settle(&mut self, attempt: Attempt) -> Result<()> {
        let me = self.me.index();
        let Some(open) = self.open.get_mut(&attempt) else {
            return Ok(());
        };
        let Some(done) = open.counts().filter(|_| open.settled[me].is_none()) else {
            return Ok(());
        };
        open.settled[me] = Some(done);
        open.since = Instant::now();
        if done {
            self.ledger.note(&[Entry::Done(attempt)])?;
            self.crew.keep(&attempt);
        } else {
            self.end_worker(attempt);
            self.ledger.note(&[Entry::Lost(attempt)])?;
        }
        self.news = true;
        self.idle_since = Instant::now();
        self.peers.tell(&Word::Settled { attempt, done });
        if !done {
            self.check_left(Some(attempt))?;
        }
        self.compare(attempt)
    }

    pub(super) fn peer_settled(&mut self, from: PartyId, attempt: Attempt, done: bool) -> Result<()> {
        let at = from.index();
        let open = self.open.get_mut(&attempt);
        let Some(open) = open.filter(|open| open.outcomes[at].is_some() && open.settled[at].is_none()) else {
            return Err(self.lie(
                from,
                format!("it settles {attempt}, which has not ended there, or twice"),
            ));
        };
        open.settled[at] = Some(done);
        if done && attempt.piece == Piece::Merge {
            self.facts[at].is_through = true;
            self.failing.forgive(from);
        }
        self.compare(attempt)
    }

    /// Sees that all parties say the same of whether the attempt counts. When all have, nothing more is said of it.
    fn compare(&mut self, attempt: Attempt) -> Result<()> {
        let me = self.me.index();
        let Some(open) = self.open.get(&attempt) else {
            return Ok(());
        };
        let Some(ours) = open.settled[me] else {
            return Ok(());
        };
        let differs = |said: &Option<bool>| said.is_some_and(|theirs| theirs != ours);
        if let Some(at) = open.settled.iter().position(differs) {
            let (peer, ended) = (
                PartyId(at as u8),
                |done| if done { "was done" } else { "was lost" },
            );
            let detail = format!(
                "{attempt} {} everywhere, by what this party has heard, and {} somewhere, {peer} says",
                if ours { "was done" } else { "was not done" },
                ended(!ours)
            );
            // Among three, the third may have told the two different things.
            return Err(self.lie((self.parties == 2).then_some(peer), detail));
        }
        if Open::missing(&open.settled).is_none() {
            self.open.remove(&attempt);
        }
        Ok(())
    }

    /// Sees that there are attempts left for all pieces that need one. `lost` is the last one.
    pub(super) fn check_left(&self, lost: Option<Attempt>) -> Result<()> {
        let book = self.ledger.book();
        let (needed, left) = (book.needed(), book.left());
        if needed <= left {
            return Ok(());
        }
        let mut pieces = self.ledger.job().all_pieces();
        let some = || pieces.find(|&piece| book.count(piece).state == State::Open);
        let piece = lost.map(|lost| lost.piece).or_else(some).unwrap_or(Piece::Merge);
        let cause = lost.and_then(|lost| self.open.get(&lost)?.cause.clone());
        let last = cause.map_or("a coordinator had ended".into(), |(party, reason)| {
            if party == self.me {
                reason
            } else {
                format!("{party} says: {reason}")
            }
        });
        Err(Error::UsedUp {
            piece,
            times: book.count(piece).last,
            last,
            attempts: self.ledger.job().attempts(),
            left,
            needed,
        })
    }
}

//! How long the job waits, and for what.

use std::time::{Duration, Instant};

use cenote_net::PartyId;

use super::Course;
use crate::message::Word;
use crate::open::Open;
use crate::{Attempt, Error, Result};

/// How long a coordinator sleeps at most.
const NAP: Duration = Duration::from_secs(60);

/// What an error lists of what is awaited, at most.
const LISTED: usize = 3;

/// A time that is over for an attempt.
enum Over {
    /// Not all workers listen.
    Listening(Attempt),
    /// A peer has not said that it has ended, or whether it counts.
    Ending(Attempt, PartyId, &'static str),
}

impl Course<'_> {
    /// How long to wait for the next event.
    pub(super) fn wait(&self) -> Duration {
        let now = Instant::now();
        let attempts = self.open.values().filter_map(|open| self.deadline(open));
        let nearest = [
            self.beaten.checked_add(self.beat()),
            self.failing.deadline(),
            self.idle_deadline(),
        ]
        .into_iter()
        .flatten()
        .chain(attempts)
        .min();
        nearest.map_or(NAP, |nearest| nearest.saturating_duration_since(now).min(NAP))
    }

    /// How often this party says that it is there.
    fn beat(&self) -> Duration {
        self.limits.silence / 4
    }

    /// When it is over for pieces to start, if none runs.
    fn idle_deadline(&self) -> Option<Instant> {
        let runs = |open: &Open| open.begun.is_some() && open.counts().is_none();
        match self.open.values().any(runs) {
            true => None,
            false => self.idle_since.checked_add(self.limits.idle),
        }
    }

    /// When it is over for the next step of an attempt. How long its session takes is the worker's matter.
    fn deadline(&self, open: &Open) -> Option<Instant> {
        let begun = open.begun?;
        match (&open.outcomes[self.me.index()], open.met) {
            (None, true) => None,
            (None, false) => begun.checked_add(self.limits.listen),
            (Some(_), _) => open.since.checked_add(self.limits.end),
        }
    }

    /// Does what is due.
    ///
    /// # Errors
    /// A peer that is late, or whose loss ends the job by now; that no piece has started for too long.
    pub(super) fn check_time(&mut self) -> Result<()> {
        let now = Instant::now();
        let is_over = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if is_over(self.failing.deadline())
            && let Some(error) = self.failing.error()
        {
            return Err(error);
        }
        if is_over(self.beaten.checked_add(self.beat())) {
            self.beaten = now;
            let shares = self
                .open
                .values()
                .filter(|open| open.begun.is_some())
                .map(|open| open.share);
            let (done, total) = shares.fold((0, 0), |(done, total): (u64, u64), share| {
                (done.saturating_add(share.0), total.saturating_add(share.1))
            });
            self.peers.tell(&Word::Alive { done, total });
            self.news = true;
        }
        let late = self.open.iter().filter(|(_, open)| is_over(self.deadline(open)));
        let late: Vec<Over> = late.map(|(&attempt, open)| self.over(attempt, open)).collect();
        for over in late {
            match over {
                Over::Listening(attempt) => {
                    let reason = self.not_listening(attempt);
                    self.lose(attempt, reason)?;
                }
                Over::Ending(attempt, peer, what) => {
                    return Err(Error::Late {
                        peer,
                        limit: self.limits.end,
                        awaited: format!("{what} {attempt}"),
                    });
                }
            }
        }
        if is_over(self.idle_deadline()) {
            return Err(Error::Idle {
                who: self.who_is_busy(),
                limit: self.limits.idle,
            });
        }
        Ok(())
    }

    fn over(&self, attempt: Attempt, open: &Open) -> Over {
        if open.outcomes[self.me.index()].is_none() {
            return Over::Listening(attempt);
        }
        match (Open::missing(&open.outcomes), Open::missing(&open.settled)) {
            (Some(peer), _) => Over::Ending(attempt, peer, "the end of"),
            (None, settled) => Over::Ending(attempt, settled.unwrap_or(self.me), "whether it counts:"),
        }
    }

    fn not_listening(&self, attempt: Attempt) -> String {
        let limit = self.limits.listen.as_secs_f64();
        let missing = self
            .open
            .get(&attempt)
            .and_then(|open| Open::missing(&open.places));
        match missing {
            Some(party) if party != self.me => {
                format!("{party} has not said within {limit:.1} s where its worker listens")
            }
            _ => format!("no worker has listened within {limit:.1} s"),
        }
    }

    /// Who has no free worker.
    fn who_is_busy(&self) -> String {
        let peers = self.peers.ids().filter(|&peer| !self.has_room(peer));
        let own = Some(self.me).filter(|_| self.crew.free() == 0);
        let busy: Vec<String> = own
            .into_iter()
            .chain(peers)
            .map(|party| party.to_string())
            .collect();
        match busy.is_empty() {
            true => "all parties have free workers, but party 0 hands out none".into(),
            false => format!("no free worker at {}", busy.join(" and ")),
        }
    }

    /// What is awaited of a peer.
    pub(super) fn awaited(&self, peer: PartyId) -> String {
        let at = peer.index();
        let open = self.open.iter().filter(|(_, open)| open.begun.is_some());
        let awaited =
            open.filter_map(
                |(attempt, open)| match (&open.outcomes[at], open.met, open.settled[at]) {
                    (None, true, _) => Some(format!("the end of {attempt}")),
                    (None, false, _) => Some(format!("where its worker listens for {attempt}")),
                    (Some(_), _, None) => Some(format!("whether it counts: {attempt}")),
                    (Some(_), _, Some(_)) => None,
                },
            );
        let mut awaited: Vec<String> = awaited.take(LISTED + 1).collect();
        match awaited.len() {
            0 => "that it is there".into(),
            count if count > LISTED => {
                awaited[LISTED] = "and more".into();
                awaited.join(", ")
            }
            _ => awaited.join(", "),
        }
    }
}

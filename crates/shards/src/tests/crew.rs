//! Workers that only pretend: they listen at once, and end as soon as they meet, as the test says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use cenote_net::PartyId;

use crate::{Attempt, Crew, Event, Events, JobName, Outcome, Piece, Place};

/// How each attempt ends at each party; nothing while it runs for ever.
pub(super) type Fates = Arc<dyn Fn(PartyId, Attempt) -> Option<Outcome> + Send + Sync>;

/// What all crews of a test have seen.
#[derive(Default)]
pub(super) struct Shared {
    /// What each attempt's session is called in this run, and where its workers are.
    sessions: BTreeMap<Attempt, (String, Vec<Place>)>,
    /// The attempt at each piece that each party is at.
    at: BTreeMap<Piece, BTreeMap<PartyId, u32>>,
    /// What a worker of each party was ever asked to listen for, in all runs of all jobs.
    ever: BTreeSet<(PartyId, String, Attempt)>,
    /// What a party's crew was ever told to end.
    ended: BTreeSet<(PartyId, String, Attempt)>,
    /// The names of all jobs.
    pub(super) jobs: BTreeSet<String>,
}

impl Shared {
    /// The workers of another run have ended.
    pub(super) fn new_run(&mut self) {
        self.sessions.clear();
        self.at.clear();
    }

    /// What a party's workers were asked to listen for in a job, and neither counts nor was ended.
    pub(super) fn forgotten(
        &self,
        party: PartyId,
        name: &JobName,
        counting: &BTreeSet<Attempt>,
    ) -> Vec<Attempt> {
        let of_job = self
            .ever
            .iter()
            .filter(|(one, of, _)| *one == party && *of == name.to_string());
        let open = of_job.filter(|one| !counting.contains(&one.2) && !self.ended.contains(one));
        open.map(|one| one.2).collect()
    }

    /// Attempts that a party's workers were ever asked to listen for.
    pub(super) fn asked(&self, party: PartyId) -> usize {
        self.ever.iter().filter(|(one, ..)| *one == party).count()
    }
}

/// The pretending workers of one party.
pub(super) struct Pretend {
    me: PartyId,
    slots: u32,
    events: Events,
    shared: Arc<Mutex<Shared>>,
    fates: Fates,
    name: String,
    busy: BTreeSet<Attempt>,
    pub(super) kept: BTreeSet<Attempt>,
    pub(super) ended: BTreeSet<Attempt>,
    pub(super) coin: Option<[u8; 32]>,
}

impl Pretend {
    pub(super) fn new(
        me: PartyId,
        slots: u32,
        events: Events,
        shared: Arc<Mutex<Shared>>,
        fates: Fates,
    ) -> Self {
        Self {
            me,
            slots,
            events,
            shared,
            fates,
            name: String::new(),
            busy: BTreeSet::new(),
            kept: BTreeSet::new(),
            ended: BTreeSet::new(),
            coin: None,
        }
    }

    fn leave(&mut self, attempt: &Attempt) {
        self.busy.remove(attempt);
        if let Some(at) = self.shared.lock().unwrap().at.get_mut(&attempt.piece)
            && at.get(&self.me) == Some(&attempt.number)
        {
            at.remove(&self.me);
        }
    }
}

impl Crew for Pretend {
    fn begin(&mut self, name: &JobName, coin: &[u8; 32]) {
        self.name = name.to_string();
        self.coin = Some(*coin);
        self.shared.lock().unwrap().jobs.insert(self.name.clone());
    }

    fn free(&self) -> u32 {
        self.slots - self.busy.len() as u32
    }

    fn listen(&mut self, attempt: &Attempt) {
        assert!(self.free() > 0, "{} has a worker for {attempt}", self.me);
        assert!(
            self.busy.iter().all(|busy| busy.piece != attempt.piece),
            "one at a time"
        );
        self.busy.insert(*attempt);
        let mut shared = self.shared.lock().unwrap();
        let is_new = shared.ever.insert((self.me, self.name.clone(), *attempt));
        assert!(is_new, "{}: {attempt} is handed out twice", self.me);
        let at = shared.at.entry(attempt.piece).or_default();
        assert!(
            at.values().all(|number| *number == attempt.number),
            "{attempt}: {at:?}"
        );
        at.insert(self.me, attempt.number);
        drop(shared);
        let place = Place {
            address: format!("host{}:{}", self.me.0, self.busy.len()),
            fingerprint: format!("{:064x}", attempt.number).parse().unwrap(),
        };
        self.events.tell(Event::Listens {
            attempt: *attempt,
            place,
        });
    }

    fn meet(&mut self, attempt: &Attempt, name: &str, places: &[Place]) {
        let mut shared = self.shared.lock().unwrap();
        let session = (name.to_owned(), places.to_vec());
        let known = shared.sessions.entry(*attempt).or_insert_with(|| session.clone());
        assert_eq!(*known, session);
        let same = shared
            .sessions
            .values()
            .filter(|(other, _)| other == name)
            .count();
        assert_eq!(same, 1, "no two sessions have the same name");
        drop(shared);
        if let Some(outcome) = (self.fates)(self.me, *attempt) {
            self.leave(attempt);
            self.events.tell(Event::Ended {
                attempt: *attempt,
                outcome,
            });
        }
    }

    fn end(&mut self, attempt: &Attempt) {
        self.leave(attempt);
        self.kept.remove(attempt);
        self.ended.insert(*attempt);
        let ended = (self.me, self.name.clone(), *attempt);
        self.shared.lock().unwrap().ended.insert(ended);
    }

    fn keep(&mut self, attempt: &Attempt) {
        assert!(!self.ended.contains(attempt), "{attempt} does not count");
        self.kept.insert(*attempt);
    }
}

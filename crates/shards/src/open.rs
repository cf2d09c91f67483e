//! An attempt from when it is handed out until all parties have settled it.

use std::time::Instant;

use cenote_net::PartyId;

use crate::{Outcome, Place};

/// What is known of an attempt. What other parties say of it may come before the leader's word that it was handed out.
#[derive(Debug)]
pub(crate) struct Open {
    /// When it was handed out here.
    pub(crate) begun: Option<Instant>,
    /// Where each party's worker listens.
    pub(crate) places: Vec<Option<Place>>,
    /// Which party lost it first, as far as this one has heard, and why.
    pub(crate) cause: Option<(PartyId, String)>,
    /// How it ended at each party.
    pub(crate) outcomes: Vec<Option<Outcome>>,
    /// Whether it counts, says each party.
    pub(crate) settled: Vec<Option<bool>>,
    /// The worker has been told where its peers are.
    pub(crate) met: bool,
    /// The worker has been told that it does not count.
    pub(crate) ended: bool,
    /// When this party last had a step of it behind itself.
    pub(crate) since: Instant,
    /// How far the worker is: steps made, and all.
    pub(crate) share: (u64, u64),
}

impl Open {
    pub(crate) fn new(parties: usize) -> Self {
        Self {
            begun: None,
            cause: None,
            places: vec![None; parties],
            outcomes: vec![None; parties],
            settled: vec![None; parties],
            met: false,
            ended: false,
            since: Instant::now(),
            share: (0, 0),
        }
    }

    /// Notes how it ended at a party.
    pub(crate) fn note(&mut self, party: PartyId, outcome: Outcome) {
        if let Some(reason) = outcome.reason() {
            self.cause.get_or_insert_with(|| (party, reason.to_owned()));
        }
        self.outcomes[party.index()] = Some(outcome);
    }

    /// All places, once all are known.
    pub(crate) fn all_places(&self) -> Option<Vec<Place>> {
        self.places.iter().cloned().collect()
    }

    /// Whether it counts, once it has ended at all parties.
    pub(crate) fn counts(&self) -> Option<bool> {
        let ended: Option<Vec<&Outcome>> = self.outcomes.iter().map(Option::as_ref).collect();
        ended.map(|all| all.iter().all(|outcome| **outcome == Outcome::Done))
    }

    /// The first party, in order, of which something is not known.
    pub(crate) fn missing<T>(of: &[Option<T>]) -> Option<PartyId> {
        let at = of.iter().position(Option::is_none)?;
        Some(PartyId(at as u8))
    }
}

//! What is numbered once per session, and what the challenges of proofs are bound to.
//!
//! Whoever knows the challenge of a proof while it can still choose commitments can choose some that the proof does not see.
//! So challenges are hashed from something that the evaluator draws *after* it has all commitments, and the types keep this
//! order: places for commitments come from [`Counters::reserve`] alone, what lies there can be got out of [`Committed`] only by
//! [`Committed::bind`], which takes the draw, and proofs begin with a [`Transcript`] or [`Bound`], which have the last one.

use cenote_garble::Base;
use cenote_primitives::Block;
use cenote_session::{Error, Result};

/// What is numbered once per session, in step at both parties.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    session: String,
    /// The name of the set-up.
    id: [u8; 32],
    /// Where the keys of hashes start: by the name of the set-up, so that neither party could choose it, and not before `Δ` was
    /// fixed.
    start: Block,
    /// The next unit of the commitments' streams.
    unit: u64,
    /// The next number of a gate or authenticator.
    number: u64,
    /// Draws so far.
    draws: u64,
    bound: Bound,
    /// Why nothing more is generated.
    pub(crate) failed: Option<String>,
}

/// The evaluator's last draw: all commitments made until then are older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound(Block);

impl Bound {
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }
}

/// What a proof of openings is bound to.
pub(crate) struct Transcript(Vec<u8>);

impl Transcript {
    /// That of one worker's proof, of several that begin alike.
    pub(crate) fn of_worker(mut self, worker: usize) -> Self {
        self.0.extend_from_slice(&(worker as u64).to_le_bytes());
        self
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A place for commitments, and numbers for gates and authenticators, that nothing else has.
pub(crate) struct Reserved {
    /// The first unit of commitments.
    pub(crate) unit: u64,
    /// The first number, under the session's keys.
    pub(crate) base: Base,
}

impl Reserved {
    /// `items` have been committed to here.
    pub(crate) fn committed<T>(self, items: T) -> Committed<T> {
        Committed(items)
    }
}

/// What was committed to since the evaluator last drew.
#[must_use = "no proof may open commitments before the evaluator has drawn"]
pub(crate) struct Committed<T>(T);

impl<T> Committed<T> {
    /// The items, once the evaluator has drawn: all challenges from now on depend on `drawn`.
    pub(crate) fn bind(self, counters: &mut Counters, drawn: Block) -> T {
        counters.draws += 1;
        counters.bound = Bound(drawn);
        self.0
    }
}

impl Counters {
    pub(crate) fn new(session: &str) -> Self {
        Self::of_stored(session, [0; 32], Block::ZERO)
    }

    /// Those of a session on stored material of the set-up `id`, which makes no commitments. `agreed` tells its proofs from
    /// other sessions'.
    pub(crate) fn of_stored(session: &str, id: [u8; 32], agreed: Block) -> Self {
        Self {
            session: session.into(),
            id,
            start: start_of(id),
            unit: 0,
            number: 0,
            draws: 0,
            bound: Bound(agreed),
            failed: None,
        }
    }

    /// The name of the set-up.
    pub(crate) fn id(&self) -> [u8; 32] {
        self.id
    }

    /// Room for `units` units of commitments and for `numbers` gates and authenticators.
    pub(crate) fn reserve(&mut self, units: u64, numbers: usize) -> Reserved {
        let reserved = Reserved {
            unit: self.unit,
            base: Base {
                start: self.start,
                number: self.number,
            },
        };
        self.unit += units;
        self.number += numbers as u64;
        reserved
    }

    /// What the evaluator last drew.
    pub(crate) fn bound(&self) -> Bound {
        self.bound
    }

    /// What a proof is bound to: session, phase, where in the phase, and the last draw.
    pub(crate) fn transcript(&self, phase: &str, number: u64) -> Transcript {
        let mut transcript = Vec::new();
        for part in ["cenote lego", &self.session, phase] {
            transcript.extend_from_slice(&(part.len() as u64).to_le_bytes());
            transcript.extend_from_slice(part.as_bytes());
        }
        transcript.extend_from_slice(&number.to_le_bytes());
        transcript.extend_from_slice(&self.bound.to_bytes());
        Transcript(transcript)
    }

    /// What the proofs of what was committed to before the last draw are bound to.
    pub(crate) fn transcript_of_epoch(&self) -> Transcript {
        self.transcript("generate", self.draws)
    }

    /// Names what was set up: the same at both parties, and never the same again if one of them is honest.
    pub(crate) fn identify(&mut self, committed: &[&[u8]]) {
        let mut hasher = blake3::Hasher::new_derive_key("cenote lego: name of a set-up");
        hasher.update(&(self.session.len() as u64).to_le_bytes());
        hasher.update(self.session.as_bytes());
        committed.iter().for_each(|part| {
            hasher.update(part);
        });
        hasher.update(&self.bound.to_bytes());
        self.id = *hasher.finalize().as_bytes();
        self.start = start_of(self.id);
    }

    /// Refuses to go on after a failure.
    pub(crate) fn alive(&self) -> Result<()> {
        self.failed
            .clone()
            .map_or(Ok(()), |reason| Err(Error::Poisoned(reason)))
    }
}

/// Where the keys of hashes start in a session of the set-up `id`.
fn start_of(id: [u8; 32]) -> Block {
    let start = blake3::derive_key("cenote lego: start of the keys of hashes", &id);
    Block::from_bytes(*start.first_chunk().expect("a hash has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_once_and_every_draw_changes_what_follows() {
        let mut counters = Counters::new("test");
        let first = counters.reserve(3, 5);
        let second = counters.reserve(1, 0);
        assert_eq!((first.unit, first.base.number), (0, 0));
        assert_eq!((second.unit, second.base.number), (3, 5));
        let mut seen = vec![counters.transcript_of_epoch().0];
        for drawn in [1, 2, 2] {
            let committed = counters.reserve(1, 0).committed(drawn);
            assert_eq!(committed.bind(&mut counters, Block([drawn, 0])), drawn);
            assert_eq!(counters.bound(), Bound(Block([drawn, 0])));
            let transcript = counters.transcript_of_epoch().0;
            assert!(!seen.contains(&transcript));
            seen.push(transcript);
        }
        let of_workers = [0, 1].map(|worker| counters.transcript("build", 0).of_worker(worker).0);
        assert_ne!(of_workers[0], of_workers[1]);
        let ids = [&b"a"[..], b"b"].map(|part| {
            counters.identify(&[part]);
            (counters.id(), counters.reserve(0, 0).base.start)
        });
        assert!(ids[0].0 != ids[1].0 && ids[0].1 != ids[1].1);
        // A session on stored material goes on with the keys under which it was made.
        let stored = Counters::of_stored("other", ids[1].0, Block::ZERO).reserve(0, 0);
        assert!(stored.base.start == ids[1].1);
    }
}

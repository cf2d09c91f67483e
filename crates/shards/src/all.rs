//! What all parties say to each other before the job runs.
//!
//! Every pair is connected, and nobody passes on what another says, so a pinned connection vouches for whatever comes over it.

use cenote_net::{Channel, PartyId, Step};
use cenote_session::{Check, Connections, Error, Result};

use crate::steps::ECHO;

/// The channels to one peer.
pub(crate) struct Pair {
    pub(crate) peer: PartyId,
    /// What this party says goes here.
    pub(crate) out: Box<dyn Channel>,
    /// What the peer says comes from here.
    pub(crate) into: Box<dyn Channel>,
}

/// This party and its peers.
pub(crate) struct All {
    pub(crate) me: PartyId,
    /// In the order of the peers.
    pub(crate) pairs: Vec<Pair>,
}

impl All {
    /// Of two channels of each pair, the first is for what the lower party says.
    ///
    /// # Errors
    /// [`Error::BadInput`] if the connections are others than those of [`topology`](crate::topology).
    pub(crate) fn new(me: PartyId, connections: Connections) -> Result<Self> {
        let others = || Error::BadInput("coordinators need the connections of their topology".into());
        let purposes: [Vec<Box<dyn Channel>>; 2] =
            connections.by_purpose().try_into().map_err(|_| others())?;
        let [low, high] = purposes;
        let peers = (0..=low.len() as u8).map(PartyId).filter(|&peer| peer != me);
        let fits = |channels: &[Box<dyn Channel>]| channels.iter().map(|one| one.peer()).eq(peers.clone());
        if low.is_empty() || !fits(&low) || !fits(&high) {
            return Err(others());
        }
        let pairs = low.into_iter().zip(high).map(|(low, high)| {
            let peer = low.peer();
            let (out, into) = if me < peer { (low, high) } else { (high, low) };
            Pair { peer, out, into }
        });
        Ok(Self {
            me,
            pairs: pairs.collect(),
        })
    }

    /// How many parties there are.
    pub(crate) fn parties(&self) -> usize {
        self.pairs.len() + 1
    }

    /// Says `own` to all others, and gives what each party says, in order. All say as many bytes.
    pub(crate) fn exchange(&mut self, step: Step, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        for pair in &mut self.pairs {
            pair.out.send(step, own)?;
            pair.out.flush()?;
        }
        let mut said = vec![own.to_vec(); self.parties()];
        for pair in &mut self.pairs {
            pair.into.recv(step, &mut said[pair.peer.index()])?;
        }
        Ok(said)
    }

    /// The same, and makes sure that each party has said the same to all others: with three parties, each then says what it has heard.
    ///
    /// # Errors
    /// `check` otherwise. It names a peer only if that peer alone can be at fault.
    pub(crate) fn agree(&mut self, step: Step, own: &[u8], check: Check) -> Result<Vec<Vec<u8>>> {
        let said = self.exchange(step, own)?;
        if self.pairs.len() == 1 {
            return Ok(said);
        }
        let digests: Vec<[u8; 32]> = said.iter().map(|one| *blake3::hash(one).as_bytes()).collect();
        let heard = self.exchange(ECHO, digests.as_flattened())?;
        // By whose word, of what was heard from whom.
        let mut differing: Vec<(PartyId, PartyId)> = Vec::new();
        for peer in self.pairs.iter().map(|pair| pair.peer) {
            let theirs = heard[peer.index()].as_chunks::<32>().0;
            let differs = (0..)
                .map(PartyId)
                .zip(digests.iter().zip(theirs))
                .filter(|(_, (ours, theirs))| ours != theirs);
            differing.extend(differs.map(|(about, _)| (peer, about)));
        }
        let is_clear = |&(peer, about): &(PartyId, PartyId)| about == self.me || about == peer;
        let clear = differing.iter().copied().find(is_clear);
        if let Some((peer, about)) = clear.or(differing.first().copied()) {
            let detail = format!(
                "{peer} says that it has heard something else from {about} in step \"{step}\" than this party"
            );
            return Err(Error::cheated(check, clear.map(|(peer, _)| peer), ECHO, detail));
        }
        Ok(said)
    }

    /// Tells all peers that this party stops, and why.
    pub(crate) fn abort(&mut self, error: &Error) {
        let code = error.reason().code();
        for pair in &mut self.pairs {
            pair.out.abort(code);
            pair.into.abort(code);
        }
    }
}

//! What all three parties have in stock.
//!
//! Both honest parties must choose the same batches. The choice is a function of the three offers, so it is enough that
//! both have the same three: each tells the others hashes of the lists that it has received.

use cenote_net::PartyId;
use cenote_session::{Error, MESSAGE_FORM, Result};
use sha2::{Digest, Sha256};

use super::offer::{Names, Offer, Told};
use super::{BatchNumber, EpochId};
use crate::checks;
use crate::ring::Ring;
use crate::steps;

/// A list of this party, and the same of the previous and the next.
struct Lists<T> {
    own: T,
    peers: [T; 2],
    /// Their encodings, in the order of the ring from this party on.
    encoded: [Vec<u8>; 3],
}

/// The epochs of this party and of its peers.
pub(super) struct Epochs(Lists<Names>);

impl Epochs {
    /// Tells both peers the names of this party's epochs. Where there are more than may be told, the first of `names` count.
    pub(super) fn compare(names: impl Iterator<Item = EpochId>, ring: &mut Ring) -> Result<Self> {
        exchange(
            Names::new(names),
            ring,
            steps::STOCK_EPOCHS,
            "names of epochs in stock",
        )
        .map(Self)
    }

    /// Whether all three parties have said that they have it.
    pub(super) fn common(&self, id: &EpochId) -> bool {
        let Lists { own, peers, .. } = &self.0;
        own.contains(id) && peers.iter().all(|names| names.contains(id))
    }

    /// The peers that do not have what this party has.
    pub(super) fn lacking(&self, id: &EpochId, ring: &Ring) -> Vec<PartyId> {
        let channels = [&ring.previous, &ring.next];
        let lacks = |names: &Names| !names.is_full() && !names.contains(id);
        let pairs = self.0.peers.iter().zip(channels);
        let mut lacking: Vec<_> = pairs
            .filter(|(names, _)| lacks(names))
            .map(|(_, channel)| channel.peer())
            .collect();
        lacking.sort_unstable();
        lacking
    }
}

/// What all three parties have of common epochs, the same at both honest parties.
pub(super) struct Common([Offer; 3]);

impl Common {
    /// Tells both peers what this party has of common epochs, and makes sure that all have been told the same.
    pub(super) fn compare(me: PartyId, epochs: Epochs, ours: Offer, ring: &mut Ring) -> Result<Self> {
        let offers = exchange(ours, ring, steps::STOCK_OFFER, "offer of stock")?;
        confirm(me, [&epochs.0.encoded, &offers.encoded], ring)?;
        let Lists {
            own,
            peers: [previous, next],
            ..
        } = offers;
        Ok(Self([own, previous, next]))
    }

    pub(super) fn contains(&self, id: &EpochId, batch: BatchNumber) -> bool {
        self.0.iter().all(|offer| offer.contains(id, batch))
    }
}

/// Tells both peers a list of this party's, and hears theirs.
fn exchange<T: Told>(own: T, ring: &mut Ring, step: cenote_net::Step, what: &str) -> Result<Lists<T>> {
    let sent = own.encode();
    let length = (sent.len() as u32).to_le_bytes();
    let lengths = ring.exchange(step, &length, &length)?;
    let lengths = [lengths.0, lengths.1].map(|length| u32::from_le_bytes(length) as usize);
    let malformed = |peer, how| {
        let detail = format!("its list, {what}, is {how}");
        Error::cheated(MESSAGE_FORM, Some(peer), step, &detail)
    };
    let mut channels = [&mut ring.previous, &mut ring.next];
    for (channel, length) in channels.iter_mut().zip(lengths) {
        if length > T::MAX_BYTES {
            return Err(malformed(channel.peer(), "longer than allowed"));
        }
        channel.send(step, &sent)?;
        channel.flush()?;
    }
    let mut hear = |index: usize| {
        let channel = &mut channels[index];
        let mut body = vec![0; lengths[index]];
        channel.recv(step, &mut body)?;
        match T::decode(&body) {
            Some(list) => Ok((list, body)),
            None => Err(malformed(channel.peer(), "malformed")),
        }
    };
    let (previous, from_previous) = hear(0)?;
    let (next, from_next) = hear(1)?;
    Ok(Lists {
        own,
        peers: [previous, next],
        encoded: [sent, from_next, from_previous],
    })
}

/// Makes sure that all parties have heard the same two lists of each. They are in the order of the ring from `me` on.
fn confirm(me: PartyId, lists: [&[Vec<u8>; 3]; 2], ring: &mut Ring) -> Result<()> {
    let mut word = [0; 96];
    for distance in 0..3 {
        let owner = (me.index() + distance) % 3;
        let mut hash = Sha256::new();
        for list in lists {
            hash.update((list[distance].len() as u64).to_le_bytes());
            hash.update(&list[distance]);
        }
        word[32 * owner..][..32].copy_from_slice(&hash.finalize());
    }
    let (from_previous, from_next) = ring.exchange(steps::STOCK_ECHO, &word, &word)?;
    let peers = [ring.previous.peer(), ring.next.peer()];
    for (theirs, peer) in [from_previous, from_next].into_iter().zip(peers) {
        for owner in 0..3 {
            let part = 32 * owner..32 * owner + 32;
            if theirs[part.clone()] == word[part] {
                continue;
            }
            // A party's word on the lists of the third party may be true: then that one told us two things.
            let own = owner == me.index() || owner == peer.index();
            return Err(Error::cheated(
                checks::VIEW_COMPARISON,
                own.then_some(peer),
                steps::STOCK_ECHO,
                "the parties were told different things about what is in stock",
            ));
        }
    }
    Ok(())
}

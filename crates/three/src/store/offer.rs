//! What each party has in stock, told to all and made sure to be told to all alike.
//!
//! Both honest parties must choose the same batches. The choice is a function of the three offers, so it is enough that
//! both have the same three: each tells the others hashes of the offers that it has received.

use std::collections::BTreeMap;

use cenote_engine::{Check, Result};
use cenote_net::PartyId;
use sha2::{Digest, Sha256};

use super::{BatchNumber, EpochId};
use crate::ring::{Ring, cheated};
use crate::steps;

/// Most epochs in an offer.
const MAX_EPOCHS: usize = 1 << 10;
/// Most batches in an offer.
const MAX_BATCHES: usize = 1 << 16;
/// Bytes of an epoch's name and number of batches.
const EPOCH_BYTES: usize = 36;
/// Bytes of a batch's number.
const BATCH_BYTES: usize = 5;
const MAX_BYTES: usize = MAX_EPOCHS * EPOCH_BYTES + MAX_BATCHES * BATCH_BYTES;

/// The batches of each epoch, in order, none twice.
pub(super) type Offer = BTreeMap<EpochId, Vec<BatchNumber>>;

/// As much of `stock` as an offer may have, from the front on.
pub(super) fn offer(stock: impl Iterator<Item = (EpochId, Vec<BatchNumber>)>) -> Offer {
    let mut room = MAX_BATCHES;
    let mut offer = Offer::new();
    for (id, mut batches) in stock.take(MAX_EPOCHS) {
        batches.truncate(room);
        room -= batches.len();
        if !batches.is_empty() {
            offer.insert(id, batches);
        }
    }
    offer
}

fn encode(offer: &Offer) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (id, batches) in offer {
        bytes.extend_from_slice(&id.0);
        bytes.extend_from_slice(&(batches.len() as u32).to_le_bytes());
        for batch in batches {
            bytes.push(batch.worker);
            bytes.extend_from_slice(&batch.serial.to_le_bytes());
        }
    }
    bytes
}

/// The inverse of [`encode`], or `None` for anything that it does not write.
fn decode(mut bytes: &[u8]) -> Option<Offer> {
    fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (first, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(*first)
    }
    let mut offer = Offer::new();
    let mut room = MAX_BATCHES;
    while !bytes.is_empty() {
        let id = EpochId(take(&mut bytes)?);
        let count = u32::from_le_bytes(take(&mut bytes)?) as usize;
        room = room.checked_sub(count)?;
        let mut batches = Vec::with_capacity(count.min(bytes.len() / BATCH_BYTES));
        for _ in 0..count {
            let [worker] = take(&mut bytes)?;
            let serial = u32::from_le_bytes(take(&mut bytes)?);
            batches.push(BatchNumber { worker, serial });
        }
        let sorted = batches.is_sorted_by(|a, b| a < b);
        let next = offer.last_key_value().is_none_or(|(last, _)| *last < id);
        if count == 0 || !sorted || !next || offer.len() == MAX_EPOCHS {
            return None;
        }
        offer.insert(id, batches);
    }
    Some(offer)
}

/// Tells both peers what this party has; gives what all three have, which is the same at both honest parties.
pub(super) fn in_common(me: PartyId, ours: &Offer, ring: &mut Ring) -> Result<Offer> {
    let sent = encode(ours);
    let length = (sent.len() as u32).to_le_bytes();
    let lengths = ring.exchange(steps::STOCK_OFFER, &length, &length)?;
    let lengths = [lengths.0, lengths.1].map(|length| u32::from_le_bytes(length) as usize);
    let mut bodies = [Vec::new(), Vec::new()];
    let mut channels = [&mut ring.previous, &mut ring.next];
    let malformed = |peer, what| Err(cheated(Check::MessageForm, Some(peer), steps::STOCK_OFFER, what));
    for (channel, length) in channels.iter_mut().zip(lengths) {
        if length > MAX_BYTES {
            return malformed(channel.peer(), "it offers more stock than allowed");
        }
        channel.send(steps::STOCK_OFFER, &sent)?;
        channel.flush()?;
    }
    let mut theirs = Vec::with_capacity(2);
    for ((channel, length), body) in channels.iter_mut().zip(lengths).zip(&mut bodies) {
        body.resize(length, 0);
        channel.recv(steps::STOCK_OFFER, body)?;
        match decode(body) {
            Some(offer) => theirs.push(offer),
            None => return malformed(channel.peer(), "its offer of stock is malformed"),
        }
    }
    let [from_previous, from_next] = &bodies;
    confirm(me, [&sent, from_next, from_previous], ring)?;

    let mut common = ours.clone();
    common.retain(|id, batches| {
        batches.retain(|batch| {
            let has = |offer: &Offer| {
                offer
                    .get(id)
                    .is_some_and(|theirs| theirs.binary_search(batch).is_ok())
            };
            theirs.iter().all(has)
        });
        !batches.is_empty()
    });
    Ok(common)
}

/// Makes sure that all parties have the same three offers. `offers` are in the order of the ring from `me` on.
fn confirm(me: PartyId, offers: [&[u8]; 3], ring: &mut Ring) -> Result<()> {
    let mut word = [0; 96];
    for (distance, offer) in offers.into_iter().enumerate() {
        let owner = (me.index() + distance) % 3;
        word[32 * owner..][..32].copy_from_slice(&Sha256::digest(offer));
    }
    let (from_previous, from_next) = ring.exchange(steps::STOCK_ECHO, &word, &word)?;
    let peers = [ring.previous.peer(), ring.next.peer()];
    for (theirs, peer) in [from_previous, from_next].into_iter().zip(peers) {
        for owner in 0..3 {
            let part = 32 * owner..32 * owner + 32;
            if theirs[part.clone()] == word[part] {
                continue;
            }
            // A party's word on the offer of the third party may be true: then that one told us two things.
            let own = owner == me.index() || owner == peer.index();
            return Err(cheated(
                Check::ViewComparison,
                own.then_some(peer),
                steps::STOCK_ECHO,
                "the parties were told different things about what is in stock",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(worker: u8, serial: u32) -> BatchNumber {
        BatchNumber { worker, serial }
    }

    fn example() -> Offer {
        [
            (EpochId([1; 32]), vec![number(0, 3), number(1, 0)]),
            (EpochId([2; 32]), vec![number(0, 0)]),
        ]
        .into()
    }

    #[test]
    fn only_what_encode_writes_is_read() {
        let bytes = encode(&example());
        assert_eq!(decode(&bytes), Some(example()));
        assert_eq!(decode(&[]), Some(Offer::new()));
        for cut in 1..bytes.len() {
            let whole_epoch = cut == EPOCH_BYTES + 2 * BATCH_BYTES;
            assert_eq!(decode(&bytes[..cut]).is_some(), whole_epoch, "{cut}");
        }
        let first = &bytes[..EPOCH_BYTES + 2 * BATCH_BYTES];
        assert_eq!(decode(&[first, first].concat()), None, "an epoch twice");
        assert_eq!(
            decode(&[&bytes[first.len()..], first].concat()),
            None,
            "out of order"
        );
        let mut twice = first.to_vec();
        twice.copy_within(36..41, 41);
        assert_eq!(decode(&twice), None, "a batch twice");
        let mut endless = first.to_vec();
        endless[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(decode(&endless), None, "more than allowed");
        let mut none = first[..EPOCH_BYTES].to_vec();
        none[32..36].fill(0);
        assert_eq!(decode(&none), None, "an epoch of nothing");
    }

    #[test]
    fn an_offer_has_bounds() {
        let epoch = |index: u32| {
            let mut id = [0; 32];
            id[..4].copy_from_slice(&index.to_be_bytes());
            EpochId(id)
        };
        let batches = |count| (0..count).map(|serial| number(0, serial)).collect::<Vec<_>>();
        let many = offer((0..5).map(|index| (epoch(index), batches(30_000))));
        assert_eq!(many.values().map(Vec::len).sum::<usize>(), MAX_BATCHES);
        assert!(many.contains_key(&epoch(0)) && !many.contains_key(&epoch(3)));
        assert!(decode(&encode(&many)).is_some());
        let epochs = offer((0..5000).map(|index| (epoch(index), batches(1))));
        assert_eq!(epochs.len(), MAX_EPOCHS);
        let bytes = encode(&epochs);
        assert!(bytes.len() <= MAX_BYTES && decode(&bytes).is_some());
    }
}

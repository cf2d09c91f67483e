//! Telling peers lists, and making sure that all were told the same.
//!
//! Honest parties must choose the same material. The choice is a function of what all have told, so it is enough that
//! they have heard the same: where there are several peers, each party tells the others hashes of what it has heard.

use std::collections::BTreeMap;

use blake3::Hasher;
use cenote_net::{Channel, PartyId, Step};
use cenote_session::{Check, Error, MESSAGE_FORM, Result};

use crate::offer::Told;
use crate::steps::STOCK_ECHO;

/// The channels to all peers of a session.
pub(crate) type Channels<'a, 'b> = &'a mut [&'b mut dyn Channel];

/// Tells all peers a list of this party's, and hears theirs. What all told, by party.
pub(crate) fn exchange<T: Told>(
    me: PartyId,
    own: T,
    channels: Channels<'_, '_>,
    step: Step,
    what: &str,
) -> Result<BTreeMap<PartyId, T>> {
    let sent = own.encode();
    let malformed = |peer, how| {
        let detail = format!("its list, {what}, is {how}");
        Error::cheated(MESSAGE_FORM, peer, step, detail)
    };
    for channel in channels.iter_mut() {
        channel.send(step, &(sent.len() as u32).to_le_bytes())?;
        channel.flush()?;
    }
    let mut lengths = Vec::new();
    for channel in channels.iter_mut() {
        let mut length = [0; 4];
        channel.recv(step, &mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > T::MAX_BYTES {
            return Err(malformed(channel.peer(), "longer than allowed"));
        }
        lengths.push(length);
    }
    for channel in channels.iter_mut() {
        channel.send(step, &sent)?;
        channel.flush()?;
    }
    let mut told = BTreeMap::from([(me, own)]);
    for (channel, length) in channels.iter_mut().zip(lengths) {
        let mut body = vec![0; length];
        channel.recv(step, &mut body)?;
        let list = T::decode(&body).ok_or_else(|| malformed(channel.peer(), "malformed"))?;
        told.insert(channel.peer(), list);
    }
    Ok(told)
}

/// What was told, for [`confirm`].
pub(crate) fn add<T: Told>(heard: &mut BTreeMap<PartyId, Hasher>, told: &BTreeMap<PartyId, T>) {
    for (party, list) in told {
        let list = list.encode();
        let hasher = heard.entry(*party).or_default();
        hasher.update(&(list.len() as u64).to_le_bytes()).update(&list);
    }
}

/// Makes sure that all parties have heard the same of each.
pub(crate) fn confirm(
    me: PartyId,
    heard: &BTreeMap<PartyId, Hasher>,
    channels: Channels<'_, '_>,
    differing: Check,
) -> Result<()> {
    if channels.len() < 2 {
        return Ok(());
    }
    let word: Vec<u8> = heard
        .values()
        .flat_map(|hasher| *hasher.finalize().as_bytes())
        .collect();
    for channel in channels.iter_mut() {
        channel.send(STOCK_ECHO, &word)?;
        channel.flush()?;
    }
    let mut theirs = vec![vec![0; word.len()]; channels.len()];
    for (channel, theirs) in channels.iter_mut().zip(&mut theirs) {
        channel.recv(STOCK_ECHO, theirs)?;
    }
    for (channel, theirs) in channels.iter().zip(&theirs) {
        let peer = channel.peer();
        for ((owner, ours), theirs) in heard.keys().zip(word.chunks(32)).zip(theirs.chunks(32)) {
            if ours == theirs {
                continue;
            }
            // A party's word on what a third one told may be true: then that one told us two things.
            let own = *owner == me || *owner == peer;
            return Err(Error::cheated(
                differing,
                own.then_some(peer),
                STOCK_ECHO,
                "the parties were told different things about what is in stock",
            ));
        }
    }
    Ok(())
}

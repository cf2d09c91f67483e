//! What the parties of a job that stands say to each other besides its session: which calls there are, and which are computed next.
//!
//! Each follower offers the leader the calls that it makes, by name. The leader says which calls are computed next, in which order; each party then does the same
//! in the session. No value is in any of this.

use std::collections::BTreeMap;

use cenote::PartyId;
use cenote::runner::Connections;
use cenote_net::{Channel, Step, recv_sized, send_sized};
use cenote_service::job::{CallId, Digest};
use cenote_session::{Error, Result, Topology};

use super::checks::CALLS;
use crate::message::LEADER;

cenote_net::steps! {
    /// Every step.
    ALL;
    /// How many calls may have been answered, to the leader and back.
    USED = 0x600, "compare the calls of a job that stands";
    /// The length of what follows.
    OFFERS_LENGTH = 0x601, "tell of calls";
    /// Names of calls that a party makes, to the leader.
    OFFERS = 0x602, "offer calls";
    /// The length of what follows.
    BATCH_LENGTH = 0x603, "tell of a batch of calls";
    /// What comes next, from the leader.
    BATCH = 0x604, "begin a batch of calls";
    /// The length of what follows.
    VALUES_LENGTH = 0x605, "tell of the values of a query's parameters";
    /// The values of a query's parameters, from its caller.
    VALUES = 0x606, "give the values of a query's parameters";
    /// Whether a party can take part in a call of a query.
    ASSENT = 0x607, "say whether a query can be answered";
    /// The digest of the calls that begin, from each follower to the other.
    BEGUN = 0x608, "compare the calls that begin";
}

/// Names in a message, at most.
pub(super) const MOST: usize = 4096;
const NAME: usize = size_of::<CallId>();
/// Bytes of the values of a query's parameters, at most.
const MOST_VALUES: usize = 1 << 17;

/// The channels of this: for what is offered, for what comes next, and for what else the parties say to each other of it.
pub(crate) struct Words {
    pub(super) offers: Vec<Box<dyn Channel>>,
    pub(super) batches: Vec<Box<dyn Channel>>,
    /// Those to all others.
    pub(super) others: Vec<Box<dyn Channel>>,
}

impl Words {
    /// What joins the parties for them.
    pub(crate) fn topology(parties: u8) -> Topology {
        Topology {
            name: "calls".into(),
            parties,
            workers: 1,
            purposes: &["offers", "batches", "others"],
            shared: &[],
        }
    }

    /// Of the first two kinds those to the leader, at a follower; at the leader, those to all others.
    pub(crate) fn of(me: u8, connections: Connections) -> Self {
        let is_wanted = |peer: PartyId| me == LEADER || peer.0 == LEADER;
        let mut purposes = connections.by_purpose().into_iter();
        let mut next = || -> Vec<Box<dyn Channel>> {
            let channels = purposes.next().unwrap_or_default().into_iter();
            channels.filter(|channel| is_wanted(channel.peer())).collect()
        };
        let (offers, batches) = (next(), next());
        Words {
            offers,
            batches,
            others: purposes.next().unwrap_or_default(),
        }
    }
}

/// What a follower says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Offers {
    /// Calls that it makes.
    pub(super) make: Vec<CallId>,
    /// Calls that it made, and takes back unless all callers have made them.
    pub(super) take_back: Vec<CallId>,
}

/// What the leader says to one follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The session ends here, in order.
    pub(super) is_last: bool,
    /// Calls that are computed now, side by side in this order.
    pub(super) begin: Vec<CallId>,
    /// Calls that this follower has taken back.
    pub(super) drop: Vec<CallId>,
}

impl Word {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.is_last)];
        put(&mut bytes, &self.begin, &self.drop);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (flag, rest) = bytes.split_first()?;
        let (begin, drop) = take(rest)?;
        (*flag <= 1).then_some(Word {
            is_last: *flag == 1,
            begin,
            drop,
        })
    }

    /// Tells a follower.
    pub(super) fn send(&self, channel: &mut dyn Channel) -> Result<()> {
        Ok(send_sized(channel, [BATCH_LENGTH, BATCH], &self.to_bytes())?)
    }

    /// Hears the leader.
    pub(super) fn recv(channel: &mut dyn Channel) -> Result<Self> {
        let bytes = recv_sized(channel, [BATCH_LENGTH, BATCH], 5 + 2 * MOST * NAME)?;
        Word::parse(&bytes).ok_or_else(|| unclear(channel, BATCH))
    }
}

impl Offers {
    /// Tells the leader, at most [`MOST`] of each at once.
    pub(super) fn send(&self, channel: &mut dyn Channel) -> Result<()> {
        let mut bytes = Vec::new();
        put(&mut bytes, &self.make, &self.take_back);
        Ok(send_sized(channel, [OFFERS_LENGTH, OFFERS], &bytes)?)
    }

    /// Hears a follower.
    pub(super) fn recv(channel: &mut dyn Channel) -> Result<Self> {
        let bytes = recv_sized(channel, [OFFERS_LENGTH, OFFERS], 4 + 2 * MOST * NAME)?;
        let (make, take_back) = take(&bytes).ok_or_else(|| unclear(channel, OFFERS))?;
        Ok(Offers { make, take_back })
    }
}

/// Tells how many calls may have been answered.
pub(super) fn send_used(channel: &mut dyn Channel, used: u64) -> Result<()> {
    channel.send(USED, &used.to_le_bytes())?;
    Ok(channel.flush()?)
}

/// Hears how many may have been.
pub(super) fn recv_used(channel: &mut dyn Channel) -> Result<u64> {
    let mut bytes = [0; 8];
    channel.recv(USED, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Tells the values of a query's parameters.
pub(super) fn send_values(channel: &mut dyn Channel, values: &BTreeMap<String, String>) -> Result<()> {
    let text = serde_json::to_vec(values).unwrap_or_default();
    Ok(send_sized(channel, [VALUES_LENGTH, VALUES], &text)?)
}

/// Hears the values of a query's parameters, whatever they are called.
pub(super) fn recv_values(channel: &mut dyn Channel) -> Result<BTreeMap<String, String>> {
    let text = recv_sized(channel, [VALUES_LENGTH, VALUES], MOST_VALUES)?;
    serde_json::from_slice(&text).map_err(|_| {
        Error::cheated(
            CALLS,
            channel.peer(),
            VALUES,
            "values of parameters that are none",
        )
    })
}

/// Says whether this party can take part in a call.
pub(super) fn send_assent(channel: &mut dyn Channel, can: bool) -> Result<()> {
    channel.send(ASSENT, &[u8::from(can)])?;
    Ok(channel.flush()?)
}

/// Hears whether a party can.
pub(super) fn recv_assent(channel: &mut dyn Channel) -> Result<bool> {
    let mut byte = [0];
    channel.recv(ASSENT, &mut byte)?;
    match byte {
        [can @ 0..=1] => Ok(can == 1),
        _ => Err(Error::cheated(
            CALLS,
            channel.peer(),
            ASSENT,
            "neither that it can answer nor that it cannot",
        )),
    }
}

/// Tells another follower which calls begin.
pub(super) fn send_begun(channel: &mut dyn Channel, calls: &[CallId]) -> Result<()> {
    channel.send(BEGUN, &digest(calls).0)?;
    Ok(channel.flush()?)
}

/// Sees that another follower was told of the same calls. Which of the two, or the leader, is wrong cannot be told.
pub(super) fn check_begun(channel: &mut dyn Channel, calls: &[CallId]) -> Result<()> {
    let mut theirs = Digest([0; 32]);
    channel.recv(BEGUN, &mut theirs.0)?;
    match theirs == digest(calls) {
        true => Ok(()),
        false => {
            let what = format!("{} says that the leader has begun other calls", channel.peer());
            Err(Error::cheated(CALLS, None, BEGUN, what))
        }
    }
}

/// The digest of the names of calls.
pub(super) fn digest(calls: &[CallId]) -> Digest {
    let names: Vec<u8> = calls.iter().flat_map(|call| call.0).collect();
    Digest::of(&names)
}

/// Names of two kinds, after the number of the first.
fn put(bytes: &mut Vec<u8>, first: &[CallId], second: &[CallId]) {
    bytes.extend((first.len() as u32).to_le_bytes());
    bytes.extend(first.iter().chain(second).flat_map(|name| name.0));
}

fn take(bytes: &[u8]) -> Option<(Vec<CallId>, Vec<CallId>)> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let (names, rest) = rest.as_chunks::<NAME>();
    let count = u32::from_le_bytes(*count) as usize;
    if !rest.is_empty() || count > names.len() {
        return None;
    }
    let mut first: Vec<CallId> = names.iter().copied().map(CallId).collect();
    let second = first.split_off(count);
    Some((first, second))
}

fn unclear(channel: &dyn Channel, step: Step) -> Error {
    Error::cheated(CALLS, channel.peer(), step, "names of calls that are no names")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_as_they_are_and_others_are_refused() {
        let word = Word {
            is_last: false,
            begin: vec![CallId([1; 16]), CallId([2; 16])],
            drop: vec![CallId([3; 16])],
        };
        let bytes = word.to_bytes();
        assert_eq!(Word::parse(&bytes), Some(word));
        for wrong in [
            &[][..],
            &bytes[..4],
            &bytes[..bytes.len() - 1],
            &[&[2], &bytes[1..]].concat(),
        ] {
            assert_eq!(Word::parse(wrong), None);
        }
        let mut more = bytes;
        more[1] = 4;
        assert_eq!(Word::parse(&more), None);
    }
}

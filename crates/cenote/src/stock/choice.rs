//! Which items of stock all parties of a session can use: each tells the others what it has before they compare what they run.

use std::collections::BTreeMap;

use cenote_net::Step;
use cenote_session::{Connections, Error as EngineError, MESSAGE_FORM};
use cenote_store::{ItemId, RUN_BYTES, Runs, Stored};

use crate::Result;

/// The items that a party can use, to all others.
const STOCK_CHOICE: Step = Step {
    code: 0x510,
    name: "choose stock",
};

/// Most items that are told.
const MOST: usize = 32;
/// Most runs of what is left of an item that are told.
const MOST_RUNS: usize = 32;
/// Bytes of an item's name.
const NAME: usize = 32;
/// Bytes of a message's length.
const LENGTH: usize = 4;
/// Most bytes of a message: of each item its name, the number of runs, and these.
const MOST_BYTES: usize = MOST * (NAME + 1 + MOST_RUNS * RUN_BYTES);

/// Tells all peers which items this party can use in the session and what is left of them, and hears the same of them. Those that all can, in the order
/// of `own`, with what is left of each at all: of an item that is scattered over many places some of it. If a peer tells the others different things, the
/// handshake that follows fails.
///
/// # Errors
/// What happened on the network; a peer that tells what nobody tells.
pub fn common(connections: &mut Connections, own: &[Stored]) -> Result<Vec<Stored>> {
    let mut common: Vec<Stored> = own.iter().take(MOST).cloned().collect();
    for stored in &mut common {
        stored.left = std::mem::take(&mut stored.left).truncated(MOST_RUNS);
    }
    let word = encode(&common);
    for channel in connections.first() {
        let length = (word.len() as u32).to_le_bytes();
        channel.send(STOCK_CHOICE, &length).map_err(EngineError::from)?;
        channel.send(STOCK_CHOICE, &word).map_err(EngineError::from)?;
        channel.flush().map_err(EngineError::from)?;
    }
    for channel in connections.first() {
        let peer = channel.peer();
        let refused = |what| EngineError::cheated(MESSAGE_FORM, peer, STOCK_CHOICE, what);
        let mut length = [0; LENGTH];
        channel
            .recv(STOCK_CHOICE, &mut length)
            .map_err(EngineError::from)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MOST_BYTES {
            return Err(refused("it tells more items of stock than fit").into());
        }
        let mut word = vec![0; length];
        channel.recv(STOCK_CHOICE, &mut word).map_err(EngineError::from)?;
        let told = decode(&word).ok_or_else(|| refused("its list of items of stock is malformed"))?;
        common.retain_mut(|stored| {
            let Some(left) = told.get(&stored.item.id) else {
                return false;
            };
            stored.left = stored.left.common(left);
            true
        });
    }
    Ok(common)
}

fn encode(items: &[Stored]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for stored in items {
        let left = stored.left.encode();
        bytes.extend_from_slice(&stored.item.id.0);
        bytes.push((left.len() / RUN_BYTES) as u8);
        bytes.extend_from_slice(&left);
    }
    bytes
}

/// The inverse of [`encode`]; nothing if it tells of an item twice, or of more than anybody tells.
fn decode(mut bytes: &[u8]) -> Option<BTreeMap<ItemId, Runs>> {
    let mut told = BTreeMap::new();
    while !bytes.is_empty() {
        let (id, rest) = bytes.split_first_chunk::<NAME>()?;
        let (&count, rest) = rest.split_first()?;
        let (left, rest) = rest.split_at_checked(usize::from(count) * RUN_BYTES)?;
        let is_new = told.insert(ItemId(*id), Runs::decode(left)?).is_none();
        if !is_new || told.len() > MOST || usize::from(count) > MOST_RUNS {
            return None;
        }
        bytes = rest;
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cenote_net::PartyId;
    use cenote_store::{Item, Keys, Run};

    use super::*;
    use crate::Protocol;

    /// An item of which these numbers are left.
    fn stored(number: u8, left: std::ops::Range<u64>) -> Stored {
        Stored {
            item: Item {
                id: ItemId([number; 32]),
                protocol: String::new(),
                party: PartyId(0),
                role: String::new(),
                settings: String::new(),
                made: 0,
                peers: Default::default(),
                keys: Keys(Vec::new().into()),
            },
            living: false,
            states: Vec::new(),
            left: runs(left),
            lacked_by: Vec::new(),
        }
    }

    fn runs(left: std::ops::Range<u64>) -> Runs {
        let left = (!left.is_empty()).then(|| Run::new(0, left));
        left.into_iter().collect()
    }

    #[test]
    fn what_all_have_is_chosen() {
        let topology = Protocol::default().topology();
        let mut all = Connections::in_memory(&topology, Duration::from_secs(20));
        let has = [
            vec![stored(1, 0..9), stored(2, 0..9), stored(3, 0..0)],
            vec![stored(3, 0..0), stored(2, 1..9)],
            vec![stored(2, 0..5), stored(3, 0..0), stored(9, 0..9)],
        ];
        let found: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = all
                .iter_mut()
                .zip(&has)
                .map(|(connections, own)| scope.spawn(move || common(connections, own)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap().unwrap())
                .collect()
        });
        let (second, third) = (stored(2, 1..5), stored(3, 0..0));
        assert_eq!(found[0], [second.clone(), third.clone()]);
        assert_eq!(found[1], [third.clone(), second.clone()]);
        assert_eq!(found[2], [second, third]);
    }

    #[test]
    fn lists_are_read_strictly() {
        let list = [stored(1, 0..9), stored(2, 3..4), stored(3, 0..0)];
        let bytes = encode(&list);
        let told = decode(&bytes).unwrap();
        assert!(list.iter().all(|stored| told[&stored.item.id] == stored.left));
        let ends = [0, 50, 100, 133];
        for length in 0..bytes.len() {
            assert_eq!(
                decode(&bytes[..length]).is_some(),
                ends.contains(&length),
                "{length}"
            );
        }
        assert_eq!(bytes.len(), ends[3]);
        assert_eq!(decode(&[&bytes[..50], &bytes[..50]].concat()), None, "twice");
        let many: Vec<_> = (0..=MOST as u8).map(|number| stored(number, 0..1)).collect();
        assert!(decode(&encode(&many[1..])).is_some());
        assert_eq!(decode(&encode(&many)), None, "too many");
        let mut scattered = stored(1, 0..0);
        scattered.left = (0..=MOST_RUNS as u64)
            .map(|at| Run::new(0, 2 * at..2 * at + 1))
            .collect();
        assert_eq!(decode(&encode(&[scattered])), None, "too many runs");
    }

    #[test]
    fn nonsense_is_refused() {
        for (length, body, what) in [
            (MOST_BYTES as u32 + 1, Vec::new(), "more items"),
            (3, vec![0; 3], "malformed"),
        ] {
            let topology = Protocol::named("lego").unwrap().topology();
            let mut all = Connections::in_memory(&topology, Duration::from_secs(20));
            for channel in all[1].first() {
                channel.send(STOCK_CHOICE, &length.to_le_bytes()).unwrap();
                channel.send(STOCK_CHOICE, &body).unwrap();
                channel.flush().unwrap();
            }
            let error = common(&mut all[0], &[stored(1, 0..9)]).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}

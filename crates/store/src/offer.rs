//! What a party has in stock, as it tells its peers: first the names of its items, then what is left of those that all have.
//!
//! Both lists are bounded, and told from the front on where there is more. Since only common items are told of, and in
//! runs, what a peer has lost cannot keep the rest from being told.

use std::collections::BTreeMap;

use crate::item::ItemId;
use crate::runs::{RUN_BYTES, Runs};

/// Most items that are named.
pub(crate) const MAX_NAMES: usize = 1 << 14;
/// Most items in an offer.
pub(crate) const MAX_ITEMS: usize = 1 << 10;
/// Most runs in an offer.
pub(crate) const MAX_RUNS: usize = 1 << 16;
/// Bytes of an item's name.
const NAME_BYTES: usize = 32;
/// Bytes of an item's name, when it was made, and its number of runs.
pub(crate) const ITEM_BYTES: usize = NAME_BYTES + 8 + 4;
/// Bytes of a nonce.
const NONCE: usize = 16;

/// A list that can be told to peers.
pub(crate) trait Told: Sized {
    /// Most bytes of its encoding.
    const MAX_BYTES: usize;

    fn encode(&self) -> Vec<u8>;

    /// The inverse of [`Told::encode`], or `None` for anything that it does not write.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl Told for Runs {
    const MAX_BYTES: usize = MAX_RUNS * RUN_BYTES;

    fn encode(&self) -> Vec<u8> {
        Runs::encode(self)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Runs::decode(bytes)
    }
}

/// Names of items, in order, none twice, and a number that this session alone has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Names {
    nonce: [u8; NONCE],
    names: Vec<ItemId>,
}

impl Names {
    /// As many of `names` as may be told.
    pub(crate) fn new(nonce: [u8; NONCE], names: impl Iterator<Item = ItemId>) -> Self {
        let mut names: Vec<_> = names.take(MAX_NAMES).collect();
        names.sort_unstable();
        Self { nonce, names }
    }

    pub(crate) fn nonce(&self) -> &[u8; NONCE] {
        &self.nonce
    }

    pub(crate) fn contains(&self, id: &ItemId) -> bool {
        self.names.binary_search(id).is_ok()
    }

    /// Whether there may be more than were told.
    pub(crate) fn is_full(&self) -> bool {
        self.names.len() == MAX_NAMES
    }
}

impl Told for Names {
    const MAX_BYTES: usize = NONCE + MAX_NAMES * NAME_BYTES;

    fn encode(&self) -> Vec<u8> {
        let names = self.names.iter().map(|id| &id.0);
        self.nonce.iter().chain(names.flatten()).copied().collect()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (nonce, names) = bytes.split_first_chunk()?;
        let (names, rest) = names.as_chunks();
        let names: Vec<_> = names.iter().copied().map(ItemId).collect();
        let strict = names.is_sorted_by(|a, b| a < b);
        let nonce = *nonce;
        (rest.is_empty() && strict && names.len() <= MAX_NAMES).then_some(Self { nonce, names })
    }
}

/// When each item was made, in milliseconds since 1970, and what is left of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer(BTreeMap<ItemId, (u64, Runs)>);

impl Offer {
    /// As much of `stock` as an offer may have, from the front on.
    pub(crate) fn new<'a>(stock: impl Iterator<Item = (ItemId, u64, &'a Runs)>) -> Self {
        let mut room = MAX_RUNS;
        let mut offer = BTreeMap::new();
        for (id, made, left) in stock.take(MAX_ITEMS) {
            let left = left.clone().truncated(room);
            room -= left.len();
            if !left.is_empty() {
                offer.insert(id, (made, left));
            }
        }
        Self(offer)
    }

    pub(crate) fn get(&self, id: &ItemId) -> Option<&(u64, Runs)> {
        self.0.get(id)
    }
}

impl Told for Offer {
    const MAX_BYTES: usize = MAX_ITEMS * ITEM_BYTES + MAX_RUNS * RUN_BYTES;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (id, (made, left)) in &self.0 {
            bytes.extend_from_slice(&id.0);
            bytes.extend_from_slice(&made.to_le_bytes());
            bytes.extend_from_slice(&(left.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&left.encode());
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
            let (first, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(*first)
        }
        let mut offer = BTreeMap::new();
        let mut room = MAX_RUNS;
        while !bytes.is_empty() {
            let id = ItemId(take(&mut bytes)?);
            let made = u64::from_le_bytes(take(&mut bytes)?);
            let count = u32::from_le_bytes(take(&mut bytes)?) as usize;
            room = room.checked_sub(count)?;
            let (runs, rest) = bytes.split_at_checked(count * RUN_BYTES)?;
            bytes = rest;
            let left = Runs::decode(runs)?;
            let next = offer.last_key_value().is_none_or(|(last, _)| *last < id);
            if left.is_empty() || !next || offer.len() == MAX_ITEMS {
                return None;
            }
            offer.insert(id, (made, left));
        }
        Some(Self(offer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Run;

    fn item(index: u32) -> ItemId {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&index.to_be_bytes());
        ItemId(id)
    }

    fn offer(stock: &[(ItemId, Runs)]) -> Offer {
        Offer::new(stock.iter().map(|(id, left)| (*id, 7, left)))
    }

    fn runs<const N: usize>(runs: [Run; N]) -> Runs {
        runs.into_iter().collect()
    }

    fn example() -> Offer {
        offer(&[
            (item(1), runs([Run::new(0, 3..5), Run::new(1, 0..1)])),
            (item(2), runs([Run::new(0, 0..1)])),
        ])
    }

    #[test]
    fn only_what_encode_writes_is_read() {
        let bytes = example().encode();
        assert_eq!(Offer::decode(&bytes), Some(example()));
        assert_eq!(Offer::decode(&[]), Some(Offer::default()));
        let first = &bytes[..ITEM_BYTES + 2 * RUN_BYTES];
        for cut in 1..bytes.len() {
            assert_eq!(
                Offer::decode(&bytes[..cut]).is_some(),
                cut == first.len(),
                "{cut}"
            );
        }
        assert_eq!(Offer::decode(&[first, first].concat()), None, "an item twice");
        assert_eq!(
            Offer::decode(&[&bytes[first.len()..], first].concat()),
            None,
            "out of order"
        );
        let mut many = first.to_vec();
        many[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Offer::decode(&many), None, "more runs than allowed");
        let mut twice = first.to_vec();
        twice.copy_within(ITEM_BYTES..ITEM_BYTES + RUN_BYTES, ITEM_BYTES + RUN_BYTES);
        assert_eq!(Offer::decode(&twice), None, "a run twice");
        let mut none = first[..ITEM_BYTES].to_vec();
        none[40..44].fill(0);
        assert_eq!(Offer::decode(&none), None, "an item of nothing");
    }

    #[test]
    fn names_are_read_strictly() {
        let names = Names::new([9; 16], [3, 1, 2].map(item).into_iter());
        let bytes = names.encode();
        assert!([1, 2, 3].iter().all(|index| names.contains(&item(*index))));
        assert!(!names.contains(&item(4)) && !names.is_full());
        assert_eq!(Names::decode(&bytes), Some(names));
        assert_eq!(Names::decode(&bytes[..15]), None, "half a nonce");
        assert_eq!(Names::decode(&bytes[..63]), None, "half a name");
        let (nonce, first, second) = (&bytes[..16], &bytes[16..48], &bytes[48..80]);
        assert_eq!(
            Names::decode(&[nonce, second, first].concat()),
            None,
            "out of order"
        );
        assert_eq!(Names::decode(&[nonce, first, first].concat()), None, "twice");
        let many = Names::new([9; 16], (0..20_000).map(item));
        assert!(many.is_full() && many.encode().len() == Names::MAX_BYTES);
        let more: Vec<u8> = (0..MAX_NAMES as u32 + 1)
            .flat_map(|index| item(index).0)
            .collect();
        assert_eq!(Names::decode(&[nonce, &more].concat()), None, "more than allowed");
    }

    #[test]
    fn an_offer_has_bounds() {
        // Every other number: as many runs as numbers.
        let apart = |count: u64| {
            (0..count)
                .map(|number| Run::new(0, 2 * number..2 * number + 1))
                .collect::<Runs>()
        };
        let many: Vec<_> = (0..5).map(|index| (item(index), apart(30_000))).collect();
        let many = offer(&many);
        assert_eq!(
            many.0.values().map(|(_, left)| left.len()).sum::<usize>(),
            MAX_RUNS
        );
        assert!(many.get(&item(0)).is_some() && many.get(&item(3)).is_none());
        assert!(Offer::decode(&many.encode()).is_some());
        let items: Vec<_> = (0..5000).map(|index| (item(index), apart(1))).collect();
        let items = offer(&items);
        assert_eq!(items.0.len(), MAX_ITEMS);
        let bytes = items.encode();
        assert!(bytes.len() <= Offer::MAX_BYTES && Offer::decode(&bytes).is_some());
        // Numbers that follow each other take no room, however many they are.
        let whole: Vec<_> = (0..3)
            .map(|index| (item(index), runs([Run::new(0, 0..70_000)])))
            .collect();
        let whole = offer(&whole);
        assert!(
            whole
                .get(&item(2))
                .unwrap()
                .1
                .contains(Run::new(0, 69_999..70_000))
        );
    }
}

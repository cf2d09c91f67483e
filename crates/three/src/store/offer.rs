//! What a party has in stock, as it tells its peers: first the names of its epochs, then the batches of those that all have.
//!
//! Both lists are bounded, and told from the front on where there is more. Since batches are told of common epochs only,
//! and as runs of numbers, what a peer has lost cannot keep the rest from being told.

use std::collections::BTreeMap;

use super::{BatchNumber, EpochId};

/// Most epochs that are named.
const MAX_NAMES: usize = 1 << 14;
/// Most epochs in an offer.
const MAX_EPOCHS: usize = 1 << 10;
/// Most runs of batches in an offer.
const MAX_RUNS: usize = 1 << 16;
/// Bytes of an epoch's name.
const NAME_BYTES: usize = 32;
/// Bytes of an epoch's name and number of runs.
const EPOCH_BYTES: usize = NAME_BYTES + 4;
/// Bytes of a run: a worker, its first serial number, and how many.
const RUN_BYTES: usize = 9;

/// A list that can be told to peers.
pub(super) trait Told: Sized {
    /// Most bytes of its encoding.
    const MAX_BYTES: usize;

    fn encode(&self) -> Vec<u8>;

    /// The inverse of [`Told::encode`], or `None` for anything that it does not write.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// Names of epochs, in order, none twice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names(Vec<EpochId>);

impl Names {
    /// As many of `names` as may be told.
    pub(super) fn new(names: impl Iterator<Item = EpochId>) -> Self {
        let mut names: Vec<_> = names.take(MAX_NAMES).collect();
        names.sort_unstable();
        Self(names)
    }

    pub(super) fn contains(&self, id: &EpochId) -> bool {
        self.0.binary_search(id).is_ok()
    }

    /// Whether there may be more than were told.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() == MAX_NAMES
    }
}

impl Told for Names {
    const MAX_BYTES: usize = MAX_NAMES * NAME_BYTES;

    fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|id| id.0).collect()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (names, rest) = bytes.as_chunks();
        let names: Vec<_> = names.iter().copied().map(EpochId).collect();
        let strict = names.is_sorted_by(|a, b| a < b);
        (rest.is_empty() && strict && names.len() <= MAX_NAMES).then_some(Self(names))
    }
}

/// Batches of one worker that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    worker: u8,
    first: u32,
    /// At least one.
    count: u32,
}

impl Run {
    /// The serial number after its last, which may be one more than there are.
    fn end(self) -> u64 {
        u64::from(self.first) + u64::from(self.count)
    }

    fn contains(self, batch: BatchNumber) -> bool {
        self.worker == batch.worker && (u64::from(self.first)..self.end()).contains(&u64::from(batch.serial))
    }
}

/// The batches of each epoch: runs as long as can be, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Offer(BTreeMap<EpochId, Vec<Run>>);

impl Offer {
    /// As much of `stock` as an offer may have, from the front on. The batches of each epoch are in order.
    pub(super) fn new<'a, B>(stock: impl Iterator<Item = (EpochId, B)>) -> Self
    where
        B: Iterator<Item = &'a BatchNumber>,
    {
        let mut room = MAX_RUNS;
        let mut offer = BTreeMap::new();
        for (id, batches) in stock.take(MAX_EPOCHS) {
            let mut runs: Vec<Run> = Vec::new();
            for &BatchNumber { worker, serial } in batches {
                if let Some(run) = runs.last_mut()
                    && run.worker == worker
                    && run.end() == u64::from(serial)
                {
                    run.count += 1;
                } else if runs.len() < room {
                    runs.push(Run {
                        worker,
                        first: serial,
                        count: 1,
                    });
                } else {
                    break;
                }
            }
            room -= runs.len();
            if !runs.is_empty() {
                offer.insert(id, runs);
            }
        }
        Self(offer)
    }

    pub(super) fn contains(&self, id: &EpochId, batch: BatchNumber) -> bool {
        self.0.get(id).is_some_and(|runs| {
            let begun = |run: &Run| (run.worker, run.first) <= (batch.worker, batch.serial);
            let after = runs.partition_point(begun);
            after > 0 && runs[after - 1].contains(batch)
        })
    }
}

impl Told for Offer {
    const MAX_BYTES: usize = MAX_EPOCHS * EPOCH_BYTES + MAX_RUNS * RUN_BYTES;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (id, runs) in &self.0 {
            bytes.extend_from_slice(&id.0);
            bytes.extend_from_slice(&(runs.len() as u32).to_le_bytes());
            for run in runs {
                bytes.push(run.worker);
                bytes.extend_from_slice(&run.first.to_le_bytes());
                bytes.extend_from_slice(&run.count.to_le_bytes());
            }
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
            let id = EpochId(take(&mut bytes)?);
            let count = u32::from_le_bytes(take(&mut bytes)?) as usize;
            room = room.checked_sub(count)?;
            let mut runs: Vec<Run> = Vec::with_capacity(count.min(bytes.len() / RUN_BYTES));
            for _ in 0..count {
                let [worker] = take(&mut bytes)?;
                let [first, count] = [take(&mut bytes)?, take(&mut bytes)?].map(u32::from_le_bytes);
                let run = Run { worker, first, count };
                let apart = |last: &Run| (last.worker, last.end()) < (worker, u64::from(first));
                if count == 0 || run.end() > 1 << 32 || !runs.last().is_none_or(apart) {
                    return None;
                }
                runs.push(run);
            }
            let next = offer.last_key_value().is_none_or(|(last, _)| *last < id);
            if runs.is_empty() || !next || offer.len() == MAX_EPOCHS {
                return None;
            }
            offer.insert(id, runs);
        }
        Some(Self(offer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(worker: u8, serial: u32) -> BatchNumber {
        BatchNumber { worker, serial }
    }

    fn epoch(index: u32) -> EpochId {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&index.to_be_bytes());
        EpochId(id)
    }

    fn offer(stock: &[(EpochId, Vec<BatchNumber>)]) -> Offer {
        Offer::new(stock.iter().map(|(id, batches)| (*id, batches.iter())))
    }

    fn example() -> Offer {
        offer(&[
            (epoch(1), vec![number(0, 3), number(0, 4), number(1, 0)]),
            (epoch(2), vec![number(0, 0)]),
        ])
    }

    #[test]
    fn an_offer_has_the_batches_that_were_put_in() {
        let batches = [(0, 1), (0, 2), (0, 5), (1, 6), (3, u32::MAX)].map(|(w, s)| number(w, s));
        let offer = offer(&[(epoch(7), batches.to_vec())]);
        for worker in 0..5 {
            for serial in [0, 1, 2, 3, 4, 5, 6, 7, u32::MAX - 1, u32::MAX] {
                let batch = number(worker, serial);
                assert_eq!(
                    offer.contains(&epoch(7), batch),
                    batches.contains(&batch),
                    "{batch:?}"
                );
                assert!(!offer.contains(&epoch(8), batch));
            }
        }
        assert_eq!(Offer::decode(&offer.encode()), Some(offer));
    }

    #[test]
    fn only_what_encode_writes_is_read() {
        let bytes = example().encode();
        assert_eq!(Offer::decode(&bytes), Some(example()));
        assert_eq!(Offer::decode(&[]), Some(Offer::default()));
        let first = &bytes[..EPOCH_BYTES + 2 * RUN_BYTES];
        for cut in 1..bytes.len() {
            assert_eq!(
                Offer::decode(&bytes[..cut]).is_some(),
                cut == first.len(),
                "{cut}"
            );
        }
        assert_eq!(Offer::decode(&[first, first].concat()), None, "an epoch twice");
        assert_eq!(
            Offer::decode(&[&bytes[first.len()..], first].concat()),
            None,
            "out of order"
        );
        let changed = |at: usize, value: u32| {
            let mut bytes = first.to_vec();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            Offer::decode(&bytes)
        };
        assert_eq!(changed(32, u32::MAX), None, "more runs than allowed");
        assert_eq!(changed(41, 0), None, "an empty run");
        assert_eq!(changed(41, u32::MAX), None, "more than there are numbers");
        assert!(changed(41, u32::MAX - 2).is_some());
        let mut twice = first.to_vec();
        twice.copy_within(36..45, 45);
        assert_eq!(Offer::decode(&twice), None, "a run twice");
        // Worker 0's batch 5 belongs to the run of 3 and 4.
        twice[46] = 5;
        assert_eq!(Offer::decode(&twice), None, "runs that touch");
        twice[46] = 6;
        assert!(Offer::decode(&twice).is_some());
        let mut none = first[..EPOCH_BYTES].to_vec();
        none[32..36].fill(0);
        assert_eq!(Offer::decode(&none), None, "an epoch of nothing");
    }

    #[test]
    fn names_are_read_strictly() {
        let names = Names::new([3, 1, 2].map(epoch).into_iter());
        let bytes = names.encode();
        assert!([1, 2, 3].iter().all(|index| names.contains(&epoch(*index))));
        assert!(!names.contains(&epoch(4)) && !names.is_full());
        assert_eq!(Names::decode(&bytes), Some(names));
        assert_eq!(Names::decode(&bytes[1..]), None, "half a name");
        assert_eq!(
            Names::decode(&[&bytes[32..], &bytes[..32]].concat()),
            None,
            "out of order"
        );
        assert_eq!(
            Names::decode(&[&bytes[..32], &bytes[..32]].concat()),
            None,
            "twice"
        );
        let many = Names::new((0..20_000).map(epoch));
        assert!(many.is_full() && many.encode().len() == Names::MAX_BYTES);
        let more: Vec<u8> = (0..MAX_NAMES as u32 + 1)
            .flat_map(|index| epoch(index).0)
            .collect();
        assert_eq!(Names::decode(&more), None, "more than allowed");
    }

    #[test]
    fn an_offer_has_bounds() {
        // Every other batch: as many runs as batches.
        let apart = |count: u32| (0..count).map(|serial| number(0, 2 * serial)).collect::<Vec<_>>();
        let many: Vec<_> = (0..5).map(|index| (epoch(index), apart(30_000))).collect();
        let many = offer(&many);
        assert_eq!(many.0.values().map(Vec::len).sum::<usize>(), MAX_RUNS);
        assert!(many.contains(&epoch(0), number(0, 0)) && !many.contains(&epoch(3), number(0, 0)));
        assert!(Offer::decode(&many.encode()).is_some());
        let epochs: Vec<_> = (0..5000).map(|index| (epoch(index), apart(1))).collect();
        let epochs = offer(&epochs);
        assert_eq!(epochs.0.len(), MAX_EPOCHS);
        let bytes = epochs.encode();
        assert!(bytes.len() <= Offer::MAX_BYTES && Offer::decode(&bytes).is_some());
        // Batches that follow each other take no room, however many they are.
        let whole: Vec<_> = (0..3)
            .map(|index| {
                (
                    epoch(index),
                    (0..70_000).map(|serial| number(0, serial)).collect(),
                )
            })
            .collect();
        assert!(offer(&whole).contains(&epoch(2), number(0, 69_999)));
    }
}

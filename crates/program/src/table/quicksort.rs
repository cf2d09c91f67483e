//! Which comparisons sort records, all parts at once, in few steps.

use std::ops::Range;

/// Parts of up to so many records are sorted by comparing all pairs.
const ALL_PAIRS: usize = 8;

/// Steps after which keys are put where records are.
const STEPS: usize = 4;
/// Up to so many parts they are in each step.
const FEW: usize = 64;

#[derive(Clone, Copy)]
struct Record {
    number: u32,
    /// Where its key is.
    key: u32,
}

/// Records of a part, in some order.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    count: usize,
    /// How many of the first are sorted: from their median on, all others are compared with it. None if there is no such sample yet.
    sorted: usize,
}

/// Quicksort of the records 0, 1, …, step by step: what is to be compared is asked for, and then heard. The pivot of a part is the median of a sample of about
/// its third root, all of whose pairs are compared in one step; if enough of the sample falls into one of the two parts, it is that part's. With
/// random keys a thousand records or more take less than `1.12·n·log2 n` comparisons in `2.8·log2 n` steps, which a test holds.
pub(super) struct Quicksort {
    /// Those of a part lie together, and parts in their order.
    records: Vec<Record>,
    /// Parts that are not sorted.
    parts: Vec<Part>,
    /// Room for those of a part.
    moved: Vec<Record>,
    /// How many of the least records come in their order.
    wanted: usize,
    steps: usize,
}

/// Comparisons that a sort of so many records may take more than another: six standard deviations.
pub(super) fn spare(records: usize) -> u64 {
    6 * deviation(records)
}

/// The standard deviation of the number of comparisons, at most, with random keys: a test holds it.
fn deviation(records: usize) -> u64 {
    records as u64 >> (records.max(1).ilog2() / 5)
}

impl Quicksort {
    /// Of `count` records, fewer than 2^32, the first `wanted` come in their order, and the others in some order.
    pub(super) fn new(count: usize, wanted: usize) -> Self {
        let record = |number| Record { number, key: number };
        let mut sort = Self {
            records: (0..count as u32).map(record).collect(),
            parts: Vec::new(),
            moved: Vec::new(),
            wanted,
            steps: 0,
        };
        sort.parts.extend(sort.open(0..count, 0));
        sort
    }

    /// What is to be compared next: whether the first key of each pair is less than the second. Nothing if all is sorted.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let parts = self.parts.iter();
        parts.flat_map(|part| part.pairs(&self.records[part.range()]))
    }

    /// Every few steps, and in each as long as there are few parts: the keys that are still compared, those of a part side by side, as they are numbered from
    /// now on. Keys that lie far apart take longer to collect.
    pub(super) fn nearer(&mut self) -> Option<Vec<usize>> {
        self.steps += 1;
        if self.parts.len() > FEW && !self.steps.is_multiple_of(STEPS) {
            return None;
        }
        let mut keys = Vec::new();
        for part in &self.parts {
            for record in &mut self.records[part.range()] {
                let key = std::mem::replace(&mut record.key, keys.len() as u32);
                keys.push(key as usize);
            }
        }
        (!keys.is_empty()).then_some(keys)
    }

    /// Goes on with what came of the comparisons.
    pub(super) fn hear(&mut self, less: &[bool]) {
        let mut less = less;
        let parts = std::mem::take(&mut self.parts);
        let mut next = Vec::with_capacity(2 * parts.len());
        for part in parts {
            let heard;
            (heard, less) = less.split_at(part.comparisons());
            if part.sorted > 0 {
                next.extend(self.divide(part, heard).into_iter().flatten());
            } else {
                self.sample(part, heard);
                next.extend(self.open(part.range(), part.sample()));
            }
        }
        self.parts = next;
    }

    /// The records from the least to the greatest, as far as they are wanted, once there is nothing to compare.
    pub(super) fn into_order(self) -> Vec<usize> {
        self.records
            .into_iter()
            .map(|record| record.number as usize)
            .collect()
    }

    /// The records in these places, of which the first `sorted` are, as a part, unless all of them are sorted, or none wanted. If those are too few to take their
    /// median, they count as none.
    fn open(&self, places: Range<usize>, sorted: usize) -> Option<Part> {
        let (first, count) = (places.start, places.len());
        // At least 0.3 of the third root.
        let enough = 1000 * (sorted as u128).pow(3) >= 27 * count as u128;
        let open = first < self.wanted && sorted < count && count > 1;
        open.then_some(Part {
            first,
            count,
            sorted: if enough { sorted } else { 0 },
        })
    }

    /// Puts those that are less than the median of a part's sorted ones before it, and the others behind it.
    fn divide(&mut self, part: Part, less: &[bool]) -> [Option<Part>; 2] {
        let middle = part.sorted / 2;
        let records = &mut self.records[part.range()];
        self.moved.clear();
        self.moved.extend_from_slice(&records[..middle]);
        let others = records[part.sorted..].iter().zip(less);
        self.moved.extend(
            others
                .clone()
                .filter(|(_, less)| **less)
                .map(|(record, _)| record),
        );
        let low = self.moved.len();
        self.moved.extend_from_slice(&records[middle..part.sorted]);
        self.moved
            .extend(others.filter(|(_, less)| !**less).map(|(record, _)| record));
        records.copy_from_slice(&self.moved);
        let pivot = part.first + low;
        let high = pivot + 1..part.first + part.count;
        [
            self.open(part.first..pivot, middle),
            self.open(high, part.sorted - middle - 1),
        ]
    }

    /// Sorts the sample of a part.
    fn sample(&mut self, part: Part, less: &[bool]) {
        let sample = part.sample();
        // How many of the sample are less than each.
        let mut ranks = vec![0; sample];
        let mut less = less.iter();
        for first in 0..sample {
            for second in first + 1..sample {
                let less = less.next().expect("one for each pair");
                ranks[if *less { second } else { first }] += 1;
            }
        }
        let records = &mut self.records[part.range()][..sample];
        self.moved.clear();
        self.moved.extend_from_slice(records);
        ranks
            .iter()
            .zip(&self.moved)
            .for_each(|(&rank, &record)| records[rank] = record);
    }
}

impl Part {
    fn range(self) -> Range<usize> {
        self.first..self.first + self.count
    }

    /// The number of records that all are compared with each other.
    fn sample(self) -> usize {
        match self.count {
            few @ ..=ALL_PAIRS => few,
            many => third_root(many) | 1,
        }
    }

    /// How many records are compared in its next step.
    fn comparisons(self) -> usize {
        match self.sorted {
            0 => self.sample() * (self.sample() - 1) / 2,
            sorted => self.count - sorted,
        }
    }

    fn pairs(self, records: &[Record]) -> impl Iterator<Item = (usize, usize)> {
        let key = |at: usize| records[at].key as usize;
        let (sample, others) = match self.sorted {
            0 => (self.sample(), 0..0),
            sorted => (0, sorted..self.count),
        };
        let of_sample = (0..sample)
            .flat_map(move |first| (first + 1..sample).map(move |second| (key(first), key(second))));
        let with_pivot = others.map(move |other| (key(other), key(self.sorted / 2)));
        of_sample.chain(with_pivot)
    }
}

/// The whole number that is nearest to the third root: all parties must come to the same.
fn third_root(number: usize) -> usize {
    let above = |root: &u128| (2 * root + 1).pow(3) > 8 * number as u128;
    (0..).find(above).expect("some root is large enough") as usize
}

#[cfg(test)]
mod tests {
    use cenote_primitives::{Block, Sampler};

    use super::*;

    /// How many comparisons and steps it takes to sort records with these keys, which are all different, as far as they are wanted.
    fn sorted(keys: &[u32], wanted: usize) -> (usize, usize) {
        let mut sort = Quicksort::new(keys.len(), wanted);
        let (mut compared, mut steps) = (0, 0);
        let mut keys_here = keys.to_vec();
        loop {
            let less: Vec<bool> = sort.pairs().map(|(x, y)| keys_here[x] < keys_here[y]).collect();
            if less.is_empty() {
                break;
            }
            compared += less.len();
            steps += 1;
            sort.hear(&less);
            if let Some(nearer) = sort.nearer() {
                keys_here = nearer.iter().map(|&key| keys_here[key]).collect();
            }
        }
        let order = sort.into_order();
        let mut right: Vec<usize> = (0..keys.len()).collect();
        right.sort_unstable_by_key(|&at| keys[at]);
        assert_eq!(order[..wanted], right[..wanted]);
        let mut all = order;
        all.sort_unstable();
        assert!(all.into_iter().eq(0..keys.len()));
        (compared, steps)
    }

    #[test]
    fn records_are_sorted_in_few_steps() {
        let mut sampler = Sampler::new(Block([1, 2]));
        for count in (0..40).chain([100, 1000, 1 << 14]) {
            let mut keys = vec![0u32; count];
            sampler.permutation(&mut keys);
            let (compared, steps) = sorted(&keys, count);
            sorted(&keys, count / 3);
            sorted(&keys, count.min(1));
            if count >= 1000 {
                let each = (count as f64).log2();
                let (compared, steps) = (compared as f64 / count as f64 / each, steps as f64 / each);
                assert!(compared < 1.12 && steps < 2.8, "{count}: {compared}, {steps}");
            }
        }
    }

    #[test]
    fn comparisons_spread_as_stated() {
        let mut sampler = Sampler::new(Block([1, 2]));
        for count in [9, 40, 100, 300, 1000, 4000] {
            let counts: Vec<f64> = (0..100)
                .map(|_| {
                    let mut keys = vec![0u32; count];
                    sampler.permutation(&mut keys);
                    sorted(&keys, count).0 as f64
                })
                .collect();
            let mean = counts.iter().sum::<f64>() / 100.0;
            let variance = counts
                .iter()
                .map(|compared| (compared - mean).powi(2))
                .sum::<f64>()
                / 99.0;
            let stated = deviation(count) as f64;
            assert!(
                variance.sqrt() < stated,
                "{count}: {} of {stated}",
                variance.sqrt()
            );
        }
    }

    #[test]
    fn any_answers_come_to_an_end() {
        // Orders that are the worst for pivots.
        for count in [9, 50, 300] {
            sorted(&(0..count).collect::<Vec<_>>(), count as usize);
            sorted(&(0..count).rev().collect::<Vec<_>>(), count as usize);
        }
        let mut sort = Quicksort::new(200, 200);
        while sort.pairs().next().is_some() {
            let pairs = sort.pairs().count();
            sort.hear(&vec![false; pairs]);
        }
        let mut order = sort.into_order();
        order.sort_unstable();
        assert_eq!(order, (0..200).collect::<Vec<_>>());
    }
}

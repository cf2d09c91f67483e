//! Which comparisons sort records, all parts at once, in few steps.

/// Parts of up to so many records are sorted by comparing all pairs.
const ALL_PAIRS: usize = 8;

/// Records of a part, in some order.
struct Part {
    records: Vec<usize>,
    /// How many of the first are sorted: from their median on, all others are compared with it. None if there is no such sample yet.
    sorted: usize,
}

/// Quicksort of the records 0, 1, …, step by step: what is to be compared is asked for, and then heard. The pivot of a part is the median of a sample of about
/// its third root, all of whose pairs are compared in one step; if enough of the sample falls into one of the two parts, it is that part's. With
/// random keys a thousand records or more take less than `1.12·n·log2 n` comparisons in `2.8·log2 n` steps, which a test holds.
pub(super) struct Quicksort {
    parts: Vec<Part>,
    /// How many of the least records come in their order.
    wanted: usize,
}

/// Comparisons that a sort of so many records may take more than another: six standard deviations.
pub(super) fn spare(records: usize) -> u64 {
    6 * deviation(records)
}

/// The standard deviation of the number of comparisons, at most, with random keys: a test holds it.
fn deviation(records: usize) -> u64 {
    records as u64 >> (records.max(1).ilog2() / 5)
}

/// Records that are less than others, if these are greater.
pub(super) type Pairs = (Vec<usize>, Vec<usize>);

impl Quicksort {
    /// Of `count` records the first `wanted` come in their order, and the others in some order.
    pub(super) fn new(count: usize, wanted: usize) -> Self {
        Self {
            wanted,
            parts: vec![Part {
                records: (0..count).collect(),
                sorted: 0,
            }],
        }
    }

    /// What is to be compared next: whether each of the first is less than that of the second. Nothing if all is sorted.
    pub(super) fn pairs(&self) -> Option<Pairs> {
        let mut pairs = Pairs::default();
        for part in &self.parts {
            part.pairs(|first, second| {
                pairs.0.push(first);
                pairs.1.push(second);
            });
        }
        (!pairs.0.is_empty()).then_some(pairs)
    }

    /// Goes on with what came of the comparisons.
    pub(super) fn hear(&mut self, less: &[bool]) {
        let mut less = less.iter().copied();
        let mut next = Vec::with_capacity(2 * self.parts.len());
        for part in std::mem::take(&mut self.parts) {
            part.hear(&mut less, &mut next);
        }
        let mut first = 0;
        for part in &mut next {
            if first >= self.wanted {
                part.sorted = part.records.len();
            }
            first += part.records.len();
        }
        self.parts = next;
    }

    /// The records from the least to the greatest, as far as they are wanted, once there is nothing to compare.
    pub(super) fn into_order(self) -> Vec<usize> {
        self.parts.into_iter().flat_map(|part| part.records).collect()
    }
}

impl Part {
    fn single(record: usize) -> Self {
        Self {
            records: vec![record],
            sorted: 1,
        }
    }

    /// Of these records, of which the first `sorted` are; if those are too few to take their median, they count as none.
    fn of(records: Vec<usize>, sorted: usize) -> Self {
        // At least 0.3 of the third root.
        let enough = sorted > 0 && 1000 * (sorted as u128).pow(3) >= 27 * records.len() as u128;
        let keeps = sorted == records.len() || enough;
        Self {
            sorted: if keeps { sorted } else { 0 },
            records,
        }
    }

    /// The records that all are compared with each other.
    fn sample(&self) -> usize {
        match self.records.len() {
            few @ ..=ALL_PAIRS => few,
            many => third_root(many) | 1,
        }
    }

    fn pairs(&self, mut compare: impl FnMut(usize, usize)) {
        if self.sorted == self.records.len() {
            return;
        }
        if self.sorted > 0 {
            let pivot = self.records[self.sorted / 2];
            self.records[self.sorted..]
                .iter()
                .for_each(|&other| compare(other, pivot));
            return;
        }
        let sample = &self.records[..self.sample()];
        for (at, &first) in sample.iter().enumerate() {
            sample[at + 1..].iter().for_each(|&second| compare(first, second));
        }
    }

    fn hear(mut self, less: &mut impl Iterator<Item = bool>, next: &mut Vec<Part>) {
        let mut heard = || less.next().expect("one for each pair");
        let (count, sorted) = (self.records.len(), self.sorted);
        if sorted == count {
            return next.push(self);
        }
        if sorted > 0 {
            let middle = sorted / 2;
            let others = self.records.split_off(sorted);
            let (low, high): (Vec<usize>, Vec<usize>) = others.into_iter().partition(|_| heard());
            let together =
                |known: &[usize], others: Vec<usize>| Part::of([known, &others].concat(), known.len());
            let parts = [
                together(&self.records[..middle], low),
                Part::single(self.records[middle]),
                together(&self.records[middle + 1..], high),
            ];
            next.extend(parts.into_iter().filter(|part| !part.records.is_empty()));
            return;
        }
        // How many of the sample are less than each.
        let sample = self.sample();
        let mut ranks = vec![0; sample];
        for first in 0..sample {
            for second in first + 1..sample {
                ranks[if heard() { second } else { first }] += 1;
            }
        }
        let mut ordered = vec![0; sample];
        ranks
            .iter()
            .zip(&self.records)
            .for_each(|(&rank, &record)| ordered[rank] = record);
        self.records[..sample].copy_from_slice(&ordered);
        self.sorted = sample;
        next.push(self);
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

    /// How many comparisons and steps it takes to sort records with these keys, which are all different.
    fn sorted(keys: &[u32]) -> (usize, usize) {
        let mut sort = Quicksort::new(keys.len(), keys.len());
        let (mut compared, mut steps) = (0, 0);
        while let Some((firsts, seconds)) = sort.pairs() {
            compared += firsts.len();
            steps += 1;
            let less: Vec<bool> = firsts
                .iter()
                .zip(seconds)
                .map(|(&x, y)| keys[x] < keys[y])
                .collect();
            sort.hear(&less);
        }
        let order = sort.into_order();
        assert!(order.is_sorted_by_key(|&at| keys[at]) && order.len() == keys.len());
        (compared, steps)
    }

    #[test]
    fn records_are_sorted_in_few_steps() {
        let mut sampler = Sampler::new(Block([1, 2]));
        for count in (0..40).chain([100, 1000, 1 << 14]) {
            let mut keys = vec![0u32; count];
            sampler.permutation(&mut keys);
            let (compared, steps) = sorted(&keys);
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
                    sorted(&keys).0 as f64
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
            sorted(&(0..count).collect::<Vec<_>>());
            sorted(&(0..count).rev().collect::<Vec<_>>());
        }
        let mut sort = Quicksort::new(200, 200);
        while let Some((firsts, _)) = sort.pairs() {
            sort.hear(&vec![false; firsts.len()]);
        }
        let mut order = sort.into_order();
        order.sort_unstable();
        assert_eq!(order, (0..200).collect::<Vec<_>>());
    }
}

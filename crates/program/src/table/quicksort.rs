//! Which comparisons sort records, all parts at once, in few steps.

use std::ops::Range;

use cenote_primitives::LaneRun;

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

    /// The same pairs, `at_once` after others: where the first keys lie, and the second ones.
    pub(super) fn runs(&self, at_once: usize) -> Vec<[Runs; 2]> {
        let mut all = vec![Default::default()];
        for part in &self.parts {
            part.add_runs(&self.records[part.range()], at_once, &mut all);
        }
        all.retain(|[firsts, _]: &[Runs; 2]| firsts.lanes > 0);
        all
    }

    /// Every few steps, and in each as long as there are few parts: the keys that are still compared, those of a part side by side, as they are numbered from
    /// now on. Keys that lie far apart take longer to collect.
    pub(super) fn nearer(&mut self) -> Option<Runs> {
        self.steps += 1;
        if self.parts.len() > FEW && !self.steps.is_multiple_of(STEPS) {
            return None;
        }
        let mut keys = Runs::default();
        for part in &self.parts {
            for record in &mut self.records[part.range()] {
                let key = std::mem::replace(&mut record.key, keys.lanes as u32);
                keys.add(key);
            }
        }
        (keys.lanes > 0).then_some(keys)
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
        // The pivot and what is not less wait, while what is less comes before them. Which it is cannot be foreseen, so each is written to both places.
        self.moved.clear();
        self.moved.extend_from_slice(&records[middle..part.sorted]);
        let mut more = self.moved.len();
        self.moved.resize(part.count + 1, records[0]);
        let mut low = middle;
        for (at, &less) in (part.sorted..).zip(less) {
            let record = records[at];
            records[low] = record;
            self.moved[more] = record;
            low += usize::from(less);
            more += usize::from(!less);
        }
        records[low..].copy_from_slice(&self.moved[..more]);
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

    /// Adds its next comparisons to those before it, at most `at_once` to each.
    fn add_runs(self, records: &[Record], at_once: usize, all: &mut Vec<[Runs; 2]>) {
        let mut add = |first: Record, others: &[Record], is_second: bool| {
            let mut others = others;
            while !others.is_empty() {
                let last = all.last_mut().expect("there is one");
                let now;
                (now, others) = others.split_at(others.len().min(at_once - last[0].lanes));
                let [firsts, seconds] = last;
                let (one, many) = if is_second {
                    (seconds, firsts)
                } else {
                    (firsts, seconds)
                };
                one.add_times(first.key, now.len());
                now.iter().for_each(|other| many.add(other.key));
                if last[0].lanes == at_once {
                    all.push(Default::default());
                }
            }
        };
        match self.sorted {
            0 => {
                let sample = &records[..self.sample()];
                let others = |first: usize| &sample[first + 1..];
                (0..sample.len()).for_each(|first| add(sample[first], others(first), false));
            }
            sorted => add(records[sorted / 2], &records[sorted..], true),
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

/// Keys, those that follow one another or are the same together.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) runs: Vec<LaneRun>,
    lanes: usize,
}

impl Runs {
    /// Each key.
    pub(super) fn keys(&self) -> impl Iterator<Item = usize> {
        let of_run = |run: &LaneRun| {
            let keys = run.start as usize..(run.start + run.len) as usize;
            (0..run.times).flat_map(move |_| keys.clone())
        };
        self.runs.iter().flat_map(of_run)
    }

    fn add(&mut self, key: u32) {
        self.lanes += 1;
        match self.runs.last_mut() {
            Some(last) if last.times == 1 && last.start + last.len == key => last.len += 1,
            _ => self.runs.push(LaneRun::new(0, key, 1)),
        }
    }

    fn add_times(&mut self, key: u32, times: usize) {
        self.lanes += times;
        self.runs.push(LaneRun {
            times: u32::try_from(times).expect("there are fewer than 2^32 records"),
            ..LaneRun::new(0, key, 1)
        });
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
                keys_here = nearer.keys().map(|key| keys_here[key]).collect();
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
    fn runs_have_all_pairs_in_their_order() {
        let mut sampler = Sampler::new(Block([1, 2]));
        for (count, at_once) in [(9, 1), (40, 7), (300, 64), (300, 1 << 20)] {
            let mut ranks = vec![0u32; count];
            sampler.permutation(&mut ranks);
            let mut sort = Quicksort::new(count, count);
            loop {
                let pairs: Vec<_> = sort.pairs().collect();
                let runs = sort.runs(at_once);
                assert_eq!(runs.len(), pairs.len().div_ceil(at_once));
                let mut rest = &pairs[..];
                for [firsts, seconds] in &runs {
                    let both: Vec<_> = firsts.keys().zip(seconds.keys()).collect();
                    assert_eq!(firsts.lanes, seconds.lanes);
                    assert!(both.len() == firsts.lanes && both.len() <= at_once);
                    let now;
                    (now, rest) = rest.split_at(both.len());
                    assert_eq!(both, now);
                }
                assert!(rest.is_empty());
                if pairs.is_empty() {
                    break;
                }
                let less: Vec<bool> = pairs.iter().map(|&(x, y)| ranks[x] < ranks[y]).collect();
                sort.hear(&less);
                if let Some(nearer) = sort.nearer() {
                    ranks = nearer.keys().map(|key| ranks[key]).collect();
                }
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

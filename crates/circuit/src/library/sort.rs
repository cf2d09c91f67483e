//! Sorting and merging by networks of compare-exchanges: which elements meet does not depend on the data.
//!
//! The networks are Batcher's odd-even merge sort ("Sorting networks and their applications", 1968) in the form that
//! merges lists of any lengths (Knuth, The Art of Computer Programming, volume 3, section 5.3.4), so that numbers of
//! elements that are no powers of two cost no padding. Sixteen elements or a few less are sorted by Green's network of 60
//! exchanges, the best known, where that is better (Batcher's has 63).
//!
//! An exchange of records of `r` bits by keys of `w` bits takes one comparison and one AND for each bit: `w + r` ANDs for
//! [`Goal::FewestAnds`]. Sorting `n = 2^p ≥ 16` records takes `(p² - p + 4)·2^(p-2) - 1 - 3n/16` exchanges, at most
//! `p(p + 1)/2` of them one after another, whatever the goal.
//!
//! Sorting is not stable: records with equal keys come out in an order that only depends on their places and the
//! keys. Who needs their order puts the place into the key, below its other bits.

use super::goal::Goal;
use super::integer::{less_than, less_than_signed};
use crate::{Bit, BitOrder, Builder, Circuit};

/// What a record is ordered by: its first `width` bits, an integer with the least significant bit first. The other bits
/// of the record are its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Number of bits.
    pub width: usize,
    /// Whether the key is in two's complement.
    pub signed: bool,
}

impl Key {
    /// A key that is an unsigned integer.
    pub fn unsigned(width: usize) -> Self {
        Self { width, signed: false }
    }

    /// A key in two's complement.
    pub fn signed(width: usize) -> Self {
        Self { width, signed: true }
    }
}

/// Puts the record with the smaller key into `x` and the other into `y`. Records with equal keys stay where they are.
///
/// # Panics
/// If the records have different widths, or the key is wider than they are.
pub fn compare_exchange(b: &mut Builder, x: &mut [Bit], y: &mut [Bit], key: Key, goal: Goal) {
    let swap = greater(b, &x[..key.width], &y[..key.width], key.signed, goal);
    exchange_if(b, swap, x, y);
}

/// The record with the smaller key and the one with the larger key, `x` and `y` if the keys are equal.
///
/// # Panics
/// If the records have different widths, or the key is wider than they are.
pub fn min_max(b: &mut Builder, x: &[Bit], y: &[Bit], key: Key, goal: Goal) -> (Vec<Bit>, Vec<Bit>) {
    let (mut x, mut y) = (x.to_vec(), y.to_vec());
    compare_exchange(b, &mut x, &mut y, key, goal);
    (x, y)
}

/// Sorts records by their keys, smallest first.
///
/// # Panics
/// If the records have different widths, or the key is wider than they are.
pub fn sort(b: &mut Builder, records: &mut [Vec<Bit>], key: Key, goal: Goal) {
    let mut network = Network::default();
    let lines: Vec<usize> = (0..records.len()).collect();
    let order = network.sort(&lines, goal);
    network.apply(b, records, key, goal);
    arrange(records, &order);
}

/// Merges two lists, each already sorted by the keys, smallest first: for `n` and `n` records with `n = 2^p`, by
/// `p·n + 1` exchanges of which at most `p + 1` are one after another.
///
/// # Panics
/// If the records have different widths, or the key is wider than they are.
pub fn merge(b: &mut Builder, x: &[Vec<Bit>], y: &[Vec<Bit>], key: Key, goal: Goal) -> Vec<Vec<Bit>> {
    let mut records = [x, y].concat();
    let mut network = Network::default();
    let lines: Vec<usize> = (0..records.len()).collect();
    let (low, high) = lines.split_at(x.len());
    let order = network.merge(low, high);
    network.apply(b, &mut records, key, goal);
    arrange(&mut records, &order);
    records
}

/// The compare-exchanges that sort `count` records, in order, each of which leaves the smaller record on its first line; and
/// the lines from the smallest record on.
pub fn sorting_network(count: usize) -> (Vec<(usize, usize)>, Vec<usize>) {
    let mut network = Network::default();
    let order = network.sort(&(0..count).collect::<Vec<_>>(), Goal::FewestAnds);
    (network.exchanges, order)
}

/// As [`sorting_network`], for `x` records that are sorted already and `y` more that are, too.
pub fn merging_network(x: usize, y: usize) -> (Vec<(usize, usize)>, Vec<usize>) {
    let mut network = Network::default();
    let lines: Vec<usize> = (0..x + y).collect();
    let order = network.merge(&lines[..x], &lines[x..]);
    (network.exchanges, order)
}

/// Sorts `count` integers of `width` bits: inputs `x0`, `x1`, …, outputs `sorted0`, `sorted1`, …, smallest first, all
/// [`BitOrder::Lsb`].
///
/// # Panics
/// If the circuit would have 2^31 gates or more.
pub fn sort_integers(count: usize, width: u32, signed: bool, goal: Goal) -> Circuit {
    let mut b = Builder::new();
    build_sort(&mut b, count, width, signed, goal);
    b.finish()
}

/// As [`sort_integers`], in an empty circuit.
pub(super) fn build_sort(b: &mut Builder, count: usize, width: u32, signed: bool, goal: Goal) {
    let mut records: Vec<Vec<Bit>> = (0..count)
        .map(|i| b.input(&format!("x{i}"), width, BitOrder::Lsb))
        .collect();
    let key = Key {
        width: width as usize,
        signed,
    };
    sort(b, &mut records, key, goal);
    for (i, record) in records.iter().enumerate() {
        b.output(&format!("sorted{i}"), record, BitOrder::Lsb);
    }
}

/// Whether `x > y`.
fn greater(b: &mut Builder, x: &[Bit], y: &[Bit], signed: bool, goal: Goal) -> Bit {
    match (goal, signed) {
        (Goal::FewestAnds, _) => ripple_greater(b, x, y, signed),
        (Goal::LeastDepth, false) => less_than(b, y, x, goal),
        (Goal::LeastDepth, true) => less_than_signed(b, y, x, goal),
    }
}

/// Whether `x > y`, with one AND a bit. It differs from [`less_than`] in that it reads `y` only through `x ⊕ y`, which the
/// exchange needs anyway.
fn ripple_greater(b: &mut Builder, x: &[Bit], y: &[Bit], signed: bool) -> Bit {
    let mut result = Bit::FALSE;
    for (i, (&x_bit, &y_bit)) in x.iter().zip(y).enumerate() {
        let differ = b.xor(x_bit, y_bit);
        // Where the bits differ, that of `x` decides, but for the sign that of `y`.
        let decides = if signed && i + 1 == x.len() { y_bit } else { x_bit };
        let change = b.xor(decides, result);
        let change = b.and(differ, change);
        result = b.xor(result, change);
    }
    result
}

/// Exchanges `x` and `y` if `swap`, with one AND a bit.
///
/// # Panics
/// If they have different widths.
pub fn exchange_if(b: &mut Builder, swap: Bit, x: &mut [Bit], y: &mut [Bit]) {
    assert_eq!(x.len(), y.len(), "the records have different widths");
    for (x, y) in x.iter_mut().zip(y) {
        let differ = b.xor(*x, *y);
        let change = b.and(swap, differ);
        *x = b.xor(*x, change);
        *y = b.xor(*y, change);
    }
}

/// Exchanges each two records if the bit beside them says so.
pub(super) fn exchange_all(
    b: &mut Builder,
    records: &mut [Vec<Bit>],
    exchanges: impl Iterator<Item = ((usize, usize), Bit)>,
) {
    for ((x, y), swap) in exchanges {
        let [x, y] = records
            .get_disjoint_mut([x, y])
            .expect("two lines of the network");
        exchange_if(b, swap, x, y);
    }
}

/// Puts record `order[i]` at place `i`.
fn arrange(records: &mut [Vec<Bit>], order: &[usize]) {
    let arranged: Vec<Vec<Bit>> = order.iter().map(|&i| std::mem::take(&mut records[i])).collect();
    for (place, record) in records.iter_mut().zip(arranged) {
        *place = record;
    }
}

/// Green's sorting network of 16 lines and depth 10 (Knuth, section 5.3.4, figure 49). Without its highest lines it
/// sorts as many less.
#[rustfmt::skip]
const GREEN: [(usize, usize); 60] = [
    (0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11), (12, 13), (14, 15),
    (0, 2), (4, 6), (8, 10), (12, 14), (1, 3), (5, 7), (9, 11), (13, 15),
    (0, 4), (8, 12), (1, 5), (9, 13), (2, 6), (10, 14), (3, 7), (11, 15),
    (0, 8), (1, 9), (2, 10), (3, 11), (4, 12), (5, 13), (6, 14), (7, 15),
    (5, 10), (6, 9), (3, 12), (13, 14), (4, 8), (7, 11), (1, 2),
    (1, 4), (7, 13), (2, 8), (11, 14),
    (2, 4), (5, 6), (9, 10), (11, 13), (3, 8), (7, 12),
    (6, 8), (10, 12), (3, 5), (7, 9),
    (3, 4), (5, 6), (7, 8), (9, 10), (11, 12),
    (6, 7), (8, 9),
];

/// Compare-exchanges in order. Each leaves the smaller record on its first line.
#[derive(Clone, Debug, Default)]
struct Network {
    exchanges: Vec<(usize, usize)>,
}

impl Network {
    /// Adds the exchanges that sort `lines`; the result lists the lines from the smallest record on.
    fn sort(&mut self, lines: &[usize], goal: Goal) -> Vec<usize> {
        let count = lines.len();
        if count < 2 {
            return lines.to_vec();
        }
        let mut batcher = Network::default();
        let (low, high) = lines.split_at(count.div_ceil(2));
        let (low, high) = (batcher.sort(low, goal), batcher.sort(high, goal));
        let order = batcher.merge(&low, &high);
        if count <= 16 {
            let kept = GREEN.iter().filter(|exchange| exchange.1 < count);
            let green = Network {
                exchanges: kept.map(|&(x, y)| (lines[x], lines[y])).collect(),
            };
            if green.cost(goal) < batcher.cost(goal) {
                self.exchanges.extend(green.exchanges);
                return lines.to_vec();
            }
        }
        self.exchanges.extend(batcher.exchanges);
        order
    }

    /// Adds the exchanges that merge two sorted lists of lines; the result lists the lines from the smallest record on.
    fn merge(&mut self, x: &[usize], y: &[usize]) -> Vec<usize> {
        let levels = x.len().max(y.len()).next_power_of_two().ilog2();
        // Of both lists, every 2^level-th line from each of the first 2^level on, merged; at first no more than one of each list.
        let mut merged: Vec<usize> = Vec::with_capacity(x.len() + y.len());
        for place in 0..1 << levels {
            let (x, y) = (x.get(place), y.get(place));
            self.exchanges.extend(x.copied().zip(y.copied()));
            merged.extend(x.into_iter().chain(y));
        }
        for level in (0..levels).rev() {
            let count = 1usize << level;
            let size = |first: usize| {
                let of = |lines: &[usize]| lines.len().saturating_sub(first).div_ceil(2 * count);
                of(x) + of(y)
            };
            let mut odd_from: usize = (0..count).map(size).sum();
            let mut even_from = 0;
            let mut longer = Vec::with_capacity(merged.len());
            for first in 0..count {
                let even = &merged[even_from..][..size(first)];
                let odd = &merged[odd_from..][..size(first + count)];
                (even_from, odd_from) = (even_from + even.len(), odd_from + odd.len());
                // A list alone is sorted.
                let both = first < x.len().min(y.len());
                // The smallest record is the first of an even place. Of those after it, an odd and an even place share each two.
                longer.extend(even.first());
                for place in 0..odd.len().max(even.len().saturating_sub(1)) {
                    let (x, y) = (odd.get(place), even.get(place + 1));
                    if both {
                        self.exchanges.extend(x.copied().zip(y.copied()));
                    }
                    longer.extend(x.into_iter().chain(y));
                }
            }
            merged = longer;
        }
        merged
    }

    /// What a network should have little of, most important first: exchanges and depth.
    fn cost(&self, goal: Goal) -> (usize, usize) {
        match goal {
            Goal::FewestAnds => (self.exchanges.len(), self.depth()),
            Goal::LeastDepth => (self.depth(), self.exchanges.len()),
        }
    }

    /// The largest number of exchanges one after another.
    fn depth(&self) -> usize {
        let lines = self.exchanges.iter().map(|&(x, y)| x.max(y) + 1).max();
        let mut depths = vec![0; lines.unwrap_or(0)];
        for &(x, y) in &self.exchanges {
            let depth = depths[x].max(depths[y]) + 1;
            (depths[x], depths[y]) = (depth, depth);
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Builds the exchanges.
    fn apply(&self, b: &mut Builder, records: &mut [Vec<Bit>], key: Key, goal: Goal) {
        for &(i, j) in &self.exchanges {
            let [x, y] = records
                .get_disjoint_mut([i, j])
                .expect("an exchange has two lines of the network");
            compare_exchange(b, x, y, key, goal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOALS: [Goal; 2] = [Goal::FewestAnds, Goal::LeastDepth];

    fn sorting(count: usize, goal: Goal) -> (Network, Vec<usize>) {
        let mut network = Network::default();
        let order = network.sort(&(0..count).collect::<Vec<_>>(), goal);
        (network, order)
    }

    /// Whether the network sorts: by the 0/1 principle, it does if it sorts zeros and ones. `lines[i]` has the bit of line
    /// `i` in 64 inputs at once.
    fn sorts(network: &Network, order: &[usize], mut lines: Vec<u64>) -> bool {
        for &(x, y) in &network.exchanges {
            (lines[x], lines[y]) = (lines[x] & lines[y], lines[x] | lines[y]);
        }
        order.windows(2).all(|pair| lines[pair[0]] & !lines[pair[1]] == 0)
    }

    /// Bit `i` of the 64 numbers from `first` on, a multiple of 64.
    fn column(i: usize, first: u64) -> u64 {
        const LOW: [u64; 6] = [
            0xaaaa_aaaa_aaaa_aaaa,
            0xcccc_cccc_cccc_cccc,
            0xf0f0_f0f0_f0f0_f0f0,
            0xff00_ff00_ff00_ff00,
            0xffff_0000_ffff_0000,
            0xffff_ffff_0000_0000,
        ];
        LOW.get(i).copied().unwrap_or((first >> i & 1).wrapping_neg())
    }

    #[test]
    fn networks_sort_all_zeros_and_ones() {
        for goal in GOALS {
            for count in 0..=20 {
                let (network, order) = sorting(count, goal);
                for first in (0..1u64 << count).step_by(64) {
                    let lines = (0..count).map(|i| column(i, first)).collect();
                    assert!(sorts(&network, &order, lines), "{count} {goal:?}");
                }
            }
        }
    }

    /// A merge sorts if it does for all sorted lists of zeros and ones, which are few.
    #[test]
    fn merges_of_all_lengths_sort() {
        for x in 0..=33 {
            for y in 0..=33 {
                let lines: Vec<usize> = (0..x + y).collect();
                let mut network = Network::default();
                let order = network.merge(&lines[..x], &lines[x..]);
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, lines);
                for zeros in 0..=x {
                    // Lane k has k zeros in the second list.
                    let bits = (0..x + y).map(|i| {
                        if i < x {
                            u64::from(i >= zeros).wrapping_neg()
                        } else {
                            (0..64).fold(0, |lanes, k| lanes | u64::from(i - x >= k) << k)
                        }
                    });
                    assert!(sorts(&network, &order, bits.collect()), "{x} + {y}");
                }
            }
        }
    }

    #[test]
    fn exchanges_and_depth_are_as_documented() {
        for p in 1..=10usize {
            let count = 1 << p;
            let batcher = ((p * p - p + 4) << p) / 4 - 1;
            for goal in GOALS {
                let (network, _) = sorting(count, goal);
                let green = if p < 4 { 0 } else { 3 * count / 16 };
                assert_eq!(network.exchanges.len(), batcher - green, "{count}");
                assert!(network.depth() <= p * (p + 1) / 2, "{count}");
            }
            let lines: Vec<usize> = (0..2 * count).collect();
            let mut network = Network::default();
            network.merge(&lines[..count], &lines[count..]);
            assert_eq!(network.exchanges.len(), p * count + 1);
            assert_eq!(network.depth(), p + 1);
        }
        // The best networks known have 1, 3, 5, 9, 12, 16, 19, 25, 29, 35, 39, 45, 51, 56 and 60 exchanges.
        let counts: Vec<usize> = (2..=16)
            .map(|n| sorting(n, Goal::FewestAnds).0.exchanges.len())
            .collect();
        assert_eq!(counts, [1, 3, 5, 9, 12, 16, 19, 26, 31, 36, 40, 46, 51, 56, 60]);
    }

    #[test]
    fn a_shallow_network_is_never_deeper() {
        for count in 2..200 {
            let (few, _) = sorting(count, Goal::FewestAnds);
            let (shallow, _) = sorting(count, Goal::LeastDepth);
            assert!(shallow.depth() <= few.depth() && shallow.exchanges.len() >= few.exchanges.len());
            let levels = count.next_power_of_two().ilog2() as usize;
            assert!(shallow.depth() <= levels * (levels + 1) / 2, "{count}");
        }
    }
}

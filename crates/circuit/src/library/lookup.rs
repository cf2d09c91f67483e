//! Tables read at a secret index.
//!
//! A secret table takes a tree of choices. A public table of `2^k` entries is, in each of its output bits, a polynomial
//! in the bits of the index: all products of index bits take `2^k - k - 1` ANDs, the rest is XORs. Fewer are enough if
//! there are few output bits: with the index cut in two, a polynomial is a matrix that pairs products of the one part with
//! products of the other, and takes as many further ANDs as the matrix has rank. The cut is chosen for the table at hand.

use super::integer::{bits_below, is_zero, mux};
use crate::{Bit, Builder};

/// Entry `index` of a public table, 0 beyond its end. With an index of `k` bits and entries of `w`, each cut `k = i + j`
/// gives a circuit of at most `2^i - i - 1 + 2^j - j - 1 + w · (2^min(i, j) - 1)` ANDs, of which the best is taken, so
/// at most `2^k - k - 1`, of which at most `⌈log2 k⌉ + 1` are one after another. An index that is longer than the table
/// needs takes an AND for each bit of an entry and for each bit too many.
///
/// # Panics
/// If the entries have different widths.
pub fn lookup(b: &mut Builder, index: &[Bit], table: &[Vec<bool>]) -> Vec<Bit> {
    let width = table.first().map_or(0, Vec::len);
    let same = table.iter().all(|entry| entry.len() == width);
    assert!(same, "the entries have different widths");
    let (low, high) = index.split_at(bits_below(table.len()).min(index.len()));
    let polynomials: Vec<Vec<bool>> = (0..width).map(|i| polynomial(table, i, low.len())).collect();
    let cheapest = (0..=low.len())
        .map(|cut| {
            let forms: Vec<Form> = polynomials.iter().map(|p| Form::new(p, cut)).collect();
            let products = 2 * low.len() + forms.iter().map(|form| form.pairs.len()).sum::<usize>();
            let cost = (1usize << cut) + (1 << (low.len() - cut)) + products;
            (cost, cut, forms)
        })
        .min_by_key(|&(cost, cut, _)| (cost, cut));
    let (_, cut, forms) = cheapest.expect("there is a cut at 0");
    let (outer, inner) = low.split_at(cut);
    let (outer, inner) = (products(b, outer), products(b, inner));
    let entry: Vec<Bit> = forms.iter().map(|form| form.apply(b, &outer, &inner)).collect();
    zero_unless_zero(b, high, &entry)
}

/// Entry `index` of a secret table, 0 beyond its end: for `2^k` entries of `w` bits, `(2^k - 1) · w` ANDs, of which `k` are
/// one after another. An index that is longer than the table needs costs as in [`lookup`].
///
/// # Panics
/// If the entries have different widths.
pub fn lookup_secret(b: &mut Builder, index: &[Bit], table: &[Vec<Bit>]) -> Vec<Bit> {
    let Some(first) = table.first() else {
        return Vec::new();
    };
    let (low, high) = index.split_at(bits_below(table.len()).min(index.len()));
    let zero = vec![Bit::FALSE; first.len()];
    let mut entries = table.to_vec();
    for &bit in low {
        entries = entries
            .chunks(2)
            .map(|pair| mux(b, bit, pair.get(1).unwrap_or(&zero), &pair[0]))
            .collect();
    }
    zero_unless_zero(b, high, &entries[0])
}

/// `entry` if all bits of `high` are 0, else 0.
fn zero_unless_zero(b: &mut Builder, high: &[Bit], entry: &[Bit]) -> Vec<Bit> {
    let within = is_zero(b, high);
    entry.iter().map(|&bit| b.and(within, bit)).collect()
}

/// Bit `i` of the entries as a polynomial in `variables` index bits: element `m` is the coefficient of the product of those
/// that the bits of `m` name.
fn polynomial(table: &[Vec<bool>], i: usize, variables: usize) -> Vec<bool> {
    let mut values: Vec<bool> = table.iter().map(|entry| entry[i]).collect();
    values.resize(1 << variables, false);
    for variable in 0..variables {
        for m in (0..values.len()).filter(|m| m >> variable & 1 == 1) {
            values[m] ^= values[m ^ 1 << variable];
        }
    }
    values
}

/// The products of all subsets of `bits`: element `m` is that of those that the bits of `m` name.
fn products(b: &mut Builder, bits: &[Bit]) -> Vec<Bit> {
    let mut products = vec![Bit::TRUE];
    for m in 1usize..1 << bits.len() {
        let product = if m.is_power_of_two() {
            bits[m.ilog2() as usize]
        } else {
            // Half of the factors each, for little depth.
            let mut low = 0usize;
            while low.count_ones() < m.count_ones() / 2 {
                let rest = m ^ low;
                low |= rest & rest.wrapping_neg();
            }
            b.and(products[low], products[m ^ low])
        };
        products.push(product);
    }
    products
}

/// A set of positions, 64 to a word.
type Set = Vec<u64>;

fn members(set: &Set) -> impl Iterator<Item = usize> {
    (0..64 * set.len()).filter(|i| set[i / 64] >> (i % 64) & 1 == 1)
}

fn highest(set: &Set) -> Option<usize> {
    let word = set.iter().rposition(|&word| word != 0)?;
    Some(64 * word + set[word].ilog2() as usize)
}

fn toggle(set: &mut Set, i: usize) {
    set[i / 64] ^= 1 << (i % 64);
}

/// A polynomial as a sum of `(sum of outer products) ∧ (sum of inner products)`, where the outer products are those of the
/// first variables, and the inner ones those of the others.
struct Form {
    /// Inner products that stand alone.
    inner: Set,
    /// Outer products that stand alone.
    outer: Set,
    pairs: Vec<(Set, Set)>,
}

impl Form {
    /// With the first `cut` variables in the outer products; it has as few pairs as there can be.
    fn new(polynomial: &[bool], cut: usize) -> Self {
        let (rows, columns) = (1usize << cut, polynomial.len() >> cut);
        let empty = |size: usize| vec![0; size.div_ceil(64)];
        let mut form = Form {
            inner: empty(columns),
            outer: empty(rows),
            pairs: Vec::new(),
        };
        for outer in 0..rows {
            let mut row = empty(columns);
            for inner in (0..columns).filter(|inner| polynomial[inner << cut | outer]) {
                toggle(&mut row, inner);
            }
            if outer == 0 {
                form.inner = row;
                continue;
            }
            if row[0] & 1 == 1 {
                toggle(&mut row, 0);
                toggle(&mut form.outer, outer);
            }
            form.add_row(outer, row, empty(rows));
        }
        form
    }

    /// Adds outer product `outer` times the sum `row` of inner products, by the pairs that there are as far as they go.
    fn add_row(&mut self, outer: usize, mut row: Set, nothing: Set) {
        for (left, right) in &mut self.pairs {
            // The pairs are in the order of their making, and each is free of the highest members of those before it.
            let lead = highest(right).expect("pairs are not empty");
            if row[lead / 64] >> (lead % 64) & 1 == 1 {
                row.iter_mut()
                    .zip(right.iter())
                    .for_each(|(row, right)| *row ^= right);
                toggle(left, outer);
            }
        }
        if highest(&row).is_some() {
            let mut left = nothing;
            toggle(&mut left, outer);
            self.pairs.push((left, row));
        }
    }

    fn apply(&self, b: &mut Builder, outer: &[Bit], inner: &[Bit]) -> Bit {
        let sum = |b: &mut Builder, set: &Set, bits: &[Bit]| {
            members(set).fold(Bit::FALSE, |sum, i| b.xor(sum, bits[i]))
        };
        let (left, right) = (sum(b, &self.outer, outer), sum(b, &self.inner, inner));
        let mut total = b.xor(left, right);
        for (left, right) in &self.pairs {
            let (left, right) = (sum(b, left, outer), sum(b, right, inner));
            let product = b.and(left, right);
            total = b.xor(total, product);
        }
        total
    }
}

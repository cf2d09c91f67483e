//! Stable compaction: the valid items first, in their order, without a trace of which they are; and the way back.
//!
//! Sasy, Johnson and Goldberg ("Fast fully oblivious compaction and shuffling", 2022): to compact `2^k` items so that the
//! valid ones begin at place `z` and go on cyclically, compact one half from `z` on and the other from where that one ends;
//! then each two items at the same place of the halves are exchanged or not, by whether that place comes before the end
//! of the first half's items. Each of `k` levels takes `2^(k-1)` exchanges, whose control bits take one AND each.
//!
//! Counts arrive with their low bits first, so that compaction is no deeper than it has levels, and one circuit serves both
//! goals.

use super::columns::popcount;
use super::goal::Goal;
use super::integer::{add, add_with_carry, bits_below, constant};
use super::sort::exchange_all;
use crate::{Bit, BitOrder, Builder, Circuit};

/// The items of which `valid` says so, in their order, and then the others in some order; how many are valid is
/// [`popcount`] of `valid`. For `n = 2^k` items of `w` bits it takes `n·k/2` exchanges of `w` ANDs, and fewer ANDs than
/// `n·k/2 + 2n` besides; `k` are one after another.
///
/// # Panics
/// If there is not one bit of `valid` for each item, or the items have different widths.
pub fn compact(b: &mut Builder, items: &[Vec<Bit>], valid: &[Bit]) -> Vec<Vec<Bit>> {
    assert_eq!(items.len(), valid.len(), "one bit for each item");
    let mut items = items.to_vec();
    let exchanges = exchanges(b, valid);
    exchange_all(b, &mut items, exchanges.into_iter());
    items
}

/// The inverse of [`compact`]: the first items go to the places of which `valid` says so, in their order, and the others to
/// those that are left. ANDs as for [`compact`], of which at most `2k` are one after another.
///
/// # Panics
/// As [`compact`].
pub fn expand(b: &mut Builder, items: &[Vec<Bit>], valid: &[Bit]) -> Vec<Vec<Bit>> {
    assert_eq!(items.len(), valid.len(), "one bit for each item");
    let mut items = items.to_vec();
    let exchanges = exchanges(b, valid);
    exchange_all(b, &mut items, exchanges.into_iter().rev());
    items
}

/// The exchanges of [`compact`] for `n` items, each of two places, in order; [`expand`] has them from last to first.
pub fn compaction_network(n: usize) -> Vec<(usize, usize)> {
    let any = vec![Bit::FALSE; n];
    exchanges(&mut Builder::new(), &any)
        .into_iter()
        .map(|(places, _)| places)
        .collect()
}

/// The control bits of [`compaction_network`], one for each exchange.
pub fn compaction_controls(b: &mut Builder, valid: &[Bit]) -> Vec<Bit> {
    exchanges(b, valid)
        .into_iter()
        .map(|(_, control)| control)
        .collect()
}

/// Compacts `count` items of `width` bits: inputs `x0`, `x1`, … and `valid`, whose wire `i` is about `xi`; outputs `y0`, `y1`,
/// … and `count`, the number of valid items; all [`BitOrder::Lsb`].
pub fn compaction(count: usize, width: u32) -> Circuit {
    let mut b = Builder::new();
    build_compaction(&mut b, count, width);
    b.finish()
}

/// As [`compaction`], in an empty circuit.
pub(super) fn build_compaction(b: &mut Builder, count: usize, width: u32) {
    let items: Vec<Vec<Bit>> = (0..count)
        .map(|i| b.input(&format!("x{i}"), width, BitOrder::Lsb))
        .collect();
    let valid = b.input("valid", count as u32, BitOrder::Lsb);
    for (i, item) in compact(b, &items, &valid).iter().enumerate() {
        b.output(&format!("y{i}"), item, BitOrder::Lsb);
    }
    let total = popcount(b, &valid);
    b.output("count", &total, BitOrder::Lsb);
}

/// Two places, and whether what is there changes places.
type Exchange = ((usize, usize), Bit);

/// The exchanges that compact any number of items: all but a power of two by themselves, then the others so that theirs
/// follow cyclically.
fn exchanges(b: &mut Builder, valid: &[Bit]) -> Vec<Exchange> {
    let Some(k) = valid.len().checked_ilog2() else {
        return Vec::new();
    };
    let power = 1usize << k;
    let few = valid.len() - power;
    let (first, rest) = valid.split_at(few);
    let mut all = exchanges(b, first);
    // The last `few` places of the rest stand for the first places of all.
    let mut count = popcount(b, first);
    count.resize(k as usize + 1, Bit::FALSE);
    let start = constant((power - few) as u64, k as usize);
    let offset = add(b, &count[..k as usize], &start, Goal::FewestAnds);
    let mut halves = Halves {
        sums: sums(b, rest),
        first: few,
        exchanges: Vec::new(),
    };
    halves.compact(b, 0, &offset);
    all.append(&mut halves.exchanges);
    let outside = reached(b, &count[..bits_below(few + 1)]);
    all.extend(
        (0..few)
            .zip(outside)
            .map(|(i, outside)| ((i, power + i), outside)),
    );
    all
}

/// The compaction of `2^k` items.
struct Halves {
    /// `sums[j][i]` is the number of valid items among those from `i · 2^j` to `(i + 1) · 2^j`, without those before.
    sums: Vec<Vec<Vec<Bit>>>,
    /// Place of the first item.
    first: usize,
    exchanges: Vec<Exchange>,
}

impl Halves {
    /// Puts the valid ones of the items from number `from` on, as many as 2 to the width of `offset`, at place `offset` of
    /// theirs and those that follow cyclically.
    fn compact(&mut self, b: &mut Builder, from: usize, offset: &[Bit]) {
        let Some(level) = offset.len().checked_sub(1) else {
            return;
        };
        let half = 1 << level;
        // Where the items of the low half end, and whether that is in the other half than they began.
        let end = add(b, offset, &self.sums[level][from >> level], Goal::FewestAnds);
        let (turn, end) = end.split_last().expect("as wide as the offset");
        self.compact(b, from, &offset[..level]);
        self.compact(b, from + half, end);
        for (i, outside) in reached(b, end).into_iter().enumerate() {
            let place = self.first + from + i;
            let control = b.xor(*turn, outside);
            self.exchanges.push(((place, place + half), control));
        }
    }
}

/// Element `j` has the sums of each `2^j` bits, `j + 1` bits wide; there are `2^k` bits.
fn sums(b: &mut Builder, bits: &[Bit]) -> Vec<Vec<Vec<Bit>>> {
    let mut levels = vec![bits.iter().map(|&bit| vec![bit]).collect::<Vec<_>>()];
    while let Some(below) = levels.last().filter(|level| level.len() > 1) {
        let level = below
            .chunks(2)
            .map(|pair| {
                let (mut sum, carry) = add_with_carry(b, &pair[0], &pair[1], Bit::FALSE, Goal::FewestAnds);
                sum.push(carry);
                sum
            })
            .collect();
        levels.push(level);
    }
    levels
}

/// Element `i` is whether `i ≥ number`, for all `i` below `2^k`, with `2^k - k - 1` ANDs for a number of `k` bits.
fn reached(b: &mut Builder, number: &[Bit]) -> Vec<Bit> {
    let mut reached = vec![Bit::TRUE];
    for &bit in number {
        // If the bit is 0, all of the upper half is; if it is 1, none of the lower half.
        let low: Vec<Bit> = reached.iter().map(|&below| b.and(below, !bit)).collect();
        let high: Vec<Bit> = reached
            .iter()
            .zip(&low)
            .map(|(&below, &both)| {
                let either = b.xor(below, !bit);
                b.xor(either, both)
            })
            .collect();
        reached = [low, high].concat();
    }
    reached
}

//! Stable compaction: the valid items first, in their order, without a trace of which they are.
//!
//! Sasy, Johnson and Goldberg ("Fast fully oblivious compaction and shuffling", 2022): to compact `2^k` items so that the
//! valid ones begin at place `z` and go on cyclically, compact one half from `z` on and the other from where that one ends;
//! then each two items at the same place of the halves are exchanged or not, by whether that place comes before the end
//! of the first half's items. Each of `k` levels takes `2^(k-1)` exchanges, whose control bits take one AND each.

use super::Goal;
use super::columns::popcount;
use super::integer::{add, add_with_carry, bits_below, constant};
use super::sort::exchange_if;
use crate::{Bit, BitOrder, Builder, Circuit};

/// The items of which `valid` says so, in their order, and then the others in some order; how many are valid is
/// [`popcount`] of `valid`. For `n = 2^k` items of `w` bits it takes `n·k/2` exchanges of `w` ANDs, and fewer ANDs than
/// `n·k/2 + 2n` besides. No more than `k` are one after another, as counts
/// arrive with their low bits first, so that it serves both goals.
///
/// # Panics
/// If there is not one bit of `valid` for each item, or the items have different widths.
pub fn compact(b: &mut Builder, items: &[Vec<Bit>], valid: &[Bit]) -> Vec<Vec<Bit>> {
    assert_eq!(items.len(), valid.len(), "one bit for each item");
    let mut items = items.to_vec();
    compact_any(b, &mut items, valid);
    items
}

/// Compacts `count` items of `width` bits: inputs `x0`, `x1`, … and `valid`, whose wire `i` is about `xi`; outputs `y0`, `y1`,
/// … and `count`, the number of valid items; all [`BitOrder::Lsb`].
pub fn compaction(count: usize, width: u32) -> Circuit {
    let mut b = Builder::new();
    let items: Vec<Vec<Bit>> = (0..count)
        .map(|i| b.input(&format!("x{i}"), width, BitOrder::Lsb))
        .collect();
    let valid = b.input("valid", count as u32, BitOrder::Lsb);
    for (i, item) in compact(&mut b, &items, &valid).iter().enumerate() {
        b.output(&format!("y{i}"), item, BitOrder::Lsb);
    }
    let total = popcount(&mut b, &valid);
    b.output("count", &total, BitOrder::Lsb);
    b.finish()
}

/// Compacts any number of items: all but a power of two by themselves, then the others so that theirs follow cyclically.
fn compact_any(b: &mut Builder, items: &mut [Vec<Bit>], valid: &[Bit]) {
    let Some(k) = items.len().checked_ilog2() else {
        return;
    };
    let power = 1usize << k;
    let few = items.len() - power;
    let (first, rest) = items.split_at_mut(few);
    let (first_valid, rest_valid) = valid.split_at(few);
    compact_any(b, first, first_valid);
    // The last `few` places of the rest stand for the first places of all.
    let mut count = popcount(b, first_valid);
    count.resize(k as usize + 1, Bit::FALSE);
    let offset = add(
        b,
        &count[..k as usize],
        &constant((power - few) as u64, k as usize),
        Goal::FewestAnds,
    );
    let sums = sums(b, rest_valid);
    compact_from(b, rest, &offset, &sums, 0);
    let end = &count[..bits_below(few + 1)];
    let outside = reached(b, end);
    for (i, item) in first.iter_mut().enumerate() {
        exchange_if(b, outside[i], item, &mut rest[power - few + i]);
    }
}

/// Puts the valid ones of `2^k` items from place `offset` on, cyclically. `sums[j][i]` is the number of valid items among
/// those from `i · 2^j` to `(i + 1) · 2^j`, and `items` begin at number `first`.
fn compact_from(
    b: &mut Builder,
    items: &mut [Vec<Bit>],
    offset: &[Bit],
    sums: &[Vec<Vec<Bit>>],
    first: usize,
) {
    let Some(level) = offset.len().checked_sub(1) else {
        return;
    };
    let half = 1 << level;
    let (low, high) = items.split_at_mut(half);
    // Where the items of the low half end, and whether that is in the other half than they began.
    let end = add(b, offset, &sums[level][first >> level], Goal::FewestAnds);
    let (turn, end) = end.split_last().expect("not empty");
    compact_from(b, low, &offset[..level], sums, first);
    compact_from(b, high, end, sums, first + half);
    for ((x, y), outside) in low.iter_mut().zip(high).zip(reached(b, end)) {
        let control = b.xor(*turn, outside);
        exchange_if(b, control, x, y);
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

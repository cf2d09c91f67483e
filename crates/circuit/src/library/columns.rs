//! Sums of many words: bits are thrown into columns by weight, full adders thin the columns out.
//!
//! A full adder takes three bits of a column, leaves their XOR and carries their majority to the next: one AND, and
//! the depth grows only on the carry. Each AND thus removes one bit from the whole, so that the order in which bits
//! are taken changes the depth but hardly the count; the earliest bits go first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::goal::Goal;
use super::prefix::{self, Position, Wanted};
use super::timed::{Timed, timed, untimed};
use crate::{Bit, Builder};

/// Bits to be added up modulo 2^width.
pub(super) struct Columns {
    columns: Vec<Vec<Timed>>,
}

impl Columns {
    pub(super) fn new(width: usize) -> Self {
        Self {
            columns: vec![Vec::new(); width],
        }
    }

    /// Adds `bit · 2^weight`. Bits beyond the width vanish.
    pub(super) fn push(&mut self, weight: usize, bit: Timed) {
        if let Some(column) = self.columns.get_mut(weight)
            && bit.bit != Bit::FALSE
        {
            column.push(bit);
        }
    }

    /// Adds `word · 2^shift`.
    pub(super) fn push_word(&mut self, shift: usize, word: &[Timed]) {
        for (i, &bit) in word.iter().enumerate() {
            self.push(shift + i, bit);
        }
    }

    pub(super) fn sum(mut self, b: &mut Builder, goal: Goal) -> Vec<Timed> {
        self.join_constants();
        match goal {
            Goal::FewestAnds => self.ripple(b),
            Goal::LeastDepth => {
                let rows = self.two_rows(b);
                let last = rows.len().saturating_sub(1);
                let carries = carries_of(b, &rows[..last], Wanted::All);
                let carries = std::iter::once(Timed::from(Bit::FALSE)).chain(carries);
                rows.iter()
                    .zip(carries)
                    .map(|(&(x, y), carry)| {
                        let half = x.xor(b, y);
                        half.xor(b, carry)
                    })
                    .collect()
            }
        }
    }

    /// Two words with the same sum, by full adders only: the depth does not depend on the width.
    pub(super) fn carry_save(mut self, b: &mut Builder) -> [Vec<Timed>; 2] {
        self.join_constants();
        let (x, y) = self.two_rows(b).into_iter().unzip();
        [x, y]
    }

    /// Only the most significant bit of the sum.
    ///
    /// # Panics
    /// If there are no columns.
    pub(super) fn top_bit(mut self, b: &mut Builder, goal: Goal) -> Timed {
        self.join_constants();
        match goal {
            Goal::FewestAnds => *self.ripple(b).last().expect("at least one column"),
            Goal::LeastDepth => {
                let rows = self.two_rows(b);
                let (&(x, y), below) = rows.split_last().expect("at least one column");
                let half = x.xor(b, y);
                match carries_of(b, below, Wanted::Last).last() {
                    Some(&carry) => half.xor(b, carry),
                    None => half,
                }
            }
        }
    }

    /// Leaves at most one constant in each column, as its last element.
    fn join_constants(&mut self) {
        let mut carried = 0usize;
        for column in &mut self.columns {
            let ones = column.iter().filter(|t| t.is_constant()).count();
            column.retain(|t| !t.is_constant());
            let total = carried + ones;
            if total % 2 == 1 {
                column.push(Bit::TRUE.into());
            }
            carried = total / 2;
        }
    }

    /// Thins every column to one bit, from the lowest.
    fn ripple(self, b: &mut Builder) -> Vec<Timed> {
        let width = self.columns.len();
        let mut carried: Vec<Timed> = Vec::new();
        let mut sum = Vec::with_capacity(width);
        for (weight, mut column) in self.columns.into_iter().enumerate() {
            column.append(&mut carried);
            let last = weight + 1 == width;
            sum.push(if last {
                column
                    .iter()
                    .fold(Bit::FALSE.into(), |acc: Timed, &bit| acc.xor(b, bit))
            } else {
                thin(b, column, &mut carried)
            });
        }
        sum
    }

    /// Thins every column to two bits, level by level: at each depth just enough for the tallest column to come
    /// down to the next height from which two rows can be reached in one level less.
    fn two_rows(mut self, b: &mut Builder) -> Vec<(Timed, Timed)> {
        let mut depth = 0;
        let (mut ready, mut rest): (Vec<Timed>, Vec<Timed>) = Default::default();
        let mut carried: Vec<Timed> = Vec::new();
        loop {
            let tallest = self.columns.iter().map(Vec::len).max().unwrap_or(0);
            if tallest <= 2 {
                break;
            }
            let target = next_height(tallest);
            carried.clear();
            for column in &mut self.columns {
                for bit in column.drain(..) {
                    if bit.depth <= depth {
                        ready.push(bit);
                    } else {
                        rest.push(bit);
                    }
                }
                let late = rest.len();
                rest.append(&mut carried);
                while ready.len() + rest.len() > target {
                    // A half adder moves a bit out of the way of a carry; it would only churn while a bit is awaited.
                    let z = match ready.len() {
                        0 | 1 => break,
                        2 if late > 0 => break,
                        2 => Bit::FALSE.into(),
                        _ => pop(&mut ready),
                    };
                    let (y, x) = (pop(&mut ready), pop(&mut ready));
                    let (sum, carry) = full_adder(b, x, y, z);
                    ready.push(sum);
                    if carry.bit != Bit::FALSE {
                        carried.push(carry);
                    }
                }
                column.append(&mut ready);
                column.append(&mut rest);
            }
            depth += 1;
        }
        self.columns
            .into_iter()
            .map(|column| {
                let bit = |i: usize| column.get(i).copied().unwrap_or(Bit::FALSE.into());
                (bit(0), bit(1))
            })
            .collect()
    }
}

/// The largest height below `tallest` of the sequence 2, 3, 5, 9, 17 …: columns of `2h - 1` bits thin out to `h` in one
/// level, carries from below included.
fn next_height(tallest: usize) -> usize {
    let mut height = 2;
    while 2 * height - 1 < tallest {
        height = 2 * height - 1;
    }
    height
}

/// The number of set bits, `⌊log2 n⌋ + 1` bits wide, with `n` less the weight of `n` ANDs. Bit `k` is `k` deep, which
/// no circuit can beat, and fewer ANDs do not exist either, so that it serves both goals (Boyar and Peralta, "Tight
/// bounds for the multiplicative complexity of symmetric functions", 2008).
pub fn popcount(b: &mut Builder, bits: &[Bit]) -> Vec<Bit> {
    let mut columns = Columns::new(bits.len().checked_ilog2().map_or(0, |log| log as usize + 1));
    for &bit in bits {
        columns.push(0, bit.into());
    }
    untimed(&columns.sum(b, Goal::FewestAnds))
}

/// The sum of unsigned integers of any widths, modulo 2^width, all at once. For [`Goal::FewestAnds`], each full adder
/// removes a bit, so that it takes fewer ANDs than the integers have bits; for [`Goal::LeastDepth`], the depth is that of
/// one addition and of about `log2 m` levels for `m` integers.
pub fn sum(b: &mut Builder, integers: &[Vec<Bit>], width: usize, goal: Goal) -> Vec<Bit> {
    let mut columns = Columns::new(width);
    for integer in integers {
        columns.push_word(0, &timed(integer));
    }
    untimed(&columns.sum(b, goal))
}

/// The XOR of a column, with its carries thrown into `carried`.
fn thin(b: &mut Builder, column: Vec<Timed>, carried: &mut Vec<Timed>) -> Timed {
    // The earliest bits first, and of those the ones that wait longest; a constant goes last of all, when it may meet one
    // other bit and cost nothing.
    let mut turns = 0..;
    let mut in_turn = |bit: Timed| {
        let turn: u32 = turns.next().expect("fewer bits than a circuit has");
        Reverse((bit.is_constant(), bit.depth, turn, bit.bit))
    };
    let mut waiting: BinaryHeap<_> = column.into_iter().rev().map(&mut in_turn).collect();
    let next = |waiting: &mut BinaryHeap<_>| {
        waiting
            .pop()
            .map(|Reverse((_, depth, _, bit))| Timed { bit, depth })
    };
    loop {
        let (Some(x), y) = (next(&mut waiting), next(&mut waiting)) else {
            return Bit::FALSE.into();
        };
        let Some(y) = y else { return x };
        let z = next(&mut waiting).unwrap_or(Bit::FALSE.into());
        let (sum, carry) = full_adder(b, x, y, z);
        if carry.bit != Bit::FALSE {
            carried.push(carry);
        }
        waiting.push(in_turn(sum));
    }
}

fn pop(bits: &mut Vec<Timed>) -> Timed {
    bits.pop().expect("the caller counted")
}

fn full_adder(b: &mut Builder, x: Timed, y: Timed, z: Timed) -> (Timed, Timed) {
    let half = x.xor(b, y);
    (half.xor(b, z), x.majority(b, y, z))
}

fn carries_of(b: &mut Builder, rows: &[(Timed, Timed)], wanted: Wanted) -> Vec<Timed> {
    let positions: Vec<Position> = rows.iter().map(|&(x, y)| Position::Pair(x, y)).collect();
    prefix::carries(b, &positions, wanted)
}

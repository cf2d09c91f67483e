//! Integers as slices of bits, least significant first.
//!
//! Every function takes its inputs to arrive together. Operands of one call have the same width unless it says
//! otherwise; a width of 0 is allowed and stands for the integer 0.

use super::conjunction::prefix_all;
use super::goal::Goal;
use super::prefix::{self, Position, Wanted};
use super::timed::{Timed, timed, untimed};
use crate::{Bit, Builder};

/// `x + y mod 2^n`, with `n - 1` ANDs for [`Goal::FewestAnds`].
///
/// # Panics
/// If the widths differ.
pub fn add(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> Vec<Bit> {
    same_width(x, y);
    let (Some((&x_top, x_low)), Some((&y_top, y_low))) = (x.split_last(), y.split_last()) else {
        return Vec::new();
    };
    // The carry out of the top is not wanted, so the top bit is only an XOR.
    let (mut sum, carry) = add_with_carry(b, x_low, y_low, Bit::FALSE, goal);
    let half = b.xor(x_top, y_top);
    sum.push(b.xor(half, carry));
    sum
}

/// `x + y + carry`: the low `n` bits, and the carry out. `n` ANDs for [`Goal::FewestAnds`].
///
/// # Panics
/// If the widths differ.
pub fn add_with_carry(b: &mut Builder, x: &[Bit], y: &[Bit], carry: Bit, goal: Goal) -> (Vec<Bit>, Bit) {
    same_width(x, y);
    let carries = carry_chain(b, x, y, carry, goal);
    let sum = x
        .iter()
        .zip(y)
        .zip(&carries)
        .map(|((&x, &y), &carry)| {
            let half = b.xor(x, y);
            b.xor(half, carry)
        })
        .collect();
    (sum, carries[x.len()])
}

/// `x - y mod 2^n`, with `n - 1` ANDs for [`Goal::FewestAnds`].
///
/// # Panics
/// If the widths differ.
pub fn subtract(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> Vec<Bit> {
    // x - y = !(!x + y), which needs no carry to enter.
    let sum = add(b, &not(x), y, goal);
    not(&sum)
}

/// `x - y - borrow`: the low `n` bits, and whether the result is negative. `n` ANDs for [`Goal::FewestAnds`].
///
/// # Panics
/// If the widths differ.
pub fn subtract_with_borrow(
    b: &mut Builder,
    x: &[Bit],
    y: &[Bit],
    borrow: Bit,
    goal: Goal,
) -> (Vec<Bit>, Bit) {
    let (sum, carry) = add_with_carry(b, &not(x), y, borrow, goal);
    (not(&sum), carry)
}

/// `-x mod 2^n`, with `n - 2` ANDs for [`Goal::FewestAnds`].
pub fn negate(b: &mut Builder, x: &[Bit], goal: Goal) -> Vec<Bit> {
    negate_if(b, Bit::TRUE, x, goal)
}

/// `if condition { -x } else { x } mod 2^n`, with `n - 1` ANDs for [`Goal::FewestAnds`].
pub fn negate_if(b: &mut Builder, condition: Bit, x: &[Bit], goal: Goal) -> Vec<Bit> {
    // -x = !x + 1, whose carry runs through the zeros of x.
    let flipped: Vec<Bit> = x.iter().map(|&bit| b.xor(bit, condition)).collect();
    let through = flipped.split_last().map_or(&[][..], |(_, low)| low);
    let carries = prefix_all(b, &[&[condition], through].concat(), goal);
    flipped
        .iter()
        .zip(carries)
        .map(|(&bit, carry)| b.xor(bit, carry))
        .collect()
}

/// The absolute value of `x` in two's complement, as an unsigned integer of the same width, with `n - 1` ANDs for
/// [`Goal::FewestAnds`]. That of `-2^(n-1)` is `2^(n-1)`, which is `-2^(n-1)` again to who reads it as signed.
pub fn absolute(b: &mut Builder, x: &[Bit], goal: Goal) -> Vec<Bit> {
    let negative = x.last().copied().unwrap_or(Bit::FALSE);
    negate_if(b, negative, x, goal)
}

/// Whether `x < y`, both unsigned, with `n` ANDs for [`Goal::FewestAnds`].
///
/// # Panics
/// If the widths differ.
pub fn less_than(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> Bit {
    same_width(x, y);
    match goal {
        Goal::FewestAnds => carry_chain(b, &not(x), y, Bit::FALSE, goal)[x.len()],
        Goal::LeastDepth => {
            let positions = pairs(&not(x), y);
            let carry = prefix::carries(b, &positions, Wanted::Last);
            carry.last().map_or(Bit::FALSE, |t| t.bit)
        }
    }
}

/// Whether `x < y`, both in two's complement; as many ANDs as [`less_than`].
///
/// # Panics
/// If the widths differ.
pub fn less_than_signed(b: &mut Builder, x: &[Bit], y: &[Bit], goal: Goal) -> Bit {
    let flip = |word: &[Bit]| {
        let mut word = word.to_vec();
        if let Some(sign) = word.last_mut() {
            *sign = !*sign;
        }
        word
    };
    less_than(b, &flip(x), &flip(y), goal)
}

/// Whether `x = y`, with `n - 1` ANDs in a balanced tree.
///
/// # Panics
/// If the widths differ.
pub fn equal(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Bit {
    let differ = xor(b, x, y);
    is_zero(b, &differ)
}

/// Whether every bit is 0, with `n - 1` ANDs in a balanced tree.
pub fn is_zero(b: &mut Builder, x: &[Bit]) -> Bit {
    all(b, &not(x))
}

/// Whether every bit is 1, with `n - 1` ANDs in a balanced tree.
pub fn all(b: &mut Builder, x: &[Bit]) -> Bit {
    match x {
        [] => Bit::TRUE,
        [bit] => *bit,
        _ => {
            let (low, high) = x.split_at(x.len().div_ceil(2));
            let (low, high) = (all(b, low), all(b, high));
            b.and(low, high)
        }
    }
}

/// `if condition { yes } else { no }`, with `n` ANDs.
///
/// # Panics
/// If the widths differ.
pub fn mux(b: &mut Builder, condition: Bit, yes: &[Bit], no: &[Bit]) -> Vec<Bit> {
    same_width(yes, no);
    yes.iter()
        .zip(no)
        .map(|(&yes, &no)| b.mux(condition, yes, no))
        .collect()
}

/// `x ⊕ y`, bit by bit.
///
/// # Panics
/// If the widths differ.
pub fn xor(b: &mut Builder, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
    same_width(x, y);
    x.iter().zip(y).map(|(&x, &y)| b.xor(x, y)).collect()
}

/// Every bit of `x` flipped; free.
pub fn not(x: &[Bit]) -> Vec<Bit> {
    x.iter().map(|&bit| !bit).collect()
}

/// The low `width` bits of `value`, as constants; bits from the 64th on are 0.
pub fn constant(value: u64, width: usize) -> Vec<Bit> {
    (0..width)
        .map(|i| Bit::constant(i < 64 && value >> i & 1 == 1))
        .collect()
}

/// How many bits the numbers below `n` take.
pub(super) fn bits_below(n: usize) -> usize {
    n.checked_next_power_of_two()
        .map_or(0, |power| power.ilog2() as usize)
}

/// The carry into each position, and last the one out of the top: `n + 1` bits.
fn carry_chain(b: &mut Builder, x: &[Bit], y: &[Bit], carry: Bit, goal: Goal) -> Vec<Bit> {
    match goal {
        Goal::FewestAnds => {
            let mut carries = vec![carry];
            let mut carry = Timed::from(carry);
            for (&x, &y) in x.iter().zip(y) {
                carry = Timed::from(x).majority(b, y.into(), carry);
                carries.push(carry.bit);
            }
            carries
        }
        Goal::LeastDepth => {
            let entering = (carry != Bit::FALSE).then_some(Position::Carry(carry.into()));
            let positions: Vec<Position> = entering.into_iter().chain(pairs(x, y)).collect();
            let mut carries = untimed(&prefix::carries(b, &positions, Wanted::All));
            if entering.is_none() {
                carries.insert(0, carry);
            }
            carries
        }
    }
}

fn pairs(x: &[Bit], y: &[Bit]) -> Vec<Position> {
    let pairs = timed(x).into_iter().zip(timed(y));
    pairs.map(|(x, y)| Position::Pair(x, y)).collect()
}

fn same_width(x: &[Bit], y: &[Bit]) {
    assert_eq!(x.len(), y.len(), "the operands have different widths");
}

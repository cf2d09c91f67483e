//! Shifts and rotations by secret amounts.
//!
//! They are barrel shifters: bit `k` of the amount chooses whether to move by `2^k`. An AND for each bit and step is
//! what a shift takes. A rotation takes fewer: the changes that a step makes to the bits of one cycle add up to nothing, so
//! that the last change is the XOR of the others; a rotation of 32 bits by half, for example, exchanges 16 pairs.

use super::divide::steps;
use super::goal::Goal;
use super::integer::{bits_below, constant, is_zero};
use crate::{Bit, Builder};

/// `x · 2^amount mod 2^n`, so 0 if the amount is `n` or more. The amount may have any width `w`. For [`Goal::FewestAnds`] it
/// takes `n · min(w, p)` ANDs with `p = ⌈log2 n⌉`, and `w` more if `w > p`.
pub fn shift_left(b: &mut Builder, x: &[Bit], amount: &[Bit], goal: Goal) -> Vec<Bit> {
    let reversed: Vec<Bit> = x.iter().rev().copied().collect();
    let mut shifted = shift(b, &reversed, amount, Bit::FALSE, goal);
    shifted.reverse();
    shifted
}

/// `⌊x / 2^amount⌋` of an unsigned integer, so 0 if the amount is `n` or more; ANDs as for [`shift_left`].
pub fn shift_right(b: &mut Builder, x: &[Bit], amount: &[Bit], goal: Goal) -> Vec<Bit> {
    shift(b, x, amount, Bit::FALSE, goal)
}

/// `⌊x / 2^amount⌋` in two's complement, so 0 or -1 if the amount is `n` or more; ANDs at most as for [`shift_left`].
pub fn shift_right_signed(b: &mut Builder, x: &[Bit], amount: &[Bit], goal: Goal) -> Vec<Bit> {
    let sign = x.last().copied().unwrap_or(Bit::FALSE);
    shift(b, x, amount, sign, goal)
}

/// `x` with bit `i` moved to `i + amount mod n`. If `n = 2^p`, this takes `(p - 1)·n + 1` ANDs, and only the low `p` bits of the
/// amount count; else an amount of `n` or more is first reduced, by a division.
pub fn rotate_left(b: &mut Builder, x: &[Bit], amount: &[Bit], goal: Goal) -> Vec<Bit> {
    let mut x = x.to_vec();
    x.reverse();
    let mut rotated = rotate_right(b, &x, amount, goal);
    rotated.reverse();
    rotated
}

/// `x` with bit `i` moved to `i - amount mod n`; ANDs as for [`rotate_left`].
pub fn rotate_right(b: &mut Builder, x: &[Bit], amount: &[Bit], goal: Goal) -> Vec<Bit> {
    let n = x.len();
    if n < 2 {
        return x.to_vec();
    }
    let needed = bits_below(n);
    let amount = match amount {
        _ if n.is_power_of_two() => &amount[..needed.min(amount.len())],
        short if short.len() < needed => short,
        _ => &steps(b, amount, &constant(n as u64, needed), goal).1,
    };
    let mut x = x.to_vec();
    for (k, &bit) in amount.iter().enumerate() {
        x = rotate_if(b, bit, &x, 1 << k);
    }
    x
}

/// Moves bits down, `fill` from above.
fn shift(b: &mut Builder, x: &[Bit], amount: &[Bit], fill: Bit, goal: Goal) -> Vec<Bit> {
    let (low, high) = amount.split_at(bits_below(x.len()).min(amount.len()));
    // Amounts of 2^low.len() and more.
    let beyond = !is_zero(b, high);
    let mut x = x.to_vec();
    // To move by the largest amount of the low bits leaves one bit at most, while to replace all costs an AND each.
    let saturate = goal == Goal::FewestAnds;
    for (k, &bit) in low.iter().enumerate().rev() {
        let bit = if saturate { b.or(bit, beyond) } else { bit };
        x = (0..x.len())
            .map(|i| {
                let above = x.get(i + (1 << k)).copied().unwrap_or(fill);
                b.mux(bit, above, x[i])
            })
            .collect();
    }
    let left = if saturate { x.len().min(1) } else { x.len() };
    for bit in &mut x[..left] {
        *bit = b.mux(beyond, fill, *bit);
    }
    x
}

/// If `condition`, bit `i` comes from `i + distance mod n`.
fn rotate_if(b: &mut Builder, condition: Bit, x: &[Bit], distance: usize) -> Vec<Bit> {
    let n = x.len();
    let mut rotated = x.to_vec();
    let mut moved = vec![false; n];
    for start in 0..n {
        let mut changes = Bit::FALSE;
        let mut i = start;
        while !moved[i] {
            moved[i] = true;
            let from = (i + distance) % n;
            let change = if moved[from] {
                changes
            } else {
                let differ = b.xor(x[i], x[from]);
                b.and(condition, differ)
            };
            changes = b.xor(changes, change);
            rotated[i] = b.xor(x[i], change);
            i = from;
        }
    }
    rotated
}

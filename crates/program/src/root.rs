//! Square roots.
//!
//! The root is found bit by bit from the top, without restoring: each bit takes one addition or subtraction of the root so far, by the sign of the
//! rest. The rest before bit `i` of the root is `4r + d - (4q + 1)` or, if `r` is negative, `4r + d + (4q + 3)`, with `r` for the rest so far, `q` for the root
//! so far and `d` for the next two bits of the number. In both cases the two low bits are those of `d - 1`, and 1 is carried on if `d` is not 0.

use cenote_circuit::library::{Goal, add_with_carry};
use cenote_circuit::{Bit, Builder};

use crate::op::{Called, Op};

/// Bits of the root of a number of `width` bits.
pub(crate) fn root_width(width: u32) -> u32 {
    width.div_ceil(2)
}

/// The square root of a number of `width` bits, rounded down.
pub(crate) fn root(width: u32) -> Op {
    let bits = u64::from(root_width(width));
    let weight = (bits * (bits + 1) / 2).max(1);
    Op::Call(Called::new(
        format!("square root of {width} bits"),
        weight,
        |b: &mut Builder, operands: &[&[Bit]], goal| gates(b, operands[0], goal),
    ))
}

/// `m (m + 1) / 2` ANDs for a root of `m` bits, and fewer for the first bits, with [`Goal::FewestAnds`].
fn gates(b: &mut Builder, x: &[Bit], goal: Goal) -> Vec<Bit> {
    // From the highest bit on.
    let mut root: Vec<Bit> = Vec::new();
    // In two's complement.
    let mut rest: Vec<Bit> = vec![Bit::FALSE];
    for digit in x.chunks(2).rev() {
        let (low, high) = (digit[0], digit.get(1).copied().unwrap_or(Bit::FALSE));
        let subtract = !rest[rest.len() - 1];
        let width = root.len() + 1;
        let operand: Vec<Bit> = (0..width)
            .map(|at| {
                let bit = root.iter().rev().nth(at).copied().unwrap_or(Bit::FALSE);
                b.xor(bit, subtract)
            })
            .collect();
        let carried = b.or(low, high);
        let (mut next, carry) = add_with_carry(b, &rest[..width - 1], &operand[..width - 1], carried, goal);
        let top = b.xor(rest[width - 1], operand[width - 1]);
        next.push(b.xor(top, carry));
        root.push(!next[width - 1]);
        let second = b.xor(low, high);
        rest = [&[!low, !second], &next[..]].concat();
    }
    root.reverse();
    root
}

//! Fresh gadgets: garbled and hashed by the garbler, checked at random, and what was not checked put into the pool.
//!
//! All gadgets of a buffer are made and sent before the coin is tossed that decides which of them are checked, and with it what is
//! drawn until the next buffer. A gadget is checked on random inputs: the garbler opens the permutation bits of its wires and the labels
//! of its inputs; the evaluator compares them with their i-hashes, evaluates, and compares the output labels with theirs. A bad
//! gate is wrong on two of its four inputs at least, so each check finds it with probability 1/2 (`docs/parameters.md`).

mod evaluator;
mod garbler;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::gadget::Shape;

pub(crate) use garbler::{embedded, pack};

/// Gates made at once: few enough for the caches, many enough for the kernels.
const PIECE: usize = 1024;

/// The gadgets of a buffer that are made together.
fn pieces(count: usize, width: usize) -> impl Iterator<Item = Range<usize>> {
    let piece = (PIECE / width).next_multiple_of(64);
    (0..count)
        .step_by(piece)
        .map(move |first| first..(first + piece).min(count))
}

/// Gadgets opened in one message, at most.
fn opened_at_once(shape: Shape) -> usize {
    (2 * PIECE / (shape.width + 1)).max(1)
}

/// Bit `input` of what a gadget is checked with: its left operands in order, then the right one.
#[inline(always)]
fn checked_with(bits: u32, input: usize) -> u64 {
    u64::from(bits >> input & 1)
}

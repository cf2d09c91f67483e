//! The edit distance of two words: how many symbols must be inserted, deleted or replaced to make one of the other.
//!
//! It is the last entry of the table of the distances of all beginnings (Wagner and Fischer, "The string-to-string correction
//! problem", 1974), whose neighbours differ by one at most. So instead of entries, the circuit has the steps between them
//! (Masek and Paterson, "A faster algorithm computing string edit distances", 1980): four bits enter a cell and four leave it,
//! with four ANDs, however long the words are.

use super::Goal;
use super::columns::sum;
use super::integer::{bits_below, constant, equal};
use crate::{Bit, Builder};

/// What one entry of the table has more than the one before it: 1, 0 or -1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditStep {
    /// Whether it is 1.
    pub up: Bit,
    /// Whether it is -1; never set together with `up`.
    pub down: Bit,
}

impl EditStep {
    /// The step 1, of which the first row and the first column are made.
    pub const UP: EditStep = EditStep {
        up: Bit::TRUE,
        down: Bit::FALSE,
    };
}

/// The edit distance of `x` and `y`, as wide as the greater of their lengths. For lengths `m` and `n` and symbols of `w`
/// bits, it takes fewer than `(w + 3)·m·n + 2n` ANDs for [`Goal::FewestAnds`]; for [`Goal::LeastDepth`], about
/// `2(m + n)` are one after another, and a cell takes two more.
///
/// # Panics
/// If the symbols have different widths.
pub fn edit_distance(b: &mut Builder, x: &[Vec<Bit>], y: &[Vec<Bit>], goal: Goal) -> Vec<Bit> {
    let mut steps = vec![EditStep::UP; y.len()];
    for symbol in x {
        edit_distance_row(b, symbol, y, &mut steps, goal);
    }
    // As many as x has symbols, and the steps of the last row.
    let width = bits_below(x.len().max(y.len()) + 1);
    let mut terms = vec![constant(x.len().wrapping_sub(y.len()) as u64, width)];
    for step in &steps {
        terms.push(vec![step.up]);
        terms.push(vec![!step.down]);
    }
    sum(b, &terms, width, goal)
}

/// Turns the steps along the row of the table above `symbol` into those along its own. Element `i` of `steps` is about symbol
/// `i` of `word`; above the first symbol, all are [`EditStep::UP`].
///
/// # Panics
/// If there is not one step for each symbol of `word`, or the symbols have different widths.
pub fn edit_distance_row(
    b: &mut Builder,
    symbol: &[Bit],
    word: &[Vec<Bit>],
    steps: &mut [EditStep],
    goal: Goal,
) {
    assert_eq!(word.len(), steps.len(), "one step for each symbol");
    let mut along_column = EditStep::UP;
    for (other, along_row) in word.iter().zip(steps) {
        let same = equal(b, symbol, other);
        (*along_row, along_column) = cell(b, same, *along_row, along_column, goal);
    }
}

/// The steps along the lower and the right side of a cell, from those along the upper and the left one, `h` and `v`.
///
/// From its upper left entry to its lower right one it is `z`: 0 if the symbols are the same or `h` or `v` is -1, else 1.
/// So it is `z - v` along the lower side, and `z - h` along the right one.
fn cell(b: &mut Builder, same: Bit, h: EditStep, v: EditStep, goal: Goal) -> (EditStep, EditStep) {
    let (z, z_and_h, z_and_v) = match goal {
        Goal::FewestAnds => {
            let neither = b.and(!h.down, !v.down);
            let z = b.and(!same, neither);
            (z, b.and(z, h.up), b.and(z, v.up))
        }
        // Where h is 1, it is not -1.
        Goal::LeastDepth => {
            let (differ_h, differ_v) = (b.and(!same, h.up), b.and(!same, v.up));
            let differ = b.and(!same, !h.down);
            (
                b.and(differ, !v.down),
                b.and(differ_h, !v.down),
                b.and(differ_v, !h.down),
            )
        }
    };
    let mut without = |step: EditStep, z_and_up: Bit| {
        let up = b.xor(step.down, z);
        EditStep {
            up: b.xor(up, z_and_up),
            down: b.xor(step.up, z_and_up),
        }
    };
    (without(v, z_and_v), without(h, z_and_h))
}

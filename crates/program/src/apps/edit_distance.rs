//! The edit distance (Levenshtein distance) of two strings.
//!
//! Neighbours in the table of distances between prefixes differ by at most 1, so a cell takes and gives the two bits of a difference
//! downwards and of one to the right, as in Myers ("A fast bit-vector algorithm for approximate string matching based on dynamic
//! programming", J. ACM 1999) and Hyyrö (2003): five ANDs, one of them for symbols of two bits. Cells of one diagonal are computed side by
//! side.

use crate::error::Result;
use crate::function::Function;
use crate::secret::Secret;
use crate::word::{Integer, Uint};

/// A difference of two neighbours: the low bit says +1, the high bit -1.
type Step = Secret<Uint<2>>;

/// How many symbols must be inserted, deleted or replaced to make `x` of `y`.
///
/// # Errors
/// None that a caller could cause.
pub fn edit_distance<T: Integer>(x: &Secret<T>, y: &Secret<T>) -> Result<Secret<u32>> {
    let (rows, columns) = (x.len(), y.len());
    let cell = Function::record(|(a, b, down, right): (Secret<T>, Secret<T>, Step, Step)| {
        let same = a.equals(&b);
        let (up, fall) = (down.bit(0), down.bit(1));
        let (ahead, back) = (right.bit(0), right.bit(1));
        // Whether the cell equals the one before it on its diagonal.
        let level = same | &fall | &back;
        let (fall_out, back_out) = (&ahead & &level, &up & &level);
        // What is negated is 0 where the other is 1.
        let ahead_out = &fall ^ !(&level ^ &up ^ &back_out);
        let up_out = &back ^ !(&level ^ &ahead ^ &fall_out);
        let down = Secret::from_bits(&[up_out, fall_out]);
        let right = Secret::from_bits(&[ahead_out, back_out]);
        (down, right)
    })?;
    let plus = x.session().public(Uint::<2>::new(1));
    // The step down in each row, at the column where it is; the step to the right in each column, from the last column to the first.
    let mut down = plus.repeat(rows);
    let mut right = plus.repeat(columns);
    let y = y.reverse();
    for diagonal in 0..rows + columns - 1 {
        let first = (diagonal + 1).saturating_sub(columns);
        let last = diagonal.min(rows - 1);
        let here = first..last + 1;
        // Column `diagonal - row` is the one of this number from the last.
        let there = columns - 1 - (diagonal - first)..columns - (diagonal - last);
        let arguments = (
            x.slice(here.clone()),
            y.slice(there.clone()),
            down.slice(here.clone()),
            right.slice(there.clone()),
        );
        let (new_down, new_right) = cell.call(&arguments);
        down = replaced(&down, here.start, &new_down);
        right = replaced(&right, there.start, &new_right);
    }
    // Down the first column, one for each row, and then along the last row.
    let ahead = right.bit(0).count() + rows as u32;
    Ok(ahead - right.bit(1).count())
}

/// The row with `new` from place `from` on.
fn replaced(row: &Step, from: usize, new: &Step) -> Step {
    let (end, len) = (from + new.len(), row.len());
    let mut parts = Vec::new();
    let before = (from > 0).then(|| row.slice(0..from));
    let after = (end < len).then(|| row.slice(end..len));
    parts.extend(&before);
    parts.push(new);
    parts.extend(&after);
    Secret::concat(&parts)
}

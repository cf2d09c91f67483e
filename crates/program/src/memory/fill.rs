//! Putting blocks into bins by their labels, for memories that begin with the blocks of a row.
//!
//! As many empty slots as a bin holds are added for each bin, and everything is sorted by bin, blocks first (Chan and Shi, "Circuit OPRAM", 2017).
//! Then each bin keeps as many as it holds, which fills all bins exactly, so that it is public where each of them begins.

use cenote_circuit::library::Key;

use super::bucket::{Bins, Shape};
use super::wires::joined;
use crate::error::Result;
use crate::op::Op;
use crate::secret::Secret;
use crate::table::{compacted, shuffled_and_sorted};
use crate::value::Value;

/// The bins with the blocks of a row, a bin in each lane, and whether one of them was too small.
///
/// # Errors
/// Those of [`crate::Session::reveal`].
pub(super) fn filled(shape: &Shape, bins: Bins, blocks: &Value, labels: &Value) -> Result<(Value, Value)> {
    let session = blocks.session();
    let (count, capacity) = (1usize << bins.bits, bins.capacity as usize);
    let numbers = |numbers: Vec<u128>, width: u32| session.constant_row(width, &numbers);
    let bin = labels.part(shape.height - bins.bits, bins.bits);
    let addresses = numbers((0..blocks.lanes() as u128).collect(), shape.address);
    let records = Value::join(&[&bin, &session.constant(1, 1), &addresses, blocks]);
    let bin = numbers(
        (0..count as u128).flat_map(|bin| vec![bin; capacity]).collect(),
        bins.bits,
    );
    let empty = Value::join(&[&bin, &session.constant(records.width() - bins.bits, 0)]);
    // The sort keeps the order of equals, and with it blocks before empty slots.
    let sorted = shuffled_and_sorted(
        &Value::concat(&[&records, &empty]),
        Key::unsigned(bins.bits as usize),
    )?;

    let bin = sorted.part(0, bins.bits);
    let lanes = sorted.lanes() - capacity;
    let same = Value::apply(Op::Equal, &[&bin.slice(0, lanes), &bin.slice(capacity, lanes)], 1);
    let first = session.constant(1, 1).repeated(capacity);
    let kept = Value::concat(&[&first, &Value::apply(Op::Not, &[&same], 1)]);
    let dropped = Value::apply(
        Op::And,
        &[&same, &sorted.slice(capacity, lanes).part(bins.bits, 1)],
        1,
    );
    let lost = Secret::<bool>::of(dropped).fold(|x, y| x | y);
    let (slots, _) = compacted(&sorted.part(bins.bits, sorted.width() - bins.bits), &kept);
    Ok((
        joined(&slots.slice(0, count * capacity), capacity),
        lost.value().clone(),
    ))
}

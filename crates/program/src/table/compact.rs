//! Compaction: chosen records first, in their order. Where the protocol moves rows in secret orders and that takes less, the place of each record is computed,
//! and opened once the records are shuffled. Else they go through a network.
//!
//! The order-preserving compaction of Sasy, Johnson and Goldberg ("Fast fully oblivious compaction and shuffling", CCS 2022) by
//! `n/2 · log n` exchanges. Blocks of two, four, eight records are compacted to a place that is a number modulo their size: how many are
//! chosen before the block. With `c` chosen before the middle of a block of size `2h`, the exchange of places `i` and `i + h` swaps if
//! bit `log h` of `c` differs from `i >= c mod h`.

use crate::op::Op;
use crate::table::cost::Work;
use crate::table::order::{Order, bits_of_places, numbers};
use crate::value::{Value, runs};

/// The records of `records` whose bit in `chosen` is 1, in their order, then others or zeros, which mean nothing; and how many are chosen, in as
/// many bits as it takes.
#[track_caller]
pub(crate) fn compacted(records: &Value, chosen: &Value) -> (Value, Value) {
    let count = records.lanes();
    if count == 1 {
        return (records.clone(), chosen.clone());
    }
    let levels = count.next_power_of_two().ilog2();
    let filled = padded(chosen, 1 << levels);
    let (before, all) = counted_before(&filled, levels);
    let work = Work::new(records.session(), count, records.width());
    let compacted = match work.filter(|work| work.compacting_order() < work.compacting_network()) {
        Some(_) => {
            let places = places(chosen, &before.slice(0, count), &all);
            Order::or_none(Order::to(&places), records).applied(records)
        }
        None => in_blocks(padded(records, 1 << levels), &before, levels).slice(0, count),
    };
    (compacted, all)
}

/// Where each record goes: those that are chosen as many places from the first as are chosen `before` them, the others after `all` of those.
fn places(chosen: &Value, before: &Value, all: &Value) -> Value {
    let count = chosen.lanes();
    let width = bits_of_places(count);
    let narrow = |value: &Value| Value::apply(Op::Resize { signed: false }, &[value], width);
    let (before, all) = (narrow(before), narrow(all));
    let numbers = numbers(chosen.session(), 0..count, width);
    let others = Value::apply(Op::Subtract, &[&numbers, &before], width);
    let after = Value::apply(Op::Add, &[&others, &all], width);
    Value::apply(Op::Select, &[chosen, &before, &after], width)
}

/// As [`compacted`], but no more than `most` records: those in the first places that are chosen, and zeros after them. If more are chosen, the
/// records mean nothing.
///
/// Blocks of as many places are compacted to where their records come in the whole, and of all blocks one has a record for each place.
#[track_caller]
pub(crate) fn compacted_to(records: &Value, chosen: &Value, most: usize) -> (Value, Value) {
    let (count, width) = (records.lanes(), records.width());
    let levels = count.next_power_of_two().ilog2();
    let size = most.next_power_of_two();
    let zero = records.session().constant(width, 0);
    let records = Value::apply(Op::Select, &[chosen, records, &zero], width);
    let work = Work::new(records.session(), count, width);
    let in_order = work.is_some_and(|work| work.compacting_order() < work.compacting_blocks(size));
    if size >= count || in_order {
        let (records, all) = compacted(&records, chosen);
        return (records.slice(0, most.min(count)), all);
    }
    let (before, all) = counted_before(&padded(chosen, 1 << levels), levels);
    let blocks = count.div_ceil(size);
    let mut row = in_blocks(padded(&records, blocks * size), &before, size.ilog2());
    let mut blocks = blocks;
    while blocks > 1 {
        let half = blocks / 2;
        let (one, other) = (row.slice(0, half * size), row.slice(half * size, half * size));
        let both = Value::apply(Op::Xor, &[&one, &other], width);
        row = match blocks % 2 {
            0 => both,
            _ => Value::concat(&[&both, &row.slice(2 * half * size, size)]),
        };
        blocks = half + blocks % 2;
    }
    (row.slice(0, most), all)
}

/// A row with zeros after it, of so many places.
fn padded(value: &Value, lanes: usize) -> Value {
    match lanes - value.lanes() {
        0 => value.clone(),
        missing => {
            let zeros = value.session().constant(value.width(), 0).repeated(missing);
            Value::concat(&[value, &zeros])
        }
    }
}

/// Compacts each block of `2^levels` records to the place that is the number of those chosen `before` it, modulo its size.
#[track_caller]
fn in_blocks(records: Value, before: &Value, levels: u32) -> Value {
    let count = records.lanes();
    let mut row = records;
    for level in 0..levels {
        let half = 1usize << level;
        let pairs = count / 2;
        // For each pair of places what is chosen before the middle of their block.
        let middles: Vec<usize> = (0..pairs).map(|pair| (pair / half * 2 + 1) * half).collect();
        let swaps = swaps(&before.gather(&middles), level);
        let places = |upper: usize| -> Vec<usize> {
            (0..pairs)
                .map(|at| at / half * 2 * half + at % half + upper * half)
                .collect()
        };
        let (low, high) = (row.gather(&places(0)), row.gather(&places(1)));
        let exchanged = exchange_if(&swaps, &low, &high);
        let back = (0..count).map(|at| {
            let (block, within) = (at / (2 * half), at % (2 * half));
            (within / half, block * half + within % half)
        });
        row = Value::arrange(&[&exchanged.0, &exchanged.1], &runs(back));
    }
    row
}

/// Both, exchanged where `swap` is 1.
#[track_caller]
pub(crate) fn exchange_if(swap: &Value, x: &Value, y: &Value) -> (Value, Value) {
    let width = x.width();
    let differ = Value::apply(Op::Xor, &[x, y], width);
    let zero = x.session().constant(width, 0);
    let change = Value::apply(Op::Select, &[swap, &differ, &zero], width);
    (
        Value::apply(Op::Xor, &[x, &change], width),
        Value::apply(Op::Xor, &[y, &change], width),
    )
}

/// For each place how many bits of `chosen` before it are 1, and how many all are, in `levels + 1` bits.
fn counted_before(chosen: &Value, levels: u32) -> (Value, Value) {
    let width = levels + 1;
    // Counts of blocks of one, two, four, ….
    let mut counts = vec![chosen.clone()];
    for level in 0..levels {
        let last = &counts[level as usize];
        let lanes = last.lanes() / 2;
        let even: Vec<usize> = (0..lanes).map(|at| 2 * at).collect();
        let odd: Vec<usize> = (0..lanes).map(|at| 2 * at + 1).collect();
        let wide = |value: Value| Value::apply(Op::Resize { signed: false }, &[&value], level + 2);
        let (x, y) = (wide(last.gather(&even)), wide(last.gather(&odd)));
        counts.push(Value::apply(Op::Add, &[&x, &y], level + 2));
    }
    let all = counts.pop().expect("there is at least the row itself");
    // Before the only block of all there is nothing; before the second half of a block there is its first half.
    let session = chosen.session();
    let mut before = session.constant(width, 0).repeated(1);
    for level in (0..levels).rev() {
        let last = &counts[level as usize];
        let lanes = before.lanes();
        let first: Vec<usize> = (0..lanes).map(|at| 2 * at).collect();
        let halves = Value::apply(Op::Resize { signed: false }, &[&last.gather(&first)], width);
        let second = Value::apply(Op::Add, &[&before, &halves], width);
        let interleaved = (0..2 * lanes).map(|at| (at % 2, at / 2));
        before = Value::arrange(&[&before, &second], &runs(interleaved));
    }
    (before, all)
}

/// Whether each pair of places of the blocks with halves of `2^level` records swaps, from what is chosen before the middle.
fn swaps(before: &Value, level: u32) -> Value {
    let parity = before.part(level, 1);
    if level == 0 {
        return Value::apply(Op::Not, &[&parity], 1);
    }
    let places: Vec<u128> = (0..before.lanes())
        .map(|pair| pair as u128 % (1 << level))
        .collect();
    let places = before.session().constant_row(level, &places);
    let less = Value::apply(Op::Less { signed: false }, &[&places, &before.part(0, level)], 1);
    let at_least = Value::apply(Op::Not, &[&less], 1);
    Value::apply(Op::Xor, &[&parity, &at_least], 1)
}

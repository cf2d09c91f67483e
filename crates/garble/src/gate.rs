//! Garbling and evaluating AND gates one by one.

use cenote_primitives::lanes::{Kernel, Lanes, run_on};
use cenote_primitives::{Block, Simd, hash};
use zeroize::Zeroize;

use super::kernel::{APART, combine};
use super::{Base, MAX_GATES};

/// The two blocks of a garbled AND gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct GateTable {
    /// Of the garbler's half.
    pub garbler: Block,
    /// Of the evaluator's half.
    pub evaluator: Block,
}

/// Garbles AND gates numbered from `first` on with 0-labels `left` and `right`: writes tables and output 0-labels.
/// `first` has the start of the session's keys.
///
/// Bit 0 of `delta` must be 1.
///
/// # Panics
/// If the lengths differ or a number is not below [`MAX_GATES`].
pub fn garble(
    delta: Block,
    first: Base,
    left: &[Block],
    right: &[Block],
    tables: &mut [GateTable],
    outputs: &mut [Block],
) {
    garble_on(Simd::detect(), delta, first, left, right, tables, outputs);
}

/// [`garble`] on a given level.
pub(super) fn garble_on(
    simd: Simd,
    delta: Block,
    first: Base,
    left: &[Block],
    right: &[Block],
    tables: &mut [GateTable],
    outputs: &mut [Block],
) {
    let count = left.len();
    assert!(right.len() == count && tables.len() == count && outputs.len() == count);
    assert!(
        first.number <= MAX_GATES && count as u64 <= MAX_GATES - first.number,
        "gates have 62-bit numbers"
    );
    let kernel = Garble {
        delta,
        first,
        left,
        right,
        tables,
        outputs,
    };
    run_on(simd, kernel);
}

/// Evaluates gates with the numbers `gates` on labels. `start` is that of the session's keys.
///
/// # Panics
/// If the lengths differ. Numbers must be below [`MAX_GATES`]; this is the caller's part, and checked in debug builds.
pub fn evaluate(
    start: Block,
    gates: &[u64],
    left: &[Block],
    right: &[Block],
    tables: &[GateTable],
    outputs: &mut [Block],
) {
    evaluate_on(Simd::detect(), start, gates, left, right, tables, outputs);
}

/// [`evaluate`] on a given level.
pub(super) fn evaluate_on(
    simd: Simd,
    start: Block,
    gates: &[u64],
    left: &[Block],
    right: &[Block],
    tables: &[GateTable],
    outputs: &mut [Block],
) {
    let count = gates.len();
    assert!(left.len() == count && right.len() == count && tables.len() == count && outputs.len() == count);
    debug_assert!(
        gates.iter().all(|gate| *gate < MAX_GATES),
        "gates have 62-bit numbers"
    );
    let kernel = Evaluate {
        start,
        gates,
        left,
        right,
        tables,
        outputs,
    };
    run_on(simd, kernel);
}

/// Gates side by side: `QUADS` times four.
const QUADS: usize = 2;
const GROUP: usize = 4 * QUADS;

/// The first items of a group that is cut short, the others zero.
fn padded<T: Copy + Default>(items: &[T]) -> [T; GROUP] {
    let mut group = [T::default(); GROUP];
    group[..items.len()].copy_from_slice(items);
    group
}

struct Garble<'a> {
    delta: Block,
    first: Base,
    left: &'a [Block],
    right: &'a [Block],
    tables: &'a mut [GateTable],
    outputs: &'a mut [Block],
}

impl Kernel for Garble<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let (left, last_left) = self.left.as_chunks::<GROUP>();
        let (right, last_right) = self.right.as_chunks::<GROUP>();
        let (tables, last_tables) = self.tables.as_chunks_mut::<GROUP>();
        let (outputs, last_outputs) = self.outputs.as_chunks_mut::<GROUP>();
        let mut first = self.first;
        for (((left, right), tables), outputs) in left.iter().zip(right).zip(tables).zip(outputs) {
            garble_group(lanes, self.delta, first, left, right, tables, outputs);
            first.number += GROUP as u64;
        }
        if !last_left.is_empty() {
            let (mut left, mut right) = (padded(last_left), padded(last_right));
            let (mut tables, mut outputs) = ([GateTable::default(); GROUP], [Block::ZERO; GROUP]);
            garble_group(lanes, self.delta, first, &left, &right, &mut tables, &mut outputs);
            last_tables.copy_from_slice(&tables[..last_tables.len()]);
            last_outputs.copy_from_slice(&outputs[..last_outputs.len()]);
            left.zeroize();
            right.zeroize();
            outputs.zeroize();
        }
    }
}

#[inline(always)]
fn garble_group<L: Lanes>(
    lanes: &L,
    delta: Block,
    first: Base,
    left: &[Block; GROUP],
    right: &[Block; GROUP],
    tables: &mut [GateTable; GROUP],
    outputs: &mut [Block; GROUP],
) {
    let left: &[[Block; 4]; QUADS] = bytemuck::cast_ref(left);
    let right: &[[Block; 4]; QUADS] = bytemuck::cast_ref(right);
    let tables: &mut [[[Block; 2]; 4]; QUADS] = bytemuck::cast_mut(tables);
    let outputs: &mut [[Block; 4]; QUADS] = bytemuck::cast_mut(outputs);

    let (start, delta, apart) = (lanes.splat(first.start), lanes.splat(delta), lanes.splat(APART));
    // Of each four gates: the key; the left 0-labels and 1-labels, then those of the right.
    let (mut keys, mut inputs) = ([start; QUADS], [[delta; 4]; QUADS]);
    let mut labels = [[delta; 2]; QUADS];
    for k in 0..QUADS {
        let numbers = [0, 1, 2, 3].map(|i| first.number.wrapping_add((4 * k) as u64 + i));
        keys[k] = lanes.xor(lanes.numbers(numbers), start);
        let [a, b] = [lanes.load(&left[k]), lanes.load(&right[k])];
        let apart = lanes.xor(b, apart);
        labels[k] = [a, b];
        inputs[k] = [a, lanes.xor(a, delta), apart, lanes.xor(apart, delta)];
    }
    let hashes = hash::hash(lanes, keys, inputs);
    for k in 0..QUADS {
        let ([a, b], [a0, a1, b0, b1]) = (labels[k], hashes[k]);
        let garbler = lanes.xor_if(lanes.xor(a0, a1), b, delta);
        let evaluator = lanes.xor(lanes.xor(b0, b1), a);
        lanes.store(
            combine(lanes, [a, b], a, [a0, b0], [garbler, evaluator]),
            &mut outputs[k],
        );
        lanes.store_pairs([garbler, evaluator], &mut tables[k]);
    }
}

struct Evaluate<'a> {
    start: Block,
    gates: &'a [u64],
    left: &'a [Block],
    right: &'a [Block],
    tables: &'a [GateTable],
    outputs: &'a mut [Block],
}

impl Kernel for Evaluate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let (gates, last_gates) = self.gates.as_chunks::<GROUP>();
        let (left, last_left) = self.left.as_chunks::<GROUP>();
        let (right, last_right) = self.right.as_chunks::<GROUP>();
        let (tables, last_tables) = self.tables.as_chunks::<GROUP>();
        let (outputs, last_outputs) = self.outputs.as_chunks_mut::<GROUP>();
        for ((((gates, left), right), tables), outputs) in
            gates.iter().zip(left).zip(right).zip(tables).zip(outputs)
        {
            evaluate_group(lanes, self.start, gates, left, right, tables, outputs);
        }
        if !last_gates.is_empty() {
            let mut outputs = [Block::ZERO; GROUP];
            let (left, right) = (padded(last_left), padded(last_right));
            evaluate_group(
                lanes,
                self.start,
                &padded(last_gates),
                &left,
                &right,
                &padded(last_tables),
                &mut outputs,
            );
            last_outputs.copy_from_slice(&outputs[..last_outputs.len()]);
        }
    }
}

#[inline(always)]
fn evaluate_group<L: Lanes>(
    lanes: &L,
    start: Block,
    gates: &[u64; GROUP],
    left: &[Block; GROUP],
    right: &[Block; GROUP],
    tables: &[GateTable; GROUP],
    outputs: &mut [Block; GROUP],
) {
    let gates: &[[u64; 4]; QUADS] = bytemuck::cast_ref(gates);
    let left: &[[Block; 4]; QUADS] = bytemuck::cast_ref(left);
    let right: &[[Block; 4]; QUADS] = bytemuck::cast_ref(right);
    let tables: &[[[Block; 2]; 4]; QUADS] = bytemuck::cast_ref(tables);
    let outputs: &mut [[Block; 4]; QUADS] = bytemuck::cast_mut(outputs);

    let (start, apart) = (lanes.splat(start), lanes.splat(APART));
    let (mut keys, mut labels, mut inputs) = ([start; QUADS], [[start; 2]; QUADS], [[start; 2]; QUADS]);
    for k in 0..QUADS {
        keys[k] = lanes.xor(lanes.numbers(gates[k]), start);
        labels[k] = [lanes.load(&left[k]), lanes.load(&right[k])];
        inputs[k] = [labels[k][0], lanes.xor(labels[k][1], apart)];
    }
    let hashes = hash::hash(lanes, keys, inputs);
    for k in 0..QUADS {
        let table = lanes.load_pairs(&tables[k]);
        lanes.store(
            combine(lanes, labels[k], labels[k][0], hashes[k], table),
            &mut outputs[k],
        );
    }
}

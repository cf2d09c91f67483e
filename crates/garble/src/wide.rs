//! Half gates over labels of several blocks, as interactive hashes need them: who verifies labels by an interactive hash knows
//! all of a label but 128 bits, so a label is as much longer (`cenote_params::ihash`).
//!
//! A label of `blocks` blocks (2 to 8) lies contiguous in memory. Bit 0 of its first block is the colour, and bit 0 of Δ's
//! first block is 1. Gates are those of the crate's documentation, with labels, Δ, T_G, T_E and the hashes all of `blocks` blocks:
//! a table is T_G and then T_E.
//!
//! **Compression.** What is hashed is C(K) = Σ h_b · K_b over GF(2^128), with one random element h_b, known to all, for each
//! block of a label. It is linear, so C(K ⊕ Δ) = C(K) ⊕ C(Δ): the hash sees free XOR with the difference C(Δ).
//!
//! **Hash.** Block b of H(A) is AES_k(σ(x)) ⊕ σ(x) at x = C(A) ⊕ b, and of H'(B) at x = C(B) ⊕ (blocks + b), all under the
//! gate's one key k. A gate is `u = 2 blocks` pairs (x, x ⊕ C(Δ)) under its key.
//! - The constants of a gate are all different, as T_G of one block plus that of another, or T_G plus T_E of a gate
//!   whose inputs are one wire or opposite ones, would otherwise be made of Δ and labels alone.
//! - So the x of a gate are different unless C(Δ), or C(A ⊕ B) or C(A ⊕ B ⊕ Δ) of different wires, is a sum of two
//!   constants. C of what is not 0 is random as the map is: for each sum that has probability 2^-128.
//!
//! **What the compression costs.** A call of the cipher on x tests guesses of C(Δ). A call of its inverse tests, with the hash of
//! each block of an inactive label, which a table masks with that block of Δ or does not, guesses of σ(C(Δ)) ⊕ Δ_b or σ(C(Δ)).
//! The unknown bits of Δ are `d`: 128, or 127 where the known last bit is not watched anyway. On them each of these maps is linear,
//! and takes what is not 0 to 0 with probability 2^-128 over the choice of h, because σ is one to one. So the kernel has
//! `1 + (2^d - 1) / 2^128` elements on average, and a guess is right with so many times `1/2^d`. The attacker sees h and then
//! chooses which of the two kinds of call to make: the larger of the sums of their kernels is, on average, at most
//! `1 + 2 · 2^d / 2^128` for each pair. That is a chance of `2/2^127` for `d = 127`, and less for 128: the compression costs one bit
//! of security, if h is random given Δ and what is watched. The parties draw it together after both are fixed.
//! `cenote_params::computational::wide_garbling_hash` counts it, and what it is with several sessions.
//!
//! **Bad gates.** Nothing in the proof that a bad gate is wrong on two of its four inputs at least (`cenote_params::lego::GATE_FOUND`) depends
//! on what the hashes are: each is some function of one label.

use cenote_primitives::lanes::{Kernel, Lanes, run_on};
use cenote_primitives::{Block, Simd, hash};
use zeroize::Zeroize;

use super::MAX_GATES;
use super::kernel::combine;

/// Where the keys of the session's hashes begin, and how labels are compressed: both random, public, and drawn by the parties
/// together once Δ and what is watched are fixed.
///
/// Narrow gates would have the same keys: no [`Base`](super::Base) may have the same start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The key of gate 0.
    pub key: Block,
    /// What each block of a label is multiplied with: labels have as many blocks.
    pub map: Vec<Block>,
}

/// Garbles AND gates numbered from `first` on with 0-labels `left` and `right`: writes tables, of twice as many blocks as a label,
/// and output 0-labels.
///
/// `right` may have fewer labels than `left`, each for an equal number of gates in a row. Bit 0 of `delta` must be 1.
///
/// # Panics
/// If labels have not 2 to 8 blocks, the lengths do not match or a number is not below [`MAX_GATES`].
pub fn garble(
    start: &Start,
    delta: &[Block],
    first: u64,
    left: &[Block],
    right: &[Block],
    tables: &mut [Block],
    outputs: &mut [Block],
) {
    garble_on(Simd::detect(), start, delta, first, left, right, tables, outputs);
}

/// Evaluates gates with the numbers `gates` on labels. `right` may have fewer labels than `left`, as for [`garble`].
///
/// # Panics
/// If labels have not 2 to 8 blocks or the lengths do not match. Numbers must be below [`MAX_GATES`]; this is the caller's part,
/// and checked in debug builds.
pub fn evaluate(
    start: &Start,
    gates: &[u64],
    left: &[Block],
    right: &[Block],
    tables: &[Block],
    outputs: &mut [Block],
) {
    evaluate_on(Simd::detect(), start, gates, left, right, tables, outputs);
}

/// Calls a function with the number of blocks in a label, and that number times a factor, as constants.
macro_rules! with_blocks {
    ($function:ident, $factor:literal, $start:expr, $($argument:expr),*) => {
        match $start.map.len() {
            2 => $function::<2, { $factor * 2 }>($start, $($argument),*),
            3 => $function::<3, { $factor * 3 }>($start, $($argument),*),
            4 => $function::<4, { $factor * 4 }>($start, $($argument),*),
            5 => $function::<5, { $factor * 5 }>($start, $($argument),*),
            6 => $function::<6, { $factor * 6 }>($start, $($argument),*),
            7 => $function::<7, { $factor * 7 }>($start, $($argument),*),
            8 => $function::<8, { $factor * 8 }>($start, $($argument),*),
            blocks => panic!("labels have 2 to 8 blocks, not {blocks}"),
        }
    };
}

/// [`garble`] on a given level.
#[expect(clippy::too_many_arguments, reason = "those of `garble` and the level")]
pub(super) fn garble_on(
    simd: Simd,
    start: &Start,
    delta: &[Block],
    first: u64,
    left: &[Block],
    right: &[Block],
    tables: &mut [Block],
    outputs: &mut [Block],
) {
    with_blocks!(
        garble_of,
        4,
        start,
        simd,
        delta,
        first,
        [left, right],
        tables,
        outputs
    );
}

/// [`evaluate`] on a given level.
pub(super) fn evaluate_on(
    simd: Simd,
    start: &Start,
    gates: &[u64],
    left: &[Block],
    right: &[Block],
    tables: &[Block],
    outputs: &mut [Block],
) {
    with_blocks!(evaluate_of, 2, start, simd, gates, [left, right], tables, outputs);
}

fn garble_of<const N: usize, const M: usize>(
    start: &Start,
    simd: Simd,
    delta: &[Block],
    first: u64,
    wires: [&[Block]; 2],
    tables: &mut [Block],
    outputs: &mut [Block],
) {
    let wires = Wires::<N>::new(wires);
    let count = wires.left.len();
    assert!(delta.len() == N, "Δ is a label");
    assert!(tables.len() == 2 * N * count && outputs.len() == N * count);
    assert!(
        first <= MAX_GATES && count as u64 <= MAX_GATES - first,
        "gates have 62-bit numbers"
    );
    let kernel = Garble::<N, M> {
        start,
        delta: delta.as_chunks().0.first().expect("N blocks"),
        first,
        wires,
        tables: tables.as_chunks_mut().0.as_chunks_mut().0,
        outputs: outputs.as_chunks_mut().0,
    };
    run_on(simd, kernel);
}

fn evaluate_of<const N: usize, const M: usize>(
    start: &Start,
    simd: Simd,
    gates: &[u64],
    wires: [&[Block]; 2],
    tables: &[Block],
    outputs: &mut [Block],
) {
    let wires = Wires::<N>::new(wires);
    let count = wires.left.len();
    assert!(gates.len() == count && tables.len() == 2 * N * count && outputs.len() == N * count);
    debug_assert!(
        gates.iter().all(|gate| *gate < MAX_GATES),
        "gates have 62-bit numbers"
    );
    let kernel = Evaluate::<N, M> {
        start,
        gates,
        wires,
        tables: tables.as_chunks().0.as_chunks().0,
        outputs: outputs.as_chunks_mut().0,
    };
    run_on(simd, kernel);
}

/// Gates side by side: one in each lane.
const LANES: usize = 4;

/// T_G and T_E.
type Table<const N: usize> = [[Block; N]; 2];

/// Input labels of gates.
#[derive(Clone, Copy)]
struct Wires<'a, const N: usize> {
    left: &'a [[Block; N]],
    right: &'a [[Block; N]],
    /// How many gates share a right label.
    share: usize,
}

impl<'a, const N: usize> Wires<'a, N> {
    fn new(wires: [&'a [Block]; 2]) -> Self {
        let [(left, rest), (right, rest_of_right)] = wires.map(<[Block]>::as_chunks);
        assert!(rest.is_empty() && rest_of_right.is_empty(), "whole labels");
        assert!(
            left.len().is_multiple_of(right.len()),
            "equal shares of right labels"
        );
        let share = left.len() / right.len().max(1);
        Wires { left, right, share }
    }

    /// The labels of these four gates.
    #[inline(always)]
    fn gather<L: Lanes>(&self, lanes: &L, gates: [usize; LANES]) -> [[L::V; N]; 2] {
        let sides = [
            gates.map(|gate| &self.left[gate]),
            gates.map(|gate| &self.right[gate / self.share]),
        ];
        let mut labels = [[lanes.splat(Block::ZERO); N]; 2];
        for (label, four) in labels.iter_mut().zip(sides) {
            gather(lanes, four, label);
        }
        labels
    }
}

/// Loads one label into each lane.
#[inline(always)]
fn gather<L: Lanes, const N: usize>(lanes: &L, [a, b, c, d]: [&[Block; N]; LANES], label: &mut [L::V; N]) {
    for (k, block) in label.iter_mut().enumerate() {
        *block = lanes.gather([&a[k], &b[k], &c[k], &d[k]]);
    }
}

/// Block `k` of labels that lie side by side.
#[inline(always)]
fn scatter<L: Lanes, const N: usize>(
    lanes: &L,
    value: L::V,
    [a, b, c, d]: [&mut [Block; N]; LANES],
    k: usize,
) {
    lanes.scatter(value, [&mut a[k], &mut b[k], &mut c[k], &mut d[k]]);
}

/// Gates `first..first + 4`, with the last of `count` in the place of those that do not exist.
#[inline(always)]
fn four(first: usize, count: usize) -> [usize; LANES] {
    [first, first + 1, first + 2, first + 3].map(|gate| gate.min(count - 1))
}

/// The parts of a [`Start`], in each lane.
struct Hashes<'a, L: Lanes, const N: usize> {
    lanes: &'a L,
    key: L::V,
    map: [L::V; N],
}

impl<'a, L: Lanes, const N: usize> Hashes<'a, L, N> {
    #[inline(always)]
    fn new(lanes: &'a L, start: &Start) -> Self {
        let mut map = [lanes.splat(Block::ZERO); N];
        for (lane, factor) in map.iter_mut().zip(&start.map) {
            *lane = lanes.splat(*factor);
        }
        Hashes {
            lanes,
            key: lanes.splat(start.key),
            map,
        }
    }

    #[inline(always)]
    fn compress(&self, label: [L::V; N]) -> L::V {
        self.lanes.inner_product(label, self.map)
    }

    /// Hashes compressed labels of each gate, `N` blocks of each: of the left, then of the right one, both plus all of `offsets`.
    #[inline(always)]
    fn hash<const M: usize>(&self, gates: [u64; LANES], labels: [L::V; 2], offsets: &[L::V]) -> [L::V; M] {
        let lanes = self.lanes;
        let key = lanes.xor(lanes.numbers(gates), self.key);
        let mut inputs = [key; M];
        for constant in 0..2 * N {
            let plus = lanes.splat(Block([(constant as u64).to_le(), 0]));
            let input = lanes.xor(labels[constant / N], plus);
            for (k, offset) in offsets.iter().enumerate() {
                inputs[2 * N * k + constant] = lanes.xor(input, *offset);
            }
        }
        let [hashes] = hash::hash(lanes, [key], [inputs]);
        hashes
    }
}

/// `M` is four times `N`.
struct Garble<'a, const N: usize, const M: usize> {
    start: &'a Start,
    delta: &'a [Block; N],
    first: u64,
    wires: Wires<'a, N>,
    tables: &'a mut [Table<N>],
    outputs: &'a mut [[Block; N]],
}

impl<const N: usize, const M: usize> Kernel for Garble<'_, N, M> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) {
        let hashes = Hashes::new(lanes, self.start);
        let mut delta = [lanes.splat(Block::ZERO); N];
        gather(lanes, [self.delta; LANES], &mut delta);
        let count = self.wires.left.len();
        let (tables, last_tables) = self.tables.as_chunks_mut::<LANES>();
        let (outputs, last_outputs) = self.outputs.as_chunks_mut::<LANES>();
        let mut first = 0;
        for (tables, outputs) in tables.iter_mut().zip(outputs) {
            let labels = self.wires.gather(lanes, four(first, count));
            let number = self.first.wrapping_add(first as u64);
            garble_four::<L, N, M>(&hashes, delta, number, labels, tables, outputs);
            first += LANES;
        }
        if !last_tables.is_empty() {
            let (mut tables, mut outputs) = ([[[Block::ZERO; N]; 2]; LANES], [[Block::ZERO; N]; LANES]);
            let labels = self.wires.gather(lanes, four(first, count));
            let number = self.first.wrapping_add(first as u64);
            garble_four::<L, N, M>(&hashes, delta, number, labels, &mut tables, &mut outputs);
            last_tables.copy_from_slice(&tables[..last_tables.len()]);
            last_outputs.copy_from_slice(&outputs[..last_outputs.len()]);
            outputs.zeroize();
        }
    }
}

#[inline(always)]
fn garble_four<L: Lanes, const N: usize, const M: usize>(
    hashes: &Hashes<'_, L, N>,
    delta: [L::V; N],
    number: u64,
    [left, right]: [[L::V; N]; 2],
    [t0, t1, t2, t3]: &mut [Table<N>; LANES],
    [w0, w1, w2, w3]: &mut [[Block; N]; LANES],
) {
    let lanes = hashes.lanes;
    let compressed = [hashes.compress(left), hashes.compress(right)];
    let offsets = [lanes.splat(Block::ZERO), hashes.compress(delta)];
    let gates = [0, 1, 2, 3].map(|i| number.wrapping_add(i));
    let hashed: [L::V; M] = hashes.hash(gates, compressed, &offsets);
    let colours = [left[0], right[0]];
    for k in 0..N {
        let [a0, b0, a1, b1] = [hashed[k], hashed[N + k], hashed[2 * N + k], hashed[3 * N + k]];
        let garbler = lanes.xor_if(lanes.xor(a0, a1), right[0], delta[k]);
        let evaluator = lanes.xor(lanes.xor(b0, b1), left[k]);
        let output = combine(lanes, colours, left[k], [a0, b0], [garbler, evaluator]);
        scatter(
            lanes,
            garbler,
            [&mut t0[0], &mut t1[0], &mut t2[0], &mut t3[0]],
            k,
        );
        scatter(
            lanes,
            evaluator,
            [&mut t0[1], &mut t1[1], &mut t2[1], &mut t3[1]],
            k,
        );
        scatter(lanes, output, [w0, w1, w2, w3], k);
    }
}

/// `M` is twice `N`.
struct Evaluate<'a, const N: usize, const M: usize> {
    start: &'a Start,
    gates: &'a [u64],
    wires: Wires<'a, N>,
    tables: &'a [Table<N>],
    outputs: &'a mut [[Block; N]],
}

impl<const N: usize, const M: usize> Kernel for Evaluate<'_, N, M> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: &L) {
        let hashes = Hashes::new(lanes, self.start);
        let (outputs, last_outputs) = std::mem::take(&mut self.outputs).as_chunks_mut::<LANES>();
        let mut first = 0;
        for outputs in outputs {
            self.four(&hashes, first, outputs);
            first += LANES;
        }
        if !last_outputs.is_empty() {
            let mut outputs = [[Block::ZERO; N]; LANES];
            self.four(&hashes, first, &mut outputs);
            last_outputs.copy_from_slice(&outputs[..last_outputs.len()]);
        }
    }
}

impl<const N: usize, const M: usize> Evaluate<'_, N, M> {
    #[inline(always)]
    fn four<L: Lanes>(
        &self,
        hashes: &Hashes<'_, L, N>,
        first: usize,
        [w0, w1, w2, w3]: &mut [[Block; N]; LANES],
    ) {
        let lanes = hashes.lanes;
        let gates = four(first, self.gates.len());
        let [left, right] = self.wires.gather(lanes, gates);
        let mut table = [left, right];
        for (half, values) in table.iter_mut().enumerate() {
            gather(lanes, gates.map(|gate| &self.tables[gate][half]), values);
        }
        let compressed = [hashes.compress(left), hashes.compress(right)];
        let numbers = gates.map(|gate| self.gates[gate]);
        let hashed: [L::V; M] = hashes.hash(numbers, compressed, &[lanes.splat(Block::ZERO)]);
        let colours = [left[0], right[0]];
        for k in 0..N {
            let half = [table[0][k], table[1][k]];
            let output = combine(lanes, colours, left[k], [hashed[k], hashed[N + k]], half);
            scatter(lanes, output, [&mut *w0, &mut *w1, &mut *w2, &mut *w3], k);
        }
    }
}

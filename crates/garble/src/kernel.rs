//! The evaluation of buckets, four buckets to a register.

use cenote_primitives::lanes::{Kernel, Lanes};
use cenote_primitives::{Block, Block512, hash};

use super::Base;

/// How far ahead of its use material is fetched, in bytes: a few groups of buckets, long enough for memory to answer and
/// short enough to stay in the first-level cache. The hardware alone does not run that far ahead.
const AHEAD: usize = 8192;

/// Gates of a bucket evaluated side by side, at most. On the widest lanes four are eight registers, as many as hide the
/// latency of an AES round; five still fit beside the keys.
const SIDE_BY_SIDE: usize = 5;

/// What is added to the right label of a gate before it is hashed, so that the two hashes of a gate under one key differ
/// also where its two labels are the same.
pub(super) const APART: Block = Block([2u64.to_le(), 0]);

/// The output label of gates: with the colours and hashes of the left and right labels, the left label, and tables
/// (garbler's half, evaluator's half).
#[inline(always)]
pub(super) fn combine<L: Lanes>(
    lanes: &L,
    colours: [L::V; 2],
    left: L::V,
    hashes: [L::V; 2],
    [garbler, evaluator]: [L::V; 2],
) -> L::V {
    let sum = lanes.xor(hashes[0], hashes[1]);
    let sum = lanes.xor_if(sum, colours[0], garbler);
    lanes.xor_if(sum, colours[1], lanes.xor(evaluator, left))
}

/// Blocks of table per gate, of four buckets each.
pub(super) const TABLE: usize = 2;
/// Blocks of a gate other than gate 0: its table and the solderings of its left, right and output wire.
pub(super) const SOLDERED: usize = 5;

/// What gate 0 lacks of [`SOLDERED`].
pub(super) const UNSOLDERED: usize = SOLDERED - TABLE;

/// Four blocks, one of each bucket of the group.
type Quad = [Block; 4];

/// A gate of each of four buckets.
#[derive(Clone, Copy)]
struct Gates<'a> {
    numbers: &'a [u32; 4],
    table: &'a [Quad; TABLE],
    /// Left, right, output; gate 0 has none.
    soldering: Option<&'a [Quad; 3]>,
}

/// Evaluates whole groups of four buckets.
pub(super) struct EvaluateGroups<'a> {
    pub(super) beta: usize,
    pub(super) base: Base,
    pub(super) numbers: &'a [u32],
    pub(super) blocks: &'a [Block512],
    pub(super) left: &'a [Quad],
    pub(super) right: &'a [Quad],
    pub(super) outputs: &'a mut [Quad],
}

impl Kernel for EvaluateGroups<'_> {
    /// For each of the four lanes, zero if in all groups all gates agreed.
    type Output = Quad;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: &L) -> Quad {
        let numbers = self.numbers.chunks_exact(4 * self.beta);
        let blocks = self.blocks.chunks_exact(SOLDERED * self.beta - UNSOLDERED);
        // Parts as even as can be: one gate alone would take as long as several.
        let side_by_side = self.beta.div_ceil(self.beta.div_ceil(SIDE_BY_SIDE));
        let mut differences = lanes.splat(Block::ZERO);
        for ((((numbers, blocks), left), right), output) in numbers
            .zip(blocks)
            .zip(self.left)
            .zip(self.right)
            .zip(self.outputs)
        {
            let labels = [lanes.load(left), lanes.load(right)];
            let (numbers, _) = numbers.as_chunks::<4>();
            let (table, further) = bytemuck::cast_slice::<Block512, Quad>(blocks)
                .split_first_chunk()
                .expect("beta > 0");
            let (further, _) = further.as_chunks::<SOLDERED>();
            let bucket = Bucket {
                lanes,
                start: lanes.splat(self.base.start),
                base: self.base.number,
                labels,
            };
            lanes.prefetch(numbers.as_ptr().wrapping_byte_add(AHEAD / 16));
            let (beside, rest) = further.split_at(side_by_side - 1);
            let (of_first, mut off) = bucket.first(numbers, table, beside);
            let numbers = numbers[side_by_side..].chunks(side_by_side);
            for (numbers, gates) in numbers.zip(rest.chunks(side_by_side)) {
                off = lanes.or(off, bucket.further(of_first, numbers, gates));
            }
            lanes.store(of_first, output);
            differences = lanes.or(differences, off);
        }
        let mut out = [Block::ZERO; 4];
        lanes.store(differences, &mut out);
        out
    }
}

#[inline(always)]
fn gate<'a>(numbers: &'a [u32; 4], blocks: &'a [Quad; SOLDERED]) -> Gates<'a> {
    let (table, soldering) = blocks.split_first_chunk().expect("five blocks");
    Gates {
        numbers,
        table,
        soldering: soldering.first_chunk(),
    }
}

/// Four buckets on given labels of gate 0's inputs.
struct Bucket<'a, L: Lanes> {
    lanes: &'a L,
    start: L::V,
    base: u64,
    labels: [L::V; 2],
}

impl<L: Lanes> Bucket<'_, L> {
    /// The output of gate 0, and how that of the gates beside it differs.
    #[inline(always)]
    fn first(&self, n: &[[u32; 4]], table: &[Quad; TABLE], beside: &[[Quad; SOLDERED]]) -> (L::V, L::V) {
        let first = Gates {
            numbers: &n[0],
            table,
            soldering: None,
        };
        match (beside, n) {
            ([a, b, c, d], [_, w, x, y, z, ..]) => {
                self.split(self.evaluate([first, gate(w, a), gate(x, b), gate(y, c), gate(z, d)]))
            }
            ([a, b, c], [_, x, y, z, ..]) => {
                self.split(self.evaluate([first, gate(x, a), gate(y, b), gate(z, c)]))
            }
            ([a, b], [_, x, y, ..]) => self.split(self.evaluate([first, gate(x, a), gate(y, b)])),
            ([a], [_, x, ..]) => self.split(self.evaluate([first, gate(x, a)])),
            ([], _) => self.split(self.evaluate([first])),
            _ => unreachable!("up to four gates beside gate 0 and their numbers"),
        }
    }

    #[inline(always)]
    fn split<const N: usize>(&self, outputs: [L::V; N]) -> (L::V, L::V) {
        (outputs[0], self.differences(outputs[0], outputs))
    }

    /// How the outputs of up to [`SIDE_BY_SIDE`] further gates differ from gate 0's.
    #[inline(always)]
    fn further(&self, from: L::V, n: &[[u32; 4]], gates: &[[Quad; SOLDERED]]) -> L::V {
        match (gates, n) {
            ([a, b, c, d, e], [v, w, x, y, z]) => self.differences(
                from,
                self.evaluate([gate(v, a), gate(w, b), gate(x, c), gate(y, d), gate(z, e)]),
            ),
            ([a, b, c, d], [w, x, y, z]) => self.differences(
                from,
                self.evaluate([gate(w, a), gate(x, b), gate(y, c), gate(z, d)]),
            ),
            ([a, b, c], [w, x, y]) => {
                self.differences(from, self.evaluate([gate(w, a), gate(x, b), gate(y, c)]))
            }
            ([a, b], [w, x]) => self.differences(from, self.evaluate([gate(w, a), gate(x, b)])),
            ([a], [w]) => self.differences(from, self.evaluate([gate(w, a)])),
            _ => unreachable!("one to five gates and their numbers"),
        }
    }

    /// The labels that gates give for gate 0's output wire.
    #[inline(always)]
    fn evaluate<const N: usize>(&self, gates: [Gates<'_>; N]) -> [L::V; N] {
        let lanes = self.lanes;
        let (apart, [left, right]) = (lanes.splat(APART), self.labels);
        let (mut keys, mut labels, mut inputs) = ([self.start; N], [[left, right]; N], [[left, right]; N]);
        for k in 0..N {
            let Gates {
                numbers,
                table,
                soldering,
            } = gates[k];
            lanes.prefetch(table[0].as_ptr().wrapping_byte_add(AHEAD));
            lanes.prefetch(table[1].as_ptr().wrapping_byte_add(AHEAD));
            if let Some(soldering) = soldering {
                for side in 0..2 {
                    labels[k][side] = lanes.xor(labels[k][side], lanes.load(&soldering[side]));
                    lanes.prefetch(soldering[side].as_ptr().wrapping_byte_add(AHEAD));
                }
                lanes.prefetch(soldering[2].as_ptr().wrapping_byte_add(AHEAD));
            }
            keys[k] = lanes.xor(lanes.sums(self.base, numbers), self.start);
            inputs[k] = [labels[k][0], lanes.xor(labels[k][1], apart)];
        }
        let hashes = hash::hash(lanes, keys, inputs);
        let mut outputs = [left; N];
        for k in 0..N {
            let table = [lanes.load(&gates[k].table[0]), lanes.load(&gates[k].table[1])];
            outputs[k] = combine(lanes, labels[k], labels[k][0], hashes[k], table);
            if let Some(soldering) = gates[k].soldering {
                outputs[k] = lanes.xor(outputs[k], lanes.load(&soldering[2]));
            }
        }
        outputs
    }

    #[inline(always)]
    fn differences<const N: usize>(&self, from: L::V, outputs: [L::V; N]) -> L::V {
        let mut all = self.lanes.xor(from, outputs[0]);
        for output in &outputs[1..] {
            all = self.lanes.or(all, self.lanes.xor(from, *output));
        }
        all
    }
}

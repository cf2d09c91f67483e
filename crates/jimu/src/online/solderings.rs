//! What wires that are soldered differ by, and where a side finds it.

use cenote_primitives::Block;
use cenote_session::{Result, room};
use zeroize::Zeroizing;

use crate::cell::Cell;
use crate::gadget::{Shape, words};

/// What solderings take, where room for it is asked for.
pub(super) const SOLDERINGS: &str = "solderings";

/// What wires that are soldered differ by: labels and MACs at the garbler, i-hashes and keys at the evaluator.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) values: Zeroizing<Vec<Block>>,
    pub(super) words: Zeroizing<Vec<[u64; 1]>>,
}

/// Where a side has the labels or i-hashes and the MACs or keys of wires: in cells, and in records of gadgets.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) shape: Shape,
    pub(super) cell: Cell,
    /// Blocks of a label or an i-hash.
    size: usize,
    /// Blocks of a record.
    pub(super) record: usize,
    /// Where a record begins to have words.
    words: usize,
}

/// A wire: its label or i-hash, and its MAC or key.
pub(super) type Wire<'a> = (&'a [Block], u64);

impl Layout {
    pub(super) fn garbler(shape: Shape, cell: Cell) -> Self {
        Self {
            shape,
            cell,
            size: shape.blocks,
            record: shape.garbler_blocks(),
            words: shape.macs(),
        }
    }

    pub(super) fn evaluator(shape: Shape, cell: Cell) -> Self {
        Self {
            shape,
            cell,
            size: shape.hash_blocks(),
            record: shape.evaluator_blocks(),
            words: shape.keys(),
        }
    }

    /// The wire of a cell: a garbler's begins with the label, an evaluator's with the i-hash.
    #[inline(always)]
    pub(super) fn of_cell(self, cell: &[Block]) -> Wire<'_> {
        (&cell[..self.size], cell[self.cell.word()].0[0])
    }

    /// A wire of a gadget.
    #[inline(always)]
    pub(super) fn of_gadget(self, record: &[Block], wire: usize) -> Wire<'_> {
        let value = &record[wire * self.size..(wire + 1) * self.size];
        (value, words(record, self.words)[wire])
    }

    /// Solderings of a bucket of so many gadgets: of its inputs, and all.
    pub(super) fn solderings(self, each: usize) -> [usize; 2] {
        let of_inputs = (self.shape.width + 1) * each;
        [of_inputs, of_inputs + self.shape.width * (each - 1)]
    }
}

impl Sums {
    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, more: usize, layout: Layout) -> Result<()> {
        room::grow(SOLDERINGS, &mut self.values, more * layout.size)?;
        room::grow(SOLDERINGS, &mut self.words, more)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, a: Wire<'_>, b: Wire<'_>) {
        self.values.extend(a.0.iter().zip(b.0).map(|(&a, &b)| a ^ b));
        self.words.push([a.1 ^ b.1]);
    }

    /// Of buckets of gadgets in `drawn`, each soldered to the cells of its left operands and its right one.
    pub(super) fn of_buckets(
        &mut self,
        layout: Layout,
        drawn: &[Block],
        each: usize,
        [left, right]: [&[Block]; 2],
    ) {
        let (shape, cell) = (layout.shape, layout.cell.size());
        let operands = left
            .chunks_exact(shape.width * cell)
            .zip(right.chunks_exact(cell));
        for (bucket, (left, right)) in drawn.chunks_exact(each * layout.record).zip(operands) {
            for (wire, operand) in left.chunks_exact(cell).chain([right]).enumerate() {
                let operand = layout.of_cell(operand);
                for gadget in bucket.chunks_exact(layout.record) {
                    self.push(operand, layout.of_gadget(gadget, wire));
                }
            }
            for gate in 0..shape.width {
                let wire = shape.output(gate);
                let (first, others) = bucket.split_at(layout.record);
                let first = layout.of_gadget(first, wire);
                for gadget in others.chunks_exact(layout.record) {
                    self.push(first, layout.of_gadget(gadget, wire));
                }
            }
        }
    }

    /// Of gates in `drawn` that cells are anchored to, so many each, as both operands.
    pub(super) fn of_anchors(&mut self, layout: Layout, drawn: &[Block], each: usize, cells: &[Block]) {
        let operands = cells.chunks_exact(layout.cell.size());
        for (anchors, operand) in drawn.chunks_exact(each * layout.record).zip(operands) {
            let operand = layout.of_cell(operand);
            for gadget in anchors.chunks_exact(layout.record) {
                for wire in [layout.shape.left(0), layout.shape.right()] {
                    self.push(operand, layout.of_gadget(gadget, wire));
                }
            }
        }
    }
}

/// What the evaluator has to verify: labels, and the i-hashes and keys that they are to have.
#[derive(Default)]
pub(super) struct Unproved {
    pub(super) labels: Zeroizing<Vec<Block>>,
    pub(super) expected: Sums,
    /// Whether no gate of some bucket gives a label of its wire. With right solderings this does not happen; with wrong ones it may
    /// depend on this party's inputs, so it is said after these have passed.
    pub(super) broken: bool,
}

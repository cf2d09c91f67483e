//! Gadgets of the pool: what each party keeps of one.
//!
//! A gadget has `width` AND gates with one right operand in common (MUXCORE of that width, Section 5 of Zhu, Huang, Cassel 2017;
//! with width 1 an AND gate): `2 width + 1` wires, in the order lefts, right, outputs. Of a wire with 0-label K⁰ and permutation bit
//! p the garbler keeps K⁰ and its MAC of p, whose bit 0 is p; the evaluator keeps the i-hash of K⁰ ⊕ pΔ and its key for p.

use std::ops::Range;

use cenote_primitives::Block;

/// Gadgets, by the number of their gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GadgetKind {
    /// AND gates.
    And,
    /// Gates that have an operand in common.
    Mux,
}

/// The shape of gadgets: where in a record what is.
///
/// A record is an array of 128-bit blocks. The garbler's has the wires' 0-labels, the evaluator's the wires' i-hashes and the tables of the
/// gates; then come words, the wires' MACs or keys, and the number of the first gate, which tells gadgets of a pool apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Blocks of a label.
    pub(crate) blocks: usize,
    /// AND gates of a gadget.
    pub(crate) width: usize,
}

impl Shape {
    /// Wires of a gadget.
    pub(crate) fn wires(self) -> usize {
        2 * self.width + 1
    }

    /// The number of gate `gate`'s wire that is its left operand.
    pub(crate) fn left(self, gate: usize) -> usize {
        gate
    }

    /// The number of the wire that is the right operand of all gates.
    pub(crate) fn right(self) -> usize {
        self.width
    }

    /// The number of the wire that is the output of gate `gate`.
    pub(crate) fn output(self, gate: usize) -> usize {
        self.width + 1 + gate
    }

    /// Blocks of an i-hash: 16 symbols of a label are not watched.
    pub(crate) fn hash_blocks(self) -> usize {
        self.blocks - 1
    }

    /// Blocks of a garbler's record.
    pub(crate) fn garbler_blocks(self) -> usize {
        self.macs() + (self.wires() + 1).div_ceil(2)
    }

    /// Blocks of an evaluator's record.
    pub(crate) fn evaluator_blocks(self) -> usize {
        self.keys() + (self.wires() + 1).div_ceil(2)
    }

    /// Where a garbler's record has the 0-label of a wire.
    pub(crate) fn label(self, wire: usize) -> Range<usize> {
        wire * self.blocks..(wire + 1) * self.blocks
    }

    /// Where a garbler's record begins to have the MACs of its wires, two in a block, and then the number of its first gate.
    pub(crate) fn macs(self) -> usize {
        self.wires() * self.blocks
    }

    /// Where an evaluator's record has the i-hash of a wire.
    pub(crate) fn hash(self, wire: usize) -> Range<usize> {
        wire * self.hash_blocks()..(wire + 1) * self.hash_blocks()
    }

    /// Where an evaluator's record has the tables of all gates, one after the other.
    pub(crate) fn tables(self) -> Range<usize> {
        let at = self.wires() * self.hash_blocks();
        at..at + 2 * self.width * self.blocks
    }

    /// Where an evaluator's record begins to have the keys of its wires, two in a block, and then the number of its first gate.
    pub(crate) fn keys(self) -> usize {
        self.tables().end
    }
}

/// What a party has of the wires of gadgets that are made together: labels or i-hashes, and MACs or keys, of all left operands, of all right
/// ones, and of all outputs.
pub(crate) struct Wires<'a> {
    pub(crate) labels: [&'a [Block]; 3],
    pub(crate) words: [&'a [u64]; 3],
}

impl Wires<'_> {
    /// Writes those of gadget number `gadget` into its record, which has words from the block `words` on.
    pub(crate) fn write(&self, shape: Shape, gadget: usize, record: &mut [Block], words: usize) {
        let counts = [shape.width, 1, shape.width];
        let size = self.labels[1].len() / self.words[1].len();
        let mut at = 0;
        for (labels, count) in self.labels.iter().zip(counts) {
            let of_gadget = &labels[gadget * count * size..(gadget + 1) * count * size];
            record[at..at + of_gadget.len()].copy_from_slice(of_gadget);
            at += of_gadget.len();
        }
        let to = words_mut(record, words);
        let mut at = 0;
        for (words, count) in self.words.iter().zip(counts) {
            to[at..at + count].copy_from_slice(&words[gadget * count..(gadget + 1) * count]);
            at += count;
        }
    }
}

/// The words at the end of a record: MACs, or keys and a number.
pub(crate) fn words(record: &[Block], from: usize) -> &[u64] {
    bytemuck::cast_slice(&record[from..])
}

/// The same, writable.
pub(crate) fn words_mut(record: &mut [Block], from: usize) -> &mut [u64] {
    bytemuck::cast_slice_mut(&mut record[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_no_gaps_and_are_smaller_than_the_papers() {
        for (blocks, width) in [(3, 1), (3, 8), (2, 1), (8, 4)] {
            let shape = Shape { blocks, width };
            let mut garbler = vec![0; shape.macs()];
            let mut evaluator = vec![0; shape.keys()];
            for wire in 0..shape.wires() {
                shape.label(wire).for_each(|at| garbler[at] += 1);
                shape.hash(wire).for_each(|at| evaluator[at] += 1);
            }
            shape.tables().for_each(|at| evaluator[at] += 1);
            assert!(garbler.iter().chain(&evaluator).all(|count| *count == 1));
        }
        // Table 4 of the paper has 288 and 240 bytes for an AND gate, 1856 and 1584 for a MUXCORE of 8.
        let bytes = |width| {
            let shape = Shape { blocks: 3, width };
            [16 * shape.garbler_blocks(), 16 * shape.evaluator_blocks()]
        };
        assert_eq!(bytes(1), [176, 224]);
        assert_eq!(bytes(8), [960, 1456]);
    }
}

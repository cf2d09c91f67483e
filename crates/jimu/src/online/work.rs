//! What the evaluator evaluates the gates of a group from, and what they give.

use cenote_primitives::Block;
use cenote_session::{Result, room};
use zeroize::Zeroizing;

use super::solderings::Layout;
use crate::gadget::{Shape, words};

/// What the gates of a group are evaluated from, and what they give.
#[derive(Default)]
pub(super) struct Work {
    pub(super) lefts: Zeroizing<Vec<Block>>,
    pub(super) rights: Zeroizing<Vec<Block>>,
    pub(super) outputs: Zeroizing<Vec<Block>>,
    pub(super) tables: Vec<Block>,
    pub(super) numbers: Vec<u64>,
}

impl Work {
    /// Empties it, and makes room for so many gadgets.
    pub(super) fn clear(&mut self, gadgets: usize, shape: Shape) -> Result<()> {
        for labels in [&mut self.lefts, &mut self.rights, &mut self.outputs] {
            labels.clear();
            room::grow(
                "the gates of a group",
                labels,
                gadgets * shape.width * shape.blocks,
            )?;
        }
        self.tables.clear();
        self.numbers.clear();
        Ok(())
    }

    /// The labels of all gadgets' operands: those of cells, soldered.
    pub(super) fn take_operands(
        &mut self,
        layout: Layout,
        each: usize,
        [left, right]: [&[Block]; 2],
        solderings: &[Block],
    ) {
        let (shape, cell) = (layout.shape, layout.cell);
        let [_, count] = layout.solderings(each);
        let operands = left
            .chunks_exact(shape.width * cell.size())
            .zip(right.chunks_exact(cell.size()));
        for (at, (left, right)) in operands.enumerate() {
            let soldered = &solderings[at * count * shape.blocks..];
            for gadget in 0..each {
                let soldered_to = |labels: &mut Vec<Block>, operand: &[Block], wire: usize| {
                    let soldering = &soldered[(wire * each + gadget) * shape.blocks..][..shape.blocks];
                    let sum = operand[cell.label()].iter().zip(soldering);
                    labels.extend(sum.map(|(&a, &b)| a ^ b));
                };
                for (wire, operand) in left.chunks_exact(cell.size()).enumerate() {
                    soldered_to(&mut self.lefts, operand, wire);
                }
                soldered_to(&mut self.rights, right, shape.right());
            }
        }
    }

    /// The tables and numbers of all gates.
    pub(super) fn take_tables(&mut self, layout: Layout, drawn: &[Block]) {
        let shape = layout.shape;
        for gadget in drawn.chunks_exact(layout.record) {
            self.tables.extend_from_slice(&gadget[shape.tables()]);
            let number = words(gadget, shape.keys())[shape.wires()];
            self.numbers
                .extend((0..shape.width as u64).map(|gate| number + gate));
        }
    }

    /// Solders what the gates of each bucket give to what the first of them does, which becomes the label of the output's cell. Whether all
    /// are the same.
    pub(super) fn give_outputs(
        &mut self,
        layout: Layout,
        each: usize,
        drawn: &[Block],
        solderings: &[Block],
        outputs: &mut Vec<Block>,
    ) -> bool {
        let Shape { blocks, width, .. } = layout.shape;
        let [of_inputs, count] = layout.solderings(each);
        let mut off = 0;
        let buckets = drawn.chunks_exact(each * layout.record);
        let given = self.outputs.chunks_exact_mut(each * width * blocks);
        for (at, (given, bucket)) in given.zip(buckets).enumerate() {
            let soldered = &solderings[(at * count + of_inputs) * blocks..];
            let (first, others) = given.split_at_mut(width * blocks);
            for (number, other) in others.chunks_exact_mut(width * blocks).enumerate() {
                for (gate, other) in other.chunks_exact_mut(blocks).enumerate() {
                    let soldering = &soldered[(gate * (each - 1) + number) * blocks..][..blocks];
                    let first = &first[gate * blocks..][..blocks];
                    for ((other, &soldering), &first) in other.iter_mut().zip(soldering).zip(first) {
                        *other ^= soldering;
                        let difference = (*other ^ first).0;
                        off |= difference[0] | difference[1];
                    }
                }
            }
            for (gate, label) in first.chunks_exact(blocks).enumerate() {
                let (hash, key) = layout.of_gadget(bucket, layout.shape.output(gate));
                outputs.extend_from_slice(hash);
                outputs.extend_from_slice(label);
                outputs.push(Block([key, 0]));
            }
        }
        off == 0
    }
}

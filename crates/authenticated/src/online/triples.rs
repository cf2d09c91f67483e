//! From leaky ANDs to products of masks (steps 3 and 4 of the specification): what is opened, and what is made of it.
//!
//! For each gate the leaky ANDs i of a bucket become one triple, x = Σ x_i, y = y_1, z = Σ z_i ⊕ Σ d_i x_i with d_i = y_1 ⊕ y_i opened; and with
//! e = λ_α ⊕ x and f = λ_β ⊕ y opened, λ_αλ_β = z ⊕ e y ⊕ f x ⊕ e f. Nothing that is opened needs another: all of it is one message each way.

use cenote_primitives::Block;
use cenote_session::{Result, room};

use crate::offline::Supply;
use crate::setup::{Blocks, ONE, spread};

/// This party's MACs, or its keys of the other's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Macs,
    Keys,
}

impl Of {
    pub(super) const BOTH: [Self; 2] = [Of::Macs, Of::Keys];

    /// Where a record has x, y and z.
    const fn record(self) -> [usize; 3] {
        match self {
            Of::Macs => [0, 1, 2],
            Of::Keys => [3, 4, 5],
        }
    }
}

/// What a party has of the triples of gates: [`Of::Macs`] and [`Of::Keys`].
#[derive(Default)]
pub(super) struct Triples([Part; 2]);

#[derive(Default)]
struct Part {
    /// All e, all f, all d_2, …: bits that are opened.
    opened: Blocks,
    /// All x_2, all x_3, ….
    x: Blocks,
}

impl Part {
    fn make_room(&mut self, bucket: usize, gates: usize) -> Result<()> {
        for (array, each) in [(&mut self.opened, bucket + 1), (&mut self.x, bucket - 1)] {
            let size = each * gates;
            array.truncate(size);
            let more = size - array.len();
            room::grow("the triples of gates", array, more)?;
            // All of it is written over.
            array.resize(size, Block::ZERO);
        }
        Ok(())
    }
}

impl Triples {
    /// Draws the triples of gates with these masks of operands, and adds their z to `sums`: MACs and keys of all.
    pub(super) fn draw(
        &mut self,
        supply: &mut Supply,
        masks: [&[Blocks; 2]; 2],
        sums: &mut [Blocks; 2],
    ) -> Result<()> {
        let gates = sums[0].len();
        for part in &mut self.0 {
            part.make_room(supply.bucket, gates)?;
        }
        supply.draw(gates, |gate, drawn| {
            for of in Of::BOTH {
                let side = of as usize;
                let [x, y, z] = of.record();
                let Part { opened, x: later } = &mut self.0[side];
                let mut records = drawn.records().map(|record| &record[0]);
                let first = records.next().expect("a bucket has leaky ANDs");
                let (mut sum_x, mut sum_z) = (first[x], first[z]);
                for (i, record) in records.enumerate() {
                    sum_x ^= record[x];
                    sum_z ^= record[z];
                    later[i * gates + gate] = record[x];
                    opened[(i + 2) * gates + gate] = first[y] ^ record[y];
                }
                opened[gate] = masks[side][0][gate] ^ sum_x;
                opened[gates + gate] = masks[side][1][gate] ^ first[y];
                sums[side][gate] ^= sum_z;
            }
        })
    }

    /// What is opened of the triples.
    pub(super) fn opened(&self, of: Of) -> &[Block] {
        &self.0[of as usize].opened
    }

    /// Adds what is missing of the products of the operands' masks, with these `masks`, to `sums`: MACs or keys of all. `bits` are all that
    /// was opened, and `constant` is what makes the sum of a bit and 1 of a bit.
    pub(super) fn multiply(
        &self,
        of: Of,
        bits: &[u64],
        constant: Block,
        [left, right]: &[Blocks; 2],
        sums: &mut [Block],
    ) {
        let Part { opened, x: later } = &self.0[of as usize];
        let gates = sums.len();
        let (all_e, all_f) = opened[..2 * gates].split_at(gates);
        for (gate, sum) in sums.iter_mut().enumerate() {
            let [e, f] = [0, 1].map(|kind| spread(bits, kind * gates + gate));
            let [x, y] = [all_e[gate] ^ left[gate], all_f[gate] ^ right[gate]];
            let mut product = *sum ^ y & e ^ constant & e & f ^ x & f;
            for (i, x) in later.chunks_exact(gates).enumerate() {
                product ^= x[gate] & spread(bits, (i + 2) * gates + gate);
            }
            *sum = product;
        }
    }

    /// An array that is not needed once all is multiplied.
    pub(super) fn spare(&mut self) -> &mut Blocks {
        &mut self.0[Of::Macs as usize].opened
    }
}

/// What makes the sum of a shared bit and 1: the garbler's share is negated.
pub(super) fn constant(of: Of, garbler: bool, negation: Block) -> Block {
    match (of, garbler) {
        (Of::Macs, true) => ONE,
        (Of::Keys, false) => negation,
        _ => Block::ZERO,
    }
}

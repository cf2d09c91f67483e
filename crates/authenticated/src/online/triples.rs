//! From leaky ANDs to products of masks (steps 3 and 4 of the specification): what is opened, and what is made of it.
//!
//! For each gate the leaky ANDs i of a bucket become one triple, x = Σ x_i, y = y_1, z = Σ z_i ⊕ Σ d_i x_i with d_i = y_1 ⊕ y_i opened; and with
//! e = λ_α ⊕ x and f = λ_β ⊕ y opened, λ_αλ_β = z ⊕ e y ⊕ f x ⊕ e f. Nothing that is opened needs another: all of it is one message each way.

use cenote_pool::Drawn;
use cenote_primitives::Block;
use cenote_session::{Result, room};

use crate::offline::{Record, Supply};
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

/// Gate by gate: what is opened of one lies together, and is written at once.
#[derive(Default)]
struct Part {
    /// e, f, d_2, … of each gate: bits that are opened.
    opened: Blocks,
    /// x_2, x_3, … of each gate.
    x: Blocks,
}

/// Bits of a gate that are opened with buckets of so many.
const fn opened_of(bucket: usize) -> usize {
    bucket + 1
}

impl Part {
    fn make_room(&mut self, bucket: usize, gates: usize) -> Result<()> {
        for (array, each) in [(&mut self.opened, opened_of(bucket)), (&mut self.x, bucket - 1)] {
            let size = each * gates;
            array.truncate(size);
            let more = size - array.len();
            room::grow("the triples of gates", array, more)?;
            // All of it is written over.
            array.resize(size, Block::ZERO);
        }
        Ok(())
    }

    /// Makes a triple of the leaky ANDs that are drawn for a gate whose operands have these `masks`. Returns the sum of all z.
    #[inline(always)]
    fn take(
        &mut self,
        bucket: usize,
        of: Of,
        gate: usize,
        drawn: &Drawn<'_, Record>,
        masks: [Block; 2],
    ) -> Block {
        let [x, y, z] = of.record();
        let opened = &mut self.opened[gate * opened_of(bucket)..][..opened_of(bucket)];
        let later = &mut self.x[gate * (bucket - 1)..][..bucket - 1];
        let first = &drawn.record(0)[0];
        let (mut sum_x, mut sum_z) = (first[x], first[z]);
        for number in 1..bucket {
            let record = &drawn.record(number)[0];
            sum_x ^= record[x];
            sum_z ^= record[z];
            later[number - 1] = record[x];
            opened[number + 1] = first[y] ^ record[y];
        }
        opened[0] = masks[0] ^ sum_x;
        opened[1] = masks[1] ^ first[y];
        sum_z
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
        let (gates, bucket) = (sums[0].len(), supply.bucket);
        for part in &mut self.0 {
            part.make_room(bucket, gates)?;
        }
        supply.draw(gates, |gate, drawn| {
            for (of, sums) in Of::BOTH.into_iter().zip(&mut *sums) {
                let masks = masks[of as usize].each_ref().map(|masks| masks[gate]);
                let part = &mut self.0[of as usize];
                let z = match bucket {
                    // Loops of a known length.
                    3 => part.take(3, of, gate, &drawn, masks),
                    _ => part.take(bucket, of, gate, &drawn, masks),
                };
                sums[gate] ^= z;
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
        if sums.is_empty() {
            return;
        }
        let each = opened.len() / sums.len();
        for (gate, (opened, sum)) in opened.chunks_exact(each).zip(sums).enumerate() {
            let later = &later[gate * (each - 2)..][..each - 2];
            let bit = |number: usize| spread(bits, gate * each + number);
            let [e, f] = [bit(0), bit(1)];
            let [x, y] = [opened[0] ^ left[gate], opened[1] ^ right[gate]];
            let mut product = *sum ^ y & e ^ constant & e & f ^ x & f;
            for (number, &x) in later.iter().enumerate() {
                product ^= x & bit(number + 2);
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
